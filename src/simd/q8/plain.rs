//! Block rows with 8-bit activations in plain code: the specification, and the portable level.

use ::wide::{i8x16, i16x16};

use super::super::WeightType;
use super::super::act::Row;
use super::super::unpack::{Parts, group, unpack};

/// The sum of the products of up to 32 whole numbers. It is at most 32 × 128 × 127.
#[inline(always)]
fn whole<const WIDE: bool>(a: &[i8], b: &[i8]) -> i32 {
    if WIDE {
        let widened = |part: &[i8; 16]| i16x16::from_i8x16(i8x16::new(*part));
        let parts = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0);
        parts.map(|(a, b)| widened(a).dot(widened(b)).reduce_add()).sum()
    } else {
        a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
    }
}

/// `Σ scale × (Σ q × a) × act.scale + Σ min × act.sum`, from the first group to the last.
#[inline(always)]
fn dot<const WIDE: bool>(ty: WeightType, row: &[u8], act: Row<'_>) -> f32 {
    let size = group(ty);
    let per = 256 / ty.block_elements();
    let mut sum = 0.0;
    let acts = act.q.chunks(256).zip(act.scale.chunks(8)).zip(act.sum32.chunks(8));
    for (blocks, ((q, act_scale), act_sum)) in row.chunks(per * ty.block_bytes()).zip(acts) {
        let (mut own, mut scale, mut min) = ([0_i8; 256], [0.0_f32; 16], [0.0_f32; 8]);
        unpack(ty, blocks, Parts { q: &mut own, scale: &mut scale, min: &mut min });
        for (at, (a, b)) in own.chunks(size).zip(q.chunks(size)).enumerate() {
            let products = whole::<WIDE>(a, b) as f32;
            sum += scale[at] * products * act_scale[at * size / 32];
        }
        for (min, act_sum) in min.iter().zip(act_sum) {
            sum += min * act_sum;
        }
    }
    sum
}

pub(super) fn matvec<const WIDE: bool>(ty: WeightType, bytes: &[u8], stride: usize, act: Row<'_>, out: &mut [f32]) {
    for (out, row) in out.iter_mut().zip(bytes.chunks_exact(stride)) {
        *out += dot::<WIDE>(ty, row, act);
    }
}
