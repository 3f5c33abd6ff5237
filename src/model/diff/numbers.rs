//! Elements as numbers that can be subtracted: integers exactly, all others as doubles.

use std::collections::TryReserveError;
use std::vec::Vec;

use crate::gguf::{Endian, GgmlType};
use crate::quant::{self, QuantError};
use crate::{Dtype, Name, Shape, Span, TensorView, num};

use super::ElementType;

/// As what two types are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Both are integers.
    Integer,
    Real,
    /// Both are complex.
    Complex,
}

impl Kind {
    /// `None` for a complex type and one that is not.
    pub(super) fn of(a: ElementType, b: ElementType) -> Option<Self> {
        let complex = [a, b].map(|element| element.dtype() == Some(Dtype::C64));
        let integer = [a, b].map(|element| element.dtype().is_some_and(is_integer));
        match (complex, integer) {
            ([true, true], _) => Some(Self::Complex),
            ([false, false], [true, true]) => Some(Self::Integer),
            ([false, false], _) => Some(Self::Real),
            _ => None,
        }
    }
}

const fn is_integer(dtype: Dtype) -> bool {
    use Dtype as D;
    matches!(dtype, D::BOOL | D::U8 | D::I8 | D::U16 | D::I16 | D::U32 | D::I32 | D::U64 | D::I64)
}

/// The numbers of a run.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) integers: Vec<i128>,
    /// Of complex numbers the two parts one behind the other.
    pub(super) reals: Vec<f64>,
    singles: Vec<f32>,
    /// Plain elements with the lowest byte of each number first.
    plain: Vec<u8>,
    unit: usize,
}

impl Numbers {
    /// Makes room for `elements` elements of so many bytes, so that decoding them needs no more.
    pub(super) fn reserve(&mut self, kind: Kind, bytes: usize, elements: usize) -> Result<(), TryReserveError> {
        fn room<T>(to: &mut Vec<T>, count: usize) -> Result<(), TryReserveError> {
            to.clear();
            to.try_reserve(count)
        }
        room(&mut self.plain, bytes)?;
        match kind {
            Kind::Integer => room(&mut self.integers, elements),
            Kind::Real => room(&mut self.singles, elements).and_then(|()| room(&mut self.reals, elements)),
            // Two parts each.
            Kind::Complex => room(&mut self.reals, elements.saturating_mul(2)),
        }
    }

    /// Decodes `elements` elements.
    pub(super) fn decode(
        &mut self,
        kind: Kind,
        element: ElementType,
        endian: Endian,
        bytes: &[u8],
        elements: usize,
    ) -> Result<(), QuantError> {
        self.integers.clear();
        self.reals.clear();
        self.plain.clear();
        let Some(dtype) = element.dtype() else {
            let ElementType::Ggml(block) = element else { return Ok(()) };
            self.singles.resize(elements, 0.0);
            quant::decode_from(block, endian, bytes, &mut self.singles)?;
            self.reals.extend(self.singles.iter().copied().map(f64::from));
            return Ok(());
        };
        self.turn(dtype, endian, bytes);
        match (kind, dtype) {
            (Kind::Integer, _) => integers(dtype, &self.plain, &mut self.integers),
            (_, Dtype::F64) => {
                let doubles = self.plain.as_chunks().0.iter();
                self.reals.extend(doubles.map(|bytes| f64::from_le_bytes(*bytes)));
            }
            (_, Dtype::C64) => {
                let singles = self.plain.as_chunks().0.iter();
                self.reals.extend(singles.map(|bytes| f64::from(f32::from_le_bytes(*bytes))));
            }
            (_, Dtype::F32 | Dtype::F16 | Dtype::BF16) => {
                let like = match dtype {
                    Dtype::F32 => GgmlType::F32,
                    Dtype::F16 => GgmlType::F16,
                    _ => GgmlType::BF16,
                };
                self.singles.resize(elements, 0.0);
                quant::decode(like, &self.plain, &mut self.singles)?;
                self.reals.extend(self.singles.iter().copied().map(f64::from));
            }
            _ if is_integer(dtype) => real_integers(dtype, &self.plain, &mut self.reals),
            _ => {
                let dims = [num::widen(elements)];
                let Some(span) = Span::new(0, num::widen(self.plain.len())) else { return Ok(()) };
                let view = TensorView::new(Name::from(""), dtype, Shape::from(&dims[..]), span, &self.plain);
                self.reals.extend(view.iter_f32().into_iter().flatten().map(f64::from));
            }
        }
        Ok(())
    }

    /// Copies plain elements, with the lowest byte of each number first.
    fn turn(&mut self, dtype: Dtype, endian: Endian, bytes: &[u8]) {
        self.plain.extend_from_slice(bytes);
        self.unit = num::narrow(dtype.bits() / 8).unwrap_or(1).max(1);
        // The parts of a complex number are turned each for itself.
        let turned = if dtype == Dtype::C64 { 4 } else { self.unit };
        if endian == Endian::Big && turned > 1 {
            self.plain.chunks_exact_mut(turned).for_each(<[u8]>::reverse);
        }
    }

    /// The bits of a plain element of whole bytes.
    pub(super) fn code(&self, place: usize) -> &[u8] {
        let start = place.saturating_mul(self.unit);
        self.plain.get(start..start.saturating_add(self.unit)).unwrap_or_default()
    }
}

fn integers(dtype: Dtype, bytes: &[u8], out: &mut Vec<i128>) {
    macro_rules! all {
        ($number:ty) => {
            out.extend(bytes.as_chunks().0.iter().map(|bytes| i128::from(<$number>::from_le_bytes(*bytes))))
        };
    }
    match dtype {
        Dtype::I8 => all!(i8),
        Dtype::U16 => all!(u16),
        Dtype::I16 => all!(i16),
        Dtype::U32 => all!(u32),
        Dtype::I32 => all!(i32),
        Dtype::U64 => all!(u64),
        Dtype::I64 => all!(i64),
        _ => all!(u8),
    }
}

/// Integers as doubles; those of 64 bits are rounded.
fn real_integers(dtype: Dtype, bytes: &[u8], out: &mut Vec<f64>) {
    macro_rules! all {
        ($number:ty, $wide:expr) => {
            out.extend(bytes.as_chunks().0.iter().map(|bytes| $wide(<$number>::from_le_bytes(*bytes))))
        };
    }
    match dtype {
        Dtype::I8 => all!(i8, f64::from),
        Dtype::U16 => all!(u16, f64::from),
        Dtype::I16 => all!(i16, f64::from),
        Dtype::U32 => all!(u32, f64::from),
        Dtype::I32 => all!(i32, f64::from),
        Dtype::U64 => all!(u64, |number| real(i128::from(number))),
        Dtype::I64 => all!(i64, |number| real(i128::from(number))),
        _ => all!(u8, f64::from),
    }
}

/// The distance between two integers of at most 64 bits.
pub(super) fn distance(a: i128, b: i128) -> f64 {
    real(a.saturating_sub(b).saturating_abs())
}

/// An integer as a double, rounded to the nearest.
fn real(number: i128) -> f64 {
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounds to nearest, as documented")]
    let real = number as f64;
    real
}

/// A count as a double.
pub(super) fn wide(count: u64) -> f64 {
    real(i128::from(count))
}
