//! A global allocator that counts, per thread, so that an oracle can say what a call allocated.
#![expect(unsafe_code, reason = "an allocator is unsafe by its trait; each method only counts and passes on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// What a call allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Calls that allocated or grew something.
    pub calls: u64,
    /// The most bytes alive at a time, over what was alive before.
    pub peak: u64,
}

/// Runs `body` and says what it allocated on this thread.
pub fn measure<R>(body: impl FnOnce() -> R) -> (R, Tally) {
    let (calls, live) = (CALLS.get(), LIVE.get());
    PEAK.set(live);
    let result = body();
    let peak = u64::try_from(PEAK.get() - live).unwrap_or(0);
    (result, Tally { calls: CALLS.get() - calls, peak })
}

/// Runs `body`, which must not allocate.
pub fn none<R>(body: impl FnOnce() -> R) -> R {
    let (result, tally) = measure(body);
    assert_eq!(tally.calls, 0, "the core allocated {} bytes", tally.peak);
    result
}

fn grow(bytes: usize) {
    CALLS.set(CALLS.get() + 1);
    LIVE.set(LIVE.get() + i64::try_from(bytes).unwrap_or(i64::MAX));
    PEAK.set(PEAK.get().max(LIVE.get()));
}

fn shrink(bytes: usize) {
    LIVE.set(LIVE.get() - i64::try_from(bytes).unwrap_or(i64::MAX));
}

// SAFETY: every method passes its arguments unchanged to `System`, which upholds the contract; counting touches only
// thread-local cells that need neither allocation nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: `ptr` came from `System` through `alloc` or `realloc` with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new may be alive together while the bytes move.
        grow(new_size);
        shrink(layout.size());
        // SAFETY: `ptr` came from `System` with this layout, and the caller's promise about `new_size` is passed on.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_seen() {
        let (kept, tally) = measure(|| {
            drop(vec![0_u8; 1000]);
            vec![0_u8; 10]
        });
        assert_eq!((kept.len(), tally), (10, Tally { calls: 2, peak: 1000 }));
        assert_eq!(measure(|| 1 + 1).1, Tally { calls: 0, peak: 0 });
    }

    #[test]
    #[should_panic(expected = "the core allocated")]
    fn one_allocation_is_too_many() {
        none(|| std::hint::black_box(Box::new(7)));
    }
}
