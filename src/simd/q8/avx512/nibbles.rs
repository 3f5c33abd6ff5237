//! Q4_0, four blocks in a vector.

use core::arch::x86_64::*;

use super::super::avx2::floats;
use super::super::{Facing, at, part};
use super::{Sums, add, load};

/// Which words of two vectors, the first of which begins at word `a` of eight blocks of Q4_0 and the second at `b`, are wanted.
const fn words(a: usize, b: usize, wanted: [usize; 32]) -> [u16; 32] {
    let (mut from, mut at) = ([0; 32], 0);
    while at < 32 {
        let word = wanted[at];
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        if word < a + 32 {
            from[at] = (word - a) as u16;
        } else {
            from[at] = (word - b + 32) as u16;
        }
        at += 1;
    }
    from
}

/// The words of eight blocks of Q4_0 (9 each): their scales; the nibbles of the first four, and of the last four.
static WORDS: [[u16; 32]; 3] = {
    let (mut scales, mut first, mut second, mut at) = ([0; 32], [0; 32], [0; 32], 0);
    while at < 32 {
        scales[at] = 9 * (at % 8);
        first[at] = 9 * (at / 8) + 1 + at % 8;
        second[at] = first[at] + 36;
        at += 1;
    }
    [words(0, 32, scales), words(0, 32, first), words(32, 40, second)]
};

/// Which of eight scales each lane takes, for the first four blocks and the last four.
static BLOCKS: [[i32; 16]; 2] =
    [[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], [4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]];

/// The tables for Q4_0, hidden from the compiler as [`super::picks`] are.
#[derive(Clone, Copy)]
pub(super) struct Words {
    words: [__m512i; 3],
    blocks: [__m512i; 2],
}

impl Words {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
    #[inline]
    pub(super) fn new() -> Self {
        let [scales, first, second] = bytemuck::cast_ref::<_, [[u8; 64]; 3]>(core::hint::black_box(&WORDS));
        let [low, high] = bytemuck::cast_ref::<_, [[u8; 64]; 2]>(core::hint::black_box(&BLOCKS));
        Self { words: [load(scales), load(first), load(second)], blocks: [load(low), load(high)] }
    }
}

/// Eight blocks of Q4_0: the nibbles of four lie in one vector, brought there by one permutation that leaves the scales out,
/// and face the activations' first halves with their low bits and the second halves with their high ones.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
pub(super) fn nibbles(mut sums: Sums, blocks: &[[u8; 18]; 8], act: Facing<'_>, tables: &Words) -> Sums {
    let (a, b, c) = (load(part::<0, 18>(blocks)), load(part::<64, 18>(blocks)), load(part::<80, 18>(blocks)));
    let [scales, first, second] = tables.words;
    let d = _mm256_cvtph_ps(_mm512_castsi512_si128(_mm512_permutex2var_epi16(a, scales, b)));
    add(&mut sums.rest, d, act.sum);
    let scales = _mm512_castps256_ps512(_mm256_mul_ps(d, floats(act.scale)));
    let four = |sum: __m512, bytes: __m512i, low: &[i8; 64], high: &[i8; 64], pick: __m512i| {
        // Sixteen times too large, without a remainder.
        let sixteen = _mm512_and_si512(bytes, _mm512_set1_epi8(-16));
        let upper = _mm512_srai_epi32::<4>(_mm512_dpbusd_epi32(_mm512_setzero_si512(), sixteen, load(high)));
        let both = _mm512_dpbusd_epi32(upper, _mm512_and_si512(bytes, _mm512_set1_epi8(15)), load(low));
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(both), _mm512_permutexvar_ps(pick, scales), sum)
    };
    let (q, [x, y, ..]) = (act.q, &mut sums.products);
    let (one, two) = (_mm512_permutex2var_epi16(a, first, b), _mm512_permutex2var_epi16(b, second, c));
    *x = four(*x, one, at::<0, 64, 256, i8>(q), at::<64, 64, 256, i8>(q), tables.blocks[0]);
    *y = four(*y, two, at::<128, 64, 256, i8>(q), at::<192, 64, 256, i8>(q), tables.blocks[1]);
    sums
}
