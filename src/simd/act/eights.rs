//! Values as multiples of a scale, in 8 bits.

use super::super::dispatch::dispatch;
use super::super::lanes::Lanes;

/// 1.5 × 2²³: a number added to it is rounded to a whole one, which the low bits then hold.
const MAGIC: f32 = 12_582_912.0;

/// Where the parts of rows in 8 bits go.
pub(super) struct Eights<'a> {
    pub(super) q: &'a mut [i8],
    pub(super) scale: &'a mut [f32],
    pub(super) sum16: &'a mut [f32],
    pub(super) sum32: &'a mut [f32],
    pub(super) whole: &'a mut [i32],
}

/// 32 values in 8 bits.
pub(super) struct Block {
    /// The whole numbers, as bytes.
    pub(super) q: [u8; 32],
    pub(super) scale: f32,
    /// The sums of the first 16 whole numbers and of the last 16.
    pub(super) sums: [f32; 2],
}

#[inline(always)]
pub(super) fn quantised<L: Lanes>(l: L, block: &[f32; 32]) -> Block {
    // The greatest of the bits without sign is the greatest magnitude; NaN is greater than all numbers.
    let top = block.iter().fold(0_u32, |top, value| top.max(value.to_bits() & 0x7fff_ffff));
    let top = f32::from_bits(top);
    let inverse = if top > 0.0 && top.is_finite() { 127.0 / top } else { 0.0 };
    // Under 127 / f32::MAX the inverse overflows: such values are as good as zero.
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
    let scale = if top.is_finite() { top / 127.0 } else { f32::NAN };
    let (mut rounded, mut sums, mut q) = ([0.0_f32; 32], [0.0; 2], [0; 32]);
    let halves = block.as_chunks::<16>().0.iter().zip(rounded.as_chunks_mut::<16>().0);
    for ((from, to), total) in halves.zip(&mut sums) {
        let mut sum = l.splat(0.0);
        for (from, to) in from.chunks(L::N).zip(to.chunks_mut(L::N)) {
            let v = l.add(l.mul(l.load(from), l.splat(inverse)), l.splat(MAGIC));
            l.store(to, v);
            // Whole numbers: their sums are exact.
            sum = l.add(sum, l.sub(v, l.splat(MAGIC)));
        }
        *total = l.sum(sum);
    }
    for (q, value) in q.iter_mut().zip(&rounded) {
        // NaN and what lies beyond the magic range keep some byte; the scale is NaN there.
        *q = value.to_bits() as u8;
    }
    Block { q, scale, sums }
}

#[inline(always)]
fn quantise_all<L: Lanes>(l: L, x: &[f32], to: Eights<'_>) {
    let (blocks, _) = x.as_chunks::<32>();
    let (quants, _) = to.q.as_chunks_mut::<32>();
    let sixteens = to.sum16.as_chunks_mut::<2>().0.iter_mut().zip(to.whole.as_chunks_mut::<2>().0);
    let parts = to.scale.iter_mut().zip(sixteens).zip(to.sum32);
    for ((block, q), ((scale, (sum16, whole)), sum32)) in blocks.iter().zip(quants).zip(parts) {
        let Block { q: bytes, scale: own, sums: [low, high] } = quantised(l, block);
        *q = bytemuck::cast(bytes);
        *scale = own;
        *whole = [low as i32, high as i32];
        *sum16 = [low * own, high * own];
        *sum32 = (low + high) * own;
    }
}

dispatch! {
    pub(super) fn quantise(x: &[f32], to: Eights<'_>) = quantise_all;
}
