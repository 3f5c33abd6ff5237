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
/// Q6_K, IQ4_NL, IQ4_XS and MXFP4. Other types and other levels take the plain code. Any alignment will do.
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
        if whole(level, kind, bytes, out) {
            return Ok(());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    quant::decode(kind, bytes, out)
}

/// Decodes proved blocks, or says that there is no kernel for the type.
#[cfg(target_arch = "x86_64")]
fn whole(level: Level, kind: GgmlType, bytes: &[u8], out: &mut [f32]) -> bool {
    match level.isa() {
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512::decode(kind, bytes, out) },
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx2 => unsafe { avx2::decode(kind, bytes, out) },
        Isa::Scalar | Isa::Portable => false,
    }
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
