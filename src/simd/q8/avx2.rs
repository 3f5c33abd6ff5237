//! Block rows with 8-bit activations by `vpmaddubsw`, a block of 32 in a vector.
//!
//! Weights enter as unsigned bytes of at most 63, so that no pair of products leaves 16 bits; those of Q8_0 as magnitudes,
//! with their signs given to the activations (128 × 127 × 2 fits as well). What is too much in the weights is taken off at
//! the end, as a multiple of the activations' sums under the same scales.

use core::arch::x86_64::*;

use super::super::WeightType;
use super::super::act::Row;
use super::super::ahead;
use super::super::unpack::six_bits;
use super::{Eight, Eights, Facing, at};

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load<T: bytemuck::Pod>(from: &[T; 32]) -> __m256i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: 32 bytes are there; the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn load16(from: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are there; the load needs no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn floats(from: &[f32; 8]) -> __m256 {
    // SAFETY: 8 values are there; the load needs no alignment.
    unsafe { _mm256_loadu_ps(from.as_ptr()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn store(v: __m256) -> [f32; 8] {
    let mut all = [0.0; 8];
    // SAFETY: there is room for 8 values; the store needs no alignment.
    unsafe { _mm256_storeu_ps(all.as_mut_ptr(), v) };
    all
}

/// The F16 at byte `A` of each of eight blocks.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn halves<const A: usize, const B: usize>(blocks: &[[u8; B]; 8]) -> __m256 {
    // Not through `map`: compiled in several units, its closure is a call for every block.
    macro_rules! two {
        ($a:expr, $b:expr) => {
            _mm_unpacklo_epi16(load16(at::<A, 16, B, u8>($a)), load16(at::<A, 16, B, u8>($b)))
        };
    }
    let [a, b, c, d, e, f, g, h] = blocks;
    let (low, high) = (_mm_unpacklo_epi32(two!(a, b), two!(c, d)), _mm_unpacklo_epi32(two!(e, f), two!(g, h)));
    _mm256_cvtph_ps(_mm_unpacklo_epi64(low, high))
}

/// The sums of fours of products of 32 weights (unsigned, at most 128) and activations, as floats.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn products(weights: __m256i, q: __m256i) -> __m256 {
    let pairs = _mm256_maddubs_epi16(weights, q);
    _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn total(v: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// A row of blocks of 32: `one` gives the products of a block's weights, `LESS` too large, with activations. `MIN` says
/// that a minimum stands at byte 2.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn small<const B: usize, const MIN: bool, const LESS: u8>(
    row: &[u8],
    act: Row<'_>,
    one: impl Fn(&[u8; B], __m256i) -> __m256,
) -> f32 {
    let (mut even, mut odd) = (_mm256_setzero_ps(), _mm256_setzero_ps());
    let mut rest = _mm256_setzero_ps();
    let mut all = Eights::<B>::new(row, act);
    while let Some(eight) = all.next() {
        let d = halves::<0, B>(eight.blocks);
        let sum = floats(eight.act.sum);
        if MIN {
            rest = _mm256_fmadd_ps(halves::<2, B>(eight.blocks), sum, rest);
        }
        if LESS != 0 {
            let less = _mm256_mul_ps(d, _mm256_set1_ps(-f32::from(LESS)));
            rest = _mm256_fmadd_ps(less, sum, rest);
        }
        let scales = store(_mm256_mul_ps(d, floats(eight.act.scale)));
        let pairs = eight.blocks.as_chunks::<2>().0.iter().zip(eight.act.q.as_chunks::<64>().0);
        for (([a, b], q), [s, t]) in pairs.zip(scales.as_chunks::<2>().0) {
            let (q, r) = (at::<0, 32, 64, i8>(q), at::<32, 32, 64, i8>(q));
            even = _mm256_fmadd_ps(one(a, load(q)), _mm256_set1_ps(*s), even);
            odd = _mm256_fmadd_ps(one(b, load(r)), _mm256_set1_ps(*t), odd);
        }
    }
    total(_mm256_add_ps(_mm256_add_ps(even, odd), rest))
}

/// Low nibbles, then high ones.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn nibbles(bytes: &[u8; 16]) -> __m256i {
    let low = load16(bytes);
    let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), _mm_srli_epi16::<4>(low));
    _mm256_and_si256(both, _mm256_set1_epi8(15))
}

/// 16 in each byte whose bit is set: bit j for byte j.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn sixteens(bits: &[u8; 4]) -> __m256i {
    let all = _mm256_set1_epi32(i32::from_le_bytes(*bits));
    let (a, b) = (0x0101_0101_0101_0101, 0x0202_0202_0202_0202);
    let spread = _mm256_shuffle_epi8(all, _mm256_set_epi64x(a + b, b, a, 0));
    let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, own), own);
    _mm256_and_si256(set, _mm256_set1_epi8(16))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q8_0(row: &[u8], act: Row<'_>) -> f32 {
    small::<34, false, 0>(row, act, |block, q| {
        let weights = load(at::<2, 32, 34, u8>(block));
        products(_mm256_abs_epi8(weights), _mm256_sign_epi8(q, weights))
    })
}

/// Two blocks of Q4_0 whose nibbles face the first halves of their activations with the low bits and the second ones with
/// the high bits: sums of eights of products, four of each block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn two_blocks(a: &[u8; 18], b: &[u8; 18], low: &[i8; 32], high: &[i8; 32]) -> __m256 {
    let a = _mm256_castsi128_si256(load16(at::<2, 16, 18, u8>(a)));
    let both = _mm256_inserti128_si256::<1>(a, load16(at::<2, 16, 18, u8>(b)));
    let mask = _mm256_set1_epi8(15);
    let first = _mm256_maddubs_epi16(_mm256_and_si256(both, mask), load(low));
    let second = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(both), mask), load(high));
    // 4 × 15 × 127 is far from what 16 bits hold.
    let sums = _mm256_add_epi16(first, second);
    _mm256_cvtepi32_ps(_mm256_madd_epi16(sums, _mm256_set1_epi16(1)))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q4_0(row: &[u8], act: Row<'_>) -> f32 {
    let (mut even, mut odd, mut rest) = (_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps());
    let mut all = Eights::<18>::new(row, Row { q: act.halves, ..act });
    // Scale 2i for four lanes and 2i + 1 for the others.
    let pick = |i: i32| _mm256_set_epi32(i + 1, i + 1, i + 1, i + 1, i, i, i, i);
    while let Some(Eight { blocks, act: Facing { q, scale, sum } }) = all.next() {
        let [a, b, c, d, e, f, g, h] = blocks;
        let own = halves::<0, 18>(blocks);
        rest = _mm256_fmadd_ps(own, floats(sum), rest);
        let scales = _mm256_mul_ps(own, floats(scale));
        let spread = |i: i32| _mm256_permutevar8x32_ps(scales, pick(i));
        let (first, second) = (at::<0, 32, 256, i8>(q), at::<64, 32, 256, i8>(q));
        even = _mm256_fmadd_ps(two_blocks(a, b, first, second), spread(0), even);
        let (first, second) = (at::<32, 32, 256, i8>(q), at::<96, 32, 256, i8>(q));
        odd = _mm256_fmadd_ps(two_blocks(c, d, first, second), spread(2), odd);
        let (first, second) = (at::<128, 32, 256, i8>(q), at::<192, 32, 256, i8>(q));
        even = _mm256_fmadd_ps(two_blocks(e, f, first, second), spread(4), even);
        let (first, second) = (at::<160, 32, 256, i8>(q), at::<224, 32, 256, i8>(q));
        odd = _mm256_fmadd_ps(two_blocks(g, h, first, second), spread(6), odd);
    }
    // 8 is too much in each weight.
    let less = _mm256_mul_ps(rest, _mm256_set1_ps(-8.0));
    total(_mm256_add_ps(_mm256_add_ps(even, odd), less))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q4_1(row: &[u8], act: Row<'_>) -> f32 {
    small::<20, true, 0>(row, act, |block, q| products(nibbles(at::<4, 16, 20, u8>(block)), q))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q5_0(row: &[u8], act: Row<'_>) -> f32 {
    small::<22, false, 16>(row, act, |block, q| {
        let weights = _mm256_or_si256(nibbles(at::<6, 16, 22, u8>(block)), sixteens(at::<2, 4, 22, u8>(block)));
        products(weights, q)
    })
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q5_1(row: &[u8], act: Row<'_>) -> f32 {
    small::<24, true, 0>(row, act, |block, q| {
        let weights = _mm256_or_si256(nibbles(at::<8, 16, 24, u8>(block)), sixteens(at::<4, 4, 24, u8>(block)));
        products(weights, q)
    })
}

/// Eight unsigned bytes as floats.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn bytes(eight: [u8; 8]) -> __m256 {
    let word = _mm_cvtsi64_si128(i64::from_le_bytes(eight));
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(word))
}

/// An F16 in all places.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn one_half(half: &[u8; 2]) -> __m256 {
    _mm256_cvtph_ps(_mm_set1_epi16(i16::from_le_bytes(*half)))
}

/// The scales and minima of a Q4_K or Q5_K block.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn scales_and_minima<const B: usize>(block: &[u8; B]) -> (__m256, __m256) {
    let (scales, minima) = six_bits(at::<4, 12, B, u8>(block));
    let minima = _mm256_mul_ps(bytes(minima), one_half(at::<2, 2, B, u8>(block)));
    (_mm256_mul_ps(bytes(scales), one_half(at::<0, 2, B, u8>(block))), minima)
}

/// The scales of a Q4_K or Q5_K block times those of its activations; its minima go into `rest`.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn scales_of<const B: usize>(block: &[u8; B], scale: &[f32; 8], sum: &[f32; 8], rest: &mut __m256) -> [f32; 8] {
    let (scales, minima) = scales_and_minima(block);
    *rest = _mm256_fnmadd_ps(minima, floats(sum), *rest);
    store(_mm256_mul_ps(scales, floats(scale)))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q4_k(row: &[u8], act: Row<'_>) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 2];
    let mut rest = _mm256_setzero_ps();
    let (blocks, _) = row.as_chunks::<144>();
    let acts =
        act.q.as_chunks::<256>().0.iter().zip(act.scale.as_chunks::<8>().0).zip(act.sum32.as_chunks::<8>().0);
    for (block, ((q, scale), sum)) in blocks.iter().zip(acts) {
        let scales = scales_of(block, scale, sum, &mut rest);
        let (groups, _) = at::<16, 128, 144, u8>(block).as_chunks::<32>();
        let (quants, _) = q.as_chunks::<32>();
        let parts = groups.iter().zip(quants.as_chunks::<2>().0).zip(scales.as_chunks::<2>().0);
        for ((group, [q, r]), [s, t]) in parts {
            let both = load(group);
            let low = _mm256_and_si256(both, _mm256_set1_epi8(15));
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(both), _mm256_set1_epi8(15));
            sums[0] = _mm256_fmadd_ps(products(low, load(q)), _mm256_set1_ps(*s), sums[0]);
            sums[1] = _mm256_fmadd_ps(products(high, load(r)), _mm256_set1_ps(*t), sums[1]);
        }
    }
    total(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), rest))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q5_k(row: &[u8], act: Row<'_>) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 2];
    let mut rest = _mm256_setzero_ps();
    let (blocks, _) = row.as_chunks::<176>();
    let acts =
        act.q.as_chunks::<256>().0.iter().zip(act.scale.as_chunks::<8>().0).zip(act.sum32.as_chunks::<8>().0);
    for (block, ((q, scale), sum)) in blocks.iter().zip(acts) {
        let scales = scales_of(block, scale, sum, &mut rest);
        // The fifth bits of the low nibbles at bit 0, those of the high ones at bit 1.
        let mut bits = load(at::<16, 32, 176, u8>(block));
        let (groups, _) = at::<48, 128, 176, u8>(block).as_chunks::<32>();
        let (quants, _) = q.as_chunks::<32>();
        let parts = groups.iter().zip(quants.as_chunks::<2>().0).zip(scales.as_chunks::<2>().0);
        for ((group, [q, r]), [s, t]) in parts {
            let both = load(group);
            let sixteen = _mm256_set1_epi8(16);
            let low = _mm256_and_si256(both, _mm256_set1_epi8(15));
            let low = _mm256_or_si256(low, _mm256_and_si256(_mm256_slli_epi16::<4>(bits), sixteen));
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(both), _mm256_set1_epi8(15));
            let high = _mm256_or_si256(high, _mm256_and_si256(_mm256_slli_epi16::<3>(bits), sixteen));
            bits = _mm256_srli_epi16::<2>(bits);
            sums[0] = _mm256_fmadd_ps(products(low, load(q)), _mm256_set1_ps(*s), sums[0]);
            sums[1] = _mm256_fmadd_ps(products(high, load(r)), _mm256_set1_ps(*t), sums[1]);
        }
    }
    total(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), rest))
}

/// The scales of two groups of 16, four places each.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn two_scales([a, b]: [f32; 2]) -> __m256 {
    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_set1_ps(a)), _mm_set1_ps(b))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q6_k(row: &[u8], act: Row<'_>) -> f32 {
    let (low, two) = (_mm256_set1_epi8(15), _mm256_set1_epi8(0x30));
    let mut sums = [_mm256_setzero_ps(); 4];
    let mut less = _mm256_setzero_ps();
    let (blocks, _) = row.as_chunks::<210>();
    let acts =
        act.q.as_chunks::<256>().0.iter().zip(act.scale.as_chunks::<8>().0).zip(act.sum16.as_chunks::<16>().0);
    for (block, ((q, scale), sum)) in blocks.iter().zip(acts) {
        let d = one_half(at::<208, 2, 210, u8>(block));
        let own = load16(at::<192, 16, 210, u8>(block));
        let first = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(own)), d);
        let second = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128::<8>(own)));
        let second = _mm256_mul_ps(second, d);
        let (totals, _) = sum.as_chunks::<8>();
        if let [a, b] = totals {
            less = _mm256_fmadd_ps(second, floats(b), _mm256_fmadd_ps(first, floats(a), less));
        }
        // A scale of activations faces two groups of 16.
        let all = floats(scale);
        let pairs = |a, b, c, d| _mm256_permutevar8x32_ps(all, _mm256_set_epi32(d, d, c, c, b, b, a, a));
        let scales =
            [store(_mm256_mul_ps(first, pairs(0, 1, 2, 3))), store(_mm256_mul_ps(second, pairs(4, 5, 6, 7)))];
        let (quants, _) = q.as_chunks::<128>();
        let (nibbles, _) = at::<0, 128, 210, u8>(block).as_chunks::<64>();
        let (bits, _) = at::<128, 64, 210, u8>(block).as_chunks::<32>();
        for (((nibbles, bits), q), scales) in nibbles.iter().zip(bits).zip(quants).zip(scales) {
            let (a, b) = (load(at::<0, 32, 64, u8>(nibbles)), load(at::<32, 32, 64, u8>(nibbles)));
            let bits = load(bits);
            let with = |four: __m256i, bits: __m256i| {
                _mm256_or_si256(_mm256_and_si256(four, low), _mm256_and_si256(bits, two))
            };
            let weights = [
                with(a, _mm256_slli_epi16::<4>(bits)),
                with(b, _mm256_slli_epi16::<2>(bits)),
                with(_mm256_srli_epi16::<4>(a), bits),
                with(_mm256_srli_epi16::<4>(b), _mm256_srli_epi16::<2>(bits)),
            ];
            let parts = weights.into_iter().zip(q.as_chunks::<32>().0).zip(scales.as_chunks::<2>().0);
            for (sum, ((weights, q), two)) in sums.iter_mut().zip(parts) {
                *sum = _mm256_fmadd_ps(products(weights, load(q)), two_scales(*two), *sum);
            }
        }
    }
    let [a, b, c, d] = sums;
    let sum = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
    total(_mm256_fnmadd_ps(less, _mm256_set1_ps(32.0), sum))
}

/// Adds `rows[i] · act` to `out[i]`, for block rows of `stride` bytes.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn matvec(ty: WeightType, bytes: &[u8], stride: usize, act: Row<'_>, out: &mut [f32]) {
    let wanted = ahead::is_wanted();
    macro_rules! all {
        ($dot:ident) => {
            for (out, row) in out.iter_mut().zip(bytes.chunks_exact(stride)) {
                if wanted {
                    ahead::lines::<true>(row);
                } else {
                    ahead::next_page(row);
                }
                *out += $dot(row, act);
            }
        };
    }
    match ty {
        WeightType::Q8_0 => all!(q8_0),
        WeightType::Q4_0 => all!(q4_0),
        WeightType::Q4_1 => all!(q4_1),
        WeightType::Q5_0 => all!(q5_0),
        WeightType::Q5_1 => all!(q5_1),
        WeightType::Q4_K => all!(q4_k),
        WeightType::Q5_K => all!(q5_k),
        WeightType::Q6_K => all!(q6_k),
        WeightType::F32 | WeightType::F16 | WeightType::BF16 => {}
    }
}
