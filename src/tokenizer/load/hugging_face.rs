//! `tokenizer.json` of Hugging Face's tokenizers: the model, its added tokens, and all that would change the text.

use alloc::vec::Vec;

use super::super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use super::super::hash::Seed;
use super::super::model::{Merge, Model};
use super::super::vocab::{Builder, Role, Vocab};
use super::pre_tokenizer::{self, boolean, fields, json, skip, string, word};
use super::{MergeReader, add_symbols, check_text, find_special, vocab_json};
use crate::error::ErrorKind;
use crate::json::lex::{Lexer, utf8};
use crate::json::object::Members;
use crate::{Limits, Name, num};

const SOURCE: Source = Source::TokenizerJson;

fn refuse(kind: Kind, at: u64) -> TokenizerError {
    TokenizerError::new(kind, SOURCE, at)
}

/// Where the parts of the file stand.
#[derive(Default)]
struct Parts<'a> {
    vocab: Option<Lexer<'a>>,
    merges: Option<Lexer<'a>>,
    added: Option<Lexer<'a>>,
    split: bool,
    ignore_merges: bool,
}

/// The model in a `tokenizer.json`.
pub(in super::super) fn model(text: &[u8], limits: &Limits) -> Result<Model, TokenizerError> {
    check_text(text, SOURCE, limits)?;
    let end = num::widen(text.len());
    let parts = parts(Lexer::new(utf8(text, 0).map_err(json)?, 0))?;
    if !parts.split {
        return Err(refuse(Kind::FieldMissing("pre_tokenizer"), end));
    }
    let mut vocab = parts.vocab.ok_or(refuse(Kind::FieldMissing("model.vocab"), end))?;
    let merges = parts.merges.ok_or(refuse(Kind::FieldMissing("model.merges"), end))?;
    let has_added = parts.added.is_some();
    let mut added = parts.added.map_or(Ok(Vec::new()), added_tokens)?;
    let mut builder = Builder::new(limits.vocab_tokens(), SOURCE);
    read_vocab(&mut vocab, &mut builder, &mut added)?;
    for token in added.iter().filter(|token| !token.met) {
        add_text(&mut builder, token)?;
    }
    let mut tokens = builder.finish(Seed::of(text), end)?;
    check_ids(&tokens, &added)?;
    let mut reader = MergeReader::new(&tokens);
    read_merges(merges.clone(), |lexer, at| take_merge(lexer, at, &mut reader))?;
    let all: Vec<Merge> = reader.finish(SOURCE, end)?;
    if !has_added {
        find_special(&mut tokens, &all, refuse(Kind::Memory, end))?;
    }
    Model::new(tokens, &all, (SOURCE, text), parts.ignore_merges, |rank| twice(merges.clone(), rank))
}

/// Finds the parts, and refuses what would change the text.
fn parts(mut lexer: Lexer<'_>) -> Result<Parts<'_>, TokenizerError> {
    let mut parts = Parts::default();
    lexer.space();
    if lexer.peek() != Some(b'{') {
        return Err(json(lexer.refuse(ErrorKind::JsonNotObject)));
    }
    fields(&mut lexer, &["normalizer", "pre_tokenizer", "added_tokens", "model"], "", |field, lexer| {
        let at = lexer.at();
        match field {
            0 if word(lexer, b"null") => Ok(()),
            0 => Err(refuse(Kind::Unsupported("a normalizer"), at)),
            1 => {
                parts.split = true;
                pre_tokenizer::check(lexer)
            }
            2 => {
                parts.added = Some(lexer.clone());
                skip(lexer)
            }
            _ => in_model(lexer, &mut parts),
        }
    })?;
    lexer.finish().map_err(json)?;
    Ok(parts)
}

const MODEL: [&str; 9] = [
    "type",
    "vocab",
    "merges",
    "ignore_merges",
    "dropout",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "byte_fallback",
    "unk_token",
];

fn in_model<'a>(lexer: &mut Lexer<'a>, parts: &mut Parts<'a>) -> Result<(), TokenizerError> {
    fields(lexer, &MODEL, "model", |field, lexer| {
        let at = lexer.at();
        let unsupported = |what| Err(refuse(Kind::Unsupported(what), at));
        match field {
            0 => match string(lexer, "model.type")? {
                Some(kind) if kind == "BPE" => Ok(()),
                _ => unsupported("a model other than BPE"),
            },
            1 => {
                parts.vocab = Some(lexer.clone());
                skip(lexer)
            }
            2 => {
                parts.merges = Some(lexer.clone());
                skip(lexer)
            }
            3 => {
                parts.ignore_merges = boolean(lexer, "model.ignore_merges")?;
                Ok(())
            }
            4 => {
                let before = lexer.rest();
                skip(lexer)?;
                let len = before.len().saturating_sub(lexer.rest().len());
                // Zero drops nothing.
                match before.get(..len) {
                    Some(b"null" | b"0" | b"0.0") => Ok(()),
                    _ => unsupported("dropout"),
                }
            }
            5 | 6 => match string(lexer, MODEL.get(field).copied().unwrap_or_default())? {
                Some(affix) if affix != "" => unsupported("symbols with a prefix or suffix"),
                _ => Ok(()),
            },
            7 if boolean(lexer, "model.byte_fallback")? => unsupported("byte_fallback"),
            7 => Ok(()),
            // Every byte has a token, so that nothing is ever unknown.
            _ => string(lexer, "model.unk_token").map(|_| ()),
        }
    })
}

/// An added token, and whether the vocabulary has it too.
struct Added<'a> {
    id: u64,
    content: Name<'a>,
    at: u64,
    met: bool,
}

/// The added tokens, by id.
fn added_tokens(mut lexer: Lexer<'_>) -> Result<Vec<Added<'_>>, TokenizerError> {
    let mut all = Vec::new();
    array(&mut lexer, "added_tokens", |lexer| {
        let start = lexer.at();
        let (mut id, mut content) = (None, None);
        let names = ["id", "content", "single_word", "lstrip", "rstrip"];
        fields(lexer, &names, "added_tokens", |field, lexer| {
            let at = lexer.at();
            match field {
                0 => id = Some(lexer.integer(ErrorKind::JsonInteger).map_err(json)?),
                1 => content = string(lexer, "content")?.map(|content| (content, at)),
                _ if boolean(lexer, "added_tokens")? => {
                    return Err(refuse(Kind::Unsupported("added tokens that take in what is around them"), at));
                }
                _ => {}
            }
            Ok(())
        })?;
        let id = id.ok_or(refuse(Kind::FieldMissing("id"), start))?;
        let (content, at) = content.ok_or(refuse(Kind::FieldMissing("content"), start))?;
        all.try_reserve(1).map_err(|_| refuse(Kind::Memory, at))?;
        all.push(Added { id, content, at, met: false });
        Ok(())
    })?;
    all.sort_unstable_by_key(|token| (token.id, token.at));
    match all.windows(2).find(|two| matches!(two, [a, b] if a.id == b.id)) {
        Some([_, second]) => Err(refuse(Kind::IdTwice, second.at)),
        _ => Ok(all),
    }
}

/// Steps through an array.
pub(super) fn array<'a>(
    lexer: &mut Lexer<'a>,
    field: &'static str,
    mut take: impl FnMut(&mut Lexer<'a>) -> Result<(), TokenizerError>,
) -> Result<(), TokenizerError> {
    lexer.expect(b'[', ErrorKind::JsonValue).map_err(|error| refuse(Kind::Field(field), error.at()))?;
    lexer.space();
    if lexer.accept(b']') {
        return Ok(());
    }
    loop {
        take(lexer)?;
        lexer.space();
        if lexer.accept(b']') {
            return Ok(());
        }
        lexer.expect(b',', ErrorKind::JsonComma).map_err(json)?;
        lexer.space();
    }
}

/// The tokens of the vocabulary. Those that were added are text as it stands, the others byte symbols.
fn read_vocab(lexer: &mut Lexer<'_>, builder: &mut Builder, added: &mut [Added<'_>]) -> Result<(), TokenizerError> {
    let mut members = Members::open(lexer, ErrorKind::JsonNotObject)
        .map_err(|error| refuse(Kind::Field("model.vocab"), error.at()))?;
    while let Some((name, at)) = members.key(lexer).map_err(json)? {
        let id = lexer.integer(ErrorKind::JsonInteger).map_err(json)?;
        let token = added.binary_search_by_key(&id, |token| token.id).ok().and_then(|index| added.get_mut(index));
        match token {
            Some(token) if token.content == name && !token.met => {
                token.met = true;
                add_text(builder, token)?;
            }
            _ => vocab_json::add(builder, name, (id, at, Role::Normal), SOURCE)?,
        }
    }
    Ok(())
}

fn add_text(builder: &mut Builder, token: &Added<'_>) -> Result<(), TokenizerError> {
    builder.reserve(token.content.raw().len(), token.at)?;
    let mut buffer = [0; 4];
    for c in token.content.chars() {
        builder.extend(c.encode_utf8(&mut buffer).as_bytes());
    }
    builder.end(token.id, token.at, Role::Special)
}

/// An added token that is not in the vocabulary under its own id must not be there under another.
fn check_ids(vocab: &Vocab, added: &[Added<'_>]) -> Result<(), TokenizerError> {
    for token in added.iter().filter(|token| !token.met) {
        let mut builder = Builder::new(2, SOURCE);
        let what = (0, token.at, Role::Normal);
        let text = (token.content.as_str().map(str::as_bytes), token.content.chars());
        let spelt = add_symbols(&mut builder, text, token.content.raw().len(), what, SOURCE);
        if spelt.is_ok() && builder.entry(0).is_some_and(|(bytes, _)| vocab.id_of(bytes).is_some()) {
            return Err(refuse(Kind::SpecialId, token.at));
        }
    }
    Ok(())
}

/// Steps through the merges.
fn read_merges<'a>(
    mut lexer: Lexer<'a>,
    mut take: impl FnMut(&mut Lexer<'a>, u64) -> Result<(), TokenizerError>,
) -> Result<(), TokenizerError> {
    array(&mut lexer, "model.merges", |lexer| {
        let at = lexer.at();
        take(lexer, at)
    })
}

/// A merge: a string with a blank in it, or a pair of strings.
fn take_merge(lexer: &mut Lexer<'_>, at: u64, reader: &mut MergeReader<'_>) -> Result<(), TokenizerError> {
    let refused = |kind| refuse(kind, at);
    if lexer.peek() == Some(b'"') {
        let text = lexer.string(ErrorKind::JsonValue).map_err(json)?;
        let taken = match text.as_str() {
            Some(plain) => reader.take_text(plain.as_bytes()),
            None => reader.take(text.chars()),
        };
        return taken.map_err(refused);
    }
    let mut pair = [None; 2];
    let mut count = 0_usize;
    array(lexer, "model.merges", |lexer| {
        let text = lexer.string(ErrorKind::JsonValue).map_err(|_| refused(Kind::MergeForm))?;
        *pair.get_mut(count).ok_or(refused(Kind::MergeForm))? = Some(text);
        count = count.saturating_add(1);
        Ok(())
    })?;
    let [Some(left), Some(right)] = pair else { return Err(refused(Kind::MergeForm)) };
    reader.take(left.chars().chain([' ']).chain(right.chars())).map_err(refused)
}

/// The error for the merge of this rank, which stood there before.
#[cold]
fn twice(merges: Lexer<'_>, rank: usize) -> TokenizerError {
    let (mut left, mut found) = (rank, 0);
    let walked = read_merges(merges, |lexer, at| {
        if left == 0 {
            found = at;
            return Err(refuse(Kind::MergeTwice, at));
        }
        left = left.saturating_sub(1);
        skip(lexer)
    });
    walked.err().unwrap_or(refuse(Kind::MergeTwice, found))
}
