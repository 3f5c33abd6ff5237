//! Values to be written, borrowed from a program or from a file that was read.

use alloc::string::String;

use super::PlanError;
use super::head::{Head, Number, text_len};
use crate::gguf::{Array, Str, Value, ValueType};
use crate::{Limits, Name, num};

/// A value to be written: a number, a bool, text, or an array of one of them. An array of arrays cannot be said.
///
/// Made by `From` of plain numbers, bools and text, of slices of them (`&[u8]` is an array of `u8`; `&[&[u8]]` one of
/// strings that need not be text, as some vocabularies have), and of what a reader shows, arrays of any length and byte
/// order without a copy.
///
/// ```
/// use tensorgate::gguf::{ValueType, WriteValue};
///
/// assert_eq!(WriteValue::from(7_u16).kind(), ValueType::U16);
/// assert_eq!(WriteValue::from("text").kind(), ValueType::String);
/// assert_eq!(WriteValue::from(&[0.5_f32, 1.0]).kind(), ValueType::Array);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WriteValue<'a>(Source<'a>);

/// Where the value is.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Shown(Value<'a>),
    Text(Name<'a>),
    U8s(&'a [u8]),
    I8s(&'a [i8]),
    U16s(&'a [u16]),
    I16s(&'a [i16]),
    U32s(&'a [u32]),
    I32s(&'a [i32]),
    F32s(&'a [f32]),
    Bools(&'a [bool]),
    U64s(&'a [u64]),
    I64s(&'a [i64]),
    F64s(&'a [f64]),
    Strs(&'a [&'a str]),
    Strings(&'a [String]),
    Bytes(&'a [&'a [u8]]),
}

macro_rules! from_scalars {
    ($($type:ty, $scalar:ident, $slice:ident;)*) => {$(
        impl From<$type> for WriteValue<'_> {
            fn from(value: $type) -> Self {
                Self(Source::Shown(Value::$scalar(value)))
            }
        }

        from_slices!($type, $slice);
    )*};
}

macro_rules! from_slices {
    ($type:ty, $slice:ident) => {
        impl<'a> From<&'a [$type]> for WriteValue<'a> {
            fn from(array: &'a [$type]) -> Self {
                Self(Source::$slice(array))
            }
        }

        impl<'a, const N: usize> From<&'a [$type; N]> for WriteValue<'a> {
            fn from(array: &'a [$type; N]) -> Self {
                Self(Source::$slice(array))
            }
        }
    };
}

from_scalars! {
    u8, U8, U8s;
    i8, I8, I8s;
    u16, U16, U16s;
    i16, I16, I16s;
    u32, U32, U32s;
    i32, I32, I32s;
    f32, F32, F32s;
    bool, Bool, Bools;
    u64, U64, U64s;
    i64, I64, I64s;
    f64, F64, F64s;
}

from_slices!(&'a str, Strs);
from_slices!(String, Strings);
from_slices!(&'a [u8], Bytes);

impl<'a> From<&'a str> for WriteValue<'a> {
    fn from(text: &'a str) -> Self {
        Self(Source::Text(text.into()))
    }
}

impl<'a> From<&'a String> for WriteValue<'a> {
    fn from(text: &'a String) -> Self {
        Self(Source::Text(text.into()))
    }
}

impl<'a> From<Name<'a>> for WriteValue<'a> {
    fn from(text: Name<'a>) -> Self {
        Self(Source::Text(text))
    }
}

impl<'a> From<Str<'a>> for WriteValue<'a> {
    fn from(text: Str<'a>) -> Self {
        Self(Source::Shown(Value::String(text)))
    }
}

impl<'a> From<Array<'a>> for WriteValue<'a> {
    fn from(array: Array<'a>) -> Self {
        Self(Source::Shown(Value::Array(array)))
    }
}

impl<'a> From<Value<'a>> for WriteValue<'a> {
    fn from(value: Value<'a>) -> Self {
        Self(Source::Shown(value))
    }
}

impl WriteValue<'_> {
    /// Its type.
    pub const fn kind(&self) -> ValueType {
        match self.0 {
            Source::Shown(value) => value.kind(),
            Source::Text(_) => ValueType::String,
            _ => ValueType::Array,
        }
    }

    /// The value of a `u32`.
    pub(super) const fn u32(&self) -> Option<u32> {
        match self.0 {
            Source::Shown(Value::U32(value)) => Some(value),
            _ => None,
        }
    }

    /// Writes the value, its type first; `index` is the pair's.
    pub(super) fn write(&self, head: &mut Head, index: usize, limits: &Limits) -> Result<(), PlanError> {
        head.number(self.kind().id())?;
        let mut out = Out { head, index, limits };
        match self.0 {
            Source::Shown(value) => out.shown(value),
            Source::Text(text) => out.text(text),
            Source::U8s(bytes) => {
                out.begin(ValueType::U8, bytes.len())?;
                out.head.put(bytes)
            }
            Source::I8s(array) => out.numbers(array),
            Source::U16s(array) => out.numbers(array),
            Source::I16s(array) => out.numbers(array),
            Source::U32s(array) => out.numbers(array),
            Source::I32s(array) => out.numbers(array),
            Source::F32s(array) => out.numbers(array),
            Source::Bools(array) => out.numbers(array),
            Source::U64s(array) => out.numbers(array),
            Source::I64s(array) => out.numbers(array),
            Source::F64s(array) => out.numbers(array),
            Source::Strs(array) => out.strings(array.iter().map(|text| text.as_bytes())),
            Source::Strings(array) => out.strings(array.iter().map(String::as_bytes)),
            Source::Bytes(array) => out.strings(array.iter().copied()),
        }
    }
}

/// A value on its way into the header.
struct Out<'h, 'l> {
    head: &'h mut Head,
    index: usize,
    limits: &'l Limits,
}

impl Out<'_, '_> {
    /// A value as a reader shows it, without its type.
    fn shown(&mut self, value: Value<'_>) -> Result<(), PlanError> {
        match value {
            Value::U8(value) => self.head.number(value),
            Value::I8(value) => self.head.number(value),
            Value::U16(value) => self.head.number(value),
            Value::I16(value) => self.head.number(value),
            Value::U32(value) => self.head.number(value),
            Value::I32(value) => self.head.number(value),
            Value::F32(value) => self.head.number(value),
            Value::Bool(value) => self.head.number(value),
            Value::U64(value) => self.head.number(value),
            Value::I64(value) => self.head.number(value),
            Value::F64(value) => self.head.number(value),
            // Strings of arrays need not be text, and one of them may have been taken out of its array.
            Value::String(text) => match text.as_str() {
                Ok(text) => self.text(text.into()),
                Err(_) => Err(PlanError::StringUtf8 { index: self.index }),
            },
            Value::Array(array) => self.array(array),
        }
    }

    fn text(&mut self, text: Name<'_>) -> Result<(), PlanError> {
        let limit = self.limits.string_len();
        let len = text_len(text);
        if len > limit { Err(PlanError::StringLen { index: self.index, limit }) } else { self.head.text(text, len) }
    }

    /// The element type and the count of an array.
    fn begin(&mut self, kind: ValueType, count: usize) -> Result<(), PlanError> {
        let (count, limit) = (num::widen(count), self.limits.array_len());
        if count > limit {
            return Err(PlanError::ArrayLen { index: self.index, limit });
        }
        self.head.number(kind.id())?;
        self.head.number(count)
    }

    fn numbers<T: Number>(&mut self, array: &[T]) -> Result<(), PlanError> {
        self.begin(T::TYPE, array.len())?;
        array.iter().try_for_each(|value| self.head.number(*value))
    }

    fn strings<'a>(&mut self, strings: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<(), PlanError> {
        self.begin(ValueType::String, strings.len())?;
        let limit = self.limits.string_len();
        for text in strings {
            let len = num::widen(text.len());
            if len > limit {
                return Err(PlanError::StringLen { index: self.index, limit });
            }
            self.head.number(len)?;
            self.head.put(text)?;
        }
        Ok(())
    }

    /// An array that was read from another file, maybe of the other byte order.
    fn array(&mut self, array: Array<'_>) -> Result<(), PlanError> {
        if let Ok(strings) = array.strings() {
            return self.strings(strings.map(Str::bytes));
        }
        self.begin(array.kind(), array.len())?;
        let size = array.kind().size().and_then(num::narrow).unwrap_or(1);
        if size == 1 || array.endian() == self.head.endian() {
            return self.head.put(array.bytes());
        }
        for number in array.bytes().chunks(size) {
            let mut turned = [0; 8];
            for (place, byte) in turned.iter_mut().zip(number.iter().rev()) {
                *place = *byte;
            }
            self.head.put(turned.get(..size).unwrap_or_default())?;
        }
        Ok(())
    }
}
