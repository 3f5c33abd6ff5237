//! Dot products of block rows with 8-bit activations.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;

use super::act::Row;
use super::lanes::padded;
use super::level::Isa;
use super::{Level, WeightType};

/// The part of a block that begins at `A`.
#[inline(always)]
fn at<const A: usize, const N: usize, const B: usize>(block: &[u8; B]) -> &[u8; N] {
    const { assert!(A + N <= B) };
    block.split_at_checked(A).and_then(|(_, rest)| rest.first_chunk()).unwrap_or(&[0; N])
}

/// Eight blocks of 32 facing their activations.
struct Eight<'a, const B: usize> {
    blocks: &'a [[u8; B]; 8],
    q: &'a [i8; 256],
    scale: &'a [f32; 8],
    sum: &'a [f32; 8],
}

/// Calls `each` for every eight blocks of a row; what is missing of the last eight is zero.
#[inline(always)]
fn eights<const B: usize>(row: &[u8], act: Row<'_>, mut each: impl FnMut(Eight<'_, B>)) {
    let (blocks, rest) = row.as_chunks::<B>().0.as_chunks::<8>();
    let (q, q_rest) = act.q.as_chunks::<256>();
    let (scale, scale_rest) = act.scale.as_chunks::<8>();
    let (sum, sum_rest) = act.sum32.as_chunks::<8>();
    for (((blocks, q), scale), sum) in blocks.iter().zip(q).zip(scale).zip(sum) {
        each(Eight { blocks, q, scale, sum });
    }
    if !rest.is_empty() {
        let mut blocks = [[0; B]; 8];
        for (to, from) in blocks.iter_mut().zip(rest) {
            *to = *from;
        }
        each(Eight { blocks: &blocks, q: &padded(q_rest), scale: &padded(scale_rest), sum: &padded(sum_rest) });
    }
}

/// `out[i] = rows[i] · act`, for block rows of `stride` bytes that follow one another.
#[inline]
pub(super) fn matvec(level: Level, ty: WeightType, bytes: &[u8], stride: usize, act: Row<'_>, out: &mut [f32]) {
    if stride == 0 {
        out.fill(0.0);
        return;
    }
    match level.isa() {
        Isa::Scalar => plain::matvec::<false>(ty, bytes, stride, act, out),
        Isa::Portable => plain::matvec::<true>(ty, bytes, stride, act, out),
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Neon => unsafe { neon::matvec(ty, bytes, stride, act, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx2 => unsafe { avx2::matvec(ty, bytes, stride, act, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512::matvec(ty, bytes, stride, act, out) },
    }
}
