//! Finding special tokens in a text: the leftmost, of those that begin at one place the longest.

use alloc::vec::Vec;

use super::vocab::{Vocab, has, set};
use crate::num;

/// Bytes that a special token may have, so that looking for one stays linear in the text.
pub(super) const MOST_LEN: usize = 256;

/// The special tokens of a vocabulary, sorted by their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Specials {
    sorted: Vec<u32>,
    /// The bytes that one begins with: a bit each.
    first: [u64; 4],
}

impl Specials {
    /// Those of a vocabulary; the id of one that is too long, or `None` where there is no memory, as the error.
    pub(super) fn of(vocab: &Vocab) -> Result<Self, Option<u32>> {
        let mut specials = Self::default();
        for id in 0..num::narrow32(vocab.len()).unwrap_or(0) {
            if !vocab.is_special(id) {
                continue;
            }
            let token = vocab.token(id);
            if token.len() > MOST_LEN {
                return Err(Some(id));
            }
            specials.sorted.try_reserve(1).map_err(|_| None)?;
            specials.sorted.push(id);
            if let Some(byte) = token.first() {
                set(&mut specials.first, u32::from(*byte));
            }
        }
        specials.sorted.sort_unstable_by(|a, b| vocab.token(*a).cmp(vocab.token(*b)).then(a.cmp(b)));
        Ok(specials)
    }

    /// Their ids, sorted by their bytes.
    pub(super) fn ids(&self) -> &[u32] {
        &self.sorted
    }

    /// The longest special token that `text` begins with.
    fn at_start(&self, vocab: &Vocab, text: &[u8]) -> Option<u32> {
        // Those that begin as the text does, byte for byte fewer.
        let mut same = &self.sorted[..];
        let mut longest = None;
        for (at, byte) in text.iter().enumerate() {
            let next = |id: &u32| vocab.token(*id).get(at).copied();
            let from = same.partition_point(|id| next(id) < Some(*byte));
            let to = same.partition_point(|id| next(id) <= Some(*byte));
            same = same.get(from..to).unwrap_or_default();
            let Some(first) = same.first() else { break };
            if vocab.token(*first).len() == at.saturating_add(1) {
                longest = Some(*first);
            }
        }
        longest
    }

    /// The first special token in a text, and where it begins.
    pub(super) fn first_in(&self, vocab: &Vocab, text: &[u8]) -> Option<(usize, u32)> {
        let begins = |byte: &u8| has(&self.first, u32::from(*byte));
        let mut from = 0_usize;
        loop {
            let rest = text.get(from..)?;
            let skipped = rest.iter().position(begins)?;
            from = from.saturating_add(skipped);
            if let Some(id) = self.at_start(vocab, text.get(from..)?) {
                return Some((from, id));
            }
            from = from.saturating_add(1);
        }
    }
}
