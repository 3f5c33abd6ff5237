//! Lies of the JSON text that only an index has.

use arbitrary::Unstructured;
use tensorgate::ErrorKind;

use super::super::index::Built;
use super::super::lies::{Told, pick};
use super::super::lies_text::Spelt;
use super::super::tokens::{FRAME, Role, Token, Tokens};

impl Spelt for Built {
    const START: u64 = 0;
    const ESCAPES: &[&[u8]] = &[b"\\x41", b"\\a", b"\\'", b"\\u00g0", b"\\U0041", b"\\u+041", b"\\ "];
    const SURROGATES: &[&[u8]] =
        &[b"\\uDE00", b"\\ud83d\\ud83d", b"\\ude00\\ud83d", b"\\uD800\\u0041", b"\\udbffx"];

    fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    fn file(&self, text: &[u8]) -> Vec<u8> {
        text.to_vec()
    }
}

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
