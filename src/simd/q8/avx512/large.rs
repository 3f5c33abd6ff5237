//! Blocks of 256.

use core::arch::x86_64::*;

use super::super::super::act::Row;
use super::super::super::ahead;
use super::super::at;
use super::super::avx2::{floats, load16, scales_and_minima};
use super::{
    FOURS, PAIRS, PAIRS_APART, Sums, add, floats16, four_steps, load, load32, picks, quarters, totals,
    with_sixteenths,
};

/// The scales of a Q4_K or Q5_K block times those of its activations; its minima go into `rest`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn scales_of<const B: usize>(block: &[u8; B], scale: &[f32; 8], sum: &[f32; 8], rest: &mut __m512) -> __m256 {
    let (scales, minima) = scales_and_minima(block);
    add(rest, _mm256_xor_ps(minima, _mm256_set1_ps(-0.0)), sum);
    _mm256_mul_ps(scales, floats(scale))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn q4_k_block(
    mut sums: Sums,
    block: &[u8; 144],
    q: &[i8; 256],
    (scale, sum): (&[f32; 8], &[f32; 8]),
    pick: [__m512i; 4],
) -> Sums {
    let mask = _mm512_inserti64x4::<1>(_mm512_set1_epi8(15), _mm256_set1_epi8(-16));
    let scales = with_sixteenths(scales_of(block, scale, sum, &mut sums.rest));
    let weights = |group: &[u8; 32]| _mm512_and_si512(_mm512_broadcast_i64x4(load32(group)), mask);
    let weights = [
        weights(at::<16, 32, 144, u8>(block)),
        weights(at::<48, 32, 144, u8>(block)),
        weights(at::<80, 32, 144, u8>(block)),
        weights(at::<112, 32, 144, u8>(block)),
    ];
    Sums { products: four_steps(sums.products, weights, q, scales, pick), ..sums }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn q5_k_block(
    mut sums: Sums,
    block: &[u8; 176],
    q: &[i8; 256],
    (scale, sum): (&[f32; 8], &[f32; 8]),
    pick: [__m512i; 4],
) -> Sums {
    let scales = _mm512_castps256_ps512(scales_of(block, scale, sum, &mut sums.rest));
    let high = _mm512_broadcast_i64x4(load32(at::<16, 32, 176, u8>(block)));
    let weights = |group: &[u8; 32], bit: __m512i| {
        let moved = _mm512_srlv_epi32(_mm512_broadcast_i64x4(load32(group)), quarters(0, 0, 4, 4));
        let four = _mm512_and_si512(moved, _mm512_set1_epi8(15));
        _mm512_mask_add_epi8(four, _mm512_test_epi8_mask(high, bit), four, _mm512_set1_epi8(16))
    };
    // Bit 2g for the low nibbles of group g, bit 2g + 1 for the high ones.
    let bits = |low: i8| _mm512_inserti64x4::<1>(_mm512_set1_epi8(low), _mm256_set1_epi8(low << 1));
    let weights = [
        weights(at::<48, 32, 176, u8>(block), bits(1)),
        weights(at::<80, 32, 176, u8>(block), bits(4)),
        weights(at::<112, 32, 176, u8>(block), bits(16)),
        weights(at::<144, 32, 176, u8>(block), bits(64)),
    ];
    Sums { products: four_steps(sums.products, weights, q, scales, pick), ..sums }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn q6_k_block(
    mut sums: Sums,
    block: &[u8; 210],
    q: &[i8; 256],
    (scale, sum): (&[f32; 8], &[f32; 16]),
    pick: [__m512i; 4],
) -> Sums {
    // A scale of activations faces two groups of 16.
    let double = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    let (low, two) = (_mm512_set1_epi8(15), _mm512_set1_epi8(0x30));
    let d = _mm512_cvtph_ps(_mm256_set1_epi16(i16::from_le_bytes(*at::<208, 2, 210, u8>(block))));
    let own = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(at::<192, 16, 210, u8>(block))));
    let own = _mm512_mul_ps(own, d);
    // 32 is too much in each weight.
    let less = _mm512_mul_ps(own, _mm512_set1_ps(-32.0));
    sums.rest = _mm512_fmadd_ps(less, floats16(sum), sums.rest);
    let scales = _mm512_permutexvar_ps(double, _mm512_castps256_ps512(floats(scale)));
    let scales = _mm512_mul_ps(own, scales);
    let half = |nibbles: &[u8; 64], bits: &[u8; 32]| {
        let nibbles = load(nibbles);
        let bits = _mm512_broadcast_i64x4(load32(bits));
        let lower = _mm512_sllv_epi32(bits, quarters(4, 4, 2, 2));
        let upper = _mm512_srlv_epi32(bits, quarters(0, 0, 2, 2));
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(nibbles), low);
        // (a & b) | c
        [
            _mm512_ternarylogic_epi32::<0xea>(lower, two, _mm512_and_si512(nibbles, low)),
            _mm512_ternarylogic_epi32::<0xea>(upper, two, high),
        ]
    };
    let [a, b] = half(at::<0, 64, 210, u8>(block), at::<128, 32, 210, u8>(block));
    let [c, d] = half(at::<64, 64, 210, u8>(block), at::<160, 32, 210, u8>(block));
    Sums { products: four_steps(sums.products, [a, b, c, d], q, scales, pick), ..sums }
}

/// Two rows of blocks of 256 in step.
macro_rules! large {
    ($name:ident, $block:ident, $bytes:literal, $table:ident, $sums:ident, $per:literal) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
        #[inline(never)]
        pub(super) fn $name<const AHEAD: bool>([near, far]: [&[u8]; 2], act: &Row<'_>) -> [f32; 2] {
            let pick = picks(&$table);
            let (mut a, mut b) = (Sums::new(), Sums::new());
            let blocks = near.as_chunks::<$bytes>().0.iter().zip(far.as_chunks::<$bytes>().0);
            let scales = act.scale.as_chunks::<8>().0.iter().zip(act.$sums.as_chunks::<$per>().0);
            for ((near, far), (q, scales)) in blocks.zip(act.q.as_chunks::<256>().0.iter().zip(scales)) {
                ahead::lines::<AHEAD>(near);
                ahead::lines::<AHEAD>(far);
                a = $block(a, near, q, scales, pick);
                b = $block(b, far, q, scales, pick);
            }
            totals(a.lanes(), b.lanes())
        }
    };
}
large!(q4_k, q4_k_block, 144, PAIRS_APART, sum32, 8);
large!(q5_k, q5_k_block, 176, PAIRS, sum32, 8);
large!(q6_k, q6_k_block, 210, FOURS, sum16, 16);
