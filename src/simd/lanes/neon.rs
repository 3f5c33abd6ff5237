//! Eight values at a time in two NEON registers.

use core::arch::aarch64::*;

use super::super::half::f32_to_f16;
use super::{Lanes, padded, put};

/// The proof that NEON is there.
#[derive(Clone, Copy)]
pub(in super::super) struct Neon(());

impl Neon {
    /// # Safety
    ///
    /// The processor has NEON.
    #[inline(always)]
    pub(in super::super) unsafe fn new() -> Self {
        Self(())
    }
}

/// A leaf, allowed by the token.
macro_rules! leaf {
    ($call:expr) => {{
        // SAFETY: the token is made only where the processor has the instructions, see `new`.
        unsafe { $call }
    }};
}

type Pair = [float32x4_t; 2];

#[target_feature(enable = "neon")]
#[inline]
fn load8(from: &[f32; 8]) -> Pair {
    let (low, high) = (from.as_ptr(), from[4..].as_ptr());
    // SAFETY: 4 values are there.
    let low = unsafe { vld1q_f32(low) };
    // SAFETY: 4 values are there.
    let high = unsafe { vld1q_f32(high) };
    [low, high]
}

#[target_feature(enable = "neon")]
#[inline]
fn store8(v: Pair) -> [f32; 8] {
    let mut all = [0.0; 8];
    let (low, high) = all.split_at_mut(4);
    // SAFETY: there is room for 4 values.
    unsafe { vst1q_f32(low.as_mut_ptr(), v[0]) };
    // SAFETY: there is room for 4 values.
    unsafe { vst1q_f32(high.as_mut_ptr(), v[1]) };
    all
}

#[target_feature(enable = "neon")]
#[inline]
fn load_words(from: &[u16; 8]) -> uint16x8_t {
    // SAFETY: 8 values are there.
    unsafe { vld1q_u16(from.as_ptr()) }
}

/// Little-endian pairs of bytes.
#[inline(always)]
fn words(from: &[u8]) -> [u16; 8] {
    let bytes: [u8; 16] = padded(from);
    let mut all = [0; 8];
    for (to, pair) in all.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *to = u16::from_le_bytes(*pair);
    }
    all
}

/// F16 to F32 in whole-number steps: the instruction's intrinsic is not stable. The same steps as `half::f16_to_f32`.
#[target_feature(enable = "neon")]
#[inline]
fn wider(bits: uint32x4_t) -> float32x4_t {
    let sign = vshlq_n_u32::<16>(vandq_u32(bits, vdupq_n_u32(0x8000)));
    let rest = vandq_u32(bits, vdupq_n_u32(0x7fff));
    let moved = vshlq_n_u32::<13>(rest);
    let finite = vmulq_f32(vreinterpretq_f32_u32(moved), vreinterpretq_f32_u32(vdupq_n_u32((127 + 112) << 23)));
    let quiet = vandq_u32(vcgtq_u32(rest, vdupq_n_u32(0x7c00)), vdupq_n_u32(0x40_0000));
    let special = vorrq_u32(vorrq_u32(moved, vdupq_n_u32(0x7f80_0000)), quiet);
    let is_special = vcgeq_u32(rest, vdupq_n_u32(0x7c00));
    let magnitude = vbslq_u32(is_special, special, vreinterpretq_u32_f32(finite));
    vreinterpretq_f32_u32(vorrq_u32(sign, magnitude))
}

#[target_feature(enable = "neon")]
#[inline]
fn from_f16(from: &[u16; 8]) -> Pair {
    let all = load_words(from);
    [wider(vmovl_u16(vget_low_u16(all))), wider(vmovl_u16(vget_high_u16(all)))]
}

#[target_feature(enable = "neon")]
#[inline]
fn from_bf16(from: &[u16; 8]) -> Pair {
    let all = load_words(from);
    let one = |half| vreinterpretq_f32_u32(vshlq_n_u32::<16>(vmovl_u16(half)));
    [one(vget_low_u16(all)), one(vget_high_u16(all))]
}

#[target_feature(enable = "neon")]
#[inline]
fn pow2(t: float32x4_t) -> float32x4_t {
    let biased = vaddq_u32(vreinterpretq_u32_f32(t), vdupq_n_u32(127));
    vreinterpretq_f32_u32(vshlq_n_u32::<23>(biased))
}

macro_rules! both {
    ($($name:ident($($arg:ident),*) = $call:expr;)*) => {
        $(
            #[target_feature(enable = "neon")]
            #[inline]
            fn $name($($arg: Pair),*) -> Pair {
                let one = $call;
                [one($($arg[0]),*), one($($arg[1]),*)]
            }
        )*
    };
}

both! {
    add(a, b) = |a, b| vaddq_f32(a, b);
    sub(a, b) = |a, b| vsubq_f32(a, b);
    mul(a, b) = |a, b| vmulq_f32(a, b);
    div(a, b) = |a, b| vdivq_f32(a, b);
    fma(a, b, c) = |a, b, c| vfmaq_f32(c, a, b);
    max(a, b) = |a, b| vbslq_f32(vcgtq_f32(a, b), a, b);
    min(a, b) = |a, b| vbslq_f32(vcltq_f32(a, b), a, b);
    powers(t) = pow2;
}

#[target_feature(enable = "neon")]
#[inline]
fn sum(v: Pair) -> f32 {
    vaddvq_f32(vaddq_f32(v[0], v[1]))
}

#[target_feature(enable = "neon")]
#[inline]
fn splat(value: f32) -> Pair {
    [vdupq_n_f32(value); 2]
}

impl Lanes for Neon {
    const N: usize = 8;
    type V = Pair;

    #[inline(always)]
    fn splat(self, value: f32) -> Pair {
        leaf!(splat(value))
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> Pair {
        leaf!(load8(&padded(from)))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32], v: Pair) {
        put(to, leaf!(store8(v)));
    }
    #[inline(always)]
    fn load_f32(self, from: &[u8]) -> Pair {
        let bytes: [u8; 32] = padded(from);
        let mut all = [0.0; 8];
        for (to, quad) in all.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *to = f32::from_le_bytes(*quad);
        }
        leaf!(load8(&all))
    }
    #[inline(always)]
    fn load_f16(self, from: &[u8]) -> Pair {
        leaf!(from_f16(&words(from)))
    }
    #[inline(always)]
    fn load_bf16(self, from: &[u8]) -> Pair {
        leaf!(from_bf16(&words(from)))
    }
    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        leaf!(add(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        leaf!(sub(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Pair, b: Pair) -> Pair {
        leaf!(mul(a, b))
    }
    #[inline(always)]
    fn div(self, a: Pair, b: Pair) -> Pair {
        leaf!(div(a, b))
    }
    #[inline(always)]
    fn fma(self, a: Pair, b: Pair, c: Pair) -> Pair {
        leaf!(fma(a, b, c))
    }
    #[inline(always)]
    fn max(self, a: Pair, b: Pair) -> Pair {
        leaf!(max(a, b))
    }
    #[inline(always)]
    fn min(self, a: Pair, b: Pair) -> Pair {
        leaf!(min(a, b))
    }
    #[inline(always)]
    fn pow2(self, t: Pair) -> Pair {
        leaf!(powers(t))
    }
    #[inline(always)]
    fn sum(self, v: Pair) -> f32 {
        leaf!(sum(v))
    }
    #[inline(always)]
    fn store_f16(self, to: &mut [u16], v: Pair) {
        put(to, leaf!(store8(v)).map(f32_to_f16));
    }
}
