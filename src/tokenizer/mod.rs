//! Byte-level BPE as of GPT-2: text to tokens and back, from a vocabulary that one does not trust.
//!
//! A vocabulary comes as `vocab.json` with `merges.txt` ([`Tokenizer::from_files`]), as `tokenizer.json`
//! ([`Tokenizer::from_json`]), or in a GGUF file ([`Tokenizer::from_gguf`]). Whatever it says, the outcome is a tokenizer
//! or a [`TokenizerError`] that says where the fault is; memory is at most a small multiple of the file's length, and time
//! is close to linear in it.
//!
//! # What is equal to what
//!
//! - For text that is UTF-8 the tokens are those of tiktoken's `encode_ordinary`, in time that is linear in the text
//!   whatever it is. The pre-tokenizer splits as the published pattern does, with the letters, numbers and white space of
//!   Unicode 16.0.0, which are those of tiktoken 0.14.0.
//! - Any bytes can be encoded, and [`Tokenizer::decode`] gives exactly them back. A byte that is not part of valid UTF-8
//!   counts as a character that is neither letter, number nor white space: it is split from and joined with its
//!   neighbours as punctuation is.
//! - Special tokens such as `<|endoftext|>` are plain text, unless they are asked for
//!   ([`Encoder::encode_with_special`]).
//!
//! # What is refused
//!
//! Ids that are not 0 to n - 1 each once; a token twice; a token with a character that stands for no byte; a byte without
//! a token; a merge that is no pair, joins what is no token, makes no token, or stands twice; carriage returns and
//! `#version` lines in the midst of `merges.txt`; no merges where there are tokens for them; and in `tokenizer.json` and
//! GGUF whatever would split or change the text in another way. Each has a code ([`TokenizerErrorKind::code`]).
//!
//! A token that its own bytes do not lead to by merges is never given, with two exceptions as in Hugging Face's
//! tokenizers: special ones where they are asked for, and all of them where a `tokenizer.json` says `ignore_merges`.

mod batch;
mod bytes;
mod cache;
mod classes;
mod decode;
mod derive;
mod encode;
mod error;
mod hash;
mod load;
mod merge;
mod model;
#[cfg(feature = "std")]
mod parallel;
mod phrases;
mod special;
mod split;
mod tiny;
mod vocab;
pub(crate) mod window;

pub use decode::{StreamDecoder, UnknownId};
pub use error::{Source, TokenizerError, TokenizerErrorKind};

use alloc::collections::TryReserveError;
use alloc::vec::Vec;

use self::encode::Engine;
use self::model::Model;
use self::special::Specials;
use crate::{Limits, gguf};

/// A vocabulary and its merges, ready to encode and decode.
#[derive(Clone)]
pub struct Tokenizer {
    model: Model,
    specials: Specials,
}

impl core::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (tokens, merges) = (self.model.vocab.len(), self.model.products.len());
        f.debug_struct("Tokenizer").field("tokens", &tokens).field("merges", &merges).finish_non_exhaustive()
    }
}

/// Room for the tokens of a text of so many bytes, most of which have more than three to a token. Where there is no memory
/// for it there is none, which those notice who append.
fn room(text: usize) -> Vec<u32> {
    let mut ids = Vec::new();
    if ids.try_reserve(text / 3).is_ok() {
        #[cfg(feature = "std")]
        crate::simd::slab::want_large_pages(ids.spare_capacity_mut());
    }
    ids
}

/// From this many bytes on, a cache pays for itself.
const CACHE_FROM: usize = 1 << 12;

impl Tokenizer {
    /// The tokenizer in `vocab.json`, an object of tokens and ids, and `merges.txt`, a merge a line.
    ///
    /// Tokens in angle brackets that no merge makes, as `<|endoftext|>`, are special.
    ///
    /// # Errors
    ///
    /// [`TokenizerError`], with the offset and for `merges.txt` the line.
    pub fn from_files(vocab: &[u8], merges: &[u8]) -> Result<Self, TokenizerError> {
        Self::from_files_with(vocab, merges, &Limits::DEFAULT)
    }

    /// The same within [`Limits::vocab_len`] and [`Limits::vocab_tokens`].
    ///
    /// # Errors
    ///
    /// As [`from_files`](Self::from_files).
    pub fn from_files_with(vocab: &[u8], merges: &[u8], limits: &Limits) -> Result<Self, TokenizerError> {
        Self::of(load::vocab_json::model(vocab, merges, limits)?, Source::Vocab)
    }

    /// The tokenizer in a `tokenizer.json` of Hugging Face's tokenizers: a BPE model without a normalizer whose
    /// pre-tokenizer splits by GPT-2's pattern, be it that of `ByteLevel` or a `Split` in front of it that spells out the
    /// same. Merges may be strings or pairs. Added tokens are special, whether the file calls them so or not, since those
    /// libraries look for all of them. What comes after the model (post-processor, decoder) is not looked at.
    ///
    /// # Errors
    ///
    /// [`TokenizerError`] with the offset; [`TokenizerErrorKind::Unsupported`] for another kind of tokenizer.
    pub fn from_json(text: &[u8]) -> Result<Self, TokenizerError> {
        Self::from_json_with(text, &Limits::DEFAULT)
    }

    /// The same within [`Limits::vocab_len`] and [`Limits::vocab_tokens`].
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json).
    pub fn from_json_with(text: &[u8], limits: &Limits) -> Result<Self, TokenizerError> {
        Self::of(load::hugging_face::model(text, limits)?, Source::TokenizerJson)
    }

    /// The tokenizer in the metadata of a GGUF file: `tokenizer.ggml.model` must be `gpt2`, and `tokenizer.ggml.pre` one of
    /// the 19 names for which llama.cpp splits as GPT-2 does (`gpt-2`, `phi-2`, `mpt`, `olmo`, `exaone4`, …). The key may
    /// be missing where `general.architecture` is `gpt2`, as in files that are older than it. `default` is refused:
    /// for it, and for files of other models without the key, llama.cpp warns and splits as no model was trained.
    ///
    /// Control and user-defined tokens (types 3 and 4) are special; unknown and unused ones (2 and 5) are never given.
    ///
    /// # Errors
    ///
    /// [`TokenizerError`] with the offset in the file; [`TokenizerErrorKind::Unsupported`] for another kind of tokenizer.
    pub fn from_gguf(header: &gguf::Header<'_>) -> Result<Self, TokenizerError> {
        Self::from_gguf_with(header, &Limits::DEFAULT)
    }

    /// The same within [`Limits::vocab_len`] and [`Limits::vocab_tokens`].
    ///
    /// # Errors
    ///
    /// As [`from_gguf`](Self::from_gguf).
    pub fn from_gguf_with(header: &gguf::Header<'_>, limits: &Limits) -> Result<Self, TokenizerError> {
        Self::of(load::gguf::model(header, limits)?, Source::Gguf)
    }

    fn of(model: Model, source: Source) -> Result<Self, TokenizerError> {
        let specials = Specials::of(&model.vocab).map_err(|id| match id {
            Some(id) => TokenizerError::new(TokenizerErrorKind::SpecialLong, source, model.vocab.place(id)),
            None => TokenizerError::new(TokenizerErrorKind::Memory, source, 0),
        })?;
        Ok(Self { model, specials })
    }

    /// How many tokens there are; their ids are the numbers below.
    pub fn vocab_size(&self) -> usize {
        self.model.vocab.len()
    }

    /// The bytes that a token stands for; `None` where there is no such token.
    #[inline]
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        Some(self.model.vocab.token(id)).filter(|token| !token.is_empty())
    }

    /// The id of the token that stands for exactly these bytes, special ones included.
    pub fn id_of(&self, bytes: &[u8]) -> Option<u32> {
        let vocab = &self.model.vocab;
        let special = || self.special_ids().find(|id| vocab.token(*id) == bytes);
        vocab.id_of(bytes).or_else(special)
    }

    /// The ids of the special tokens, sorted by their bytes.
    pub fn special_ids(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.specials.ids().iter().copied()
    }

    /// Whether a token is a special one.
    pub fn is_special(&self, id: u32) -> bool {
        self.model.vocab.is_special(id)
    }

    /// How many merges there are.
    pub fn merges(&self) -> usize {
        self.model.products.len()
    }

    /// The tokens of a text, special ones taken as plain text. For many short texts keep an [`Encoder`].
    ///
    /// When memory runs out this ends the program, as every vector does; [`Encoder::encode_into`] says so instead.
    pub fn encode(&self, text: &[u8]) -> Vec<u32> {
        self.encode_by(text, Encoder::encode_into)
    }

    /// The tokens of a text, with the special tokens that are written out in it.
    ///
    /// When memory runs out this ends the program, as every vector does; [`Encoder::encode_with_special`] says so instead.
    pub fn encode_with_special(&self, text: &[u8]) -> Vec<u32> {
        self.encode_by(text, Encoder::encode_with_special)
    }

    fn encode_by<'t>(
        &'t self,
        text: &[u8],
        encode: impl Fn(&mut Encoder<'t>, &[u8], &mut Vec<u32>) -> Result<(), TryReserveError>,
    ) -> Vec<u32> {
        let len = text.len();
        let engine = if len < CACHE_FROM { Engine::default() } else { Engine::cached(&self.model, len) };
        let mut ids = room(len);
        if encode(&mut Encoder { tokenizer: self, engine }, text, &mut ids).is_err() {
            // What a vector does that cannot grow.
            alloc::alloc::handle_alloc_error(core::alloc::Layout::for_value(text));
        }
        ids
    }
}

/// Encodes text after text, and remembers pieces that it met: up to 20 MiB of them, however long the texts.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// # use tensorgate::tokenizer::{Encoder, Tokenizer};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/models/austen");
/// # let read = |name: &str| std::fs::read(format!("{path}/{name}"));
/// let tokenizer = Tokenizer::from_files(&read("vocab.json")?, &read("merges.txt")?)?;
/// let mut encoder = Encoder::new(&tokenizer);
/// let mut ids = Vec::new();
/// encoder.encode_into(b"It is a truth universally acknowledged", &mut ids)?;
/// assert_eq!(tokenizer.decode(&ids)?, b"It is a truth universally acknowledged");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    engine: Engine,
}

impl core::fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Encoder").field("tokenizer", self.tokenizer).finish_non_exhaustive()
    }
}

impl<'t> Encoder<'t> {
    /// One that has met nothing yet. Where there is no memory for the cache it does without.
    pub fn new(tokenizer: &'t Tokenizer) -> Self {
        Self { tokenizer, engine: Engine::cached(&tokenizer.model, usize::MAX) }
    }

    /// Appends the tokens of a text, special ones taken as plain text: tiktoken's `encode_ordinary`.
    ///
    /// Besides the result this takes up to 40 bytes of memory for each byte of the longest piece that cannot be cut (a
    /// run of one letter, say).
    ///
    /// # Errors
    ///
    /// When there is not enough memory for the tokens; some may have been appended then.
    pub fn encode_into(&mut self, text: &[u8], ids: &mut Vec<u32>) -> Result<(), TryReserveError> {
        self.engine.encode(&self.tokenizer.model, text, ids)
    }

    /// Appends the tokens of a text, with the special tokens that are written out in it: the leftmost first, and of two
    /// that begin at one place the longer. Never do this with text of a stranger's.
    ///
    /// # Errors
    ///
    /// As [`encode_into`](Self::encode_into).
    pub fn encode_with_special(&mut self, text: &[u8], ids: &mut Vec<u32>) -> Result<(), TryReserveError> {
        let (vocab, specials) = (&self.tokenizer.model.vocab, &self.tokenizer.specials);
        let mut rest = text;
        while let Some((at, id)) = specials.first_in(vocab, rest) {
            let (before, from) = rest.split_at_checked(at).unwrap_or((rest, &[]));
            self.engine.encode(&self.tokenizer.model, before, ids)?;
            ids.try_reserve(1)?;
            ids.push(id);
            rest = from.get(vocab.token(id).len()..).unwrap_or_default();
        }
        self.engine.encode(&self.tokenizer.model, rest, ids)
    }
}
