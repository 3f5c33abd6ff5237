//! Lies of the JSON text.

use arbitrary::{Result, Unstructured};
use tensorgate::ErrorKind;

use super::lies::{Told, draft, pick};
use super::render::Built;
use super::tokens::{FRAME, Level, Role, Token};

/// White space before the header's object.
pub(super) fn leading_space(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = draft(built);
    let space = *u.choose(b" \t\n\r")?;
    let at = tokens.replace(0..0, &[space]);
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StLeadingSpace, at)))
}

/// Something else than `{` at the beginning.
pub(super) fn not_an_object(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = draft(built);
    let at = tokens.replace(0..1, &[*u.choose(b"[\"}n0t-\0\x0b\x7f")?]);
    Ok(Some((tokens.file(&built.model.data), ErrorKind::JsonNotObject, at)))
}

/// A header of no bytes.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every lie")]
pub(super) fn no_header(built: &Built, _: &mut Unstructured<'_>) -> Told {
    let mut file = vec![0; 8];
    file.extend_from_slice(&built.model.data);
    Ok(Some((file, ErrorKind::JsonEnd, FRAME)))
}

/// A byte that begins no UTF-8 sequence, between any two characters of the text.
pub(super) fn not_utf8(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut text = built.tokens.text();
    let borders: Vec<usize> =
        (0..=text.len()).filter(|at| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80)).collect();
    let Some(place) = pick(u, &borders)? else { return Ok(None) };
    text.insert(place, *u.choose(b"\xff\xfe\xc0\xc1\xf5\x80\xbf")?);
    let mut file = (text.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(&text);
    file.extend_from_slice(&built.model.data);
    Ok(Some((file, ErrorKind::JsonUtf8, FRAME + place as u64)))
}

/// A byte that is no white space behind the header's object.
pub(super) fn trailing(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = draft(built);
    let close = tokens.all(|token| token.role == Role::Close(Level::Header))[0];
    let place = u.int_in_range(close + 1..=tokens.0.len())?;
    let at = tokens.replace(place..place, &[*u.choose(b"\0{}x,\x0b\x0c\x7f")?]);
    Ok(Some((tokens.file(&built.model.data), ErrorKind::JsonTrailing, at)))
}

/// The text ends before the header's object does, though not inside an escape (which is told as such) or `null`.
pub(super) fn cut(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let tokens = &built.tokens;
    let close = tokens.all(|token| token.role == Role::Close(Level::Header))[0];
    let victim = u.int_in_range(1..=close)?;
    let token = &tokens.0[victim];
    let inside = match (&token.role, token.units.as_slice()) {
        (_, []) => 0,
        (_, units) => *u.choose(units)?,
    };
    let end = tokens.at(victim) + inside as u64;
    let mut file = (end - FRAME).to_le_bytes().to_vec();
    file.extend_from_slice(&tokens.text()[..usize::try_from(end - FRAME).expect("a short text")]);
    file.extend_from_slice(&built.model.data);
    Ok(Some((file, ErrorKind::JsonEnd, end)))
}

/// A comma before the end of an object, or an object of nothing but a comma.
pub(super) fn no_key(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = draft(built);
    let closes = tokens.all(|token| matches!(token.role, Role::Close(_)));
    let Some(close) = pick(u, &closes)? else { return Ok(None) };
    let before = tokens.0[..close].iter().rev().find(|token| token.role != Role::Space).map(|token| token.role);
    let comma = tokens.replace(close..close, b",");
    // In an empty object the comma itself stands where a key or the end should.
    let at = if matches!(before, Some(Role::Open(_))) { comma } else { tokens.at(close + 1) };
    Ok(Some((tokens.file(&built.model.data), ErrorKind::JsonKey, at)))
}

/// Something else than a colon behind a key.
pub(super) fn no_colon(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let other = *u.choose(b"=,;\"{0")?;
    swap(built, u, ErrorKind::JsonColon, other, |token| matches!(token.role, Role::Colon(_)))
}

/// Something else than a comma between two members or two integers.
pub(super) fn no_comma(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let other = *u.choose(b";:|\"{")?;
    swap(built, u, ErrorKind::JsonComma, other, |token| matches!(token.role, Role::Comma(_) | Role::ArrayComma))
}

/// One token of a byte replaced by another.
fn swap(built: &Built, u: &mut Unstructured<'_>, kind: ErrorKind, other: u8, is: fn(&Token) -> bool) -> Told {
    let mut tokens = draft(built);
    let Some(place) = pick(u, &tokens.all(is))? else { return Ok(None) };
    let at = tokens.replace(place..place + 1, &[other]);
    Ok(Some((tokens.file(&built.model.data), kind, at)))
}

/// Bytes put into a string, between two of its characters.
fn into_string(built: &Built, u: &mut Unstructured<'_>, kind: ErrorKind, bytes: &[u8]) -> Told {
    let mut tokens = draft(built);
    let Some(place) = pick(u, &tokens.all(|token| !token.units.is_empty()))? else { return Ok(None) };
    let unit = *u.choose(&tokens.0[place].units)?;
    let at = tokens.at(place) + unit as u64;
    tokens.0[place].bytes.splice(unit..unit, bytes.iter().copied());
    Ok(Some((tokens.file(&built.model.data), kind, at)))
}

/// A raw control character in a string.
pub(super) fn control(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let byte = u.int_in_range(0..=0x1f)?;
    into_string(built, u, ErrorKind::JsonControl, &[byte])
}

/// An escape that JSON does not have.
pub(super) fn bad_escape(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let escapes: [&[u8]; 9] =
        [b"\\x41", b"\\a", b"\\'", b"\\0", b"\\u00g0", b"\\U0041", b"\\u+041", b"\\ ", b"\\u 041"];
    let escape = *u.choose(&escapes)?;
    into_string(built, u, ErrorKind::JsonEscape, escape)
}

/// An escaped surrogate without its partner.
pub(super) fn lone_surrogate(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let escapes: [&[u8]; 6] =
        [b"\\ud83d", b"\\uDE00", b"\\ud83d\\ud83d", b"\\ude00\\ud83d", b"\\uD800\\u0041", b"\\udbffx"];
    let escape = *u.choose(&escapes)?;
    into_string(built, u, ErrorKind::JsonSurrogate, escape)
}

/// A number put in the place of a dimension or an offset.
fn number(
    built: &Built,
    u: &mut Unstructured<'_>,
    kind: ErrorKind,
    spelt: &[u8],
) -> Result<Option<(Vec<u8>, ErrorKind, u64)>> {
    let mut tokens = draft(built);
    let Some(place) = pick(u, &tokens.all(|token| token.role == Role::Int))? else { return Ok(None) };
    let at = tokens.replace(place..place + 1, spelt);
    Ok(Some((tokens.file(&built.model.data), kind, at)))
}

/// A number that is not a plain non-negative integer.
pub(super) fn odd_integer(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let odd: [&[u8]; 17] = [
        b"-",
        b"+",
        b".",
        b"-1",
        b"-0",
        b"+1",
        b"1.0",
        b"1.",
        b".5",
        b"1e0",
        b"2E+2",
        b"0e0",
        b"01",
        b"00",
        b"0x10",
        b"1_000",
        b"0000000000000000000000001",
    ];
    let spelt = *u.choose(&odd)?;
    number(built, u, ErrorKind::JsonInteger, spelt)
}

/// An integer of more than 64 bits.
pub(super) fn huge_integer(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let huge: [&[u8]; 4] = [
        b"18446744073709551616",
        b"18446744073709551620",
        b"99999999999999999999",
        b"1000000000000000000000000000",
    ];
    let spelt = *u.choose(&huge)?;
    number(built, u, ErrorKind::JsonRange, spelt)
}
