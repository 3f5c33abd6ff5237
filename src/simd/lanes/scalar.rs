//! One value at a time, in plain code.

use super::super::half::{bf16_to_f32, f16_to_f32, f32_to_f16};
use super::{Lanes, padded, put};

/// No instructions beyond the language's own.
#[derive(Clone, Copy)]
pub(in super::super) struct Scalar;

impl Lanes for Scalar {
    const N: usize = 1;
    type V = f32;

    fn splat(self, value: f32) -> f32 {
        value
    }
    fn load(self, from: &[f32]) -> f32 {
        from.first().copied().unwrap_or(0.0)
    }
    fn store(self, to: &mut [f32], v: f32) {
        put(to, [v]);
    }
    fn load_f32(self, from: &[u8]) -> f32 {
        f32::from_le_bytes(padded(from))
    }
    fn load_f16(self, from: &[u8]) -> f32 {
        f16_to_f32(u16::from_le_bytes(padded(from)))
    }
    fn load_bf16(self, from: &[u8]) -> f32 {
        bf16_to_f32(u16::from_le_bytes(padded(from)))
    }
    fn add(self, a: f32, b: f32) -> f32 {
        a + b
    }
    fn sub(self, a: f32, b: f32) -> f32 {
        a - b
    }
    fn mul(self, a: f32, b: f32) -> f32 {
        a * b
    }
    fn div(self, a: f32, b: f32) -> f32 {
        a / b
    }
    fn fma(self, a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
    fn max(self, a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }
    fn min(self, a: f32, b: f32) -> f32 {
        if a < b { a } else { b }
    }
    fn pow2(self, t: f32) -> f32 {
        f32::from_bits(t.to_bits().wrapping_add(127) << 23)
    }
    fn sum(self, v: f32) -> f32 {
        v
    }
    fn store_f16(self, to: &mut [u16], v: f32) {
        put(to, [f32_to_f16(v)]);
    }
}
