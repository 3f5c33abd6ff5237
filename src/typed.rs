//! Typed access to a tensor's bytes, without a copy wherever the machine allows it.
//!
//! A file gives its tensors whatever alignment its header happens to leave: the data of the official GPT-2 file begins
//! at byte 14,291. So there are three ways to the elements:
//!
//! | Call | Gives | Copies | Fails on |
//! |---|---|---|---|
//! | [`as_le`](TensorView::as_le) | `&[LeF32]`, at any alignment, on any host | never | wrong dtype |
//! | [`as_slice`](TensorView::as_slice) | `&[f32]`, as hardware likes it | never | wrong dtype, misaligned bytes, a big-endian host |
//! | [`to_cow`](TensorView::to_cow) | `Cow<[f32]>` (with `alloc`) | when it must | wrong dtype, no memory |
//!
//! [`copy_to`](TensorView::copy_to) decodes into storage of the caller's, [`as_bool`](TensorView::as_bool) checks every
//! byte, and [`iter_f32`](TensorView::iter_f32) decodes the floating-point types that Rust has no type for.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! use tensorgate::{CastError, Dtype, Limits, SafeTensors, safetensors::Slot};
//!
//! let mut file = 54_u64.to_le_bytes().to_vec();
//! file.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
//! file.extend_from_slice(&1.5_f32.to_le_bytes());
//! file.extend_from_slice(&(-2.0_f32).to_le_bytes());
//!
//! let mut slots = [Slot::EMPTY; 1];
//! let model = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
//! let w = model.tensor("w")?;
//! let values = w.as_le::<tensorgate::typed::LeF32>()?;
//! assert_eq!(values[1].get(), -2.0);
//! assert!(w.iter_f32()?.eq([1.5, -2.0]));
//! assert_eq!(w.as_slice::<f64>(), Err(CastError::Dtype { expected: Dtype::F64, found: Dtype::F32 }));
//! # Ok(())
//! # }
//! ```

mod float;

use core::fmt;

use bytemuck::PodCastError;
use zerocopy::FromBytes;

pub use float::F32Iter;

use crate::{Dtype, TensorView, num};

/// A little-endian `f32` of alignment 1; `get()` gives the value.
pub type LeF32 = zerocopy::little_endian::F32;
/// A little-endian `f64` of alignment 1.
pub type LeF64 = zerocopy::little_endian::F64;
/// A little-endian `i16` of alignment 1.
pub type LeI16 = zerocopy::little_endian::I16;
/// A little-endian `u16` of alignment 1.
pub type LeU16 = zerocopy::little_endian::U16;
/// A little-endian `i32` of alignment 1.
pub type LeI32 = zerocopy::little_endian::I32;
/// A little-endian `u32` of alignment 1.
pub type LeU32 = zerocopy::little_endian::U32;
/// A little-endian `i64` of alignment 1.
pub type LeI64 = zerocopy::little_endian::I64;
/// A little-endian `u64` of alignment 1.
pub type LeU64 = zerocopy::little_endian::U64;
/// A little-endian complex number of alignment 1: the real part, then the imaginary one.
pub type LeC64 = [LeF32; 2];

mod sealed {
    /// Keeps the traits to the types that are listed here, so that a dtype and its type cannot disagree.
    #[expect(unnameable_types, reason = "that is its purpose")]
    pub trait Sealed {}
}

/// A native Rust type that is the element of one [`Dtype`].
///
/// `f32`, `f64`, `i8` to `i64`, `u8` to `u64`, and `[f32; 2]` for [`Dtype::C64`]. `bool` has
/// [`TensorView::as_bool`], since not every byte is one.
pub trait Element: sealed::Sealed + bytemuck::AnyBitPattern {
    /// The dtype whose elements these are.
    const DTYPE: Dtype;

    /// The same element as it stands in a file.
    type Le: LeElement;

    /// The value of an element as it stands in a file.
    fn from_le(stored: Self::Le) -> Self;
}

/// An element as it stands in a file: little-endian, of alignment 1, any bytes allowed.
///
/// [`LeF32`], [`LeF64`], [`LeI16`] to [`LeU64`], `i8`, `u8`, and [`LeC64`].
pub trait LeElement:
    sealed::Sealed + Copy + zerocopy::FromBytes + zerocopy::Immutable + zerocopy::KnownLayout + zerocopy::Unaligned
{
    /// The dtype whose elements these are.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($dtype:ident $native:ty, $stored:ty, $from_le:expr;)*) => {$(
        impl Element for $native {
            const DTYPE: Dtype = Dtype::$dtype;
            type Le = $stored;

            #[inline]
            fn from_le(stored: $stored) -> Self {
                $from_le(stored)
            }
        }

        impl LeElement for $stored {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

macro_rules! seal {
    ($($type:ty)*) => { $(impl sealed::Sealed for $type {})* };
}

seal! { u8 i8 i16 u16 i32 u32 f32 i64 u64 f64 [f32; 2] LeI16 LeU16 LeI32 LeU32 LeF32 LeI64 LeU64 LeF64 LeC64 }

elements! {
    U8 u8, u8, core::convert::identity;
    I8 i8, i8, core::convert::identity;
    I16 i16, LeI16, LeI16::get;
    U16 u16, LeU16, LeU16::get;
    I32 i32, LeI32, LeI32::get;
    U32 u32, LeU32, LeU32::get;
    F32 f32, LeF32, LeF32::get;
    I64 i64, LeI64, LeI64::get;
    U64 u64, LeU64, LeU64::get;
    F64 f64, LeF64, LeF64::get;
    C64 [f32; 2], LeC64, (|parts: LeC64| parts.map(LeF32::get));
}

/// Why a tensor's bytes cannot be seen as the elements that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CastError {
    /// The tensor holds elements of another type.
    Dtype {
        /// The dtype of the type that was asked for.
        expected: Dtype,
        /// The tensor's own.
        found: Dtype,
    },
    /// The tensor holds no real floating-point numbers (integers, `BOOL`, `C64`), so it has no values as `f32`.
    NotFloat {
        /// The tensor's dtype.
        found: Dtype,
    },
    /// The bytes stand where this machine cannot read such elements in place.
    Alignment {
        /// The alignment in bytes that is needed.
        needed: u64,
        /// How many bytes past a multiple of it the tensor begins in memory.
        past: u64,
    },
    /// The bytes are not as many as the elements take.
    Size {
        /// The bytes that the elements asked for take; where no number was asked for, the most whole elements there are.
        expected: u64,
        /// The tensor's bytes.
        found: u64,
    },
    /// The elements have several bytes, little-endian, and this machine is big-endian.
    ByteOrder,
    /// A byte of a `BOOL` tensor is neither 0 nor 1. The format does not forbid it; Rust does.
    NotBool {
        /// Index of the first such element.
        index: u64,
        /// The byte that stands there.
        byte: u8,
    },
    /// The bytes are those of a mapped file, which others may write to: that each is 0 or 1 would not stay true. Copy them
    /// (`model::Tensor::to_bools`), or look at them as bytes.
    Mapped,
    /// There was no memory for a copy.
    Alloc {
        /// How many bytes it takes.
        bytes: u64,
    },
}

impl fmt::Display for CastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dtype { expected, found } => write!(f, "the tensor's dtype is {found}, not {expected}"),
            Self::NotFloat { found } => {
                write!(f, "the tensor's dtype is {found}, which is no real floating-point type")
            }
            Self::Alignment { needed, past } => {
                write!(
                    f,
                    "the tensor begins {past} bytes past a multiple of {needed}, the alignment of its elements"
                )
            }
            Self::Size { expected, found } => write!(f, "the tensor has {found} bytes, not {expected}"),
            Self::ByteOrder => f.write_str("the tensor is little-endian and this machine is not"),
            Self::NotBool { index, byte } => write!(f, "element {index} is {byte}, neither 0 nor 1"),
            Self::Mapped => f.write_str("the bytes are those of a mapped file, which may change"),
            Self::Alloc { bytes } => write!(f, "there is no memory for a copy of {bytes} bytes"),
        }
    }
}

impl core::error::Error for CastError {}

/// The elements of `bytes` at any alignment.
#[inline]
fn cast_le<T: LeElement>(bytes: &[u8]) -> Result<&[T], CastError> {
    // Alignment 1 always holds, so only the size can be wrong.
    <[T]>::ref_from_bytes(bytes).map_err(|_| slop::<T>(bytes))
}

/// The elements of `bytes` in place, as this machine has them.
#[inline]
fn cast_native<T: Element>(bytes: &[u8]) -> Result<&[T], CastError> {
    if cfg!(target_endian = "big") && size_of::<T>() > 1 {
        return Err(CastError::ByteOrder);
    }
    if bytes.is_empty() {
        // No element stands at a wrong place, wherever the slice points.
        return Ok(&[]);
    }
    bytemuck::try_cast_slice(bytes).map_err(|error| match error {
        PodCastError::TargetAlignmentGreaterAndInputNotAligned => {
            let past = bytes.as_ptr().addr().checked_rem(align_of::<T>()).unwrap_or(0);
            CastError::Alignment { needed: num::widen(align_of::<T>()), past: num::widen(past) }
        }
        _ => slop::<T>(bytes),
    })
}

/// The error of bytes that are no whole number of elements.
#[cold]
fn slop<T>(bytes: &[u8]) -> CastError {
    let over = bytes.len().checked_rem(size_of::<T>()).unwrap_or(0);
    CastError::Size { expected: num::widen(bytes.len().saturating_sub(over)), found: num::widen(bytes.len()) }
}

impl<'a> TensorView<'a> {
    /// The elements in place, as native numbers of this machine.
    ///
    /// For files of which one does not know how they are aligned, see [`as_le`](Self::as_le) and
    /// [`to_cow`](Self::to_cow). A tensor of no elements is never misaligned.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// # use tensorgate::{Limits, SafeTensors, safetensors::Slot};
    /// # let mut file = 55_u64.to_le_bytes().to_vec();
    /// # file.extend_from_slice(br#"{"w":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}  "#);
    /// # file.extend_from_slice(&[1, 255]);
    /// # let mut slots = [Slot::EMPTY; 1];
    /// # let model = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
    /// let w: &[i8] = model.tensor("w")?.as_slice()?;
    /// assert_eq!(w, [1, -1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CastError::Dtype`] where `T` is not the tensor's element; [`CastError::ByteOrder`] on a big-endian machine for
    /// elements of several bytes; [`CastError::Alignment`] where the bytes are not aligned for `T`.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], CastError> {
        self.expect(T::DTYPE)?;
        cast_native(self.bytes())
    }

    /// The elements in place as little-endian numbers, whatever the alignment and whatever the machine.
    ///
    /// On a little-endian machine `get()` on an element is one load.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// # use tensorgate::{Limits, SafeTensors, safetensors::Slot};
    /// # let mut file = 54_u64.to_le_bytes().to_vec();
    /// # file.extend_from_slice(br#"{"w":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}"#);
    /// # file.extend_from_slice(&1.0_f32.to_le_bytes());
    /// # file.extend_from_slice(&0.5_f32.to_le_bytes());
    /// # let mut slots = [Slot::EMPTY; 1];
    /// # let model = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
    /// use tensorgate::typed::LeC64;
    /// let w: &[LeC64] = model.tensor("w")?.as_le()?;
    /// let [re, im] = w[0];
    /// assert_eq!((re.get(), im.get()), (1.0, 0.5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CastError::Dtype`] where `T` is not the tensor's element.
    pub fn as_le<T: LeElement>(&self) -> Result<&'a [T], CastError> {
        self.expect(T::DTYPE)?;
        cast_le(self.bytes())
    }

    /// The elements as native numbers: in place where [`as_slice`](Self::as_slice) can, else decoded into memory of
    /// their own.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// # let mut file = 55_u64.to_le_bytes().to_vec();
    /// # file.extend_from_slice(br#"{"w":{"dtype":"U16","shape":[2],"data_offsets":[0,4]}} "#);
    /// # file.extend_from_slice(&[1, 2, 3, 4]);
    /// let model = tensorgate::SafeTensors::open(&file)?;
    /// let w = model.tensor("w")?.to_cow::<u16>()?;
    /// assert_eq!(*w, [0x0201, 0x0403]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CastError::Dtype`] where `T` is not the tensor's element; [`CastError::Alloc`] where a copy is needed and there
    /// is no memory for it.
    #[cfg(feature = "alloc")]
    pub fn to_cow<T: Element>(&self) -> Result<alloc::borrow::Cow<'a, [T]>, CastError> {
        use alloc::borrow::Cow;
        match self.as_slice() {
            Ok(in_place) => Ok(Cow::Borrowed(in_place)),
            Err(CastError::Alignment { .. } | CastError::ByteOrder) => {
                let stored = cast_le::<T::Le>(self.bytes())?;
                let mut copy = alloc::vec::Vec::new();
                copy.try_reserve_exact(stored.len())
                    .map_err(|_| CastError::Alloc { bytes: num::widen(self.bytes().len()) })?;
                copy.extend(stored.iter().map(|element| T::from_le(*element)));
                Ok(Cow::Owned(copy))
            }
            Err(error) => Err(error),
        }
    }

    /// Decodes all elements into `out`, whatever the alignment and whatever the machine.
    ///
    /// # Errors
    ///
    /// [`CastError::Dtype`] where `T` is not the tensor's element; [`CastError::Size`] where `out` has not exactly as
    /// many elements as the tensor. `out` is untouched then.
    pub fn copy_to<T: Element>(&self, out: &mut [T]) -> Result<(), CastError> {
        self.expect(T::DTYPE)?;
        let stored = cast_le::<T::Le>(self.bytes())?;
        if stored.len() != out.len() {
            let expected = num::widen(size_of_val(out));
            return Err(CastError::Size { expected, found: num::widen(self.bytes().len()) });
        }
        for (target, element) in out.iter_mut().zip(stored) {
            *target = T::from_le(*element);
        }
        Ok(())
    }

    /// The elements of a [`Dtype::BOOL`] tensor in place, after every byte was found to be 0 or 1.
    ///
    /// The answer borrows the very bytes that were checked. Where others can still write to them (a mapped file), look at
    /// [`bytes`](Self::bytes) instead: a `bool` that changes to 2 is undefined behaviour, a `u8` is not.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// # use tensorgate::{CastError, Limits, SafeTensors, safetensors::Slot};
    /// # let mut file = 55_u64.to_le_bytes().to_vec();
    /// # file.extend_from_slice(br#"{"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#);
    /// # file.extend_from_slice(&[0, 1, 2]);
    /// # let mut slots = [Slot::EMPTY; 1];
    /// # let model = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
    /// // The bytes are 0, 1, 2.
    /// assert_eq!(model.tensor("m")?.as_bool(), Err(CastError::NotBool { index: 2, byte: 2 }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CastError::Dtype`] for another dtype; [`CastError::NotBool`] with the first byte that is neither;
    /// [`CastError::Mapped`] for a tensor of a mapped file, whose bytes others may write to.
    pub fn as_bool(&self) -> Result<&'a [bool], CastError> {
        self.expect(Dtype::BOOL)?;
        if self.is_shared() {
            return Err(CastError::Mapped);
        }
        bytemuck::checked::try_cast_slice(self.bytes()).map_err(|_| {
            let index = self.bytes().iter().position(|byte| *byte > 1).unwrap_or(0);
            let byte = self.bytes().get(index).copied().unwrap_or(0);
            CastError::NotBool { index: num::widen(index), byte }
        })
    }

    /// The elements of any real floating-point dtype as `f32`, decoded as they are asked for.
    ///
    /// Exact for every dtype but [`Dtype::F64`], whose values are rounded to the nearest `f32`, ties to even. See
    /// [`F32Iter`] for what becomes of NaNs.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// # use tensorgate::{Limits, SafeTensors, safetensors::Slot};
    /// # let mut file = 55_u64.to_le_bytes().to_vec();
    /// # file.extend_from_slice(br#"{"w":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}  "#);
    /// # file.extend_from_slice(&[0x21, 0xF7]);
    /// # let mut slots = [Slot::EMPTY; 1];
    /// # let model = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
    /// // Two F4 elements a byte, the low nibble first; the bytes are 0x21, 0xF7.
    /// assert!(model.tensor("w")?.iter_f32()?.eq([0.5, 1.0, 6.0, -6.0]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CastError::NotFloat`] for integers, `BOOL` and `C64`.
    pub fn iter_f32(&self) -> Result<F32Iter<'a>, CastError> {
        F32Iter::new(self.dtype(), self.bytes()).ok_or(CastError::NotFloat { found: self.dtype() })
    }

    #[inline]
    fn expect(&self, expected: Dtype) -> Result<(), CastError> {
        if self.dtype() == expected { Ok(()) } else { Err(CastError::Dtype { expected, found: self.dtype() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_as_wide_as_its_dtype() {
        fn check<T: Element>() {
            assert_eq!(T::DTYPE, <T::Le as LeElement>::DTYPE);
            assert_eq!(num::widen(size_of::<T>()) * 8, T::DTYPE.bits());
            assert_eq!(size_of::<T>(), size_of::<T::Le>());
            assert_eq!(align_of::<T::Le>(), 1);
        }
        check::<u8>();
        check::<i8>();
        check::<i16>();
        check::<u16>();
        check::<i32>();
        check::<u32>();
        check::<f32>();
        check::<i64>();
        check::<u64>();
        check::<f64>();
        check::<[f32; 2]>();
    }

    #[test]
    fn a_part_of_an_element_is_a_size_error() {
        // No proved view has such bytes; the casts do not rely on that.
        let words = [0_u64; 2];
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        for len in 0..=16 {
            let whole = len / 4 * 4;
            let error = CastError::Size { expected: whole as u64, found: len as u64 };
            let want = if len == whole { Ok(len / 4) } else { Err(error) };
            assert_eq!(cast_le::<LeF32>(&bytes[..len]).map(<[_]>::len), want);
            if cfg!(target_endian = "little") {
                assert_eq!(cast_native::<f32>(&bytes[..len]).map(<[_]>::len), want);
            }
        }
    }
}
