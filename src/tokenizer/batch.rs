//! Many pieces looked up together.
//!
//! Most of the time of a lookup is waiting for memory. So some hundred pieces are found first, then the lines of the
//! machine's cache in which they may stand are asked for, and only then is looked what is there, without a branch on it.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "places in arrays of 512 pieces, bytes of their text of 32 KiB at most, bits of 64-bit words"
)]

use super::cache::{Cache, Place, place_at};
use super::hash::Seed;
use super::tiny::TINY_LEN;
use super::window::{ENDS, MOST};

/// Pieces of a text and where they are kept.
pub(super) struct Batch {
    /// Where each ends.
    ends: [u16; ENDS],
    /// The key of each as a tiny piece, or something that none has.
    keys: [u64; MOST],
    /// The place of each among those.
    places: [u32; MOST],
    /// Those that are longer, and where they may stand.
    others: [(u16, Place); MOST],
    count: usize,
    other_count: usize,
}

/// The bytes of a tiny piece and its length in the highest byte, by length; a longer one has a length that none has.
const KEEP: [(u64, u64); TINY_LEN + 2] = {
    let mut all = [(0, 8 << 56); TINY_LEN + 2];
    let mut len = 0;
    while len <= TINY_LEN {
        all[len] = ((1 << (8 * len)) - 1, (len as u64) << 56);
        len += 1;
    }
    all
};

/// Where pieces end, by the best instructions that there are.
#[cfg(feature = "std")]
#[inline]
fn ends(text: &[u8], ends: &mut [u16; ENDS]) -> (usize, usize) {
    crate::simd::text::ends(crate::simd::Level::best(), text, ends)
}

#[cfg(not(feature = "std"))]
#[inline]
fn ends(text: &[u8], ends: &mut [u16; ENDS]) -> (usize, usize) {
    super::window::piece_ends(super::window::Plain, text, ends)
}

impl Batch {
    pub(super) const fn new() -> Self {
        Self {
            ends: [0; ENDS],
            keys: [0; MOST],
            places: [0; MOST],
            others: [(0, Place::NONE); MOST],
            count: 0,
            other_count: 0,
        }
    }

    /// Finds the first pieces of a text, and looks them up; the answer is where the last ends, 0 if the first is too long
    /// to be seen whole.
    #[inline(never)]
    pub(super) fn fill(&mut self, cache: &Cache, seed: Seed, text: &[u8]) -> usize {
        let (count, at) = ends(text, &mut self.ends);
        self.count = count.min(MOST);
        self.make_keys(cache, seed, text);
        self.find_places(cache, seed, text);
        at
    }

    #[inline(never)]
    fn make_keys(&mut self, cache: &Cache, seed: Seed, text: &[u8]) {
        let (mut from, mut others) = (0, 0);
        let slots = self.keys.iter_mut().zip(&mut self.places);
        for (at, (end, (key, slot))) in self.ends[..self.count].iter().zip(slots).enumerate() {
            let end = usize::from(*end);
            self.others[others % MOST].0 = at as u16;
            others += usize::from(end - from > TINY_LEN);
            let (keep, tag) = KEEP[(end - from).min(TINY_LEN + 1)];
            let word = text.get(from..from + 8).and_then(|bytes| bytes.first_chunk());
            *key = word.map_or(0, |bytes| u64::from_le_bytes(*bytes)) & keep | tag;
            let place = cache.tinies.place(seed.tiny(*key));
            cache.tinies.ask(place);
            *slot = place;
            from = end;
        }
        self.other_count = others;
    }

    #[inline(never)]
    fn find_places(&mut self, cache: &Cache, seed: Seed, text: &[u8]) {
        for other in 0..self.other_count.min(MOST) {
            let (from, len) = self.span(usize::from(self.others[other].0));
            let place = place_at(seed, text, from, len);
            cache.ask(place);
            self.others[other].1 = place;
        }
        for (_, place) in self.others() {
            cache.ask_named(*place);
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

    /// Keys of the pieces from `at` to `until`, of which none is longer, and their places in the table of tiny ones.
    #[inline]
    pub(super) fn tinies(&self, at: usize, until: usize) -> impl Iterator<Item = (u64, u32)> + '_ {
        let (at, until) = (at.min(until), until.min(MOST));
        self.keys[at..until].iter().copied().zip(self.places[at..until].iter().copied())
    }

    /// The longer pieces, and where they may stand.
    #[inline]
    pub(super) fn others(&self) -> &[(u16, Place)] {
        &self.others[..self.other_count]
    }
}
