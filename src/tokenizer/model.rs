//! What merges make of bytes: pairs and their ranks, which tokens a text can give, where no token can go across.

use alloc::vec::Vec;

use super::derive::{self, Made};
use super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use super::hash::{SEEDS, Seed, capacity, zeros};
use super::vocab::{Vocab, has, set};
use crate::num;

/// A rank that no merge has.
pub(super) const NONE: u32 = u32::MAX;

/// Two symbols and what they become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Merge {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) product: u32,
}

/// The ranks of pairs, in a flat table: 21 bits each of the left id, the right id and the rank, and a bit that says that
/// there is something.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    words: Vec<u64>,
    /// One bit for each value of a few more bits of the hash than the place has: most pairs make nothing, which these
    /// 64 KiB tell of, while the table is too large for the machine's second cache.
    filter: Vec<u64>,
    multiplier: u64,
    shift: u32,
    mask: usize,
}

const ID_BITS: u32 = 21;
/// The table has this many bits of the filter to a place, as a power of two.
const FILTER_BITS: u32 = 2;
const RANK_MASK: u64 = (1 << ID_BITS) - 1;

enum Stop {
    Memory,
    Twice(usize),
    Slow,
}

impl Pairs {
    fn new(merges: &[Merge], seed: Seed) -> Result<Self, Stop> {
        let size = capacity(merges.len());
        let words = zeros(size).ok_or(Stop::Memory)?;
        let shift = size.leading_zeros().saturating_add(1).saturating_add(64_u32.saturating_sub(usize::BITS));
        let filter = zeros(size.div_ceil(64 >> FILTER_BITS)).ok_or(Stop::Memory)?;
        let mut pairs = Self { words, filter, multiplier: seed.multiplier(), shift, mask: size.wrapping_sub(1) };
        let most = num::widen(merges.len()).saturating_mul(16).saturating_add(1024);
        let mut steps = 0_u64;
        for (rank, merge) in merges.iter().enumerate() {
            let key = Self::key(merge.left, merge.right);
            let mut place = pairs.home(key);
            while let Some(word) = pairs.words.get(place).copied().filter(|word| *word != 0) {
                if word >> ID_BITS == key {
                    return Err(Stop::Twice(rank));
                }
                place = place.wrapping_add(1) & pairs.mask;
                steps = steps.wrapping_add(1);
            }
            if steps > most {
                return Err(Stop::Slow);
            }
            if let Some(word) = pairs.words.get_mut(place) {
                *word = key << ID_BITS | num::widen(rank);
            }
            let (place, bit) = pairs.filter_bit(key);
            if let Some(word) = pairs.filter.get_mut(place) {
                *word |= bit;
            }
        }
        Ok(pairs)
    }

    #[inline]
    fn key(left: u32, right: u32) -> u64 {
        1 << 42 | u64::from(left) << ID_BITS | u64::from(right)
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        num::narrow(key.wrapping_mul(self.multiplier) >> self.shift).unwrap_or(0)
    }

    /// The word of the filter for a pair, and the bit there.
    #[inline]
    fn filter_bit(&self, key: u64) -> (usize, u64) {
        let hash = key.wrapping_mul(self.multiplier) >> self.shift.saturating_sub(FILTER_BITS);
        (num::narrow(hash >> 6).unwrap_or(0), 1 << (hash & 63))
    }

    /// The rank of a pair, or [`NONE`].
    #[inline]
    pub(super) fn rank(&self, left: u32, right: u32) -> u32 {
        let key = Self::key(left, right);
        let (place, bit) = self.filter_bit(key);
        if self.filter.get(place).is_none_or(|word| word & bit == 0) {
            return NONE;
        }
        let mut place = self.home(key);
        loop {
            let word = self.words.get(place).copied().unwrap_or(0);
            if word >> ID_BITS == key {
                return u32::try_from(word & RANK_MASK).unwrap_or(NONE);
            }
            if word == 0 {
                return NONE;
            }
            place = place.wrapping_add(1) & self.mask;
        }
    }
}

/// All that encoding needs.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) vocab: Vocab,
    pub(super) pairs: Pairs,
    /// What each merge makes, by rank.
    pub(super) products: Vec<u32>,
    /// What the first merge makes, where the others make the ids that follow, as in trained vocabularies.
    first_product: Option<u32>,
    /// The ids of the 256 bytes.
    pub(super) bytes: [u32; 256],
    /// The ranks of pairs of bytes: 256 for each first byte.
    byte_ranks: Vec<u32>,
    /// Whether two bytes stand side by side in what a merge makes: 256 bits for each first byte.
    joined: Vec<u64>,
    /// The tokens that are given whole where a piece is exactly theirs.
    whole: Vec<u64>,
    /// How tokens come about, where every merge joins what merges of lower rank made.
    made: Option<Made>,
    ignore_merges: bool,
    longest: usize,
}

impl Model {
    /// The model of a vocabulary and its merges, by rank. `text` is what they were read from; `twice` gives the error for
    /// a merge that stood there before. With `ignore_merges` a piece that is a token is that token whatever the merges say.
    pub(super) fn new(
        vocab: Vocab,
        merges: &[Merge],
        (source, text): (Source, &[u8]),
        ignore_merges: bool,
        twice: impl Fn(usize) -> TokenizerError,
    ) -> Result<Self, TokenizerError> {
        let memory = TokenizerError::new(Kind::Memory, source, 0);
        let mut bytes = [0; 256];
        for (byte, id) in (0..=255_u8).zip(&mut bytes) {
            let missing = TokenizerError::new(Kind::ByteMissing(byte), source, 0);
            *id = vocab.id_of(&[byte]).ok_or(missing)?;
        }
        let mut products = Vec::new();
        products.try_reserve_exact(merges.len()).map_err(|_| memory)?;
        products.extend(merges.iter().map(|merge| merge.product));
        let first_product =
            products.first().copied().filter(|first| (*first..).zip(&products).all(|(id, product)| id == *product));
        let pairs = Self::pairs(merges, vocab.seed().next(text), source, twice)?;
        let byte_ranks = zeros(1 << 16).ok_or(memory)?;
        let joined = zeros(1 << 10).ok_or(memory)?;
        let whole = zeros(vocab.len().div_ceil(64)).ok_or(memory)?;
        let mut model = Self {
            vocab,
            pairs,
            products,
            first_product,
            bytes,
            byte_ranks,
            joined,
            whole,
            made: None,
            ignore_merges,
            longest: 0,
        };
        model.fill_bytes(merges);
        (model.whole, model.made) = derive::whole(&model, merges).ok_or(memory)?;
        if ignore_merges {
            let all = 0..num::narrow32(model.vocab.len()).unwrap_or(0);
            for id in all.filter(|id| !model.vocab.is_special(*id)) {
                set(&mut model.whole, id);
            }
        }
        model.longest = (0..num::narrow32(model.vocab.len()).unwrap_or(0))
            .map(|id| model.vocab.token(id).len())
            .max()
            .unwrap_or(0);
        Ok(model)
    }

    fn pairs(
        merges: &[Merge],
        mut seed: Seed,
        source: Source,
        twice: impl Fn(usize) -> TokenizerError,
    ) -> Result<Pairs, TokenizerError> {
        for attempt in 0..SEEDS {
            match Pairs::new(merges, seed) {
                Ok(pairs) => return Ok(pairs),
                Err(Stop::Memory) => return Err(TokenizerError::new(Kind::Memory, source, 0)),
                Err(Stop::Twice(rank)) => return Err(twice(rank)),
                Err(Stop::Slow) => seed = seed.next(&[attempt]),
            }
        }
        Err(TokenizerError::new(Kind::Collisions, source, 0))
    }

    fn fill_bytes(&mut self, merges: &[Merge]) {
        self.byte_ranks.fill(NONE);
        for (merge, rank) in merges.iter().zip(0_u32..) {
            let token = self.vocab.token(merge.product);
            for pair in token.array_windows_of_two() {
                set(&mut self.joined, pair);
            }
            // No two tokens that merges are made of have the same bytes: these are those of the two bytes.
            if let [left, right] = token
                && let Some(place) = self.byte_ranks.get_mut(usize::from(u16::from_be_bytes([*left, *right])))
            {
                *place = rank;
            }
        }
    }

    /// The token of a byte.
    #[inline]
    pub(super) fn byte(&self, byte: u8) -> u32 {
        self.bytes.get(usize::from(byte)).copied().unwrap_or(0)
    }

    /// The rank of two bytes, or [`NONE`].
    #[inline]
    pub(super) fn byte_rank(&self, left: u8, right: u8) -> u32 {
        let place = usize::from(u16::from_be_bytes([left, right]));
        self.byte_ranks.get(place).copied().unwrap_or(NONE)
    }

    /// Whether a token may go across from one byte to the next.
    #[inline]
    pub(super) fn may_join(&self, left: u8, right: u8) -> bool {
        has(&self.joined, u32::from(u16::from_be_bytes([left, right])))
    }

    /// Whether a piece that is exactly this token is given as it.
    #[inline]
    pub(super) fn is_whole(&self, id: u32) -> bool {
        has(&self.whole, id)
    }

    /// The token that a piece is given as without looking at merges.
    #[inline]
    pub(super) fn whole(&self, piece: &[u8], hash: u64) -> Option<u32> {
        self.vocab.find(piece, hash).filter(|id| self.is_whole(*id))
    }

    /// Whether a piece that is a token is that token whatever the merges say.
    pub(super) const fn ignores_merges(&self) -> bool {
        self.ignore_merges
    }

    /// Bytes of the longest token.
    pub(super) const fn longest(&self) -> usize {
        self.longest
    }

    /// How tokens come about, where every merge joins what merges of lower rank made.
    pub(super) const fn made(&self) -> Option<&Made> {
        self.made.as_ref()
    }

    /// What a merge makes.
    #[inline]
    pub(super) fn product(&self, rank: u32) -> u32 {
        match self.first_product {
            Some(first) => first.wrapping_add(rank),
            None => self.products.get(num::widen32(rank)).copied().unwrap_or(0),
        }
    }
}

/// Each two bytes that stand side by side, as one number.
trait Neighbours {
    fn array_windows_of_two(&self) -> impl Iterator<Item = u32>;
}

impl Neighbours for [u8] {
    fn array_windows_of_two(&self) -> impl Iterator<Item = u32> {
        let next = self.iter().skip(1);
        self.iter().zip(next).map(|(left, right)| u32::from(u16::from_be_bytes([*left, *right])))
    }
}
