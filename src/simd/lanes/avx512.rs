//! 16 values at a time with AVX-512.

use core::arch::x86_64::*;

use super::{Lanes, padded, put};

/// The proof that AVX-512 are there.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx512(());

impl Avx512 {
    /// # Safety
    ///
    /// The processor has AVX-512 F, BW, DQ and VL.
    #[inline(always)]
    pub(in super::super) unsafe fn new() -> Self {
        Self(())
    }
}

/// A leaf: one instruction, allowed by the token.
macro_rules! leaf {
    ($call:expr) => {
        // SAFETY: the token is made only where the processor has the instructions, see `new`.
        unsafe { $call }
    };
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn from_bf16(pairs: __m256i) -> __m512 {
    _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(pairs)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn pow2(t: __m512) -> __m512 {
    let biased = _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32(127));
    _mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased))
}

impl Lanes for Avx512 {
    const N: usize = 16;
    type V = __m512;

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        leaf!(_mm512_set1_ps(value))
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        let all: [f32; 16] = padded(from);
        leaf!(_mm512_loadu_ps(all.as_ptr()))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32], v: __m512) {
        let mut all = [0.0_f32; 16];
        leaf!(_mm512_storeu_ps(all.as_mut_ptr(), v));
        put(to, all);
    }
    #[inline(always)]
    fn load_f32(self, from: &[u8]) -> __m512 {
        let all: [u8; 64] = padded(from);
        leaf!(_mm512_loadu_ps(all.as_ptr().cast()))
    }
    #[inline(always)]
    fn load_f16(self, from: &[u8]) -> __m512 {
        let all: [u8; 32] = padded(from);
        let pairs = leaf!(_mm256_loadu_si256(all.as_ptr().cast()));
        leaf!(_mm512_cvtph_ps(pairs))
    }
    #[inline(always)]
    fn load_bf16(self, from: &[u8]) -> __m512 {
        let all: [u8; 32] = padded(from);
        let pairs = leaf!(_mm256_loadu_si256(all.as_ptr().cast()));
        leaf!(from_bf16(pairs))
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        leaf!(_mm512_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        leaf!(_mm512_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        leaf!(_mm512_mul_ps(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        leaf!(_mm512_div_ps(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        leaf!(_mm512_max_ps(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        leaf!(_mm512_min_ps(a, b))
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        leaf!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn pow2(self, t: __m512) -> __m512 {
        leaf!(pow2(t))
    }
    #[inline(always)]
    fn sum(self, v: __m512) -> f32 {
        leaf!(_mm512_reduce_add_ps(v))
    }
    #[inline(always)]
    fn store_f16(self, to: &mut [u16], v: __m512) {
        let pairs = leaf!(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v));
        let mut all = [0_u16; 16];
        leaf!(_mm256_storeu_si256(all.as_mut_ptr().cast(), pairs));
        put(to, all);
    }
}
