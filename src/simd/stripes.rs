//! How far apart the rows are that are read at once.

/// The least bytes of a stripe: a few pages, or else one would be as good as its neighbour.
const LEAST: usize = 16 << 10;

/// How many rows each of `streams` stripes of a matrix of `rows` rows has, `stride` bytes each; the rows left over come
/// behind. None where stripes would be too short.
///
/// A processor fetches ahead in a page of 4 KiB, and has to find its way anew in the next. Where several places of a
/// matrix are read in step, one of them waits while the others go on. Rows that follow one another, read at once, do the
/// opposite, since all are in the same pages.
///
/// The height is odd, so that stripes of rows that fill pages do not all come to a page's end at once, nor fall into the
/// same sets of the caches.
pub(super) const fn height(rows: usize, streams: usize, stride: usize) -> usize {
    let height = rows / streams;
    if height == 0 || height.saturating_mul(stride) < LEAST {
        return 0;
    }
    (height - 1) | 1
}

/// The rows of a matrix two at a time, far from one another: one from each of two stripes, then from the next two. Rows left over
/// are half of them apart; a single one is given as both.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    height: usize,
    /// The end of the last stripe.
    end: usize,
    row: usize,
    at: usize,
    rest: core::ops::Range<usize>,
    apart: usize,
    last: Option<usize>,
}

#[cfg(target_arch = "x86_64")]
impl Pairs {
    /// From `streams` stripes, an even number, or from two where they would be too short.
    #[inline(always)]
    pub(super) const fn new(rows: usize, streams: usize, stride: usize) -> Self {
        let (streams, height) = match height(rows, streams, stride) {
            0 => (2, height(rows, 2, stride)),
            height => (streams, height),
        };
        let end = height * streams;
        let apart = (rows - end) / 2;
        let last = if (rows - end) % 2 == 1 { Some(rows - 1) } else { None };
        Self { height, end, row: 0, at: 0, rest: end..end + apart, apart, last }
    }
}

#[cfg(target_arch = "x86_64")]
impl Iterator for Pairs {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.row < self.height {
            let at = self.at;
            self.at += 2 * self.height;
            if self.at >= self.end {
                self.row += 1;
                self.at = self.row;
            }
            return Some((at, at + self.height));
        }
        if let Some(row) = self.rest.next() {
            return Some((row, row + self.apart));
        }
        self.last.take().map(|row| (row, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_are_odd_and_fit() {
        for rows in 0..2000 {
            for streams in 1..12 {
                let height = height(rows, streams, 1 << 20);
                assert!(height * streams <= rows && (height % 2 == 1 || rows < streams));
                assert!(rows - height * streams < 3 * streams, "few are left: {rows} rows, {streams} stripes");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn pairs_are_all_rows_once() {
        for rows in (0..300).chain([768, 2304, 50_257]) {
            for stride in [18, 816, 8192] {
                let mut seen = std::vec![0; rows];
                for (near, far) in Pairs::new(rows, 4, stride) {
                    seen[near] += 1;
                    seen[far] += usize::from(far != near);
                }
                assert!(seen.iter().all(|times| *times == 1), "{rows} rows of {stride} bytes");
            }
        }
        let first: std::vec::Vec<_> = Pairs::new(803, 4, 816).take(3).collect();
        assert_eq!(first, [(0, 199), (398, 597), (1, 200)]);
    }

    #[test]
    fn short_stripes_are_none() {
        assert_eq!(height(40, 4, 100), 0, "less than a stripe is read from end to end");
        assert_eq!(height(64, 4, 4096), 15);
        assert_eq!(height(0, 2, 4096), 0);
    }
}
