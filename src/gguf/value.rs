//! Metadata values: the 13 types, and getters that widen without loss and never panic.

use core::fmt;

use super::array::Array;
use super::reader::Endian;
use super::text::Str;
use crate::cursor::Cursor;

macro_rules! value_types {
    ($($(#[$doc:meta])* $variant:ident $id:literal $name:literal $size:expr;)*) => {
        /// The type of a metadata value. Source: `docs/gguf.md` of ggml 0.21.0, and `gguf.cpp` lines 34 to 109.
        ///
        /// ```
        /// use tensorgate::gguf::ValueType;
        /// assert_eq!(ValueType::from_id(6), Some(ValueType::F32));
        /// assert_eq!(ValueType::from_id(13), None);
        /// assert_eq!((ValueType::F32.size(), ValueType::String.size()), (Some(4), None));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ValueType { $($(#[$doc])* $variant,)* }

        impl ValueType {
            /// All 13, by ascending number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The type with this number.
            #[inline]
            pub const fn from_id(id: u32) -> Option<Self> {
                match id { $($id => Some(Self::$variant),)* _ => None }
            }

            /// Its number in the file.
            pub const fn id(self) -> u32 {
                match self { $(Self::$variant => $id,)* }
            }

            /// Its name, as the reference prints it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Bytes that a value takes, or `None` for strings and arrays.
            #[inline]
            pub const fn size(self) -> Option<u64> {
                match self { $(Self::$variant => $size,)* }
            }
        }
    };
}

value_types! {
    /// Unsigned byte.
    U8 0 "u8" Some(1);
    /// Signed byte.
    I8 1 "i8" Some(1);
    /// Unsigned 16-bit integer.
    U16 2 "u16" Some(2);
    /// Signed 16-bit integer.
    I16 3 "i16" Some(2);
    /// Unsigned 32-bit integer.
    U32 4 "u32" Some(4);
    /// Signed 32-bit integer.
    I32 5 "i32" Some(4);
    /// IEEE single.
    F32 6 "f32" Some(4);
    /// One byte, 0 or 1.
    Bool 7 "bool" Some(1);
    /// 64-bit length, then bytes.
    String 8 "str" None;
    /// Element type, 64-bit count, then the elements.
    Array 9 "arr" None;
    /// Unsigned 64-bit integer.
    U64 10 "u64" Some(8);
    /// Signed 64-bit integer.
    I64 11 "i64" Some(8);
    /// IEEE double.
    F64 12 "f64" Some(8);
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a value is not what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueError {
    /// There is no such key.
    Missing,
    /// The value, or the array's element, is of this type, which is not the one asked for and does not widen to it.
    Type(ValueType),
    /// The string is not valid UTF-8.
    Utf8,
    /// The index for an array of strings needs this many words.
    IndexTooSmall(usize),
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such key"),
            Self::Type(found) => write!(f, "the value is of another type: {found}"),
            Self::Utf8 => f.write_str("the string is not valid UTF-8"),
            Self::IndexTooSmall(words) => write!(f, "the index needs {words} words"),
        }
    }
}

impl core::error::Error for ValueError {}

/// A metadata value. Arrays and strings are borrowed from the file.
///
/// The getters widen by type, never by value: [`u64`](Value::u64) takes every unsigned integer, [`i64`](Value::i64)
/// every integer that it can hold whatever the value, [`f64`](Value::f64) both floats. So a getter that works for a key
/// in one file works for each file that gives the key the same type.
///
/// ```
/// use tensorgate::gguf::{Value, ValueError, ValueType};
/// assert_eq!(Value::U8(7).u64(), Ok(7));
/// assert_eq!(Value::I32(7).u64(), Err(ValueError::Type(ValueType::I32)));
/// assert_eq!(Value::I32(7).i64(), Ok(7));
/// assert_eq!(Value::F32(0.5).f64(), Ok(0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Unsigned byte.
    U8(u8),
    /// Signed byte.
    I8(i8),
    /// Unsigned 16-bit integer.
    U16(u16),
    /// Signed 16-bit integer.
    I16(i16),
    /// Unsigned 32-bit integer.
    U32(u32),
    /// Signed 32-bit integer.
    I32(i32),
    /// IEEE single.
    F32(f32),
    /// True or false.
    Bool(bool),
    /// A string.
    String(Str<'a>),
    /// An array.
    Array(Array<'a>),
    /// Unsigned 64-bit integer.
    U64(u64),
    /// Signed 64-bit integer.
    I64(i64),
    /// IEEE double.
    F64(f64),
}

/// The number that stands next.
macro_rules! number {
    ($cursor:expr, $endian:expr, $type:ty) => {{
        let bytes = $cursor.array()?;
        match $endian {
            Endian::Little => <$type>::from_le_bytes(bytes),
            Endian::Big => <$type>::from_be_bytes(bytes),
        }
    }};
}
pub(super) use number;

impl<'a> Value<'a> {
    /// The value of this type that stands next, in bytes that were proved before.
    #[inline]
    pub(super) fn read(cursor: &mut Cursor<'a>, kind: ValueType, endian: Endian) -> Option<Self> {
        Some(match kind {
            ValueType::U8 => Self::U8(cursor.byte()?),
            ValueType::I8 => Self::I8(cursor.byte()?.cast_signed()),
            ValueType::U16 => Self::U16(number!(cursor, endian, u16)),
            ValueType::I16 => Self::I16(number!(cursor, endian, i16)),
            ValueType::U32 => Self::U32(number!(cursor, endian, u32)),
            ValueType::I32 => Self::I32(number!(cursor, endian, i32)),
            ValueType::F32 => Self::F32(number!(cursor, endian, f32)),
            ValueType::Bool => Self::Bool(cursor.byte()? != 0),
            ValueType::String => Self::String(string(cursor, endian)?),
            ValueType::Array => Self::Array(Array::read_inner(cursor, endian)?),
            ValueType::U64 => Self::U64(number!(cursor, endian, u64)),
            ValueType::I64 => Self::I64(number!(cursor, endian, i64)),
            ValueType::F64 => Self::F64(number!(cursor, endian, f64)),
        })
    }

    /// Its type.
    pub const fn kind(&self) -> ValueType {
        match self {
            Self::U8(_) => ValueType::U8,
            Self::I8(_) => ValueType::I8,
            Self::U16(_) => ValueType::U16,
            Self::I16(_) => ValueType::I16,
            Self::U32(_) => ValueType::U32,
            Self::I32(_) => ValueType::I32,
            Self::F32(_) => ValueType::F32,
            Self::Bool(_) => ValueType::Bool,
            Self::String(_) => ValueType::String,
            Self::Array(_) => ValueType::Array,
            Self::U64(_) => ValueType::U64,
            Self::I64(_) => ValueType::I64,
            Self::F64(_) => ValueType::F64,
        }
    }

    /// An unsigned integer of any width.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] for every other type.
    pub fn u64(&self) -> Result<u64, ValueError> {
        match *self {
            Self::U8(value) => Ok(value.into()),
            Self::U16(value) => Ok(value.into()),
            Self::U32(value) => Ok(value.into()),
            Self::U64(value) => Ok(value),
            _ => Err(ValueError::Type(self.kind())),
        }
    }

    /// A signed integer of any width, or an unsigned one of up to 32 bits.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] for every other type.
    pub fn i64(&self) -> Result<i64, ValueError> {
        match *self {
            Self::U8(value) => Ok(value.into()),
            Self::I8(value) => Ok(value.into()),
            Self::U16(value) => Ok(value.into()),
            Self::I16(value) => Ok(value.into()),
            Self::U32(value) => Ok(value.into()),
            Self::I32(value) => Ok(value.into()),
            Self::I64(value) => Ok(value),
            _ => Err(ValueError::Type(self.kind())),
        }
    }

    /// A float of either width.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] for every other type, integers too.
    pub fn f64(&self) -> Result<f64, ValueError> {
        match *self {
            Self::F32(value) => Ok(value.into()),
            Self::F64(value) => Ok(value),
            _ => Err(ValueError::Type(self.kind())),
        }
    }

    /// A bool.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] for every other type.
    pub fn bool(&self) -> Result<bool, ValueError> {
        match *self {
            Self::Bool(value) => Ok(value),
            _ => Err(ValueError::Type(self.kind())),
        }
    }

    /// A string's text.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] for every other type, [`ValueError::Utf8`] for bytes that are no text.
    pub fn str(&self) -> Result<&'a str, ValueError> {
        match self {
            Self::String(text) => text.as_str(),
            _ => Err(ValueError::Type(self.kind())),
        }
    }

    /// An array.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] for every other type.
    pub fn array(&self) -> Result<Array<'a>, ValueError> {
        match self {
            Self::Array(array) => Ok(*array),
            _ => Err(ValueError::Type(self.kind())),
        }
    }
}

/// The string that stands next, in bytes that were proved before.
#[inline]
pub(super) fn string<'a>(cursor: &mut Cursor<'a>, endian: Endian) -> Option<Str<'a>> {
    let len = number!(cursor, endian, u64);
    cursor.take(crate::num::narrow(len)?).map(Str::new)
}

/// A key with its value, and where they stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<'a> {
    pub(super) key: &'a str,
    pub(super) key_at: u64,
    pub(super) value: Value<'a>,
}

impl<'a> Pair<'a> {
    /// The key: printable ASCII.
    pub const fn key(&self) -> &'a str {
        self.key
    }

    /// The value.
    pub const fn value(&self) -> Value<'a> {
        self.value
    }

    /// Absolute offset of the key's first byte.
    pub const fn key_at(&self) -> u64 {
        self.key_at
    }

    /// Absolute offset of the value's type.
    pub const fn type_at(&self) -> u64 {
        self.key_at.saturating_add(crate::num::widen(self.key.len()))
    }

    /// Absolute offset of the value's first byte: a number, a string's length, an array's element type.
    pub const fn value_at(&self) -> u64 {
        self.type_at().saturating_add(4)
    }
}

/// The typed getters, for everything that has a `get`.
macro_rules! getters {
    ($life:lifetime) => {
        /// The unsigned integer of any width under `key`.
        ///
        /// # Errors
        ///
        /// [`ValueError::Missing`] when there is no such key, otherwise as [`Value::u64`].
        pub fn u64(&self, key: &str) -> Result<u64, ValueError> {
            self.get(key).ok_or(ValueError::Missing)?.u64()
        }

        /// The signed integer, or unsigned one of up to 32 bits, under `key`.
        ///
        /// # Errors
        ///
        /// [`ValueError::Missing`] when there is no such key, otherwise as [`Value::i64`].
        pub fn i64(&self, key: &str) -> Result<i64, ValueError> {
            self.get(key).ok_or(ValueError::Missing)?.i64()
        }

        /// The float under `key`.
        ///
        /// # Errors
        ///
        /// [`ValueError::Missing`] when there is no such key, otherwise as [`Value::f64`].
        pub fn f64(&self, key: &str) -> Result<f64, ValueError> {
            self.get(key).ok_or(ValueError::Missing)?.f64()
        }

        /// The bool under `key`.
        ///
        /// # Errors
        ///
        /// [`ValueError::Missing`] when there is no such key, otherwise as [`Value::bool`].
        pub fn bool(&self, key: &str) -> Result<bool, ValueError> {
            self.get(key).ok_or(ValueError::Missing)?.bool()
        }

        /// The text under `key`.
        ///
        /// # Errors
        ///
        /// [`ValueError::Missing`] when there is no such key, otherwise as [`Value::str`].
        pub fn str(&self, key: &str) -> Result<&$life str, ValueError> {
            self.get(key).ok_or(ValueError::Missing)?.str()
        }

        /// The array under `key`.
        ///
        /// # Errors
        ///
        /// [`ValueError::Missing`] when there is no such key, otherwise as [`Value::array`].
        pub fn array(&self, key: &str) -> Result<Array<$life>, ValueError> {
            self.get(key).ok_or(ValueError::Missing)?.array()
        }
    };
}
pub(super) use getters;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        assert_eq!(ValueType::ALL.len(), 13);
        for (id, kind) in (0..).zip(ValueType::ALL) {
            assert_eq!((kind.id(), ValueType::from_id(id)), (id, Some(*kind)));
        }
        for id in [13, 255, i32::MAX.cast_unsigned(), 1 << 31, u32::MAX] {
            assert_eq!(ValueType::from_id(id), None);
        }
    }

    #[test]
    fn widening_is_lossless_at_the_edges() {
        assert_eq!(Value::U64(u64::MAX).u64(), Ok(u64::MAX));
        assert_eq!(Value::U32(u32::MAX).i64(), Ok(4_294_967_295));
        assert_eq!(Value::I8(-128).i64(), Ok(-128));
        assert_eq!(Value::U64(0).i64(), Err(ValueError::Type(ValueType::U64)));
        assert_eq!(Value::F32(f32::MIN_POSITIVE).f64(), Ok(f64::from(f32::MIN_POSITIVE)));
        assert_eq!(Value::U32(1).f64(), Err(ValueError::Type(ValueType::U32)));
        assert_eq!(Value::U8(1).bool(), Err(ValueError::Type(ValueType::U8)));
        assert_eq!(Value::Bool(true).u64(), Err(ValueError::Type(ValueType::Bool)));
    }
}
