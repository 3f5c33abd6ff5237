//! Block rows unpacked and interleaved into tiles of 8-bit or 16-bit whole numbers.

use super::super::unpack::{Parts, group, has_min, unpack};
use super::super::{Scratch, WeightType};
use super::Panel;

/// A tile of `W` outputs over all inputs, in a [`Scratch`]: words of a few inputs of each output, then of the next inputs;
/// scales (and what the kernel starts each sum from) of each output group by group; minima 32 inputs by 32.
pub(super) struct Tile<const W: usize, const INPUTS: usize>;

impl<const W: usize, const INPUTS: usize> Tile<W, INPUTS> {
    /// Makes room for tiles of so many inputs.
    #[inline(always)]
    pub(super) fn room(scratch: &mut Scratch, ty: WeightType, inputs: usize) {
        let groups = inputs / group(ty);
        scratch.q.resize(inputs, 0);
        scratch.rows.resize(groups + inputs / 32, 0.0);
        scratch.words.clear();
        scratch.words.resize(inputs / INPUTS * W, 0);
        for all in [&mut scratch.scale, &mut scratch.min] {
            all.clear();
            all.resize(groups * W, 0.0);
        }
        scratch.less.clear();
        scratch.less.resize(groups * W, 0);
    }

    /// Unpacks outputs from `first` on into the lanes of a tile; lanes without an output keep what they had.
    #[inline(always)]
    pub(super) fn fill(scratch: &mut Scratch, panel: Panel<'_>, first: usize, count: usize, inputs: usize) {
        let size = group(panel.ty);
        for lane in 0..count.min(W) {
            let row = panel.row(first + lane);
            let row = row.get(..panel.stride).unwrap_or(row);
            let (scale, min) = scratch.rows.split_at_mut(inputs / size);
            unpack(panel.ty, row, Parts { q: &mut scratch.q, scale, min });
            let words = scratch.words.chunks_exact_mut(W).zip(scratch.q.chunks_exact(INPUTS));
            for (to, q) in words {
                to[lane] = word::<INPUTS>(q);
            }
            for (to, scale) in scratch.scale.chunks_exact_mut(W).zip(scale) {
                to[lane] = *scale;
            }
            if has_min(panel.ty) {
                for (to, min) in scratch.min.chunks_exact_mut(W).zip(min) {
                    to[lane] = *min;
                }
            }
            if INPUTS == 4 {
                // The activations are 128 too large: so many times the weights' sum is taken off.
                for (to, q) in scratch.less.chunks_exact_mut(W).zip(scratch.q.chunks_exact(size)) {
                    to[lane] = -128 * q.iter().map(|q| i32::from(*q)).sum::<i32>();
                }
            }
        }
    }
}

/// Four inputs as bytes, or two as 16 bits.
#[inline(always)]
fn word<const INPUTS: usize>(q: &[i8]) -> u32 {
    if INPUTS == 4 {
        let mut bytes = [0; 4];
        for (to, q) in bytes.iter_mut().zip(q) {
            *to = q.cast_unsigned();
        }
        return u32::from_le_bytes(bytes);
    }
    let wide = |at: usize| u32::from(i16::from(q[at]).cast_unsigned());
    wide(0) | wide(1) << 16
}
