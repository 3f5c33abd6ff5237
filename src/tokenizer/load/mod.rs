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
use crate::json::lex::BYTE_ORDER_MARK;
use crate::{Limits, num};

/// Refuses a text that is longer than the limit, and one behind a byte order mark, which would be taken for a symbol or for no
/// JSON: it is not seen in an editor, so that no other words would tell what is wrong.
fn check_text(text: &[u8], source: Source, limits: &Limits) -> Result<(), TokenizerError> {
    let most = limits.vocab_len();
    if num::widen(text.len()) > most {
        return Err(TokenizerError::new(Kind::TooLong(most), source, most));
    }
    if text.starts_with(BYTE_ORDER_MARK) {
        return Err(TokenizerError::new(Kind::Bom, source, 0));
    }
    Ok(())
}

/// Gives `put` the bytes that a text in byte symbols stands for, several at once where they can be. False where there is
/// something else in the text, be it no UTF-8.
#[inline]
fn each_byte(mut text: &[u8], mut put: impl FnMut(&[u8])) -> bool {
    loop {
        let run = text.iter().take_while(|byte| matches!(byte, b'!'..=b'~')).count();
        let Some((run, rest)) = text.split_at_checked(run) else { return false };
        if !run.is_empty() {
            put(run);
        }
        // The other symbols take two bytes each.
        let ([lead @ 0xC2..=0xC5, next @ 0x80..=0xBF], rest) = (match rest.split_first_chunk::<2>() {
            Some((pair, rest)) => (*pair, rest),
            None => return rest.is_empty(),
        }) else {
            return false;
        };
        let code = u32::from(lead & 0x1F) << 6 | u32::from(next & 0x3F);
        let Some(byte) = char::from_u32(code).and_then(byte_of) else { return false };
        put(&[byte]);
        text = rest;
    }
}

/// Adds a token that is written in byte symbols. What it is made of is `chars`, `plain` where that is the text itself.
fn add_symbols(
    builder: &mut Builder,
    (plain, chars): (Option<&[u8]>, impl Iterator<Item = char>),
    len: usize,
    (id, at, role): (u64, u64, Role),
    source: Source,
) -> Result<(), TokenizerError> {
    builder.reserve(len, at)?;
    let wrong = TokenizerError::new(Kind::TokenSymbol, source, at);
    match plain {
        Some(text) => {
            if !each_byte(text, |bytes| builder.extend(bytes)) {
                return Err(wrong);
            }
        }
        None => {
            for symbol in chars {
                builder.extend(&[byte_of(symbol).ok_or(wrong)?]);
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

    /// Takes a merge that is the text itself.
    fn take_text(&mut self, text: &[u8]) -> Result<(), Kind> {
        self.bytes.clear();
        self.bytes.try_reserve(text.len()).map_err(|_| Kind::Memory)?;
        let middle = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
        let (left, right) = text.split_at_checked(middle).unwrap_or((text, &[]));
        let is_left = each_byte(left, |bytes| self.bytes.extend_from_slice(bytes));
        let middle = self.bytes.len();
        let is_right = each_byte(right.get(1..).unwrap_or_default(), |bytes| self.bytes.extend_from_slice(bytes));
        if is_left && is_right && middle > 0 && middle < self.bytes.len() {
            return self.add(middle);
        }
        // What is wrong with it is said by reading it character by character.
        self.take(core::str::from_utf8(text).map_err(|_| Kind::MergeUtf8)?.chars())
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
        self.add(middle.ok_or(Kind::MergeForm)?)
    }

    /// Takes the merge of the bytes that were read, of which so many are the left symbol's.
    fn add(&mut self, middle: usize) -> Result<(), Kind> {
        let (left, right) = self.bytes.split_at_checked(middle).ok_or(Kind::MergeForm)?;
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
