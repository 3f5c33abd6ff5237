//! From text to tokens.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;

use super::cache::{BLOCK, Cache, LONG_IDS, RUN_LEN, key_at, long_key_at};
use super::hash::{KEY_LEN, Key, LONG_KEY_LEN, key, long_key};
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

/// Tokens of a window that wait to be appended together.
struct Pending {
    ids: [u32; window::WINDOW + LONG_IDS],
    count: usize,
}

/// A piece of a window, and what it is looked up by where it is short.
#[derive(Clone, Copy, Default)]
struct Asked {
    from: usize,
    len: usize,
    key: Key,
    hash: u64,
}

impl Pending {
    /// Takes `N`, of which `count` stay.
    #[inline]
    fn push<const N: usize>(&mut self, ids: [u32; N], count: usize) {
        if let Some(place) = self.ids.get_mut(self.count..).and_then(|rest| rest.first_chunk_mut()) {
            *place = ids;
        }
        self.count = self.count.wrapping_add(count);
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
    pub(super) fn cached(model: &Model) -> Self {
        Self { cache: Cache::new(model.vocab.len()), scratch: Scratch::default() }
    }

    /// Appends the tokens of a text in which nothing has a special meaning.
    pub(super) fn encode(&mut self, model: &Model, text: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        // Most texts have more than three bytes to a token.
        out.try_reserve(text.len() / 3)?;
        let mut rest = text;
        while let Some(block) = rest.first_chunk::<BLOCK>() {
            let mut len = self.window(model, block, out)?;
            if len == 0 {
                len = piece_len(rest);
                self.piece(model, rest.get(..len).unwrap_or_default(), out)?;
            }
            rest = rest.get(len..).unwrap_or_default();
        }
        while let Some((piece, after)) = rest.split_at_checked(piece_len(rest)).filter(|(piece, _)| !piece.is_empty()) {
            self.piece(model, piece, out)?;
            rest = after;
        }
        Ok(())
    }

    /// Appends the tokens of all pieces but the last that begin in a window; the answer is where that one begins.
    ///
    /// First every piece's place in the cache is asked for, and only then is the first looked at, so that the machine
    /// waits for all of them together.
    #[inline]
    fn window(&mut self, model: &Model, block: &[u8; BLOCK], out: &mut Vec<u32>) -> Result<usize, TryReserveError> {
        let Some(bytes) = block.first_chunk() else { return Ok(0) };
        let seed = model.vocab.seed();
        let mut starts = window::starts(bytes) & !1;
        let mut end = 0;
        let mut pending = Pending { ids: [0; window::WINDOW + LONG_IDS], count: 0 };
        while starts != 0 {
            let from = end;
            end = num::widen32(starts.trailing_zeros());
            starts &= starts.wrapping_sub(1);
            let len = end.wrapping_sub(from);
            let key = key_at(block, from, len.min(KEY_LEN)).unwrap_or_default();
            let hash = seed.short(key);
            let mut known = 0;
            if len <= KEY_LEN {
                let (ids, count) = self.cache.short(key, hash);
                pending.push(ids, count);
                known = count;
            }
            // Short pieces of many tokens are here too.
            if known == 0
                && let Some(key) = long_key_at(block, from, len)
            {
                let (ids, count) = self.cache.long(key, seed.long(key));
                pending.push(ids, count);
                known = count;
            }
            if known == 0 {
                pending.flush(out)?;
                self.piece(model, block.get(from..from.wrapping_add(len)).unwrap_or_default(), out)?;
            }
        }
        pending.flush(out)?;
        Ok(end)
    }

    /// Appends the tokens of a piece.
    #[inline(never)]
    fn piece(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        // No token is empty, so there are at most as many as bytes.
        out.try_reserve(piece.len())?;
        if piece.len() <= LONG_KEY_LEN {
            return self.kept(model, piece, out);
        }
        if piece.len() > RUN_LEN && piece.len() > model.longest() {
            return self.parts(model, piece, out);
        }
        let hash = model.vocab.seed().piece(piece);
        if self.cache.run(piece, hash, out) {
            return Ok(());
        }
        let before = out.len();
        match model.whole(piece, hash) {
            Some(id) => out.push(id),
            None => self.parts(model, piece, out)?,
        }
        self.cache.put_run(piece, hash, out.get(before..).unwrap_or_default());
        Ok(())
    }

    /// A piece, or a part of one, that is short enough to be kept.
    fn kept(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        let seed = model.vocab.seed();
        let short = key(piece);
        let short_hash = seed.short(short);
        if piece.len() <= KEY_LEN {
            let (ids, count) = self.cache.short(short, short_hash);
            if count > 0 {
                out.extend_from_slice(ids.get(..count).unwrap_or_default());
                return Ok(());
            }
        }
        let long = long_key(piece);
        let long_hash = seed.long(long);
        let (ids, count) = self.cache.long(long, long_hash);
        if count > 0 {
            out.extend_from_slice(ids.get(..count).unwrap_or_default());
            return Ok(());
        }
        let before = out.len();
        if let Some(id) = model.whole(piece, seed.piece(piece)) {
            out.push(id);
        } else if piece.len() <= KEY_LEN {
            self.scratch.merge(model, piece, out)?;
        } else {
            self.parts(model, piece, out)?;
        }
        let ids = out.get(before..).unwrap_or_default();
        if piece.len() > KEY_LEN || !self.cache.put_short(short, short_hash, ids) {
            self.cache.put_long(long, long_hash, ids);
        }
        Ok(())
    }

    /// Cuts a piece where no merge can go across, and merges its parts.
    fn parts(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        let mut rest = piece;
        while !rest.is_empty() {
            let cut = rest.iter().zip(rest.iter().skip(1)).position(|(left, right)| !model.may_join(*left, *right));
            let len = cut.map_or(rest.len(), |cut| cut.saturating_add(1));
            let (part, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            rest = after;
            // What is kept of whole pieces holds for parts too, unless tokens are given without looking at merges.
            if part.len() < piece.len() && part.len() <= LONG_KEY_LEN && !model.ignores_merges() {
                self.kept(model, part, out)?;
            } else {
                self.scratch.merge(model, part, out)?;
            }
        }
        Ok(())
    }
}
