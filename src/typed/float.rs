//! Decoding the floating-point dtypes to `f32`.
//!
//! IEEE 754 for halves; the OCP 8-bit floating point specification 1.0 (E5M2, E4M3) and the OCP microscaling formats
//! specification 1.0 (E2M1, E2M3, E3M2, E8M0) for the narrow ones; `FNUZ` ("finite, unsigned zero") as in LLVM's
//! `Float8E4M3FNUZ` and `Float8E5M2FNUZ`: the exponent's bias is one larger, and the code of negative zero is the only NaN.

use core::fmt;
use core::iter::FusedIterator;

use crate::{Dtype, num};

/// A quiet NaN without a sign.
const NAN: u32 = 0x7FC0_0000;
const INFINITY: u32 = 0x7F80_0000;

/// The number of a code without a sign, where the format has no special codes or they were taken out before:
/// `EXP_BIAS` is the exponent's bias, `MAN` the mantissa's bits.
#[inline]
fn finite<const BIAS: u32, const MAN: u32>(code: u16) -> u32 {
    // 2^(1 - BIAS - MAN), the weight of the mantissa's last bit in a subnormal number; a normal `f32` in every format.
    let unit = const { f32::from_bits((128 - BIAS - MAN) << 23) };
    // What is added to an exponent to change its bias to that of `f32`, at its place there.
    let rebias = const { (127 - BIAS) << 23 };
    if code >> MAN == 0 {
        // Exact: at most ten bits times a power of two, and both are normal numbers (so it also holds where a thread
        // has subnormals flushed to zero).
        (f32::from(code) * unit).to_bits()
    } else {
        (u32::from(code) << const { 23 - MAN }).wrapping_add(rebias)
    }
}

/// Moves the sign bit of a code of `BITS` bits to where an `f32` has it.
#[inline]
fn signed<const BITS: u32>(code: u16, magnitude: u32) -> f32 {
    let sign = (u32::from(code) << const { 32 - BITS }) & 0x8000_0000;
    f32::from_bits(magnitude | sign)
}

#[inline]
fn f16(bytes: [u8; 2]) -> f32 {
    let code = u16::from_le_bytes(bytes);
    let magnitude = match code & 0x7FFF {
        special @ 0x7C00.. => INFINITY | (u32::from(special & 0x03FF) << 13),
        other => finite::<15, 10>(other),
    };
    signed::<16>(code, magnitude)
}

#[inline]
fn bf16(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)
}

#[inline]
fn f8_e5m2([byte]: [u8; 1]) -> f32 {
    let magnitude = match u16::from(byte & 0x7F) {
        0x7C => INFINITY,
        0x7D.. => NAN,
        other => finite::<15, 2>(other),
    };
    signed::<8>(u16::from(byte), magnitude)
}

#[inline]
fn f8_e4m3([byte]: [u8; 1]) -> f32 {
    let magnitude = match u16::from(byte & 0x7F) {
        0x7F => NAN,
        other => finite::<7, 3>(other),
    };
    signed::<8>(u16::from(byte), magnitude)
}

#[inline]
fn f8_e4m3fnuz([byte]: [u8; 1]) -> f32 {
    let magnitude = if byte == 0x80 { NAN } else { finite::<8, 3>(u16::from(byte & 0x7F)) };
    signed::<8>(u16::from(byte), magnitude)
}

#[inline]
fn f8_e5m2fnuz([byte]: [u8; 1]) -> f32 {
    let magnitude = if byte == 0x80 { NAN } else { finite::<16, 2>(u16::from(byte & 0x7F)) };
    signed::<8>(u16::from(byte), magnitude)
}

#[inline]
fn f8_e8m0([byte]: [u8; 1]) -> f32 {
    f32::from_bits(match byte {
        // 2^-127 is a subnormal `f32`.
        0 => 0x0040_0000,
        0xFF => NAN,
        exponent => u32::from(exponent) << 23,
    })
}

#[inline]
fn f4(code: u16) -> f32 {
    signed::<4>(code, finite::<1, 1>(code & 0x07))
}

#[inline]
fn f6_e2m3(code: u16) -> f32 {
    signed::<6>(code, finite::<1, 3>(code & 0x1F))
}

#[inline]
fn f6_e3m2(code: u16) -> f32 {
    signed::<6>(code, finite::<3, 2>(code & 0x1F))
}

#[inline]
fn f64(bytes: [u8; 8]) -> f32 {
    let wide = f64::from_le_bytes(bytes);
    #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounds to nearest, as documented")]
    let narrow = wide as f32;
    narrow
}

/// The dtypes that are real floating-point numbers.
#[derive(Clone, Copy, Debug)]
enum Format {
    F4,
    F6E2M3,
    F6E3M2,
    F8E5M2,
    F8E4M3,
    F8E8M0,
    F8E4M3Fnuz,
    F8E5M2Fnuz,
    F16,
    Bf16,
    F32,
    F64,
}

impl Format {
    const fn of(dtype: Dtype) -> Option<Self> {
        Some(match dtype {
            Dtype::F4 => Self::F4,
            Dtype::F6_E2M3 => Self::F6E2M3,
            Dtype::F6_E3M2 => Self::F6E3M2,
            Dtype::F8_E5M2 => Self::F8E5M2,
            Dtype::F8_E4M3 => Self::F8E4M3,
            Dtype::F8_E8M0 => Self::F8E8M0,
            Dtype::F8_E4M3FNUZ => Self::F8E4M3Fnuz,
            Dtype::F8_E5M2FNUZ => Self::F8E5M2Fnuz,
            Dtype::F16 => Self::F16,
            Dtype::BF16 => Self::Bf16,
            Dtype::F32 => Self::F32,
            Dtype::F64 => Self::F64,
            Dtype::BOOL
            | Dtype::U8
            | Dtype::I8
            | Dtype::U16
            | Dtype::I16
            | Dtype::U32
            | Dtype::I32
            | Dtype::U64
            | Dtype::I64
            | Dtype::C64 => return None,
        })
    }
}

/// The elements of a floating-point tensor as `f32`, in row-major order, from either end.
///
/// Made by [`TensorView::iter_f32`](crate::TensorView::iter_f32); [`Iterator::nth`] takes constant time.
///
/// | Dtype | Layout | Infinities | NaN |
/// |---|---|---|---|
/// | `F64` | IEEE double, rounded to nearest even | yes; also what is too large for `f32` | yes |
/// | `F32` | IEEE single | yes | yes |
/// | `F16`, `BF16` | IEEE half; upper half of a single | yes | yes |
/// | `F8_E5M2` | bias 15 | yes | three a sign |
/// | `F8_E4M3` | bias 7 | no | the last code of each sign |
/// | `F8_E5M2FNUZ`, `F8_E4M3FNUZ` | bias 16; bias 8; no negative zero | no | `0x80` |
/// | `F8_E8M0` | 2^(code − 127), no sign, no zero | no | `0xFF` |
/// | `F4` | E2M1, bias 1, low nibble first | no | no |
/// | `F6_E2M3`, `F6_E3M2` | bias 1; bias 3; element *i* is bits 6*i* to 6*i* + 5 of the bytes, lowest bit first | no | no |
///
/// A NaN comes out as a NaN with the sign bit of its code. Payloads are kept for `F32`, `F16` and `BF16` as far as the
/// machine passes them through; the 8-bit types give a quiet NaN.
#[derive(Clone)]
pub struct F32Iter<'a> {
    format: Format,
    bytes: &'a [u8],
    front: usize,
    back: usize,
}

impl<'a> F32Iter<'a> {
    /// The elements of `bytes`, or `None` where `dtype` is no real floating-point type.
    pub(super) fn new(dtype: Dtype, bytes: &'a [u8]) -> Option<Self> {
        let format = Format::of(dtype)?;
        let groups = match format {
            Format::F6E2M3 | Format::F6E3M2 => bytes.as_chunks::<3>().0.len(),
            Format::F16 | Format::Bf16 => bytes.as_chunks::<2>().0.len(),
            Format::F32 => bytes.as_chunks::<4>().0.len(),
            Format::F64 => bytes.as_chunks::<8>().0.len(),
            _ => bytes.len(),
        };
        // No slice is longer than `isize::MAX` bytes, so twice its length and four thirds of it fit.
        let elements = match format {
            Format::F4 => groups.saturating_mul(2),
            Format::F6E2M3 | Format::F6E3M2 => groups.saturating_mul(4),
            _ => groups,
        };
        Some(Self { format, bytes, front: 0, back: elements })
    }

    /// The element at `index`, counted in the whole tensor.
    #[inline]
    fn at(&self, index: usize) -> Option<f32> {
        Some(match self.format {
            Format::F4 => f4(self.nibble(index)?),
            Format::F6E2M3 => f6_e2m3(self.sextet(index)?),
            Format::F6E3M2 => f6_e3m2(self.sextet(index)?),
            Format::F8E5M2 => f8_e5m2(self.chunk(index)?),
            Format::F8E4M3 => f8_e4m3(self.chunk(index)?),
            Format::F8E8M0 => f8_e8m0(self.chunk(index)?),
            Format::F8E4M3Fnuz => f8_e4m3fnuz(self.chunk(index)?),
            Format::F8E5M2Fnuz => f8_e5m2fnuz(self.chunk(index)?),
            Format::F16 => f16(self.chunk(index)?),
            Format::Bf16 => bf16(self.chunk(index)?),
            Format::F32 => f32::from_le_bytes(self.chunk(index)?),
            Format::F64 => f64(self.chunk(index)?),
        })
    }

    #[inline]
    fn chunk<const N: usize>(&self, index: usize) -> Option<[u8; N]> {
        self.bytes.as_chunks::<N>().0.get(index).copied()
    }

    #[inline]
    fn nibble(&self, index: usize) -> Option<u16> {
        let byte = u16::from(*self.bytes.get(index >> 1)?);
        Some(if index & 1 == 0 { byte & 0x0F } else { byte >> 4 })
    }

    #[inline]
    fn sextet(&self, index: usize) -> Option<u16> {
        let [low, middle, high] = self.chunk::<3>(index >> 2)?;
        let code = match index & 3 {
            0 => low,
            1 => (low >> 6) | (middle << 2),
            2 => (middle >> 4) | (high << 4),
            _ => high >> 2,
        };
        Some(u16::from(code & 0x3F))
    }

    /// Folds what is left of a format of whole bytes: the format is looked at once, not for each element.
    #[inline]
    fn fold_chunks<const N: usize, B>(
        &self,
        init: B,
        mut f: impl FnMut(B, f32) -> B,
        decode: impl Fn([u8; N]) -> f32,
    ) -> B {
        let left = self.bytes.as_chunks::<N>().0.get(self.front..self.back).unwrap_or_default();
        left.iter().fold(init, |state, chunk| f(state, decode(*chunk)))
    }
}

impl Iterator for F32Iter<'_> {
    type Item = f32;

    #[inline]
    fn next(&mut self) -> Option<f32> {
        self.nth(0)
    }

    #[inline]
    fn nth(&mut self, skipped: usize) -> Option<f32> {
        let index = self.front.saturating_add(skipped);
        if index >= self.back {
            self.front = self.back;
            return None;
        }
        self.front = index.saturating_add(1);
        self.at(index)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.back.saturating_sub(self.front);
        (left, Some(left))
    }

    fn count(self) -> usize {
        self.len()
    }

    fn fold<B, F: FnMut(B, f32) -> B>(self, init: B, mut f: F) -> B {
        match self.format {
            Format::F8E5M2 => self.fold_chunks(init, f, f8_e5m2),
            Format::F8E4M3 => self.fold_chunks(init, f, f8_e4m3),
            Format::F8E8M0 => self.fold_chunks(init, f, f8_e8m0),
            Format::F8E4M3Fnuz => self.fold_chunks(init, f, f8_e4m3fnuz),
            Format::F8E5M2Fnuz => self.fold_chunks(init, f, f8_e5m2fnuz),
            Format::F16 => self.fold_chunks(init, f, f16),
            Format::Bf16 => self.fold_chunks(init, f, bf16),
            Format::F32 => self.fold_chunks(init, f, f32::from_le_bytes),
            Format::F64 => self.fold_chunks(init, f, f64),
            Format::F4 | Format::F6E2M3 | Format::F6E3M2 => {
                let mut state = init;
                for value in self {
                    state = f(state, value);
                }
                state
            }
        }
    }
}

impl DoubleEndedIterator for F32Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<f32> {
        if self.front >= self.back {
            return None;
        }
        self.back = self.back.saturating_sub(1);
        self.at(self.back)
    }
}

impl ExactSizeIterator for F32Iter<'_> {}

impl FusedIterator for F32Iter<'_> {}

impl fmt::Debug for F32Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F32Iter({:?}, {} left)", self.format, num::widen(self.len()))
    }
}
