//! Where each byte of a packed matrix comes from.
//!
//! A panel is 16 rows. It is read from end to end in the order in which it lies, since a second stream of reads, even a thin
//! one, halves the speed of memory. A step of it, one block of Q4_K or two of the others, begins with a line of the F16
//! scales of its blocks, those of the 16 rows together; then comes, block after block, what else a block has, cut into
//! words of four bytes: the first words of the 16 rows, the second words… The words of Q6_K are put into the order in which they
//! are met. Nothing is changed but that the bytes of Q8_0 become unsigned (128 more), so that a panel takes the bytes that
//! its rows took, and a lonely last block 32 more, and can be turned back.

use super::super::WeightType;

/// Rows of a panel.
pub(crate) const LANES: usize = 16;
/// Bytes of a word of 16 rows, and of the scales with which a step begins.
const LINE: usize = 64;

/// How the blocks of a type are cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// How many F16 scales a block has, and where.
    halves: usize,
    halves_at: usize,
    /// How many words, and where.
    words: usize,
    words_at: usize,
    /// What is turned in each byte of the words.
    flip: u8,
}

impl Cut {
    const fn of(ty: WeightType) -> Option<Self> {
        match ty {
            WeightType::Q8_0 => Some(Self { halves: 1, halves_at: 0, words: 8, words_at: 2, flip: 0x80 }),
            WeightType::Q4_0 => Some(Self { halves: 1, halves_at: 0, words: 4, words_at: 2, flip: 0 }),
            WeightType::Q4_K => Some(Self { halves: 2, halves_at: 0, words: 35, words_at: 4, flip: 0 }),
            WeightType::Q6_K => Some(Self { halves: 1, halves_at: 208, words: 52, words_at: 0, flip: 0 }),
            _ => None,
        }
    }
}

/// Which word of a stored block of Q6_K stands where: scales, then low bits of two runs and the high ones of four in turn.
const Q6_K: [usize; 52] = {
    let mut order = [0; 52];
    let mut at = 0;
    while at < 4 {
        order[at] = 48 + at;
        at += 1;
    }
    let mut step = 0;
    while step < 16 {
        let (half, at) = (step / 8, step % 8);
        order[4 + 3 * step] = 16 * half + at;
        order[5 + 3 * step] = 16 * half + 8 + at;
        order[6 + 3 * step] = 32 + 8 * half + at;
        step += 1;
    }
    order
};

/// The measures of a packed matrix.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Plan {
    pub(in super::super) ty: WeightType,
    cut: Cut,
    /// Blocks of a row.
    pub(in super::super) blocks: usize,
    /// Bytes of a row as it is stored.
    pub(in super::super) row: usize,
    /// Bytes of a panel: whole lines of the cache, so that no word of 16 rows lies in two.
    pub(in super::super) panel: usize,
}

impl Plan {
    /// For rows of so many inputs; `None` where the type is not packed, or rows are no whole number of blocks or too long.
    pub(in super::super) fn new(ty: WeightType, inputs: usize) -> Option<Self> {
        let cut = Cut::of(ty)?;
        let row = ty.row_bytes(inputs)?;
        let blocks = inputs / ty.block_elements();
        let heads = blocks.div_ceil(2 / cut.halves).checked_mul(LINE)?;
        let panel = blocks.checked_mul(LINE * cut.words)?.checked_add(heads)?;
        Some(Self { ty, cut, blocks, row, panel })
    }

    /// Bytes of a matrix of so many outputs.
    pub(in super::super) fn bytes(self, outputs: usize) -> Option<usize> {
        self.panel.checked_mul(outputs.div_ceil(LANES))
    }

    /// Where the scales and the words of a block begin in a panel.
    const fn starts(self, block: usize) -> (usize, usize) {
        let (per, words) = (2 / self.cut.halves, LINE * self.cut.words);
        let (step, at) = (block / per * (LINE + per * words), block % per);
        (step + at * LINE / per, step + LINE + at * words)
    }

    /// Which word of a stored block is the word at `at` of a packed one.
    const fn stored(self, at: usize) -> usize {
        if matches!(self.ty, WeightType::Q6_K) { Q6_K[at] } else { at }
    }

    /// Packs up to 16 rows into a panel. The lanes of rows that are not there stay as they are.
    pub(in super::super) fn pack(self, rows: &[u8], panel: &mut [u8]) {
        let Cut { halves, halves_at, words, words_at, flip } = self.cut;
        let flip = u32::from_ne_bytes([flip; 4]);
        for (lane, row) in rows.chunks_exact(self.row.max(1)).take(LANES).enumerate() {
            for (index, block) in row.chunks_exact(self.ty.block_bytes()).enumerate() {
                let (head, body) = self.starts(index);
                let from = block[halves_at..].as_chunks::<2>().0;
                let head = panel[head..].as_chunks_mut::<2>().0.iter_mut().skip(lane).step_by(LANES);
                for (to, half) in head.zip(from).take(halves) {
                    *to = *half;
                }
                let from = block[words_at..].as_chunks::<4>().0;
                let body = panel[body..].as_chunks_mut::<4>().0.iter_mut().skip(lane).step_by(LANES);
                for (at, to) in body.take(words).enumerate() {
                    *to = (u32::from_ne_bytes(from[self.stored(at)]) ^ flip).to_ne_bytes();
                }
            }
        }
    }

    /// Turns a block of a row back into what it was; `block` has the length of one.
    pub(in super::super) fn restore(self, panel: &[u8], lane: usize, index: usize, block: &mut [u8]) {
        let Cut { halves, halves_at, words, words_at, flip } = self.cut;
        let flip = u32::from_ne_bytes([flip; 4]);
        let (head, body) = self.starts(index);
        let head = panel[head..].as_chunks::<2>().0.iter().skip(lane).step_by(LANES);
        for (to, half) in block[halves_at..].as_chunks_mut::<2>().0.iter_mut().zip(head).take(halves) {
            *to = *half;
        }
        let to = block[words_at..].as_chunks_mut::<4>().0;
        let body = panel[body..].as_chunks::<4>().0.iter().skip(lane).step_by(LANES);
        for (at, word) in body.take(words).enumerate() {
            to[self.stored(at)] = (u32::from_ne_bytes(*word) ^ flip).to_ne_bytes();
        }
    }
}
