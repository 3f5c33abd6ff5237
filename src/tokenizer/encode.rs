//! From text to tokens.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;

use super::batch::Batch;
use super::cache::{BLOCK, Cache, RUN_IDS, RUN_LEN, Spot, Table, key_at, long_key_at};
use super::hash::{KEY_LEN, LONG_KEY_LEN, key, long_key};
use super::merge::Scratch;
use super::model::Model;
use super::split::piece_len;
use super::tiny::{TINY_IDS, TINY_LEN, tiny_key};

/// What encoding keeps from one piece to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Engine {
    cache: Cache,
    scratch: Scratch,
}

/// Tokens that wait to be appended together.
struct Pending {
    ids: [u32; Self::ROOM + RUN_IDS],
    count: usize,
}

impl Pending {
    /// When there are as many, they are appended; a piece has up to 64 more.
    const ROOM: usize = 512;

    const fn new() -> Self {
        Self { ids: [0; Self::ROOM + RUN_IDS], count: 0 }
    }

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
        if rest.len() >= BLOCK {
            let (mut batch, mut pending) = (Batch::new(), Pending::new());
            while rest.len() >= BLOCK {
                let mut len = batch.fill(&self.cache, model.vocab.seed(), rest);
                self.give(model, rest, &batch, &mut pending, out)?;
                if len == 0 {
                    len = piece_len(rest);
                    pending.flush(out)?;
                    self.piece(model, rest.get(..len).unwrap_or_default(), out)?;
                }
                rest = rest.get(len..).unwrap_or_default();
            }
            pending.flush(out)?;
        }
        while let Some((piece, after)) =
            rest.split_at_checked(piece_len(rest)).filter(|(piece, _)| !piece.is_empty())
        {
            self.piece(model, piece, out)?;
            rest = after;
        }
        Ok(())
    }

    /// Appends the tokens of the pieces of a batch.
    #[inline(never)]
    fn give(
        &mut self,
        model: &Model,
        text: &[u8],
        batch: &Batch,
        pending: &mut Pending,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        let mut from = 0;
        for (at, spot) in batch.others() {
            let at = usize::from(*at);
            self.give_tiny(batch, (from, at), pending, out)?;
            let (start, len) = batch.span(at);
            if !self.give_other(model, text, (start, len), *spot, pending) {
                pending.flush(out)?;
                self.piece(model, text.get(start..start.wrapping_add(len)).unwrap_or_default(), out)?;
            }
            from = at.wrapping_add(1);
        }
        self.give_tiny(batch, (from, batch.count()), pending, out)
    }

    /// Appends the tokens of pieces that are in the table of tiny ones.
    #[inline]
    fn give_tiny(
        &self,
        batch: &Batch,
        (from, to): (usize, usize),
        pending: &mut Pending,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        for pieces in batch.tiny(from, to).chunks(Pending::ROOM / TINY_IDS / 2) {
            if pending.count > Pending::ROOM / 2 {
                pending.flush(out)?;
            }
            for found in pieces {
                let (ids, count) = found.ids(self.cache.wide);
                pending.push(ids, count);
            }
        }
        if pending.count > Pending::ROOM / 2 {
            pending.flush(out)?;
        }
        Ok(())
    }

    /// Takes the tokens of a piece from where it was found; false if it was not, or has been pushed out since.
    #[inline]
    fn give_other(
        &mut self,
        model: &Model,
        text: &[u8],
        (start, len): (usize, usize),
        spot: Spot,
        pending: &mut Pending,
    ) -> bool {
        let known = match spot.table() {
            Table::Short => {
                let Some(key) = key_at(text, start, len) else { return false };
                let (ids, count) = self.cache.short_ids(spot, key);
                pending.push(ids, count);
                if len <= TINY_LEN && count <= TINY_IDS && count > 0 {
                    let tiny = text.get(start..start.wrapping_add(len)).and_then(tiny_key).unwrap_or_default();
                    self.cache.put_tiny(model.vocab.seed(), tiny, ids.get(..count).unwrap_or_default());
                }
                count
            }
            Table::Long => {
                let Some(key) = long_key_at(text, start, len) else { return false };
                let (ids, count) = self.cache.long_ids(spot, key);
                pending.push(ids, count);
                count
            }
            Table::Run => {
                let piece = text.get(start..start.wrapping_add(len)).unwrap_or_default();
                let (ids, count) = self.cache.run_ids(spot, piece);
                pending.push(ids, count);
                count
            }
            Table::None => 0,
        };
        known > 0
    }

    /// Appends the tokens of a piece.
    #[inline(never)]
    fn piece(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        // No token is empty, so there are at most as many as bytes.
        out.try_reserve(piece.len())?;
        if piece.len() <= RUN_LEN {
            return self.kept(model, piece, out);
        }
        // A longer piece may be a token, if there are such.
        if piece.len() <= model.longest()
            && let Some(id) = model.whole(piece, model.vocab.seed().piece(piece))
        {
            out.push(id);
            return Ok(());
        }
        self.parts(model, piece, out)
    }

    /// A piece, or a part of one, that is short enough to be kept.
    fn kept(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        if piece.len() > LONG_KEY_LEN {
            return self.kept_run(model, piece, model.vocab.seed().piece(piece), out);
        }
        let seed = model.vocab.seed();
        let tiny = tiny_key(piece);
        if let Some(found) =
            tiny.map(|key| self.cache.tinies.find(key, seed.tiny(key))).filter(|found| !found.is_other())
        {
            let (ids, count) = found.ids(self.cache.wide);
            out.extend_from_slice(ids.get(..count).unwrap_or_default());
            return Ok(());
        }
        let short = key(piece);
        let short_hash = seed.short(short);
        if piece.len() <= KEY_LEN {
            let (ids, count) = self.cache.short_ids(self.cache.short(short, short_hash), short);
            let ids = ids.get(..count).unwrap_or_default();
            if count > 0 {
                out.extend_from_slice(ids);
                if let Some(key) = tiny {
                    self.cache.put_tiny(seed, key, ids);
                }
                return Ok(());
            }
        }
        // Short pieces of many tokens are here too.
        let long = long_key(piece);
        let long_hash = seed.long(long);
        let (ids, count) = self.cache.long_ids(self.cache.long(long, long_hash), long);
        if count > 0 {
            out.extend_from_slice(ids.get(..count).unwrap_or_default());
            return Ok(());
        }
        if piece.len() > KEY_LEN && self.cache.give_run(piece, seed.piece(piece), out) {
            return Ok(());
        }
        let before = out.len();
        self.merged(model, piece, seed.piece(piece), out)?;
        let ids = out.get(before..).unwrap_or_default();
        let is_kept = tiny.is_some_and(|key| self.cache.put_tiny(seed, key, ids))
            || piece.len() <= KEY_LEN && self.cache.put_short(short, short_hash, ids)
            || self.cache.put_long(long, long_hash, ids);
        if !is_kept {
            self.cache.put_run(piece, seed.piece(piece), ids);
        }
        Ok(())
    }

    /// The tokens of a piece that nothing is known of.
    fn merged(
        &mut self,
        model: &Model,
        piece: &[u8],
        hash: u64,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        if let Some(id) = model.whole(piece, hash) {
            out.push(id);
            return Ok(());
        }
        if piece.len() <= KEY_LEN {
            self.scratch.merge(model, &mut self.cache, piece, out)
        } else {
            self.parts(model, piece, out)
        }
    }

    /// A piece, or a part of one, for that table alone.
    fn kept_run(
        &mut self,
        model: &Model,
        piece: &[u8],
        hash: u64,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        if self.cache.give_run(piece, hash, out) {
            return Ok(());
        }
        let before = out.len();
        self.merged(model, piece, hash, out)?;
        self.cache.put_run(piece, hash, out.get(before..).unwrap_or_default());
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
            // Runs of bytes that nothing joins, as of blanks, end here.
            if let [byte] = part {
                out.push(model.byte(*byte));
                continue;
            }
            // What is kept of whole pieces holds for parts too, unless tokens are given without looking at merges.
            if part.len() < piece.len() && part.len() <= RUN_LEN && !model.ignores_merges() {
                self.kept(model, part, out)?;
            } else {
                self.scratch.merge(model, &mut self.cache, part, out)?;
            }
        }
        Ok(())
    }
}
