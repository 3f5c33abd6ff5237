//! Two tensors side by side: how many elements differ, and by how much.
//!
//! Elements are compared by their values, so that a tensor can be held against its quantised or converted copy. Runs of
//! the same type are compared by their bytes first, which is as fast as memory.

mod numbers;

use std::fmt;

use super::{ElementType, Tensor};
use crate::gguf::Endian;
use crate::num;
use crate::quant::QuantError;
use crate::scan::Scan;
use numbers::{Kind, Numbers};

/// A run of whole elements, or of whole blocks of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    element: ElementType,
    endian: Endian,
    bytes: &'a [u8],
}

impl<'a> Run<'a> {
    /// Bytes of a tensor, from the beginning of an element or block to the end of one.
    pub const fn new(element: ElementType, endian: Endian, bytes: &'a [u8]) -> Self {
        Self { element, endian, bytes }
    }

    /// How many elements there are; `None` where they are not whole, or of a type that is not known.
    pub fn elements(&self) -> Option<u64> {
        let len = num::widen(self.bytes.len());
        match self.element {
            ElementType::Dtype(dtype) => {
                let bits = num::mul(len, 8)?;
                bits.is_multiple_of(dtype.bits()).then(|| bits.checked_div(dtype.bits()))?
            }
            ElementType::Ggml(kind) => {
                let (elements, bytes) = (u64::from(kind.block_elements()?), u64::from(kind.block_bytes()?));
                len.is_multiple_of(bytes).then(|| num::mul(len.checked_div(bytes)?, elements))?
            }
        }
    }

    /// Whether equal bytes are equal elements.
    fn is_alike(&self, other: &Self) -> bool {
        let narrow = |run: &Self| run.element.dtype().is_some_and(|dtype| dtype.bits() <= 8);
        alike(self.element, other.element) && (self.endian == other.endian || narrow(self))
    }

    /// Elements that are not a number, where their type is plain.
    fn not_a_number(&self) -> u64 {
        let mut scan = match self.element {
            ElementType::Dtype(dtype) => Scan::new(dtype),
            ElementType::Ggml(kind) => Scan::gguf(kind, self.endian),
        };
        scan.feed(self.bytes);
        scan.census().not_a_number().count()
    }
}

/// Whether two types are the same, whatever the format: the plain ones of GGUF are those of safetensors.
pub fn alike(a: ElementType, b: ElementType) -> bool {
    a == b || a.dtype().is_some_and(|dtype| b.dtype() == Some(dtype))
}

/// What two runs of elements differ in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    elements: u64,
    differ: u64,
    same_nan: u64,
    not_finite: u64,
    max: f64,
    sum: f64,
}

impl Difference {
    /// How many elements were compared.
    pub const fn elements(&self) -> u64 {
        self.elements
    }

    /// How many of them differ. Zeros of either sign are the same; so are two NaNs of the same bits, or of different types.
    pub const fn differ(&self) -> u64 {
        self.differ
    }

    /// How many are a NaN on both sides and are taken for the same. Of blocks that have the same bytes none are counted.
    pub const fn same_nan(&self) -> u64 {
        self.same_nan
    }

    /// How many differ, and have a NaN or an infinity on one side at least, so that there is no distance.
    pub const fn not_finite(&self) -> u64 {
        self.not_finite
    }

    /// The largest distance between two elements; of complex numbers the modulus of their difference.
    pub const fn max(&self) -> f64 {
        self.max
    }

    /// The mean distance, over all elements but those without one; 0 where there are none.
    pub fn mean(&self) -> f64 {
        let count = self.elements.saturating_sub(self.same_nan).saturating_sub(self.not_finite);
        if count == 0 { 0.0 } else { self.sum / numbers::wide(count) }
    }

    /// Takes up what another run of the same tensors differs in. Sums are rounded, so that the order shows in the last
    /// digits of the mean.
    pub fn merge(&mut self, other: &Self) {
        self.elements = self.elements.saturating_add(other.elements);
        self.differ = self.differ.saturating_add(other.differ);
        self.same_nan = self.same_nan.saturating_add(other.same_nan);
        self.not_finite = self.not_finite.saturating_add(other.not_finite);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// One more pair that differs.
    fn add(&mut self, distance: f64) {
        self.differ = self.differ.saturating_add(1);
        if distance.is_finite() {
            self.max = self.max.max(distance);
            self.sum += distance;
        } else {
            self.not_finite = self.not_finite.saturating_add(1);
        }
    }
}

/// Why two runs cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiffError {
    /// They have not the same number of elements, or bytes that are no whole number of them.
    Length,
    /// One side is complex and the other is not.
    Complex,
    /// Blocks of this type cannot be decoded.
    Quant(QuantError),
    /// There is not enough memory for the numbers of a piece.
    Memory,
}

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the tensors have not the same number of elements"),
            Self::Complex => f.write_str("one of the tensors is complex and the other is not"),
            Self::Quant(error) => fmt::Display::fmt(error, f),
            Self::Memory => f.write_str("there is not enough memory to decode them"),
        }
    }
}

impl std::error::Error for DiffError {}

/// Elements that are decoded at a time: a whole number of blocks of every type, and of bytes.
const STEP: u64 = 16 * 1024;

/// Compares runs, and keeps the memory for their numbers: about half a megabyte.
///
/// ```
/// use tensorgate::{Dtype, gguf::{Endian, GgmlType}, model::diff::{Comparer, Run}};
///
/// let single: Vec<u8> = [1.0_f32, 2.5, f32::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
/// let brain = [0x80, 0x3F, 0x00, 0x40, 0xC0, 0x7F]; // 1.0, 2.0, NaN
/// let a = Run::new(Dtype::F32.into(), Endian::Little, &single);
/// let b = Run::new(GgmlType::BF16.into(), Endian::Little, &brain);
/// let difference = Comparer::default().compare(a, b)?;
/// assert_eq!((difference.elements(), difference.differ(), difference.same_nan()), (3, 1, 1));
/// assert_eq!((difference.max(), difference.mean()), (0.5, 0.25));
/// # Ok::<(), tensorgate::model::diff::DiffError>(())
/// ```
#[derive(Debug, Default)]
pub struct Comparer {
    a: Numbers,
    b: Numbers,
}

impl Comparer {
    /// Compares two runs of as many elements.
    ///
    /// # Errors
    ///
    /// Where they have not as many elements, or cannot be compared.
    pub fn compare(&mut self, a: Run<'_>, b: Run<'_>) -> Result<Difference, DiffError> {
        let count = a.elements().ok_or(DiffError::Length)?;
        if b.elements() != Some(count) {
            return Err(DiffError::Length);
        }
        let kind = Kind::of(a.element, b.element).ok_or(DiffError::Complex)?;
        let mut sum = Difference::default();
        let step = |run: &Run<'_>| run.element.bytes_for(STEP).and_then(num::narrow).ok_or(DiffError::Length);
        let (step_a, step_b) = (step(&a)?, step(&b)?);
        let pieces = a.bytes.chunks(step_a.max(1)).zip(b.bytes.chunks(step_b.max(1)));
        for (piece_a, piece_b) in pieces {
            let (a, b) = (Run { bytes: piece_a, ..a }, Run { bytes: piece_b, ..b });
            let count = a.elements().unwrap_or_default();
            sum.elements = sum.elements.saturating_add(count);
            if a.is_alike(&b) && piece_a == piece_b {
                sum.same_nan = sum.same_nan.saturating_add(a.not_a_number());
            } else {
                self.values(kind, &a, &b, &mut sum)?;
            }
        }
        Ok(sum)
    }

    #[expect(clippy::float_cmp, reason = "elements differ where they are not the same number")]
    fn values(&mut self, kind: Kind, a: &Run<'_>, b: &Run<'_>, sum: &mut Difference) -> Result<(), DiffError> {
        let elements = a.elements().and_then(num::narrow).ok_or(DiffError::Length)?;
        let runs = [a, b];
        for (numbers, run) in [&mut self.a, &mut self.b].into_iter().zip(runs) {
            numbers.reserve(kind, run.bytes.len(), elements).map_err(|_| DiffError::Memory)?;
            numbers.decode(kind, run.element, run.endian, run.bytes, elements).map_err(DiffError::Quant)?;
        }
        match kind {
            Kind::Integer => {
                for (a, b) in self.a.integers.iter().zip(&self.b.integers).filter(|(a, b)| a != b) {
                    sum.add(numbers::distance(*a, *b));
                }
            }
            Kind::Real => {
                let bits = alike(a.element, b.element) && a.element.dtype().is_some();
                for (place, (a, b)) in self.a.reals.iter().zip(&self.b.reals).enumerate() {
                    if a.is_nan() && b.is_nan() && !(bits && self.a.code(place) != self.b.code(place)) {
                        sum.same_nan = sum.same_nan.saturating_add(1);
                    } else if a != b {
                        sum.add((a - b).abs());
                    }
                }
            }
            Kind::Complex => {
                let (a, b) = (self.a.reals.as_chunks::<2>().0, self.b.reals.as_chunks::<2>().0);
                for (place, (a, b)) in a.iter().zip(b).enumerate() {
                    let nan = |pair: &[f64; 2]| pair.iter().any(|part| part.is_nan());
                    if nan(a) && nan(b) && self.a.code(place) == self.b.code(place) {
                        sum.same_nan = sum.same_nan.saturating_add(1);
                    } else if a != b {
                        sum.add((a[0] - b[0]).hypot(a[1] - b[1]));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Compares two tensors of as many elements, whatever their shapes and types.
///
/// # Errors
///
/// As [`Comparer::compare`].
pub fn tensors(a: &Tensor, b: &Tensor) -> Result<Difference, DiffError> {
    let run = |tensor: &'_ Tensor| (tensor.element(), tensor.endian());
    let ((element_a, endian_a), (element_b, endian_b)) = (run(a), run(b));
    Comparer::default().compare(Run::new(element_a, endian_a, a.bytes()), Run::new(element_b, endian_b, b.bytes()))
}

#[cfg(test)]
mod tests;
