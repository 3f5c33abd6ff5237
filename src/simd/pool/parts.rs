//! Buffers as parts that do not overlap.

use std::marker::PhantomData;

use crate::simd::MatMut;

/// What can be handed out in parts.
///
/// # Safety
///
/// Parts of different numbers must not overlap, so that they may be used at once by different threads.
pub(crate) unsafe trait Parts: Sync {
    /// One part, good for as long as the buffer is lent to the whole.
    type Part;

    /// How many parts there are.
    fn count(&self) -> usize;

    /// The part of this number.
    ///
    /// # Safety
    ///
    /// `index` is below the count, and no part of this number was or will be asked for again.
    unsafe fn part(&self, index: usize) -> Self::Part;
}

/// A slice in chunks of `size` elements, the last one shorter.
#[derive(Debug)]
pub(crate) struct Chunks<'a, T> {
    start: *mut T,
    len: usize,
    size: usize,
    lent: PhantomData<&'a mut [T]>,
}

// SAFETY: through a shared `Chunks` only disjoint `&mut [T]` are had, which may go to other threads where `T: Send`.
unsafe impl<T: Send> Sync for Chunks<'_, T> {}

impl<'a, T> Chunks<'a, T> {
    pub(crate) fn new(slice: &'a mut [T], size: usize) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), size: size.max(1), lent: PhantomData }
    }
}

// SAFETY: chunk i is `i * size .. (i + 1) * size`, cut at the length: no two overlap.
unsafe impl<'a, T: Send + 'a> Parts for Chunks<'a, T> {
    type Part = &'a mut [T];

    fn count(&self) -> usize {
        self.len.div_ceil(self.size)
    }

    unsafe fn part(&self, index: usize) -> &'a mut [T] {
        let from = index.saturating_mul(self.size).min(self.len);
        let len = self.size.min(self.len.saturating_sub(from));
        // SAFETY: `from` is at most the length of the slice.
        let start = unsafe { self.start.add(from) };
        // SAFETY: `from + len` is within the slice, which is lent to us mutably; the caller asks for each number
        // once, and parts of other numbers do not overlap with it.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

/// A matrix of floats in groups of `size` columns, the last one narrower.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    start: *mut f32,
    rows: usize,
    width: usize,
    size: usize,
    lent: PhantomData<&'a mut [f32]>,
}

// SAFETY: through a shared `Columns` only disjoint columns are had.
unsafe impl Sync for Columns<'_> {}

impl<'a> Columns<'a> {
    /// `matrix` in rows of `width` floats; what is over behind the last whole row is left out.
    pub(crate) fn new(matrix: &'a mut [f32], width: usize, size: usize) -> Self {
        let rows = matrix.len().checked_div(width).unwrap_or(0);
        Self { start: matrix.as_mut_ptr(), rows, width, size: size.max(1), lent: PhantomData }
    }
}

// SAFETY: part i is the columns `i * size .. (i + 1) * size`, cut at the width: no two overlap.
unsafe impl<'a> Parts for Columns<'a> {
    type Part = MatMut<'a>;

    fn count(&self) -> usize {
        self.width.div_ceil(self.size)
    }

    unsafe fn part(&self, index: usize) -> MatMut<'a> {
        let from = index.saturating_mul(self.size).min(self.width);
        let columns = self.size.min(self.width.saturating_sub(from));
        // Without rows there may be no elements to point past.
        let skip = if self.rows == 0 { 0 } else { from };
        // SAFETY: the first row has `width` elements, and `skip` is at most as many.
        let start = unsafe { self.start.add(skip) };
        // SAFETY: the matrix is a slice that is lent to us for `'a`, its rows begin `width` apart, and `from + columns` is at
        // most `width`. The caller asks for each number once, and parts of other numbers have other columns.
        unsafe { MatMut::of_columns(start, self.rows, columns, self.width) }
    }
}

// SAFETY: both sides hand out disjoint parts.
unsafe impl<A: Parts, B: Parts> Parts for (A, B) {
    type Part = (A::Part, B::Part);

    fn count(&self) -> usize {
        self.0.count().min(self.1.count())
    }

    unsafe fn part(&self, index: usize) -> Self::Part {
        // SAFETY: the count is the smaller of both; the caller asks for each number once.
        let first = unsafe { self.0.part(index) };
        // SAFETY: as above.
        let second = unsafe { self.1.part(index) };
        (first, second)
    }
}
