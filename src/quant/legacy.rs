//! The formats of one scale a block: Q4_0 to Q8_1, and the two of few bits, Q1_0 and Q2_0.
//!
//! Where a byte holds two elements, its low nibbles are the first half of the block and its high nibbles the second.

use super::half::{f16, spread1, spread2};

/// The bits of a byte at their places.
const PLACES: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// The fifth bits of 32 elements, each at its place in a byte.
#[inline]
fn fifth_bits(packed: [u8; 4]) -> [u8; 32] {
    let mut bits = [0; 32];
    for (eight, byte) in bits.as_chunks_mut::<8>().0.iter_mut().zip(packed) {
        for (bit, place) in eight.iter_mut().zip(PLACES) {
            *bit = if byte & place == 0 { 0 } else { 0x10 };
        }
    }
    bits
}

/// Decodes the nibbles of 16 bytes, with the bits that belong above them.
#[inline]
fn nibbles(qs: &[u8; 16], above: &[u8; 32], out: &mut [f32; 32], value: impl Fn(u8) -> f32) {
    let (outs, aboves) = (out.as_chunks_mut::<16>().0, above.as_chunks::<16>().0);
    let ([low, high], [above_low, above_high]) = (outs, aboves) else { return };
    for ((out, q), above) in low.iter_mut().zip(qs).zip(above_low) {
        *out = value(q & 0x0F | above);
    }
    for ((out, q), above) in high.iter_mut().zip(qs).zip(above_high) {
        *out = value(q >> 4 | above);
    }
}

/// `(q - 8) * d`.
#[inline]
pub(super) fn q4_0([d0, d1, qs @ ..]: &[u8; 18], out: &mut [f32; 32]) {
    let d = f16([*d0, *d1]);
    nibbles(qs, &[0; 32], out, |q| f32::from(q.wrapping_sub(8).cast_signed()) * d);
}

/// `q * d + m`.
#[inline]
pub(super) fn q4_1([d0, d1, m0, m1, qs @ ..]: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (f16([*d0, *d1]), f16([*m0, *m1]));
    nibbles(qs, &[0; 32], out, |q| f32::from(q) * d + m);
}

/// `(q - 16) * d`.
#[inline]
pub(super) fn q5_0([d0, d1, h0, h1, h2, h3, qs @ ..]: &[u8; 22], out: &mut [f32; 32]) {
    let d = f16([*d0, *d1]);
    let fifth = fifth_bits([*h0, *h1, *h2, *h3]);
    nibbles(qs, &fifth, out, |q| f32::from(q.wrapping_sub(16).cast_signed()) * d);
}

/// `q * d + m`.
#[inline]
pub(super) fn q5_1([d0, d1, m0, m1, h0, h1, h2, h3, qs @ ..]: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (f16([*d0, *d1]), f16([*m0, *m1]));
    let fifth = fifth_bits([*h0, *h1, *h2, *h3]);
    nibbles(qs, &fifth, out, |q| f32::from(q) * d + m);
}

/// `q * d`.
#[inline]
pub(super) fn q8_0([d0, d1, qs @ ..]: &[u8; 34], out: &mut [f32; 32]) {
    let d = f16([*d0, *d1]);
    for (out, q) in out.iter_mut().zip(qs) {
        *out = f32::from(q.cast_signed()) * d;
    }
}

/// `q * d`; the sum that stands behind the scale says nothing new.
#[inline]
pub(super) fn q8_1([d0, d1, _, _, qs @ ..]: &[u8; 36], out: &mut [f32; 32]) {
    let d = f16([*d0, *d1]);
    for (out, q) in out.iter_mut().zip(qs) {
        *out = f32::from(q.cast_signed()) * d;
    }
}

/// `d` where the bit is set, `-d` where it is not.
#[inline]
pub(super) fn q1_0([d0, d1, qs @ ..]: &[u8; 18], out: &mut [f32; 128]) {
    let negative = f16([*d0, *d1]).to_bits() ^ 0x8000_0000;
    for (eight, byte) in out.as_chunks_mut::<8>().0.iter_mut().zip(qs) {
        for (out, bit) in eight.iter_mut().zip(spread1(*byte).to_le_bytes()) {
            *out = f32::from_bits(negative ^ (u32::from(bit) << 31));
        }
    }
}

/// `(q - 1) * d`, four elements a byte, the lowest bits first.
#[inline]
pub(super) fn q2_0([d0, d1, qs @ ..]: &[u8; 18], out: &mut [f32; 64]) {
    let d = f16([*d0, *d1]);
    for (eight, pair) in out.as_chunks_mut::<8>().0.iter_mut().zip(qs.as_chunks::<2>().0) {
        for (out, q) in eight.iter_mut().zip(spread2(u16::from_le_bytes(*pair)).to_le_bytes()) {
            *out = f32::from(q.wrapping_sub(1).cast_signed()) * d;
        }
    }
}
