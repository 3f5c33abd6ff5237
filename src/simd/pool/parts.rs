//! Buffers as parts that do not overlap.

use std::marker::PhantomData;
use std::ops::Range;

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
    type Part = Tile<'a>;

    fn count(&self) -> usize {
        self.width.div_ceil(self.size)
    }

    unsafe fn part(&self, index: usize) -> Tile<'a> {
        let from = index.saturating_mul(self.size).min(self.width);
        let to = from.saturating_add(self.size).min(self.width);
        Tile { start: self.start, rows: self.rows, width: self.width, columns: from..to, lent: PhantomData }
    }
}

/// Some columns of a matrix, in all its rows.
#[derive(Debug)]
pub(crate) struct Tile<'a> {
    start: *mut f32,
    rows: usize,
    width: usize,
    columns: Range<usize>,
    lent: PhantomData<&'a mut [f32]>,
}

// SAFETY: a tile alone has its columns, as a `&mut [f32]` would.
unsafe impl Send for Tile<'_> {}

impl Tile<'_> {
    /// Which columns of the matrix these are.
    pub(crate) fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    /// The tile's part of row `row`; empty for a row that is not there.
    pub(crate) fn row(&mut self, row: usize) -> &mut [f32] {
        if row >= self.rows {
            return &mut [];
        }
        let from = row.saturating_mul(self.width).saturating_add(self.columns.start);
        // SAFETY: `row < rows` and `columns.start <= width`, so this is within the matrix or one past it.
        let start = unsafe { self.start.add(from) };
        // SAFETY: `columns.end <= width`, so the run ends within the row; the tile alone has these columns, and `self` is
        // lent mutably for as long as the run is used.
        unsafe { std::slice::from_raw_parts_mut(start, self.columns.len()) }
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
