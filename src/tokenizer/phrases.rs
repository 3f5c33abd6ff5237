//! Pieces that a line does not hold, of up to 1,024 bytes: phrases without a blank, rulings, indentation.
//!
//! Their tokens and bytes stand one behind the other in a ring, so that a text met again finds them in the order in which
//! it is read. A table says where each begins; what the ring has written over since is known by its place, which only
//! ever grows.

use super::cache::{Slab, ask, is_turn, pairs};
use crate::num;

/// The least and the most bytes of such a piece.
pub(super) const PHRASE_LEAST: usize = 16;
pub(super) const PHRASE_LEN: usize = 1024;

/// Pairs of places in the table: 1 MiB, in a large page of its own.
const PAIRS: usize = 1 << 16;
/// Words of the ring: 4 MiB.
const RING: usize = 1 << 19;
/// The smallest ring, which holds the longest piece.
const LEAST_RING: usize = 1 << 10;

/// Where a piece begins in the ring, counted in words from the very first, and 16 bits of its hash above; the one that was
/// kept last, and the one before.
type Pair = [u64; 2];

const START_BITS: u32 = 48;

/// The ring and its table. Without memory for them nothing is found.
///
/// A piece is a word that says how many bytes and tokens it has; its tokens, of 16 bits each or in a large vocabulary of
/// 32; and its bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Phrases {
    pairs: Slab<Pair>,
    ring: Slab<u64>,
    /// Behind the last word written, counted from the very first, which is left out: 0 is nowhere.
    end: u64,
}

/// How many words hold so many bytes.
const fn words(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// Bytes of so many tokens.
const fn ids_len(count: usize, wide: bool) -> usize {
    count.saturating_mul(if wide { 4 } else { 2 })
}

/// Tokens as they are kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ids<'a> {
    Narrow(&'a [u16]),
    Wide(&'a [u32]),
}

impl Phrases {
    /// Empty ones for texts of that many bytes.
    pub(super) fn new(text: usize) -> Self {
        // Half a word a byte is room for the bytes and a token of each.
        let words = (text / 2).max(LEAST_RING).checked_next_power_of_two().unwrap_or(RING).min(RING);
        Self { pairs: pairs(PAIRS, text / 64), ring: pairs(words, usize::MAX), end: 1 }
    }

    /// The pair for a hash of 30 bits, of which the higher ones are left for the table.
    #[inline]
    fn index(&self, hash: u32) -> usize {
        num::widen32(hash) & self.pairs.len().wrapping_sub(1)
    }

    /// The bits of a hash that the table keeps: those above the ones that are a place in it, when it is large.
    #[inline]
    fn tag(hash: u32) -> u64 {
        u64::from(hash >> 14) << START_BITS
    }

    /// Where a piece begins that has not been written over.
    #[inline]
    fn start(&self, word: u64) -> Option<usize> {
        let start = word & (u64::MAX >> (64 - START_BITS));
        let ring = num::widen(self.ring.len());
        let is_there = start != 0 && start < self.end && self.end.saturating_sub(start) <= ring;
        is_there.then(|| num::narrow(start & ring.wrapping_sub(1)).unwrap_or(0))
    }

    /// Asks for the table's line for a hash.
    #[inline]
    pub(super) fn ask(&self, hash: u32) {
        ask(&self.pairs, self.index(hash));
    }

    /// Asks for the first lines of what the table names for a hash, when the table's line has come.
    #[inline]
    pub(super) fn ask_ring(&self, hash: u32) {
        let Some([first, second]) = self.pairs.get(self.index(hash)).copied() else { return };
        let word = if (first ^ Self::tag(hash)) >> START_BITS == 0 { first } else { second };
        let start = num::narrow(word).unwrap_or(0) & self.ring.len().wrapping_sub(1);
        for line in [0, 8, 16] {
            ask(&self.ring, start.saturating_add(line));
        }
    }

    /// The tokens of a piece.
    #[inline]
    pub(super) fn find(&self, hash: u32, piece: &[u8], wide: bool) -> Option<Ids<'_>> {
        let pair = self.pairs.get(self.index(hash))?;
        let tag = Self::tag(hash);
        pair.iter()
            .filter(|word| (*word ^ tag) >> START_BITS == 0)
            .find_map(|word| self.read(self.start(*word)?, piece, wide))
    }

    /// The tokens of the piece at a place, if it is this one.
    #[inline]
    fn read(&self, start: usize, piece: &[u8], wide: bool) -> Option<Ids<'_>> {
        let (head, rest) = self.ring.get(start..)?.split_first()?;
        let len = num::narrow(*head & 0xFFFF_FFFF)?;
        let count = num::narrow(*head >> 32)?;
        let (ids, bytes) = rest.split_at_checked(words(ids_len(count, wide)))?;
        if len != piece.len() || bytemuck::cast_slice(bytes).get(..len) != Some(piece) {
            return None;
        }
        Some(if wide {
            Ids::Wide(bytemuck::cast_slice(ids).get(..count)?)
        } else {
            Ids::Narrow(bytemuck::cast_slice(ids).get(..count)?)
        })
    }

    /// Keeps a piece, if it is time where something else would have to go. `full` is how often that was so.
    pub(super) fn put(&mut self, hash: u32, piece: &[u8], ids: &[u32], wide: bool, full: &mut u32) {
        let ring = self.ring.len();
        let id_words = words(ids_len(ids.len(), wide));
        let size = id_words.saturating_add(words(piece.len())).saturating_add(1);
        let index = self.index(hash);
        let Some([first, second]) = self.pairs.get(index).copied() else { return };
        if size > ring || piece.len() > PHRASE_LEN || (!wide && ids.iter().any(|id| *id > 0xFFFF)) {
            return;
        }
        let goes = self.end > num::widen(ring) || self.start(second).is_some();
        if goes && !is_turn(full) {
            return;
        }
        // A piece does not go across the end of the ring.
        let at = num::narrow(self.end & num::widen(ring.wrapping_sub(1))).unwrap_or(0);
        let skip = if ring.saturating_sub(at) < size { ring.saturating_sub(at) } else { 0 };
        let start = self.end.saturating_add(num::widen(skip));
        let at = if skip > 0 { 0 } else { at };
        let Some(place) = self.ring.get_mut(at..at.saturating_add(size)) else { return };
        let Some((head, rest)) = place.split_first_mut() else { return };
        let Some((id_place, bytes)) = rest.split_at_mut_checked(id_words) else { return };
        *head = num::widen(piece.len()) | num::widen(ids.len()) << 32;
        if wide {
            for (place, id) in bytemuck::cast_slice_mut(id_place).iter_mut().zip(ids) {
                *place = *id;
            }
        } else {
            for (place, id) in bytemuck::cast_slice_mut(id_place).iter_mut().zip(ids) {
                *place = u16::try_from(*id).unwrap_or(0);
            }
        }
        if let Some(place) = bytemuck::cast_slice_mut(bytes).get_mut(..piece.len()) {
            place.copy_from_slice(piece);
        }
        self.end = start.saturating_add(num::widen(size));
        if let Some(pair) = self.pairs.get_mut(index) {
            *pair = [Self::tag(hash) | start, first];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::{Seed, low};
    use super::*;
    use std::vec::Vec;

    fn hash(seed: Seed, piece: &[u8]) -> u32 {
        low(seed.phrase(piece) >> 34)
    }

    fn find(phrases: &Phrases, seed: Seed, piece: &[u8], wide: bool) -> Option<Vec<u32>> {
        phrases.find(hash(seed, piece), piece, wide).map(|ids| match ids {
            Ids::Narrow(ids) => ids.iter().map(|id| u32::from(*id)).collect(),
            Ids::Wide(ids) => ids.to_vec(),
        })
    }

    #[test]
    fn what_is_found_is_what_was_kept_however_often_the_ring_goes_round() {
        let seed = Seed::of(b"");
        for (wide, text) in [(false, 0), (true, 0), (false, 1 << 14), (true, usize::MAX)] {
            let mut phrases = Phrases::new(text);
            let top = if wide { u32::MAX } else { 0xFFFF };
            // Each has in it what others look like in the ring: words that say 16 bytes and one token.
            let piece = |n: u32| {
                let mut piece = std::format!("{n:016}").into_bytes();
                while piece.len() < [16, 17, 40, 200, 1024][usize::try_from(n % 5).unwrap()] {
                    piece.push([16, 0, 0, 0, 1, 0, 0, 0][piece.len() % 8]);
                }
                piece
            };
            let ids = |n: u32| (1..=n % 77).map(|i| (n * 7777 + i) & top).collect::<Vec<u32>>();
            let (mut full, mut stayed) = (0, 0);
            let count = 20_000 / u32::try_from(crate::sparse::step(10)).unwrap();
            for n in 0..count {
                phrases.put(hash(seed, &piece(n)), &piece(n), &ids(n), wide, &mut full);
                for other in [n, n / 2, n.saturating_sub(1), n.saturating_sub(20)] {
                    let found = find(&phrases, seed, &piece(other), wide);
                    assert!(found.as_ref().is_none_or(|found| *found == ids(other)), "{n} {other}");
                    stayed += u32::from(n == other && found.is_some());
                }
                assert_eq!(find(&phrases, seed, &piece(n)[1..], wide), None);
            }
            assert!(stayed > count / 5, "{stayed}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let (seed, mut phrases) = (Seed::of(b""), Phrases::new(0));
        let (long, piece) = (std::vec![b'a'; PHRASE_LEN + 1], [b'a'; PHRASE_LEN]);
        phrases.put(hash(seed, &long), &long, &[1], false, &mut 0);
        phrases.put(hash(seed, &piece), &piece, &[1 << 16], false, &mut 0);
        assert_eq!(find(&phrases, seed, &long, false), None);
        assert_eq!(find(&phrases, seed, &piece, false), None);
        // As many tokens as bytes are the most there can be.
        for wide in [false, true] {
            phrases = Phrases::new(0);
            phrases.put(hash(seed, &piece), &piece, &[7; PHRASE_LEN], wide, &mut 0);
            assert_eq!(find(&phrases, seed, &piece, wide), Some(std::vec![7; PHRASE_LEN]));
        }
        assert_eq!(find(&Phrases::default(), seed, &piece, false), None);
        Phrases::default().put(hash(seed, &piece), &piece, &[7], false, &mut 0);
    }
}
