//! Block rows with 8-bit activations by `vpdpbusd`, two blocks of 32 in a vector.
//!
//! Weights enter as unsigned bytes. What is too much in them (128 for Q8_0, 8 for Q4_0, …) is the same for every
//! element of a format, so it is taken off at the end as a multiple of the activations' sums under the same scales. High
//! nibbles are left where they are, sixteen times too large, and get a sixteenth of the scale.

use core::arch::x86_64::*;

use super::super::WeightType;
use super::super::act::Row;
use super::super::ahead;
use super::avx2::floats;
use super::{at, in_pairs};

mod large;
mod nibbles;
mod small;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn load<T: bytemuck::Pod>(from: &[T; 64]) -> __m512i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: 64 bytes are there; the load needs no alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn load32(from: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are there; the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn floats16(from: &[f32; 16]) -> __m512 {
    // SAFETY: 16 values are there; the load needs no alignment.
    unsafe { _mm512_loadu_ps(from.as_ptr()) }
}

/// Eight scales and in the upper half a sixteenth of them.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn with_sixteenths(scales: __m256) -> __m512 {
    let less = _mm256_mul_ps(scales, _mm256_set1_ps(0.0625));
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(scales), less)
}

/// A vector of which each 128-bit lane, from the lowest, has the given value in its four places.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn quarters(a: i32, b: i32, c: i32, d: i32) -> __m512i {
    _mm512_set_epi32(d, d, d, d, c, c, c, c, b, b, b, b, a, a, a, a)
}

/// Which scale each lane takes, for each of four vectors: four lanes each take `j`, `j + a`, `j + b` and `j + c`.
const fn table(step: i32, a: i32, b: i32, c: i32) -> [[i32; 16]; 4] {
    const fn lanes(j: i32, a: i32, b: i32, c: i32) -> [i32; 16] {
        let (a, b, c) = (j + a, j + b, j + c);
        [j, j, j, j, a, a, a, a, b, b, b, b, c, c, c, c]
    }
    [lanes(0, a, b, c), lanes(step, a, b, c), lanes(2 * step, a, b, c), lanes(3 * step, a, b, c)]
}

/// Blocks of 32 as they stand.
static PAIRS: [[i32; 16]; 4] = table(2, 0, 1, 1);
/// Blocks of 32 whose second halves take the sixteenths.
static HALVES_APART: [[i32; 16]; 4] = table(2, 8, 1, 9);
/// Blocks of 32 of which each second takes the sixteenths.
static PAIRS_APART: [[i32; 16]; 4] = table(2, 0, 9, 9);
/// Groups of 16.
static FOURS: [[i32; 16]; 4] = table(4, 1, 2, 3);

/// Loads a table, hidden from the compiler: where it knows the lanes it takes four shuffles for one permutation.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn picks(table: &'static [[i32; 16]; 4]) -> [__m512i; 4] {
    let [a, b, c, d] = core::hint::black_box(table);
    let load = |from: &[i32; 16]| _mm512_castps_si512(floats16(bytemuck::cast_ref(from)));
    [load(a), load(b), load(c), load(d)]
}

/// Adds the products of 64 weights and activations under the scales that `pick` takes from `scales`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn step(sum: __m512, weights: __m512i, q: &[i8; 64], scales: __m512, pick: __m512i) -> __m512 {
    let products = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, load(q));
    _mm512_fmadd_ps(_mm512_cvtepi32_ps(products), _mm512_permutexvar_ps(pick, scales), sum)
}

/// [`step`] four times, written out so that the sums stay in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn four_steps(
    [a, b, c, d]: [__m512; 4],
    weights: [__m512i; 4],
    q: &[i8; 256],
    scales: __m512,
    pick: [__m512i; 4],
) -> [__m512; 4] {
    [
        step(a, weights[0], at::<0, 64, 256, i8>(q), scales, pick[0]),
        step(b, weights[1], at::<64, 64, 256, i8>(q), scales, pick[1]),
        step(c, weights[2], at::<128, 64, 256, i8>(q), scales, pick[2]),
        step(d, weights[3], at::<192, 64, 256, i8>(q), scales, pick[3]),
    ]
}

/// What the products of a row have come to, and what is added for whole blocks.
#[derive(Clone, Copy)]
struct Sums {
    products: [__m512; 4],
    rest: __m512,
}

impl Sums {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
    #[inline]
    fn new() -> Self {
        Self { products: [_mm512_setzero_ps(); 4], rest: _mm512_setzero_ps() }
    }

    /// Each lane's sum.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
    #[inline]
    fn lanes(self) -> __m512 {
        let [a, b, c, d] = self.products;
        _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)), self.rest)
    }
}

/// The sums of all lanes of two vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn totals(a: __m512, b: __m512) -> [f32; 2] {
    // Halves of a, halves of b; then quarters.
    let halves = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xee>(a, b));
    let quarters = _mm512_add_ps(halves, _mm512_shuffle_f32x4::<0xb1>(halves, halves));
    let pairs = _mm512_add_ps(quarters, _mm512_permute_ps::<0x4e>(quarters));
    let all = _mm512_add_ps(pairs, _mm512_permute_ps::<0xb1>(pairs));
    let far = _mm512_extractf32x4_ps::<2>(all);
    [_mm512_cvtss_f32(all), _mm_cvtss_f32(far)]
}

/// Adds the products of a value a block of 32 with the sums of its activations.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn add(rest: &mut __m512, values: __m256, sums: &[f32; 8]) {
    let low = _mm256_fmadd_ps(values, floats(sums), _mm512_castps512_ps256(*rest));
    *rest = _mm512_zextps256_ps512(low);
}

/// Adds `rows[i] · act` to `out[i]`, for block rows of `stride` bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) fn matvec(ty: WeightType, bytes: &[u8], stride: usize, act: Row<'_>, out: &mut [f32]) {
    macro_rules! all {
        ($module:ident::$two:ident) => {
            if ahead::is_wanted() {
                in_pairs(bytes, stride, out, |rows| $module::$two::<true>(rows, &act));
            } else {
                in_pairs(bytes, stride, out, |rows| $module::$two::<false>(rows, &act));
            }
        };
    }
    match ty {
        WeightType::Q8_0 => all!(small::q8_0),
        WeightType::Q4_0 => all!(small::q4_0),
        WeightType::Q4_1 => all!(small::q4_1),
        WeightType::Q5_0 => all!(small::q5_0),
        WeightType::Q5_1 => all!(small::q5_1),
        WeightType::Q4_K => all!(large::q4_k),
        WeightType::Q5_K => all!(large::q5_k),
        WeightType::Q6_K => all!(large::q6_k),
        WeightType::F32 | WeightType::F16 | WeightType::BF16 => {}
    }
}
