//! The tokens of a vocabulary: their bytes by id, and their ids by bytes.

use alloc::vec::Vec;

use super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use super::hash::{SEEDS, Seed, Slots, zeros};
use crate::num;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A byte, or what merges make.
    Normal,
    /// Text with a meaning of its own, which is looked for only where that is asked for.
    Special,
    /// Text that no text is encoded as.
    Inert,
}

/// A token as a file gives it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    end: u32,
    id: u32,
    at: u32,
    role: Role,
}

/// Tokens as they are read.
#[derive(Debug)]
pub(super) struct Builder {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    most: u64,
    source: Source,
}

impl Builder {
    pub(super) const fn new(most: u64, source: Source) -> Self {
        Self { bytes: Vec::new(), entries: Vec::new(), most, source }
    }

    /// Makes room for so many tokens, of so many bytes together, so that nothing is moved as they come. Those that are more than
    /// the most are refused when they do.
    pub(super) fn expect(&mut self, tokens: usize, bytes: usize, at: u64) -> Result<(), TokenizerError> {
        let tokens = num::narrow(self.most).map_or(tokens, |most| tokens.min(most));
        let room = self.bytes.try_reserve_exact(bytes).is_ok() && self.entries.try_reserve_exact(tokens).is_ok();
        if room { Ok(()) } else { Err(TokenizerError::new(Kind::Memory, self.source, at)) }
    }

    /// Makes room for a token of at most `len` bytes, whose offset in the file is `at`.
    pub(super) fn reserve(&mut self, len: usize, at: u64) -> Result<(), TokenizerError> {
        let room = self.bytes.try_reserve(len).is_ok() && self.entries.try_reserve(1).is_ok();
        if room { Ok(()) } else { Err(TokenizerError::new(Kind::Memory, self.source, at)) }
    }

    /// Appends to the token that is being read, for which [`reserve`](Self::reserve) made room.
    #[inline]
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Ends the token that is being read.
    pub(super) fn end(&mut self, id: u64, at: u64, role: Role) -> Result<(), TokenizerError> {
        let refuse = |kind| TokenizerError::new(kind, self.source, at);
        if num::widen(self.entries.len()) >= self.most || id >= self.most {
            return Err(refuse(Kind::TooManyTokens(self.most)));
        }
        let start = self.entries.last().map_or(0, |entry| entry.end);
        let end = num::narrow32(self.bytes.len()).ok_or(refuse(Kind::Memory))?;
        if start == end {
            return Err(refuse(Kind::TokenEmpty));
        }
        let id = u32::try_from(id).map_err(|_| refuse(Kind::TooManyTokens(self.most)))?;
        let at = u32::try_from(at).map_err(|_| refuse(Kind::Memory))?;
        self.entries.push(Entry { start, end, id, at, role });
        Ok(())
    }

    /// The bytes of entry `index` and its id.
    pub(super) fn entry(&self, index: usize) -> Option<(&[u8], u32)> {
        let entry = self.entries.get(index)?;
        Some((self.bytes.get(num::widen32(entry.start)..num::widen32(entry.end))?, entry.id))
    }

    /// All tokens, each id once and none left out; `end` is the length of the file.
    pub(super) fn finish(self, seed: Seed, end: u64) -> Result<Vocab, TokenizerError> {
        let memory = TokenizerError::new(Kind::Memory, self.source, end);
        let count = self.entries.len();
        let mut spans = zeros(count).ok_or(memory)?;
        let mut special = zeros(count.div_ceil(64)).ok_or(memory)?;
        let mut places = zeros(count).ok_or(memory)?;
        for entry in &self.entries {
            // An id behind the last leaves a gap, which is found below.
            let Some(span) = spans.get_mut(num::widen32(entry.id)) else { continue };
            if *span != (0, 0) {
                return Err(TokenizerError::new(Kind::IdTwice, self.source, u64::from(entry.at)));
            }
            *span = (entry.start, entry.end);
            if let Some(place) = places.get_mut(num::widen32(entry.id)) {
                *place = entry.at;
            }
            if entry.role == Role::Special {
                set(&mut special, entry.id);
            }
        }
        if let Some(missing) = spans.iter().position(|span| *span == (0, 0)) {
            let missing = num::narrow32(missing).unwrap_or(u32::MAX);
            return Err(TokenizerError::new(Kind::IdMissing(missing), self.source, end));
        }
        let mut vocab =
            Vocab { bytes: self.bytes, spans, special, places, slots: Slots::default(), listed: Vec::new(), seed };
        for attempt in 0..SEEDS {
            match vocab.index(&self.entries) {
                Ok(()) => return Ok(vocab),
                Err(Stop::Memory) => return Err(memory),
                Err(Stop::Twice(at)) => {
                    return Err(TokenizerError::new(Kind::TokenTwice, self.source, u64::from(at)));
                }
                Err(Stop::Slow) => vocab.seed = vocab.seed.next(&[attempt]),
            }
        }
        Err(TokenizerError::new(Kind::Collisions, self.source, end))
    }
}

/// Why a table was not filled.
enum Stop {
    Memory,
    Twice(u32),
    Slow,
}

/// Whether bit `index` is set.
#[inline]
pub(super) fn has(bits: &[u64], index: u32) -> bool {
    bits.get(num::widen32(index / 64)).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

/// Sets bit `index`.
#[inline]
pub(super) fn set(bits: &mut [u64], index: u32) {
    if let Some(word) = bits.get_mut(num::widen32(index / 64)) {
        *word |= 1 << (index % 64);
    }
}

/// All tokens of a vocabulary; their ids are 0 to [`len`](Self::len) - 1.
#[derive(Clone, Debug)]
pub(super) struct Vocab {
    bytes: Vec<u8>,
    /// Where each token's bytes stand.
    spans: Vec<(u32, u32)>,
    special: Vec<u64>,
    /// Offset of each in its file.
    places: Vec<u32>,
    /// Tokens that are not special, by their bytes.
    slots: Slots,
    /// Which those are.
    listed: Vec<u64>,
    seed: Seed,
}

impl Vocab {
    /// Fills the table, in the file's order.
    fn index(&mut self, entries: &[Entry]) -> Result<(), Stop> {
        let mut slots = Slots::new(entries.len()).ok_or(Stop::Memory)?;
        let mut listed = zeros(entries.len().div_ceil(64)).ok_or(Stop::Memory)?;
        // Half full, a place is found in 2.5 steps on average.
        let most = num::widen(entries.len()).saturating_mul(16).saturating_add(1024);
        let mut steps = 0;
        for entry in entries.iter().filter(|entry| entry.role == Role::Normal) {
            let bytes = self.token(entry.id);
            let hash = self.seed.piece(bytes);
            match slots.find(hash, |other| self.token(other) == bytes, &mut steps) {
                Ok(_) => return Err(Stop::Twice(entry.at)),
                Err(place) => slots.put(place, hash, entry.id),
            }
            set(&mut listed, entry.id);
            if steps > most {
                return Err(Stop::Slow);
            }
        }
        (self.slots, self.listed) = (slots, listed);
        Ok(())
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The bytes of a token, or none where there is no such token (no token is empty).
    #[inline]
    pub(super) fn token(&self, id: u32) -> &[u8] {
        let (start, end) = self.spans.get(num::widen32(id)).copied().unwrap_or_default();
        self.bytes.get(num::widen32(start)..num::widen32(end)).unwrap_or_default()
    }

    /// Offset of a token in its file.
    pub(super) fn place(&self, id: u32) -> u64 {
        self.places.get(num::widen32(id)).copied().map_or(0, u64::from)
    }

    /// Whether a token can be found by its bytes.
    pub(super) fn is_listed(&self, id: u32) -> bool {
        has(&self.listed, id)
    }

    pub(super) fn is_special(&self, id: u32) -> bool {
        has(&self.special, id)
    }

    pub(super) fn make_special(&mut self, id: u32) {
        set(&mut self.special, id);
    }

    /// The token of these bytes among those that are not special.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8], hash: u64) -> Option<u32> {
        self.slots.find(hash, |id| self.token(id) == bytes, &mut 0).ok()
    }

    /// The same without a hash at hand.
    pub(super) fn id_of(&self, bytes: &[u8]) -> Option<u32> {
        self.find(bytes, self.seed.piece(bytes))
    }

    /// The same, where `guess` often is the one: no two tokens that can be found have the same bytes.
    pub(super) fn id_near(&self, bytes: &[u8], guess: u32) -> Option<u32> {
        if self.token(guess) == bytes && self.is_listed(guess) { Some(guess) } else { self.id_of(bytes) }
    }

    pub(super) const fn seed(&self) -> Seed {
        self.seed
    }
}
