//! Activations of many tokens for `vpdpbusd` and `vdpbf16ps`: several tokens at once.

use core::arch::x86_64::*;

use super::super::lanes::Lanes;
use super::super::lanes::avx512::Avx512;
use super::many::{Bytes, Part};

/// Stores the first lanes, as many as there is room for.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn store(to: &mut [f32], v: __m512) {
    let mask = if to.len() >= 16 { !0 } else { (1_u16 << to.len()) - 1 };
    // SAFETY: lanes beyond the slice are not written.
    unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), mask, v) };
}

/// The greatest of each of sixteen vectors: halves, quarters and then pairs of two vectors at a time become one.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn greatest(v: &[__m512i; 16]) -> __m512i {
    let halves = |a, b| _mm512_max_epu32(_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
    let quarters = |a, b| _mm512_max_epu32(_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
    let four = |c: usize| quarters(halves(v[c], v[c + 4]), halves(v[c + 8], v[c + 12]));
    let pairs = |a, b| _mm512_max_epu32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (even, odd) = (pairs(four(0), four(1)), pairs(four(2), four(3)));
    _mm512_max_epu32(_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd))
}

/// The scale of each 32 values and its inverse, from the bits of the greatest magnitude; the same as those of
/// [`quantised`](super::eights::quantised).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn scales(tops: __m512i) -> (__m512, __m512) {
    let (top, most) = (_mm512_castsi512_ps(tops), _mm512_set1_ps(127.0));
    let infinity = _mm512_set1_epi32(0x7f80_0000);
    let is_finite = _mm512_cmplt_epu32_mask(tops, infinity);
    let inverse = _mm512_maskz_div_ps(is_finite, most, top);
    // Of zero, and under 127 / f32::MAX, the inverse is infinite: such values are as good as zero.
    let is_inverse = _mm512_cmplt_epu32_mask(_mm512_castps_si512(inverse), infinity);
    let scale = _mm512_mask_div_ps(_mm512_set1_ps(f32::NAN), is_finite, top, most);
    (scale, _mm512_maskz_mov_ps(is_inverse, inverse))
}

/// Which words are those of one row and block where four vectors were narrowed side by side.
static IN_ROW: [i32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

/// At most 64 columns of a few tokens, each with two scales side by side.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn sixty_four(rows: &[[__m512; 4]], words: &mut [f32], own: &mut [f32], sums: &mut [f32]) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    let (tall, size) = (rows.len(), _mm512_set1_epi32(0x7fff_ffff));
    let mut tops = [_mm512_setzero_si512(); 16];
    for (row, tops) in rows.iter().zip(tops.as_chunks_mut::<2>().0) {
        let [a, b, c, d] = row.map(|v| _mm512_and_si512(_mm512_castps_si512(v), size));
        *tops = [_mm512_max_epu32(a, b), _mm512_max_epu32(c, d)];
    }
    let (scale, inverse) = scales(greatest(&tops));
    let mut inverses = [0.0; 16];
    l.store(&mut inverses, inverse);
    // SAFETY: 64 bytes are there; the load needs no alignment.
    let in_row = unsafe { _mm512_loadu_si512(IN_ROW.as_ptr().cast()) };
    let mut square = [l.zero(); 16];
    for ((row, [low, high]), to) in rows.iter().zip(inverses.as_chunks::<2>().0).zip(&mut square) {
        let whole = |v: __m512, inverse: f32| _mm512_cvtps_epi32(_mm512_mul_ps(v, _mm512_set1_ps(inverse)));
        let first = _mm512_packs_epi32(whole(row[0], *low), whole(row[1], *low));
        let second = _mm512_packs_epi32(whole(row[2], *high), whole(row[3], *high));
        let bytes = _mm512_permutexvar_epi32(in_row, _mm512_packs_epi16(first, second));
        // 128 too large: unsigned, as the instruction takes one of its factors.
        *to = _mm512_castsi512_ps(_mm512_xor_si512(bytes, _mm512_set1_epi8(-128)));
    }
    l.turn(&mut square);
    for (at, v) in square.iter().enumerate() {
        store(words.get_mut(at * tall..).unwrap_or_default(), *v);
    }
    let second = [1, 3, 5, 7, 9, 11, 13, 15];
    let picks = [second.map(|lane| lane - 1), second]
        .map(|[a, b, c, d, e, f, g, h]| _mm512_setr_epi32(a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0));
    for (block, (words, pick)) in square.as_chunks::<8>().0.iter().zip(picks).enumerate() {
        let mut sum = _mm512_set1_epi32(-128 * 32);
        for words in words {
            sum = _mm512_dpbusd_epi32(sum, _mm512_castps_si512(*words), _mm512_set1_epi8(1));
        }
        let scale = _mm512_permutexvar_ps(pick, scale);
        let (to, after) = (block * tall, (block + 1) * tall);
        if let (Some(own), Some(sums)) = (own.get_mut(to..after), sums.get_mut(to..after)) {
            store(own, scale);
            store(sums, _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale));
        }
    }
}

/// The most tokens of a group in 8 bits.
const TALL: usize = 6;

/// Brings values into 8 bits, four to a word.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) fn put_bytes(part: Part<'_>, to: Bytes<'_>) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    let (words, scale, sum) = (bytemuck::cast_slice_mut::<u32, f32>(to.words), to.scale, to.sum);
    for (token, tall, x) in part.groups() {
        let word = token * (part.len / 4) + part.column / 4 * tall;
        let block = token * (part.len / 32) + part.column / 32 * tall;
        for column in (0..part.width).step_by(64) {
            let columns = (part.width - column).min(64);
            let mut rows = [[l.zero(); 4]; TALL];
            for (row, to) in x.chunks_exact(part.width).zip(&mut rows) {
                let row = row.get(column..column + columns).unwrap_or_default();
                for (to, from) in to.iter_mut().zip(row.chunks_exact(16)) {
                    *to = l.load(from);
                }
            }
            let (word, block) = (word + column / 4 * tall, block + column / 32 * tall);
            let words = words.get_mut(word..word + columns / 4 * tall).unwrap_or_default();
            let blocks = block..block + columns / 32 * tall;
            let (Some(scale), Some(sum)) = (scale.get_mut(blocks.clone()), sum.get_mut(blocks)) else { continue };
            sixty_four(rows.get(..tall).unwrap_or(&rows), words, scale, sum);
        }
    }
}

/// Rounds values to BF16, two to a word; an odd last one has a zero beside it.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
pub(super) fn put_pairs(part: Part<'_>, to: &mut [u32]) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    let words = bytemuck::cast_slice_mut::<u32, f32>(to);
    for (token, tall, x) in part.groups() {
        let start = token * part.len.div_ceil(2) + part.column / 2 * tall;
        let to = words.get_mut(start..start + part.width.div_ceil(2) * tall).unwrap_or_default();
        for (step, to) in to.chunks_mut((16 * tall).max(1)).enumerate() {
            let mut square = [l.zero(); 16];
            for (row, to) in x.chunks_exact(part.width).zip(&mut square) {
                let row = row.get(32 * step..).unwrap_or_default();
                let both = _mm512_cvtne2ps_pbh(l.load(row.get(16..).unwrap_or_default()), l.load(row));
                // SAFETY: both are 512 bits of which any are a value.
                *to = unsafe { core::mem::transmute::<__m512bh, __m512>(both) };
            }
            l.turn(&mut square);
            for (at, v) in square.iter().enumerate() {
                store(to.get_mut(at * tall..).unwrap_or_default(), *v);
            }
        }
    }
}
