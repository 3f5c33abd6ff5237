//! The K-quants: 256 elements, with scales (and minima) of a few bits for each 16 or 32 under one or two halves.
//!
//! Products are taken in the order of the reference, `(d * scale) * q - (dmin * min)`, without fused operations.

use super::half::{cut, f16};

/// Decodes elements of which each byte holds four, 2 bits each: the lowest bits of all 32 bytes come first.
#[inline]
pub(super) fn q2_k(block: &[u8; 84], out: &mut [f32; 256]) {
    let (scales, rest) = cut::<16, 68, 84>(block);
    let (qs, [d0, d1, m0, m1]) = cut::<64, 4, 68>(rest);
    let (d, dmin) = (f16([*d0, *d1]), f16([*m0, *m1]));
    let halves = out.as_chunks_mut::<128>().0.iter_mut().zip(qs.as_chunks::<32>().0);
    for ((half, qs), scales) in halves.zip(scales.as_chunks::<8>().0) {
        let passes = half.as_chunks_mut::<32>().0.iter_mut().zip(scales.as_chunks::<2>().0);
        for ((pass, scales), shift) in passes.zip([0, 2, 4, 6]) {
            let runs = pass.as_chunks_mut::<16>().0.iter_mut().zip(qs.as_chunks::<16>().0);
            for ((run, qs), scale) in runs.zip(scales) {
                let (dl, ml) = (d * f32::from(scale & 0x0F), dmin * f32::from(scale >> 4));
                for (out, q) in run.iter_mut().zip(qs) {
                    *out = dl * f32::from(q.wrapping_shr(shift) & 3) - ml;
                }
            }
        }
    }
}

/// The 16 scales of Q3_K: the low nibbles in the first eight bytes, the upper two bits in the last four.
#[inline]
fn q3_scales(packed: &[u8; 12]) -> [i8; 16] {
    let (nibbles, above) = cut::<8, 4, 12>(packed);
    let (first, second) = cut::<4, 4, 8>(nibbles);
    let mut scales = [0; 16];
    let sources = [(first, 0), (second, 0), (first, 4), (second, 4)];
    let fours = scales.as_chunks_mut::<4>().0.iter_mut().zip(sources);
    for ((four, (nibbles, nibble)), shift) in fours.zip([0, 2, 4, 6]) {
        for ((scale, low), high) in four.iter_mut().zip(nibbles).zip(above) {
            let code = (low.wrapping_shr(nibble) & 0x0F) | ((high.wrapping_shr(shift) & 3) << 4);
            *scale = code.wrapping_sub(32).cast_signed();
        }
    }
    scales
}

/// As Q2_K, with a third bit in a mask: set, it adds 4.
#[inline]
pub(super) fn q3_k(block: &[u8; 110], out: &mut [f32; 256]) {
    let (mask, rest) = cut::<32, 78, 110>(block);
    let (qs, rest) = cut::<64, 14, 78>(rest);
    let (scales, d) = cut::<12, 2, 14>(rest);
    let (scales, d) = (q3_scales(scales), f16(*d));
    let halves = out.as_chunks_mut::<128>().0.iter_mut().zip(qs.as_chunks::<32>().0);
    for (((half, qs), scales), bits) in halves.zip(scales.as_chunks::<8>().0).zip([[0, 1, 2, 3], [4, 5, 6, 7]]) {
        let passes = half.as_chunks_mut::<32>().0.iter_mut().zip(scales.as_chunks::<2>().0);
        for (((pass, scales), shift), bit) in passes.zip([0, 2, 4, 6]).zip(bits) {
            let runs = pass.as_chunks_mut::<16>().0.iter_mut().zip(qs.as_chunks::<16>().0);
            for (((run, qs), mask), scale) in runs.zip(mask.as_chunks::<16>().0).zip(scales) {
                let dl = d * f32::from(*scale);
                for ((out, q), mask) in run.iter_mut().zip(qs).zip(mask) {
                    let code = (q.wrapping_shr(shift) & 3) | ((mask.wrapping_shr(bit) & 1) << 2);
                    *out = dl * f32::from(code.wrapping_sub(4).cast_signed());
                }
            }
        }
    }
}

/// The eight scales and the eight minima of Q4_K and Q5_K, 6 bits each: those of the first four in the low bits of four
/// bytes each, those of the others in nibbles, their upper bits above those of the first four.
#[inline]
pub(super) fn k4_scales(packed: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let (first, rest) = cut::<4, 8, 12>(packed);
    let (second, third) = cut::<4, 4, 8>(rest);
    let (mut scales, mut mins) = ([0; 8], [0; 8]);
    let (Some((scales_low, scales_high)), Some((mins_low, mins_high))) =
        (scales.split_first_chunk_mut::<4>(), mins.split_first_chunk_mut::<4>())
    else {
        return (scales, mins);
    };
    for ((scale, min), (a, b)) in scales_low.iter_mut().zip(mins_low).zip(first.iter().zip(second)) {
        (*scale, *min) = (a & 63, b & 63);
    }
    for (((scale, min), (a, b)), c) in
        scales_high.iter_mut().zip(mins_high).zip(first.iter().zip(second)).zip(third)
    {
        (*scale, *min) = ((c & 0x0F) | ((a >> 6) << 4), (c >> 4) | ((b >> 6) << 4));
    }
    (scales, mins)
}

/// The scale and the minimum of each 32 elements, multiplied out.
#[inline]
fn k4_factors(head: [u8; 4], packed: &[u8; 12]) -> [(f32, f32); 8] {
    let [d0, d1, m0, m1] = head;
    let (d, dmin) = (f16([d0, d1]), f16([m0, m1]));
    let (scales, mins) = k4_scales(packed);
    let mut factors = [(0.0, 0.0); 8];
    for ((factor, scale), min) in factors.iter_mut().zip(scales).zip(mins) {
        *factor = (d * f32::from(scale), dmin * f32::from(min));
    }
    factors
}

/// Four groups of 64 elements: 32 low nibbles, then the 32 high nibbles of the same bytes.
#[inline]
pub(super) fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    let (head, rest) = cut::<4, 140, 144>(block);
    let (scales, qs) = cut::<12, 128, 140>(rest);
    let factors = k4_factors(*head, scales);
    let groups = out.as_chunks_mut::<64>().0.iter_mut().zip(qs.as_chunks::<32>().0);
    for ((group, qs), [(d1, m1), (d2, m2)]) in groups.zip(factors.as_chunks::<2>().0) {
        let halves = group.as_chunks_mut::<32>().0.iter_mut().zip([(0, d1, m1), (4, d2, m2)]);
        for (half, (shift, d, m)) in halves {
            for (out, q) in half.iter_mut().zip(qs) {
                *out = d * f32::from(q.wrapping_shr(shift) & 0x0F) - m;
            }
        }
    }
}

/// As Q4_K, with a fifth bit: bit *i* of 32 bytes belongs to the *i*th 32 elements.
#[inline]
pub(super) fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    let (head, rest) = cut::<4, 172, 176>(block);
    let (scales, rest) = cut::<12, 160, 172>(rest);
    let (above, qs) = cut::<32, 128, 160>(rest);
    let factors = k4_factors(*head, scales);
    let groups = out.as_chunks_mut::<64>().0.iter_mut().zip(qs.as_chunks::<32>().0);
    let groups = groups.zip(factors.as_chunks::<2>().0).zip([(0, 1), (2, 3), (4, 5), (6, 7)]);
    for (((group, qs), [(d1, m1), (d2, m2)]), (first, second)) in groups {
        let [low, high] = group.as_chunks_mut::<32>().0 else { return };
        for ((out, q), above) in low.iter_mut().zip(qs).zip(above) {
            *out = d1 * f32::from((q & 0x0F) | ((above.wrapping_shr(first) & 1) << 4)) - m1;
        }
        for ((out, q), above) in high.iter_mut().zip(qs).zip(above) {
            *out = d2 * f32::from((q >> 4) | ((above.wrapping_shr(second) & 1) << 4)) - m2;
        }
    }
}

/// Two halves of four runs: the low nibbles of 64 bytes, then their high nibbles; the upper two bits of a run are a pair
/// of bits of 32 bytes.
#[inline]
pub(super) fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let (low, rest) = cut::<128, 82, 210>(block);
    let (high, rest) = cut::<64, 18, 82>(rest);
    let (scales, d) = cut::<16, 2, 18>(rest);
    let d = f16(*d);
    let halves = out.as_chunks_mut::<128>().0.iter_mut().zip(low.as_chunks::<64>().0);
    for (((half, low), high), scales) in halves.zip(high.as_chunks::<32>().0).zip(scales.as_chunks::<8>().0) {
        let (first, second) = cut::<32, 32, 64>(low);
        let runs = half.as_chunks_mut::<32>().0.iter_mut().zip(scales.as_chunks::<2>().0);
        let sources = [(first, 0, 0), (second, 0, 2), (first, 4, 4), (second, 4, 6)];
        for ((run, scales), (low, nibble, pair)) in runs.zip(sources) {
            let parts = run.as_chunks_mut::<16>().0.iter_mut().zip(low.as_chunks::<16>().0);
            for (((part, low), high), scale) in parts.zip(high.as_chunks::<16>().0).zip(scales) {
                let dl = d * f32::from(scale.cast_signed());
                for ((out, low), high) in part.iter_mut().zip(low).zip(high) {
                    let code = (low.wrapping_shr(nibble) & 0x0F) | ((high.wrapping_shr(pair) & 3) << 4);
                    *out = dl * f32::from(code.wrapping_sub(32).cast_signed());
                }
            }
        }
    }
}

/// `d * q` under an IEEE single; the sums behind the elements say nothing new.
#[inline]
pub(super) fn q8_k([d0, d1, d2, d3, rest @ ..]: &[u8; 292], out: &mut [f32; 256]) {
    let d = f32::from_le_bytes([*d0, *d1, *d2, *d3]);
    for (out, q) in out.iter_mut().zip(rest) {
        *out = d * f32::from(q.cast_signed());
    }
}
