//! Block rows with 8-bit activations by widening multiplications of NEON.
//!
//! Weights enter as signed bytes; two products of at most 128 × 127 fit 16 bits.

use core::arch::aarch64::*;

use super::super::WeightType;
use super::super::act::Row;
use super::super::unpack::{Parts, group, unpack};

#[target_feature(enable = "neon")]
#[inline]
fn load(from: &[i8; 16]) -> int8x16_t {
    // SAFETY: 16 values are there.
    unsafe { vld1q_s8(from.as_ptr()) }
}

/// The sums of fours of products of 16 whole numbers.
#[target_feature(enable = "neon")]
#[inline]
fn products(a: &[i8; 16], b: &[i8; 16]) -> int32x4_t {
    let (a, b) = (load(a), load(b));
    let low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    let both = vmlal_s8(low, vget_high_s8(a), vget_high_s8(b));
    vpaddlq_s16(both)
}

/// `Σ scale × (Σ q × a) × act.scale + Σ min × act.sum`.
#[target_feature(enable = "neon")]
#[inline]
fn dot(ty: WeightType, row: &[u8], act: Row<'_>) -> f32 {
    let size = group(ty);
    let bytes = 256 / ty.block_elements() * ty.block_bytes();
    let mut sums = [vdupq_n_f32(0.0); 2];
    let mut rest = 0.0;
    let acts = act.q.chunks(256).zip(act.scale.chunks(8)).zip(act.sum32.chunks(8));
    for (blocks, ((q, act_scale), act_sum)) in row.chunks(bytes).zip(acts) {
        let (mut own, mut scale, mut min) = ([0_i8; 256], [0.0_f32; 16], [0.0_f32; 8]);
        unpack(ty, blocks, Parts { q: &mut own, scale: &mut scale, min: &mut min });
        let pairs = own.as_chunks::<32>().0.iter().zip(q.as_chunks::<32>().0);
        for (at, ((a, b), act_scale)) in pairs.zip(act_scale).enumerate() {
            let (a, b) = (a.as_chunks::<16>().0, b.as_chunks::<16>().0);
            let ([a, c], [b, d]) = (a, b) else { continue };
            let (first, second) =
                if size == 16 { (scale[2 * at], scale[2 * at + 1]) } else { (scale[at], scale[at]) };
            let (one, two) = (vcvtq_f32_s32(products(a, b)), vcvtq_f32_s32(products(c, d)));
            sums[0] = vfmaq_n_f32(sums[0], one, first * act_scale);
            sums[1] = vfmaq_n_f32(sums[1], two, second * act_scale);
        }
        for (min, act_sum) in min.iter().zip(act_sum) {
            rest += min * act_sum;
        }
    }
    vaddvq_f32(vaddq_f32(sums[0], sums[1])) + rest
}

/// Adds `rows[i] · act` to `out[i]`, for block rows of `stride` bytes.
#[target_feature(enable = "neon")]
pub(super) fn matvec(ty: WeightType, bytes: &[u8], stride: usize, act: Row<'_>, out: &mut [f32]) {
    macro_rules! all {
        ($($ty:ident)*) => {
            match ty {
                // The type is a constant in each arm, so that each gets a loop of its own.
                $(WeightType::$ty => {
                    for (out, row) in out.iter_mut().zip(bytes.chunks_exact(stride)) {
                        *out += dot(WeightType::$ty, row, act);
                    }
                })*
                WeightType::F32 | WeightType::F16 | WeightType::BF16 => {}
            }
        };
    }
    all!(Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q4_K Q5_K Q6_K);
}
