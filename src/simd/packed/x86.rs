//! Sixteen rows in two vectors of AVX2, or in one of AVX-512.

use core::arch::x86_64::*;

use super::super::lanes::avx2::Avx2;
use super::super::lanes::avx512::Avx512;
use super::super::unpack::word;
use super::lanes::Words;

/// A leaf: one instruction, or a function of one, allowed by the token.
macro_rules! leaf {
    ($call:expr) => {
        // SAFETY: the token is made only where the processor has the instructions, see `new`.
        unsafe { $call }
    };
}

/// Shifts by what the compiler knows once it is inlined.
#[target_feature(enable = "avx2")]
#[inline]
fn left2<const N: u32>(a: __m256i) -> __m256i {
    _mm256_sll_epi32(a, _mm_cvtsi32_si128(N.cast_signed()))
}

#[target_feature(enable = "avx2")]
#[inline]
fn right2<const N: u32>(a: __m256i) -> __m256i {
    _mm256_srl_epi32(a, _mm_cvtsi32_si128(N.cast_signed()))
}

#[target_feature(enable = "avx2")]
#[inline]
fn down2<const N: u32>(a: __m256i) -> __m256i {
    _mm256_sra_epi32(a, _mm_cvtsi32_si128(N.cast_signed()))
}

#[target_feature(enable = "avx2")]
#[inline]
fn mask2(mask: u32) -> __m256i {
    _mm256_set1_epi32(mask.cast_signed())
}

#[target_feature(enable = "avx2")]
#[inline]
fn select2(mask: u32, a: __m256i, b: __m256i) -> __m256i {
    let mask = mask2(mask);
    _mm256_or_si256(_mm256_and_si256(a, mask), _mm256_andnot_si256(mask, b))
}

/// Pairs of products of at most 2 × 63 × 128 fit 16 bits.
#[target_feature(enable = "avx2")]
#[inline]
fn dot2(sum: __m256i, words: __m256i, q: [i8; 4]) -> __m256i {
    let pairs = _mm256_maddubs_epi16(words, _mm256_set1_epi32(word(q)));
    _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
}

/// The sign goes over to the activations, so that pairs of products, at most 2 × 128 × 127, fit 16 bits.
#[target_feature(enable = "avx2")]
#[inline]
fn signed2(sum: __m256i, words: __m256i, q: [i8; 4]) -> __m256i {
    let words = _mm256_xor_si256(words, _mm256_set1_epi8(-128));
    let q = _mm256_set1_epi32(word(q));
    let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(words), _mm256_sign_epi8(q, words));
    _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
}

/// Both halves.
#[inline(always)]
fn both<A: Copy, T>(a: [A; 2], one: impl Fn(A) -> T) -> [T; 2] {
    [one(a[0]), one(a[1])]
}

/// Both halves of two.
#[inline(always)]
fn pairs<A: Copy, B: Copy, T>(a: [A; 2], b: [B; 2], one: impl Fn(A, B) -> T) -> [T; 2] {
    [one(a[0], b[0]), one(a[1], b[1])]
}

/// The two halves of an array.
#[inline(always)]
fn cut<T, const N: usize, const M: usize>(from: &[T; N]) -> [&[T; M]; 2] {
    const { assert!(N == 2 * M) };
    let (parts, _) = from.as_chunks::<M>();
    [&parts[0], &parts[1]]
}

impl Words for Avx2 {
    type I = [__m256i; 2];
    type F = [__m256; 2];
    const RAISED: bool = false;

    #[inline(always)]
    fn load(self, from: &[u8; 64]) -> [__m256i; 2] {
        both(cut::<u8, 64, 32>(from), |half| leaf!(_mm256_loadu_si256(half.as_ptr().cast())))
    }
    #[inline(always)]
    fn splat(self, value: i32) -> [__m256i; 2] {
        [leaf!(_mm256_set1_epi32(value)); 2]
    }
    #[inline(always)]
    fn and(self, a: [__m256i; 2], mask: u32) -> [__m256i; 2] {
        let mask = leaf!(mask2(mask));
        both(a, |a| leaf!(_mm256_and_si256(a, mask)))
    }
    #[inline(always)]
    fn xor(self, a: [__m256i; 2], mask: u32) -> [__m256i; 2] {
        let mask = leaf!(mask2(mask));
        both(a, |a| leaf!(_mm256_xor_si256(a, mask)))
    }
    #[inline(always)]
    fn add(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        pairs(a, b, |a, b| leaf!(_mm256_add_epi32(a, b)))
    }
    #[inline(always)]
    fn left<const N: u32>(self, a: [__m256i; 2]) -> [__m256i; 2] {
        both(a, |a| leaf!(left2::<N>(a)))
    }
    #[inline(always)]
    fn right<const N: u32>(self, a: [__m256i; 2]) -> [__m256i; 2] {
        both(a, |a| leaf!(right2::<N>(a)))
    }
    #[inline(always)]
    fn down<const N: u32>(self, a: [__m256i; 2]) -> [__m256i; 2] {
        both(a, |a| leaf!(down2::<N>(a)))
    }
    #[inline(always)]
    fn select(self, mask: u32, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        pairs(a, b, |a, b| leaf!(select2(mask, a, b)))
    }
    #[inline(always)]
    fn dot(self, sum: [__m256i; 2], words: [__m256i; 2], q: [i8; 4]) -> [__m256i; 2] {
        pairs(sum, words, |sum, words| leaf!(dot2(sum, words, q)))
    }
    #[inline(always)]
    fn dot8(self, sum: [__m256i; 2], words: [__m256i; 2], q: [i8; 4]) -> [__m256i; 2] {
        pairs(sum, words, |sum, words| leaf!(signed2(sum, words, q)))
    }
    #[inline(always)]
    fn float(self, a: [__m256i; 2]) -> [__m256; 2] {
        both(a, |a| leaf!(_mm256_cvtepi32_ps(a)))
    }
    #[inline(always)]
    fn halves(self, from: &[u8; 32]) -> [__m256; 2] {
        both(cut::<u8, 32, 16>(from), |half| {
            let half = leaf!(_mm_loadu_si128(half.as_ptr().cast()));
            leaf!(_mm256_cvtph_ps(half))
        })
    }
    #[inline(always)]
    fn splat_f(self, value: f32) -> [__m256; 2] {
        [leaf!(_mm256_set1_ps(value)); 2]
    }
    #[inline(always)]
    fn mul(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        pairs(a, b, |a, b| leaf!(_mm256_mul_ps(a, b)))
    }
    #[inline(always)]
    fn fma(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        let products = pairs(a, b, |a, b| (a, b));
        pairs(products, c, |(a, b), c| leaf!(_mm256_fmadd_ps(a, b, c)))
    }
    #[inline(always)]
    fn bits(self, a: [__m256; 2]) -> [__m256i; 2] {
        both(a, |a| leaf!(_mm256_castps_si256(a)))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; 16], a: [__m256; 2]) {
        for (to, a) in to.as_chunks_mut::<8>().0.iter_mut().zip(&a) {
            leaf!(_mm256_storeu_ps(to.as_mut_ptr(), *a));
        }
    }
    #[inline(always)]
    fn store_i(self, to: &mut [u32; 16], a: [__m256i; 2]) {
        for (to, a) in to.as_chunks_mut::<8>().0.iter_mut().zip(&a) {
            leaf!(_mm256_storeu_si256(to.as_mut_ptr().cast(), *a));
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn mask5(mask: u32) -> __m512i {
    _mm512_set1_epi32(mask.cast_signed())
}

/// (mask & a) | (!mask & b)
#[target_feature(enable = "avx512f")]
#[inline]
fn select5(mask: u32, a: __m512i, b: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xca>(mask5(mask), a, b)
}

#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn dot5(sum: __m512i, words: __m512i, q: [i8; 4]) -> __m512i {
    _mm512_dpbusd_epi32(sum, words, _mm512_set1_epi32(word(q)))
}

impl Words for Avx512 {
    type I = __m512i;
    type F = __m512;
    const RAISED: bool = true;

    #[inline(always)]
    fn load(self, from: &[u8; 64]) -> __m512i {
        leaf!(_mm512_loadu_si512(from.as_ptr().cast()))
    }
    #[inline(always)]
    fn splat(self, value: i32) -> __m512i {
        leaf!(_mm512_set1_epi32(value))
    }
    #[inline(always)]
    fn and(self, a: __m512i, mask: u32) -> __m512i {
        let mask = leaf!(mask5(mask));
        leaf!(_mm512_and_si512(a, mask))
    }
    #[inline(always)]
    fn xor(self, a: __m512i, mask: u32) -> __m512i {
        let mask = leaf!(mask5(mask));
        leaf!(_mm512_xor_si512(a, mask))
    }
    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        leaf!(_mm512_add_epi32(a, b))
    }
    #[inline(always)]
    fn left<const N: u32>(self, a: __m512i) -> __m512i {
        leaf!(_mm512_slli_epi32::<N>(a))
    }
    #[inline(always)]
    fn right<const N: u32>(self, a: __m512i) -> __m512i {
        leaf!(_mm512_srli_epi32::<N>(a))
    }
    #[inline(always)]
    fn down<const N: u32>(self, a: __m512i) -> __m512i {
        leaf!(_mm512_srai_epi32::<N>(a))
    }
    #[inline(always)]
    fn select(self, mask: u32, a: __m512i, b: __m512i) -> __m512i {
        leaf!(select5(mask, a, b))
    }
    #[inline(always)]
    fn dot(self, sum: __m512i, words: __m512i, q: [i8; 4]) -> __m512i {
        leaf!(dot5(sum, words, q))
    }
    #[inline(always)]
    fn dot8(self, sum: __m512i, words: __m512i, q: [i8; 4]) -> __m512i {
        leaf!(dot5(sum, words, q))
    }
    #[inline(always)]
    fn float(self, a: __m512i) -> __m512 {
        leaf!(_mm512_cvtepi32_ps(a))
    }
    #[inline(always)]
    fn halves(self, from: &[u8; 32]) -> __m512 {
        let half = leaf!(_mm256_loadu_si256(from.as_ptr().cast()));
        leaf!(_mm512_cvtph_ps(half))
    }
    #[inline(always)]
    fn splat_f(self, value: f32) -> __m512 {
        leaf!(_mm512_set1_ps(value))
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        leaf!(_mm512_mul_ps(a, b))
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        leaf!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn bits(self, a: __m512) -> __m512i {
        leaf!(_mm512_castps_si512(a))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; 16], a: __m512) {
        leaf!(_mm512_storeu_ps(to.as_mut_ptr(), a));
    }
    #[inline(always)]
    fn store_i(self, to: &mut [u32; 16], a: __m512i) {
        leaf!(_mm512_storeu_si512(to.as_mut_ptr().cast(), a));
    }
}
