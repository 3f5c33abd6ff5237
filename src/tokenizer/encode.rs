//! From text to tokens.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;

use super::cache::{BLOCK, Cache, LONG_LEN, SHORT_IDS, key_at};
use super::hash::{KEY_LEN, Key, key};
use super::merge::Scratch;
use super::model::Model;
use super::split::piece_len;
use super::window;
use crate::num;

/// What encoding keeps from one piece to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Engine {
    cache: Cache,
    scratch: Scratch,
}

/// Tokens that wait to be appended together.
struct Pending {
    ids: [u32; window::WINDOW],
    count: usize,
}

impl Pending {
    /// Takes four, of which `count` stay.
    #[inline]
    fn push(&mut self, ids: [u32; SHORT_IDS], count: usize) {
        if let Some(place) = self.ids.get_mut(self.count..).and_then(|rest| rest.first_chunk_mut()) {
            *place = ids;
        }
        self.count = self.count.saturating_add(count);
    }

    #[inline]
    fn flush(&mut self, out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        let ids = self.ids.get(..self.count).unwrap_or_default();
        out.try_reserve(ids.len())?;
        out.extend_from_slice(ids);
        self.count = 0;
        Ok(())
    }
}

impl Engine {
    /// With a cache, which pays from some thousand bytes on.
    pub(super) fn cached() -> Self {
        Self { cache: Cache::new(), scratch: Scratch::default() }
    }

    /// Appends the tokens of a text in which nothing has a special meaning.
    pub(super) fn encode(&mut self, model: &Model, text: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        // Most texts have more than three bytes to a token.
        out.try_reserve(text.len() / 3)?;
        let seed = model.vocab.seed();
        let mut rest = text;
        while let Some(block) = rest.first_chunk::<BLOCK>() {
            let Some(bytes) = block.first_chunk() else { break };
            let mut starts = window::starts(bytes) & !1;
            let mut from = 0;
            let mut pending = Pending { ids: [0; window::WINDOW], count: 0 };
            while starts != 0 {
                let to = num::widen32(starts.trailing_zeros());
                starts &= starts.wrapping_sub(1);
                let key = key_at(block, from, to.wrapping_sub(from));
                let known = key.map_or(([0; SHORT_IDS], 0), |key| self.cache.short(key, seed.short(key)));
                if known.1 > 0 {
                    pending.push(known.0, known.1);
                } else {
                    pending.flush(out)?;
                    self.piece(model, block.get(from..to).unwrap_or_default(), out)?;
                }
                from = to;
            }
            pending.flush(out)?;
            if from == 0 {
                from = piece_len(rest);
                self.piece(model, rest.get(..from).unwrap_or_default(), out)?;
            }
            rest = rest.get(from..).unwrap_or_default();
        }
        while let Some((piece, after)) =
            rest.split_at_checked(piece_len(rest)).filter(|(piece, _)| !piece.is_empty())
        {
            self.piece(model, piece, out)?;
            rest = after;
        }
        Ok(())
    }

    /// Appends the tokens of a piece.
    #[inline(never)]
    fn piece(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        // No token is empty, so there are at most as many as bytes.
        out.try_reserve(piece.len())?;
        if piece.len() <= KEY_LEN {
            let key = key(piece);
            return self.short(model, piece, key, model.vocab.seed().short(key), out);
        }
        if piece.len() > LONG_LEN {
            return self.long(model, piece, out);
        }
        let hash = model.vocab.seed().piece(piece);
        if let Some(ids) = self.cache.long(piece, hash) {
            out.extend_from_slice(ids);
            return Ok(());
        }
        let before = out.len();
        if let Some(id) = model.whole(piece, hash) {
            out.push(id);
        } else {
            self.parts(model, piece, out)?;
        }
        self.cache.put_long(piece, hash, out.get(before..).unwrap_or_default());
        Ok(())
    }

    /// A piece, or a part of one, whose bytes fit a key.
    fn short(
        &mut self,
        model: &Model,
        piece: &[u8],
        key: Key,
        hash: u64,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        let (ids, count) = self.cache.short(key, hash);
        if count > 0 {
            out.extend_from_slice(ids.get(..count).unwrap_or_default());
            return Ok(());
        }
        if let Some(id) = model.whole(piece, hash) {
            out.push(id);
            self.cache.put_short(key, hash, &[id]);
            return Ok(());
        }
        if let Some(ids) = self.cache.long(piece, hash) {
            out.extend_from_slice(ids);
            return Ok(());
        }
        let before = out.len();
        self.scratch.merge(model, piece, out)?;
        let ids = out.get(before..).unwrap_or_default();
        if ids.len() <= SHORT_IDS {
            self.cache.put_short(key, hash, ids);
        } else {
            self.cache.put_long(piece, hash, ids);
        }
        Ok(())
    }

    /// A piece that is too long to be kept.
    #[cold]
    fn long(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        if piece.len() <= model.longest()
            && let Some(id) = model.whole(piece, model.vocab.seed().piece(piece))
        {
            out.push(id);
            return Ok(());
        }
        self.parts(model, piece, out)
    }

    /// Cuts a piece where no merge can go across, and merges its parts.
    fn parts(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        let mut rest = piece;
        while !rest.is_empty() {
            let pairs = rest.iter().zip(rest.iter().skip(1));
            let cut = pairs.into_iter().position(|(left, right)| !model.may_join(*left, *right));
            let len = cut.map_or(rest.len(), |cut| cut.saturating_add(1));
            let (part, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            rest = after;
            if part.len() <= KEY_LEN && !model.ignores_merges() {
                let key = key(part);
                self.short(model, part, key, model.vocab.seed().short(key), out)?;
            } else {
                self.scratch.merge(model, part, out)?;
            }
        }
        Ok(())
    }
}
