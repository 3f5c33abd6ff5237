//! Eight values at a time by the `wide` crate: whatever the compiler's target has.

use ::wide::{f32x8, u32x8};

use super::super::half::{f16_to_f32, f32_to_f16};
use super::{Lanes, padded, put};

/// No instructions beyond those of the compiler's target.
#[derive(Clone, Copy)]
pub(in super::super) struct Portable;

#[inline(always)]
fn bits(v: f32x8) -> u32x8 {
    u32x8::new(v.to_array().map(f32::to_bits))
}

#[inline(always)]
fn of_bits(v: u32x8) -> f32x8 {
    f32x8::new(v.to_array().map(f32::from_bits))
}

#[inline(always)]
fn pairs(from: &[u8]) -> [u16; 8] {
    let bytes: [u8; 16] = padded(from);
    let (pairs, _) = bytes.as_chunks::<2>();
    let mut all = [0; 8];
    for (to, pair) in all.iter_mut().zip(pairs) {
        *to = u16::from_le_bytes(*pair);
    }
    all
}

impl Lanes for Portable {
    const N: usize = 8;
    type V = f32x8;

    #[inline(always)]
    fn splat(self, value: f32) -> f32x8 {
        f32x8::splat(value)
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> f32x8 {
        f32x8::new(padded(from))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32], v: f32x8) {
        put(to, v.to_array());
    }
    #[inline(always)]
    fn load_f32(self, from: &[u8]) -> f32x8 {
        let bytes: [u8; 32] = padded(from);
        let (quads, _) = bytes.as_chunks::<4>();
        let mut all = [0.0; 8];
        for (to, quad) in all.iter_mut().zip(quads) {
            *to = f32::from_le_bytes(*quad);
        }
        f32x8::new(all)
    }
    #[inline(always)]
    fn load_f16(self, from: &[u8]) -> f32x8 {
        f32x8::new(pairs(from).map(f16_to_f32))
    }
    #[inline(always)]
    fn load_bf16(self, from: &[u8]) -> f32x8 {
        of_bits(u32x8::new(pairs(from).map(|pair| u32::from(pair) << 16)))
    }
    #[inline(always)]
    fn add(self, a: f32x8, b: f32x8) -> f32x8 {
        a + b
    }
    #[inline(always)]
    fn sub(self, a: f32x8, b: f32x8) -> f32x8 {
        a - b
    }
    #[inline(always)]
    fn mul(self, a: f32x8, b: f32x8) -> f32x8 {
        a * b
    }
    #[inline(always)]
    fn div(self, a: f32x8, b: f32x8) -> f32x8 {
        a / b
    }
    #[inline(always)]
    fn fma(self, a: f32x8, b: f32x8, c: f32x8) -> f32x8 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn max(self, a: f32x8, b: f32x8) -> f32x8 {
        a.simd_gt(b).bitselect(a, b)
    }
    #[inline(always)]
    fn min(self, a: f32x8, b: f32x8) -> f32x8 {
        a.simd_lt(b).bitselect(a, b)
    }
    #[inline(always)]
    fn pow2(self, t: f32x8) -> f32x8 {
        of_bits((bits(t) + u32x8::splat(127)) << 23_u32)
    }
    #[inline(always)]
    fn sum(self, v: f32x8) -> f32 {
        v.reduce_add()
    }
    #[inline(always)]
    fn store_f16(self, to: &mut [u16], v: f32x8) {
        put(to, v.to_array().map(f32_to_f16));
    }
}
