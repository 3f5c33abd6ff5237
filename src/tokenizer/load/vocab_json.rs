//! `vocab.json`, an object of tokens and their ids, with `merges.txt`.

use super::super::error::{Source, TokenizerError};
use super::super::hash::Seed;
use super::super::model::Model;
use super::super::vocab::{Builder, Role};
use super::{MergeReader, add_symbols, check_text, find_special, merges};
use crate::error::ErrorKind;
use crate::json::lex::{Lexer, utf8};
use crate::json::object::Members;
use crate::{Limits, Name, num};

const SOURCE: Source = Source::Vocab;

/// The token that a JSON string is.
pub(super) fn add(
    builder: &mut Builder,
    name: Name<'_>,
    what: (u64, u64, Role),
    source: Source,
) -> Result<(), TokenizerError> {
    add_symbols(builder, (name.as_str().map(str::as_bytes), name.chars()), name.raw().len(), what, source)
}

/// The model in `vocab.json` and `merges.txt`.
pub(in super::super) fn model(vocab: &[u8], merges: &[u8], limits: &Limits) -> Result<Model, TokenizerError> {
    check_text(vocab, SOURCE, limits)?;
    check_text(merges, Source::Merges, limits)?;
    let json = |error| TokenizerError::json(error, SOURCE);
    let mut lexer = Lexer::new(utf8(vocab, 0).map_err(json)?, 0);
    let mut builder = Builder::new(limits.vocab_tokens(), SOURCE);
    lexer.space();
    let mut members = Members::open(&mut lexer, ErrorKind::JsonNotObject).map_err(json)?;
    while let Some((name, at)) = members.key(&mut lexer).map_err(json)? {
        let id = lexer.integer(ErrorKind::JsonInteger).map_err(json)?;
        add(&mut builder, name, (id, at, Role::Normal), SOURCE)?;
    }
    lexer.finish().map_err(json)?;
    let mut tokens = builder.finish(Seed::of(vocab), num::widen(vocab.len()))?;
    let mut reader = MergeReader::new(&tokens);
    merges::read(merges, &mut reader)?;
    let all = reader.finish(Source::Merges, num::widen(merges.len()))?;
    let memory = TokenizerError::new(super::Kind::Memory, SOURCE, num::widen(vocab.len()));
    find_special(&mut tokens, &all, memory)?;
    Model::new(tokens, &all, (Source::Merges, merges), false, |rank| merges::twice(merges, rank))
}
