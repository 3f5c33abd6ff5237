//! Block formats: decoding every type of GGUF to `f32`, checking its data, and encoding the common types.
//!
//! A quantised tensor is a row of blocks, each a few numbers (scales, minima) and 32 to 256 elements of a few bits.
//! [`decode`] turns whole blocks into `f32`, bit for bit as the reference does (`ggml-quants.c` of ggml 0.25.3, built
//! without fused operations); [`Values`] does so lazily and [`Rows`] row by row over a tensor of a file. [`check_row`] is
//! what the reference does with `--check-tensors`. [`encode`] writes the common types as the reference's quantiser does
//! without an importance matrix. Nothing here allocates.
//!
//! What each type is, where its encoder is byte-equal with the reference and where it is not: `docs/quant.md`.
//!
//! ```
//! # fn main() -> Result<(), tensorgate::quant::QuantError> {
//! use tensorgate::{gguf::GgmlType, quant};
//!
//! let values: [f32; 32] = core::array::from_fn(|at| at as f32 / 31.0);
//! let mut block = [0; 34];
//! quant::encode(GgmlType::Q8_0, &values, &mut block)?;
//! quant::check_row(GgmlType::Q8_0, &block)?;
//! let mut back = [0.0; 32];
//! quant::decode(GgmlType::Q8_0, &block, &mut back)?;
//! assert!(values.iter().zip(back).all(|(value, back)| (value - back).abs() < 1.0 / 250.0));
//! # Ok(())
//! # }
//! ```

mod check;
mod encode;
mod error;
mod four;
#[cfg(feature = "iq")]
mod grids;
mod half;
#[cfg(feature = "iq")]
mod iq;
mod k;
mod legacy;
mod order;
mod plain;
mod ternary;
mod view;

pub use check::{Faults, check_row, faults};
pub(crate) use check::{Form, numbers};
pub use encode::{NonFinite, encode, encode_with, is_encodable};
pub use error::{Fault, QuantError, What};
#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(crate) use four::{E2M1, NON_LINEAR};
#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(crate) use half::e8m0_half;
pub use order::swap_order;
pub use view::{Rows, Values};

use crate::gguf::{Endian, GgmlType};
use crate::num;

/// Decodes whole blocks of a little-endian file: `out` gets as many elements as `bytes` hold.
///
/// Each element is rounded as the reference rounds it: products in its order, none fused. Integers and doubles are
/// rounded to the nearest `f32`. A NaN stays one; which one (sign, payload) is left to the machine where it comes from a
/// multiplication, since neither Rust nor the reference fixes that.
///
/// # Errors
///
/// Where the type is unknown or was left out of this build, the elements are no whole number of blocks, or the bytes are
/// not as many as they take.
///
/// ```
/// # fn main() -> Result<(), tensorgate::quant::QuantError> {
/// use tensorgate::{gguf::GgmlType, quant};
///
/// // Two blocks of Q4_0: a scale of 0.5, then of 1.0; every element 12 - 8 and 7 - 8.
/// let mut bytes = [0x7C; 36];
/// (bytes[0], bytes[1]) = (0x00, 0x38);
/// (bytes[18], bytes[19]) = (0x00, 0x3C);
/// let mut out = [0.0; 64];
/// quant::decode(GgmlType::Q4_0, &bytes, &mut out)?;
/// assert_eq!((out[0], out[16], out[32], out[48]), (2.0, -0.5, 4.0, -1.0));
/// # Ok(())
/// # }
/// ```
pub fn decode(kind: GgmlType, bytes: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    decode_from(kind, Endian::Little, bytes, out)
}

/// Decodes one block: as [`decode`], for as many elements as one has.
///
/// # Errors
///
/// As [`decode`], and where the bytes are not exactly one block.
pub fn decode_block(kind: GgmlType, block: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    let size = kind.block().ok_or(QuantError::UnknownType(kind))?;
    if num::widen(out.len()) != u64::from(size.elements()) {
        return Err(QuantError::Blocks { kind, elements: num::widen(out.len()) });
    }
    decode(kind, block, out)
}

/// Decodes whole blocks of a file of either byte order. A big-endian block has the same bytes, but those of each number
/// in it turned round.
///
/// # Errors
///
/// As [`decode`].
#[cfg_attr(
    not(feature = "iq"),
    expect(clippy::match_same_arms, reason = "each has its own kernel with the feature")
)]
pub fn decode_from(kind: GgmlType, order: Endian, bytes: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    measure(kind, bytes, out.len())?;
    macro_rules! run {
        ($kernel:path) => {
            blocks(kind, order, bytes, out, $kernel)
        };
    }
    macro_rules! iq {
        ($kernel:ident) => {{
            #[cfg(feature = "iq")]
            run!(iq::$kernel);
            #[cfg(not(feature = "iq"))]
            return Err(QuantError::Feature(kind));
        }};
    }
    match kind {
        GgmlType::F32 => run!(plain::f32),
        GgmlType::F16 => run!(plain::f16),
        GgmlType::BF16 => run!(plain::bf16),
        GgmlType::F64 => run!(plain::f64),
        GgmlType::I8 => run!(plain::i8),
        GgmlType::I16 => run!(plain::i16),
        GgmlType::I32 => run!(plain::i32),
        GgmlType::I64 => run!(plain::i64),
        GgmlType::Q4_0 => run!(legacy::q4_0),
        GgmlType::Q4_1 => run!(legacy::q4_1),
        GgmlType::Q5_0 => run!(legacy::q5_0),
        GgmlType::Q5_1 => run!(legacy::q5_1),
        GgmlType::Q8_0 => run!(legacy::q8_0),
        GgmlType::Q8_1 => run!(legacy::q8_1),
        GgmlType::Q1_0 => run!(legacy::q1_0),
        GgmlType::Q2_0 => run!(legacy::q2_0),
        GgmlType::Q2_K => run!(k::q2_k),
        GgmlType::Q3_K => run!(k::q3_k),
        GgmlType::Q4_K => run!(k::q4_k),
        GgmlType::Q5_K => run!(k::q5_k),
        GgmlType::Q6_K => run!(k::q6_k),
        GgmlType::Q8_K => run!(k::q8_k),
        GgmlType::TQ1_0 => run!(ternary::tq1_0),
        GgmlType::TQ2_0 => run!(ternary::tq2_0),
        GgmlType::IQ4_NL => run!(four::iq4_nl),
        GgmlType::IQ4_XS => run!(four::iq4_xs),
        GgmlType::MXFP4 => run!(four::mxfp4),
        GgmlType::NVFP4 => run!(four::nvfp4),
        GgmlType::IQ2_XXS => iq!(iq2_xxs),
        GgmlType::IQ2_XS => iq!(iq2_xs),
        GgmlType::IQ2_S => iq!(iq2_s),
        GgmlType::IQ3_XXS => iq!(iq3_xxs),
        GgmlType::IQ3_S => iq!(iq3_s),
        GgmlType::IQ1_S => iq!(iq1_s),
        GgmlType::IQ1_M => iq!(iq1_m),
        _ => return Err(QuantError::UnknownType(kind)),
    }
    Ok(())
}

/// Whether this build decodes a type: all of the format's, or all but those that need the feature `iq`.
///
/// ```
/// use tensorgate::{gguf::GgmlType, quant};
/// assert!(quant::is_decodable(GgmlType::Q4_K));
/// assert!(!quant::is_decodable(GgmlType::from_id(36)));
/// ```
pub const fn is_decodable(kind: GgmlType) -> bool {
    let patterns = matches!(
        kind,
        GgmlType::IQ2_XXS
            | GgmlType::IQ2_XS
            | GgmlType::IQ2_S
            | GgmlType::IQ3_XXS
            | GgmlType::IQ3_S
            | GgmlType::IQ1_S
            | GgmlType::IQ1_M
    );
    kind.is_known() && (cfg!(feature = "iq") || !patterns)
}

/// Runs a kernel on each block. The kernel's name comes in as a constant, and has to reach the loop as one.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "a kernel behind a pointer would be called once an element for plain types"
)]
fn blocks<const B: usize, const N: usize>(
    kind: GgmlType,
    order: Endian,
    bytes: &[u8],
    out: &mut [f32],
    kernel: fn(&[u8; B], &mut [f32; N]),
) {
    let (blocks, outs) = (bytes.as_chunks::<B>().0, out.as_chunks_mut::<N>().0);
    match order {
        Endian::Little => {
            for (block, out) in blocks.iter().zip(outs) {
                kernel(block, out);
            }
        }
        Endian::Big => turned(kind, blocks, outs, kernel),
    }
}

/// Runs a kernel on each block of a big-endian file, with its numbers turned round.
#[cold]
#[inline(never)]
fn turned<const B: usize, const N: usize>(
    kind: GgmlType,
    blocks: &[[u8; B]],
    outs: &mut [[f32; N]],
    kernel: fn(&[u8; B], &mut [f32; N]),
) {
    let numbers = order::numbers(kind);
    for (block, out) in blocks.iter().zip(outs) {
        let mut block = *block;
        order::turn(&mut block, numbers);
        kernel(&block, out);
    }
}

/// Proves that `bytes` are the whole blocks of that many elements.
#[inline]
pub(crate) fn measure(kind: GgmlType, bytes: &[u8], elements: usize) -> Result<(), QuantError> {
    if !kind.is_known() {
        return Err(QuantError::UnknownType(kind));
    }
    let (elements, found) = (num::widen(elements), num::widen(bytes.len()));
    let expected = kind.bytes_for(elements).ok_or(QuantError::Blocks { kind, elements })?;
    if found == expected { Ok(()) } else { Err(QuantError::Bytes { expected, found }) }
}

/// The size of a block, where `bytes` are a whole number of them.
fn whole_blocks(kind: GgmlType, bytes: &[u8]) -> Result<u32, QuantError> {
    let size = kind.block_bytes().ok_or(QuantError::UnknownType(kind))?;
    let found = num::widen(bytes.len());
    let over = found.checked_rem(u64::from(size)).unwrap_or(0);
    if over == 0 { Ok(size) } else { Err(QuantError::Bytes { expected: found.saturating_sub(over), found }) }
}
