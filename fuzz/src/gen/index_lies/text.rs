//! Lies of the JSON text.

use arbitrary::Unstructured;
use tensorgate::ErrorKind;

use super::super::index::{Built, at};
use super::super::lies::{Told, pick};
use super::super::tokens::{FRAME, Level, Role, Token};

/// An index of no bytes.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every lie")]
pub(super) fn nothing(_: &Built, _: &mut Unstructured<'_>) -> Told {
    Ok(Some((Vec::new(), ErrorKind::JsonEnd, 0)))
}

/// Something else than `{` at the beginning, or something before it.
pub(super) fn not_an_object(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens.clone();
    let end = usize::from(u.arbitrary::<bool>()?);
    tokens.replace(0..end, &[*u.choose(b" \n[\"}n0t-\0\x7f")?]);
    Ok(Some((tokens.text(), ErrorKind::JsonNotObject, 0)))
}

/// A byte that begins no UTF-8 sequence, between any two characters of the text.
pub(super) fn not_utf8(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut text = built.text();
    let borders: Vec<usize> =
        (0..=text.len()).filter(|at| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80)).collect();
    let Some(place) = pick(u, &borders)? else { return Ok(None) };
    text.insert(place, *u.choose(b"\xff\xfe\xc0\xc1\xf5\x80\xbf")?);
    Ok(Some((text, ErrorKind::JsonUtf8, place as u64)))
}

/// A byte that is no white space behind the index.
pub(super) fn trailing(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens.clone();
    let close = tokens.all(|token| token.role == Role::Close(Level::Header))[0];
    let place = u.int_in_range(close + 1..=tokens.0.len())?;
    let found = tokens.replace(place..place, &[*u.choose(b"\0{}x,\x0b\x0c\x7f")?]) - FRAME;
    Ok(Some((tokens.text(), ErrorKind::JsonTrailing, found)))
}

/// The text ends before the index does, though not inside an escape (which is told as such), a word or a number.
pub(super) fn cut(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let tokens = &built.tokens;
    let close = tokens.all(|token| token.role == Role::Close(Level::Header))[0];
    let victim = u.int_in_range(1..=close)?;
    let inside = match tokens.0[victim].units.as_slice() {
        [] => 0,
        units => *u.choose(units)?,
    };
    let end = at(tokens, victim) + inside as u64;
    let mut text = built.text();
    text.truncate(usize::try_from(end).expect("a short text"));
    Ok(Some((text, ErrorKind::JsonEnd, end)))
}

/// A comma before the end of an object, or an object of nothing but a comma.
pub(super) fn no_key(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens.clone();
    let closes = tokens.all(|token| matches!(token.role, Role::Close(_)));
    let Some(close) = pick(u, &closes)? else { return Ok(None) };
    let before = tokens.0[..close].iter().rev().find(|token| token.role != Role::Space).map(|token| token.role);
    let comma = tokens.replace(close..close, b",") - FRAME;
    // In an empty object the comma itself stands where a key or the end should.
    let found = if matches!(before, Some(Role::Open(_))) { comma } else { at(&tokens, close + 1) };
    Ok(Some((tokens.text(), ErrorKind::JsonKey, found)))
}

/// Something else than a colon behind a key.
pub(super) fn no_colon(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let other = *u.choose(b"=,;\"{0")?;
    swap(built, u, ErrorKind::JsonColon, other, |token| matches!(token.role, Role::Colon(_)))
}

/// Something else than a comma between two members or two elements.
pub(super) fn no_comma(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let other = *u.choose(b";:|\"{")?;
    swap(built, u, ErrorKind::JsonComma, other, |token| matches!(token.role, Role::Comma(_) | Role::ArrayComma))
}

/// One token of a byte replaced by another.
fn swap(built: &Built, u: &mut Unstructured<'_>, kind: ErrorKind, other: u8, is: fn(&Token) -> bool) -> Told {
    let mut tokens = built.tokens.clone();
    let Some(place) = pick(u, &tokens.all(is))? else { return Ok(None) };
    let found = tokens.replace(place..place + 1, &[other]) - FRAME;
    Ok(Some((tokens.text(), kind, found)))
}

/// Bytes put into a string, between two of its characters.
fn into_string(built: &Built, u: &mut Unstructured<'_>, kind: ErrorKind, bytes: &[u8]) -> Told {
    let mut tokens = built.tokens.clone();
    let strings = tokens.all(|token| !token.units.is_empty());
    let Some(place) = pick(u, &strings)? else { return Ok(None) };
    let unit = *u.choose(&tokens.0[place].units)?;
    let found = at(&tokens, place) + unit as u64;
    tokens.0[place].bytes.splice(unit..unit, bytes.iter().copied());
    Ok(Some((tokens.text(), kind, found)))
}

/// A raw control character in a string.
pub(super) fn control(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let byte = u.int_in_range(0..=0x1f)?;
    into_string(built, u, ErrorKind::JsonControl, &[byte])
}

/// An escape that JSON does not have.
pub(super) fn bad_escape(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let escapes: [&[u8]; 7] = [b"\\x41", b"\\a", b"\\'", b"\\u00g0", b"\\U0041", b"\\u+041", b"\\ "];
    let escape = *u.choose(&escapes)?;
    into_string(built, u, ErrorKind::JsonEscape, escape)
}

/// An escaped surrogate without its partner.
pub(super) fn lone_surrogate(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let escapes: [&[u8]; 5] = [b"\\uDE00", b"\\ud83d\\ud83d", b"\\ude00\\ud83d", b"\\uD800\\u0041", b"\\udbffx"];
    let escape = *u.choose(&escapes)?;
    into_string(built, u, ErrorKind::JsonSurrogate, escape)
}

/// Something that is no JSON value, in the metadata.
pub(super) fn no_value(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens.clone();
    let Some(range) = built.metadata.clone() else { return Ok(None) };
    let values = |token: &Token| matches!(token.role, Role::Number | Role::Text | Role::Null);
    let places = tokens.all(values);
    // `null` in the place of the whole metadata is judged by its type.
    let places: Vec<usize> = places.into_iter().filter(|place| range.contains(place) && range.len() > 1).collect();
    let Some(place) = pick(u, &places)? else { return Ok(None) };
    let words: [&[u8]; 10] =
        [b"nul", b"True", b"NaN", b"Infinity", b"+1", b".5", b"'a'", b"undefined", b"=", b"\0"];
    let word: &[u8] = u.choose(&words)?;
    let found = tokens.replace(place..place + 1, word) - FRAME;
    Ok(Some((tokens.text(), ErrorKind::JsonValue, found)))
}
