//! Pieces met before, and their tokens: bounded, and exact since each is kept whole.
//!
//! Which table a piece may stand in follows from its length and first bytes, and which line there from its hash: one line
//! of the machine's cache is asked for, or two neighbours, and nothing else is looked at. Tiny pieces are in
//! [`tiny`](super::tiny), and what is pushed out of there among the short ones. A piece of more tokens than its table has
//! places for is not kept.

use alloc::vec::Vec;

use super::hash::{KEY_LEN, Key, LONG_KEY_LEN, LongKey, Seed, key, long_key, low, words};
use super::phrases::{Ids as PhraseIds, PHRASE_LEAST, PHRASE_LEN, Phrases};
use super::tiny::{TINY_LEN, Tinies, short_key};
use crate::num;

/// Pairs of short pieces: 4 MiB.
const SHORTS: usize = 1 << 16;
/// Pairs of longer ones: 8 MiB.
const LONGS: usize = 1 << 16;

/// The most tokens of a short piece, and of a longer one, and one place that says how many there are.
pub(super) const SHORT_IDS: usize = 8;
pub(super) const LONG_IDS: usize = 16;

/// The longest piece of characters of three bytes or more that has at most 15 tokens.
const DENSE_LEN: usize = 15;

/// Ids of 16 bits, or in a larger vocabulary of two halves, low one first; the last place says how many there are.
type Ids<const N: usize> = [u16; N];

/// A piece of at most 15 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    key: Key,
    ids: Ids<SHORT_IDS>,
}

/// A piece of at most 31 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Long {
    key: LongKey,
    ids: Ids<LONG_IDS>,
}

/// Two pieces that have the same place: the one that was kept last, and the one before.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Pair<T>([T; 2]);

/// All tables. Without memory for them, or where they are not wanted, nothing is found.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    pub(super) tinies: Tinies,
    shorts: Slab<Pair<Short>>,
    longs: Slab<Pair<Long>>,
    phrases: Phrases,
    /// Whether ids take two places.
    pub(super) wide: bool,
    /// How often there was no free place.
    full: u32,
}

/// Where a piece may stand: the table in the highest bits, and the hash for the pair in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

/// The table that a [`Place`] is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Short,
    Long,
    Phrase,
    None,
}

impl Place {
    /// Nowhere.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    fn new(table: u32, hash: u64) -> Self {
        Self(table << 30 | low(hash >> 34))
    }

    #[inline]
    fn short(seed: Seed, key: Key) -> Self {
        Self::new(0, seed.short(key))
    }

    #[inline]
    fn long(seed: Seed, key: LongKey) -> Self {
        Self::new(1, seed.long(key))
    }

    #[inline]
    fn phrase(seed: Seed, piece: &[u8]) -> Self {
        Self::new(2, seed.phrase(piece))
    }

    /// That of a piece.
    pub(super) fn of(seed: Seed, piece: &[u8]) -> Self {
        let byte = |at: usize| piece.get(at).copied().unwrap_or(0);
        match table(piece.len(), byte(0), byte(1)) {
            Table::Short => Self::short(seed, key(piece)),
            Table::Long => Self::long(seed, long_key(piece)),
            Table::Phrase => Self::phrase(seed, piece),
            Table::None => Self::NONE,
        }
    }

    /// Where one of too many tokens may stand instead.
    #[inline]
    pub(super) fn other(self, seed: Seed, piece: &[u8]) -> Self {
        let is = self.table() == Table::Long && piece.len() >= PHRASE_LEAST;
        if is { Self::phrase(seed, piece) } else { Self::NONE }
    }

    #[inline]
    pub(super) const fn table(self) -> Table {
        match self.0 >> 30 {
            0 => Table::Short,
            1 => Table::Long,
            2 => Table::Phrase,
            _ => Table::None,
        }
    }

    /// The pair in a table of `pairs`, which is a power of two or none.
    #[inline]
    fn index(self, pairs: usize) -> usize {
        num::widen32(self.hash()) & pairs.wrapping_sub(1)
    }

    #[inline]
    const fn hash(self) -> u32 {
        self.0 & (u32::MAX >> 2)
    }
}

/// The table for a piece of this length and these first bytes. Characters of two and three bytes have more tokens to a
/// byte than ASCII has, so that such pieces need more places.
#[inline]
fn table(len: usize, first: u8, second: u8) -> Table {
    let (short, long) = match if first == b' ' { second } else { first } {
        0..0x80 => (KEY_LEN, LONG_KEY_LEN),
        0x80..0xE0 => (TINY_LEN, LONG_KEY_LEN),
        _ => (TINY_LEN, DENSE_LEN),
    };
    match len {
        0 => Table::None,
        len if len <= short => Table::Short,
        len if len <= long => Table::Long,
        PHRASE_LEAST..=PHRASE_LEN => Table::Phrase,
        _ => Table::None,
    }
}

/// [`Place::of`] the `len` bytes from `from` on, behind which there are 32 more.
#[inline]
pub(super) fn place_at(seed: Seed, text: &[u8], from: usize, len: usize) -> Place {
    let byte = |at: usize| text.get(from.wrapping_add(at)).copied().unwrap_or(0);
    match table(len, byte(0), if len > 1 { byte(1) } else { 0 }) {
        Table::Short => key_at(text, from, len).map_or(Place::NONE, |key| Place::short(seed, key)),
        Table::Long => long_key_at(text, from, len).map_or(Place::NONE, |key| Place::long(seed, key)),
        Table::Phrase => {
            text.get(from..from.wrapping_add(len)).map_or(Place::NONE, |piece| Place::phrase(seed, piece))
        }
        Table::None => Place::NONE,
    }
}

/// Asks for a line of the machine's cache.
#[cfg(feature = "std")]
#[inline]
pub(super) fn ask<T>(all: &[T], index: usize) {
    crate::simd::text::prefetch(all, index);
}

/// There is no way to without what `std` has.
#[cfg(not(feature = "std"))]
#[inline]
pub(super) const fn ask<T>(_: &[T], _: usize) {}

/// The ids in the first places, and how many they are.
#[inline]
fn unpack<const N: usize>(ids: &Ids<N>, wide: bool) -> ([u32; N], usize) {
    let count = ids.last().copied().map_or(0, usize::from);
    if !wide {
        return (ids.map(u32::from), count);
    }
    let mut all = [0; N];
    let (pairs, _) = ids.as_chunks::<2>();
    for (id, [low, high]) in all.iter_mut().zip(pairs) {
        *id = u32::from(*low) | u32::from(*high) << 16;
    }
    (all, count)
}

/// Places for these ids, where there are enough.
fn pack<const N: usize>(ids: &[u32], wide: bool) -> Option<Ids<N>> {
    let mut all = [0; N];
    let (last, places) = all.split_last_mut()?;
    *last = u16::try_from(ids.len()).ok()?;
    if wide {
        let (pairs, _) = places.as_chunks_mut::<2>();
        for (pair, id) in pairs.get_mut(..ids.len())?.iter_mut().zip(ids) {
            let [a, b, c, d] = id.to_le_bytes();
            *pair = [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])];
        }
    } else {
        for (place, id) in places.get_mut(..ids.len())?.iter_mut().zip(ids) {
            *place = u16::try_from(*id).ok()?;
        }
    }
    Some(all)
}

/// Whether two keys are equal, word by word: they are in registers, and the comparison of arrays would write them out.
#[inline]
fn same<const N: usize>(one: &[u64; N], other: &[u64; N]) -> bool {
    one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
}

/// Whether it is time to push something out: one time in four. A text that goes round in more pieces than there are places
/// would otherwise never find one.
#[inline]
pub(super) const fn is_turn(full: &mut u32) -> bool {
    *full = full.wrapping_add(1);
    full.is_multiple_of(4)
}

/// Which of a pair it is, if any.
#[inline]
fn find<T>(pairs: &[Pair<T>], place: Place, is: impl Fn(&T) -> bool) -> Option<&T> {
    let Pair(pair) = pairs.get(place.index(pairs.len()))?;
    // Which of the two it is cannot be foretold, so no branch.
    let which = pair.first().map_or(0, |first| usize::from(!is(first)));
    pair.get(which).filter(|found| is(found))
}

/// Puts one in front, if its place is free or it is time.
fn put<T: Copy>(pairs: &mut [Pair<T>], place: Place, new: T, is_free: impl Fn(&T) -> bool, full: &mut u32) {
    if let Some(Pair(pair)) = pairs.get_mut(place.index(pairs.len())) {
        let [first, second] = *pair;
        if is_free(&second) || is_turn(full) {
            *pair = [new, first];
        }
    }
}

impl Cache {
    /// Empty tables for a vocabulary of `tokens` and texts of that many bytes: 20 MiB at most.
    pub(super) fn new(tokens: usize, text: usize) -> Self {
        // A text has a new piece every sixteen bytes or more.
        let places = (text / 16).max(64);
        Self {
            tinies: Tinies::new(places),
            shorts: pairs(SHORTS, places),
            longs: pairs(LONGS, places),
            phrases: Phrases::new(text),
            wide: tokens > 1 << 16,
            full: 0,
        }
    }

    /// Asks for what is at a place.
    #[inline]
    pub(super) fn ask(&self, place: Place) {
        match place.table() {
            Table::Short => ask(&self.shorts, place.index(self.shorts.len())),
            Table::Long => {
                let pair = self.longs.get(place.index(self.longs.len())).map_or(&[][..], |Pair(pair)| pair);
                ask(pair, 0);
                ask(pair, 1);
            }
            Table::Phrase => self.phrases.ask(place.hash()),
            Table::None => {}
        }
    }

    /// Keeps a tiny piece, and what stood in its place among the short ones; false where it is not kept.
    pub(super) fn put_tiny(&mut self, seed: Seed, key: u64, ids: &[u32]) -> bool {
        let place = self.tinies.place(seed.tiny(key));
        if self.tinies.is_full(place) && !is_turn(&mut self.full) {
            return false;
        }
        let Some((old, found)) = self.tinies.put(key, place, ids, self.wide) else { return false };
        if old != 0 {
            let (ids, count) = found.ids(self.wide);
            let (key, ids) = (short_key(old), ids.get(..count).unwrap_or_default());
            let place = Place::short(seed, key);
            if self.short_ids(place, key).1 == 0 {
                self.put_short(place, key, ids);
            }
        }
        true
    }

    /// The tokens of a short piece in the first places, and how many they are; 0 where it does not stand there.
    #[inline]
    pub(super) fn short_ids(&self, place: Place, key: Key) -> ([u32; SHORT_IDS], usize) {
        match find(&self.shorts, place, |short| same(&short.key, &key)) {
            Some(short) => unpack(&short.ids, self.wide),
            None => ([0; SHORT_IDS], 0),
        }
    }

    fn put_short(&mut self, place: Place, key: Key, ids: &[u32]) -> bool {
        let Some(ids) = pack(ids, self.wide) else { return false };
        put(&mut self.shorts, place, Short { key, ids }, |short| short.key == [0; 2], &mut self.full);
        true
    }

    /// The same of a longer one.
    #[inline]
    pub(super) fn long_ids(&self, place: Place, key: LongKey) -> ([u32; LONG_IDS], usize) {
        match find(&self.longs, place, |long| same(&long.key, &key)) {
            Some(long) => unpack(&long.ids, self.wide),
            None => ([0; LONG_IDS], 0),
        }
    }

    /// The tokens of one of the longest.
    #[inline]
    pub(super) fn phrase_ids(&self, place: Place, piece: &[u8]) -> Option<PhraseIds<'_>> {
        self.phrases.find(place.hash(), piece, self.wide)
    }

    /// Asks for what is named at a place, when that has come.
    #[inline]
    pub(super) fn ask_named(&self, place: Place) {
        if place.table() == Table::Phrase {
            self.phrases.ask_ring(place.hash());
        }
    }

    /// Appends the tokens of a piece that stands at a place; false where it does not.
    pub(super) fn give(&self, place: Place, piece: &[u8], out: &mut Vec<u32>) -> bool {
        let before = out.len();
        match place.table() {
            Table::Short => {
                let (ids, count) = self.short_ids(place, key(piece));
                out.extend_from_slice(ids.get(..count).unwrap_or_default());
            }
            Table::Long => {
                let (ids, count) = self.long_ids(place, long_key(piece));
                out.extend_from_slice(ids.get(..count).unwrap_or_default());
            }
            Table::Phrase => match self.phrase_ids(place, piece) {
                Some(PhraseIds::Narrow(ids)) => out.extend(ids.iter().map(|id| u32::from(*id))),
                Some(PhraseIds::Wide(ids)) => out.extend_from_slice(ids),
                None => {}
            },
            Table::None => {}
        }
        out.len() > before
    }

    /// Keeps a piece, or does not, as it is time; false if it has too many tokens.
    pub(super) fn put(&mut self, place: Place, piece: &[u8], ids: &[u32]) -> bool {
        match place.table() {
            Table::Short => return self.put_short(place, key(piece), ids),
            Table::Long => {
                let Some(ids) = pack(ids, self.wide) else { return false };
                let long = Long { key: long_key(piece), ids };
                put(&mut self.longs, place, long, |long| long.key == [0; 4], &mut self.full);
            }
            Table::Phrase => self.phrases.put(place.hash(), piece, ids, self.wide, &mut self.full),
            Table::None => {}
        }
        true
    }
}

/// Memory for a table.
#[cfg(feature = "std")]
pub(super) type Slab<T> = crate::simd::slab::Slab<T>;
#[cfg(not(feature = "std"))]
pub(super) type Slab<T> = Vec<T>;

/// Empty pairs, at most `most`, for as many pieces, or none where there is no memory for them.
pub(super) fn pairs<T: Copy + Default>(most: usize, pieces: usize) -> Slab<T> {
    let count = pieces.div_ceil(2).checked_next_power_of_two().unwrap_or(most).min(most);
    #[cfg(feature = "std")]
    let all = Slab::of(T::default(), count);
    #[cfg(not(feature = "std"))]
    let all = super::hash::zeros(count);
    all.unwrap_or_default()
}

/// What to keep of the 32 bytes from the start of a piece.
const MASKS: [LongKey; 32] = {
    let mut masks = [[0; 4]; 32];
    let mut byte = 0;
    while byte < 32 * 32 {
        let (len, at) = (byte / 32, byte % 32);
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        if at < len {
            masks[len][at / 8] |= 0xFF << (8 * (at % 8));
        }
        byte += 1;
    }
    masks
};

/// The length of a piece, where a key has it.
#[inline]
fn tag(len: usize) -> u64 {
    num::widen(len) << 56
}

/// The key of the `len` bytes, 15 at most, from `from` on; the same as [`key`](super::hash::key) of that piece.
#[inline]
pub(super) fn key_at(block: &[u8], from: usize, len: usize) -> Option<Key> {
    let [keep_low, keep_high, ..] = *MASKS.get(len)?;
    let [low, high] = words(block.get(from..)?.first_chunk()?);
    Some([low & keep_low, high & keep_high | tag(len)])
}

/// The same for up to 31 bytes and [`long_key`](super::hash::long_key).
#[inline]
pub(super) fn long_key_at(block: &[u8], from: usize, len: usize) -> Option<LongKey> {
    let [keep_a, keep_b, keep_c, keep_d] = *MASKS.get(len)?;
    let bytes = block.get(from..)?.first_chunk::<32>()?;
    let (low, high) = bytes.split_at_checked(16)?;
    let ([a, b], [c, d]) = (words(low.first_chunk()?), words(high.first_chunk()?));
    Some([a & keep_a, b & keep_b, c & keep_c, d & keep_d | tag(len)])
}

#[cfg(test)]
mod tests {
    use super::super::window::BLOCK;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn places_are_the_same_wherever_they_are_read() {
        let seed = Seed::of(b"");
        let block: [u8; BLOCK] = core::array::from_fn(|at| u8::try_from(at * 5 % 256).unwrap());
        for from in 0..32 {
            for len in 1..=BLOCK - from {
                let piece = &block[from..from + len];
                if len <= 15 {
                    assert_eq!(key_at(&block, from, len), Some(key(piece)));
                }
                if len <= 31 {
                    assert_eq!(long_key_at(&block, from, len), Some(long_key(piece)));
                }
                assert_eq!(place_at(seed, &block, from, len), Place::of(seed, piece));
            }
        }
        assert_eq!(long_key_at(&block, 0, 32), None);
        assert_eq!(Place::of(seed, &[b'a'; PHRASE_LEN + 1]), Place::NONE);
        assert_eq!(Place::of(seed, "\u{4e2d}\u{4e2d}\u{4e2d}".as_bytes()).table(), Table::Long);
    }

    #[test]
    fn what_is_found_is_what_was_kept() {
        for (tokens, most) in [(1 << 16, [7, 15, 70]), (1 << 21, [3, 7, 70])] {
            let seed = Seed::of(b"");
            let mut cache = Cache::new(tokens, usize::MAX);
            let piece = |n: u32| {
                let mut piece = std::format!("{n}\0").into_bytes();
                piece.resize([8, 15, 16, 31, 32, 164][usize::try_from(n % 6).unwrap()], b'x');
                piece
            };
            let top = u32::try_from(tokens - 1).unwrap();
            let ids = |n: u32| (0..=n % 70).map(|i| (n * 7777 + i) & top).collect::<Vec<u32>>();
            let (mut stayed, mut fit) = (0, 0);
            for n in 0..200_000_u32 {
                let place = Place::of(seed, &piece(n));
                cache.put(place, &piece(n), &ids(n));
                for other in [n, n / 2, n / 3] {
                    let mut found = Vec::new();
                    let is = cache.give(Place::of(seed, &piece(other)), &piece(other), &mut found);
                    assert_eq!(is, !found.is_empty());
                    assert!(!is || found == ids(other), "{other}");
                    if other == n {
                        let fits = ids(n).len() <= most[usize::try_from(n % 6 / 2).unwrap()];
                        assert!(!is || fits);
                        // While there is room all stay; later three of four wait their turn.
                        assert!(n > 100 || is == fits, "{n}");
                        stayed += u32::from(is);
                        fit += u32::from(fits);
                    }
                }
            }
            assert!(stayed > fit / 4, "{stayed} of {fit}");
        }
    }

    #[test]
    fn zeros_at_the_end_are_part_of_a_piece() {
        let (seed, mut cache, mut out) = (Seed::of(b""), Cache::new(10, 1000), Vec::new());
        for len in (2..80).chain([PHRASE_LEN - 1, PHRASE_LEN]) {
            let (zeros, mut word) = (std::vec![0; len], std::vec![b'a'; len]);
            for piece in [&zeros, &word] {
                cache.put(Place::of(seed, piece), piece, &[1]);
            }
            word[len - 1] = 0;
            for place in [Place::of(seed, &word), Place::of(seed, &word[..len - 1])] {
                assert!(!cache.give(place, &word, &mut out), "{len}");
            }
        }
    }
}
