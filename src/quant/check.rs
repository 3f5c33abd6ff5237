//! What the reference's `--check-tensors` looks for: scales, minima and plain floats that are not finite.

use core::iter::FusedIterator;

use super::error::{Fault, QuantError, What};
use super::{half, plain};
use crate::gguf::{Endian, GgmlType};
use crate::num;

/// Proves that no scale, minimum or plain float of a little-endian file's data is a NaN or infinite.
///
/// The rules are those of `ggml_validate_row_data` (ggml 0.25.3): of each block its halves (and the single of Q8_K); of
/// IQ1_M the half that is spread over its scales; of MXFP4 an exponent other than 255; of `F64` that it is finite as an
/// `f32`. Integers and NVFP4, whose scales are finite whatever their bits, always pass. The reference knows no rule for
/// Q8_1 and refuses any; here its halves are checked as those of the other types.
///
/// # Errors
///
/// [`QuantError::Fault`] with the first such number; otherwise, where the type is unknown or the bytes are no whole
/// number of its blocks.
///
/// ```
/// use tensorgate::{gguf::GgmlType, quant::{QuantError, What, check_row}};
///
/// let mut data = [0; 68];
/// assert_eq!(check_row(GgmlType::Q8_0, &data), Ok(()));
/// (data[34], data[35]) = (0x00, 0x7C);
/// let Err(QuantError::Fault(fault)) = check_row(GgmlType::Q8_0, &data) else { unreachable!() };
/// assert_eq!((fault.block(), fault.at(), fault.what()), (1, 34, What::Infinite));
/// ```
pub fn check_row(kind: GgmlType, bytes: &[u8]) -> Result<(), QuantError> {
    match faults(kind, Endian::Little, bytes)?.next() {
        None => Ok(()),
        Some(fault) => Err(QuantError::Fault(fault)),
    }
}

/// Every number that [`check_row`] objects to, in either byte order.
///
/// # Errors
///
/// Where the type is unknown or the bytes are no whole number of its blocks.
pub fn faults(kind: GgmlType, order: Endian, bytes: &[u8]) -> Result<Faults<'_>, QuantError> {
    let size = super::whole_blocks(kind, bytes)?;
    let (form, places) = numbers(kind);
    let rest = if places.is_empty() { &[] } else { bytes };
    Ok(Faults { form, places, order, size: num::widen32(size), rest, block: 0, next: 0 })
}

/// How a number that has to be finite is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Half,
    Brain,
    Single,
    Double,
    /// The half that IQ1_M spreads over its scales.
    Spread,
    /// The exponent of MXFP4.
    Exponent,
}

/// The numbers of a block that have to be finite: how they are stored, and where they begin.
pub(crate) const fn numbers(kind: GgmlType) -> (Form, &'static [usize]) {
    match kind {
        GgmlType::F32 | GgmlType::Q8_K => (Form::Single, &[0]),
        GgmlType::F64 => (Form::Double, &[0]),
        GgmlType::BF16 => (Form::Brain, &[0]),
        GgmlType::IQ1_M => (Form::Spread, &[48]),
        GgmlType::MXFP4 => (Form::Exponent, &[0]),
        GgmlType::Q4_1 | GgmlType::Q5_1 | GgmlType::Q8_1 | GgmlType::Q4_K | GgmlType::Q5_K => (Form::Half, &[0, 2]),
        GgmlType::Q2_K => (Form::Half, &[80, 82]),
        GgmlType::Q3_K => (Form::Half, &[108]),
        GgmlType::Q6_K => (Form::Half, &[208]),
        GgmlType::TQ1_0 => (Form::Half, &[52]),
        GgmlType::TQ2_0 => (Form::Half, &[64]),
        GgmlType::I8 | GgmlType::I16 | GgmlType::I32 | GgmlType::I64 | GgmlType::NVFP4 => (Form::Half, &[]),
        _ => (Form::Half, &[0]),
    }
}

/// What is wrong with a single.
#[inline]
fn single(value: f32) -> Option<What> {
    match value.to_bits() & 0x7FFF_FFFF {
        0x7F80_0000 => Some(What::Infinite),
        0x7F80_0001.. => Some(What::Nan),
        _ => None,
    }
}

/// The bytes of a number, lowest first.
#[inline]
fn little<const N: usize>(bytes: &[u8], order: Endian) -> Option<[u8; N]> {
    let mut number = *bytes.first_chunk::<N>()?;
    if order == Endian::Big {
        number.reverse();
    }
    Some(number)
}

impl Form {
    /// What is wrong with the number that begins here.
    #[inline]
    fn fault(self, bytes: &[u8], order: Endian) -> Option<What> {
        match self {
            Self::Half => single(half::f16(little(bytes, order)?)),
            Self::Brain => single(half::bf16(little(bytes, order)?)),
            Self::Single => single(f32::from_le_bytes(little(bytes, order)?)),
            Self::Double => {
                let mut narrow = [0.0];
                plain::f64(&little(bytes, order)?, &mut narrow);
                single(narrow[0])
            }
            Self::Spread => {
                let mut words = *bytes.first_chunk::<8>()?;
                if order == Endian::Big {
                    words.as_chunks_mut::<2>().0.iter_mut().for_each(|word| word.reverse());
                }
                single(half::f16(half::spread(words)))
            }
            Self::Exponent => (*bytes.first()? == 0xFF).then_some(What::Exponent),
        }
    }
}

/// The plain floats that are looked at together.
const TOGETHER: usize = 1024;

/// How many blocks at the beginning of plain floats are sound for sure: whole thousands of them, each judged without a
/// branch an element.
fn sound(form: Form, order: Endian, bytes: &[u8]) -> usize {
    fn run<const N: usize>(bytes: &[u8], order: Endian, exponent: [u8; 2]) -> usize {
        let is_sound = |number: &[u8; N]| {
            // The two bytes that hold sign and exponent.
            let top = match order {
                Endian::Little => number.last_chunk::<2>(),
                Endian::Big => number.first_chunk::<2>(),
            };
            let mut top = top.copied().unwrap_or_default();
            if order == Endian::Big {
                top.reverse();
            }
            let mask = u16::from_le_bytes(exponent);
            u16::from_le_bytes(top) & mask != mask
        };
        let runs = bytes.as_chunks::<N>().0.as_chunks::<TOGETHER>().0;
        let sound = |run: &&[[u8; N]; TOGETHER]| run.iter().fold(true, |all, number| all & is_sound(number));
        runs.iter().take_while(sound).fold(0, |count: usize, _| count.saturating_add(TOGETHER))
    }
    match form {
        Form::Single => run::<4>(bytes, order, [0x80, 0x7F]),
        Form::Brain => run::<2>(bytes, order, [0x80, 0x7F]),
        Form::Half => run::<2>(bytes, order, [0x00, 0x7C]),
        Form::Double | Form::Spread | Form::Exponent => 0,
    }
}

/// Numbers in a tensor's data that are not finite, in the order of the data. Made by [`faults`].
#[derive(Clone, Debug)]
pub struct Faults<'a> {
    form: Form,
    places: &'static [usize],
    order: Endian,
    size: usize,
    rest: &'a [u8],
    block: u64,
    /// Which of the block's numbers is next.
    next: usize,
}

impl Faults<'_> {
    /// Leaves blocks behind.
    fn skip(&mut self, blocks: usize) {
        let bytes = blocks.saturating_mul(self.size);
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.block = self.block.saturating_add(num::widen(blocks));
        self.next = 0;
    }
}

impl Iterator for Faults<'_> {
    type Item = Fault;

    fn next(&mut self) -> Option<Fault> {
        loop {
            if self.size <= 4 && self.next == 0 {
                let sound = sound(self.form, self.order, self.rest);
                self.skip(sound);
            }
            // A thousand at the most before it is worth looking ahead again.
            for _ in 0..TOGETHER {
                let block = self.rest.get(..self.size)?;
                while let Some(place) = self.places.get(self.next) {
                    self.next = self.next.saturating_add(1);
                    let fault = block.get(*place..).and_then(|bytes| self.form.fault(bytes, self.order));
                    if let Some(what) = fault {
                        let start = self.block.saturating_mul(num::widen(self.size));
                        return Some(Fault {
                            block: self.block,
                            at: start.saturating_add(num::widen(*place)),
                            what,
                        });
                    }
                }
                self.skip(1);
            }
        }
    }
}

impl FusedIterator for Faults<'_> {}
