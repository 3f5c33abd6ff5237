//! Pieces met before, and their tokens: bounded, and exact since each is kept whole.
//!
//! Tiny pieces have a table of their own, in [`tiny`](super::tiny). Short ones stand in sets of two that fill a line of the
//! machine's cache; a set has the newest of those that were kept. Longer ones, and short ones of
//! many tokens, have two places for each hash.

use alloc::vec::Vec;

use super::hash::{Key, LongKey, Seed, low, words};
use super::tiny::{Tinies, short_key};
use crate::num;

/// Sets of short pieces: 8 MiB.
const SETS: u32 = 1 << 17;
/// Places for longer ones: 8 MiB.
const LONGS: u32 = 1 << 17;

/// The most tokens of a short piece, and of a longer one.
pub(super) const SHORT_IDS: usize = 8;
pub(super) const LONG_IDS: usize = 16;
/// The most tokens of the longest that are kept.
pub(super) const RUN_IDS: usize = 64;

/// Ids of 16 bits, or in a larger vocabulary of two halves, low one first; the last place says how many there are.
type Ids<const N: usize> = [u16; N];

/// A piece of at most 15 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    key: Key,
    ids: Ids<SHORT_IDS>,
}

/// Two short pieces, in one line of the machine's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Set([Short; 2]);

/// A piece of at most 31 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Long {
    key: LongKey,
    ids: Ids<LONG_IDS>,
}

/// A piece of at most 64 bytes: rulings, indentation, long words.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Run {
    bytes: [u8; RUN_LEN],
    ids: Ids<RUN_IDS>,
    len: u8,
}

impl Run {
    #[inline]
    fn is(&self, piece: &[u8]) -> bool {
        usize::from(self.len) == piece.len() && self.bytes.get(..piece.len()) == Some(piece)
    }
}

impl Default for Run {
    fn default() -> Self {
        Self { bytes: [0; RUN_LEN], ids: [0; RUN_IDS], len: 0 }
    }
}

/// The longest piece that is kept.
pub(super) const RUN_LEN: usize = 64;
/// Places for such: 4 MiB.
const RUNS: u32 = 1 << 14;

/// All tables. Without memory for them, or where they are not wanted, nothing is found.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    pub(super) tinies: Tinies,
    sets: Vec<Set>,
    longs: Vec<Long>,
    runs: Vec<Run>,
    /// Whether ids take two places.
    pub(super) wide: bool,
    /// How often there was no free place.
    full: u32,
}

/// Where a piece stands: the table in the highest bits, and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot(u32);

/// The tables that a [`Spot`] is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Short,
    Long,
    Run,
    None,
}

impl Spot {
    /// Nowhere.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) const fn table(self) -> Table {
        match self.0 >> 30 {
            0 => Table::Short,
            1 => Table::Long,
            2 => Table::Run,
            _ => Table::None,
        }
    }

    #[inline]
    fn index(self) -> usize {
        num::widen32(self.0 & (u32::MAX >> 2))
    }
}

/// `count` empty places, or none where there is no memory for them.
fn places<T: Clone + Default>(count: usize) -> Vec<T> {
    super::hash::zeros(count).unwrap_or_default()
}

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

#[inline]
fn place(hash: u64, places: u32) -> u32 {
    low(hash >> 32) & places.wrapping_sub(1)
}

/// Whether it is time to push something out: one time in four. A text that goes round in more pieces than there are places
/// would otherwise never find one.
#[inline]
pub(super) const fn is_turn(full: &mut u32) -> bool {
    *full = full.wrapping_add(1);
    full.is_multiple_of(4)
}

/// A place and its neighbour, which is the other choice for its hashes.
fn pair<T>(places: &mut [T], place: u32) -> Option<[&mut T; 2]> {
    let (pairs, _) = places.as_chunks_mut::<2>();
    let [even, odd] = pairs.get_mut(num::widen32(place >> 1))?;
    Some(if place & 1 == 0 { [even, odd] } else { [odd, even] })
}

impl Cache {
    /// Empty tables of the usual size, for a vocabulary of `tokens`.
    pub(super) fn new(tokens: usize) -> Self {
        Self {
            tinies: Tinies::new(),
            sets: places(num::widen32(SETS)),
            longs: places(num::widen32(LONGS)),
            runs: places(num::widen32(RUNS)),
            wide: tokens > 1 << 16,
            full: 0,
        }
    }

    /// Keeps a tiny piece, and what stood in its place among the short ones; false where it is not kept.
    pub(super) fn put_tiny(&mut self, seed: Seed, key: u64, ids: &[u32]) -> bool {
        if self.tinies.is_full(seed.tiny(key)) && !is_turn(&mut self.full) {
            return false;
        }
        let Some((old, found)) = self.tinies.put(key, seed.tiny(key), ids, self.wide) else { return false };
        if old != 0 {
            let (ids, count) = found.ids(self.wide);
            let (key, ids) = (short_key(old), ids.get(..count).unwrap_or_default());
            let hash = seed.short(key);
            if self.short(key, hash) == Spot::NONE {
                self.put_short(key, hash, ids);
            }
        }
        true
    }

    /// Something of the set of a short piece.
    #[inline]
    pub(super) fn touch_short(&self, hash: u64) -> u64 {
        self.sets.get(num::widen32(place(hash, SETS))).map_or(0, |Set([first, _])| first.key[0])
    }

    /// Something of the places of a longer piece.
    #[inline]
    pub(super) fn touch_long(&self, hash: u64) -> u64 {
        let place = place(hash, LONGS);
        let read = |place| self.longs.get(num::widen32(place)).map_or(0, |long| long.key[0]);
        read(place) ^ read(place ^ 1)
    }

    /// Something of the first place of one of the longest pieces.
    #[inline]
    pub(super) fn touch_run(&self, hash: u64) -> u64 {
        let run = self.runs.get(num::widen32(place(hash, RUNS)));
        run.map_or(0, |run| u64::from(run.bytes[0] ^ run.len) ^ u64::from(run.ids[0] ^ run.ids[32]))
    }

    /// Where a short piece stands.
    #[inline]
    pub(super) fn short(&self, key: Key, hash: u64) -> Spot {
        let place = place(hash, SETS);
        let Some(Set([first, second])) = self.sets.get(num::widen32(place)) else { return Spot::NONE };
        let (first, second) = (same(&first.key, &key), same(&second.key, &key));
        if first | second { Spot(place << 1 | u32::from(second)) } else { Spot::NONE }
    }

    /// The tokens of a short piece in the first places, and how many they are; 0 where it does not stand there.
    #[inline]
    pub(super) fn short_ids(&self, spot: Spot, key: Key) -> ([u32; SHORT_IDS], usize) {
        let set = self.sets.get(spot.index() >> 1);
        match set.and_then(|Set(set)| set.get(spot.index() & 1)) {
            Some(short) if same(&short.key, &key) => unpack(&short.ids, self.wide),
            _ => ([0; SHORT_IDS], 0),
        }
    }

    /// Keeps a short piece; false where it has too many tokens.
    pub(super) fn put_short(&mut self, key: Key, hash: u64, ids: &[u32]) -> bool {
        let Some(ids) = pack(ids, self.wide) else { return false };
        let Some(Set(set)) = self.sets.get_mut(num::widen32(place(hash, SETS))) else { return false };
        let [first, second] = *set;
        if second.key == [0; 2] || is_turn(&mut self.full) {
            *set = [Short { key, ids }, first];
        }
        true
    }

    /// Where a piece of up to 31 bytes stands.
    #[inline]
    pub(super) fn long(&self, key: LongKey, hash: u64) -> Spot {
        let place = place(hash, LONGS);
        for place in [place, place ^ 1] {
            if self.longs.get(num::widen32(place)).is_some_and(|long| same(&long.key, &key)) {
                return Spot(1 << 30 | place);
            }
        }
        Spot::NONE
    }

    /// The tokens of a piece of up to 31 bytes in the first places, and how many they are; 0 where it does not stand there.
    #[inline]
    pub(super) fn long_ids(&self, spot: Spot, key: LongKey) -> ([u32; LONG_IDS], usize) {
        match self.longs.get(spot.index()) {
            Some(long) if same(&long.key, &key) => unpack(&long.ids, self.wide),
            _ => ([0; LONG_IDS], 0),
        }
    }

    /// Keeps a piece of up to 31 bytes; false where it has too many tokens.
    pub(super) fn put_long(&mut self, key: LongKey, hash: u64, ids: &[u32]) -> bool {
        let Some(ids) = pack(ids, self.wide) else { return false };
        let Some([first, second]) = pair(&mut self.longs, place(hash, LONGS)) else { return false };
        let long = Long { key, ids };
        if first.key == [0; 4] {
            *first = long;
        } else if second.key == [0; 4] || is_turn(&mut self.full) {
            (*second, *first) = (*first, long);
        }
        true
    }

    /// Where a piece of up to [`RUN_LEN`] bytes stands.
    #[inline]
    pub(super) fn run(&self, piece: &[u8], hash: u64) -> Spot {
        let place = place(hash, RUNS);
        for place in [place, place ^ 1] {
            if self.runs.get(num::widen32(place)).is_some_and(|run| run.is(piece)) {
                return Spot(2 << 30 | place);
            }
        }
        Spot::NONE
    }

    /// Its tokens in the first places, and how many they are; 0 where it does not stand there.
    #[inline]
    pub(super) fn run_ids(&self, spot: Spot, piece: &[u8]) -> ([u32; RUN_IDS], usize) {
        match self.runs.get(spot.index()) {
            Some(run) if run.is(piece) => unpack(&run.ids, self.wide),
            _ => ([0; RUN_IDS], 0),
        }
    }

    /// Appends the tokens of a piece of up to [`RUN_LEN`] bytes; false where it is not known.
    pub(super) fn give_run(&self, piece: &[u8], hash: u64, out: &mut Vec<u32>) -> bool {
        let spot = self.run(piece, hash);
        if spot == Spot::NONE {
            return false;
        }
        let (ids, count) = self.run_ids(spot, piece);
        out.extend_from_slice(ids.get(..count).unwrap_or_default());
        count > 0
    }

    /// Keeps a piece of up to [`RUN_LEN`] bytes, if it has few enough tokens.
    pub(super) fn put_run(&mut self, piece: &[u8], hash: u64, ids: &[u32]) {
        let Some(ids) = pack(ids, self.wide) else { return };
        let Some([first, second]) = pair(&mut self.runs, place(hash, RUNS)) else { return };
        let place = if first.len == 0 {
            first
        } else if second.len == 0 || is_turn(&mut self.full) {
            second
        } else {
            return;
        };
        if let Some(bytes) = place.bytes.get_mut(..piece.len()) {
            bytes.copy_from_slice(piece);
            place.ids = ids;
            place.len = u8::try_from(piece.len()).unwrap_or(0);
        }
    }
}

/// Bytes of a window and what a key may be read from behind it.
pub(super) const BLOCK: usize = 96;

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
    use super::super::hash::{Seed, key, long_key};
    use super::*;
    use std::vec::Vec;

    #[test]
    fn keys_are_the_same_wherever_they_are_read() {
        let block: [u8; BLOCK] = core::array::from_fn(|at| u8::try_from(at + 100).unwrap());
        for from in 0..64 {
            for len in 1..=31 {
                let piece = &block[from..from + len];
                if len <= 15 {
                    assert_eq!(key_at(&block, from, len), Some(key(piece)));
                }
                assert_eq!(long_key_at(&block, from, len), Some(long_key(piece)));
            }
        }
        assert_eq!(long_key_at(&block, 0, 32), None);
    }

    #[test]
    fn what_is_found_is_what_was_kept() {
        for tokens in [1 << 16, 1 << 21] {
            let seed = Seed::of(b"");
            let mut cache = Cache::new(tokens);
            let piece = |n: u32| std::format!("piece {n}").into_bytes();
            let most = u32::try_from(tokens - 1).unwrap();
            let ids = |n: u32| (0..n % 18).map(|i| (n * 7777 + i) & most).collect::<Vec<u32>>();
            let (short_most, long_most) = if tokens > 1 << 16 { (3, 7) } else { (7, 15) };
            let (mut stayed, mut fit) = (0, 0);
            for n in 0..100_000_u32 {
                let keys = |n| (key(&piece(n)), long_key(&piece(n)));
                let hash = |n| (seed.short(keys(n).0), seed.long(keys(n).1));
                let kept = cache.put_short(keys(n).0, hash(n).0, &ids(n));
                assert_eq!(kept, ids(n).len() <= short_most);
                cache.put_long(keys(n).1, hash(n).1, &ids(n));
                for other in [n, n / 2, n / 3] {
                    let (found, count) = cache.short_ids(cache.short(keys(other).0, hash(other).0), keys(other).0);
                    assert!(count == 0 || found[..count] == ids(other), "{other}");
                    let (found, count) = cache.long_ids(cache.long(keys(other).1, hash(other).1), keys(other).1);
                    assert!(count == 0 || found[..count] == ids(other), "{other}");
                }
                let short = cache.short_ids(cache.short(keys(n).0, hash(n).0), keys(n).0).1;
                let long = cache.long_ids(cache.long(keys(n).1, hash(n).1), keys(n).1).1;
                for (count, most) in [(short, short_most), (long, long_most)] {
                    let fits = (1..=most).contains(&ids(n).len());
                    assert!(count == 0 || fits);
                    // While there is room all stay; later three of four wait their turn.
                    assert!(n > 100 || (count > 0) == fits, "{n}");
                    stayed += u32::from(count > 0);
                    fit += u32::from(fits);
                }
            }
            assert!(stayed > fit / 4, "{stayed} of {fit}");
        }
    }
}
