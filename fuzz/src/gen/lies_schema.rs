//! Lies of the header's schema: what stands where, and how often.

use super::rare;
use arbitrary::{Result, Unstructured};
use tensorgate::ErrorKind;

use super::lies::{Told, draft, pick};
use super::model::Metadata;
use super::render::{Built, quoted};
use super::tokens::{Field, Level, Role, Token, Tokens};

const FIELDS: [Field; 3] = [Field::Dtype, Field::Shape, Field::Offsets];

/// A tensor of the file's.
fn tensor(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<usize>> {
    pick(u, &(0..built.model.tensors.len()).collect::<Vec<_>>())
}

/// Values that are neither strings, arrays nor objects.
const SCALARS: [&[u8]; 5] = [b"0", b"7.5", b"true", b"false", b"-1"];

/// A value of another type than `not`, which is told by its first byte.
fn other_value(u: &mut Unstructured<'_>, not: u8) -> Result<&'static [u8]> {
    let mut values = SCALARS.to_vec();
    values
        .extend([&b"\"x\""[..], b"[]", b"{}", b"[[0]]", b"{\"F32\":null}"].iter().filter(|value| value[0] != not));
    u.choose(&values).copied()
}

/// A member with the name of another, spelt the same or otherwise. It takes no data, so nothing else is wrong.
pub(super) fn name_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    let end = built.model.data.len();
    let (key, _) = quoted(u, &built.model.tensors[index].name, true)?;
    let entry = format!(":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[{end},{end}]}}");
    let own = tokens.all(|token| token.role == Role::Key(Level::Header) && token.tensor == Some(index))[0];
    let first = u.arbitrary()?;
    let at = if first {
        tokens.replace(1..1, &[&key, entry.as_bytes(), b","].concat());
        tokens.at(own + 1)
    } else {
        let close = tokens.all(|token| token.role == Role::Close(Level::Header))[0];
        tokens.replace(close..close, &[b",", key.as_slice(), entry.as_bytes()].concat()) + 1
    };
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StDupName, at)))
}

/// The tokens of a member `key: value` of an entry, to be put elsewhere.
fn member(tokens: &Tokens, index: usize, field: Field) -> Vec<u8> {
    let key = &tokens.0[tokens.key(index, field)].bytes;
    let value = tokens.0[tokens.value(index, field)].iter().flat_map(|token| token.bytes.iter().copied()).collect();
    [key.clone(), b":".to_vec(), value].concat()
}

/// The end of an entry.
fn close_of(tokens: &Tokens, index: usize) -> usize {
    tokens.all(|token| token.role == Role::Close(Level::Entry) && token.tensor == Some(index))[0]
}

/// The beginning of an entry.
fn open_of(tokens: &Tokens, index: usize) -> usize {
    tokens.all(|token| token.role == Role::Open(Level::Entry) && token.tensor == Some(index))[0]
}

/// A field of an entry once more.
pub(super) fn field_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    let field = *u.choose(&FIELDS)?;
    let copy = member(&tokens, index, field);
    let at = if u.arbitrary()? {
        let open = open_of(&tokens, index);
        tokens.replace(open + 1..open + 1, &[copy.as_slice(), b","].concat());
        tokens.at(tokens.key(index, field))
    } else {
        let close = close_of(&tokens, index);
        tokens.replace(close..close, &[b",", copy.as_slice()].concat()) + 1
    };
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StDupField, at)))
}

/// `__metadata__` once more.
pub(super) fn metadata_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    if built.model.metadata == Metadata::Absent {
        return Ok(None);
    }
    let mut tokens = draft(built);
    let (key, _) = quoted(u, "__metadata__", true)?;
    let value: &[u8] = u.choose(&[&b":null"[..], b":{}", b":{\"a\":\"b\"}"])?;
    let close = tokens.all(|token| token.role == Role::Close(Level::Header))[0];
    let at = tokens.replace(close..close, &[b",", key.as_slice(), value].concat()) + 1;
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StDupMetadata, at)))
}

/// A key of the metadata once more, spelt the same or otherwise.
pub(super) fn metadata_key_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Metadata::Map(pairs) = &built.model.metadata else { return Ok(None) };
    if pairs.is_empty() {
        return Ok(None);
    }
    let mut tokens = draft(built);
    let (twice, _) = u.choose(pairs)?;
    let (key, _) = quoted(u, twice, true)?;
    let close = tokens.all(|token| token.role == Role::Close(Level::Metadata))[0];
    let at = tokens.replace(close..close, &[b",", key.as_slice(), b":\"\""].concat()) + 1;
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StDupMetadataKey, at)))
}

/// Something else than an object as an entry.
pub(super) fn entry_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    let values = [&b"null"[..], b"[\"F32\",[2],[0,8]]", b"\"F32\"", b"0", b"true", b"[]"];
    let value: &[u8] = u.choose(&values)?;
    let at = tokens.replace(open_of(&built.tokens, index)..close_of(&built.tokens, index) + 1, value);
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StEntryType, at)))
}

/// A field that entries do not have.
pub(super) fn unknown_field(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    let keys = ["", "Dtype", "dtype ", "shap", "shapes", "data_offset", "__metadata__", "x\u{0}", "offsets"];
    let unknown = *u.choose(&keys)?;
    let (key, _) = quoted(u, unknown, true)?;
    let member = [key.as_slice(), b":", other_value(u, 0)?].concat();
    let at = if u.arbitrary()? {
        let open = open_of(&tokens, index);
        tokens.replace(open + 1..open + 1, &[member.as_slice(), b","].concat())
    } else {
        let close = close_of(&tokens, index);
        tokens.replace(close..close, &[b",", member.as_slice()].concat()) + 1
    };
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StFieldUnknown, at)))
}

/// An entry without one of its fields.
pub(super) fn missing_field(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    let without = *u.choose(&FIELDS)?;
    let kept: Vec<Vec<u8>> =
        FIELDS.into_iter().filter(|field| *field != without).map(|field| member(&tokens, index, field)).collect();
    let (open, close) = (open_of(&tokens, index), close_of(&tokens, index));
    let entry = [b"{".to_vec(), kept.join(&b','), b"}".to_vec()].concat();
    let at = tokens.replace(open..close + 1, if rare(u, 6) { b"{}" } else { &entry });
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StFieldMissing, at)))
}

/// Another value in the place of a field's.
fn field_value(built: &Built, u: &mut Unstructured<'_>, field: Field, kind: ErrorKind, value: &[u8]) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    let at = tokens.replace(built.tokens.value(index, field), value);
    Ok(Some((tokens.file(&built.model.data), kind, at)))
}

/// A dtype that is no string.
pub(super) fn dtype_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let value = other_value(u, b'"')?;
    field_value(built, u, Field::Dtype, ErrorKind::StDtypeType, value)
}

/// A dtype that there is not.
pub(super) fn unknown_dtype(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let tags = ["", "f32", "F32 ", " F32", "F128", "I4", "U4", "BFLOAT16", "F\u{0}32", "F8_E4M3FN", "Ｆ３２"];
    let tag = *u.choose(&tags)?;
    let (value, _) = quoted(u, tag, true)?;
    field_value(built, u, Field::Dtype, ErrorKind::StDtypeUnknown, &value)
}

/// A shape that is no array.
pub(super) fn shape_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let value = array_lie(u)?;
    field_value(built, u, Field::Shape, ErrorKind::StShapeType, value)
}

/// Offsets that are no array.
pub(super) fn offsets_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let value = array_lie(u)?;
    field_value(built, u, Field::Offsets, ErrorKind::StOffsetsType, value)
}

fn array_lie(u: &mut Unstructured<'_>) -> Result<&'static [u8]> {
    u.choose(&[&b"null"[..], b"0", b"\"[2]\"", b"{}", b"true", b"{\"0\":2}"]).copied()
}

/// Offsets that are fewer than two, told at the array, or more, told at the third.
pub(super) fn offsets_count(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let (value, inside): (&[u8], u64) =
        *u.choose(&[(&b"[]"[..], 0), (b"[ ]", 0), (b"[0]", 0), (b"[0,0,0]", 5), (b"[10,20 , 30,40]", 9)])?;
    let told = field_value(built, u, Field::Offsets, ErrorKind::StOffsetsType, value)?;
    Ok(told.map(|(file, kind, at)| (file, kind, at + inside)))
}

/// A dimension or an offset that is no number, or a comma without one behind it.
pub(super) fn element_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = draft(built);
    let is = |token: &Token| token.role == Role::Int;
    let Some(place) = pick(u, &tokens.all(is))? else { return Ok(None) };
    let kind =
        if tokens.0[place].field == Some(Field::Shape) { ErrorKind::StShapeType } else { ErrorKind::StOffsetsType };
    let value: &[u8] = u.choose(&[&b"null"[..], b"\"2\"", b"[2]", b"{}", b"true", b"NaN", b",", b"'2'"])?;
    let at = tokens.replace(place..place + 1, value);
    Ok(Some((tokens.file(&built.model.data), kind, at)))
}

/// Metadata that is neither an object nor null.
pub(super) fn metadata_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = draft(built);
    let value: &[u8] = u.choose(&[&b"[]"[..], b"\"\"", b"0", b"true", b"nul", b"Null", b"nil"])?;
    let range = match &built.model.metadata {
        Metadata::Absent => return Ok(None),
        Metadata::Null => {
            let null = tokens.all(|token| token.role == Role::Null)[0];
            null..null + 1
        }
        Metadata::Map(_) => {
            let open = tokens.all(|token| token.role == Role::Open(Level::Metadata))[0];
            open..tokens.all(|token| token.role == Role::Close(Level::Metadata))[0] + 1
        }
    };
    let at = tokens.replace(range, value);
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StMetadataType, at)))
}

/// A metadata value that is no string.
pub(super) fn metadata_value(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = draft(built);
    let is = |token: &Token| token.role == Role::Text && token.tensor.is_none();
    let Some(place) = pick(u, &tokens.all(is))? else { return Ok(None) };
    let value: &[u8] = u.choose(&[&b"null"[..], b"1", b"[]", b"{}", b"true", b"-1.5e3", b"{\"a\":\"b\"}"])?;
    let at = tokens.replace(place..place + 1, value);
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StMetadataValue, at)))
}
