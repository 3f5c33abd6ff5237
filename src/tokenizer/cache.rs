//! Pieces met before, and their tokens: bounded, and exact since each is kept whole.
//!
//! Short pieces stand in sets of two that fill a cache line; of two the one used last stays. Longer ones, and those of
//! many tokens, have a table of their own with one place for each hash.

use alloc::vec::Vec;

use super::hash::{Key, low, words};
use crate::num;

/// The most tokens of a short piece that are kept in place.
pub(super) const SHORT_IDS: usize = 4;
/// The longest piece in the second table.
pub(super) const LONG_LEN: usize = 48;
/// The most tokens of a piece in the second table.
const LONG_IDS: usize = 19;

/// Sets of short pieces: 2 MiB.
const SETS: usize = 1 << 15;
/// Places for longer ones: 1 MiB.
const LONGS: usize = 1 << 13;

/// Ids have at most 21 bits; how many there are stands above the first.
const COUNT_SHIFT: u32 = 24;

/// A short piece: its key, and its ids two to a word.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    key: Key,
    ids: [u64; 2],
}

/// Two short pieces, in one line of the machine's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Set([Short; 2]);

/// A longer piece: its bytes, zeros behind them, and its ids.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Long {
    bytes: [u8; LONG_LEN],
    ids: [u32; LONG_IDS],
    len: u16,
    count: u16,
}

impl Default for Long {
    fn default() -> Self {
        Self { bytes: [0; LONG_LEN], ids: [0; LONG_IDS], len: 0, count: 0 }
    }
}

/// Both tables. Without memory for them, or where they are not wanted, nothing is found.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    sets: Vec<Set>,
    longs: Vec<Long>,
}

/// `count` empty places, or none where there is no memory for them.
fn places<T: Clone + Default>(count: usize) -> Vec<T> {
    super::hash::zeros(count).unwrap_or_default()
}

impl Cache {
    /// Empty tables of the usual size.
    pub(super) fn new() -> Self {
        Self { sets: places(SETS), longs: places(LONGS) }
    }

    /// The tokens of a short piece in the first places, and how many they are; 0 where it is not known.
    #[inline]
    pub(super) fn short(&mut self, key: Key, hash: u64) -> ([u32; SHORT_IDS], usize) {
        let place = num::widen32(low(hash >> 40)) & (SETS.wrapping_sub(1));
        let Some(Set(set)) = self.sets.get_mut(place) else { return ([0; SHORT_IDS], 0) };
        let [first, second] = *set;
        let found = if first.key == key {
            first.ids
        } else if second.key == key {
            *set = [second, first];
            second.ids
        } else {
            return ([0; SHORT_IDS], 0);
        };
        let [a, b] = found;
        let count = num::widen32(low(a) >> COUNT_SHIFT);
        ([low(a) & ((1 << COUNT_SHIFT) - 1), low(a >> 32), low(b), low(b >> 32)], count)
    }

    /// Keeps a short piece, if it has few enough tokens.
    pub(super) fn put_short(&mut self, key: Key, hash: u64, ids: &[u32]) {
        let place = num::widen32(low(hash >> 40)) & (SETS.wrapping_sub(1));
        let Some(Set(set)) = self.sets.get_mut(place) else { return };
        if ids.len() > SHORT_IDS {
            return;
        }
        let id = |index: usize| ids.get(index).copied().map_or(0, u64::from);
        let count = num::widen(ids.len()) << COUNT_SHIFT;
        let new = Short { key, ids: [count | id(0) | id(1) << 32, id(2) | id(3) << 32] };
        let [first, _] = *set;
        *set = [new, first];
    }

    /// The tokens of a piece of up to [`LONG_LEN`] bytes.
    #[inline]
    pub(super) fn long(&self, piece: &[u8], hash: u64) -> Option<&[u32]> {
        let long = self.longs.get(num::widen32(low(hash >> 40)) & (LONGS.wrapping_sub(1)))?;
        let known = usize::from(long.len) == piece.len() && long.bytes.get(..piece.len()) == Some(piece);
        long.ids.get(..usize::from(long.count)).filter(|_| known)
    }

    /// Keeps a piece of up to [`LONG_LEN`] bytes, if it has few enough tokens.
    pub(super) fn put_long(&mut self, piece: &[u8], hash: u64, ids: &[u32]) {
        let place = num::widen32(low(hash >> 40)) & (LONGS.wrapping_sub(1));
        let Some(long) = self.longs.get_mut(place) else { return };
        let (Ok(len), Ok(count)) = (u16::try_from(piece.len()), u16::try_from(ids.len())) else { return };
        if let (Some(bytes), Some(kept)) = (long.bytes.get_mut(..piece.len()), long.ids.get_mut(..ids.len())) {
            bytes.copy_from_slice(piece);
            kept.copy_from_slice(ids);
            (long.len, long.count) = (len, count);
        }
    }
}

/// Bytes of a window and what a key may be read from behind it.
pub(super) const BLOCK: usize = 80;

/// What to keep of the 16 bytes from the start of a short piece, and its length in the highest byte.
const MASKS: [[u64; 3]; 16] = {
    let mut masks = [[0; 3]; 16];
    let mut len = 0_u64;
    while len < 16 {
        let low = if len >= 8 { u64::MAX } else { (1 << (8 * len)) - 1 };
        let high = if len > 8 { (1 << (8 * (len - 8))) - 1 } else { 0 };
        #[expect(
            clippy::as_conversions,
            clippy::cast_possible_truncation,
            clippy::indexing_slicing,
            reason = "evaluated by the compiler"
        )]
        {
            masks[len as usize] = [low, high, len << 56];
        }
        len += 1;
    }
    masks
};

/// The key of the `len` bytes, 15 at most, from `from` on; the same as [`key`](super::hash::key) of that piece.
#[inline]
pub(super) fn key_at(block: &[u8; BLOCK], from: usize, len: usize) -> Option<Key> {
    let [keep_low, keep_high, tag] = *MASKS.get(len)?;
    let [low, high] = words(block.get(from..)?.first_chunk()?);
    Some([low & keep_low, high & keep_high | tag])
}

#[cfg(test)]
mod tests {
    use super::super::hash::{Seed, key};
    use super::*;
    use std::vec::Vec;

    #[test]
    fn keys_are_the_same_wherever_they_are_read() {
        let block: [u8; BLOCK] = core::array::from_fn(|at| u8::try_from(at + 100).unwrap());
        for from in 0..=64 {
            for len in 1..=15 {
                assert_eq!(
                    key_at(&block, from, len),
                    Some(key(&block[from..(from + len).min(BLOCK)])).filter(|_| from + 16 <= BLOCK)
                );
            }
        }
        assert_eq!(key_at(&block, 0, 16), None);
    }

    #[test]
    fn what_is_found_is_what_was_kept() {
        let seed = Seed::of(b"");
        let mut cache = Cache::new();
        let piece = |n: u32| std::format!("piece {n}").into_bytes();
        let ids = |n: u32| (0..n % 6).map(|i| (n * 7 + i) & 0x1F_FFFF).collect::<Vec<u32>>();
        for n in 0..200_000 {
            let (short, hash) = (key(&piece(n)), seed.piece(&piece(n)));
            if n % 6 > 0 {
                cache.put_short(short, hash, &ids(n));
                cache.put_long(&piece(n), hash, &ids(n));
            }
            for other in [n, n / 2, n / 3] {
                let (short, hash) = (key(&piece(other)), seed.piece(&piece(other)));
                let (found, count) = cache.short(short, hash);
                assert!(count == 0 || found[..count] == ids(other), "{other}");
                assert!(cache.long(&piece(other), hash).is_none_or(|found| found == ids(other)));
            }
            assert_eq!(cache.short(short, hash).1, if n % 6 <= 4 { ids(n).len() } else { 0 });
        }
    }
}
