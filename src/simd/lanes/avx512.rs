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

/// Rows become columns: pairs, fours, then the 128-bit parts in two rounds.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn turn(square: &mut [__m512; 16]) {
    let mut fours = *square;
    for four in (0..16).step_by(4) {
        let (a, b, c, d) = (square[four], square[four + 1], square[four + 2], square[four + 3]);
        let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
        let low = |x, y| _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
        let high = |x, y| _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
        // In the part L of the c-th stands column 4·L + c of these four rows.
        fours[four] = low(ab, cd);
        fours[four + 1] = high(ab, cd);
        fours[four + 2] = low(ab_high, cd_high);
        fours[four + 3] = high(ab_high, cd_high);
    }
    for c in 0..4 {
        let (a, b) = (fours[c], fours[c + 4]);
        let (d, e) = (fours[c + 8], fours[c + 12]);
        let even = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0x88>(d, e));
        let odd = (_mm512_shuffle_f32x4::<0xdd>(a, b), _mm512_shuffle_f32x4::<0xdd>(d, e));
        square[c] = _mm512_shuffle_f32x4::<0x88>(even.0, even.1);
        square[c + 4] = _mm512_shuffle_f32x4::<0x88>(odd.0, odd.1);
        square[c + 8] = _mm512_shuffle_f32x4::<0xdd>(even.0, even.1);
        square[c + 12] = _mm512_shuffle_f32x4::<0xdd>(odd.0, odd.1);
    }
}

/// The sums of sixteen vectors: halves, quarters and then pairs of two vectors at a time become one.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn sums(v: &[__m512; 16]) -> __m512 {
    let halves = |a, b| _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xee>(a, b));
    let quarters = |a, b| _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
    // In the 128-bit part L stands what is left of the vector 4·L + c.
    let four = |c: usize| quarters(halves(v[c], v[c + 4]), halves(v[c + 8], v[c + 12]));
    let pairs = |a, b| _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    let (even, odd) = (_mm512_castps_pd(pairs(four(0), four(1))), _mm512_castps_pd(pairs(four(2), four(3))));
    let (low, high) = (_mm512_unpacklo_pd(even, odd), _mm512_unpackhi_pd(even, odd));
    _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
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
    fn sums(self, all: [__m512; 16]) -> [f32; 16] {
        let mut out = [0.0; 16];
        self.store(&mut out, leaf!(sums(&all)));
        out
    }
    #[inline(always)]
    fn turn(self, square: &mut [__m512; 16]) {
        leaf!(turn(square));
    }
    #[inline(always)]
    fn store_f16(self, to: &mut [u16], v: __m512) {
        let pairs = leaf!(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v));
        let mut all = [0_u16; 16];
        leaf!(_mm256_storeu_si256(all.as_mut_ptr().cast(), pairs));
        put(to, all);
    }
}
