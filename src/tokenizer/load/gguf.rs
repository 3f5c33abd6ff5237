//! The vocabulary in the metadata of a GGUF file: `tokenizer.ggml.*`, as llama.cpp writes and reads it.

use super::super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use super::super::hash::Seed;
use super::super::model::Model;
use super::super::vocab::{Builder, Role};
use super::{MergeReader, add_symbols, find_special};
use crate::gguf::{Array, Header, ValueError};
use crate::{Limits, num};

const SOURCE: Source = Source::Gguf;
const ARCHITECTURE: &str = "general.architecture";
const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";
const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";

/// Pre-tokenizers for which llama.cpp (`src/llama-vocab.cpp`, at 00ad355) splits by GPT-2's pattern and nothing else. Its
/// other names, and among them `default`, split numbers or punctuation further or take other patterns.
const GPT2: [&str; 19] = [
    "gpt-2",
    "phi-2",
    "mpt",
    "olmo",
    "jais",
    "trillion",
    "exaone4",
    "gigachat",
    "mellum",
    "modern-bert",
    "roberta-bpe",
    "granite-docling",
    "a.x-4.0",
    "jina-es",
    "jina-de",
    "jina-v1-en",
    "jina-v2-es",
    "jina-v2-de",
    "jina-v2-code",
];

fn refuse(kind: Kind, at: u64) -> TokenizerError {
    TokenizerError::new(kind, SOURCE, at)
}

/// Where the pair of this key begins; the end of the header where there is none.
fn place(header: &Header<'_>, key: &str) -> u64 {
    header.pairs().find(|pair| pair.key() == key).map_or(header.data_offset(), |pair| pair.key_at())
}

/// The strings of an array, and the offset of each one's length.
fn strings<'a>(array: &Array<'a>) -> Result<impl Iterator<Item = (&'a [u8], u64)>, ValueError> {
    let mut at = array.at();
    Ok(array.strings()?.map(move |text| {
        let start = at;
        at = at.saturating_add(8).saturating_add(num::widen(text.bytes().len()));
        (text.bytes(), start)
    }))
}

/// The model in a GGUF file's metadata.
pub(in super::super) fn model(header: &Header<'_>, limits: &Limits) -> Result<Model, TokenizerError> {
    let wrong = |key| move |error| refuse(Kind::Gguf(error), place(header, key));
    if header.str(MODEL).map_err(wrong(MODEL))? != "gpt2" {
        return Err(refuse(Kind::Unsupported("a GGUF tokenizer other than gpt2"), place(header, MODEL)));
    }
    match header.str(PRE) {
        // Files of GPT-2 that are older than the key.
        Err(ValueError::Missing) if header.str(ARCHITECTURE) == Ok("gpt2") => {}
        Err(error) => return Err(wrong(PRE)(error)),
        Ok(name) if GPT2.contains(&name) => {}
        Ok("default") => {
            return Err(refuse(
                Kind::Unsupported("the pre-tokenizer `default`, which no model was trained with"),
                place(header, PRE),
            ));
        }
        Ok(_) => return Err(refuse(Kind::Unsupported("a pre-tokenizer other than GPT-2's"), place(header, PRE))),
    }
    let tokens = header.array(TOKENS).map_err(wrong(TOKENS))?;
    let merges = header.array(MERGES).map_err(wrong(MERGES))?;
    for array in [&tokens, &merges] {
        if num::widen(array.bytes().len()) > limits.vocab_len() {
            return Err(refuse(Kind::TooLong(limits.vocab_len()), array.at()));
        }
    }
    let types = match header.array(TYPES) {
        Err(ValueError::Missing) => None,
        types => Some(types.map_err(wrong(TYPES))?),
    };
    let end = header.data_offset();
    let builder = read_tokens(&tokens, types, limits, wrong(TYPES), wrong(TOKENS))?;
    let mut vocab = builder.finish(Seed::of(tokens.bytes()), end)?;
    let mut reader = MergeReader::new(&vocab);
    for (text, at) in strings(&merges).map_err(wrong(MERGES))? {
        reader.take_text(text).map_err(|kind| refuse(kind, at))?;
    }
    let all = reader.finish(SOURCE, end)?;
    if types.is_none() {
        find_special(&mut vocab, &all, refuse(Kind::Memory, end))?;
    }
    let twice = |rank| {
        let at = strings(&merges).ok().and_then(|mut strings| strings.nth(rank)).map_or(0, |(_, at)| at);
        refuse(Kind::MergeTwice, at)
    };
    Model::new(vocab, &all, (SOURCE, merges.bytes()), false, twice)
}

/// The tokens, with what their types say of them.
fn read_tokens(
    tokens: &Array<'_>,
    types: Option<Array<'_>>,
    limits: &Limits,
    wrong_types: impl Fn(ValueError) -> TokenizerError,
    wrong_tokens: impl Fn(ValueError) -> TokenizerError,
) -> Result<Builder, TokenizerError> {
    if let Some(types) = types.filter(|types| types.len() != tokens.len()) {
        return Err(refuse(Kind::TypeCount, types.at()));
    }
    let mut builder = Builder::new(limits.vocab_tokens(), SOURCE);
    // Every token has a length of eight bytes in front of it.
    let lengths = tokens.len().saturating_mul(8);
    builder.expect(tokens.len(), tokens.bytes().len().saturating_sub(lengths), tokens.at())?;
    let mut types = types.map(|types| types.iter());
    for ((text, at), id) in strings(tokens).map_err(wrong_tokens)?.zip(0..) {
        let kind = types.as_mut().and_then(Iterator::next).map_or(Ok(1), |kind| kind.i64());
        let role = match kind.map_err(&wrong_types)? {
            1 => Role::Normal,
            // Control tokens, and those that a user defined.
            3 | 4 => Role::Special,
            // Unknown and unused ones: filling, mostly.
            2 | 5 => Role::Inert,
            6 => return Err(refuse(Kind::Unsupported("byte tokens"), at)),
            _ => return Err(refuse(Kind::TypeUnknown, at)),
        };
        if role == Role::Normal {
            add_symbols(&mut builder, (Some(text), "".chars()), text.len(), (id, at, role), SOURCE)?;
        } else {
            let text = core::str::from_utf8(text).map_err(|_| refuse(Kind::TokenSymbol, at))?;
            builder.reserve(text.len(), at)?;
            builder.extend(text.as_bytes());
            builder.end(id, at, role)?;
        }
    }
    Ok(builder)
}
