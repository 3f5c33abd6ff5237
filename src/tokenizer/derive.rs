//! Which tokens their own bytes are encoded as.
//!
//! A piece that is a token's text is that token only where its merges really lead there; in a trained vocabulary they do
//! for every token, in a hostile or edited one they need not. Trying each would cost more than all else at loading, so for
//! vocabularies in which every merge joins what merges of lower rank made, it is told from the two parts: each of them
//! comes about in its own time, and they become one unless a merge across their border comes first.

use alloc::vec::Vec;

use super::cache::Cache;
use super::hash::zeros;
use super::merge::Scratch;
use super::model::{Merge, Model, NONE, Pairs};
use super::vocab::{has, set};
use crate::num;

/// How each token comes about, by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Made(Vec<Origin>);

/// Where a token comes from.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    /// When it came about: 0 for bytes and for what is not made, then merges by rank.
    time: u32,
    left: u32,
    right: u32,
}

impl Made {
    fn of(&self, id: u32) -> Origin {
        self.0.get(num::widen32(id)).copied().unwrap_or_default()
    }

    /// Whether two tokens are what the bytes of both are encoded as. A row of tokens is what its bytes are encoded as if
    /// this holds for each two neighbours: the first merge across a border would be one between those two.
    pub(super) fn are_neighbours(&self, pairs: &Pairs, left: u32, right: u32) -> bool {
        pairs.rank(left, right) == NONE && self.stay_apart(pairs, left, right)
    }

    /// Whether no merge goes across the border between two tokens while they come about.
    ///
    /// The two symbols at the border are followed back in time. A pair of them is merged if it comes before the merge that
    /// makes the left one part of something else, and not after the one that does so to the right one: of equal pairs the
    /// left goes first.
    fn stay_apart(&self, pairs: &Pairs, left: u32, right: u32) -> bool {
        let (mut left, mut right) = (left, right);
        let (mut from_left, mut from_right) = (self.of(left), self.of(right));
        let (mut left_until, mut right_until) = (u32::MAX, u32::MAX);
        loop {
            if from_left.time > from_right.time {
                (left, left_until) = (from_left.right, from_left.time);
                from_left = self.of(left);
            } else if from_right.time > 0 {
                (right, right_until) = (from_right.left, from_right.time);
                from_right = self.of(right);
            } else {
                return true;
            }
            let rank = pairs.rank(left, right);
            let time = rank.saturating_add(1);
            if rank != NONE && time < left_until && time <= right_until {
                return false;
            }
        }
    }
}

/// The tokens that their own bytes are encoded as, and how they come about where every merge joins what lower ranks made;
/// `None` where memory runs out.
pub(super) fn whole(model: &Model, merges: &[Merge]) -> Option<(Vec<u64>, Option<Made>)> {
    match by_parts(model, merges)? {
        (whole, Some(made)) => Some((whole, Some(made))),
        (_, None) => Some((by_trying(model)?, None)),
    }
}

/// From the parts, in one pass; nothing where a merge joins what only later merges make.
fn by_parts(model: &Model, merges: &[Merge]) -> Option<(Vec<u64>, Option<Made>)> {
    let words = model.vocab.len().div_ceil(64);
    let (mut whole, mut wanted) = (zeros(words)?, zeros(words)?);
    let mut made = Made(zeros(model.vocab.len())?);
    for id in model.bytes {
        set(&mut whole, id);
    }
    for (merge, rank) in merges.iter().zip(0_u32..) {
        let (left, right) = (has(&whole, merge.left), has(&whole, merge.right));
        if !left {
            set(&mut wanted, merge.left);
        }
        if !right {
            set(&mut wanted, merge.right);
        }
        if !(left && right) || has(&whole, merge.product) || !made.stay_apart(&model.pairs, merge.left, merge.right)
        {
            continue;
        }
        if has(&wanted, merge.product) {
            return Some((whole, None));
        }
        set(&mut whole, merge.product);
        if let Some(origin) = made.0.get_mut(num::widen32(merge.product)) {
            *origin = Origin { time: rank.saturating_add(1), left: merge.left, right: merge.right };
        }
    }
    Some((whole, Some(made)))
}

/// By encoding each token's bytes.
#[cold]
fn by_trying(model: &Model) -> Option<Vec<u64>> {
    let mut whole = zeros(model.vocab.len().div_ceil(64))?;
    let (mut scratch, mut cache) = (Scratch::default(), Cache::default());
    let mut ids = Vec::new();
    for id in 0..num::narrow32(model.vocab.len())? {
        let bytes = model.vocab.token(id);
        ids.clear();
        ids.try_reserve(bytes.len()).ok()?;
        if model.vocab.is_special(id) {
            continue;
        }
        scratch.merge(model, &mut cache, bytes, &mut ids).ok()?;
        if ids == [id] {
            set(&mut whole, id);
        }
    }
    Some(whole)
}
