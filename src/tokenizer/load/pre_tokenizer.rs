//! Whether a `tokenizer.json` splits text as GPT-2 does, and does nothing else to it.

use super::super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use crate::error::ErrorKind;
use crate::json::lex::Lexer;
use crate::json::object::Members;
use crate::shards::skip_value;
use crate::{Error, Name};

const SOURCE: Source = Source::TokenizerJson;

/// How deep what is not looked at may be nested.
const DEPTH: u64 = 32;

pub(super) fn json(error: Error) -> TokenizerError {
    TokenizerError::json(error, SOURCE)
}

/// Steps over a value.
pub(super) fn skip(lexer: &mut Lexer<'_>) -> Result<(), TokenizerError> {
    skip_value(lexer, DEPTH, |_| Ok(())).map_err(json)
}

/// Consumes a word where it comes next.
pub(super) fn word(lexer: &mut Lexer<'_>, word: &[u8]) -> bool {
    let rest = lexer.rest().strip_prefix(word);
    if let Some(rest) = rest {
        lexer.set_rest(rest);
    }
    rest.is_some()
}

/// `true` or `false`.
pub(super) fn boolean(lexer: &mut Lexer<'_>, field: &'static str) -> Result<bool, TokenizerError> {
    let at = lexer.at();
    if word(lexer, b"true") {
        return Ok(true);
    }
    if word(lexer, b"false") { Ok(false) } else { Err(TokenizerError::new(Kind::Field(field), SOURCE, at)) }
}

/// A string; nothing for null.
pub(super) fn string<'a>(lexer: &mut Lexer<'a>, field: &'static str) -> Result<Option<Name<'a>>, TokenizerError> {
    let at = lexer.at();
    if word(lexer, b"null") {
        return Ok(None);
    }
    if lexer.peek() != Some(b'"') {
        return Err(TokenizerError::new(Kind::Field(field), SOURCE, at));
    }
    lexer.string(ErrorKind::JsonValue).map(Some).map_err(json)
}

/// Remembers that a field was met; an error where it was met before.
pub(super) fn once(met: &mut u32, field: u32, at: u64) -> Result<(), TokenizerError> {
    let bit = 1 << field;
    if *met & bit != 0 {
        return Err(TokenizerError::new(Kind::FieldTwice, SOURCE, at));
    }
    *met |= bit;
    Ok(())
}

/// The fields of an object by their index in `names`; what has no name there is skipped.
pub(super) fn fields<'a>(
    lexer: &mut Lexer<'a>,
    names: &[&'static str],
    what: &'static str,
    mut take: impl FnMut(usize, &mut Lexer<'a>) -> Result<(), TokenizerError>,
) -> Result<(), TokenizerError> {
    if lexer.peek() != Some(b'{') {
        return Err(TokenizerError::new(Kind::Field(what), SOURCE, lexer.at()));
    }
    let mut members = Members::open(lexer, ErrorKind::JsonNotObject).map_err(json)?;
    let mut met = 0;
    while let Some((key, at)) = members.key(lexer).map_err(json)? {
        match names.iter().zip(0_u32..).position(|(name, _)| key == *name) {
            Some(index) => {
                once(&mut met, u32::try_from(index).unwrap_or(31), at)?;
                take(index, lexer)?;
            }
            None => skip(lexer)?,
        }
    }
    Ok(())
}

fn unsupported(what: &'static str, at: u64) -> TokenizerError {
    TokenizerError::new(Kind::Unsupported(what), SOURCE, at)
}

/// The pre-tokenizer: `ByteLevel` with GPT-2's own pattern and nothing put in front of the text.
pub(super) fn check(lexer: &mut Lexer<'_>) -> Result<(), TokenizerError> {
    let start = lexer.at();
    if lexer.peek() == Some(b'n') {
        return Err(unsupported("a tokenizer without a pre-tokenizer", start));
    }
    let mut found = false;
    fields(lexer, &["type", "add_prefix_space", "use_regex"], "pre_tokenizer", |field, lexer| {
        let at = lexer.at();
        match field {
            0 => {
                found = string(lexer, "pre_tokenizer.type")?.is_some_and(|kind| kind == "ByteLevel");
                if found { Ok(()) } else { Err(unsupported("a pre-tokenizer other than ByteLevel", at)) }
            }
            1 if boolean(lexer, "add_prefix_space")? => Err(unsupported("add_prefix_space", at)),
            2 if !boolean(lexer, "use_regex")? => Err(unsupported("ByteLevel without GPT-2's pattern", at)),
            _ => Ok(()),
        }
    })?;
    if found { Ok(()) } else { Err(TokenizerError::new(Kind::FieldMissing("pre_tokenizer.type"), SOURCE, start)) }
}
