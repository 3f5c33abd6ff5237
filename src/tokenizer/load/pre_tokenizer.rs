//! Whether a `tokenizer.json` splits text as GPT-2 does, and does nothing else to it.

use super::super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use super::hugging_face::array;
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

/// GPT-2's pattern as files spell it: that of its `encoder.py`, which Hugging Face's `ByteLevel` has too, and those of
/// tiktoken's `r50k_base` before and after 0.9. All split every text alike: the contractions are the same set, what follows
/// a possessive repetition never needs any of it back, and `\s++$` takes what `\s+(?!\S)` would at the end.
const PATTERNS: [&str; 3] = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
];

/// What one pre-tokenizer does, of those that are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Bytes to symbols, and nothing else.
    Bytes,
    /// GPT-2's pattern, then bytes to symbols.
    SplitBytes,
    /// GPT-2's pattern.
    Split,
}

const FIELDS: [&str; 7] =
    ["type", "add_prefix_space", "use_regex", "pattern", "behavior", "invert", "pretokenizers"];

/// The fields of a pre-tokenizer, each where it stands.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<(Name<'a>, u64)>,
    prefix: Option<(bool, u64)>,
    regex: Option<bool>,
    pattern: Option<(bool, u64)>,
    behavior: Option<(Name<'a>, u64)>,
    invert: bool,
    inner: Option<Lexer<'a>>,
}

impl<'a> Fields<'a> {
    fn read(lexer: &mut Lexer<'a>) -> Result<Self, TokenizerError> {
        let mut all = Self::default();
        fields(lexer, &FIELDS, "pre_tokenizer", |field, lexer| {
            let at = lexer.at();
            match field {
                0 => all.kind = string(lexer, "pre_tokenizer.type")?.map(|kind| (kind, at)),
                1 => all.prefix = Some((boolean(lexer, "add_prefix_space")?, at)),
                2 => all.regex = Some(boolean(lexer, "use_regex")?),
                3 => all.pattern = Some((is_gpt2(lexer)?, at)),
                4 => all.behavior = string(lexer, "behavior")?.map(|behavior| (behavior, at)),
                5 => all.invert = boolean(lexer, "invert")?,
                _ => {
                    all.inner = Some(lexer.clone());
                    skip(lexer)?;
                }
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// What it does, if it is no sequence.
    fn step(&self, start: u64) -> Result<Step, TokenizerError> {
        let missing = |field| TokenizerError::new(Kind::FieldMissing(field), SOURCE, start);
        let (kind, at) = self.kind.ok_or(missing("pre_tokenizer.type"))?;
        if kind == "ByteLevel" {
            return match (self.prefix, self.regex) {
                (Some((true, at)), _) => Err(unsupported("add_prefix_space", at)),
                (_, Some(false)) => Ok(Step::Bytes),
                _ => Ok(Step::SplitBytes),
            };
        }
        if kind != "Split" {
            return Err(unsupported("a pre-tokenizer other than ByteLevel", at));
        }
        match self.pattern.ok_or(missing("pattern"))? {
            (true, _) => {}
            (false, at) => return Err(unsupported("a pattern other than GPT-2's", at)),
        }
        // The pattern leaves nothing of a text out, so that what it finds is the same as what it parts.
        let (behavior, at) = self.behavior.ok_or(missing("behavior"))?;
        if (behavior == "Isolated" && !self.invert) || (behavior == "Removed" && self.invert) {
            return Ok(Step::Split);
        }
        Err(unsupported("pieces that are joined or removed", at))
    }
}

/// Whether a pattern is GPT-2's.
fn is_gpt2(lexer: &mut Lexer<'_>) -> Result<bool, TokenizerError> {
    let mut found = false;
    fields(lexer, &["Regex"], "pattern", |_, lexer| {
        found = string(lexer, "pattern")?.is_some_and(|text| PATTERNS.iter().any(|pattern| text == *pattern));
        Ok(())
    })?;
    Ok(found)
}

/// The pre-tokenizer: `ByteLevel` with its own pattern, which is GPT-2's, or a sequence of a `Split` by that pattern and
/// `ByteLevel` without one; nothing put in front of the text.
pub(super) fn check(lexer: &mut Lexer<'_>) -> Result<(), TokenizerError> {
    let start = lexer.at();
    if lexer.peek() == Some(b'n') {
        return Err(unsupported("a tokenizer without a pre-tokenizer", start));
    }
    let all = Fields::read(lexer)?;
    let (mut is_split, mut last) = (false, None);
    let mut take = |step: Step, at: u64| {
        if matches!(last, Some(Step::Bytes | Step::SplitBytes)) {
            return Err(unsupported("a pre-tokenizer behind ByteLevel", at));
        }
        is_split |= step != Step::Bytes;
        last = Some(step);
        Ok(())
    };
    match all.kind {
        Some((kind, at)) if kind == "Sequence" => {
            let missing = TokenizerError::new(Kind::FieldMissing("pretokenizers"), SOURCE, at);
            let mut inner = all.inner.ok_or(missing)?;
            array(&mut inner, "pretokenizers", |lexer| {
                let at = lexer.at();
                take(Fields::read(lexer)?.step(at)?, at)
            })?;
        }
        _ => take(all.step(start)?, start)?,
    }
    if last.is_none_or(|last| last == Step::Split) {
        return Err(unsupported("a pre-tokenizer that does not end with ByteLevel", start));
    }
    if is_split { Ok(()) } else { Err(unsupported("ByteLevel without GPT-2's pattern", start)) }
}
