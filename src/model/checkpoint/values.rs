//! The caller's slices, as bytes with a type.

use std::fmt;

use crate::typed::Element;
use crate::{Dtype, Sink, num};

/// A slice to be saved. Made by `From` of slices of every type that is the element of a [`Dtype`], and of `bool`; the other
/// types come as [`raw`](Self::raw) bytes.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    dtype: Dtype,
    bytes: &'a [u8],
    /// Bytes of a number that is in this machine's byte order; 1 for those that are in the file's.
    unit: usize,
}

/// A slice to be loaded into; made as [`Values`] is.
pub struct ValuesMut<'a> {
    dtype: Dtype,
    to: To<'a>,
    unit: usize,
}

enum To<'a> {
    Bytes(&'a mut [u8]),
    Bools(&'a mut [bool]),
}

macro_rules! from_slices {
    ($($type:ty, $unit:literal;)*) => {$(
        impl<'a> From<&'a [$type]> for Values<'a> {
            fn from(values: &'a [$type]) -> Self {
                Self { dtype: <$type>::DTYPE, bytes: bytemuck::cast_slice(values), unit: $unit }
            }
        }

        impl<'a> From<&'a mut [$type]> for ValuesMut<'a> {
            fn from(values: &'a mut [$type]) -> Self {
                Self { dtype: <$type>::DTYPE, to: To::Bytes(bytemuck::cast_slice_mut(values)), unit: $unit }
            }
        }

        from_arrays!($type);
    )*};
}

macro_rules! from_arrays {
    ($type:ty) => {
        impl<'a, const N: usize> From<&'a [$type; N]> for Values<'a> {
            fn from(values: &'a [$type; N]) -> Self {
                values.as_slice().into()
            }
        }

        impl<'a> From<&'a std::vec::Vec<$type>> for Values<'a> {
            fn from(values: &'a std::vec::Vec<$type>) -> Self {
                values.as_slice().into()
            }
        }

        impl<'a, const N: usize> From<&'a mut [$type; N]> for ValuesMut<'a> {
            fn from(values: &'a mut [$type; N]) -> Self {
                values.as_mut_slice().into()
            }
        }

        impl<'a> From<&'a mut std::vec::Vec<$type>> for ValuesMut<'a> {
            fn from(values: &'a mut std::vec::Vec<$type>) -> Self {
                values.as_mut_slice().into()
            }
        }
    };
}

from_slices! {
    u8, 1;
    i8, 1;
    u16, 2;
    i16, 2;
    u32, 4;
    i32, 4;
    f32, 4;
    u64, 8;
    i64, 8;
    f64, 8;
    [f32; 2], 4;
}

from_arrays!(bool);

impl<'a> From<&'a [bool]> for Values<'a> {
    fn from(values: &'a [bool]) -> Self {
        Self { dtype: Dtype::BOOL, bytes: bytemuck::cast_slice(values), unit: 1 }
    }
}

impl<'a> From<&'a mut [bool]> for ValuesMut<'a> {
    fn from(values: &'a mut [bool]) -> Self {
        Self { dtype: Dtype::BOOL, to: To::Bools(values), unit: 1 }
    }
}

impl<'a> Values<'a> {
    /// Elements of any type as they stand in a file: little-endian, row-major.
    pub const fn raw(dtype: Dtype, bytes: &'a [u8]) -> Self {
        Self { dtype, bytes, unit: 1 }
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub(super) fn byte_len(&self) -> u64 {
        num::widen(self.bytes.len())
    }

    /// Writes the elements as they stand in a file.
    pub(super) fn write_le<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        if self.unit == 1 || cfg!(target_endian = "little") {
            return sink.write_all(self.bytes);
        }
        let mut turned = [0; 4096];
        for chunk in self.bytes.chunks(turned.len()) {
            let Some(turned) = turned.get_mut(..chunk.len()) else { continue };
            turned.copy_from_slice(chunk);
            swap(turned, self.unit);
            sink.write_all(turned)?;
        }
        Ok(())
    }
}

impl<'a> ValuesMut<'a> {
    /// Room for elements of any type as they stand in a file.
    pub const fn raw(dtype: Dtype, bytes: &'a mut [u8]) -> Self {
        Self { dtype, to: To::Bytes(bytes), unit: 1 }
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub(super) fn byte_len(&self) -> u64 {
        match &self.to {
            To::Bytes(bytes) => num::widen(bytes.len()),
            To::Bools(bools) => num::widen(bools.len()),
        }
    }

    /// Where the first byte stands that is not an element: one that is neither 0 nor 1 for a `bool`.
    pub(super) fn first_invalid(&self, from: &[u8]) -> Option<usize> {
        match &self.to {
            To::Bytes(_) => None,
            To::Bools(_) => from.iter().position(|byte| *byte > 1),
        }
    }

    /// Takes the elements as they stand in a file, as many as there is room for.
    pub(super) fn copy_le(&mut self, from: &[u8]) {
        match &mut self.to {
            To::Bytes(bytes) if bytes.len() == from.len() => {
                bytes.copy_from_slice(from);
                if cfg!(target_endian = "big") {
                    swap(bytes, self.unit);
                }
            }
            To::Bools(bools) => {
                for (to, from) in bools.iter_mut().zip(from) {
                    *to = *from != 0;
                }
            }
            To::Bytes(_) => {}
        }
    }
}

/// Turns the bytes of each number round.
fn swap(bytes: &mut [u8], unit: usize) {
    for number in bytes.chunks_exact_mut(unit.max(1)) {
        number.reverse();
    }
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.dtype, self.bytes.len())
    }
}

impl fmt::Debug for ValuesMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.dtype, self.byte_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn numbers_stand_little_endian_in_a_file() {
        let stored = |values: Values<'_>| {
            let mut out = Vec::new();
            values.write_le(&mut out).unwrap();
            (values.dtype(), out)
        };
        assert_eq!(stored((&[0x0102_i16, -2]).into()), (Dtype::I16, [2, 1, 0xFE, 0xFF].to_vec()));
        assert_eq!(stored((&[[1.0_f32, 2.0]]).into()), (Dtype::C64, [0, 0, 128, 63, 0, 0, 0, 64].to_vec()));
        assert_eq!(stored((&[true, false]).into()), (Dtype::BOOL, [1, 0].to_vec()));
        assert_eq!(stored(Values::raw(Dtype::BF16, &[1, 2])), (Dtype::BF16, [1, 2].to_vec()));
        let mut back = [0_i16; 2];
        ValuesMut::from(&mut back).copy_le(&[2, 1, 0xFE, 0xFF]);
        assert_eq!(back, [0x0102, -2]);
    }

    #[test]
    fn numbers_are_turned_round_one_by_one() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        swap(&mut bytes, 4);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
        swap(&mut bytes, 1);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
    }
}
