//! Reading vocabularies: what is common to all their forms.

pub(super) mod gguf;
pub(super) mod hugging_face;
mod merges;
mod pre_tokenizer;
pub(super) mod vocab_json;

use alloc::vec::Vec;

use super::bytes::byte_of;
use super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use super::model::Merge;
use super::vocab::{Builder, Role, Vocab, set};
use crate::{Limits, num};

/// Refuses a text that is longer than the limit.
fn check_len(text: &[u8], source: Source, limits: &Limits) -> Result<(), TokenizerError> {
    let most = limits.vocab_len();
    if num::widen(text.len()) <= most {
        Ok(())
    } else {
        Err(TokenizerError::new(Kind::TooLong(most), source, most))
    }
}

/// Adds a token that is written in byte symbols. What it is made of is `chars`, `plain` where that is the text itself.
fn add_symbols(
    builder: &mut Builder,
    (plain, chars): (Option<&str>, impl Iterator<Item = char>),
    len: usize,
    (id, at, role): (u64, u64, Role),
    source: Source,
) -> Result<(), TokenizerError> {
    builder.reserve(len, at)?;
    match plain {
        Some(text) if text.bytes().all(|byte| matches!(byte, b'!'..=b'~')) => builder.extend(text.as_bytes()),
        _ => {
            for symbol in chars {
                let Some(byte) = byte_of(symbol) else {
                    return Err(TokenizerError::new(Kind::TokenSymbol, source, at));
                };
                builder.extend(&[byte]);
            }
        }
    }
    builder.end(id, at, role)
}

/// Reads merges, one after the other.
#[derive(Debug)]
struct MergeReader<'v> {
    vocab: &'v Vocab,
    merges: Vec<Merge>,
    /// The bytes of the merge that is being read, both parts together.
    bytes: Vec<u8>,
}

impl<'v> MergeReader<'v> {
    const fn new(vocab: &'v Vocab) -> Self {
        Self { vocab, merges: Vec::new(), bytes: Vec::new() }
    }

    /// Takes a merge: two symbols with a blank between them.
    fn take(&mut self, chars: impl Iterator<Item = char>) -> Result<(), Kind> {
        self.bytes.clear();
        let mut middle = None;
        for symbol in chars {
            if symbol == ' ' {
                if middle.replace(self.bytes.len()).is_some() {
                    return Err(Kind::MergeForm);
                }
                continue;
            }
            self.bytes.try_reserve(1).map_err(|_| Kind::Memory)?;
            self.bytes.push(byte_of(symbol).ok_or(Kind::MergeSymbol)?);
        }
        let (left, right) = middle.and_then(|middle| self.bytes.split_at_checked(middle)).ok_or(Kind::MergeForm)?;
        if left.is_empty() || right.is_empty() {
            return Err(Kind::MergeForm);
        }
        let id = |bytes| self.vocab.id_of(bytes);
        let (left, right) = id(left).zip(id(right)).ok_or(Kind::MergeSymbol)?;
        // Trained vocabularies number tokens in the order in which merges make them.
        let guess = self.merges.last().map_or(256, |last| last.product.saturating_add(1));
        let product = self.vocab.id_near(&self.bytes, guess).ok_or(Kind::MergeProduct)?;
        self.merges.try_reserve(1).map_err(|_| Kind::Memory)?;
        self.merges.push(Merge { left, right, product });
        Ok(())
    }

    /// All merges. Tokens of several bytes want some; `end` is the length of the file.
    fn finish(self, source: Source, end: u64) -> Result<Vec<Merge>, TokenizerError> {
        let ids = 0..num::narrow32(self.vocab.len()).unwrap_or(0);
        let made = |id: &u32| {
            !self.vocab.is_special(*id) && self.vocab.is_listed(*id) && !looks_special(self.vocab.token(*id))
        };
        if self.merges.is_empty() && ids.into_iter().filter(made).any(|id| self.vocab.token(id).len() > 1) {
            return Err(TokenizerError::new(Kind::NoMerges, source, end));
        }
        Ok(self.merges)
    }
}

/// Whether a token is written as special tokens are: `<|endoftext|>`, `<s>`.
fn looks_special(token: &[u8]) -> bool {
    matches!(token, [b'<', .., b'>'])
}

/// Where the file does not say which tokens are special: those in angle brackets that nothing is merged to.
fn find_special(vocab: &mut Vocab, merges: &[Merge], memory: TokenizerError) -> Result<(), TokenizerError> {
    let mut made = super::hash::zeros(vocab.len().div_ceil(64)).ok_or(memory)?;
    for merge in merges {
        set(&mut made, merge.product);
    }
    for id in 0..num::narrow32(vocab.len()).unwrap_or(0) {
        if !super::vocab::has(&made, id) && looks_special(vocab.token(id)) {
            vocab.make_special(id);
        }
    }
    Ok(())
}
