//! Block formats taken apart: whole numbers, a scale for each group and a minimum.
//!
//! An element is `scale × q + min`. This is the specification of the kernels, and what products of many rows with many
//! activations start from. Layouts: `ggml-common.h` and `ggml-quants.c` of ggml 0.25.3.

use super::WeightType;
use super::half::{bf16_to_f32, f16_to_f32};

/// Elements under one scale: 16 for Q6_K, 32 for the others.
pub(super) const fn group(ty: WeightType) -> usize {
    if matches!(ty, WeightType::Q6_K) { 16 } else { 32 }
}

/// Whether a format has minima.
pub(super) const fn has_min(ty: WeightType) -> bool {
    matches!(ty, WeightType::Q4_1 | WeightType::Q5_1 | WeightType::Q4_K | WeightType::Q5_K)
}

/// Where the parts of a row go: `q` of its elements, `scale` of its groups, `min` of its 32s.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) q: &'a mut [i8],
    pub(super) scale: &'a mut [f32],
    pub(super) min: &'a mut [f32],
}

/// Four bytes as a word, the first the lowest.
#[inline(always)]
pub(super) const fn word([a, b, c, d]: [i8; 4]) -> i32 {
    i32::from_le_bytes([a.cast_unsigned(), b.cast_unsigned(), c.cast_unsigned(), d.cast_unsigned()])
}

/// Takes a row apart. Formats without minima leave `min` as it is; float formats leave everything.
#[inline(always)]
pub(super) fn unpack(ty: WeightType, row: &[u8], to: Parts<'_>) {
    match ty {
        WeightType::Q8_0 => each(row, to, 32, q8_0),
        WeightType::Q4_0 => each(row, to, 32, q4_0),
        WeightType::Q4_1 => each(row, to, 32, q4_1),
        WeightType::Q5_0 => each(row, to, 32, q5_0),
        WeightType::Q5_1 => each(row, to, 32, q5_1),
        WeightType::Q4_K => each(row, to, 32, q4_k),
        WeightType::Q5_K => each(row, to, 32, q5_k),
        WeightType::Q6_K => each(row, to, 16, q6_k),
        WeightType::F32 | WeightType::F16 | WeightType::BF16 => {}
    }
}

/// Calls `one` for each block of `B` bytes and `E` elements.
#[inline(always)]
fn each<const B: usize, const E: usize>(
    row: &[u8],
    to: Parts<'_>,
    group: usize,
    one: impl Fn(&[u8; B], &mut [i8; E], &mut [f32], &mut [f32]),
) {
    let (blocks, _) = row.as_chunks::<B>();
    let (quants, _) = to.q.as_chunks_mut::<E>();
    let scales = to.scale.chunks_exact_mut(E / group);
    let mins = to.min.chunks_exact_mut(E / 32);
    for (((block, q), scale), min) in blocks.iter().zip(quants).zip(scales).zip(mins) {
        one(block, q, scale, min);
    }
}

#[inline(always)]
fn half(block: &[u8], at: usize) -> f32 {
    f16_to_f32(u16::from_le_bytes([block[at], block[at + 1]]))
}

#[inline(always)]
fn q8_0(block: &[u8; 34], q: &mut [i8; 32], scale: &mut [f32], _: &mut [f32]) {
    scale[0] = half(block, 0);
    for (q, byte) in q.iter_mut().zip(&block[2..]) {
        *q = byte.cast_signed();
    }
}

/// Low nibbles are the first half, high ones the second; `less` is taken off each.
#[inline(always)]
fn nibbles(bytes: &[u8], q: &mut [i8], less: i8) {
    let (low, high) = q.split_at_mut(bytes.len());
    for ((low, high), byte) in low.iter_mut().zip(high).zip(bytes) {
        *low = (byte & 15).cast_signed() - less;
        *high = (byte >> 4).cast_signed() - less;
    }
}

#[inline(always)]
fn q4_0(block: &[u8; 18], q: &mut [i8; 32], scale: &mut [f32], _: &mut [f32]) {
    scale[0] = half(block, 0);
    nibbles(&block[2..], q, 8);
}

#[inline(always)]
fn q4_1(block: &[u8; 20], q: &mut [i8; 32], scale: &mut [f32], min: &mut [f32]) {
    scale[0] = half(block, 0);
    min[0] = half(block, 2);
    nibbles(&block[4..], q, 0);
}

/// The fifth bits of 32 elements: bit j belongs to element j.
#[inline(always)]
fn fifth(bytes: &[u8], q: &mut [i8; 32]) {
    for (byte, q) in bytes.iter().zip(q.as_chunks_mut::<8>().0) {
        for (at, q) in q.iter_mut().enumerate() {
            *q += ((byte >> at & 1) << 4).cast_signed();
        }
    }
}

#[inline(always)]
fn q5_0(block: &[u8; 22], q: &mut [i8; 32], scale: &mut [f32], _: &mut [f32]) {
    scale[0] = half(block, 0);
    nibbles(&block[6..], q, 16);
    fifth(&block[2..6], q);
}

#[inline(always)]
fn q5_1(block: &[u8; 24], q: &mut [i8; 32], scale: &mut [f32], min: &mut [f32]) {
    scale[0] = half(block, 0);
    min[0] = half(block, 2);
    nibbles(&block[8..], q, 0);
    fifth(&block[4..8], q);
}

/// Eight scales and eight minima of 6 bits in 12 bytes, as two words of a byte each.
#[inline(always)]
pub(super) fn six_bits(s: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let word = |at: usize| u32::from_le_bytes([s[at], s[at + 1], s[at + 2], s[at + 3]]);
    let (a, b, c) = (word(0), word(4), word(8));
    let low = |word: u32| u64::from(word & 0x3f3f_3f3f);
    let scale = (c & 0x0f0f_0f0f) | (a >> 2 & 0x3030_3030);
    let min = (c >> 4 & 0x0f0f_0f0f) | (b >> 2 & 0x3030_3030);
    ((low(a) | u64::from(scale) << 32).to_le_bytes(), (low(b) | u64::from(min) << 32).to_le_bytes())
}

/// The scales and minima of Q4_K and Q5_K.
#[inline(always)]
fn pairs(block: &[u8], scale: &mut [f32], min: &mut [f32]) {
    let (d, least) = (half(block, 0), half(block, 2));
    let mut packed = [0; 12];
    packed.copy_from_slice(&block[4..16]);
    let (scales, mins) = six_bits(&packed);
    for (to, s) in scale.iter_mut().zip(&scales) {
        *to = d * f32::from(*s);
    }
    for (to, m) in min.iter_mut().zip(&mins) {
        *to = -(least * f32::from(*m));
    }
}

#[inline(always)]
fn q4_k(block: &[u8; 144], q: &mut [i8; 256], scale: &mut [f32], min: &mut [f32]) {
    pairs(block, scale, min);
    for (q, bytes) in q.as_chunks_mut::<64>().0.iter_mut().zip(block[16..].as_chunks::<32>().0) {
        nibbles(bytes, q, 0);
    }
}

#[inline(always)]
fn q5_k(block: &[u8; 176], q: &mut [i8; 256], scale: &mut [f32], min: &mut [f32]) {
    pairs(block, scale, min);
    for ((at, q), bytes) in q.as_chunks_mut::<64>().0.iter_mut().enumerate().zip(block[48..].as_chunks::<32>().0) {
        nibbles(bytes, q, 0);
        let (low, high) = q.split_at_mut(32);
        for ((low, high), bits) in low.iter_mut().zip(high).zip(&block[16..48]) {
            let two = bits >> (2 * at);
            *low += ((two & 1) << 4).cast_signed();
            *high += ((two >> 1 & 1) << 4).cast_signed();
        }
    }
}

#[inline(always)]
fn q6_k(block: &[u8; 210], q: &mut [i8; 256], scale: &mut [f32], _: &mut [f32]) {
    let d = half(block, 208);
    for (to, s) in scale.iter_mut().zip(&block[192..208]) {
        *to = d * f32::from(s.cast_signed());
    }
    for (at, q) in q.as_chunks_mut::<128>().0.iter_mut().enumerate() {
        let (low, _) = block[64 * at..].as_chunks::<64>();
        let (high, _) = block[128 + 32 * at..].as_chunks::<32>();
        let (Some(low), Some(high)) = (low.first(), high.first()) else { continue };
        for l in 0..32 {
            let two = |shift: u32| (high[l] >> shift & 3) << 4;
            q[l] = (low[l] & 15 | two(0)).cast_signed() - 32;
            q[l + 32] = (low[l + 32] & 15 | two(2)).cast_signed() - 32;
            q[l + 64] = (low[l] >> 4 | two(4)).cast_signed() - 32;
            q[l + 96] = (low[l + 32] >> 4 | two(6)).cast_signed() - 32;
        }
    }
}

/// Decodes `out.len()` elements of a row. What the row lacks stays as it is.
#[inline(always)]
pub(super) fn decode(ty: WeightType, row: &[u8], out: &mut [f32]) {
    match ty {
        WeightType::F32 => {
            for (out, bytes) in out.iter_mut().zip(row.as_chunks::<4>().0) {
                *out = f32::from_le_bytes(*bytes);
            }
        }
        WeightType::F16 => {
            for (out, bytes) in out.iter_mut().zip(row.as_chunks::<2>().0) {
                *out = f16_to_f32(u16::from_le_bytes(*bytes));
            }
        }
        WeightType::BF16 => {
            for (out, bytes) in out.iter_mut().zip(row.as_chunks::<2>().0) {
                *out = bf16_to_f32(u16::from_le_bytes(*bytes));
            }
        }
        _ => {
            let bytes = 256 / ty.block_elements() * ty.block_bytes();
            let size = group(ty);
            for (out, blocks) in out.chunks_mut(256).zip(row.chunks(bytes)) {
                let (mut q, mut scale, mut min) = ([0_i8; 256], [0.0_f32; 16], [0.0_f32; 8]);
                unpack(ty, blocks, Parts { q: &mut q, scale: &mut scale, min: &mut min });
                for (at, (out, q)) in out.chunks_mut(size).zip(q.chunks(size)).enumerate() {
                    let (scale, min) = (scale[at], min[at * size / 32]);
                    for (out, q) in out.iter_mut().zip(q) {
                        // Without a minimum nothing is added, so that -0.0 stays.
                        let product = scale * f32::from(*q);
                        *out = if has_min(ty) { product + min } else { product };
                    }
                }
            }
        }
    }
}
