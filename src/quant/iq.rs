//! The I-quants with tables of patterns: an index chooses the magnitudes of eight (or four) elements, bits beside it
//! their signs.
//!
//! Eight elements are put together as the bytes of a word: the pattern spread out, mapped to its values, negated where
//! a sign says so. Each value is a whole number below 64, so that no byte disturbs its neighbour.

use super::grids;
use super::half::{cut, f16, spread, spread1, spread2};

/// Eight bytes of ones.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The pattern at an index, which is below the table's length by its bits.
#[inline]
fn pattern<const N: usize>(table: &[u16; N], index: u16) -> u16 {
    const { assert!(N.is_power_of_two()) };
    table.get(usize::from(index) & const { N.wrapping_sub(1) }).copied().unwrap_or_default()
}

/// Eight magnitudes of IQ2: 0, 1 and 2 stand for 8, 25 and 43.
#[inline]
fn magnitudes2(pattern: u16) -> u64 {
    let codes = spread2(pattern);
    codes.wrapping_mul(17).wrapping_add((codes >> 1) & ONES).wrapping_add(const { ONES * 8 })
}

/// The nibbles of a word as four bytes, the lowest first.
#[inline]
fn spread4(bits: u16) -> u32 {
    let mut wide = u32::from(bits);
    wide = (wide | (wide << 8)) & 0x00FF_00FF;
    (wide | (wide << 4)) & 0x0F0F_0F0F
}

/// Eight codes of IQ3, from two patterns of four.
#[inline]
fn codes3(first: u16, second: u16) -> u64 {
    u64::from(spread4(first)) | (u64::from(spread4(second)) << 32)
}

/// Eight magnitudes of IQ3_XXS: 4, 12 to 52 in steps of eight, and 62.
#[inline]
fn magnitudes3_xxs(first: u16, second: u16) -> u64 {
    let codes = codes3(first, second);
    let last = codes & (codes >> 1) & (codes >> 2) & ONES;
    codes.wrapping_mul(8).wrapping_add(last << 1).wrapping_add(const { ONES * 4 })
}

/// Eight magnitudes of IQ3_S: the odd numbers to 15.
#[inline]
fn magnitudes3_s(first: u16, second: u16) -> u64 {
    (codes3(first, second) << 1) | ONES
}

/// The eighth sign makes the number of minus signs even, so seven bits are stored.
#[inline]
fn even_signs(seven: u8) -> u8 {
    let parity = u8::from(!seven.count_ones().is_multiple_of(2));
    (seven & 0x7F) | (parity << 7)
}

/// Writes eight magnitudes times `d`, negated where a bit of `signs` is set.
#[inline]
fn put(out: &mut [f32; 8], magnitudes: u64, signs: u8, d: f32) {
    let minus = spread1(signs);
    // In two's complement; no byte is zero, so that none carries into the next.
    let signed = (magnitudes ^ minus.wrapping_mul(0xFF)).wrapping_add(minus);
    for (out, byte) in out.iter_mut().zip(signed.to_le_bytes()) {
        *out = d * f32::from(byte.cast_signed());
    }
}

/// `d * (0.5 + scale)` times a quarter or a half.
#[inline]
fn half_step(d: f32, scale: u8, factor: f32) -> f32 {
    d * (0.5 + f32::from(scale)) * factor
}

/// Bits of a word from `shift` on, as a byte.
#[inline]
fn byte_at(word: u32, shift: u32) -> u8 {
    let [byte, ..] = word.wrapping_shr(shift).to_le_bytes();
    byte
}

/// Each 32 elements: four indices of a byte, then four times seven signs under a scale of 4 bits.
#[inline]
pub(super) fn iq2_xxs([d0, d1, qs @ ..]: &[u8; 66], out: &mut [f32; 256]) {
    let d = f16([*d0, *d1]);
    for (run, qs) in out.as_chunks_mut::<32>().0.iter_mut().zip(qs.as_chunks::<8>().0) {
        let (indices, word) = cut::<4, 4, 8>(qs);
        let word = u32::from_le_bytes(*word);
        let dl = half_step(d, byte_at(word, 28), 0.25);
        let groups = run.as_chunks_mut::<8>().0.iter_mut().zip(indices);
        for ((group, index), shift) in groups.zip([0, 7, 14, 21]) {
            let magnitudes = magnitudes2(pattern(&grids::IQ2_XXS, u16::from(*index)));
            put(group, magnitudes, even_signs(byte_at(word, shift) & 0x7F), dl);
        }
    }
}

/// Each eight elements a word: nine bits of index, seven of signs. A scale of 4 bits for each 16.
#[inline]
pub(super) fn iq2_xs([d0, d1, rest @ ..]: &[u8; 74], out: &mut [f32; 256]) {
    let d = f16([*d0, *d1]);
    let (qs, scales) = cut::<64, 8, 72>(rest);
    let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(qs.as_chunks::<8>().0);
    for ((run, qs), scale) in runs.zip(scales) {
        let halves = run.as_chunks_mut::<16>().0.iter_mut().zip(qs.as_chunks::<4>().0);
        for ((half, qs), scale) in halves.zip([scale & 0x0F, scale >> 4]) {
            let dl = half_step(d, scale, 0.25);
            for (group, word) in half.as_chunks_mut::<8>().0.iter_mut().zip(qs.as_chunks::<2>().0) {
                let magnitudes = magnitudes2(pattern(&grids::IQ2_XS, u16::from_le_bytes(*word)));
                let [_, high] = *word;
                put(group, magnitudes, even_signs(high >> 1), dl);
            }
        }
    }
}

/// Each eight elements a byte of index, two more bits of it elsewhere, and all eight signs. A scale of 4 bits for each 16.
#[inline]
pub(super) fn iq2_s([d0, d1, rest @ ..]: &[u8; 82], out: &mut [f32; 256]) {
    let d = f16([*d0, *d1]);
    let (indices, rest) = cut::<32, 48, 80>(rest);
    let (signs, rest) = cut::<32, 16, 48>(rest);
    let (aboves, scales) = cut::<8, 8, 16>(rest);
    let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(indices.as_chunks::<4>().0);
    let runs = runs.zip(signs.as_chunks::<4>().0).zip(aboves).zip(scales);
    for ((((run, indices), signs), above), scale) in runs {
        let (first, second) = (half_step(d, scale & 0x0F, 0.25), half_step(d, scale >> 4, 0.25));
        let groups = run.as_chunks_mut::<8>().0.iter_mut().zip(indices).zip(signs);
        for (((group, index), signs), (shift, dl)) in groups.zip([(0, first), (2, first), (4, second), (6, second)])
        {
            let index = u16::from(*index) | (u16::from(above.wrapping_shr(shift) & 3) << 8);
            put(group, magnitudes2(pattern(&grids::IQ2_S, index)), *signs, dl);
        }
    }
}

/// Each 32 elements: eight indices of a byte; elsewhere four times seven signs under a scale of 4 bits.
#[inline]
pub(super) fn iq3_xxs([d0, d1, rest @ ..]: &[u8; 98], out: &mut [f32; 256]) {
    let d = f16([*d0, *d1]);
    let (indices, words) = cut::<64, 32, 96>(rest);
    let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(indices.as_chunks::<8>().0);
    for ((run, indices), word) in runs.zip(words.as_chunks::<4>().0) {
        let word = u32::from_le_bytes(*word);
        let dl = half_step(d, byte_at(word, 28), 0.5);
        let groups = run.as_chunks_mut::<8>().0.iter_mut().zip(indices.as_chunks::<2>().0);
        for ((group, [first, second]), shift) in groups.zip([0, 7, 14, 21]) {
            let table = &grids::IQ3_XXS;
            let magnitudes = magnitudes3_xxs(pattern(table, u16::from(*first)), pattern(table, u16::from(*second)));
            put(group, magnitudes, even_signs(byte_at(word, shift) & 0x7F), dl);
        }
    }
}

/// Each four elements a byte of index and one more bit of it elsewhere; all signs; a scale of 4 bits for each 32.
#[inline]
pub(super) fn iq3_s([d0, d1, rest @ ..]: &[u8; 110], out: &mut [f32; 256]) {
    let d = f16([*d0, *d1]);
    let (indices, rest) = cut::<64, 44, 108>(rest);
    let (aboves, rest) = cut::<8, 36, 44>(rest);
    let (signs, [s0, s1, s2, s3]) = cut::<32, 4, 36>(rest);
    let scales = [s0 & 0x0F, s0 >> 4, s1 & 0x0F, s1 >> 4, s2 & 0x0F, s2 >> 4, s3 & 0x0F, s3 >> 4];
    let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(indices.as_chunks::<8>().0);
    let runs = runs.zip(signs.as_chunks::<4>().0).zip(aboves).zip(scales);
    for ((((run, indices), signs), above), scale) in runs {
        let dl = d * f32::from((scale << 1) | 1);
        let groups = run.as_chunks_mut::<8>().0.iter_mut().zip(indices.as_chunks::<2>().0).zip(signs);
        for (((group, [first, second]), signs), shift) in groups.zip([0, 2, 4, 6]) {
            let above = above.wrapping_shr(shift);
            let first = u16::from(*first) | (u16::from(above & 1) << 8);
            let second = u16::from(*second) | (u16::from(above & 2) << 7);
            let table = &grids::IQ3_S;
            put(group, magnitudes3_s(pattern(table, first), pattern(table, second)), *signs, dl);
        }
    }
}

/// Writes eight elements of −1, 0 or 1, moved by an eighth up or down, times `d`.
#[inline]
fn put_moved(out: &mut [f32; 8], index: u16, down: bool, d: f32) {
    // The codes are one higher than the elements.
    let offset = if down { -1.125 } else { -0.875 };
    for (out, code) in out.iter_mut().zip(spread2(pattern(&grids::IQ1_S, index)).to_le_bytes()) {
        *out = d * (f32::from(code) + offset);
    }
}

/// Each 32 elements: four indices of a byte; a word with three more bits of each, a scale of 3 bits, and the direction.
#[inline]
pub(super) fn iq1_s([d0, d1, rest @ ..]: &[u8; 50], out: &mut [f32; 256]) {
    let d = f16([*d0, *d1]);
    let (indices, words) = cut::<32, 16, 48>(rest);
    let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(indices.as_chunks::<4>().0);
    for ((run, indices), word) in runs.zip(words.as_chunks::<2>().0) {
        let word = u16::from_le_bytes(*word);
        let dl = d * f32::from(((word >> 11) & 0x0E) | 1);
        let groups = run.as_chunks_mut::<8>().0.iter_mut().zip(indices);
        for ((group, index), shift) in groups.zip([0, 3, 6, 9]) {
            let index = u16::from(*index) | ((word.wrapping_shr(shift) & 7) << 8);
            put_moved(group, index, word & 0x8000 != 0, dl);
        }
    }
}

/// Each eight elements a byte of index, three more bits of it and the direction in a nibble; scales of 3 bits for each 16.
#[inline]
pub(super) fn iq1_m(block: &[u8; 56], out: &mut [f32; 256]) {
    let (indices, rest) = cut::<32, 24, 56>(block);
    let (aboves, scales) = cut::<16, 8, 24>(rest);
    let d = f16(spread(*scales));
    let quarters = out.as_chunks_mut::<64>().0.iter_mut().zip(indices.as_chunks::<8>().0);
    let quarters = quarters.zip(aboves.as_chunks::<4>().0).zip(scales.as_chunks::<2>().0);
    for (((quarter, indices), aboves), scales) in quarters {
        let scales = u16::from_le_bytes(*scales);
        let runs = quarter.as_chunks_mut::<16>().0.iter_mut().zip(indices.as_chunks::<2>().0).zip(aboves);
        for (((run, indices), above), shift) in runs.zip([0, 3, 6, 9]) {
            let dl = d * f32::from(((scales.wrapping_shr(shift) & 7) << 1) | 1);
            let groups = run.as_chunks_mut::<8>().0.iter_mut().zip(indices);
            for ((group, index), above) in groups.zip([above & 0x0F, above >> 4]) {
                put_moved(group, u16::from(*index) | (u16::from(above & 7) << 8), above & 8 != 0, dl);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magnitudes_are_those_of_the_format() {
        for pattern in 0..=u16::MAX {
            let codes = |width: u32| {
                (0..16 / width).map(move |at| usize::from(pattern >> (width * at)) & ((1 << width) - 1))
            };
            if codes(2).all(|code| code < 3) {
                let want = codes(2).map(|code| [8_u8, 25, 43][code]);
                assert!(magnitudes2(pattern).to_le_bytes().into_iter().eq(want));
            }
            if codes(4).all(|code| code < 8) {
                let both = |values: [u8; 8]| codes(4).chain(codes(4)).map(move |code| values[code]);
                let xxs = magnitudes3_xxs(pattern, pattern).to_le_bytes();
                assert!(xxs.into_iter().eq(both([4, 12, 20, 28, 36, 44, 52, 62])));
                let s = magnitudes3_s(pattern, pattern).to_le_bytes();
                assert!(s.into_iter().eq(both([1, 3, 5, 7, 9, 11, 13, 15])));
            }
        }
    }

    #[test]
    fn signs_negate_their_own_element() {
        for signs in 0..=u8::MAX {
            let mut out = [0.0; 8];
            put(&mut out, u64::from_le_bytes([1, 62, 8, 43, 25, 1, 15, 62]), signs, 0.5);
            for (at, (out, magnitude)) in
                out.into_iter().zip([0.5, 31.0, 4.0, 21.5, 12.5, 0.5, 7.5, 31.0]).enumerate()
            {
                let want: f32 = if signs >> at & 1 == 1 { -magnitude } else { magnitude };
                assert_eq!(out.to_bits(), want.to_bits());
            }
            let seven = signs & 0x7F;
            assert_eq!(even_signs(seven) & 0x7F, seven);
            assert_eq!(even_signs(seven).count_ones() % 2, 0);
        }
    }
}
