//! Numbers of 8 and 16 bits as `f32`, and back; and the ways to take bytes apart that the formats share.

/// An IEEE half. Every code has its own single; a NaN keeps its sign and its payload.
#[inline]
pub(super) fn f16(bytes: [u8; 2]) -> f32 {
    let code = u16::from_le_bytes(bytes);
    let shifted = u32::from(code & 0x7FFF) << 13;
    // At most ten bits times a power of two: exact, also where a thread has subnormals flushed to zero.
    let subnormal = (f32::from(code & 0x03FF) * const { 1.0 / 16_777_216.0 }).to_bits();
    let magnitude = if shifted < 0x0080_0000 {
        subnormal
    } else if shifted < 0x0F80_0000 {
        shifted.wrapping_add(0x3800_0000)
    } else {
        shifted | 0x7F80_0000
    };
    f32::from_bits(magnitude | (u32::from(code & 0x8000) << 16))
}

/// The upper half of an IEEE single.
#[inline]
pub(super) fn bf16(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)
}

/// The half that IQ1_M spreads over the highest nibbles of its four words of scales.
#[inline]
pub(super) fn spread([_, a, _, b, _, c, _, d]: [u8; 8]) -> [u8; 2] {
    [(a >> 4) | (b & 0xF0), (c >> 4) | (d & 0xF0)]
}

/// The scale of MXFP4: 2^(code − 128), half of what E8M0 says, since its 4-bit values are doubled. The last code is no
/// NaN here, as in the reference (`ggml-impl.h`).
#[inline]
pub(crate) fn e8m0_half(code: u8) -> f32 {
    f32::from_bits(match code {
        0 => 0x0020_0000,
        1 => 0x0040_0000,
        other => u32::from(other.wrapping_sub(1)) << 23,
    })
}

/// The scale of NVFP4: half of an unsigned E4M3. Codes 0 and 127 are zero and the highest bit is ignored, but not where
/// those two are recognised, as in the reference (`ggml-impl.h`).
#[inline]
pub(super) fn ue4m3_half(code: u8) -> f32 {
    let mantissa = f32::from(code & 0x07);
    match (code >> 3) & 0x0F {
        _ if code == 0x7F => 0.0,
        // 2^-10 is the weight of the mantissa's last bit, halved.
        0 => mantissa * const { 1.0 / 1024.0 },
        exponent => {
            let power = f32::from_bits(u32::from(exponent.wrapping_add(127 - 8)) << 23);
            (1.0 + mantissa * 0.125) * power
        }
    }
}

/// The IEEE half next to a single, ties to the even one; what is past 65,519.99 is infinite, a NaN stays one.
#[inline]
pub(super) fn to_f16(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    let magnitude = bits & 0x7FFF_FFFF;
    let code = if magnitude > 0x7F80_0000 {
        0x7E00 | ((magnitude >> 13) & 0x01FF)
    } else if magnitude >= 0x4780_0000 {
        0x7C00
    } else if magnitude >= 0x3880_0000 {
        let even = (magnitude >> 13) & 1;
        magnitude.wrapping_add(0x0FFF).wrapping_add(even).wrapping_sub(0x3800_0000) >> 13
    } else {
        // The last bit of a number between a half and one weighs 2^-24, as that of a subnormal half: the sum rounds.
        (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3F00_0000)
    };
    let [low, high, ..] = (code | ((bits >> 16) & 0x8000)).to_le_bytes();
    [low, high]
}

/// The upper half of the single next to a single, ties to the even one; a NaN becomes a quiet one.
#[inline]
pub(super) fn to_bf16(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    let rounded =
        if value.is_nan() { bits | 0x0040_0000 } else { bits.wrapping_add(0x7FFF).wrapping_add((bits >> 16) & 1) };
    let [_, _, low, high] = rounded.to_le_bytes();
    [low, high]
}

/// A block in two parts, whose lengths are known to the compiler.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what is known of the lengths must reach the loops")]
pub(super) fn cut<const A: usize, const B: usize, const N: usize>(block: &[u8; N]) -> (&[u8; A], &[u8; B]) {
    const { assert!(matches!(A.checked_add(B), Some(sum) if sum == N)) };
    match block.split_first_chunk::<A>() {
        Some((head, tail)) => (head, tail.first_chunk::<B>().unwrap_or(const { &[0; B] })),
        None => const { (&[0; A], &[0; B]) },
    }
}

/// The bits of a byte as eight bytes of 0 or 1, the lowest first.
#[inline]
pub(super) fn spread1(bits: u8) -> u64 {
    let mut wide = u64::from(bits);
    wide = (wide | (wide << 28)) & 0x0000_000F_0000_000F;
    wide = (wide | (wide << 14)) & 0x0003_0003_0003_0003;
    (wide | (wide << 7)) & 0x0101_0101_0101_0101
}

/// The pairs of bits of a word as eight bytes of 0 to 3, the lowest first.
#[inline]
pub(super) fn spread2(bits: u16) -> u64 {
    let mut wide = u64::from(bits);
    wide = (wide | (wide << 24)) & 0x0000_00FF_0000_00FF;
    wide = (wide | (wide << 12)) & 0x000F_000F_000F_000F;
    (wide | (wide << 6)) & 0x0303_0303_0303_0303
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The single that a half stands for, by its definition.
    fn by_definition(code: u16) -> f64 {
        let (exponent, mantissa) = (i32::from((code >> 10) & 31), f64::from(code & 0x3FF));
        let magnitude = match exponent {
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            0 => mantissa * 2_f64.powi(-24),
            _ => (1024.0 + mantissa) * 2_f64.powi(exponent - 25),
        };
        if code & 0x8000 == 0 { magnitude } else { -magnitude }
    }

    #[test]
    fn every_half_comes_and_goes() {
        for code in 0..=u16::MAX {
            let value = f16(code.to_le_bytes());
            let meant = by_definition(code);
            assert_eq!(value.is_nan(), meant.is_nan());
            if !value.is_nan() {
                assert_eq!(f64::from(value).to_bits(), meant.to_bits(), "{code:04x}");
                assert_eq!(to_f16(value), code.to_le_bytes());
                assert_eq!(to_bf16(bf16(code.to_le_bytes())), code.to_le_bytes());
            }
        }
    }

    #[test]
    fn halfway_goes_to_the_even_one() {
        // Between each two neighbours: the middle, and the singles next to it.
        for code in 0..0x7BFF_u16 {
            let (low, high) = (f16(code.to_le_bytes()), f16((code + 1).to_le_bytes()));
            let middle = low + (high - low) / 2.0;
            for sign in [1.0, -1.0] {
                let rounded = |value: f32| u16::from_le_bytes(to_f16(value * sign)) & 0x7FFF;
                assert_eq!(rounded(middle), code + (code & 1));
                assert_eq!(rounded(f32::from_bits(middle.to_bits() - 1)), code);
                assert_eq!(rounded(f32::from_bits(middle.to_bits() + 1)), code + 1);
            }
        }
        assert_eq!(u16::from_le_bytes(to_f16(65_519.996)), 0x7BFF);
        assert_eq!(u16::from_le_bytes(to_f16(-65_520.0)), 0xFC00);
        assert_eq!(u16::from_le_bytes(to_f16(f32::MAX)), 0x7C00);
        assert_eq!(u16::from_le_bytes(to_f16(f32::MIN_POSITIVE)), 0);
        assert!(f16(to_f16(f32::NAN)).is_nan() && f16(to_f16(f32::from_bits(0xFF80_0001))).is_nan());
        assert!(bf16(to_bf16(f32::from_bits(0x7F80_0001))).is_nan());
        assert_eq!(to_bf16(f32::from_bits(0x3F80_8000)), [0x80, 0x3F]);
        assert_eq!(to_bf16(f32::from_bits(0x3F81_8000)), [0x82, 0x3F]);
        assert_eq!(to_bf16(f32::MAX), [0x80, 0x7F]);
    }

    #[test]
    fn bits_are_spread_in_order() {
        for bits in 0..=u16::MAX {
            let [low, _] = bits.to_le_bytes();
            for (at, byte) in spread1(low).to_le_bytes().into_iter().enumerate() {
                assert_eq!(byte, low >> at & 1);
            }
            for (at, byte) in spread2(bits).to_le_bytes().into_iter().enumerate() {
                assert_eq!(u16::from(byte), bits >> (2 * at) & 3);
            }
        }
    }
}
