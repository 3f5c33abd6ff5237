//! Memory that is counted and rationed, and sinks that keep little or fail: for tests of writers.
#![allow(dead_code, reason = "each test uses its own part")]
#![allow(unsafe_code, reason = "an allocator that counts, and fails on demand, can only be written so")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tensorgate::Sink;

/// The system's allocator; counts this thread's requests, and refuses them when their ration is used up.
pub(crate) struct Counting;

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
    static RATION: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Counts a request for `size` bytes more, and says whether it may be met.
fn allowed(size: usize) -> bool {
    let left = RATION.get();
    MADE.set(MADE.get() + 1);
    BYTES.set(BYTES.get() + size as u64);
    if left != u64::MAX {
        RATION.set(left.saturating_sub(1));
    }
    left > 0
}

// SAFETY: every request goes to the system's allocator as it came, or is answered with null, which the contract allows.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !allowed(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !allowed(size.saturating_sub(layout.size())) {
            return std::ptr::null_mut();
        }
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What `run` gives, and how many requests and bytes of memory it made.
pub(crate) fn counted<T>(run: impl FnOnce() -> T) -> (T, u64, u64) {
    let (made, bytes) = (MADE.get(), BYTES.get());
    let outcome = run();
    (outcome, MADE.get() - made, BYTES.get() - bytes)
}

/// Runs with a ration of 0, 1, 2, … requests for memory until it is enough; gives the outcome and the errors before it.
pub(crate) fn rationed<T, E>(run: impl Fn() -> Result<T, E>) -> (T, Vec<E>) {
    let mut errors = Vec::new();
    for ration in 0.. {
        RATION.set(ration);
        let outcome = run();
        RATION.set(u64::MAX);
        match outcome {
            Ok(done) => return (done, errors),
            Err(error) => errors.push(error),
        }
    }
    unreachable!("some ration is enough");
}

/// Keeps the first bytes, enough for a header, and counts the rest.
pub(crate) struct Prefix {
    pub(crate) kept: Vec<u8>,
    pub(crate) len: u64,
    pub(crate) flushed: bool,
}

impl Prefix {
    pub(crate) fn of(capacity: usize) -> Self {
        Self { kept: Vec::with_capacity(capacity), len: 0, flushed: false }
    }
}

impl Sink for Prefix {
    type Error = std::convert::Infallible;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        let room = self.kept.capacity() - self.kept.len();
        self.kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.flushed = true;
        Ok(())
    }
}

/// Fails at the call after `left` more.
pub(crate) struct Failing {
    pub(crate) left: usize,
    pub(crate) taken: usize,
}

impl Failing {
    fn step(&mut self) -> Result<(), &'static str> {
        self.left = self.left.checked_sub(1).ok_or("full")?;
        self.taken += 1;
        Ok(())
    }
}

impl Sink for Failing {
    type Error = &'static str;

    fn write_all(&mut self, _: &[u8]) -> Result<(), Self::Error> {
        self.step()
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.step()
    }
}
