//! What values lose on the way to another type.

use crate::gguf::GgmlType;

/// What became of a tensor's values in another type.
///
/// Errors are those of what a reader will decode, against the values before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// How many values there are.
    pub values: u64,
    /// Values that were a NaN or infinite before.
    pub not_finite: u64,
    /// Finite values that are infinite now.
    pub overflowed: u64,
    /// Values that are subnormal now and were not before, so that they have fewer digits: F32, F16 and BF16 only.
    pub subnormal: u64,
    /// Values that are zero now and were not before.
    pub vanished: u64,
    /// The largest absolute difference between finite values.
    pub max_error: f64,
    /// The sum of the squares of the differences between finite values.
    pub squared_error: f64,
    /// The sum of the squares of the finite values before.
    pub squared_values: f64,
}

impl Loss {
    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            values: self.values.saturating_add(other.values),
            not_finite: self.not_finite.saturating_add(other.not_finite),
            overflowed: self.overflowed.saturating_add(other.overflowed),
            subnormal: self.subnormal.saturating_add(other.subnormal),
            vanished: self.vanished.saturating_add(other.vanished),
            max_error: self.max_error.max(other.max_error),
            squared_error: self.squared_error + other.squared_error,
            squared_values: self.squared_values + other.squared_values,
        }
    }

    /// Whether every value is what it was, but for NaN's payloads.
    pub fn is_exact(&self) -> bool {
        self.overflowed == 0 && self.vanished == 0 && self.squared_error == 0.0
    }

    /// The root of the mean square of the differences.
    pub fn rmse(&self) -> f64 {
        if self.values == 0 { 0.0 } else { (self.squared_error / count(self.values)).sqrt() }
    }

    /// The same, as a share of the root of the mean square of the values.
    pub fn relative(&self) -> f64 {
        if self.squared_values > 0.0 { (self.squared_error / self.squared_values).sqrt() } else { 0.0 }
    }

    /// What a run of values lost; `now` is as many, decoded from what was written. `kinds` are the type before and now.
    pub(super) fn of<V: Copy + Into<f64>>(before: &[V], now: &[f32], kinds: (GgmlType, GgmlType)) -> Self {
        let mut loss = Self { values: crate::num::widen(before.len()), ..Self::default() };
        let least = (least_normal(kinds.0), least_normal(kinds.1));
        for (before, now) in before.chunks(CHUNK).zip(now.chunks(CHUNK)) {
            loss = loss.plus(&Self::of_chunk(before, now, least));
        }
        loss
    }

    #[expect(
        clippy::needless_bitwise_bool,
        reason = "without branches, so that it is done for several values at once"
    )]
    fn of_chunk<V: Copy + Into<f64>>(before: &[V], now: &[f32], least: (f64, f64)) -> Self {
        let (mut not_finite, mut overflowed, mut subnormal, mut vanished) = (0_u32, 0_u32, 0_u32, 0_u32);
        let (mut max, mut errors, mut values) = (0.0_f64, 0.0_f64, 0.0_f64);
        for (before, now) in before.iter().zip(now) {
            let (before, now): (f64, f64) = ((*before).into(), f64::from(*now));
            let finite = before.is_finite();
            not_finite = not_finite.wrapping_add(u32::from(!finite));
            overflowed = overflowed.wrapping_add(u32::from(finite & !now.is_finite()));
            let magnitude = now.abs();
            let small = (magnitude > 0.0) & (magnitude < least.1) & (before.abs() >= least.0);
            subnormal = subnormal.wrapping_add(u32::from(small));
            vanished = vanished.wrapping_add(u32::from((now == 0.0) & (before != 0.0)));
            let both = finite & now.is_finite();
            let error = if both { (before - now).abs() } else { 0.0 };
            let value = if finite { before } else { 0.0 };
            max = max.max(error);
            errors += error * error;
            values += value * value;
        }
        Self {
            values: 0,
            not_finite: not_finite.into(),
            overflowed: overflowed.into(),
            subnormal: subnormal.into(),
            vanished: vanished.into(),
            max_error: max,
            squared_error: errors,
            squared_values: values,
        }
    }
}

/// The smallest normal value of a type of plain numbers (IEEE 754's 2^-14, 2^-126, 2^-1022); blocks have none.
const fn least_normal(kind: GgmlType) -> f64 {
    match kind {
        GgmlType::F16 => f64::from_bits(0x3F10_0000_0000_0000),
        GgmlType::BF16 | GgmlType::F32 => f64::from_bits(0x3810_0000_0000_0000),
        GgmlType::F64 => f64::MIN_POSITIVE,
        _ => 0.0,
    }
}

/// Values of which the counts fit in 32 bits.
const CHUNK: usize = 1 << 16;

/// A count as a number to divide by.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "more than 2^53 values are in no file")]
pub(super) const fn count(values: u64) -> f64 {
    values as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_loss_is_counted_for_itself() {
        let before = [1.0, 1e6, 1e-6, 1e-9, f32::NAN, f32::INFINITY, 0.0, 3.0];
        let now = [1.0, f32::INFINITY, 1.013_279e-6, 0.0, f32::NAN, f32::INFINITY, 0.0, 3.5];
        let to = |kind| (GgmlType::F32, kind);
        let loss = Loss::of(&before, &now, to(GgmlType::F16));
        assert_eq!((loss.values, loss.not_finite, loss.overflowed), (8, 2, 1));
        assert_eq!((loss.subnormal, loss.vanished), (1, 1));
        assert!((loss.max_error - 0.5).abs() < 1e-12);
        assert!((loss.rmse() - (0.25_f64 / 8.0).sqrt()).abs() < 1e-9);
        assert!(!loss.is_exact());
        // The smallest normal half is none; and blocks have none.
        let edge = [f32::from_bits(0x3880_0000)];
        assert_eq!(Loss::of(&edge, &edge, to(GgmlType::F16)).subnormal, 0);
        assert_eq!(Loss::of(&[1e-6_f32], &[1e-6], to(GgmlType::Q8_0)).subnormal, 0);
        // What was subnormal before did not become so.
        let small = [1e-6_f32, 1e-39];
        assert_eq!(Loss::of(&small, &small, (GgmlType::F16, GgmlType::F16)).subnormal, 0);
        assert_eq!(Loss::of(&small, &small, to(GgmlType::BF16)).subnormal, 0);
        assert_eq!(Loss::of(&[1e-39_f64], &[1e-39], (GgmlType::F64, GgmlType::F32)).subnormal, 1);
        assert!(Loss::of(&edge, &edge, to(GgmlType::F16)).is_exact());
    }

    #[test]
    fn sums_are_those_of_the_whole() {
        let before: std::vec::Vec<f32> = (0..200_000_u32).map(|at| f32::from_bits(at * 20_011)).collect();
        let now: std::vec::Vec<f32> = before.iter().map(|value| value * 0.5).collect();
        let whole = Loss::of(&before, &now, (GgmlType::F32, GgmlType::F32));
        let (a, b) = (
            Loss::of(&before[..77_777], &now[..77_777], (GgmlType::F32, GgmlType::F32)),
            Loss::of(&before[77_777..], &now[77_777..], (GgmlType::F32, GgmlType::F32)),
        );
        let both = a.plus(&b);
        assert_eq!(
            (whole.values, whole.not_finite, whole.max_error),
            (both.values, both.not_finite, both.max_error)
        );
        assert!((whole.relative() - 0.5).abs() < 1e-6);
    }
}
