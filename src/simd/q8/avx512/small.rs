//! Blocks of 32.

use core::arch::x86_64::*;

use super::super::super::act::Row;
use super::super::super::ahead;
use super::super::avx2::{floats, halves, load16};
use super::super::{Facing, Last, at, facing, filled};
use super::nibbles::{Words, nibbles};
use super::{HALVES_APART, PAIRS, Sums, add, four_steps, load32, picks, quarters, totals, with_sixteenths};

/// Two rows of blocks of 32 in step: `eight` adds the products of eight blocks. What it added to `rest` counts `times`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn small<const B: usize, const AHEAD: bool>(
    [near, far]: [&[u8]; 2],
    act: Row<'_>,
    times: f32,
    eight: impl Fn(Sums, &[[u8; B]; 8], Facing<'_>) -> Sums,
) -> [f32; 2] {
    let (near, near_rest) = near.as_chunks::<B>().0.as_chunks::<8>();
    let (far, far_rest) = far.as_chunks::<B>().0.as_chunks::<8>();
    let [a, b] = eights::<B, AHEAD>(near, far, facing(act), times, &eight);
    if near_rest.is_empty() {
        return [a, b];
    }
    let [c, d] = last(near_rest, far_rest, act, times, &eight);
    [a + c, b + d]
}

/// The last blocks of two rows, fewer than eight each.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[cold]
#[inline(never)]
fn last<const B: usize>(
    near: &[[u8; B]],
    far: &[[u8; B]],
    act: Row<'_>,
    times: f32,
    eight: &impl Fn(Sums, &[[u8; B]; 8], Facing<'_>) -> Sums,
) -> [f32; 2] {
    let act = Last::new(act);
    eights::<B, false>(&[filled(near)], &[filled(far)], core::iter::once(act.facing()), times, eight)
}

/// Two rows in step, eight blocks at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn eights<'a, const B: usize, const AHEAD: bool>(
    near: &[[[u8; B]; 8]],
    far: &[[[u8; B]; 8]],
    act: impl Iterator<Item = Facing<'a>>,
    times: f32,
    eight: &impl Fn(Sums, &[[u8; B]; 8], Facing<'_>) -> Sums,
) -> [f32; 2] {
    let (mut a, mut b) = (Sums::new(), Sums::new());
    for ((near, far), act) in near.iter().zip(far).zip(act) {
        ahead::lines::<AHEAD>(near.as_flattened());
        ahead::lines::<AHEAD>(far.as_flattened());
        a = eight(a, near, act);
        b = eight(b, far, act);
    }
    let times = _mm512_set1_ps(times);
    (a.rest, b.rest) = (_mm512_mul_ps(a.rest, times), _mm512_mul_ps(b.rest, times));
    totals(a.lanes(), b.lanes())
}

/// Eight blocks of a row: `pair` gives the 64 unsigned weights of two. `HIGH` says that the second half of each block comes
/// sixteen times too large, and what is added to `rest` stands at byte `REST` of a block.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn pairs<const B: usize, const HIGH: bool, const REST: usize>(
    mut sums: Sums,
    blocks: &[[u8; B]; 8],
    act: Facing<'_>,
    pick: [__m512i; 4],
    pair: impl Fn(&[u8; B], &[u8; B]) -> __m512i,
) -> Sums {
    let d = halves::<0, B>(blocks);
    add(&mut sums.rest, if REST == 0 { d } else { halves::<REST, B>(blocks) }, act.sum);
    let scales = _mm256_mul_ps(d, floats(act.scale));
    let scales = if HIGH { with_sixteenths(scales) } else { _mm512_castps256_ps512(scales) };
    let [a, b, c, e, f, g, h, i] = blocks;
    let weights = [pair(a, b), pair(c, e), pair(f, g), pair(h, i)];
    Sums { products: four_steps(sums.products, weights, act.q, scales, pick), ..sums }
}

/// Each 16 bytes twice: the low nibbles will be looked for in the one, the high ones in the other.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn twice(a: &[u8; 16], b: &[u8; 16]) -> __m512i {
    let (a, b) = (_mm256_broadcastsi128_si256(load16(a)), _mm256_broadcastsi128_si256(load16(b)));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b)
}

/// Nibbles and a fifth bit for each.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn fives(a: &[u8; 16], b: &[u8; 16], bits_a: &[u8; 4], bits_b: &[u8; 4]) -> __m512i {
    let moved = _mm512_srlv_epi32(twice(a, b), quarters(0, 4, 0, 4));
    let four = _mm512_and_si512(moved, _mm512_set1_epi8(15));
    let bits = u64::from(u32::from_le_bytes(*bits_a)) | u64::from(u32::from_le_bytes(*bits_b)) << 32;
    _mm512_mask_add_epi8(four, bits, four, _mm512_set1_epi8(16))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn q8_0<const AHEAD: bool>(rows: [&[u8]; 2], act: &Row<'_>) -> [f32; 2] {
    let pick = picks(&PAIRS);
    let pair = |a: &[u8; 34], b: &[u8; 34]| {
        let low = _mm512_castsi256_si512(load32(at::<2, 32, 34, u8>(a)));
        let both = _mm512_inserti64x4::<1>(low, load32(at::<2, 32, 34, u8>(b)));
        _mm512_xor_si512(both, _mm512_set1_epi8(-128))
    };
    small::<_, AHEAD>(rows, *act, -128.0, |sums, blocks, act| pairs::<34, false, 0>(sums, blocks, act, pick, pair))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn q4_0<const AHEAD: bool>(rows: [&[u8]; 2], act: &Row<'_>) -> [f32; 2] {
    let tables = Words::new();
    small::<_, AHEAD>(rows, Row { q: act.halves, ..*act }, -8.0, |sums, blocks, act| {
        nibbles(sums, blocks, act, &tables)
    })
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn q4_1<const AHEAD: bool>(rows: [&[u8]; 2], act: &Row<'_>) -> [f32; 2] {
    let pick = picks(&HALVES_APART);
    // Nibbles in place: the second half of each block is sixteen times too large.
    let (low, high) = (0x0f0f_0f0f, 0xf0f0_f0f0_u32.cast_signed());
    let pair = |a: &[u8; 20], b: &[u8; 20]| {
        let both = twice(at::<4, 16, 20, u8>(a), at::<4, 16, 20, u8>(b));
        _mm512_and_si512(both, quarters(low, high, low, high))
    };
    small::<_, AHEAD>(rows, *act, 1.0, |sums, blocks, act| pairs::<20, true, 2>(sums, blocks, act, pick, pair))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn q5_0<const AHEAD: bool>(rows: [&[u8]; 2], act: &Row<'_>) -> [f32; 2] {
    let pick = picks(&PAIRS);
    let pair = |a: &[u8; 22], b: &[u8; 22]| {
        fives(at::<6, 16, 22, u8>(a), at::<6, 16, 22, u8>(b), at::<2, 4, 22, u8>(a), at::<2, 4, 22, u8>(b))
    };
    small::<_, AHEAD>(rows, *act, -16.0, |sums, blocks, act| pairs::<22, false, 0>(sums, blocks, act, pick, pair))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline(never)]
pub(super) fn q5_1<const AHEAD: bool>(rows: [&[u8]; 2], act: &Row<'_>) -> [f32; 2] {
    let pick = picks(&PAIRS);
    let pair = |a: &[u8; 24], b: &[u8; 24]| {
        fives(at::<8, 16, 24, u8>(a), at::<8, 16, 24, u8>(b), at::<4, 4, 24, u8>(a), at::<4, 4, 24, u8>(b))
    };
    small::<_, AHEAD>(rows, *act, 1.0, |sums, blocks, act| pairs::<24, false, 2>(sums, blocks, act, pick, pair))
}
