//! Lies of the JSON text that a header and an index have alike.

use arbitrary::Unstructured;
use tensorgate::ErrorKind;

use super::lies::{Told, pick};
use super::tokens::{FRAME, Level, Role, Token, Tokens};

/// A valid file whose text is made of tokens.
pub(super) trait Spelt {
    /// Where the text begins in the file.
    const START: u64;
    /// Escapes that JSON does not have.
    const ESCAPES: &[&[u8]];
    /// Escaped surrogates without their partners.
    const SURROGATES: &[&[u8]];

    /// The text.
    fn tokens(&self) -> &Tokens;

    /// The file with another text.
    fn file(&self, text: &[u8]) -> Vec<u8>;
}

/// A lie in these tokens, at an offset as they count them.
fn told<B: Spelt>(built: &B, tokens: &Tokens, kind: ErrorKind, at: u64) -> (Vec<u8>, ErrorKind, u64) {
    (built.file(&tokens.text()), kind, at - FRAME + B::START)
}

/// A byte that begins no UTF-8 sequence, between any two characters of the text.
pub(super) fn not_utf8<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let mut text = built.tokens().text();
    let borders: Vec<usize> =
        (0..=text.len()).filter(|at| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80)).collect();
    let Some(place) = pick(u, &borders)? else { return Ok(None) };
    text.insert(place, *u.choose(b"\xff\xfe\xc0\xc1\xf5\x80\xbf")?);
    Ok(Some((built.file(&text), ErrorKind::JsonUtf8, B::START + place as u64)))
}

/// The token with which the outermost object ends.
fn last_brace(tokens: &Tokens) -> usize {
    tokens.all(|token| token.role == Role::Close(Level::Header))[0]
}

/// A byte that is no white space behind the outermost object.
pub(super) fn trailing<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens().clone();
    let place = u.int_in_range(last_brace(&tokens) + 1..=tokens.0.len())?;
    let at = tokens.replace(place..place, &[*u.choose(b"\0{}x,\x0b\x0c\x7f")?]);
    Ok(Some(told(built, &tokens, ErrorKind::JsonTrailing, at)))
}

/// The text ends before the outermost object does, though not inside an escape (which is told as such), a word or a number.
pub(super) fn cut<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let tokens = built.tokens();
    let victim = u.int_in_range(1..=last_brace(tokens))?;
    let inside = match tokens.0[victim].units.as_slice() {
        [] => 0,
        units => *u.choose(units)?,
    };
    let end = tokens.at(victim) - FRAME + inside as u64;
    let mut text = tokens.text();
    text.truncate(usize::try_from(end).expect("a short text"));
    Ok(Some((built.file(&text), ErrorKind::JsonEnd, B::START + end)))
}

/// A comma before the end of an object, or an object of nothing but a comma.
pub(super) fn no_key<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let mut tokens = built.tokens().clone();
    let closes = tokens.all(|token| matches!(token.role, Role::Close(_)));
    let Some(close) = pick(u, &closes)? else { return Ok(None) };
    let before = tokens.0[..close].iter().rev().find(|token| token.role != Role::Space).map(|token| token.role);
    let comma = tokens.replace(close..close, b",");
    // In an empty object the comma itself stands where a key or the end should.
    let at = if matches!(before, Some(Role::Open(_))) { comma } else { tokens.at(close + 1) };
    Ok(Some(told(built, &tokens, ErrorKind::JsonKey, at)))
}

/// Something else than a colon behind a key.
pub(super) fn no_colon<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let other = *u.choose(b"=,;\"{0")?;
    swap(built, u, ErrorKind::JsonColon, other, |token| matches!(token.role, Role::Colon(_)))
}

/// Something else than a comma between two members or two elements.
pub(super) fn no_comma<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let other = *u.choose(b";:|\"{")?;
    swap(built, u, ErrorKind::JsonComma, other, |token| matches!(token.role, Role::Comma(_) | Role::ArrayComma))
}

/// One token of a byte replaced by another.
fn swap<B: Spelt>(built: &B, u: &mut Unstructured<'_>, kind: ErrorKind, other: u8, is: fn(&Token) -> bool) -> Told {
    let mut tokens = built.tokens().clone();
    let Some(place) = pick(u, &tokens.all(is))? else { return Ok(None) };
    let at = tokens.replace(place..place + 1, &[other]);
    Ok(Some(told(built, &tokens, kind, at)))
}

/// Bytes put into a string, between two of its characters.
fn into_string<B: Spelt>(built: &B, u: &mut Unstructured<'_>, kind: ErrorKind, bytes: &[u8]) -> Told {
    let mut tokens = built.tokens().clone();
    let Some(place) = pick(u, &tokens.all(|token| !token.units.is_empty()))? else { return Ok(None) };
    let unit = *u.choose(&tokens.0[place].units)?;
    let at = tokens.at(place) + unit as u64;
    tokens.0[place].bytes.splice(unit..unit, bytes.iter().copied());
    Ok(Some(told(built, &tokens, kind, at)))
}

/// A raw control character in a string.
pub(super) fn control<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let byte = u.int_in_range(0..=0x1f)?;
    into_string(built, u, ErrorKind::JsonControl, &[byte])
}

/// An escape that JSON does not have.
pub(super) fn bad_escape<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let escape = *u.choose(B::ESCAPES)?;
    into_string(built, u, ErrorKind::JsonEscape, escape)
}

/// An escaped surrogate without its partner.
pub(super) fn lone_surrogate<B: Spelt>(built: &B, u: &mut Unstructured<'_>) -> Told {
    let escape = *u.choose(B::SURROGATES)?;
    into_string(built, u, ErrorKind::JsonSurrogate, escape)
}
