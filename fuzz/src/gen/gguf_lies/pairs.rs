//! Faults in key/value pairs.

use super::{
    ALIGNMENT, Arbitrary, Built, ErrorKind, Field, Result, Told, Unstructured, Value, ValueType, again, one, pair,
    width, with_number,
};

pub(super) fn long_string(built: &Built, u: &mut Unstructured<'_>) -> Told {
    // Keys, text values and strings of arrays: whatever has a length, but for names, whose limit is lower.
    let places: Vec<&Field> = built
        .fields
        .iter()
        .filter(|field| field.past_end == ErrorKind::GgStringPastEnd && field.at < built.pairs_end)
        .collect();
    let Some(choice) = one(u, places.len())? else { return Ok(None) };
    let field = places[choice];
    let left = built.file.len() as u64 - field.at;
    let len = left + 1 + u.int_in_range(0..=300)?;
    // A longer key would be over its limit.
    if len > 65_535 {
        return Ok(None);
    }
    Ok(Some((with_number(built, field.claim, len, 8), ErrorKind::GgStringPastEnd, field.claim)))
}

pub(super) fn long_array(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |value| value.kind() == ValueType::Array)? else { return Ok(None) };
    let size = match &built.model.pairs[index].1 {
        Value::Numbers(kind, _) => width(*kind),
        _ => 8,
    } as u64;
    let at = built.pairs[index].value + 4;
    let left = built.file.len() as u64 - (at + 8);
    let most = 1 << 30;
    let count = if bool::arbitrary(u)? { most } else { (left / size + 1 + u.int_in_range(0..=9)?).min(most) };
    Ok(Some((with_number(built, at, count, 8), ErrorKind::GgArrayPastEnd, at)))
}

pub(super) fn empty_key(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    // The value is one that makes the pair no shorter than the least one.
    let value = Value::Number(ValueType::U64, 7);
    let built = again(built, |model| model.pairs[index] = (Vec::new(), value));
    let at = built.pairs[index].len;
    Ok(Some((built.file, ErrorKind::GgKeyEmpty, at)))
}

pub(super) fn odd_key(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    let inside = u.choose_index(built.model.pairs[index].0.len())? as u64;
    let at = built.pairs[index].len + 8 + inside;
    let byte = *u.choose(&[0_u8, 9, 0x1F, 0x7F, 0x80, 0xC3, 0xFF])?;
    Ok(Some((with_number(built, at, byte.into(), 1), ErrorKind::GgKeyCharset, at)))
}

pub(super) fn key_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    let place = u.int_in_range(index + 1..=built.model.pairs.len())?;
    let built = again(built, |model| {
        let key = model.pairs[index].0.clone();
        let value = if key == ALIGNMENT { model.pairs[index].1.clone() } else { Value::Number(ValueType::U32, 64) };
        model.pairs.insert(place, (key, value));
    });
    let at = built.pairs[place].len + 8;
    Ok(Some((built.file, ErrorKind::GgKeyDup, at)))
}

/// A number that is no type of values.
fn no_type(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.int_in_range(0..=3)? {
        0 => 13,
        1 => 1 << 31,
        2 => u64::from(u32::MAX),
        _ => u.int_in_range(14..=u64::from(u32::MAX))?,
    })
}

pub(super) fn value_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    let at = built.pairs[index].kind;
    Ok(Some((with_number(built, at, no_type(u)?, 4), ErrorKind::GgValueType, at)))
}

pub(super) fn element_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |value| value.kind() == ValueType::Array)? else { return Ok(None) };
    let at = built.pairs[index].value;
    let nested = bool::arbitrary(u)?;
    let (number, kind) = if nested { (9, ErrorKind::GgArrayNested) } else { (no_type(u)?, ErrorKind::GgArrayType) };
    Ok(Some((with_number(built, at, number, 4), kind, at)))
}

pub(super) fn odd_bool(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let is_bool = |value: &Value| match value {
        Value::Number(kind, _) => *kind == ValueType::Bool,
        Value::Numbers(kind, elements) => *kind == ValueType::Bool && !elements.is_empty(),
        _ => false,
    };
    let Some(index) = pair(built, u, is_bool)? else { return Ok(None) };
    let place = &built.pairs[index];
    let at = if place.elements.is_empty() { place.value } else { *u.choose(&place.elements)? };
    Ok(Some((with_number(built, at, u.int_in_range(2..=255)?, 1), ErrorKind::GgBool, at)))
}

pub(super) fn text_utf8(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |value| matches!(value, Value::Text(_)))? else { return Ok(None) };
    let bad: &[u8] = u.choose(&[
        &b"\xff"[..],
        b"\x80",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"\xc3",
    ])?;
    let Value::Text(text) = &built.model.pairs[index].1 else { return Ok(None) };
    let inside = text.len() as u64;
    let text = [text, bad].concat();
    let built = again(built, |model| model.pairs[index].1 = Value::Text(text));
    let at = built.pairs[index].value + 8 + inside;
    Ok(Some((built.file, ErrorKind::GgStringUtf8, at)))
}

/// The file with this alignment in it, whatever it said before, and which pair says it.
fn with_alignment(built: &Built, value: Value) -> (Built, usize) {
    let said = built.model.pairs.iter().position(|(key, _)| key == ALIGNMENT);
    let index = said.unwrap_or(0);
    let built = again(built, |model| {
        let pair = (ALIGNMENT.to_vec(), value);
        if said.is_some() { model.pairs[index] = pair } else { model.pairs.insert(0, pair) }
    });
    (built, index)
}

pub(super) fn alignment_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let others = [
        Value::Number(ValueType::U64, 32),
        Value::Number(ValueType::I32, 32),
        Value::Number(ValueType::U8, 32),
        Value::Text(b"32".to_vec()),
        Value::Numbers(ValueType::U32, vec![32]),
    ];
    let (built, index) = with_alignment(built, u.choose(&others)?.clone());
    let at = built.pairs[index].kind;
    Ok(Some((built.file, ErrorKind::GgAlignType, at)))
}

pub(super) fn alignment_value(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let number = *u.choose(&[0, 3, 24, 33, 0x8000_0001, u64::from(u32::MAX)])?;
    let (built, index) = with_alignment(built, Value::Number(ValueType::U32, number));
    let at = built.pairs[index].value;
    Ok(Some((built.file, ErrorKind::GgAlignValue, at)))
}
