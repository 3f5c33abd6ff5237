//! 8 elements at a time with AVX2, FMA and F16C.
//!
//! Elements of 2 and 3 bits are looked up among the products of their scale, all others are widened and multiplied.

use core::arch::x86_64::*;

use super::super::unpack::six_bits;
use super::{iq4_scales, pairs, part, q3_scales};
use crate::gguf::GgmlType;
use crate::quant::{E2M1, NON_LINEAR, e8m0_half};

/// Decodes proved blocks, or says that there is no kernel for the type. With `PAST` the elements go past the caches; a
/// [`fence`] has to follow.
///
/// # Safety
///
/// With `PAST` the first element is aligned to 16 bytes.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn decode<const PAST: bool>(kind: GgmlType, bytes: &[u8], out: &mut [f32]) -> bool {
    match kind {
        GgmlType::Q4_0 => q4_0::<PAST>(bytes, out),
        GgmlType::Q4_1 => q4_1::<PAST>(bytes, out),
        GgmlType::Q5_0 => q5_0::<PAST>(bytes, out),
        GgmlType::Q5_1 => q5_1::<PAST>(bytes, out),
        GgmlType::Q8_0 => q8_0::<PAST>(bytes, out),
        GgmlType::Q2_K => q2_k::<PAST>(bytes, out),
        GgmlType::Q3_K => q3_k::<PAST>(bytes, out),
        GgmlType::Q4_K => q4_k::<PAST>(bytes, out),
        GgmlType::Q5_K => q5_k::<PAST>(bytes, out),
        GgmlType::Q6_K => q6_k::<PAST>(bytes, out),
        GgmlType::IQ4_NL => iq4_nl::<PAST>(bytes, out),
        GgmlType::IQ4_XS => iq4_xs::<PAST>(bytes, out),
        GgmlType::MXFP4 => mxfp4::<PAST>(bytes, out),
        _ => return false,
    }
    true
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load8(from: &[u8; 8]) -> __m128i {
    _mm_cvtsi64_si128(i64::from_le_bytes(*from))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load16(from: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are there; the load needs no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load32(from: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are there; the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn store<const PAST: bool>(to: &mut [f32; 8], v: __m256) {
    if PAST {
        if let [low, high] = to.as_chunks_mut::<4>().0 {
            past(low, _mm256_castps256_ps128(v));
            past(high, _mm256_extractf128_ps::<1>(v));
        }
        return;
    }
    // SAFETY: there is room for 8 values; the store needs no alignment.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), v) }
}

/// Past the caches: a line that is written whole need not be read first. Sixteen bytes at a time, since allocators align
/// large memory to no more.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn past(to: &mut [f32; 4], v: __m128) {
    // SAFETY: there is room for 4 values. Only kernels with `PAST` come here; whoever calls `decode` with it promises that
    // the first element is aligned to 16 bytes, and kernels store at multiples of 4 elements from there.
    unsafe { _mm_stream_ps(to.as_mut_ptr(), v) }
}

/// What was written [`past`] the caches comes before what is written from here on.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn fence() {
    _mm_sfence();
}

/// The F16 at byte `A` of a block, in every place.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn half<const A: usize, const B: usize>(block: &[u8; B]) -> __m256 {
    let code = u16::from_le_bytes(*part::<A, 2, B>(block));
    _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(code))))
}

/// The lowest eight bytes as floats, signed and unsigned.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn signed(bytes: __m128i) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn unsigned(bytes: __m128i) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))
}

/// Sixteen floats from two vectors.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn floats([a, b]: [__m256; 2]) -> [f32; 16] {
    let mut all = [0.0; 16];
    if let [low, high] = all.as_chunks_mut::<8>().0 {
        store::<false>(low, a);
        store::<false>(high, b);
    }
    all
}

/// Eights of bytes, each at the beginning of a vector.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn eights(bytes: __m256i) -> [__m128i; 4] {
    let (low, high) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
    [low, _mm_unpackhi_epi64(low, low), high, _mm_unpackhi_epi64(high, high)]
}

/// `q * d`, with signed `q` and a `d` for each 16.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn put<const PAST: bool>(out: &mut [f32; 32], q: __m256i, [d0, d1]: [__m256; 2]) {
    for ((out, q), d) in out.as_chunks_mut::<8>().0.iter_mut().zip(eights(q)).zip([d0, d0, d1, d1]) {
        store::<PAST>(out, _mm256_mul_ps(signed(q), d));
    }
}

/// `q * d + m`, with unsigned `q`.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn put_above<const PAST: bool>(out: &mut [f32; 32], q: __m256i, d: __m256, m: __m256) {
    for (out, q) in out.as_chunks_mut::<8>().0.iter_mut().zip(eights(q)) {
        store::<PAST>(out, _mm256_fmadd_ps(unsigned(q), d, m));
    }
}

/// `d * q - m`, with unsigned `q`.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn put_below<const PAST: bool>(out: &mut [f32; 32], q: __m256i, d: f32, m: f32) {
    for (out, q) in out.as_chunks_mut::<8>().0.iter_mut().zip(eights(q)) {
        store::<PAST>(out, _mm256_fmsub_ps(_mm256_set1_ps(d), unsigned(q), _mm256_set1_ps(m)));
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn low_nibbles(bytes: __m256i) -> __m256i {
    _mm256_and_si256(bytes, _mm256_set1_epi8(0x0F))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn high_nibbles(bytes: __m256i) -> __m256i {
    low_nibbles(_mm256_srli_epi16::<4>(bytes))
}

/// The low nibbles of 16 bytes, then their high ones.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn nibbles(bytes: &[u8; 16]) -> __m256i {
    let bytes = load16(bytes);
    low_nibbles(_mm256_set_m128i(_mm_srli_epi16::<4>(bytes), bytes))
}

/// A byte of ones for each bit that is set, the lowest first.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn masks(bits: &[u8; 4]) -> __m256i {
    let all = _mm256_set1_epi32(i32::from_le_bytes(*bits));
    let eighth = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
    let places = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let spread = _mm256_shuffle_epi8(all, eighth);
    _mm256_cmpeq_epi8(_mm256_and_si256(spread, places), places)
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q4_0<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<18, 32>(bytes, out) {
        let d = half::<0, 18>(block);
        put::<PAST>(out, _mm256_sub_epi8(nibbles(part::<2, 16, 18>(block)), _mm256_set1_epi8(8)), [d, d]);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q4_1<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<20, 32>(bytes, out) {
        put_above::<PAST>(out, nibbles(part::<4, 16, 20>(block)), half::<0, 20>(block), half::<2, 20>(block));
    }
}

/// Where the fifth bit is not set, the upper nibble of a byte is set: 16 less.
#[target_feature(enable = "avx2,fma,f16c")]
fn q5_0<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<22, 32>(bytes, out) {
        let d = half::<0, 22>(block);
        let less = _mm256_andnot_si256(masks(part::<2, 4, 22>(block)), _mm256_set1_epi8(-16));
        put::<PAST>(out, _mm256_or_si256(nibbles(part::<6, 16, 22>(block)), less), [d, d]);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q5_1<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<24, 32>(bytes, out) {
        let more = _mm256_and_si256(masks(part::<4, 4, 24>(block)), _mm256_set1_epi8(16));
        let q = _mm256_or_si256(nibbles(part::<8, 16, 24>(block)), more);
        put_above::<PAST>(out, q, half::<0, 24>(block), half::<2, 24>(block));
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q8_0<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<34, 32>(bytes, out) {
        let d = half::<0, 34>(block);
        let qs = part::<2, 32, 34>(block).as_chunks::<8>().0;
        for (out, q) in out.as_chunks_mut::<8>().0.iter_mut().zip(qs) {
            store::<PAST>(out, _mm256_mul_ps(signed(load8(q)), d));
        }
    }
}

/// Sixteen bytes as floats.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn sixteen(bytes: __m128i, d: __m256, widen: impl Fn(__m128i) -> __m256) -> [f32; 16] {
    floats([_mm256_mul_ps(d, widen(bytes)), _mm256_mul_ps(d, widen(_mm_unpackhi_epi64(bytes, bytes)))])
}

/// 128 elements of 2 bits: a pass for each pair of bits of 32 bytes. Only the lowest two bits of a place choose.
#[target_feature(enable = "avx2,fma,f16c")]
fn q2_k<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let steps = _mm256_set_ps(3.0, 2.0, 1.0, 0.0, 3.0, 2.0, 1.0, 0.0);
    for (block, out) in pairs::<84, 256>(bytes, out) {
        let scales = load16(part::<0, 16, 84>(block));
        let low = _mm_set1_epi8(0x0F);
        let d = sixteen(_mm_and_si128(scales, low), half::<80, 84>(block), |bytes| unsigned(bytes));
        let m = sixteen(_mm_and_si128(_mm_srli_epi16::<4>(scales), low), half::<82, 84>(block), |bytes| {
            unsigned(bytes)
        });
        let halves = out.as_chunks_mut::<128>().0.iter_mut().zip(part::<16, 64, 84>(block).as_chunks::<32>().0);
        let factors = d.as_chunks::<8>().0.iter().zip(m.as_chunks::<8>().0);
        for ((half, qs), (d, m)) in halves.zip(factors) {
            let table = |at: usize| _mm256_fmsub_ps(_mm256_set1_ps(d[at]), steps, _mm256_set1_ps(m[at]));
            let [a, b, c, e] = eights(load32(qs)).map(|eight| _mm256_cvtepu8_epi32(eight));
            for ((pass, at), shift) in half.as_chunks_mut::<32>().0.iter_mut().zip([0, 2, 4, 6]).zip([0, 2, 4, 6]) {
                let (first, second) = (table(at), table(at + 1));
                let shift = _mm256_set1_epi32(shift);
                let sources = [(first, a), (first, b), (second, c), (second, e)];
                for (out, (table, q)) in pass.as_chunks_mut::<8>().0.iter_mut().zip(sources) {
                    store::<PAST>(out, _mm256_permutevar_ps(table, _mm256_srlv_epi32(q, shift)));
                }
            }
        }
    }
}

/// As [`q2_k`], with a third bit out of 32 other bytes. Only the lowest three bits of a place choose.
#[target_feature(enable = "avx2,fma,f16c")]
fn q3_k<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let steps = _mm256_set_ps(3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0);
    for (block, out) in pairs::<110, 256>(bytes, out) {
        let scales = load16(&q3_scales(part::<96, 12, 110>(block)));
        let scales = _mm_sub_epi8(scales, _mm_set1_epi8(32));
        let d = sixteen(scales, half::<108, 110>(block), |bytes| signed(bytes));
        let mut above = load32(part::<0, 32, 110>(block));
        let halves = out.as_chunks_mut::<128>().0.iter_mut().zip(part::<32, 64, 110>(block).as_chunks::<32>().0);
        for ((half, qs), d) in halves.zip(d.as_chunks::<8>().0) {
            let mut low = load32(qs);
            let passes = half.as_chunks_mut::<32>().0.iter_mut().zip(d.as_chunks::<2>().0);
            for (pass, d) in passes {
                let third = _mm256_and_si256(_mm256_slli_epi16::<2>(above), _mm256_set1_epi8(4));
                let q = _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi8(3)), third);
                let [first, second] = d.map(|d| _mm256_mul_ps(_mm256_set1_ps(d), steps));
                let tables = [first, first, second, second];
                for ((out, table), q) in pass.as_chunks_mut::<8>().0.iter_mut().zip(tables).zip(eights(q)) {
                    store::<PAST>(out, _mm256_permutevar8x32_ps(table, _mm256_cvtepu8_epi32(q)));
                }
                low = _mm256_srli_epi16::<2>(low);
                above = _mm256_srli_epi16::<1>(above);
            }
        }
    }
}

/// The scales and the minima of Q4_K and Q5_K.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn factors<const B: usize>(block: &[u8; B]) -> ([f32; 8], [f32; 8]) {
    let (scales, mins) = six_bits(part::<4, 12, B>(block));
    let (mut d, mut m) = ([0.0; 8], [0.0; 8]);
    store::<false>(&mut d, _mm256_mul_ps(half::<0, B>(block), unsigned(load8(&scales))));
    store::<false>(&mut m, _mm256_mul_ps(half::<2, B>(block), unsigned(load8(&mins))));
    (d, m)
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q4_k<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<144, 256>(bytes, out) {
        let (d, m) = factors(block);
        let groups = out.as_chunks_mut::<64>().0.iter_mut().zip(part::<16, 128, 144>(block).as_chunks::<32>().0);
        for ((group, qs), at) in groups.zip([0, 2, 4, 6]) {
            let [low, high] = group.as_chunks_mut::<32>().0 else { return };
            let qs = load32(qs);
            put_below::<PAST>(low, low_nibbles(qs), d[at], m[at]);
            put_below::<PAST>(high, high_nibbles(qs), d[at + 1], m[at + 1]);
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q5_k<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<176, 256>(bytes, out) {
        let (d, m) = factors(block);
        let mut above = load32(part::<16, 32, 176>(block));
        let groups = out.as_chunks_mut::<64>().0.iter_mut().zip(part::<48, 128, 176>(block).as_chunks::<32>().0);
        for ((group, qs), at) in groups.zip([0, 2, 4, 6]) {
            let [low, high] = group.as_chunks_mut::<32>().0 else { return };
            let (qs, fifth) = (load32(qs), _mm256_set1_epi8(16));
            let first = _mm256_and_si256(_mm256_slli_epi16::<4>(above), fifth);
            let second = _mm256_and_si256(_mm256_slli_epi16::<3>(above), fifth);
            put_below::<PAST>(low, _mm256_or_si256(low_nibbles(qs), first), d[at], m[at]);
            put_below::<PAST>(high, _mm256_or_si256(high_nibbles(qs), second), d[at + 1], m[at + 1]);
            above = _mm256_srli_epi16::<2>(above);
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn q6_k<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in pairs::<210, 256>(bytes, out) {
        let scales = load16(part::<192, 16, 210>(block));
        let d = sixteen(scales, half::<208, 210>(block), |bytes| signed(bytes));
        let halves = out.as_chunks_mut::<128>().0.iter_mut().zip(part::<0, 128, 210>(block).as_chunks::<64>().0);
        let halves = halves.zip(part::<128, 64, 210>(block).as_chunks::<32>().0);
        for (((half, low), above), d) in halves.zip(d.as_chunks::<8>().0) {
            let (first, second) = (load32(part::<0, 32, 64>(low)), load32(part::<32, 32, 64>(low)));
            let above = load32(above);
            let two = |bits: __m256i| _mm256_and_si256(bits, _mm256_set1_epi8(0x30));
            let runs = [
                _mm256_or_si256(low_nibbles(first), two(_mm256_slli_epi16::<4>(above))),
                _mm256_or_si256(low_nibbles(second), two(_mm256_slli_epi16::<2>(above))),
                _mm256_or_si256(high_nibbles(first), two(above)),
                _mm256_or_si256(high_nibbles(second), two(_mm256_srli_epi16::<2>(above))),
            ];
            let outs = half.as_chunks_mut::<32>().0.iter_mut().zip(d.as_chunks::<2>().0);
            for ((out, d), q) in outs.zip(runs) {
                put::<PAST>(out, _mm256_sub_epi8(q, _mm256_set1_epi8(32)), d.map(|d| _mm256_set1_ps(d)));
            }
        }
    }
}

/// Sixteen whole numbers as bytes, in both halves of a vector.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn table(values: &[f32; 16]) -> __m256i {
    _mm256_broadcastsi128_si256(load16(&values.map(|value| (value as i8).cast_unsigned())))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn iq4_nl<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let values = table(&NON_LINEAR);
    for (block, out) in pairs::<18, 32>(bytes, out) {
        let d = half::<0, 18>(block);
        put::<PAST>(out, _mm256_shuffle_epi8(values, nibbles(part::<2, 16, 18>(block))), [d, d]);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn iq4_xs<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let values = table(&NON_LINEAR);
    for (block, out) in pairs::<136, 256>(bytes, out) {
        let d = half::<0, 136>(block);
        let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(part::<8, 128, 136>(block).as_chunks::<16>().0);
        for ((run, qs), scale) in runs.zip(iq4_scales(part::<2, 6, 136>(block))) {
            let d = _mm256_mul_ps(d, _mm256_set1_ps(scale));
            put::<PAST>(run, _mm256_shuffle_epi8(values, nibbles(qs)), [d, d]);
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn mxfp4<const PAST: bool>(bytes: &[u8], out: &mut [f32]) {
    let values = table(&E2M1);
    for (block, out) in pairs::<17, 32>(bytes, out) {
        let d = _mm256_set1_ps(e8m0_half(block[0]));
        put::<PAST>(out, _mm256_shuffle_epi8(values, nibbles(part::<1, 16, 17>(block))), [d, d]);
    }
}
