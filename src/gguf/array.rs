//! Arrays as they stand: numbers at any alignment, strings one after the other.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use zerocopy::byteorder::{BE, F32, F64, I16, I32, I64, LE, U16, U32, U64};
use zerocopy::{Immutable, KnownLayout, TryFromBytes, Unaligned};

use super::nest;
use super::reader::Endian;
use super::text::{Str, is_utf8};
use super::value::{Value, ValueError, ValueType, number, string};
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::num;

/// An array of metadata, borrowed from the file; elements are decoded as they are asked for.
///
/// ```
/// # use tensorgate::{Gguf, Limits, gguf::Slot};
/// # let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
/// # file.extend_from_slice(b"\x01\0\0\0\0\0\0\0k\x09\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\x07\0\x08\0");
/// # let mut slots = [Slot::EMPTY; 1];
/// let file = Gguf::open_in(&file, &mut slots, &Limits::default())?;
/// let array = file.array("k").unwrap();
/// assert!(array.elements::<u16>().unwrap().eq([7, 8]));
/// assert_eq!(array.get(1).unwrap().u64(), Ok(8));
/// // The same without decoding: a slice over the file's own bytes, at any alignment.
/// assert_eq!(array.le_slice::<u16>().unwrap()[1].get(), 8);
/// // The element type is never guessed.
/// assert!(array.elements::<f32>().is_err() && array.strings().is_err());
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Array<'a> {
    kind: ValueType,
    endian: Endian,
    count: usize,
    bytes: &'a [u8],
    at: u64,
}

/// A type that an array of numbers or bools can be read as: exactly the type that the file declares.
pub trait Element: Copy {
    /// The element type in the file.
    const TYPE: ValueType;
    /// The element in a little-endian file, at any alignment.
    type Le: TryFromBytes + KnownLayout + Immutable + Unaligned;
    /// The element in a big-endian file, at any alignment.
    type Be: TryFromBytes + KnownLayout + Immutable + Unaligned;

    /// The element that `bytes` begin with, and what follows it.
    fn read(bytes: &[u8], endian: Endian) -> Option<(Self, &[u8])>;
}

macro_rules! elements {
    ($($type:ty, $kind:ident, $le:ty, $be:ty;)*) => {$(
        impl Element for $type {
            const TYPE: ValueType = ValueType::$kind;
            type Le = $le;
            type Be = $be;

            #[inline]
            fn read(bytes: &[u8], endian: Endian) -> Option<(Self, &[u8])> {
                let (head, rest) = bytes.split_first_chunk()?;
                let element = match endian {
                    Endian::Little => <$type>::from_le_bytes(*head),
                    Endian::Big => <$type>::from_be_bytes(*head),
                };
                Some((element, rest))
            }
        }
    )*};
}

elements! {
    u8, U8, u8, u8;
    i8, I8, i8, i8;
    u16, U16, U16<LE>, U16<BE>;
    i16, I16, I16<LE>, I16<BE>;
    u32, U32, U32<LE>, U32<BE>;
    i32, I32, I32<LE>, I32<BE>;
    f32, F32, F32<LE>, F32<BE>;
    u64, U64, U64<LE>, U64<BE>;
    i64, I64, I64<LE>, I64<BE>;
    f64, F64, F64<LE>, F64<BE>;
}

impl Element for bool {
    const TYPE: ValueType = ValueType::Bool;
    type Le = bool;
    type Be = bool;

    #[inline]
    fn read(bytes: &[u8], _: Endian) -> Option<(Self, &[u8])> {
        bytes.split_first().map(|(first, rest)| (*first != 0, rest))
    }
}

impl<'a> Array<'a> {
    /// The array whose element type stands next and whose elements are all that is left; proved before.
    pub(super) fn read(cursor: &mut Cursor<'a>, endian: Endian) -> Option<Self> {
        let kind = ValueType::from_id(number!(cursor, endian, u32))?;
        let count = num::narrow(number!(cursor, endian, u64))?;
        let at = cursor.at();
        let bytes = cursor.take(cursor.rest().len())?;
        Some(Self { kind, endian, count, bytes, at })
    }

    /// The array that stands next inside another one; proved before.
    pub(super) fn read_inner(cursor: &mut Cursor<'a>, endian: Endian) -> Option<Self> {
        let (rest, at) = (cursor.rest(), cursor.at());
        nest::skip(cursor, endian)?;
        let own = rest.get(..rest.len().checked_sub(cursor.rest().len())?)?;
        Self::read(&mut Cursor::new(own, at), endian)
    }

    /// The type of the elements. They are arrays only where [`Limits`](crate::Limits::gguf_nested_arrays) tolerate it;
    /// then each step of [`iter`](Self::iter) gives one of them, which can be walked in turn.
    pub const fn kind(&self) -> ValueType {
        self.kind
    }

    /// How many elements there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no element.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The order of the bytes in each number.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// The elements as they stand in the file; for strings, the lengths in between too.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Absolute offset of the first element.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The element at `index`: at once for numbers and bools, by walking over those before it for strings (see
    /// [`index_in`](Self::index_in)) and arrays.
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        if index >= self.count {
            return None;
        }
        let Some(size) = self.kind.size().and_then(num::narrow) else { return self.iter().nth(index) };
        let rest = self.bytes.get(index.checked_mul(size)?..)?;
        Value::read(&mut Cursor::new(rest, 0), self.kind, self.endian)
    }

    /// The elements, whatever their type.
    pub fn iter(&self) -> Values<'a> {
        Values { cursor: Cursor::new(self.bytes, self.at), kind: self.kind, endian: self.endian, left: self.count }
    }

    /// The elements as numbers of type `T`, which must be exactly the type in the file.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] when the elements are of another type.
    pub fn elements<T: Element>(&self) -> Result<Elements<'a, T>, ValueError> {
        self.expect(T::TYPE)?;
        Ok(Elements { rest: self.bytes, endian: self.endian, kind: PhantomData })
    }

    /// The elements of a little-endian file as a slice over the file's own bytes.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] when the elements are of another type, or the file is big-endian.
    pub fn le_slice<T: Element>(&self) -> Result<&'a [T::Le], ValueError> {
        self.expect_in::<T>(Endian::Little)?;
        <[T::Le]>::try_ref_from_bytes(self.bytes).map_err(|_| ValueError::Type(self.kind))
    }

    /// The elements of a big-endian file as a slice over the file's own bytes.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] when the elements are of another type, or the file is little-endian.
    pub fn be_slice<T: Element>(&self) -> Result<&'a [T::Be], ValueError> {
        self.expect_in::<T>(Endian::Big)?;
        <[T::Be]>::try_ref_from_bytes(self.bytes).map_err(|_| ValueError::Type(self.kind))
    }

    /// The strings, one after the other, in constant memory.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] when the elements are no strings.
    pub fn strings(&self) -> Result<Strings<'a>, ValueError> {
        self.expect(ValueType::String)?;
        Ok(Strings { cursor: Cursor::new(self.bytes, self.at), endian: self.endian, left: self.count })
    }

    /// The strings with an index in the caller's storage, one word a string, so that each is found at once.
    ///
    /// # Errors
    ///
    /// [`ValueError::Type`] when the elements are no strings, [`ValueError::IndexTooSmall`] when there are more strings
    /// than words.
    pub fn index_in<'s>(&self, words: &'s mut [u32]) -> Result<StringIndex<'a, 's>, ValueError> {
        let strings = self.strings()?;
        let words = words.get_mut(..self.count).ok_or(ValueError::IndexTooSmall(self.count))?;
        let mut rest = strings;
        for word in words.iter_mut() {
            let done = self.bytes.len().saturating_sub(rest.cursor.rest().len());
            // All metadata is shorter than 2^32 bytes.
            *word = num::narrow32(done).unwrap_or(u32::MAX);
            rest.next();
        }
        Ok(StringIndex { array: *self, words })
    }

    /// Proves that every string of the array is valid UTF-8, or that the elements are no strings.
    ///
    /// Opening a file does not look into the strings of arrays. This does, for all of them together: it is one pass over
    /// the bytes where they are all ASCII, and otherwise a walk that checks the longest stretches that have no length
    /// byte over 127 in them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::GgArrayUtf8`] at the first byte that is wrong.
    pub fn check_utf8(&self) -> Result<(), Error> {
        if self.kind != ValueType::String || self.bytes.is_ascii() || self.is_utf8() {
            return Ok(());
        }
        self.strings().map_or(Ok(()), first_fault)
    }

    /// A stretch of strings with their lengths is valid exactly when each string in it is, as long as the lengths are
    /// ASCII: a character cannot go on across one. So strings are taken together up to a length that is not.
    fn is_utf8(&self) -> bool {
        let Ok(mut strings) = self.strings() else { return true };
        let mut stretch = self.bytes;
        loop {
            let before = strings.cursor.rest().len();
            let Some(next) = strings.next() else { return is_utf8(stretch) };
            if num::widen(next.bytes().len()) & 0x8080_8080_8080_8080 != 0 {
                let done = stretch.len().saturating_sub(before);
                if !is_utf8(stretch.get(..done).unwrap_or_default()) {
                    return false;
                }
                let start = strings.cursor.rest().len().saturating_add(next.bytes().len());
                stretch = stretch.get(stretch.len().saturating_sub(start)..).unwrap_or_default();
            }
        }
    }

    fn expect(&self, kind: ValueType) -> Result<(), ValueError> {
        if self.kind == kind { Ok(()) } else { Err(ValueError::Type(self.kind)) }
    }

    fn expect_in<T: Element>(&self, endian: Endian) -> Result<(), ValueError> {
        let same_order = self.endian == endian || T::TYPE.size() == Some(1);
        if same_order { self.expect(T::TYPE) } else { Err(ValueError::Type(self.kind)) }
    }
}

/// The first byte that is not UTF-8, string by string.
#[cold]
fn first_fault(mut strings: Strings<'_>) -> Result<(), Error> {
    while let Some(text) = strings.next() {
        if let Err(error) = core::str::from_utf8(text.bytes()) {
            let after = num::widen(text.bytes().len().saturating_sub(error.valid_up_to()));
            return Err(Error::new(ErrorKind::GgArrayUtf8, strings.cursor.at().saturating_sub(after)));
        }
    }
    Ok(())
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

impl PartialEq for Array<'_> {
    /// Equal element types and elements, wherever they stand and in whatever byte order.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.count == other.count && self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}; {}] at {}", self.kind, self.count, self.at)
    }
}

/// Iterator over an [`Array`]'s elements, whatever their type.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    cursor: Cursor<'a>,
    kind: ValueType,
    endian: Endian,
    left: usize,
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        Value::read(&mut self.cursor, self.kind, self.endian)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Values<'_> {}
impl FusedIterator for Values<'_> {}

/// Iterator over an [`Array`]'s numbers or bools.
#[derive(Clone, Debug)]
pub struct Elements<'a, T> {
    rest: &'a [u8],
    endian: Endian,
    kind: PhantomData<T>,
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (element, rest) = T::read(self.rest, self.endian)?;
        self.rest = rest;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let size = T::TYPE.size().and_then(num::narrow);
        let left = size.and_then(|size| self.rest.len().checked_div(size)).unwrap_or(0);
        (left, Some(left))
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}
impl<T: Element> FusedIterator for Elements<'_, T> {}

/// Iterator over an [`Array`]'s strings.
#[derive(Clone, Debug)]
pub struct Strings<'a> {
    cursor: Cursor<'a>,
    endian: Endian,
    left: usize,
}

impl<'a> Iterator for Strings<'a> {
    type Item = Str<'a>;

    #[inline]
    fn next(&mut self) -> Option<Str<'a>> {
        self.left = self.left.checked_sub(1)?;
        string(&mut self.cursor, self.endian)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Strings<'_> {}
impl FusedIterator for Strings<'_> {}

/// An array of strings with an index, in the caller's storage.
#[derive(Clone, Copy, Debug)]
pub struct StringIndex<'a, 's> {
    array: Array<'a>,
    words: &'s [u32],
}

impl<'a> StringIndex<'a, '_> {
    /// The string at `index`, at once.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Str<'a>> {
        let start = num::widen32(*self.words.get(index)?);
        string(&mut Cursor::new(self.array.bytes.get(start..)?, 0), self.array.endian)
    }

    /// How many strings there are.
    pub const fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no string.
    pub const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn strings(texts: &[&[u8]], endian: Endian) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in texts {
            let len = num::widen(text.len());
            bytes.extend_from_slice(&if endian == Endian::Little { len.to_le_bytes() } else { len.to_be_bytes() });
            bytes.extend_from_slice(text);
        }
        bytes
    }

    fn array<'a>(texts: &[&[u8]], bytes: &'a [u8], endian: Endian) -> Array<'a> {
        Array { kind: ValueType::String, endian, count: texts.len(), bytes, at: 1000 }
    }

    #[test]
    fn text_is_checked_string_by_string() {
        let long = [b'x'; 200];
        let lead = &[&[b'y'; 130][..], b"\xc3"].concat()[..];
        let mix = "é".repeat(100);
        // (strings, offset of the first wrong byte)
        let cases: &[(&[&[u8]], Option<u64>)] = &[
            (&[], None),
            (&[b"a", b"", b"bc"], None),
            (&["é".as_bytes(), &long, "日本".as_bytes(), mix.as_bytes(), b""], None),
            // A lead byte whose continuation would be the next length.
            (&[b"\xc3", &[b'x'; 0x80]], Some(1008)),
            (&[b"ok", b"\xc3", &[b'x'; 0xA9]], Some(1018)),
            (&[&long, b"\xe2\x82", &[b'x'; 0xAC]], Some(1216)),
            // A continuation byte that would belong to a length of 0xC3.
            (&[&[&[0x80][..], &[b'x'; 0xC2]].concat()], Some(1008)),
            (&[lead, b"z"], Some(1138)),
            (&["é".as_bytes(), &long, b"\xff"], Some(1226)),
        ];
        for endian in [Endian::Little, Endian::Big] {
            for (texts, fault) in cases {
                let bytes = strings(texts, endian);
                let checked = array(texts, &bytes, endian).check_utf8();
                assert_eq!(
                    checked.map_err(|error| Some(error.at())),
                    fault.map_or(Ok(()), |at| Err(Some(at))),
                    "{texts:?}"
                );
            }
        }
    }

    #[test]
    fn the_stretches_agree_with_the_strings() {
        // Lengths and contents that meet in every way at the edges of the stretches.
        let pieces: Vec<Vec<u8>> = [0_usize, 1, 127, 128, 129, 0xC3, 255, 256, 0x4080]
            .iter()
            .flat_map(|len| {
                [b"a".as_slice(), "é".as_bytes(), b"\x80", b"\xc3"]
                    .map(|fill| fill.iter().copied().cycle().take(*len).collect())
            })
            .collect();
        for first in &pieces {
            for second in pieces.iter().step_by(crate::sparse::step(5)) {
                let texts = [&first[..], b"k", &second[..]];
                for endian in [Endian::Little, Endian::Big] {
                    let bytes = strings(&texts, endian);
                    let array = array(&texts, &bytes, endian);
                    let want = texts.iter().all(|text| core::str::from_utf8(text).is_ok());
                    assert_eq!(array.check_utf8().is_ok(), want);
                    assert_eq!(array.is_utf8(), want);
                }
            }
        }
    }

    #[test]
    fn an_index_finds_each_string() {
        let texts: [&[u8]; 4] = [b"", b"one", &[b'x'; 300], b"\xff"];
        let bytes = strings(&texts, Endian::Big);
        let array = array(&texts, &bytes, Endian::Big);
        let mut words = [0; 6];
        assert_eq!(array.index_in(&mut words[..3]).unwrap_err(), ValueError::IndexTooSmall(4));
        let index = array.index_in(&mut words).unwrap();
        assert_eq!((index.len(), index.get(4)), (4, None));
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(index.get(at).unwrap().bytes(), *text);
            assert_eq!(array.get(at), Some(Value::String(Str::new(text))));
        }
        assert_eq!((array.get(4), array.strings().unwrap().len()), (None, 4));
    }
}
