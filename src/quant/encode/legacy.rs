//! One scale a block, from the value of largest magnitude or from the range.

use super::round::{round_byte, truncate_byte};
use crate::quant::half::to_f16;

/// How many values are looked at side by side.
const LANES: usize = 8;

/// The largest magnitude: among numbers the order of magnitudes is that of their bits, and integers have no order in which
/// they must be compared.
#[inline]
fn largest<const N: usize>(values: &[f32; N]) -> f32 {
    let mut most = [0; LANES];
    for row in values.as_chunks::<LANES>().0 {
        for (most, value) in most.iter_mut().zip(row) {
            *most = value.abs().to_bits().cast_signed().max(*most);
        }
    }
    f32::from_bits(most.into_iter().fold(0, i32::max).cast_unsigned())
}

/// The first value of the largest magnitude, with its sign; zero where there is none but zeros.
#[inline]
pub(super) fn extreme<const N: usize>(values: &[f32; N]) -> f32 {
    let most = largest(values);
    if most == 0.0 {
        return 0.0;
    }
    values.iter().copied().find(|value| value.abs().to_bits() == most.to_bits()).unwrap_or(0.0)
}

/// The smallest and the largest value; of zeros the first.
#[inline]
fn range<const N: usize>(values: &[f32; N]) -> (f32, f32) {
    let (mut least, mut most) = ([f32::MAX; LANES], [-f32::MAX; LANES]);
    for row in values.as_chunks::<LANES>().0 {
        for ((least, most), value) in least.iter_mut().zip(&mut most).zip(row) {
            *least = if *value < *least { *value } else { *least };
            *most = if *value > *most { *value } else { *most };
        }
    }
    let least = least.into_iter().fold(f32::MAX, |a, b| if b < a { b } else { a });
    let most = most.into_iter().fold(-f32::MAX, |a, b| if b > a { b } else { a });
    // Zeros are equal, whatever their sign: lanes see another first than the reference, which goes from left to right.
    let signed = |end: f32| {
        if end == 0.0 { values.iter().copied().find(|value| *value == 0.0).unwrap_or(end) } else { end }
    };
    (signed(least), signed(most))
}

/// One over a scale; of zero, zero.
#[inline]
pub(super) fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// Puts 32 codes into nibbles, the first half low; the fifth bits are returned.
#[inline]
fn pack(codes: &[u8; 32], qs: &mut [u8; 16]) -> [u8; 4] {
    let [low, high] = codes.as_chunks::<16>().0 else { return [0; 4] };
    for ((q, low), high) in qs.iter_mut().zip(low).zip(high) {
        *q = (low & 0x0F) | (high << 4);
    }
    let mut above = [0; 4];
    for (above, codes) in above.iter_mut().zip(codes.as_chunks::<8>().0) {
        *above = codes.iter().rev().fold(0, |bits, code| (bits << 1) | ((code >> 4) & 1));
    }
    above
}

/// A code for each value.
#[inline]
fn codes<const N: usize>(values: &[f32; N], code: impl Fn(f32) -> u8) -> [u8; N] {
    let mut codes = [0; N];
    for (out, value) in codes.iter_mut().zip(values) {
        *out = code(*value);
    }
    codes
}

#[inline]
pub(super) fn q8_0(values: &[f32; 32], [d0, d1, qs @ ..]: &mut [u8; 34]) {
    let d = largest(values) / 127.0;
    let inverse = inverse(d);
    [*d0, *d1] = to_f16(d);
    *qs = codes(values, |value| round_byte(value * inverse));
}

#[inline]
pub(super) fn q4_0(values: &[f32; 32], [d0, d1, qs @ ..]: &mut [u8; 18]) {
    let d = extreme(values) / -8.0;
    let inverse = inverse(d);
    [*d0, *d1] = to_f16(d);
    pack(&codes(values, |value| truncate_byte(value * inverse + 8.5).min(15)), qs);
}

#[inline]
pub(super) fn q4_1(values: &[f32; 32], [d0, d1, m0, m1, qs @ ..]: &mut [u8; 20]) {
    let (least, most) = range(values);
    let d = (most - least) / 15.0;
    let inverse = inverse(d);
    [*d0, *d1] = to_f16(d);
    [*m0, *m1] = to_f16(least);
    pack(&codes(values, |value| truncate_byte((value - least) * inverse + 0.5).min(15)), qs);
}

#[inline]
pub(super) fn q5_0(values: &[f32; 32], [d0, d1, h0, h1, h2, h3, qs @ ..]: &mut [u8; 22]) {
    let d = extreme(values) / -16.0;
    let inverse = inverse(d);
    [*d0, *d1] = to_f16(d);
    [*h0, *h1, *h2, *h3] = pack(&codes(values, |value| truncate_byte(value * inverse + 16.5).min(31)), qs);
}

#[inline]
pub(super) fn q5_1(values: &[f32; 32], [d0, d1, m0, m1, h0, h1, h2, h3, qs @ ..]: &mut [u8; 24]) {
    let (least, most) = range(values);
    let d = (most - least) / 31.0;
    let inverse = inverse(d);
    [*d0, *d1] = to_f16(d);
    [*m0, *m1] = to_f16(least);
    [*h0, *h1, *h2, *h3] = pack(&codes(values, |value| truncate_byte((value - least) * inverse + 0.5).min(31)), qs);
}
