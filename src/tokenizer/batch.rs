//! Many pieces looked up together.
//!
//! Most of the time of a lookup is waiting for memory. So some hundred pieces are found first, then all are looked for
//! without a branch on what is found, and their tokens are given last: the processor waits for many at once.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "places in arrays of 256 pieces, bytes of their text of 16 KiB at most, bits of 64-bit words"
)]

use core::hint::black_box;

use super::cache::{BLOCK, Cache, Spot, key_at, long_key_at};
use super::hash::{KEY_LEN, LONG_KEY_LEN, Seed};
use super::tiny::{Found, TINY_LEN};
use super::window::{WINDOW, starts};

/// The most pieces.
const MOST: usize = 256;

/// Pieces of a text and where they are kept.
pub(super) struct Batch {
    /// Where each ends.
    ends: [u16; MOST],
    /// What stands in the table of tiny pieces for each.
    found: [Found; MOST],
    /// Those that are not there, and where else they stand.
    others: [(u16, Spot); MOST],
    /// The hash of each of these, in the table for its length.
    hashes: [u64; MOST],
    count: usize,
    other_count: usize,
}

/// The bytes of a tiny piece and its length in the highest byte, by length; a longer one has a length that none has.
const KEEP: [(u64, u64); WINDOW] = {
    let mut all = [(0, 8 << 56); WINDOW];
    let mut len = 0;
    while len <= TINY_LEN {
        all[len] = ((1 << (8 * len)) - 1, (len as u64) << 56);
        len += 1;
    }
    all
};

impl Batch {
    pub(super) const fn new() -> Self {
        Self {
            ends: [0; MOST],
            found: [Found::NONE; MOST],
            others: [(0, Spot::NONE); MOST],
            hashes: [0; MOST],
            count: 0,
            other_count: 0,
        }
    }

    /// Finds the first pieces of a text, and looks them up; the answer is where the last ends, 0 if the first is too long
    /// to be seen whole.
    #[inline(never)]
    pub(super) fn fill(&mut self, cache: &Cache, seed: Seed, text: &[u8]) -> usize {
        let mut at = 0;
        self.count = 0;
        while self.count <= MOST - WINDOW
            && let Some(block) = text[at..].first_chunk::<BLOCK>()
        {
            let mut starts = block.first_chunk().map_or(1, starts) & !1;
            if starts == 0 {
                break;
            }
            let last = 63 - starts.leading_zeros() as usize;
            while starts != 0 {
                self.ends[self.count % MOST] = (at + starts.trailing_zeros() as usize) as u16;
                self.count += 1;
                starts &= starts - 1;
            }
            at += last;
        }
        self.find_tiny(cache, seed, text);
        self.touch_others(cache, seed, text);
        self.find_others(cache, seed, text);
        at
    }

    #[inline(never)]
    fn find_tiny(&mut self, cache: &Cache, seed: Seed, text: &[u8]) {
        let (mut from, mut others) = (0, 0);
        for at in 0..self.count.min(MOST) {
            let end = usize::from(self.ends[at]);
            let (keep, tag) = KEEP[(end - from) % WINDOW];
            let word = text.get(from..from + 8).and_then(|bytes| bytes.first_chunk());
            let key = word.map_or(0, |bytes| u64::from_le_bytes(*bytes)) & keep | tag;
            let found = cache.tinies.find(key, seed.tiny(key));
            self.found[at] = found;
            self.others[others % MOST].0 = at as u16;
            others += usize::from(found.is_other());
            from = end;
        }
        self.other_count = others;
    }

    /// Reads once where each of the others may stand, so that it is there when it is looked at. What is read decides
    /// nothing, so that none waits for another.
    #[inline(never)]
    fn touch_others(&mut self, cache: &Cache, seed: Seed, text: &[u8]) {
        let mut read = 0;
        for other in 0..self.other_count.min(MOST) {
            let (from, len) = self.span(usize::from(self.others[other].0));
            let hash = if len <= KEY_LEN {
                let hash = key_at(text, from, len).map_or(0, |key| seed.short(key));
                read ^= cache.touch_short(hash);
                hash
            } else if len <= LONG_KEY_LEN {
                let hash = long_key_at(text, from, len).map_or(0, |key| seed.long(key));
                read ^= cache.touch_long(hash);
                hash
            } else {
                let hash = seed.piece(&text[from..from + len]);
                read ^= cache.touch_run(hash);
                hash
            };
            self.hashes[other] = hash;
        }
        black_box(read);
    }

    #[inline(never)]
    fn find_others(&mut self, cache: &Cache, seed: Seed, text: &[u8]) {
        for other in 0..self.other_count.min(MOST) {
            let (from, len) = self.span(usize::from(self.others[other].0));
            let hash = self.hashes[other];
            let mut spot = Spot::NONE;
            if len <= KEY_LEN {
                spot = key_at(text, from, len).map_or(spot, |key| cache.short(key, hash));
            }
            if spot == Spot::NONE && len <= LONG_KEY_LEN {
                let long = |key| cache.long(key, if len <= KEY_LEN { seed.long(key) } else { hash });
                spot = long_key_at(text, from, len).map_or(spot, long);
            }
            if spot == Spot::NONE && len > KEY_LEN {
                let piece = &text[from..from + len];
                spot = cache.run(piece, if len <= LONG_KEY_LEN { seed.piece(piece) } else { hash });
            }
            self.others[other].1 = spot;
        }
    }

    /// Where piece `at` begins, and its length.
    #[inline]
    pub(super) fn span(&self, at: usize) -> (usize, usize) {
        let from = if at == 0 { 0 } else { usize::from(self.ends[(at - 1) % MOST]) };
        (from, usize::from(self.ends[at % MOST]) - from)
    }

    /// How many pieces there are.
    #[inline]
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// What stands in the table of tiny pieces for some of them.
    #[inline]
    pub(super) fn tiny(&self, from: usize, to: usize) -> &[Found] {
        &self.found[from..to]
    }

    /// The pieces that are not there, and where else they may stand.
    #[inline]
    pub(super) fn others(&self) -> &[(u16, Spot)] {
        &self.others[..self.other_count]
    }
}
