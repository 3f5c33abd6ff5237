//! Lies of the JSON text that only a header has.

use arbitrary::{Result, Unstructured};
use tensorgate::ErrorKind;

use super::lies::{Told, draft, pick};
use super::lies_text::Spelt;
use super::render::Built;
use super::tokens::{FRAME, Role, Tokens};

impl Spelt for Built {
    const START: u64 = FRAME;
    const ESCAPES: &[&[u8]] =
        &[b"\\x41", b"\\a", b"\\'", b"\\0", b"\\u00g0", b"\\U0041", b"\\u+041", b"\\ ", b"\\u 041"];
    const SURROGATES: &[&[u8]] =
        &[b"\\ud83d", b"\\uDE00", b"\\ud83d\\ud83d", b"\\ude00\\ud83d", b"\\uD800\\u0041", b"\\udbffx"];

    fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    fn file(&self, text: &[u8]) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes(), text, &self.model.data].concat()
    }
}

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
