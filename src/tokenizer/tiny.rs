//! Pieces of at most 7 bytes, which are most of a text: two words each, so that those in use stay in the machine's cache.
//!
//! A table of one place for each hash. What is pushed out of it moves to the table of short pieces, and back when it is
//! met again.

use core::hint::select_unpredictable;

use super::cache::{Slab, ask, pairs};
use super::hash::{Key, low};
use crate::num;

/// The longest piece whose bytes fit a word with their number.
pub(super) const TINY_LEN: usize = 7;

/// Pairs of places: 1 MiB, in a large page of its own.
const PAIRS: usize = 1 << 15;

/// The most tokens of such a piece; in a large vocabulary one less.
pub(super) const TINY_IDS: usize = 4;

/// A piece, zeros, its length in the low half of the highest byte and the number of its tokens in the high half; and the
/// tokens, of 16 bits each, or in a large vocabulary of 21.
#[derive(Clone, Copy, Debug, Default)]
struct Tiny {
    key: u64,
    ids: u64,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Pair([Tiny; 2]);

const WIDE_BITS: u32 = 21;

/// What was looked for, and what stands in its place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Zero in all but the highest four bits, which are the number of tokens, where it is the same piece.
    diff: u64,
    ids: u64,
}

impl Found {
    pub(super) const NONE: Self = Self { diff: 1, ids: 0 };

    /// Whether it is another piece, or none.
    #[inline]
    pub(super) const fn is_other(self) -> bool {
        self.diff << 4 != 0
    }

    /// The tokens in the first places, and how many they are.
    #[inline]
    pub(super) fn ids(self, wide: bool) -> ([u32; TINY_IDS], usize) {
        let count = num::widen32(low(self.diff >> 60));
        if wide {
            let id = |at: u32| low(self.ids.wrapping_shr(at.wrapping_mul(WIDE_BITS))) & ((1 << WIDE_BITS) - 1);
            return ([id(0), id(1), id(2), 0], count);
        }
        // As one vector, not by four shifts.
        let ids: [[u8; 2]; TINY_IDS] = bytemuck::cast(self.ids.to_le_bytes());
        (ids.map(|id| u32::from(u16::from_le_bytes(id))), count)
    }
}

/// The key of a piece: its bytes, zeros, its length in the highest byte.
pub(super) fn tiny_key(piece: &[u8]) -> Option<u64> {
    let mut bytes = [0; 8];
    let (last, place) = bytes.split_last_mut()?;
    place.get_mut(..piece.len())?.copy_from_slice(piece);
    *last = u8::try_from(piece.len()).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// The table. Without memory for it nothing is found.
#[derive(Clone, Debug, Default)]
pub(super) struct Tinies {
    pairs: Slab<Pair>,
    /// How many of a hash's low bits are no place.
    shift: u32,
}

impl Tinies {
    /// An empty table for so many pieces, or fewer.
    pub(super) fn new(pieces: usize) -> Self {
        let pairs: Slab<Pair> = pairs(PAIRS, pieces);
        let shift =
            pairs.len().leading_zeros().saturating_add(1).saturating_add(64_u32.saturating_sub(usize::BITS));
        Self { pairs, shift }
    }

    /// The place for a hash: its highest bits.
    #[inline]
    pub(super) fn place(&self, hash: u64) -> u32 {
        low(hash.wrapping_shr(self.shift))
    }

    /// Asks for what stands at a place.
    #[inline]
    pub(super) fn ask(&self, place: u32) {
        ask(&self.pairs, num::widen32(place));
    }

    /// What stands where this key would.
    #[inline]
    pub(super) fn find(&self, key: u64, place: u32) -> Found {
        let Some(Pair([first, second])) = self.pairs.get(num::widen32(place)) else { return Found::NONE };
        let (one, other) = (first.key ^ key, second.key ^ key);
        // Which of the two it is cannot be foretold, so no branch.
        let is_second = other << 4 == 0;
        Found {
            diff: select_unpredictable(is_second, other, one),
            ids: select_unpredictable(is_second, second.ids, first.ids),
        }
    }

    /// Whether keeping a piece would push one out.
    pub(super) fn is_full(&self, place: u32) -> bool {
        self.pairs.get(num::widen32(place)).is_some_and(|Pair([_, second])| second.key != 0)
    }

    /// Keeps a piece, where it has few enough tokens; the answer is the key of the one that gave way and its tokens.
    pub(super) fn put(&mut self, key: u64, place: u32, ids: &[u32], wide: bool) -> Option<(u64, Found)> {
        let (most, bits) = if wide { (3, WIDE_BITS) } else { (4, 16) };
        if ids.len() > most {
            return None;
        }
        let mut packed = 0;
        for id in ids.iter().rev() {
            if id >> bits != 0 {
                return None;
            }
            packed = packed << bits | u64::from(*id);
        }
        let Pair(pair) = self.pairs.get_mut(num::widen32(place))?;
        let [first, old] = *pair;
        *pair = [Tiny { key: key | num::widen(ids.len()) << 60, ids: packed }, first];
        let count = old.key & 0xF << 60;
        Some((old.key ^ count, Found { diff: count, ids: old.ids }))
    }
}

/// The same piece's key in the table of short pieces.
pub(super) const fn short_key(key: u64) -> Key {
    [key & (u64::MAX >> 8), key & (0xFF << 56)]
}

#[cfg(test)]
mod tests {
    use super::super::hash::{Seed, key};
    use super::*;
    use std::vec::Vec;

    #[test]
    fn keys_are_those_of_short_pieces() {
        for piece in [&b"a"[..], b"1234567", b"\0\0"] {
            assert_eq!(short_key(tiny_key(piece).unwrap()), key(piece));
        }
        assert_eq!(tiny_key(b"12345678"), None);
    }

    #[test]
    fn what_is_found_is_what_was_kept_and_what_goes_is_given_back() {
        let seed = Seed::of(b"");
        for (wide, most) in [(false, 4), (true, 3)] {
            let mut tinies = Tinies::new(usize::MAX);
            let top = if wide { (1 << 21) - 1 } else { 0xFFFF };
            let ids = |n: u32| (0..n % 6).map(|i| top - (n * 7 + i) % 1000).collect::<Vec<u32>>();
            let key = |n: u32| tiny_key(std::format!("{n}").as_bytes()).unwrap();
            let mut gone = 0;
            for n in (0..200_000).filter(|n| n % 6 > 0) {
                let kept = tinies.put(key(n), tinies.place(seed.tiny(key(n))), &ids(n), wide);
                assert_eq!(kept.is_some(), ids(n).len() <= most);
                let Some((old, found)) = kept else { continue };
                if old != 0 {
                    let text = old.to_le_bytes()[..usize::from(old.to_le_bytes()[7])].to_vec();
                    let number = std::string::String::from_utf8(text).unwrap().parse().unwrap();
                    let (all, count) = found.ids(wide);
                    assert_eq!(all[..count], ids(number));
                    gone += 1;
                }
                for other in [n, n / 2] {
                    let found = tinies.find(key(other), tinies.place(seed.tiny(key(other))));
                    let (all, count) = found.ids(wide);
                    assert!(found.is_other() || all[..count] == ids(other));
                }
                assert!(!tinies.find(key(n), tinies.place(seed.tiny(key(n)))).is_other());
            }
            assert!(gone > 0);
            assert_eq!(tinies.put(key(1), 0, &[1 << bits(wide)], wide).map(|old| old.0), None);
        }
    }

    fn bits(wide: bool) -> u32 {
        if wide { 21 } else { 16 }
    }
}
