//! 16 elements at a time with AVX-512.
//!
//! A table of sixteen products fits into a vector, and one instruction looks up sixteen elements in it by the lowest four
//! bits of their places. So elements of 4 and 5 bits are not multiplied at all: the table is, once for each scale.

use core::arch::x86_64::*;

use super::super::unpack::six_bits;
use super::avx2::past;
use super::{iq4_scales, pairs, part};
use crate::gguf::GgmlType;
use crate::quant::{E2M1, NON_LINEAR, e8m0_half};

/// Decodes proved blocks, or says that there is no kernel for the type. Q8_0, Q2_K, Q3_K and Q5_K are left to AVX2, which was
/// measured to be as fast or faster.
///
/// # Safety
///
/// As that of AVX2.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) unsafe fn decode<const PAST: bool>(kind: GgmlType, bytes: &[u8], out: &mut [f32]) -> bool {
    match kind {
        GgmlType::Q4_0 => q4_0::<PAST>(bytes, out),
        GgmlType::Q4_1 => q4_1::<PAST>(bytes, out),
        GgmlType::Q5_0 => q5_0::<PAST>(bytes, out),
        GgmlType::Q5_1 => q5_1::<PAST>(bytes, out),
        GgmlType::Q4_K => q4_k::<PAST>(bytes, out),
        GgmlType::Q6_K => q6_k::<PAST>(bytes, out),
        GgmlType::IQ4_NL => iq4_nl::<PAST>(bytes, out),
        GgmlType::IQ4_XS => iq4_xs::<PAST>(bytes, out),
        GgmlType::MXFP4 => mxfp4::<PAST>(bytes, out),
        // SAFETY: the caller's promise.
        _ => return unsafe { super::avx2::decode::<PAST>(kind, bytes, out) },
    }
    true
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn load16(from: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are there; the load needs no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn load32(from: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are there; the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn store<const PAST: bool>(to: &mut [f32; 16], v: __m512) {
    if PAST {
        if let [a, b, c, d] = to.as_chunks_mut::<4>().0 {
            past(a, _mm512_castps512_ps128(v));
            past(b, _mm512_extractf32x4_ps::<1>(v));
            past(c, _mm512_extractf32x4_ps::<2>(v));
            past(d, _mm512_extractf32x4_ps::<3>(v));
        }
        return;
    }
    // SAFETY: there is room for 16 values; the store needs no alignment.
    unsafe { _mm512_storeu_ps(to.as_mut_ptr(), v) }
}

/// The F16 at byte `A` of a block, in every place.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn half<const A: usize, const B: usize>(block: &[u8; B]) -> __m512 {
    let code = u16::from_le_bytes(*part::<A, 2, B>(block));
    _mm512_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(code))))
}

/// Sixteen whole numbers, from the one given.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn steps(first: f32) -> __m512 {
    let steps = _mm512_set_ps(15.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0);
    _mm512_add_ps(steps, _mm512_set1_ps(first))
}

/// Bytes as places; what stands above their lowest four bits does not matter to [`look_up`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn places(bytes: &[u8; 16]) -> __m512i {
    _mm512_cvtepu8_epi32(load16(bytes))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn look_up(table: __m512, places: __m512i) -> __m512 {
    _mm512_permutexvar_ps(places, table)
}

/// The low nibbles of 16 bytes through the table, then the high ones.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn nibbles<const PAST: bool>(out: &mut [f32; 32], bytes: &[u8; 16], table: __m512) {
    let [low, high] = out.as_chunks_mut::<16>().0 else { return };
    let q = places(bytes);
    store::<PAST>(low, look_up(table, q));
    store::<PAST>(high, look_up(table, _mm512_srli_epi32::<4>(q)));
}

/// As [`nibbles`], with a second table for those whose bit in `above` is set.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn five_bits<const PAST: bool>(
    out: &mut [f32; 32],
    bytes: &[u8; 16],
    above: [u8; 4],
    [table, second]: [__m512; 2],
) {
    let [low, high] = out.as_chunks_mut::<16>().0 else { return };
    let [a, b, c, d] = above;
    let (low_q, low_mask) = (places(bytes), u16::from_le_bytes([a, b]));
    let (high_q, high_mask) = (_mm512_srli_epi32::<4>(low_q), u16::from_le_bytes([c, d]));
    store::<PAST>(low, _mm512_mask_permutexvar_ps(look_up(table, low_q), low_mask, low_q, second));
    store::<PAST>(high, _mm512_mask_permutexvar_ps(look_up(table, high_q), high_mask, high_q, second));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q4_0<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let steps = steps(-8.0);
    for (block, out) in pairs::<18, 32>(bytes, out) {
        nibbles::<PAST>(out, part::<2, 16, 18>(block), _mm512_mul_ps(steps, half::<0, 18>(block)));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q4_1<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let steps = steps(0.0);
    for (block, out) in pairs::<20, 32>(bytes, out) {
        let (d, m) = (half::<0, 20>(block), half::<2, 20>(block));
        nibbles::<PAST>(out, part::<4, 16, 20>(block), _mm512_fmadd_ps(steps, d, m));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q5_0<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let steps = [steps(-16.0), steps(0.0)];
    for (block, out) in pairs::<22, 32>(bytes, out) {
        let d = half::<0, 22>(block);
        let tables = steps.map(|steps| _mm512_mul_ps(steps, d));
        five_bits::<PAST>(out, part::<6, 16, 22>(block), *part::<2, 4, 22>(block), tables);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q5_1<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let steps = [steps(0.0), steps(16.0)];
    for (block, out) in pairs::<24, 32>(bytes, out) {
        let (d, m) = (half::<0, 24>(block), half::<2, 24>(block));
        let tables = steps.map(|steps| _mm512_fmadd_ps(steps, d, m));
        five_bits::<PAST>(out, part::<8, 16, 24>(block), *part::<4, 4, 24>(block), tables);
    }
}

/// Sixteen whole numbers times `d`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn products(d: __m512, q: __m512i) -> [f32; 16] {
    let mut all = [0.0; 16];
    store::<false>(&mut all, _mm512_mul_ps(d, _mm512_cvtepi32_ps(q)));
    all
}

/// The scales and the minima of Q4_K and Q5_K, one after the other.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn factors<const B: usize>(block: &[u8; B]) -> [f32; 16] {
    let (scales, mins) = six_bits(part::<4, 12, B>(block));
    let both = _mm_set_epi64x(i64::from_le_bytes(mins), i64::from_le_bytes(scales));
    let halves = _mm512_mask_blend_ps(0xFF00, half::<0, B>(block), half::<2, B>(block));
    products(halves, _mm512_cvtepu8_epi32(both))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q4_k<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let steps = steps(0.0);
    for (block, out) in pairs::<144, 256>(bytes, out) {
        let factors = factors(block);
        let table =
            |at: usize| _mm512_fmsub_ps(_mm512_set1_ps(factors[at]), steps, _mm512_set1_ps(factors[at + 8]));
        let groups = out.as_chunks_mut::<64>().0.iter_mut().zip(part::<16, 128, 144>(block).as_chunks::<32>().0);
        for ((group, qs), at) in groups.zip([0, 2, 4, 6]) {
            let [a, b, c, d] = group.as_chunks_mut::<16>().0 else { return };
            let (low, high) = (table(at), table(at + 1));
            let (first, second) = (places(part::<0, 16, 32>(qs)), places(part::<16, 16, 32>(qs)));
            store::<PAST>(a, look_up(low, first));
            store::<PAST>(b, look_up(low, second));
            store::<PAST>(c, look_up(high, _mm512_srli_epi32::<4>(first)));
            store::<PAST>(d, look_up(high, _mm512_srli_epi32::<4>(second)));
        }
    }
}

/// The bits of `low` in the lower nibbles, those of `above` in the two bits beyond.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn six(low: __m256i, above: __m256i) -> __m256i {
    let both = _mm256_ternarylogic_epi32::<0xCA>(_mm256_set1_epi8(0x0F), low, above);
    _mm256_sub_epi8(_mm256_and_si256(both, _mm256_set1_epi8(0x3F)), _mm256_set1_epi8(32))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q6_k<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<210, 256>(bytes, out) {
        let scales = _mm512_cvtepi8_epi32(load16(part::<192, 16, 210>(block)));
        let d = products(half::<208, 210>(block), scales);
        let halves = out.as_chunks_mut::<128>().0.iter_mut().zip(part::<0, 128, 210>(block).as_chunks::<64>().0);
        let halves = halves.zip(part::<128, 64, 210>(block).as_chunks::<32>().0);
        for (((half, low), above), d) in halves.zip(d.as_chunks::<8>().0) {
            let (first, second) = (load32(part::<0, 32, 64>(low)), load32(part::<32, 32, 64>(low)));
            let above = load32(above);
            let runs = [
                six(first, _mm256_slli_epi16::<4>(above)),
                six(second, _mm256_slli_epi16::<2>(above)),
                six(_mm256_srli_epi16::<4>(first), above),
                six(_mm256_srli_epi16::<4>(second), _mm256_srli_epi16::<2>(above)),
            ];
            let outs = half.as_chunks_mut::<32>().0.iter_mut().zip(d.as_chunks::<2>().0);
            for ((out, d), q) in outs.zip(runs) {
                let parts = [_mm256_castsi256_si128(q), _mm256_extracti128_si256::<1>(q)];
                for ((out, d), q) in out.as_chunks_mut::<16>().0.iter_mut().zip(d).zip(parts) {
                    let q = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q));
                    store::<PAST>(out, _mm512_mul_ps(_mm512_set1_ps(*d), q));
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn table(values: &[f32; 16]) -> __m512 {
    // SAFETY: 16 values are there; the load needs no alignment.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn iq4_nl<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let values = table(&NON_LINEAR);
    for (block, out) in pairs::<18, 32>(bytes, out) {
        nibbles::<PAST>(out, part::<2, 16, 18>(block), _mm512_mul_ps(values, half::<0, 18>(block)));
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn iq4_xs<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let values = table(&NON_LINEAR);
    for (block, out) in pairs::<136, 256>(bytes, out) {
        let d = half::<0, 136>(block);
        let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(part::<8, 128, 136>(block).as_chunks::<16>().0);
        for ((run, qs), scale) in runs.zip(iq4_scales(part::<2, 6, 136>(block))) {
            nibbles::<PAST>(run, qs, _mm512_mul_ps(values, _mm512_mul_ps(d, _mm512_set1_ps(scale))));
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn mxfp4<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let values = table(&E2M1);
    for (block, out) in pairs::<17, 32>(bytes, out) {
        nibbles::<PAST>(out, part::<1, 16, 17>(block), _mm512_mul_ps(values, _mm512_set1_ps(e8m0_half(block[0]))));
    }
}
