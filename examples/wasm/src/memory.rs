//! The host's addresses as what they stand for: the only unsafe code here.
#![expect(unsafe_code, reason = "the host hands out memory by its address")]

use core::mem::MaybeUninit;
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

/// Where the host's part of the memory begins, and where it ends.
#[cfg(target_arch = "wasm32")]
fn lendable() -> (usize, usize) {
    unsafe extern "C" {
        safe static __heap_base: u8;
    }
    let end = core::arch::wasm32::memory_size::<0>().saturating_mul(65536);
    ((&raw const __heap_base).addr(), end)
}

/// Nothing: there is no host but where this is a WebAssembly module.
#[cfg(not(target_arch = "wasm32"))]
fn lendable() -> (usize, usize) {
    (0, 0)
}

/// Whether `len` bytes at `at` are the host's to lend.
fn is_lendable(at: usize, len: usize) -> bool {
    let (start, end) = lendable();
    at >= start && at.checked_add(len).is_some_and(|last| last <= end)
}

/// Whether none of the ranges (address, bytes) that are used has a byte in common with another.
pub fn are_apart(ranges: &[(usize, usize)]) -> bool {
    let apart = |(a, len): &(usize, usize), (b, other): &(usize, usize)| {
        *a == 0 || *b == 0 || a.saturating_add(*len) <= *b || b.saturating_add(*other) <= *a
    };
    ranges.iter().enumerate().all(|(index, one)| ranges.iter().skip(index + 1).all(|other| apart(one, other)))
}

/// Bytes that the host does not change during the call.
pub fn bytes(at: usize, len: usize) -> Option<&'static [u8]> {
    // SAFETY: the range lies in this module's memory behind everything of its own, every byte is a `u8`, and the one thread
    // there is runs this call: nobody writes to it, since what is written to is apart from it.
    is_lendable(at, len).then(|| unsafe { core::slice::from_raw_parts(with_exposed_provenance(at), len) })
}

/// The numbers at `at`, a multiple of 8.
pub fn numbers<const N: usize>(at: usize) -> Option<&'static [u64; N]> {
    let fits = at.is_multiple_of(align_of::<u64>()) && is_lendable(at, N * size_of::<u64>());
    // SAFETY: as for `bytes`; the address is aligned, and every bit pattern is a number.
    fits.then(|| unsafe { &*with_exposed_provenance(at) })
}

/// Room for `len` bytes at `at`, a multiple of 8.
pub fn room(at: usize, len: usize) -> Option<&'static mut [MaybeUninit<u64>]> {
    let fits = at.is_multiple_of(align_of::<u64>()) && is_lendable(at, len);
    let count = len / size_of::<u64>();
    // SAFETY: the range lies in this module's memory behind everything of its own, is aligned, may hold anything, and is
    // apart from all else that is used during the call.
    fits.then(|| unsafe { core::slice::from_raw_parts_mut(with_exposed_provenance_mut(at), count) })
}

/// The place for one `T` at `at`.
pub fn place<T>(at: usize) -> Option<&'static mut MaybeUninit<T>> {
    let fits = at.is_multiple_of(align_of::<T>()) && is_lendable(at, size_of::<T>());
    // SAFETY: as for `room`.
    fits.then(|| unsafe { &mut *with_exposed_provenance_mut(at) })
}

/// As many of `value` as the room holds.
pub fn filled<T: Copy>(room: &mut [MaybeUninit<u64>], value: T) -> &mut [T] {
    const { assert!(align_of::<T>() <= align_of::<u64>(), "the room is aligned for it") };
    let count = size_of_val(room) / size_of::<T>();
    let start = room.as_mut_ptr();
    // SAFETY: the room is aligned for `T` and long enough for `count` of them, and anything may be written to it.
    let places = unsafe { core::slice::from_raw_parts_mut(start.cast::<MaybeUninit<T>>(), count) };
    for place in places {
        place.write(value);
    }
    // SAFETY: as above, and every one of them was just written; the borrow above is over.
    unsafe { core::slice::from_raw_parts_mut(start.cast::<T>(), count) }
}
