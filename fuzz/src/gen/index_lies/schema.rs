//! Lies of the index's schema: what stands where, and how often.

use std::ops::Range;

use arbitrary::{Result, Unstructured};
use tensorgate::ErrorKind;

use super::super::index::{Built, Metadata, at};
use super::super::lies::{Told, pick};
use super::super::render::quoted;
use super::super::tokens::{FRAME, Level, Role, Token, Tokens};
use super::add_member;

/// The index as a whole, as an object.
fn whole(tokens: &Tokens) -> (usize, usize) {
    (0, tokens.all(|token| token.role == Role::Close(Level::Header))[0])
}

/// A field that indexes do not have.
pub(super) fn unknown_field(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens.clone();
    let keys = ["", "Metadata", "weight_map ", "weightmap", "weight_ma", "__metadata__", "total_size", "x\u{0}"];
    let unknown = *u.choose(&keys)?;
    let (key, _) = quoted(u, unknown, true)?;
    let values: [&[u8]; 6] = [b":null", b":{}", b":0", b":[]", b":\"x\"", b":{\"a\":\"b\"}"];
    let value = *u.choose(&values)?;
    let (open, close) = whole(&tokens);
    let found = add_member(&mut tokens, open, close, &[&key, value].concat(), u.arbitrary()?);
    Ok(Some((tokens.text(), ErrorKind::IxFieldUnknown, found)))
}

/// An index without a map, which is told at its beginning.
pub(super) fn no_map(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut text = b"{".to_vec();
    if let Some(range) = built.metadata.clone()
        && u.arbitrary()?
    {
        text.extend_from_slice(b"\"metadata\":");
        text.extend(built.tokens.0[range].iter().flat_map(|token| token.bytes.iter().copied()));
    }
    text.push(b'}');
    Ok(Some((text, ErrorKind::IxFieldMissing, 0)))
}

/// `weight_map` or `metadata` once more, spelt the same or otherwise: the second is told.
pub(super) fn field_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens.clone();
    let of_map = built.metadata.is_none() || u.arbitrary()?;
    let (name, value): (_, &[u8]) = if of_map { ("weight_map", b":{}") } else { ("metadata", b":null") };
    let range = if of_map { Some(&built.map) } else { built.metadata.as_ref() };
    let Some(range) = range else { return Ok(None) };
    let before = tokens.0[..range.start].iter().rposition(|token| token.role == Role::Key(Level::Header));
    let Some(own) = before else { return Ok(None) };
    let (key, _) = quoted(u, name, true)?;
    let member = [&key, value].concat();
    let (open, close) = whole(&tokens);
    let first = u.arbitrary()?;
    let added = add_member(&mut tokens, open, close, &member, first);
    // Put in front, it is the other one that stands there again: one token further.
    let found = if first { at(&tokens, own + 1) } else { added };
    Ok(Some((tokens.text(), ErrorKind::IxDupField, found)))
}

/// Another value in the place of some tokens.
fn instead(built: &Built, u: &mut Unstructured<'_>, range: Range<usize>, kind: ErrorKind, with: &[&[u8]]) -> Told {
    let mut tokens = built.tokens.clone();
    let value = *u.choose(with)?;
    let found = tokens.replace(range, value) - FRAME;
    Ok(Some((tokens.text(), kind, found)))
}

/// Metadata that is neither an object nor null.
pub(super) fn metadata_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(range) = built.metadata.clone() else { return Ok(None) };
    let others: [&[u8]; 8] = [b"[]", b"\"\"", b"0", b"true", b"nul", b"Null", b"nil", b"-"];
    instead(built, u, range, ErrorKind::IxMetadataType, &others)
}

/// A map that is no object.
pub(super) fn map_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let others: [&[u8]; 7] = [b"[]", b"\"a\"", b"0", b"true", b"null", b"[{\"a\":\"b\"}]", b"nan"];
    instead(built, u, built.map.clone(), ErrorKind::IxMapType, &others)
}

/// A tensor of the index's, by number.
fn tensor(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<usize>> {
    pick(u, &(0..built.model.map.len()).collect::<Vec<_>>())
}

/// A shard that is no string.
pub(super) fn shard_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let (_, shard) = built.entry(index);
    let others: [&[u8]; 7] = [b"null", b"0", b"[\"a\"]", b"{}", b"true", b"-1.5", b"'a'"];
    instead(built, u, shard..shard + 1, ErrorKind::IxShardType, &others)
}

/// A shard whose name is none of a file in the index's folder, on one system or another.
pub(super) fn shard_name(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let bad = [
        "",
        ".",
        "..",
        "../a",
        "a/b",
        "/a",
        "a\\b",
        "C:a",
        "a:stream",
        "a\0",
        "\n",
        "a\u{7f}",
        "a\u{85}b",
        "a.",
        "a ",
        "con",
        "Con.safetensors",
        "PRN",
        "aux.tar.gz",
        "NUL",
        "com1",
        "COM9.x",
        "lpt1.safetensors",
        "COM\u{b9}",
        "lpt\u{b3}.x",
        "nul .txt",
        "conin$",
        "CONOUT$",
        "https://a.b/c",
        "\\\\server\\share",
    ];
    let long = "x".repeat(256);
    let name = if u.int_in_range(0..=9)? == 0 { &long } else { *u.choose(&bad)? };
    let (spelt, _) = quoted(u, name, true)?;
    let (_, shard) = built.entry(index);
    instead(built, u, shard..shard + 1, ErrorKind::IxShardName, &[&spelt])
}

/// A tensor once more, spelt the same or otherwise, in its own shard or in another.
pub(super) fn name_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = built.tokens.clone();
    let (name, shard) = &built.model.map[index];
    let shard = if u.arbitrary()? { shard } else { "another" };
    let (key, value) = (quoted(u, name, true)?.0, quoted(u, shard, true)?.0);
    let first = u.arbitrary()?;
    let member = [key.as_slice(), b":", &value].concat();
    let own = built.entry(index).0;
    let added = add_member(&mut tokens, built.map.start, built.map.end - 1, &member, first);
    let found = if first { at(&tokens, own + 1) } else { added };
    Ok(Some((tokens.text(), ErrorKind::IxDupName, found)))
}

/// Each object of the metadata: where it opens and closes, and its own keys.
fn objects(built: &Built) -> Vec<(usize, usize, Vec<usize>)> {
    let (mut open, mut done): (Vec<(usize, Vec<usize>)>, Vec<_>) = (Vec::new(), Vec::new());
    for index in built.metadata.clone().unwrap_or_default() {
        match built.tokens.0[index].role {
            Role::Open(_) => open.push((index, Vec::new())),
            Role::Key(_) => open.last_mut().expect("a key is in an object").1.push(index),
            Role::Close(_) => {
                let (start, keys) = open.pop().expect("what closes was open");
                done.push((start, index, keys));
            }
            _ => {}
        }
    }
    done
}

/// A key of the metadata, or of an object in it, once more.
pub(super) fn metadata_key_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let objects: Vec<_> = objects(built).into_iter().filter(|(_, _, keys)| !keys.is_empty()).collect();
    if objects.is_empty() {
        return Ok(None);
    }
    let (open, close, keys) = u.choose(&objects)?;
    let own = *u.choose(keys)?;
    let mut tokens = built.tokens.clone();
    let text: String = serde_json::from_slice(&tokens.0[own].bytes).expect("a string");
    let member = [quoted(u, &text, true)?.0, b":0".to_vec()].concat();
    let first = u.arbitrary()?;
    let added = add_member(&mut tokens, *open, *close, &member, first);
    let found = if first { at(&tokens, own + 1) } else { added };
    Ok(Some((tokens.text(), ErrorKind::IxDupMetadataKey, found)))
}

/// A number that JSON does not have, or that is beyond a 64-bit float.
pub(super) fn odd_number(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Metadata::Map(_) = built.model.metadata else { return Ok(None) };
    let is = |token: &Token| matches!(token.role, Role::Number);
    let Some(place) = pick(u, &built.tokens.all(is))? else { return Ok(None) };
    let odd: [&[u8]; 13] =
        [b"01", b"-01", b"00", b"1.", b"-", b"-a", b"1e", b"1e+", b"1E-", b"1.e5", b"1e309", b"-1e999", b"10e308"];
    instead(built, u, place..place + 1, ErrorKind::IxMetadataNumber, &odd)
}
