//! The types that are plain numbers: blocks of one.
#![expect(clippy::trivially_copy_pass_by_ref, reason = "as every other kernel: a block where it stands")]

use super::half;

#[inline]
pub(super) fn f32(bytes: &[u8; 4], [out]: &mut [f32; 1]) {
    *out = f32::from_le_bytes(*bytes);
}

#[inline]
pub(super) fn f16(bytes: &[u8; 2], [out]: &mut [f32; 1]) {
    *out = half::f16(*bytes);
}

#[inline]
pub(super) fn bf16(bytes: &[u8; 2], [out]: &mut [f32; 1]) {
    *out = half::bf16(*bytes);
}

/// Rounded to nearest; what is too large for a single becomes infinite.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounds to nearest, as documented")]
pub(super) fn f64(bytes: &[u8; 8], [out]: &mut [f32; 1]) {
    *out = f64::from_le_bytes(*bytes) as f32;
}

#[inline]
pub(super) fn i8([byte]: &[u8; 1], [out]: &mut [f32; 1]) {
    *out = f32::from(byte.cast_signed());
}

#[inline]
pub(super) fn i16(bytes: &[u8; 2], [out]: &mut [f32; 1]) {
    *out = f32::from(i16::from_le_bytes(*bytes));
}

/// Rounded to nearest: a single has 24 bits.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to nearest, as documented")]
pub(super) fn i32(bytes: &[u8; 4], [out]: &mut [f32; 1]) {
    *out = i32::from_le_bytes(*bytes) as f32;
}

/// Rounded to nearest: a single has 24 bits.
#[inline]
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to nearest, as documented")]
pub(super) fn i64(bytes: &[u8; 8], [out]: &mut [f32; 1]) {
    *out = i64::from_le_bytes(*bytes) as f32;
}
