//! The processor time of this thread: what others take of a shared machine does not count.

use std::time::Instant;

/// Seconds that this thread has been running, where the system says so, else since `start`.
pub(crate) fn seconds(start: Instant) -> f64 {
    thread_seconds().unwrap_or_else(|| start.elapsed().as_secs_f64())
}

#[cfg(target_os = "linux")]
fn thread_seconds() -> Option<f64> {
    use std::ffi::c_int;
    use std::sync::OnceLock;

    /// `struct timespec` and `clock_gettime` of the system's C library, 64 bits.
    type Clock = unsafe extern "C" fn(c_int, *mut [i64; 2]) -> c_int;
    const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
    static CLOCK: OnceLock<Option<Clock>> = OnceLock::new();
    let clock = CLOCK.get_or_init(|| {
        let this = libloading::os::unix::Library::this();
        // SAFETY: POSIX declares it so.
        let found = unsafe { this.get::<Clock>(b"clock_gettime") };
        found.ok().map(|symbol| *symbol)
    });
    let mut time = [0_i64; 2];
    let clock = (*clock)?;
    // SAFETY: `time` is what a `timespec` is on 64-bit Linux.
    let outcome = unsafe { clock(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (outcome == 0).then(|| time[0] as f64 + time[1] as f64 / 1e9)
}

#[cfg(not(target_os = "linux"))]
fn thread_seconds() -> Option<f64> {
    None
}
