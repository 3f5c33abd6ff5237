//! The order in which the rows of a matrix are read.

/// How many stripes.
const STREAMS: usize = 4;
/// The least bytes of a stripe: a few pages, or else one would be as good as its neighbour.
const LEAST: usize = 16 << 10;

/// The numbers of all rows, each once: one of each of several stripes in turn.
///
/// A processor fetches ahead in a page of 4 KiB, and has to find its way anew in the next. Where several places of a
/// matrix are read in turn, one of them waits while the others go on. Rows that follow one another, read at once, do the
/// opposite, since all are in the same pages. It pays only where little is done with each byte, so that the processor sees
/// the next rows before it is done with one: for F32, not for F16 nor for blocks.
#[derive(Clone, Debug)]
pub(super) struct Stripes {
    next: usize,
    /// Where the next turn begins.
    turn: usize,
    height: usize,
    /// The rows of all stripes; the rest follows one by one.
    whole: usize,
    rows: usize,
}

impl Stripes {
    /// An order of `rows` rows of `stride` bytes.
    pub(super) const fn new(rows: usize, stride: usize) -> Self {
        let fit = rows.saturating_mul(stride) / LEAST;
        Self::of(rows, if fit < STREAMS { fit } else { STREAMS })
    }

    /// An order of `rows` rows in `streams` stripes.
    pub(super) const fn of(rows: usize, streams: usize) -> Self {
        let streams = if streams == 0 { 1 } else { streams };
        // Of odd height, so that stripes of rows that fill pages do not all come to a page's end at once, nor fall into the
        // same sets of the caches.
        let height = match rows / streams {
            0 => 0,
            height => (height - 1) | 1,
        };
        Self { next: 0, turn: 0, height, whole: height * streams, rows }
    }

    /// How many rows a stripe has.
    pub(super) const fn height(&self) -> usize {
        self.height
    }
}

impl Iterator for Stripes {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        // One way out, so that what is done with a row is compiled once.
        let row = self.next;
        self.next += if row < self.whole { self.height } else { 1 };
        if row < self.whole && self.next >= self.whole {
            self.turn += 1;
            self.next = if self.turn < self.height { self.turn } else { self.whole };
        }
        (row < self.rows).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_once() {
        for rows in 0..200 {
            for streams in 0..12 {
                let order: std::vec::Vec<usize> = Stripes::of(rows, streams).collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..rows), "{rows} rows in {streams} streams: {order:?}");
            }
        }
    }

    #[test]
    fn rows_come_from_each_stripe_in_turn() {
        assert!(Stripes::of(14, 4).eq([0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, 12, 13]));
        assert!(Stripes::new(40, 100).eq(0..40), "less than a stripe is read from end to end");
        assert!(Stripes::new(64, 4096).take(5).eq([0, 15, 30, 45, 1]));
        assert!(Stripes::of(9, 1).eq(0..9));
    }
}
