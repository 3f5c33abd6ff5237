//! F16 and BF16 as bits, one value at a time. Source: IEEE 754-2019, 3.6; the conversions round to nearest, ties to even.

#![expect(
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "bits are moved between widths that hold them"
)]

/// The value of an F16.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it must take its caller's instructions")]
pub(crate) const fn f16_to_f32(bits: u16) -> f32 {
    let wide = bits as u32;
    let sign = (wide & 0x8000) << 16;
    let rest = wide & 0x7fff;
    // Moved into place the exponent is 112 too small; subnormals come out right by the multiplication.
    let finite = f32::from_bits(rest << 13) * f32::from_bits((127 + 112) << 23);
    // The quiet bit is set, as the instructions do.
    let quiet = if rest > 0x7c00 { 0x40_0000 } else { 0 };
    let special = 0x7f80_0000 | (rest << 13) | quiet;
    let magnitude = if rest >= 0x7c00 { special } else { finite.to_bits() };
    f32::from_bits(sign | magnitude)
}

/// The value of a BF16.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it must take its caller's instructions")]
pub(crate) const fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// The nearest F16, ties to even; too large becomes infinite, NaN stays NaN.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it must take its caller's instructions")]
pub(crate) const fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let rest = bits & 0x7fff_ffff;
    let magnitude = if rest > 0x7f80_0000 {
        0x7e00 | ((rest >> 13) & 0x3ff) as u16
    } else if rest >= 0x4780_0000 {
        0x7c00
    } else if rest < 0x3880_0000 {
        // Subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
        (f32::from_bits(rest) + 0.5).to_bits().wrapping_sub(0x3f00_0000) as u16
    } else {
        // A carry out of the fraction moves the exponent on, up to infinity, as it should.
        let odd = (rest >> 13) & 1;
        ((rest - 0x3800_0000 + 0xfff + odd) >> 13) as u16
    };
    sign | magnitude
}

/// The nearest BF16, ties to even; NaN stays NaN.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it must take its caller's instructions")]
pub(crate) const fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return (bits >> 16) as u16 | 0x40;
    }
    let odd = (bits >> 16) & 1;
    (bits.wrapping_add(0x7fff + odd) >> 16) as u16
}
