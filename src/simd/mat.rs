//! Where products go: a matrix that can be cut into columns, so that threads can fill parts of it.

use core::marker::PhantomData;

/// A row-major matrix of F32 to write to: `rows` tokens of `columns` outputs.
///
/// Cut by columns with [`Self::split_at`], its parts can be filled by different threads.
///
/// ```
/// use tensorgate::simd::MatMut;
/// let mut data = [0.0_f32; 6];
/// let whole = MatMut::new(&mut data, 3).unwrap();
/// let (mut left, mut right) = whole.split_at(1);
/// left.row(1).fill(1.0);
/// right.row(0).fill(2.0);
/// assert_eq!(data, [0.0, 2.0, 2.0, 1.0, 0.0, 0.0]);
/// ```
#[derive(Debug)]
pub struct MatMut<'a> {
    /// The first element; row `i` begins `i × stride` further on.
    data: *mut f32,
    rows: usize,
    columns: usize,
    stride: usize,
    life: PhantomData<&'a mut [f32]>,
}

// SAFETY: it stands for `&mut` of its own elements and nothing else, and `&mut f32` may be sent.
unsafe impl Send for MatMut<'_> {}

impl<'a> MatMut<'a> {
    /// All of `data` as rows of `columns`, or `None` where it is no whole number of them.
    pub fn new(data: &'a mut [f32], columns: usize) -> Option<Self> {
        let rows = data.len().checked_div(columns).unwrap_or(0);
        let whole = rows * columns == data.len();
        whole.then_some(Self { data: data.as_mut_ptr(), rows, columns, stride: columns, life: PhantomData })
    }

    /// `columns` columns of a matrix whose rows begin `stride` elements apart, from the column on of which `start` is the
    /// first row's element.
    ///
    /// # Safety
    ///
    /// The columns of `rows` rows lie in a slice that is lent mutably for `'a`, `columns` is at most `stride`, and nothing else
    /// uses these columns for as long.
    pub(super) const unsafe fn of_columns(start: *mut f32, rows: usize, columns: usize, stride: usize) -> Self {
        Self { data: start, rows, columns, stride, life: PhantomData }
    }

    /// How many rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// A row, empty where it is not there.
    #[inline]
    pub fn row(&mut self, row: usize) -> &mut [f32] {
        if row >= self.rows {
            return &mut [];
        }
        // SAFETY: `data`, `rows`, `columns` and `stride` stand for a part of a slice that `new` was given, in which row
        // `row < rows` begins at `row × stride`; the offset is inside it.
        let start = unsafe { self.data.add(row * self.stride) };
        // SAFETY: `columns` elements from there lie inside that slice; no other `MatMut` has them (`split_at` gives each
        // column to one part only), and `&mut self` keeps this one from giving them twice.
        unsafe { core::slice::from_raw_parts_mut(start, self.columns) }
    }

    /// The columns before `at` and those from it on; `at` past the end leaves the second part empty.
    #[must_use]
    pub fn split_at(self, at: usize) -> (Self, Self) {
        let at = at.min(self.columns);
        // Without rows there may be no elements to point past.
        let skip = if self.rows == 0 { 0 } else { at };
        // SAFETY: the first row has at least `at` elements, so this is inside the slice or at its end.
        let second = unsafe { self.data.add(skip) };
        let first = Self { columns: at, ..self };
        (
            first,
            Self {
                data: second,
                rows: self.rows,
                columns: self.columns - at,
                stride: self.stride,
                life: PhantomData,
            },
        )
    }

    /// The same for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> MatMut<'_> {
        MatMut { data: self.data, rows: self.rows, columns: self.columns, stride: self.stride, life: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_and_share_nothing() {
        let mut data = std::vec![0.0_f32; 7 * 11];
        let (left, right) = MatMut::new(&mut data, 11).unwrap().split_at(4);
        let (middle, right) = right.split_at(100);
        assert_eq!((middle.columns(), right.columns()), (7, 0));
        std::thread::scope(|scope| {
            for (value, mut part) in [(1.0, left), (2.0, middle), (3.0, right)] {
                scope.spawn(move || {
                    for row in 0..part.rows() {
                        part.row(row).fill(value);
                    }
                    assert!(part.row(7).is_empty());
                });
            }
        });
        for row in data.chunks(11) {
            assert!(row[..4].iter().all(|v| *v == 1.0) && row[4..].iter().all(|v| *v == 2.0));
        }
    }

    #[test]
    fn empty_ones_are_kept_inside() {
        assert!(MatMut::new(&mut [1.0; 5], 2).is_none());
        assert!(MatMut::new(&mut [1.0], 0).is_none());
        let (mut a, mut b) = MatMut::new(&mut [], 3).unwrap().split_at(2);
        assert!(a.row(0).is_empty() && b.row(0).is_empty());
        assert_eq!(MatMut::new(&mut [], 0).unwrap().split_at(1).1.columns(), 0);
    }
}
