//! The key/value pairs, read once in the file's order.

use super::LEAST_PAIR;
use super::array::Array;
use super::nest::{LEAST_ARRAY, Nest};
use super::reader::{Endian, Reader};
use super::slot::{Slot, Store};
use super::value::{Pair, Value, ValueType};
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::{Limits, num};

/// The key of the alignment.
pub(super) const ALIGNMENT_KEY: &[u8] = b"general.alignment";

/// The alignment of a file that does not say: `GGUF_DEFAULT_ALIGNMENT` of the reference.
pub(super) const DEFAULT_ALIGNMENT: u32 = 32;

/// Reads `count` pairs, behind which `after` bytes follow at least; returns the alignment, and whether all were stored.
pub(super) fn pairs<S: Store>(
    reader: &mut Reader<'_>,
    count: u64,
    after: u64,
    store: &mut S,
    limits: &Limits,
) -> Result<(u32, bool), Error> {
    let mut alignment = DEFAULT_ALIGNMENT;
    let mut stored = true;
    for left in (0..count).rev() {
        reader.set_after(after.saturating_add(left.saturating_mul(LEAST_PAIR)));
        let key = key(reader, limits)?;
        let type_at = reader.at();
        let tag = reader.u32()?;
        let kind = ValueType::from_id(tag).ok_or(Error::new(ErrorKind::GgValueType, type_at))?;
        if key == ALIGNMENT_KEY {
            alignment = read_alignment(reader, kind, type_at)?;
        } else {
            value(reader, kind, limits)?;
        }
        let key_at = type_at.saturating_sub(num::widen(key.len()));
        stored = stored && store.push(Slot::new(key_at, key.len(), reader.at()));
    }
    Ok((alignment, stored))
}

/// A key: one byte to the limit of printable ASCII.
///
/// The format's document wants `lower_snake_case`, but files of real models have hyphens in their keys, and the
/// reference takes any bytes.
#[inline]
fn key<'a>(reader: &mut Reader<'a>, limits: &Limits) -> Result<&'a [u8], Error> {
    let len_at = reader.at();
    let key = reader.string(limits.key_len(), ErrorKind::GgKeyLimit)?;
    if key.is_empty() {
        return Err(Error::new(ErrorKind::GgKeyEmpty, len_at));
    }
    if key.iter().fold(true, |all, byte| all & printable(*byte)) {
        return Ok(key);
    }
    let clean = key.iter().take_while(|byte| printable(**byte)).count();
    Err(Error::new(ErrorKind::GgKeyCharset, len_at.saturating_add(8).saturating_add(num::widen(clean))))
}

/// Whether a key may have this byte.
#[inline]
pub(super) const fn printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// The value of `general.alignment`: a `u32` that is a power of two.
///
/// The document wants a multiple of 8; the reference takes 1, 2 and 4 too, and so does this.
#[cold]
fn read_alignment(reader: &mut Reader<'_>, kind: ValueType, type_at: u64) -> Result<u32, Error> {
    if kind != ValueType::U32 {
        return Err(Error::new(ErrorKind::GgAlignType, type_at));
    }
    let at = reader.at();
    let alignment = reader.u32()?;
    if alignment.is_power_of_two() { Ok(alignment) } else { Err(Error::new(ErrorKind::GgAlignValue, at)) }
}

/// Reads past a value, proving all that holds for its type.
#[inline]
fn value(reader: &mut Reader<'_>, kind: ValueType, limits: &Limits) -> Result<(), Error> {
    let at = reader.at();
    match kind {
        ValueType::String => {
            let text = reader.string(limits.string_len(), ErrorKind::GgStringLimit)?;
            let Err(error) = core::str::from_utf8(text) else { return Ok(()) };
            let inside = num::widen(error.valid_up_to()).saturating_add(8);
            let error = Error::new(ErrorKind::GgStringUtf8, at.saturating_add(inside));
            tolerate(reader, limits.gguf_invalid_utf8(), error)
        }
        ValueType::Array => array(reader, limits),
        plain => {
            let bytes = reader.bytes(plain.size().unwrap_or(0), at, ErrorKind::GgEnd)?;
            if plain == ValueType::Bool { bools(bytes, at) } else { Ok(()) }
        }
    }
}

/// Keeps what would have been an error where it is tolerated.
pub(super) fn tolerate(reader: &mut Reader<'_>, tolerated: bool, error: Error) -> Result<(), Error> {
    if !tolerated {
        return Err(error);
    }
    reader.relax(error.kind(), error.at());
    Ok(())
}

/// An array, and the arrays inside it as deep as is tolerated.
fn array(reader: &mut Reader<'_>, limits: &Limits) -> Result<(), Error> {
    let outer = reader.after();
    let mut nest = Nest::new();
    loop {
        let type_at = reader.at();
        let kind = ValueType::from_id(reader.u32()?).ok_or(Error::new(ErrorKind::GgArrayType, type_at))?;
        if kind == ValueType::Array {
            let tolerated = num::widen(nest.open()) < limits.gguf_nested_arrays();
            tolerate(reader, tolerated, Error::new(ErrorKind::GgArrayNested, type_at))?;
            let count_at = reader.at();
            let count = reader.u64()?;
            if count > limits.array_len() {
                return Err(Error::wanting(ErrorKind::GgArrayLimit, count_at, limits.array_len()));
            }
            // So the walk takes a step for each 12 bytes of the file at most.
            if num::mul(count, LEAST_ARRAY).is_none_or(|least| least > reader.left()) {
                return Err(Error::wanting(ErrorKind::GgArrayPastEnd, count_at, reader.left()));
            }
            if !nest.push(count) {
                return Err(Error::new(ErrorKind::GgArrayNested, type_at));
            }
        } else {
            plain_array(reader, kind, limits)?;
        }
        if !nest.advance() {
            reader.set_after(outer);
            return Ok(());
        }
        reader.set_after(outer.saturating_add(nest.after()));
    }
}

/// The count and the elements of an array that holds no arrays.
fn plain_array(reader: &mut Reader<'_>, kind: ValueType, limits: &Limits) -> Result<(), Error> {
    let count_at = reader.at();
    let count = reader.u64()?;
    if count > limits.array_len() {
        return Err(Error::wanting(ErrorKind::GgArrayLimit, count_at, limits.array_len()));
    }
    // A string takes 8 bytes at least. What does not fit 64 bits does not fit the file.
    let least = num::mul(count, kind.size().unwrap_or(8)).unwrap_or(u64::MAX);
    if kind == ValueType::String {
        if least > reader.left() {
            return Err(Error::wanting(ErrorKind::GgArrayPastEnd, count_at, reader.left()));
        }
        return reader.strings(count, limits.string_len());
    }
    let at = reader.at();
    let bytes = reader.bytes(least, count_at, ErrorKind::GgArrayPastEnd)?;
    if kind == ValueType::Bool { bools(bytes, at) } else { Ok(()) }
}

/// Every byte is 0 or 1. The reference takes any other as true, other readers refuse it.
fn bools(bytes: &[u8], at: u64) -> Result<(), Error> {
    if bytes.iter().fold(0, |any, byte| any | byte) <= 1 {
        return Ok(());
    }
    let good = bytes.iter().take_while(|byte| **byte <= 1).count();
    Err(Error::new(ErrorKind::GgBool, at.saturating_add(num::widen(good))))
}

/// The pair of a slot, in bytes that were proved before.
pub(super) fn pair<'a>(head: &'a [u8], endian: Endian, slot: &Slot) -> Option<Pair<'a>> {
    let key = core::str::from_utf8(super::check::name(head, slot)).ok()?;
    Some(Pair { key, key_at: u64::from(slot.at), value: value_of(head, endian, slot)? })
}

/// The value of a slot, in bytes that were proved before.
#[inline]
pub(super) fn value_of<'a>(head: &'a [u8], endian: Endian, slot: &Slot) -> Option<Value<'a>> {
    let type_at = num::widen32(slot.at).saturating_add(num::widen32(slot.len));
    let rest = head.get(type_at..num::widen32(slot.end))?;
    let mut cursor = Cursor::new(rest, num::widen(type_at));
    let kind = ValueType::from_id(endian.u32(cursor.array()?))?;
    match kind {
        // Nothing follows it, so its end is not looked for.
        ValueType::Array => Array::read(&mut cursor, endian).map(Value::Array),
        plain => Value::read(&mut cursor, plain, endian),
    }
}
