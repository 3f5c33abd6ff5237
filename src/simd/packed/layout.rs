//! Where each byte of a packed matrix comes from.
//!
//! A panel is 16 rows. First stand the F16 scales of all its blocks: those of the 16 rows together, block after block. Then,
//! block after block, what else a block has, cut into words of four bytes: the first words of the 16 rows, the second words…
//! Nothing is changed but that the bytes of Q8_0 become unsigned (128 more), so that a panel takes the bytes that its rows
//! took, up to the filling of the scales to 64 bytes, and can be turned back.

use super::super::WeightType;

/// Rows of a panel.
pub(crate) const LANES: usize = 16;

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

/// The measures of a packed matrix.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Plan {
    pub(in super::super) ty: WeightType,
    cut: Cut,
    /// Blocks of a row.
    pub(in super::super) blocks: usize,
    /// Bytes of a row as it is stored.
    pub(in super::super) row: usize,
    /// Bytes of the scales of a panel, and of all of it; whole lines of the cache, so that no word of 16 rows lies in two.
    head: usize,
    pub(in super::super) panel: usize,
}

/// The two parts of a panel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Panel<'a> {
    /// The scales of the first block, of the second…
    pub(in super::super) head: &'a [u8],
    /// The words of the first block, of the second…
    pub(in super::super) body: &'a [u8],
}

impl Plan {
    /// For rows of so many inputs; `None` where the type is not packed, or rows are no whole number of blocks or too long.
    pub(in super::super) fn new(ty: WeightType, inputs: usize) -> Option<Self> {
        let cut = Cut::of(ty)?;
        let row = ty.row_bytes(inputs)?;
        let blocks = inputs / ty.block_elements();
        let head = blocks.checked_mul(2 * LANES * cut.halves)?.checked_next_multiple_of(64)?;
        let panel = blocks.checked_mul(4 * LANES * cut.words)?.checked_add(head)?;
        Some(Self { ty, cut, blocks, row, head, panel })
    }

    /// Bytes of a matrix of so many outputs.
    pub(in super::super) fn bytes(self, outputs: usize) -> Option<usize> {
        self.panel.checked_mul(outputs.div_ceil(LANES))
    }

    /// The parts of the panel with which `bytes` begins.
    #[inline(always)]
    pub(in super::super) fn parts(self, bytes: &[u8]) -> Panel<'_> {
        let panel = bytes.get(..self.panel).unwrap_or_default();
        let (head, body) = panel.split_at_checked(self.head).unwrap_or_default();
        Panel { head, body }
    }

    /// Packs up to 16 rows into a panel. The lanes of rows that are not there stay as they are.
    pub(in super::super) fn pack(self, rows: &[u8], panel: &mut [u8]) {
        let Cut { halves, halves_at, words, words_at, flip } = self.cut;
        let Some((head, body)) = panel.split_at_mut_checked(self.head) else { return };
        let flip = u32::from_ne_bytes([flip; 4]);
        for (lane, row) in rows.chunks_exact(self.row.max(1)).take(LANES).enumerate() {
            let heads = head.as_chunks_mut::<2>().0.chunks_exact_mut(LANES * halves);
            let bodies = body.as_chunks_mut::<4>().0.chunks_exact_mut(LANES * words);
            for ((block, head), body) in row.chunks_exact(self.ty.block_bytes()).zip(heads).zip(bodies) {
                let from = block[halves_at..].as_chunks::<2>().0;
                for (to, half) in head.iter_mut().skip(lane).step_by(LANES).zip(from) {
                    *to = *half;
                }
                let from = block[words_at..].as_chunks::<4>().0;
                for (to, word) in body.iter_mut().skip(lane).step_by(LANES).zip(from) {
                    *to = (u32::from_ne_bytes(*word) ^ flip).to_ne_bytes();
                }
            }
        }
    }

    /// Turns a block of a row back into what it was; `block` has the length of one.
    pub(in super::super) fn restore(self, panel: &[u8], lane: usize, index: usize, block: &mut [u8]) {
        let Cut { halves, halves_at, words, words_at, flip } = self.cut;
        let Panel { head, body } = self.parts(panel);
        let flip = u32::from_ne_bytes([flip; 4]);
        let head = head.as_chunks::<2>().0.iter().skip(index * LANES * halves + lane).step_by(LANES);
        for (to, half) in block[halves_at..].as_chunks_mut::<2>().0.iter_mut().take(halves).zip(head) {
            *to = *half;
        }
        let body = body.as_chunks::<4>().0.iter().skip(index * LANES * words + lane).step_by(LANES);
        for (to, word) in block[words_at..].as_chunks_mut::<4>().0.iter_mut().take(words).zip(body) {
            *to = (u32::from_ne_bytes(*word) ^ flip).to_ne_bytes();
        }
    }
}
