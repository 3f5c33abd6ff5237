//! Counting what the readers do, for the promise that it is linear in the input: only under a fuzzer, where time says
//! nothing. Elsewhere a step is nothing at all.
//!
//! Every loop over input takes its steps here: a byte or a word of text, a number, a probe of a table, a comparison of a
//! sort. What the standard library does in one call (UTF-8, comparing slices) counts a step for each 16 bytes.

#[cfg(fuzzing)]
static TAKEN: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// Counts so many steps.
#[cfg(fuzzing)]
#[inline]
pub(crate) fn take(count: usize) {
    TAKEN.fetch_add(count, core::sync::atomic::Ordering::Relaxed);
}

/// Counts so many steps.
#[cfg(not(fuzzing))]
#[inline]
pub(crate) const fn take(_: usize) {}

/// Counts what the standard library does with so many bytes.
#[inline]
pub(crate) fn take_bytes(len: usize) {
    take((len / 16).saturating_add(1));
}

/// How many steps were taken since the program began; where several threads read, by all of them.
#[cfg(fuzzing)]
pub fn taken() -> usize {
    TAKEN.load(core::sync::atomic::Ordering::Relaxed)
}
