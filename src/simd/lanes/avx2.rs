//! 8 values at a time with AVX2, FMA and F16C.

use core::arch::x86_64::*;

use super::{Lanes, padded, put};

/// The proof that AVX2, FMA and F16C are there.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2(());

impl Avx2 {
    /// # Safety
    ///
    /// The processor has AVX2, FMA and F16C.
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

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn sum(v: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn from_bf16(pairs: __m128i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(pairs)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn pow2(t: __m256) -> __m256 {
    let biased = _mm256_add_epi32(_mm256_castps_si256(t), _mm256_set1_epi32(127));
    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
}

/// The first eight rows become columns: pairs, fours, then the halves.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn turn(square: &mut [__m256; 16]) {
    let mut fours = *square;
    for four in (0..8).step_by(4) {
        let (a, b, c, d) = (square[four], square[four + 1], square[four + 2], square[four + 3]);
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        let low = |x, y| _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(x), _mm256_castps_pd(y)));
        let high = |x, y| _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(x), _mm256_castps_pd(y)));
        // In the half L of the c-th stands column 4·L + c of these four rows.
        fours[four] = low(ab, cd);
        fours[four + 1] = high(ab, cd);
        fours[four + 2] = low(ab_high, cd_high);
        fours[four + 3] = high(ab_high, cd_high);
    }
    for c in 0..4 {
        square[c] = _mm256_permute2f128_ps::<0x20>(fours[c], fours[c + 4]);
        square[c + 4] = _mm256_permute2f128_ps::<0x31>(fours[c], fours[c + 4]);
    }
}

impl Lanes for Avx2 {
    const N: usize = 8;
    type V = __m256;

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        leaf!(_mm256_set1_ps(value))
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        let all: [f32; 8] = padded(from);
        leaf!(_mm256_loadu_ps(all.as_ptr()))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32], v: __m256) {
        let mut all = [0.0_f32; 8];
        leaf!(_mm256_storeu_ps(all.as_mut_ptr(), v));
        put(to, all);
    }
    #[inline(always)]
    fn load_f32(self, from: &[u8]) -> __m256 {
        let all: [u8; 32] = padded(from);
        leaf!(_mm256_loadu_ps(all.as_ptr().cast()))
    }
    #[inline(always)]
    fn load_f16(self, from: &[u8]) -> __m256 {
        let all: [u8; 16] = padded(from);
        let pairs = leaf!(_mm_loadu_si128(all.as_ptr().cast()));
        leaf!(_mm256_cvtph_ps(pairs))
    }
    #[inline(always)]
    fn load_bf16(self, from: &[u8]) -> __m256 {
        let all: [u8; 16] = padded(from);
        let pairs = leaf!(_mm_loadu_si128(all.as_ptr().cast()));
        leaf!(from_bf16(pairs))
    }
    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        leaf!(_mm256_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        leaf!(_mm256_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        leaf!(_mm256_mul_ps(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        leaf!(_mm256_div_ps(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        leaf!(_mm256_max_ps(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        leaf!(_mm256_min_ps(a, b))
    }
    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        leaf!(_mm256_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn pow2(self, t: __m256) -> __m256 {
        leaf!(pow2(t))
    }
    #[inline(always)]
    fn sum(self, v: __m256) -> f32 {
        leaf!(sum(v))
    }
    #[inline(always)]
    fn turn(self, square: &mut [__m256; 16]) {
        leaf!(turn(square));
    }
    #[inline(always)]
    fn store_f16(self, to: &mut [u16], v: __m256) {
        let pairs = leaf!(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v));
        let mut all = [0_u16; 8];
        leaf!(_mm_storeu_si128(all.as_mut_ptr().cast(), pairs));
        put(to, all);
    }
}
