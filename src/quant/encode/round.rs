//! The roundings of C that the reference uses and that the core of Rust has not.

/// 1.5 × 2^23. Added to a number below 2^22 it leaves the number, rounded to nearest even, in the low bits of the sum.
const MAGIC: f32 = 12_582_912.0;

/// The whole number next to a value, ties to even, for values below 2^22. What others give is also that of the
/// reference, which takes the same bits out of the sum.
#[inline]
pub(super) fn nearest(value: f32) -> f32 {
    f32::from_bits(((value + MAGIC).to_bits() & 0x007F_FFFF) | 0x4B00_0000) - MAGIC
}

/// The lowest byte of [`nearest`] as an integer in two's complement.
#[inline]
pub(super) fn nearest_byte(value: f32) -> u8 {
    let [byte, ..] = (value + MAGIC).to_bits().to_le_bytes();
    byte
}

/// The value without its fraction; what does not fit is the nearest that does, a NaN is 0. In C the last two are
/// undefined.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "saturates, as documented")]
pub(super) fn truncate(value: f32) -> i32 {
    value as i32
}

/// The lowest byte of [`truncate`].
#[inline]
pub(super) fn truncate_byte(value: f32) -> u8 {
    let [byte, ..] = truncate(value).to_le_bytes();
    byte
}

/// The whole number next to a value, ties away from zero, as its lowest byte: for values below 128.
#[inline]
pub(super) fn round_byte(value: f32) -> u8 {
    // Half less than half: adding a half itself would round 0.49999997 up.
    let half = const { f32::from_bits(0x3EFF_FFFF) };
    truncate_byte(value + half.copysign(value))
}

/// The square root, rounded to nearest even, as IEEE 754 demands. A negative number stays what it is: a sum of squares is
/// none.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to nearest even, as is wanted")]
pub(super) fn sqrt(value: f32) -> f32 {
    let bits = value.to_bits();
    if bits == 0 || bits >= 0x7F80_0000 {
        return value;
    }
    // value = mantissa * 2^(exponent - 150)
    let (mantissa, exponent) = match bits >> 23 {
        0 => (bits, 1),
        exponent => ((bits & 0x007F_FFFF) | 0x0080_0000, exponent),
    };
    // Shifted to 51 or 52 bits, whichever leaves an even power of two, so that the root has 26: two more than it keeps.
    let least = mantissa.leading_zeros().wrapping_add(19);
    let shift = least.wrapping_add((least ^ exponent) & 1);
    let wide = u64::from(mantissa).wrapping_shl(shift);
    let root = wide.isqrt();
    // Where a remainder is left the root lies above: a bit below the last says so, and there is no tie.
    let sticky = u64::from(root.wrapping_mul(root) != wide);
    let power = exponent.wrapping_sub(150).wrapping_sub(shift).cast_signed() >> 1;
    let scale = f32::from_bits(power.wrapping_add(126).cast_unsigned() << 23);
    ((root << 1) | sticky) as f32 * scale
}

/// `floorf(log2f(value))` of a positive finite value, as a correctly rounded logarithm gives it: just below a power of
/// two the logarithm rounds up to the whole number, and this is one more than the exponent.
#[inline]
pub(super) fn floor_log2(value: f32) -> i32 {
    let bits = value.to_bits();
    let subnormal = bits < 0x0080_0000;
    let bits = if subnormal { (value * 16_777_216.0).to_bits() } else { bits };
    let exponent = (bits >> 23).cast_signed().wrapping_sub(if subnormal { 151 } else { 127 });
    let above = exponent.wrapping_add(1);
    // How far the logarithm is below the whole number above it; the mantissa is that of a number close to 2.
    let missing = f64::from(0x0080_0000_u32.wrapping_sub(bits & 0x007F_FFFF)) / 16_777_216.0;
    let distance = (missing + missing * missing / 2.0) * core::f64::consts::LOG2_E;
    // Half the distance to the next `f32` on the side of the logarithm: below for positive numbers, beyond for others.
    let magnitude = above.unsigned_abs();
    let step = match (above, magnitude.checked_ilog2()) {
        (_, None) => return exponent,
        (1.., Some(log)) if magnitude.is_power_of_two() => log.wrapping_sub(1),
        (_, Some(log)) => log,
    };
    let half = f64::from(f32::from_bits(step.wrapping_add(127 - 24) << 23));
    if distance < half { above } else { exponent }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "whole numbers, and doubles that are to be rounded")]
mod tests {
    use super::*;

    #[test]
    fn roots_are_those_of_the_machine() {
        let check = |bits: u32| {
            let value = f32::from_bits(bits);
            assert_eq!(sqrt(value).to_bits(), value.sqrt().to_bits(), "{bits:08x}");
        };
        // Every mantissa of two neighbouring exponents would take minutes here; every 61st of all takes a second.
        (0..0x7F80_0000).step_by(1021).for_each(check);
        for exponent in 0..255_u32 {
            for mantissa in [0, 1, 2, 3, 0x3F_FFFF, 0x40_0000, 0x40_0001, 0x7F_FFFE, 0x7F_FFFF] {
                check((exponent << 23) | mantissa);
            }
        }
        check(0x7F80_0000);
    }

    #[test]
    fn whole_numbers_next_to_a_value() {
        for eighths in -8000..8000_i16 {
            let value = f32::from(eighths) / 8.0;
            for value in [value, value.next_up(), value.next_down()] {
                assert_eq!((nearest(value) + 0.0).to_bits(), (value.round_ties_even() + 0.0).to_bits());
                let byte = |value: f32| i16::try_from(value as i32).unwrap().to_le_bytes()[0];
                assert_eq!(nearest_byte(value), byte(value.round_ties_even()));
                assert_eq!(round_byte(value), byte(value.round()), "{value:e}");
            }
        }
        assert_eq!(nearest(f32::NAN).to_bits(), 0);
    }

    #[test]
    fn logarithms_round_up_just_below_a_power() {
        // Correctly rounded ones, from the double's logarithm.
        for exponent in -149..128 {
            let power = 2_f64.powi(exponent) as f32;
            let mut value = power;
            for _ in 0..100 {
                let log = f64::from(value).log2() as f32;
                assert_eq!(floor_log2(value), log.floor() as i32, "{value:e}");
                value = value.next_down();
                if value == 0.0 {
                    break;
                }
            }
            assert_eq!(floor_log2(power.next_up()), (f64::from(power.next_up()).log2() as f32).floor() as i32);
        }
        assert_eq!((floor_log2(1.5), floor_log2(f32::MAX), floor_log2(0.75)), (0, 128, -1));
    }
}
