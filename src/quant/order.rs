//! Blocks of big-endian files: which of their bytes are numbers of several bytes.
//!
//! A number is what the reference's decoder loads as one on such a machine: the fields of a block's structure
//! (`ggml-common.h`), and also the words that it copies out of bytes: the fifth bits of Q5_0 and Q5_1, the signs of
//! IQ2_XXS and IQ3_XXS. (The reference itself decodes those I-quants whose patterns are words of 32 or 64 bits wrongly
//! there: it looks at the words' bytes in memory. The elements' order here is that of little-endian files.)

use super::QuantError;
use crate::gguf::GgmlType;
use crate::num;

/// Numbers of `width` bytes, the first at `at`, each `stride` after the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    at: usize,
    width: usize,
    count: usize,
    stride: usize,
}

const fn row(at: usize, width: usize, count: usize) -> Numbers {
    Numbers { at, width, count, stride: width }
}

/// The numbers of several bytes in a block.
pub(super) const fn numbers(kind: GgmlType) -> &'static [Numbers] {
    match kind {
        GgmlType::F64 | GgmlType::I64 => const { &[row(0, 8, 1)] },
        GgmlType::F32 | GgmlType::I32 => const { &[row(0, 4, 1)] },
        GgmlType::F16
        | GgmlType::BF16
        | GgmlType::I16
        | GgmlType::Q4_0
        | GgmlType::Q8_0
        | GgmlType::Q1_0
        | GgmlType::Q2_0
        | GgmlType::IQ4_NL
        | GgmlType::IQ2_S
        | GgmlType::IQ3_S => const { &[row(0, 2, 1)] },
        GgmlType::Q4_1 | GgmlType::Q8_1 | GgmlType::Q4_K | GgmlType::Q5_K | GgmlType::IQ4_XS => {
            const { &[row(0, 2, 2)] }
        }
        GgmlType::Q5_0 => const { &[row(0, 2, 1), row(2, 4, 1)] },
        GgmlType::Q5_1 => const { &[row(0, 2, 2), row(4, 4, 1)] },
        GgmlType::Q2_K => const { &[row(80, 2, 2)] },
        GgmlType::Q3_K => const { &[row(108, 2, 1)] },
        GgmlType::Q6_K => const { &[row(208, 2, 1)] },
        GgmlType::Q8_K => const { &[row(0, 4, 1), row(260, 2, 16)] },
        GgmlType::IQ2_XXS => const { &[row(0, 2, 1), Numbers { at: 6, width: 4, count: 8, stride: 8 }] },
        GgmlType::IQ2_XS => const { &[row(0, 2, 33)] },
        GgmlType::IQ3_XXS => const { &[row(0, 2, 1), row(66, 4, 8)] },
        GgmlType::IQ1_S => const { &[row(0, 2, 1), row(34, 2, 8)] },
        GgmlType::IQ1_M => const { &[row(48, 2, 4)] },
        GgmlType::TQ1_0 => const { &[row(52, 2, 1)] },
        GgmlType::TQ2_0 => const { &[row(64, 2, 1)] },
        _ => &[],
    }
}

/// Turns the bytes of each number in a block round.
#[inline]
pub(super) fn turn(block: &mut [u8], numbers: &[Numbers]) {
    for Numbers { at, width, count, stride } in numbers {
        let mut rest = block.get_mut(*at..).unwrap_or_default();
        for _ in 0..*count {
            if let Some(number) = rest.get_mut(..*width) {
                number.reverse();
            }
            rest = rest.get_mut(*stride..).unwrap_or_default();
        }
    }
}

/// Changes blocks from one byte order to the other, in place: from a little-endian file's to a big-endian file's and
/// back.
///
/// # Errors
///
/// Where the type is unknown or the bytes are no whole number of its blocks; nothing is changed then.
pub fn swap_order(kind: GgmlType, bytes: &mut [u8]) -> Result<(), QuantError> {
    let size = super::whole_blocks(kind, bytes)?;
    let numbers = numbers(kind);
    if !numbers.is_empty() {
        for block in bytes.chunks_exact_mut(num::widen32(size).max(1)) {
            turn(block, numbers);
        }
    }
    Ok(())
}
