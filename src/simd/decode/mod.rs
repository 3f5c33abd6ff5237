//! Blocks decoded in bulk, bit for bit as [`quant::decode`](crate::quant::decode) does.
//!
//! Plain code is the specification; the kernels take products in its order. Where they fuse a product and a sum, the
//! product of an element and its scale has at most 22 significant bits, so that rounding it once more changes nothing.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::level::Isa;
use crate::gguf::GgmlType;
use crate::quant::{self, QuantError};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

/// Decodes whole blocks of a little-endian file: `out` gets as many elements as `bytes` hold.
///
/// As [`quant::decode`](crate::quant::decode), element for element and bit for bit, with the instructions of `level`
/// where there is a kernel for the type: on AVX2 and AVX-512 for Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K,
/// Q6_K, IQ4_NL, IQ4_XS and MXFP4. Other types and other levels take the plain code. Any alignment will do. From 32 MiB
/// of elements on, where they are aligned to 16 bytes, they are written past the caches.
///
/// Of a NaN that comes out of a product only that it is one is the same at every level.
///
/// # Errors
///
/// Those of [`quant::decode`](crate::quant::decode); `out` is not written then.
///
/// ```
/// use tensorgate::{gguf::GgmlType, quant, simd};
///
/// let values: [f32; 64] = core::array::from_fn(|at| at as f32 / 63.0);
/// let mut blocks = [0; 2 * 34];
/// quant::encode(GgmlType::Q8_0, &values, &mut blocks)?;
/// let (mut fast, mut plain) = ([0.0; 64], [0.0; 64]);
/// simd::decode(simd::Level::best(), GgmlType::Q8_0, &blocks, &mut fast)?;
/// quant::decode(GgmlType::Q8_0, &blocks, &mut plain)?;
/// assert_eq!(fast, plain);
/// # Ok::<(), quant::QuantError>(())
/// ```
pub fn decode(level: Level, kind: GgmlType, bytes: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    #[cfg(target_arch = "x86_64")]
    if level.isa() >= Isa::Avx2 {
        quant::measure(kind, bytes, out.len())?;
        let past = out.len() >= PAST && out.as_ptr().align_offset(16) == 0;
        if if past { past_caches(level, kind, bytes, out) } else { in_caches(level, kind, bytes, out) } {
            return Ok(());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    quant::decode(kind, bytes, out)
}

/// From how many elements on they go past the caches, which they would leave before anyone can use them: 32 MiB.
#[cfg(target_arch = "x86_64")]
const PAST: usize = 1 << 23;

/// Decodes proved blocks, or says that there is no kernel for the type.
#[cfg(target_arch = "x86_64")]
fn in_caches(level: Level, kind: GgmlType, bytes: &[u8], out: &mut [f32]) -> bool {
    match level.isa() {
        // SAFETY: a level is made only where the processor has it; nothing goes past the caches.
        Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512::decode::<false>(kind, bytes, out) },
        // SAFETY: as above.
        Isa::Avx2 => unsafe { avx2::decode::<false>(kind, bytes, out) },
        Isa::Scalar | Isa::Portable => false,
    }
}

/// As [`in_caches`], to memory. There is no kernel for elements that are not aligned to 16 bytes.
#[cfg(target_arch = "x86_64")]
fn past_caches(level: Level, kind: GgmlType, bytes: &[u8], out: &mut [f32]) -> bool {
    if level.isa() < Isa::Avx2 || out.as_ptr().align_offset(16) != 0 {
        return false;
    }
    let done = if level.is_512() {
        // SAFETY: a level is made only where the processor has it; the elements are aligned, as was just asked.
        unsafe { avx512::decode::<true>(kind, bytes, out) }
    } else {
        // SAFETY: as above.
        unsafe { avx2::decode::<true>(kind, bytes, out) }
    };
    // SAFETY: levels from AVX2 on are made only where the processor has it.
    unsafe { avx2::fence() };
    done
}

/// Blocks of `B` bytes, each with the room for its `N` elements.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn pairs<'a, const B: usize, const N: usize>(
    bytes: &'a [u8],
    out: &'a mut [f32],
) -> impl Iterator<Item = (&'a [u8; B], &'a mut [f32; N])> {
    bytes.as_chunks::<B>().0.iter().zip(out.as_chunks_mut::<N>().0)
}

/// The `N` bytes of a block that begin at `A`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn part<const A: usize, const N: usize, const B: usize>(block: &[u8; B]) -> &[u8; N] {
    const { assert!(A + N <= B) };
    block.split_at(A).1.first_chunk().unwrap_or(const { &[0; N] })
}

/// The 16 scales of Q3_K, each 32 too large: nibbles in the first eight bytes, two bits above them in the last four.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn q3_scales(packed: &[u8; 12]) -> [u8; 16] {
    let word = |at: usize| u32::from_le_bytes([packed[at], packed[at + 1], packed[at + 2], packed[at + 3]]);
    let (first, second, above) = (word(0), word(4), word(8));
    let four = |low: u32, shift: u32| u128::from(low & 0x0f0f_0f0f | (above >> shift & 0x0303_0303) << 4);
    let words = [four(first, 0), four(second, 2), four(first >> 4, 4), four(second >> 4, 6)];
    (words[0] | words[1] << 32 | words[2] << 64 | words[3] << 96).to_le_bytes()
}

/// The eight scales of IQ4_XS: a word of the upper two bits of each, then nibbles.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn iq4_scales([h0, h1, lows @ ..]: &[u8; 6]) -> [f32; 8] {
    let (above, lows) = (u16::from_le_bytes([*h0, *h1]), u32::from_le_bytes(*lows));
    core::array::from_fn(|at| {
        let (low, high) = (lows >> (4 * at) & 15, u32::from(above) >> (2 * at) & 3);
        (low | high << 4) as f32 - 32.0
    })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn past_the_caches_the_elements_are_the_same() {
        for level in Level::all().filter(|level| level.isa() >= Isa::Avx2) {
            let mut done = 0;
            for kind in GgmlType::ALL.iter().copied() {
                let (elements, size) =
                    (kind.block_elements().unwrap() as usize, kind.block_bytes().unwrap() as usize);
                let bytes: Vec<u8> = (0..9 * size).map(|at| (at * 7 % 61) as u8).collect();
                let mut expected = std::vec![0.0; 9 * elements];
                quant::decode(kind, &bytes, &mut expected).unwrap();
                let mut room = std::vec![7.0; expected.len() + 8];
                let start = room.as_ptr().align_offset(16);
                let end = start + expected.len();
                if past_caches(level, kind, &bytes, &mut room[start..end]) {
                    assert_eq!(room[start..end], expected, "{kind} {level}");
                    assert!(room[..start].iter().chain(&room[end..]).all(|value| *value == 7.0));
                    assert!(!past_caches(level, kind, &bytes, &mut room[start + 1..=end]));
                    done += 1;
                }
            }
            assert!(done >= 13, "{done}");
        }
    }
}
