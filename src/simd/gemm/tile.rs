//! Block rows unpacked and interleaved into tiles of 8-bit or 16-bit whole numbers.

use super::super::Scratch;
use super::super::WeightType;
use super::super::lanes::{Lanes, in_step};
use super::super::packed::{LANES, Starts, View, Words};
use super::super::unpack::{Parts, group, has_min, unpack, word};
use super::Panel;

/// How the items of a tile follow one another. Each item is a word of every output; first words of `per` inputs, then the
/// scales of the groups, the minima of the 32s, and what the activations' bias adds to each group's sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    inputs: usize,
    per: usize,
    words: usize,
    groups: usize,
    minima: usize,
    items: usize,
}

/// The parts of a tile of `W` outputs, as bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile<'a, const W: usize> {
    pub(super) words: &'a [[f32; W]],
    pub(super) scale: &'a [[f32; W]],
    pub(super) min: &'a [[f32; W]],
    #[allow(dead_code, reason = "16-bit tiles have no bias to take off")]
    pub(super) less: &'a [[f32; W]],
}

impl Plan {
    /// For words of `per` inputs: 4 in bytes, or 2 in 16 bits.
    pub(super) fn new(ty: WeightType, inputs: usize, per: usize) -> Self {
        let (words, groups, minima) = (inputs / per, inputs / group(ty), inputs / 32);
        // A whole number of the greatest vectors, so that they can be turned in squares.
        let items = (words + groups + minima + groups).next_multiple_of(16);
        Self { inputs, per, words, groups, minima, items }
    }

    /// Unpacks `count` outputs from `first` on, at most `W`. Lanes of outputs that are not there hold anything.
    #[inline(always)]
    pub(super) fn fill<L: Lanes, const W: usize>(
        self,
        l: L,
        scratch: &mut Scratch,
        panel: Panel<'_>,
        first: usize,
        count: usize,
    ) {
        scratch.q.resize(self.inputs, 0);
        scratch.rows.resize(L::N * self.items, 0.0);
        scratch.tile.resize(W * self.items, 0.0);
        for begin in (0..count.min(W)).step_by(L::N) {
            for (lane, to) in scratch.rows.chunks_exact_mut(self.items.max(1)).enumerate().take(count - begin) {
                let row = panel.row(first + begin + lane);
                self.row(panel, row.get(..panel.stride).unwrap_or(row), &mut scratch.q, to);
            }
            turn_all(l, &scratch.rows, self.items, begin, W, &mut scratch.tile);
        }
    }

    /// Takes one row apart into its items.
    #[inline(always)]
    fn row(self, panel: Panel<'_>, row: &[u8], q: &mut [i8], to: &mut [f32]) {
        let (words, rest) = to.split_at_mut(self.words.min(to.len()));
        let (scale, rest) = rest.split_at_mut(self.groups.min(rest.len()));
        let (min, less) = rest.split_at_mut(self.minima.min(rest.len()));
        unpack(panel.ty, row, Parts { q: &mut *q, scale, min });
        if self.per == 4 {
            for (to, q) in words.iter_mut().zip(q.as_chunks::<4>().0) {
                *to = f32::from_bits(word(*q).cast_unsigned());
            }
            // The activations are 128 too large: so many times the weights' sum is taken off.
            let size = group(panel.ty);
            for (to, q) in less.iter_mut().zip(q.chunks_exact(size)) {
                let sum: i32 = q.iter().map(|q| i32::from(*q)).sum();
                *to = f32::from_bits((-128 * sum).cast_unsigned());
            }
        } else {
            let wide = |q: i8| u32::from(i16::from(q).cast_unsigned());
            for (to, q) in words.iter_mut().zip(q.as_chunks::<2>().0) {
                *to = f32::from_bits(wide(q[0]) | wide(q[1]) << 16);
            }
        }
    }

    /// The same from packed weights: the outputs from `first` on, a whole number of panels. What a panel has more than a tile
    /// goes to the next tiles.
    #[inline(always)]
    pub(super) fn fill_packed<L: Words, const W: usize, const PER: usize>(
        self,
        l: L,
        scratch: &mut Scratch,
        view: View<'_>,
        first: usize,
    ) {
        let width = W.max(LANES);
        scratch.tile.resize(width * self.items, 0.0);
        let (scale, min) = (self.words, self.words + self.groups);
        let starts = Starts { scale, min, less: min + self.minima, items: self.items };
        for lane in (0..width).step_by(LANES) {
            view.fill::<L, W, PER>(l, first + lane, &mut scratch.tile, starts, lane);
        }
    }

    /// Floats of a tile of `W` outputs.
    pub(super) const fn len<const W: usize>(self) -> usize {
        W * self.items
    }

    /// The parts of what [`Self::fill`] made.
    #[inline(always)]
    pub(super) fn parts<const W: usize>(self, ty: WeightType, tile: &[f32]) -> Tile<'_, W> {
        let items = tile.as_chunks::<W>().0;
        let part = |from: usize, len: usize| items.get(from..from + len).unwrap_or_default();
        let minima = if has_min(ty) { self.minima } else { 0 };
        Tile {
            words: part(0, self.words),
            scale: part(self.words, self.groups),
            min: part(self.words + self.groups, minima),
            less: part(self.words + self.groups + self.minima, self.groups),
        }
    }
}

/// Turns rows of `items` (a whole number of vectors) into lanes `begin..begin + N` of items of `width`.
#[inline(always)]
pub(super) fn turn_all<L: Lanes>(l: L, rows: &[f32], items: usize, begin: usize, width: usize, tile: &mut [f32]) {
    for (at, to) in tile.chunks_exact_mut((width * L::N).max(1)).enumerate() {
        let mut square = [l.zero(); 16];
        for (v, row) in in_step(&mut square, rows.chunks_exact(items.max(1))).take(L::N) {
            *v = l.load(row.get(at * L::N..).unwrap_or_default());
        }
        l.turn(&mut square);
        for (to, v) in in_step(to.chunks_exact_mut(width), &square) {
            l.store(to.get_mut(begin..begin + L::N).unwrap_or_default(), *v);
        }
    }
}
