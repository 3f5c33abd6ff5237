//! Panels as tiles for the products of many tokens: bytes with their signs, scales in F32.

use super::super::WeightType;
use super::super::lanes::put;
use super::few::{Blocks, LOW, six_bits, sixes, word};
use super::lanes::Words;
use super::layout::{LANES, Plan};

/// Where the parts of a tile begin, in items of one word for each output.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Starts {
    pub(in super::super) scale: usize,
    pub(in super::super) min: usize,
    pub(in super::super) less: usize,
    /// Items of a tile.
    pub(in super::super) items: usize,
}

/// Where 16 rows go: lanes of one tile of at least 16 outputs, or several tiles of fewer.
struct Fill<'a, L, const W: usize, const PER: usize> {
    l: L,
    tile: &'a mut [f32],
    starts: Starts,
    lane: usize,
    /// What is too much in each byte.
    raised: u8,
}

impl<L: Words, const W: usize, const PER: usize> Fill<'_, L, W, PER> {
    #[inline(always)]
    fn item(&mut self, at: usize, bits: L::I) {
        let mut all = [0; LANES];
        self.l.store_i(&mut all, bits);
        let all: [f32; LANES] = bytemuck::cast(all);
        if W >= LANES {
            put(self.tile.get_mut(at * W + self.lane..).unwrap_or_default(), all);
            return;
        }
        for (part, from) in all.as_chunks::<W>().0.iter().enumerate() {
            let start = (part * self.starts.items + at) * W + self.lane;
            put(self.tile.get_mut(start..).unwrap_or_default(), *from);
        }
    }

    /// Four inputs of each row, of which the bytes are `raised` too large.
    #[inline(always)]
    fn word(&mut self, at: usize, words: L::I) {
        let l = self.l;
        // Up to where the upper bit of the byte is the sign, turned: no byte overflows into the next.
        let words = match self.raised {
            0 => words,
            raised => {
                let up = u32::from_ne_bytes([0x80 - raised; 4]).cast_signed();
                l.xor(l.add(words, l.splat(up)), 0x8080_8080)
            }
        };
        if PER == 4 {
            return self.item(at, words);
        }
        let (even, odd) = (l.signed(words, 0), l.left::<16>(l.signed(words, 1)));
        self.item(2 * at, l.select(0xffff, even, odd));
        let (even, odd) = (l.signed(words, 2), l.left::<16>(l.signed(words, 3)));
        self.item(2 * at + 1, l.select(0xffff, even, odd));
    }

    /// The sum of a group of `count` weights times −128, so far without any of them.
    #[inline(always)]
    fn less(&self, count: i32) -> L::I {
        self.l.splat(128 * i32::from(self.raised) * count)
    }

    #[inline(always)]
    fn add_less(&self, less: L::I, words: L::I) -> L::I {
        if PER == 4 { self.l.dot8(less, words, [-128; 4]) } else { less }
    }

    #[inline(always)]
    fn scale(&mut self, group: usize, scale: L::F, less: L::I) {
        self.item(self.starts.scale + group, self.l.bits(scale));
        if PER == 4 {
            self.item(self.starts.less + group, less);
        }
    }
}

/// Turns a panel into lanes `lane..lane + 16` of a tile of `W` outputs, with `PER` inputs to a word; or where `W` is less than
/// 16 into as many tiles as it takes, one behind the other.
#[inline(always)]
pub(in super::super) fn fill<L: Words, const W: usize, const PER: usize>(
    l: L,
    plan: Plan,
    panel: &[u8],
    tile: &mut [f32],
    starts: Starts,
    lane: usize,
) {
    let raised = match plan.ty {
        WeightType::Q8_0 => 0x80,
        WeightType::Q4_0 => 8,
        WeightType::Q6_K => 32,
        _ => 0,
    };
    let to = Fill::<L, W, PER> { l, tile, starts, lane, raised };
    match plan.ty {
        WeightType::Q8_0 => q8_0(to, panel),
        WeightType::Q4_0 => q4_0(to, panel),
        WeightType::Q4_K => q4_k(to, panel),
        _ => q6_k(to, panel),
    }
}

#[inline(always)]
fn q8_0<L: Words, const W: usize, const PER: usize>(mut to: Fill<'_, L, W, PER>, panel: &[u8]) {
    let (mut block, mut blocks) = (0, Blocks::new(panel));
    while let Some((d, body)) = blocks.next::<512>() {
        let mut less = to.less(32);
        for at in 0..8 {
            let words = word::<_, false, _>(to.l, body, at);
            less = to.add_less(less, words);
            to.word(8 * block + at, words);
        }
        to.scale(block, to.l.halves(d), less);
        block += 1;
    }
}

#[inline(always)]
fn q4_0<L: Words, const W: usize, const PER: usize>(mut to: Fill<'_, L, W, PER>, panel: &[u8]) {
    let l = to.l;
    let (mut block, mut blocks) = (0, Blocks::new(panel));
    while let Some((d, body)) = blocks.next::<256>() {
        let mut less = to.less(32);
        for at in 0..4 {
            let both = word::<_, false, _>(l, body, at);
            let (low, high) = (l.and(both, LOW), l.and(l.right::<4>(both), LOW));
            less = to.add_less(to.add_less(less, low), high);
            to.word(8 * block + at, low);
            to.word(8 * block + at + 4, high);
        }
        to.scale(block, l.halves(d), less);
        block += 1;
    }
}

#[inline(always)]
fn q4_k<L: Words, const W: usize, const PER: usize>(mut to: Fill<'_, L, W, PER>, panel: &[u8]) {
    let l = to.l;
    for (block, step) in panel.as_chunks::<2304>().0.iter().enumerate() {
        let (Some(heads), Some(body)) = (step.first_chunk::<64>(), step.last_chunk::<2240>()) else { break };
        let (scales, minima) = six_bits::<_, false, _>(l, body);
        let (Some(d), Some(min)) = (heads.first_chunk(), heads.last_chunk()) else { break };
        let (d, min) = (l.halves(d), l.mul(l.halves(min), l.splat_f(-1.0)));
        for pair in 0..4 {
            let (mut less_low, mut less_high) = (to.less(32), to.less(32));
            for at in 0..8 {
                let both = word::<_, false, _>(l, body, 3 + 8 * pair + at);
                let (low, high) = (l.and(both, LOW), l.and(l.right::<4>(both), LOW));
                (less_low, less_high) = (to.add_less(less_low, low), to.add_less(less_high, high));
                to.word(64 * block + 16 * pair + at, low);
                to.word(64 * block + 16 * pair + 8 + at, high);
            }
            for (group, less) in [(2 * pair, less_low), (2 * pair + 1, less_high)] {
                let own = l.float(l.unsigned(scales[group / 4], group % 4));
                to.scale(8 * block + group, l.mul(d, own), less);
                let least = l.float(l.unsigned(minima[group / 4], group % 4));
                to.item(to.starts.min + 8 * block + group, l.bits(l.mul(min, least)));
            }
        }
    }
}

#[inline(always)]
fn q6_k<L: Words, const W: usize, const PER: usize>(mut to: Fill<'_, L, W, PER>, panel: &[u8]) {
    let l = to.l;
    let (mut block, mut blocks) = (0, Blocks::new(panel));
    while let Some((d, body)) = blocks.next::<3328>() {
        let d = l.halves(d);
        for (half, part) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut less = [to.less(16); 4];
            for at in 4 * part..4 * part + 4 {
                let words = sixes::<_, false, _>(l, body, half, at);
                for (run, (less, words)) in less.iter_mut().zip(&words).enumerate() {
                    *less = to.add_less(*less, *words);
                    to.word(64 * block + 32 * half + 8 * run + at, *words);
                }
            }
            for (run, less) in less.into_iter().enumerate() {
                let group = 8 * half + 2 * run + part;
                let own = l.float(l.signed(word::<_, false, _>(l, body, group / 4), group % 4));
                to.scale(16 * block + group, l.mul(d, own), less);
            }
        }
        block += 1;
    }
}
