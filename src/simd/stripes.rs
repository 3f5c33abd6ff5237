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

    #[test]
    fn short_stripes_are_none() {
        assert_eq!(height(40, 4, 100), 0, "less than a stripe is read from end to end");
        assert_eq!(height(64, 4, 4096), 15);
        assert_eq!(height(0, 2, 4096), 0);
    }
}
