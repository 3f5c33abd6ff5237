//! From text to tokens.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;

use super::batch::Batch;
use super::cache::{Cache, LONG_IDS, Place, Table, key_at, long_key_at, place_at};
use super::hash::KEY_LEN;
use super::merge::Scratch;
use super::model::Model;
use super::phrases::{Ids, PHRASE_LEN};
use super::split::piece_len;
use super::tiny::{TINY_IDS, TINY_LEN, tiny_key};
use super::window::{BLOCK, MOST};

/// What encoding keeps from one piece to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Engine {
    cache: Cache,
    scratch: Scratch,
}

/// Tokens that wait to be appended together.
struct Pending {
    ids: [u32; Self::SIZE],
    count: usize,
}

impl Pending {
    /// When there are more, they are appended.
    const ROOM: usize = 512;
    /// A batch of tiny pieces may come on top of them, and a longer piece.
    const SIZE: usize = Self::ROOM + PHRASE_LEN + LONG_IDS + TINY_IDS * MOST;

    const fn new() -> Self {
        Self { ids: [0; Self::SIZE], count: 0 }
    }

    /// Takes `N`, of which `count` stay.
    #[inline]
    fn push<const N: usize>(&mut self, ids: [u32; N], count: usize) {
        put(&mut self.ids, self.count, ids);
        self.count = self.count.wrapping_add(count);
    }

    /// Takes so many, all that there are.
    #[inline]
    fn take<T: Copy + Into<u32>>(&mut self, ids: &[T]) {
        if let Some(place) = self.ids.get_mut(self.count..).and_then(|rest| rest.get_mut(..ids.len())) {
            for (place, id) in place.iter_mut().zip(ids) {
                *place = (*id).into();
            }
        }
        self.count = self.count.wrapping_add(ids.len());
    }

    /// Makes room for a batch of tiny pieces and a longer one.
    #[inline]
    fn make_room(&mut self, out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        if self.count > Self::ROOM { self.flush(out) } else { Ok(()) }
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

#[inline]
fn put<const N: usize>(all: &mut [u32], at: usize, ids: [u32; N]) {
    if let Some(place) = all.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = ids;
    }
}

impl Engine {
    /// With a cache for texts of that many bytes.
    pub(super) fn cached(model: &Model, text: usize) -> Self {
        Self { cache: Cache::new(model.vocab.len(), text), scratch: Scratch::default() }
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
                if self.cache.wide {
                    self.give::<true>(model, rest, &batch, &mut pending, out)?;
                } else {
                    self.give::<false>(model, rest, &batch, &mut pending, out)?;
                }
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
    fn give<const WIDE: bool>(
        &mut self,
        model: &Model,
        text: &[u8],
        batch: &Batch,
        pending: &mut Pending,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        pending.make_room(out)?;
        let mut at = 0;
        for other in batch.others().iter().map(Some).chain([None]) {
            let until = other.map_or(batch.count(), |(at, _)| usize::from(*at));
            loop {
                at = self.give_tinies::<WIDE>(batch, (at, until), pending);
                if at >= until {
                    break;
                }
                let (start, len) = batch.span(at);
                let place = place_at(model.vocab.seed(), text, start, len);
                self.give_other(model, text, (start, len), place, pending, out)?;
                at = at.wrapping_add(1);
            }
            if let Some((_, place)) = other {
                self.give_other(model, text, batch.span(at), *place, pending, out)?;
                at = at.wrapping_add(1);
            }
        }
        Ok(())
    }

    /// Takes the tokens of tiny pieces up to the first that is not known; the answer is where that stands.
    #[inline]
    fn give_tinies<const WIDE: bool>(
        &self,
        batch: &Batch,
        (at, until): (usize, usize),
        pending: &mut Pending,
    ) -> usize {
        let (mut at, mut count) = (at, pending.count);
        for (key, place) in batch.tinies(at, until) {
            let found = self.cache.tinies.find(key, place);
            if found.is_other() {
                break;
            }
            let (ids, more) = found.ids(WIDE);
            put(&mut pending.ids, count, ids);
            count = count.wrapping_add(more);
            at = at.wrapping_add(1);
        }
        pending.count = count;
        at
    }

    /// Takes the tokens of a piece from where it may stand, or appends them if it does not.
    #[inline]
    fn give_other(
        &mut self,
        model: &Model,
        text: &[u8],
        (start, len): (usize, usize),
        place: Place,
        pending: &mut Pending,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        if self.give_known(model, text, (start, len), place, pending) {
            return pending.make_room(out);
        }
        pending.flush(out)?;
        self.missed(model, text.get(start..start.wrapping_add(len)).unwrap_or_default(), place, out)
    }

    /// Takes the tokens of a piece from where it may stand; false if it does not.
    #[inline]
    fn give_known(
        &mut self,
        model: &Model,
        text: &[u8],
        (start, len): (usize, usize),
        place: Place,
        pending: &mut Pending,
    ) -> bool {
        let known = match place.table() {
            Table::Short => {
                let Some(key) = key_at(text, start, len) else { return false };
                let (ids, count) = self.cache.short_ids(place, key);
                pending.push(ids, count);
                if len <= TINY_LEN && count <= TINY_IDS && count > 0 {
                    let tiny = text.get(start..start.wrapping_add(len)).and_then(tiny_key).unwrap_or_default();
                    self.cache.put_tiny(model.vocab.seed(), tiny, ids.get(..count).unwrap_or_default());
                }
                count
            }
            Table::Long => {
                let Some(key) = long_key_at(text, start, len) else { return false };
                let (ids, count) = self.cache.long_ids(place, key);
                pending.push(ids, count);
                count
            }
            Table::Phrase => {
                let piece = text.get(start..start.wrapping_add(len)).unwrap_or_default();
                match self.cache.phrase_ids(place, piece) {
                    Some(Ids::Narrow(ids)) => {
                        pending.take(ids);
                        ids.len()
                    }
                    Some(Ids::Wide(ids)) => {
                        pending.take(ids);
                        ids.len()
                    }
                    None => 0,
                }
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
        if piece.len() <= PHRASE_LEN {
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
        if self.give_kept_tiny(model, piece, out) {
            return Ok(());
        }
        let place = Place::of(model.vocab.seed(), piece);
        let other = place.other(model.vocab.seed(), piece);
        if self.cache.give(place, piece, out) || self.cache.give(other, piece, out) {
            return Ok(());
        }
        self.merge_and_keep(model, piece, place, out)
    }

    /// A piece that did not stand at its place, nor among the tiny ones when the batch was filled.
    #[inline(never)]
    fn missed(
        &mut self,
        model: &Model,
        piece: &[u8],
        place: Place,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        out.try_reserve(piece.len())?;
        if self.give_kept_tiny(model, piece, out) {
            return Ok(());
        }
        let other = place.other(model.vocab.seed(), piece);
        if self.cache.give(other, piece, out) {
            return Ok(());
        }
        self.merge_and_keep(model, piece, place, out)
    }

    /// Appends the tokens of a tiny piece; false if it is none, or not known.
    #[inline]
    fn give_kept_tiny(&self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> bool {
        let Some(key) = tiny_key(piece) else { return false };
        let found = self.cache.tinies.find(key, self.cache.tinies.place(model.vocab.seed().tiny(key)));
        if found.is_other() {
            return false;
        }
        let (ids, count) = found.ids(self.cache.wide);
        out.extend_from_slice(ids.get(..count).unwrap_or_default());
        true
    }

    fn merge_and_keep(
        &mut self,
        model: &Model,
        piece: &[u8],
        place: Place,
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        let (seed, before) = (model.vocab.seed(), out.len());
        self.merged(model, piece, seed.piece(piece), out)?;
        let ids = out.get(before..).unwrap_or_default();
        let is_kept = tiny_key(piece).is_some_and(|key| self.cache.put_tiny(seed, key, ids))
            || self.cache.put(place, piece, ids);
        if !is_kept {
            self.cache.put(place.other(seed, piece), piece, ids);
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
            // What is kept of whole pieces holds for parts too, unless tokens are given without looking at merges. Longer
            // parts are seldom met again.
            if part.len() < piece.len() && part.len() <= TINY_LEN && !model.ignores_merges() {
                self.kept(model, part, out)?;
            } else {
                self.scratch.merge(model, &mut self.cache, part, out)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tokenizer;
    use super::super::model::NONE;
    use super::super::split::pieces;
    use super::*;
    use proptest::prelude::*;

    /// The lowest rank again and again, of equals the leftmost.
    fn naive(model: &Model, text: &[u8]) -> Vec<u32> {
        let mut all = Vec::new();
        for piece in pieces(text) {
            let mut ids: Vec<u32> = piece.iter().map(|byte| model.byte(*byte)).collect();
            loop {
                let ranks = ids.windows(2).map(|pair| model.pairs.rank(pair[0], pair[1]));
                let Some((rank, at)) = ranks.zip(0..).filter(|(rank, _)| *rank != NONE).min() else { break };
                ids.splice(at..at + 2, [model.products[usize::try_from(rank).unwrap()]]);
            }
            all.extend(ids);
        }
        all
    }

    const WORDS: [&str; 20] = [
        " the",
        " Elizabeth",
        " acknowledged",
        "'ll",
        "  ",
        "\n",
        "\t\t",
        "=====",
        ".",
        "universally",
        " 1813",
        " слово",
        "предубеждение",
        " 傲慢",
        "と偏見。",
        "ゴウマントヘンケン",
        "ἀλήθεια",
        "😀😀😀",
        "x\0",
        "\0\0\0\0\0\0\0\0",
    ];

    /// Pieces of every table and of none, some again and again.
    fn part() -> impl Strategy<Value = Vec<u8>> {
        let letters = |count| proptest::collection::vec(proptest::sample::select(&b"aehilnorstu"[..]), count);
        prop_oneof![
            16 => proptest::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec()),
            4 => letters(1..8),
            2 => letters(8..40),
            1 => letters(40..200),
            2 => proptest::collection::vec(any::<u8>(), 1..40),
            1 => (any::<u8>(), 1..100_usize).prop_map(|(byte, count)| std::vec![byte; count]),
            2 => any::<char>().prop_map(|c| std::string::String::from(c).into_bytes()),
        ]
    }

    proptest! {
        #[test]
        fn batches_and_tables_give_what_merging_each_piece_gives(
            parts in proptest::collection::vec(part(), 1..200),
            places in proptest::sample::select(&[0, 1 << 16, usize::MAX][..]),
            wide in any::<bool>(),
        ) {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/austen");
            let read = |name| std::fs::read(std::format!("{path}/{name}")).unwrap();
            let tokenizer = Tokenizer::from_files(&read("vocab.json"), &read("merges.txt")).unwrap();
            let (model, text) = (&tokenizer.model, parts.concat());
            let want = naive(model, &text);
            let mut engine = Engine::cached(model, places);
            engine.cache.wide = wide;
            // Nothing is known, some is, all is.
            for _ in 0..3 {
                let mut ids = Vec::new();
                engine.encode(model, &text, &mut ids).unwrap();
                prop_assert_eq!(&ids, &want);
            }
            prop_assert_eq!(&tokenizer.encode(&text), &want);
        }
    }

    #[test]
    fn batches_of_pieces_with_as_many_tokens_as_can_be_are_given_whole() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/austen");
        let read = |name: &str| std::fs::read(std::format!("{path}/{name}")).unwrap();
        let tokenizer = Tokenizer::from_files(&read("vocab.json"), &read("merges.txt")).unwrap();
        let model = &tokenizer.model;
        for (unit, most) in [(" zqx", 4), (" zqxjkv", 7), (" zqxjkvwqz", 10), (" zqx zqxjkv zqxjkvwqzqxjkvwq", 31)]
        {
            let one = naive(model, unit.as_bytes());
            assert!(one.len() > most / 2 && one.len() <= most, "{unit} {}", one.len());
            for wide in [false, true] {
                let mut engine = Engine::cached(model, usize::MAX);
                engine.cache.wide = wide;
                for _ in 0..2 {
                    let mut ids = Vec::new();
                    engine.encode(model, unit.repeat(4000).as_bytes(), &mut ids).unwrap();
                    assert!(ids == one.repeat(4000), "{unit} {wide}");
                }
            }
        }
    }
}
