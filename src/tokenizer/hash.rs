//! Hashes of pieces and pairs, and the promise that a table filled with them stays fast.
//!
//! A hostile vocabulary knows this code. What it does not know is the seed, which is made of its own every byte: who
//! changes a token changes the seed. Each table has a budget of steps besides; when it is spent, another seed is taken,
//! and after a few the vocabulary is refused.

use alloc::vec::Vec;

use crate::num;
use crate::unique::Keyed;

/// The longest piece whose bytes fit a key.
pub(super) const KEY_LEN: usize = 15;

/// Both halves of a 128-bit product, folded.
#[inline]
pub(super) const fn fold(a: u64, b: u64) -> u64 {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "widening, then the two halves of the product"
    )]
    {
        let product = (a as u128).wrapping_mul(b as u128);
        (product as u64) ^ ((product >> 64) as u64)
    }
}

/// The lower half of a word.
#[inline]
pub(super) const fn low(word: u64) -> u32 {
    #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the low bits are wanted")]
    let low = word as u32;
    low
}

/// A piece of at most [`KEY_LEN`] bytes in two words: its bytes, zeros, and its length in the highest byte.
pub(super) type Key = [u64; 2];

/// The key of a short piece; of a longer one, that of its first bytes, with a length that no short one has.
#[inline]
pub(super) fn key(piece: &[u8]) -> Key {
    let mut buffer = [0_u8; 16];
    let part = piece.get(..KEY_LEN).unwrap_or(piece);
    if let Some(place) = buffer.get_mut(..part.len()) {
        place.copy_from_slice(part);
    }
    if let Some(last) = buffer.last_mut() {
        *last = u8::try_from(piece.len()).unwrap_or(u8::MAX);
    }
    words(&buffer)
}

/// The longest piece whose bytes fit a long key.
pub(super) const LONG_KEY_LEN: usize = 31;

/// The same for up to [`LONG_KEY_LEN`] bytes in four words.
pub(super) type LongKey = [u64; 4];

/// The long key of a piece.
pub(super) fn long_key(piece: &[u8]) -> LongKey {
    let mut buffer = [[0_u8; 16]; 2];
    let part = piece.get(..LONG_KEY_LEN).unwrap_or(piece);
    if let Some(place) = buffer.as_flattened_mut().get_mut(..part.len()) {
        place.copy_from_slice(part);
    }
    if let Some(last) = buffer.as_flattened_mut().last_mut() {
        *last = u8::try_from(piece.len()).unwrap_or(u8::MAX);
    }
    let [first, second] = buffer;
    let ([a, b], [c, d]) = (words(&first), words(&second));
    [a, b, c, d]
}

#[inline]
pub(super) fn words(bytes: &[u8; 16]) -> Key {
    let (low, high) = bytes.split_at(8);
    let word = |half: &[u8]| half.first_chunk().map_or(0, |half| u64::from_le_bytes(*half));
    [word(low), word(high)]
}

/// The secret of a vocabulary's tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed {
    a: u64,
    b: u64,
}

/// How many seeds are tried before a vocabulary is refused.
pub(super) const SEEDS: u8 = 8;

impl Seed {
    /// The seed for a vocabulary of these texts.
    pub(super) fn of(text: &[u8]) -> Self {
        Self::from_keyed(Keyed::by(text), 0)
    }

    /// Another one that depends on this, and on more text.
    pub(super) fn next(self, text: &[u8]) -> Self {
        let more = Keyed::by(text).hash_bytes(&self.a.to_le_bytes());
        Self::from_keyed(Keyed::by(&self.b.to_le_bytes()), more)
    }

    fn from_keyed(keyed: Keyed, more: u64) -> Self {
        let word = |which: u64| keyed.hash_bytes(&(which ^ more).to_le_bytes());
        Self { a: word(1), b: word(2) }
    }

    /// The hash of a tiny piece by its key.
    #[inline]
    pub(super) const fn tiny(self, key: u64) -> u64 {
        fold(key ^ self.a, self.b)
    }

    /// The hash of a short piece by its key.
    #[inline]
    pub(super) const fn short(self, key: Key) -> u64 {
        let [low, high] = key;
        fold(low ^ self.a, high ^ self.b)
    }

    /// The hash of a piece by its long key; another than [`piece`](Self::piece) gives.
    #[inline]
    pub(super) const fn long(self, key: LongKey) -> u64 {
        let [a, b, c, d] = key;
        fold(fold(a ^ self.a, b ^ self.b) ^ c, fold(c ^ self.b, d ^ self.a) ^ d)
    }

    /// The hash of any piece.
    pub(super) fn piece(self, piece: &[u8]) -> u64 {
        if piece.len() <= KEY_LEN {
            return self.short(key(piece));
        }
        let (blocks, tail) = piece.as_chunks::<16>();
        let state = blocks.iter().fold(self.b, |state, block| {
            let [low, high] = words(block);
            fold(low ^ self.a, high ^ state).wrapping_add(state.rotate_left(29))
        });
        let [low, high] = key(tail);
        fold(low ^ self.a, high ^ state) ^ fold(num::widen(piece.len()) ^ self.b, state)
    }

    /// The hash of a piece of 16 bytes or more; another than [`piece`](Self::piece) gives.
    pub(super) fn phrase(self, piece: &[u8]) -> u64 {
        // Two halves that do not wait for one another; the last bytes may be read twice.
        let (mut one, mut other) = (self.b ^ num::widen(piece.len()), self.a);
        let (blocks, _) = piece.as_chunks::<16>();
        let (twos, last) = blocks.as_chunks::<2>();
        for [first, second] in twos {
            let ([a, b], [c, d]) = (words(first), words(second));
            one = fold(a ^ self.a, b ^ one);
            other = fold(c ^ self.b, d ^ other);
        }
        let ([a, b], [c, d]) = (last.first().map_or([0; 2], words), piece.last_chunk().map_or([0; 2], words));
        fold(fold(a ^ self.a, b ^ one) ^ self.b, fold(c ^ self.b, d ^ other))
    }

    /// An odd multiplier for pairs.
    pub(super) const fn multiplier(self) -> u64 {
        self.a | 1
    }
}

/// An open-addressed table of ids, a power of two in size, at most half full.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// Id + 1 in the low bits, part of the hash above; 0 where there is none.
    words: Vec<u32>,
    shift: u32,
    mask: usize,
}

/// Bits of an id in a slot.
const ID_BITS: u32 = 22;
const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// Room for twice `count` items, as a power of two.
pub(super) fn capacity(count: usize) -> usize {
    count.saturating_mul(2).max(16).checked_next_power_of_two().unwrap_or(1 << 30)
}

/// `count` zeros, or `None` where there is no memory for them.
pub(super) fn zeros<T: Clone + Default>(count: usize) -> Option<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).ok()?;
    all.resize(count, T::default());
    Some(all)
}

impl Slots {
    /// A table with room for `count` ids; `None` where there is no memory for it.
    pub(super) fn new(count: usize) -> Option<Self> {
        let size = capacity(count);
        Some(Self {
            words: zeros(size)?,
            shift: size.leading_zeros().saturating_add(1) % usize::BITS,
            mask: size.wrapping_sub(1),
        })
    }

    /// The first place for a hash: its highest bits.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        let high = if usize::BITS == 32 { hash >> 32 } else { hash };
        num::narrow(high).unwrap_or(0) >> self.shift
    }

    /// The part of a hash that a slot keeps, with `id`.
    #[inline]
    const fn pack(hash: u64, id: u32) -> u32 {
        (low(hash) & !ID_MASK) | (id.wrapping_add(1) & ID_MASK)
    }

    /// The id with this hash for which `same` holds, or else the free place.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool, steps: &mut u64) -> Result<u32, usize> {
        let mut place = self.home(hash);
        let print = Self::pack(hash, u32::MAX);
        loop {
            *steps = steps.wrapping_add(1);
            match self.words.get(place) {
                Some(0) | None => return Err(place),
                Some(word) if word & !ID_MASK == print & !ID_MASK => {
                    let id = (word & ID_MASK).wrapping_sub(1);
                    if same(id) {
                        return Ok(id);
                    }
                }
                Some(_) => {}
            }
            place = place.wrapping_add(1) & self.mask;
        }
    }

    /// Puts an id at a place that [`find`](Self::find) found free.
    pub(super) fn put(&mut self, place: usize, hash: u64, id: u32) {
        if let Some(word) = self.words.get_mut(place) {
            *word = Self::pack(hash, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_short_pieces_differ() {
        assert_eq!(key(b"ab"), [0x6261, 2 << 56]);
        assert_ne!(key(b"a"), key(b"a\0"));
        assert_eq!(key(b"0123456789abcde"), [0x3736_3534_3332_3130, 0x0F65_6463_6261_3938]);
    }

    #[test]
    fn the_seed_depends_on_all_texts() {
        let seed = Seed::of(b"one");
        let hashes = [seed, Seed::of(b"onf"), seed.next(b"two"), seed.next(b"twp"), seed.next(b"two").next(b"")];
        for (at, one) in hashes.iter().enumerate() {
            for other in &hashes[at + 1..] {
                assert_ne!(one.piece(b"word"), other.piece(b"word"));
                assert_ne!(
                    one.piece(b"a piece of more than 16 bytes"),
                    other.piece(b"a piece of more than 16 bytes")
                );
            }
        }
    }

    #[test]
    fn a_table_finds_each_and_no_more() {
        let seed = Seed::of(b"x");
        let mut slots = Slots::new(1000).unwrap();
        let mut steps = 0;
        let word = |id: u32| std::format!("{}{id}", "y".repeat(usize::try_from(id % 40).unwrap()));
        for id in 0..1000 {
            let hash = seed.piece(word(id).as_bytes());
            let place = slots.find(hash, |other| word(other) == word(id), &mut steps).unwrap_err();
            slots.put(place, hash, id);
        }
        for id in 0..1500 {
            let found = slots.find(seed.piece(word(id).as_bytes()), |other| word(other) == word(id), &mut steps);
            assert_eq!(found.ok(), (id < 1000).then_some(id));
        }
        assert!(steps < 5000, "{steps}");
    }
}
