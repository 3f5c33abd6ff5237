//! Block rows with 8-bit activations by `vpdpbusd`, two blocks of 32 in a vector.
//!
//! Weights enter as unsigned bytes. What is too much in them (128 for Q8_0, 8 for Q4_0, …) is the same for every
//! element of a format, so it is taken off at the end as a multiple of the activations' sums under the same scales. High
//! nibbles are left where they are, sixteen times too large, and get a sixteenth of the scale.

use core::arch::x86_64::*;

use super::super::WeightType;
use super::super::act::Row;
use super::super::unpack::six_bits;
use super::{Eight, Eights, at, in_pairs};

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
fn load16(from: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are there; the load needs no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn floats(from: &[f32; 8]) -> __m256 {
    // SAFETY: 8 values are there; the load needs no alignment.
    unsafe { _mm256_loadu_ps(from.as_ptr()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn floats16(from: &[f32; 16]) -> __m512 {
    // SAFETY: 16 values are there; the load needs no alignment.
    unsafe { _mm512_loadu_ps(from.as_ptr()) }
}

/// The F16 at byte `A` of each of eight blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn halves<const A: usize, const B: usize>(blocks: &[[u8; B]; 8]) -> __m256 {
    // Not through `map`: compiled in several units, its closure is a call for every block.
    macro_rules! half {
        ($block:expr) => {
            i16::from_le_bytes(*at::<A, 2, B, u8>($block))
        };
    }
    let [a, b, c, d, e, f, g, h] = blocks;
    _mm256_cvtph_ps(_mm_set_epi16(half!(h), half!(g), half!(f), half!(e), half!(d), half!(c), half!(b), half!(a)))
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
    pick: [__m512i; 4],
}

impl Sums {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
    #[inline]
    fn new(table: &'static [[i32; 16]; 4]) -> Self {
        Self { products: [_mm512_setzero_ps(); 4], rest: _mm512_setzero_ps(), pick: picks(table) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
    #[inline]
    fn total(self) -> f32 {
        let [a, b, c, d] = self.products;
        let sum = _mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d));
        _mm512_reduce_add_ps(_mm512_add_ps(sum, self.rest))
    }
}

/// Two rows of blocks of 32 in step: `pair` gives the 64 unsigned weights of two. `HIGH` says that the second half of each
/// block comes sixteen times too large, `MIN` that a minimum stands at byte 2, `LESS` what is too much in each weight.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn small<const B: usize, const HIGH: bool, const MIN: bool, const LESS: u8>(
    [near, far]: [&[u8]; 2],
    act: Row<'_>,
    pair: impl Fn(&[u8; B], &[u8; B]) -> __m512i,
) -> [f32; 2] {
    let mut a = Sums::new(if HIGH { &HALVES_APART } else { &PAIRS });
    let mut b = a;
    let (mut near, mut far) = (Eights::<B>::new(near, act), Eights::<B>::new(far, act));
    while let (Some(near), Some(far)) = (near.next(), far.next()) {
        a = eight::<B, HIGH, MIN, LESS>(a, &near, &pair);
        b = eight::<B, HIGH, MIN, LESS>(b, &far, &pair);
    }
    [a.total(), b.total()]
}

/// Adds the products of a value a block of 32 with the sums of its activations.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn add(rest: &mut __m512, values: __m256, sums: &[f32; 8]) {
    let low = _mm256_fmadd_ps(values, floats(sums), _mm512_castps512_ps256(*rest));
    *rest = _mm512_zextps256_ps512(low);
}

/// Eight blocks of a row.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn eight<const B: usize, const HIGH: bool, const MIN: bool, const LESS: u8>(
    mut sums: Sums,
    eight: &Eight<'_, B>,
    pair: &impl Fn(&[u8; B], &[u8; B]) -> __m512i,
) -> Sums {
    let d = halves::<0, B>(eight.blocks);
    if MIN {
        add(&mut sums.rest, halves::<2, B>(eight.blocks), eight.sum);
    }
    if LESS != 0 {
        add(&mut sums.rest, _mm256_mul_ps(d, _mm256_set1_ps(-f32::from(LESS))), eight.sum);
    }
    let scales = _mm256_mul_ps(d, floats(eight.scale));
    let scales = if HIGH { with_sixteenths(scales) } else { _mm512_castps256_ps512(scales) };
    let [a, b, c, e, f, g, h, i] = eight.blocks;
    let weights = [pair(a, b), pair(c, e), pair(f, g), pair(h, i)];
    Sums { products: four_steps(sums.products, weights, eight.q, scales, sums.pick), ..sums }
}

/// Each 16 bytes twice: the low nibbles will be looked for in the one, the high ones in the other.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn twice(a: &[u8; 16], b: &[u8; 16]) -> __m512i {
    let (a, b) = (_mm256_broadcastsi128_si256(load16(a)), _mm256_broadcastsi128_si256(load16(b)));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b)
}

/// Nibbles in place: the second half of each block is sixteen times too large.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn nibbles(a: &[u8; 16], b: &[u8; 16]) -> __m512i {
    let (low, high) = (0x0f0f_0f0f, 0xf0f0_f0f0_u32.cast_signed());
    _mm512_and_si512(twice(a, b), quarters(low, high, low, high))
}

/// Nibbles and a fifth bit for each.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn fives(a: &[u8; 16], b: &[u8; 16], bits_a: &[u8; 4], bits_b: &[u8; 4]) -> __m512i {
    let moved = _mm512_srlv_epi32(twice(a, b), quarters(0, 4, 0, 4));
    let four = _mm512_and_si512(moved, _mm512_set1_epi8(15));
    let bits = u64::from(u32::from_le_bytes(*bits_a)) | u64::from(u32::from_le_bytes(*bits_b)) << 32;
    _mm512_mask_add_epi8(four, bits, four, _mm512_set1_epi8(16))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q8_0(rows: [&[u8]; 2], act: Row<'_>) -> [f32; 2] {
    small::<34, false, false, 128>(rows, act, |a, b| {
        let low = _mm512_castsi256_si512(load32(at::<2, 32, 34, u8>(a)));
        let both = _mm512_inserti64x4::<1>(low, load32(at::<2, 32, 34, u8>(b)));
        _mm512_xor_si512(both, _mm512_set1_epi8(-128))
    })
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q4_0(rows: [&[u8]; 2], act: Row<'_>) -> [f32; 2] {
    small::<18, true, false, 8>(rows, act, |a, b| nibbles(at::<2, 16, 18, u8>(a), at::<2, 16, 18, u8>(b)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q4_1(rows: [&[u8]; 2], act: Row<'_>) -> [f32; 2] {
    small::<20, true, true, 0>(rows, act, |a, b| nibbles(at::<4, 16, 20, u8>(a), at::<4, 16, 20, u8>(b)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q5_0(rows: [&[u8]; 2], act: Row<'_>) -> [f32; 2] {
    small::<22, false, false, 16>(rows, act, |a, b| {
        fives(at::<6, 16, 22, u8>(a), at::<6, 16, 22, u8>(b), at::<2, 4, 22, u8>(a), at::<2, 4, 22, u8>(b))
    })
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
fn q5_1(rows: [&[u8]; 2], act: Row<'_>) -> [f32; 2] {
    small::<24, false, true, 0>(rows, act, |a, b| {
        fives(at::<8, 16, 24, u8>(a), at::<8, 16, 24, u8>(b), at::<4, 4, 24, u8>(a), at::<4, 4, 24, u8>(b))
    })
}

/// Eight unsigned bytes as floats.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn bytes(eight: [u8; 8]) -> __m256 {
    let word = _mm_cvtsi64_si128(i64::from_le_bytes(eight));
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(word))
}

/// An F16 in all places.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn one_half(half: &[u8; 2]) -> __m256 {
    _mm256_cvtph_ps(_mm_set1_epi16(i16::from_le_bytes(*half)))
}

/// The scales of a Q4_K or Q5_K block times those of its activations; its minima go into `rest`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn scales_and_minima<const B: usize>(
    block: &[u8; B],
    scale: &[f32; 8],
    sum: &[f32; 8],
    rest: &mut __m512,
) -> __m256 {
    let (scales, minima) = six_bits(at::<4, 12, B, u8>(block));
    let minima = _mm256_mul_ps(bytes(minima), one_half(at::<2, 2, B, u8>(block)));
    add(rest, _mm256_xor_ps(minima, _mm256_set1_ps(-0.0)), sum);
    let scales = _mm256_mul_ps(bytes(scales), one_half(at::<0, 2, B, u8>(block)));
    _mm256_mul_ps(scales, floats(scale))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn q4_k_block(mut sums: Sums, block: &[u8; 144], q: &[i8; 256], scale: &[f32; 8], sum: &[f32; 8]) -> Sums {
    let mask = _mm512_inserti64x4::<1>(_mm512_set1_epi8(15), _mm256_set1_epi8(-16));
    let scales = with_sixteenths(scales_and_minima(block, scale, sum, &mut sums.rest));
    let weights = |group: &[u8; 32]| _mm512_and_si512(_mm512_broadcast_i64x4(load32(group)), mask);
    let weights = [
        weights(at::<16, 32, 144, u8>(block)),
        weights(at::<48, 32, 144, u8>(block)),
        weights(at::<80, 32, 144, u8>(block)),
        weights(at::<112, 32, 144, u8>(block)),
    ];
    Sums { products: four_steps(sums.products, weights, q, scales, sums.pick), ..sums }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn q5_k_block(mut sums: Sums, block: &[u8; 176], q: &[i8; 256], scale: &[f32; 8], sum: &[f32; 8]) -> Sums {
    let scales = _mm512_castps256_ps512(scales_and_minima(block, scale, sum, &mut sums.rest));
    let high = _mm512_broadcast_i64x4(load32(at::<16, 32, 176, u8>(block)));
    let weights = |group: &[u8; 32], bit: __m512i| {
        let moved = _mm512_srlv_epi32(_mm512_broadcast_i64x4(load32(group)), quarters(0, 0, 4, 4));
        let four = _mm512_and_si512(moved, _mm512_set1_epi8(15));
        _mm512_mask_add_epi8(four, _mm512_test_epi8_mask(high, bit), four, _mm512_set1_epi8(16))
    };
    // Bit 2g for the low nibbles of group g, bit 2g + 1 for the high ones.
    let bits = |low: i8| _mm512_inserti64x4::<1>(_mm512_set1_epi8(low), _mm256_set1_epi8(low << 1));
    let weights = [
        weights(at::<48, 32, 176, u8>(block), bits(1)),
        weights(at::<80, 32, 176, u8>(block), bits(4)),
        weights(at::<112, 32, 176, u8>(block), bits(16)),
        weights(at::<144, 32, 176, u8>(block), bits(64)),
    ];
    Sums { products: four_steps(sums.products, weights, q, scales, sums.pick), ..sums }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn q6_k_block(mut sums: Sums, block: &[u8; 210], q: &[i8; 256], scale: &[f32; 8], sum: &[f32; 16]) -> Sums {
    // A scale of activations faces two groups of 16.
    let double = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    let (low, two) = (_mm512_set1_epi8(15), _mm512_set1_epi8(0x30));
    let d = _mm512_cvtph_ps(_mm256_set1_epi16(i16::from_le_bytes(*at::<208, 2, 210, u8>(block))));
    let own = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(at::<192, 16, 210, u8>(block))));
    let own = _mm512_mul_ps(own, d);
    // 32 is too much in each weight.
    let less = _mm512_mul_ps(own, _mm512_set1_ps(-32.0));
    sums.rest = _mm512_fmadd_ps(less, floats16(sum), sums.rest);
    let scales = _mm512_permutexvar_ps(double, _mm512_castps256_ps512(floats(scale)));
    let scales = _mm512_mul_ps(own, scales);
    let half = |nibbles: &[u8; 64], bits: &[u8; 32]| {
        let nibbles = load(nibbles);
        let bits = _mm512_broadcast_i64x4(load32(bits));
        let lower = _mm512_sllv_epi32(bits, quarters(4, 4, 2, 2));
        let upper = _mm512_srlv_epi32(bits, quarters(0, 0, 2, 2));
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(nibbles), low);
        // (a & b) | c
        [
            _mm512_ternarylogic_epi32::<0xea>(lower, two, _mm512_and_si512(nibbles, low)),
            _mm512_ternarylogic_epi32::<0xea>(upper, two, high),
        ]
    };
    let [a, b] = half(at::<0, 64, 210, u8>(block), at::<128, 32, 210, u8>(block));
    let [c, d] = half(at::<64, 64, 210, u8>(block), at::<160, 32, 210, u8>(block));
    Sums { products: four_steps(sums.products, [a, b, c, d], q, scales, sums.pick), ..sums }
}

/// Two rows of blocks of 256 in step.
macro_rules! large {
    ($name:ident, $block:ident, $bytes:literal, $table:ident, $sums:ident, $per:literal) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
        fn $name([near, far]: [&[u8]; 2], act: Row<'_>) -> [f32; 2] {
            let mut a = Sums::new(&$table);
            let mut b = a;
            let blocks = near.as_chunks::<$bytes>().0.iter().zip(far.as_chunks::<$bytes>().0);
            let scales = act.scale.as_chunks::<8>().0.iter().zip(act.$sums.as_chunks::<$per>().0);
            for ((near, far), (q, (scale, sum))) in blocks.zip(act.q.as_chunks::<256>().0.iter().zip(scales)) {
                a = $block(a, near, q, scale, sum);
                b = $block(b, far, q, scale, sum);
            }
            [a.total(), b.total()]
        }
    };
}
large!(q4_k, q4_k_block, 144, PAIRS_APART, sum32, 8);
large!(q5_k, q5_k_block, 176, PAIRS, sum32, 8);
large!(q6_k, q6_k_block, 210, FOURS, sum16, 16);

/// Adds `rows[i] · act` to `out[i]`, for block rows of `stride` bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) fn matvec(ty: WeightType, bytes: &[u8], stride: usize, act: Row<'_>, out: &mut [f32]) {
    macro_rules! all {
        ($two:ident) => {
            in_pairs(bytes, stride, out, |rows| $two(rows, act))
        };
    }
    match ty {
        WeightType::Q8_0 => all!(q8_0),
        WeightType::Q4_0 => all!(q4_0),
        WeightType::Q4_1 => all!(q4_1),
        WeightType::Q5_0 => all!(q5_0),
        WeightType::Q5_1 => all!(q5_1),
        WeightType::Q4_K => all!(q4_k),
        WeightType::Q5_K => all!(q5_k),
        WeightType::Q6_K => all!(q6_k),
        WeightType::F32 | WeightType::F16 | WeightType::BF16 => {}
    }
}
