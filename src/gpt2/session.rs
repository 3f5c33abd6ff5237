//! A text in the making: its tokens, and the keys and values of those that were run.

use super::cache::{Cache, CacheType, Dims};
use super::error::{RunError, SessionError};
use super::model::Gpt2;
use super::problem::Problem;
use super::random::Random;
use crate::safetensors::{self, TensorSpec};
use crate::{Dtype, SafeTensors, num};

/// A text in the making. It belongs to the model with which it was made.
///
/// The last tokens may not have been run yet: those that were pushed, and the one that was chosen last.
#[derive(Debug)]
pub struct Session {
    pub(super) tokens: Vec<u32>,
    pub(super) cache: Cache,
    /// Where the dice stand, once they were thrown.
    pub(super) random: Option<Random>,
    pub(super) model: Gpt2,
    limit: u64,
}

impl Session {
    pub(super) fn new(model: &Gpt2, kind: CacheType, context: usize, limit: u64) -> Result<Self, RunError> {
        let positions = model.config().n_positions();
        let capacity = if context == 0 { positions } else { context.min(positions) };
        let cache = Cache::new(Dims::new(model.config(), kind), capacity, limit).map_err(RunError::Memory)?;
        Ok(Self { tokens: Vec::new(), cache, random: None, model: model.clone(), limit })
    }

    /// The tokens so far, but those that a [slide](super::Overflow::Slide) dropped.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The model it belongs to.
    pub const fn model(&self) -> &Gpt2 {
        &self.model
    }

    /// How many of the tokens were run.
    pub const fn run_len(&self) -> usize {
        self.cache.len()
    }

    /// The most tokens that can be run.
    pub const fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    /// Bytes of memory that the keys and values may take; what is shared with other sessions is counted in each.
    pub fn cache_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    /// Adds tokens to the text; they are run when something is to follow them.
    ///
    /// # Errors
    ///
    /// [`RunError::Token`], and then none of them is added.
    pub fn push(&mut self, tokens: &[u32]) -> Result<(), RunError> {
        let vocabulary = self.model.config().n_vocab();
        if let Some(id) = tokens.iter().copied().find(|id| num::widen32(*id) >= vocabulary) {
            return Err(RunError::Token { id, vocabulary });
        }
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }

    /// Forgets all tokens from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
        self.cache.truncate(len);
    }

    /// Another session with the same text. The keys and values so far are kept once for both, so that many texts can go on
    /// from a long prompt.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] where the room for what follows does not fit the memory limit.
    pub fn fork(&mut self) -> Result<Self, RunError> {
        let cache = self.cache.fork(self.limit).map_err(RunError::Memory)?;
        let (tokens, random, model) = (self.tokens.clone(), self.random.clone(), self.model.clone());
        Ok(Self { tokens, cache, random, model, limit: self.limit })
    }

    /// Drops the middle of a text that has become too long: the first `keep` tokens stay, and of the rest the last half of
    /// what there is room for. Positions change, so what follows the first `keep` has to be run again.
    pub(super) fn slide(&mut self, keep: usize) {
        let capacity = self.capacity();
        let keep = keep.min(capacity / 2).min(self.tokens.len());
        let rest = (capacity.saturating_sub(keep) / 2).max(1);
        let from = self.tokens.len().saturating_sub(rest).max(keep);
        self.cache.truncate(keep);
        self.tokens.drain(keep..from);
    }

    /// The session as bytes, from which [`Runner::restore`](super::Runner::restore) makes it again: a safetensors file of the
    /// tokens, the keys and the values.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] where there is no memory for them.
    pub fn save(&self) -> Result<Vec<u8>, RunError> {
        let dims = *self.cache.dims();
        let run = self.cache.len();
        let tokens: Vec<u8> = self.tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let half = dims.bytes(run) / 2;
        let refused = || {
            RunError::Memory(Problem::Memory {
                what: "saving the session",
                needed: dims.bytes(run),
                limit: u64::MAX,
            })
        };
        let size = num::narrow(half).ok_or_else(refused)?;
        keys.try_reserve_exact(size).map_err(|_| refused())?;
        values.try_reserve_exact(size).map_err(|_| refused())?;
        for layer in 0..dims.layers {
            for head in 0..dims.heads {
                for (key, value) in self.cache.runs(layer, head) {
                    keys.extend_from_slice(key);
                    values.extend_from_slice(value);
                }
            }
        }
        let shape = [dims.layers, dims.heads, run, dims.head_dim].map(num::widen);
        let count = [num::widen(self.tokens.len())];
        let dtype = dtype(dims.kind);
        let tensors = [
            TensorSpec::new("tokens", Dtype::U32, &count).with_bytes(&tokens),
            TensorSpec::new("keys", dtype, &shape).with_bytes(&keys),
            TensorSpec::new("values", dtype, &shape).with_bytes(&values),
        ];
        let model = format!("{:016x}", self.model.fingerprint());
        let dice = self
            .random
            .as_ref()
            .map_or_else(String::new, |random| random.state().map(|word| format!("{word:016x}")).join(""));
        let metadata = [("tensorgate.session", VERSION), ("model", model.as_str()), ("dice", dice.as_str())];
        safetensors::serialize(tensors, Some(metadata)).map_err(|_| refused())
    }

    /// The session that these bytes hold, of which everything is checked.
    pub(super) fn restore(model: &Gpt2, bytes: &[u8], context: usize, limit: u64) -> Result<Self, RunError> {
        let wrong = |name| RunError::Session(SessionError::Field(name));
        let file = SafeTensors::open(bytes).map_err(|error| RunError::Session(SessionError::File(error)))?;
        let metadata = file.metadata().ok_or(wrong("__metadata__"))?;
        let field = |key: &'static str| metadata.get(key).map(|value| value.to_cow()).ok_or(wrong(key));
        if field("tensorgate.session")? != VERSION {
            return Err(wrong("tensorgate.session"));
        }
        if field("model")? != format!("{:016x}", model.fingerprint()) {
            return Err(RunError::Session(SessionError::OtherModel));
        }
        let tensor = |name: &'static str| file.tensor(name).map_err(|_| wrong(name));
        let (tokens, keys, values) = (tensor("tokens")?, tensor("keys")?, tensor("values")?);
        if tokens.dtype() != Dtype::U32 {
            return Err(wrong("tokens"));
        }
        let kind = match keys.dtype() {
            Dtype::F32 => CacheType::F32,
            Dtype::F16 => CacheType::F16,
            _ => return Err(wrong("keys")),
        };
        let mut session = Self::new(model, kind, context, limit)?;
        let dims = *session.cache.dims();
        let (words, _) = tokens.bytes().as_chunks::<4>();
        let ids: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        session.push(&ids)?;
        let run = keys.shape().iter().nth(2).and_then(num::narrow).ok_or(wrong("keys"))?;
        let shape = [dims.layers, dims.heads, run, dims.head_dim].map(num::widen);
        for (name, view) in [("keys", &keys), ("values", &values)] {
            if view.dtype() != dtype(kind) || !view.shape().iter().eq(shape) {
                return Err(wrong(name));
            }
        }
        if run > session.capacity() {
            return Err(RunError::ContextFull { tokens: run, room: session.capacity() });
        }
        if run > ids.len() {
            return Err(wrong("keys"));
        }
        let len = run.saturating_mul(dims.entry()).max(1);
        let mut parts = keys.bytes().chunks_exact(len).zip(values.bytes().chunks_exact(len));
        for layer in 0..dims.layers {
            for head in 0..dims.heads {
                let Some((key, value)) = parts.next() else { continue };
                let (to_key, to_value) = session.cache.own_mut(layer, head);
                for (to, from) in [(to_key, key), (to_value, value)] {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                }
            }
        }
        session.cache.advance(run);
        let dice_text = field("dice")?;
        if !dice_text.is_empty() {
            session.random = Some(dice(&dice_text).ok_or(wrong("dice"))?);
        }
        Ok(session)
    }
}

/// The version of what is saved.
const VERSION: &str = "1";

const fn dtype(kind: CacheType) -> Dtype {
    match kind {
        CacheType::F32 => Dtype::F32,
        CacheType::F16 => Dtype::F16,
    }
}

/// The dice's state from its hexadecimal digits.
fn dice(text: &str) -> Option<Random> {
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit()) && text.len() == 64;
    let word = |at: usize| u64::from_str_radix(text.get(at..at.saturating_add(16))?, 16).ok();
    let state = [word(0)?, word(16)?, word(32)?, word(48)?];
    if digits { Random::restore(state) } else { None }
}
