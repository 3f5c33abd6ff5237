//! Tables of several megabytes that are read here and there, in the system's large pages.

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::{Layout, alloc, dealloc};

/// What a large page holds on most machines; on others the system takes no notice.
const PAGE: usize = 2 << 20;

/// From this length on it pays to begin at one, and to have the whole of it.
const LARGE: usize = 1 << 20;

/// A slice of its own, which begins where a large page does if it is large itself. A vector of as many bytes begins
/// anywhere, so that the system can give large pages to its middle only, and none to one of two megabytes.
pub(crate) struct Slab<T> {
    start: NonNull<T>,
    len: usize,
}

impl<T: Copy> Slab<T> {
    /// `len` times the same, or `None` where there is no memory for it.
    pub(crate) fn of(item: T, len: usize) -> Option<Self> {
        let layout = Self::layout(len).filter(|layout| layout.size() > 0)?;
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc(layout) })?.cast::<MaybeUninit<T>>();
        // SAFETY: the memory has room for `len` items, is aligned for them and nobody else's; they may be uninitialised.
        let all = unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), len) };
        want_large_pages(all);
        all.fill(MaybeUninit::new(item));
        Some(Self { start: start.cast(), len })
    }
}

impl<T> Slab<T> {
    fn layout(len: usize) -> Option<Layout> {
        let layout = Layout::array::<T>(len).ok()?;
        if layout.size() < LARGE { Some(layout) } else { Some(layout.align_to(PAGE).ok()?.pad_to_align()) }
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { start: NonNull::dangling(), len: 0 }
    }
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.len).filter(|layout| layout.size() > 0) {
            // SAFETY: what has a length was allocated by `of` with this very layout; items are `Copy`, so none is to be
            // dropped.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

impl<T> Deref for Slab<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `of` made that many items there, or there are none and the address is aligned.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Slab<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and this value is the only one that has the memory.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// Where there is no memory for another, that one is empty.
impl<T: Copy> Clone for Slab<T> {
    fn clone(&self) -> Self {
        let mut copy = self.first().and_then(|first| Self::of(*first, self.len)).unwrap_or_default();
        if copy.len == self.len {
            copy.copy_from_slice(self);
        }
        copy
    }
}

impl<T> core::fmt::Debug for Slab<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Slab").field("len", &self.len).finish_non_exhaustive()
    }
}

// SAFETY: it has its memory alone, as a boxed slice has.
unsafe impl<T: Send> Send for Slab<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Slab<T> {}

/// Tells the system that several megabytes are going to be written or read here and there: in pages of two megabytes it
/// takes a few entries of the processor's list of pages instead of thousands, and as many fewer interruptions at the first
/// use. Where the system has no such, nothing happens.
pub(crate) fn want_large_pages<T>(place: &mut [MaybeUninit<T>]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::mm::{Advice, madvise};
        let (page, len) = (rustix::param::page_size(), size_of_val(place));
        let start: *mut core::ffi::c_void = place.as_mut_ptr().cast();
        let skip = start.addr().wrapping_neg() % page;
        let whole = len.saturating_sub(skip) / page * page;
        if len >= LARGE && whole > 0 {
            // SAFETY: the pages are whole and inside the slice, which this call has alone; what they hold stays as it is.
            // That the system refuses is no harm.
            let _ = unsafe { madvise(start.wrapping_byte_add(skip), whole, Advice::LinuxHugepage) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn tables_in_large_pages_are_tables() {
        for len in [0, 1000, LARGE / 8, LARGE] {
            let mut all: Vec<u64> = Vec::with_capacity(len);
            want_large_pages(all.spare_capacity_mut());
            all.extend(0..u64::try_from(len).unwrap());
            assert!(all.iter().zip(0..).all(|(item, n)| *item == n));
        }
    }

    #[test]
    fn a_slab_is_a_slice_of_its_own() {
        for len in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, PAGE / 8 + 1] {
            let Some(mut slab) = Slab::of(7_u64, len) else {
                assert_eq!(len, 0);
                continue;
            };
            assert_eq!(slab.len(), len);
            assert!(slab.iter().all(|item| *item == 7));
            assert!(len < LARGE / 8 || slab.as_ptr().addr().is_multiple_of(PAGE));
            for (item, n) in slab.iter_mut().zip(0..) {
                *item = n;
            }
            let copy = slab.clone();
            slab.fill(0);
            assert!(copy.iter().zip(0..).all(|(item, n)| *item == n));
        }
        assert!(Slab::of(0_u64, usize::MAX).is_none());
        assert!(Slab::of((), 3).is_none());
        assert!(Slab::<u64>::default().clone().is_empty());
    }
}
