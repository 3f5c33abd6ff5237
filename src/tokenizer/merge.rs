//! Merging: always the pair of the lowest rank, the leftmost of equals, until there is none left.
//!
//! Short pieces are done in arrays on the stack. For long ones a search for the lowest rank in each step would be
//! quadratic. In a vocabulary in which merges only join what lower ranks made, as training makes them, a row of tokens is
//! right if each two neighbours are; so long pieces are done in short stretches, and the borders proved. Where that fails,
//! and for other vocabularies, pairs wait in a heap.

use alloc::collections::{BinaryHeap, TryReserveError};
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::cache::{Cache, Place};
use super::derive::Made;
use super::model::{Model, NONE};
use crate::num;

/// The longest piece that is merged on the stack: one bit a byte.
const SHORT: usize = 64;
const PLACE_BITS: u32 = 6;
/// Above all ranks, and as a signed number too, which is how the least is found fastest where vectors have no other order.
const NO_PAIR: u32 = i32::MAX.cast_unsigned();

/// Rank and place of a pair in one number, so that the least is the leftmost of the lowest rank.
#[inline]
fn pack(rank: u32, place: u32) -> u32 {
    if rank == NONE { NO_PAIR } else { rank << PLACE_BITS | place }
}

/// The places in front of `place` and behind it that are not merged away.
#[inline]
fn neighbours(alive: u64, place: u32) -> (Option<u32>, Option<u32>) {
    let before = alive & (1_u64 << place).wrapping_sub(1);
    let after = alive & (u64::MAX << place) & !(1_u64 << place);
    let before = (before != 0).then(|| 63_u32.wrapping_sub(before.leading_zeros()));
    let after = (after != 0).then(|| after.trailing_zeros());
    (before, after)
}

/// Merges a piece of at most `N` bytes, and gives its tokens to `out`.
#[inline]
fn short<const N: usize>(model: &Model, piece: &[u8], mut out: impl FnMut(u32)) {
    if piece.is_empty() {
        return;
    }
    let mut symbols = [0_u32; N];
    let mut pairs = [NO_PAIR; N];
    for (symbol, byte) in symbols.iter_mut().zip(piece) {
        *symbol = model.bytes.get(usize::from(*byte)).copied().unwrap_or(0);
    }
    let bytes = piece.iter().zip(piece.iter().skip(1));
    for ((pair, (left, right)), place) in pairs.iter_mut().zip(bytes).zip(0..) {
        *pair = pack(model.byte_rank(*left, *right), place);
    }
    let mut alive = u64::MAX >> (64_usize.saturating_sub(piece.len()) & 63);
    loop {
        let least = pairs.iter().fold(i32::MAX, |least, pair| least.min(pair.cast_signed())).cast_unsigned();
        if least == NO_PAIR {
            break;
        }
        let place = least & ((1 << PLACE_BITS) - 1);
        let product = model.product(least >> PLACE_BITS);
        let (before, Some(gone)) = neighbours(alive, place) else { break };
        alive &= !(1_u64 << gone);
        put(&mut pairs, gone, NO_PAIR);
        put(&mut symbols, place, product);
        let next = neighbours(alive, place).1;
        let rank = next.map_or(NONE, |next| model.pairs.rank(product, at(&symbols, next)));
        put(&mut pairs, place, pack(rank, place));
        if let Some(before) = before {
            put(&mut pairs, before, pack(model.pairs.rank(at(&symbols, before), product), before));
        }
    }
    while alive != 0 {
        out(at(&symbols, alive.trailing_zeros()));
        alive &= alive.wrapping_sub(1);
    }
}

#[inline]
fn at(all: &[u32], place: u32) -> u32 {
    all.get(num::widen32(place)).copied().unwrap_or(NONE)
}

#[inline]
fn put(all: &mut [u32], place: u32, value: u32) {
    if let Some(old) = all.get_mut(num::widen32(place)) {
        *old = value;
    }
}

/// A symbol of a long piece.
#[derive(Clone, Copy, Debug, Default)]
struct Symbol {
    id: u32,
    /// Rank of the pair that it makes with the next.
    rank: u32,
    before: u32,
    next: u32,
}

/// What merging long pieces needs, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    symbols: Vec<Symbol>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    /// The tokens of the last stretch.
    stretch: Vec<u32>,
}

/// What is kept of the memory for a long piece, in symbols.
const KEPT: usize = 1 << 16;

/// How many bytes of a stretch of 64 are believed, and how often in a row some may be taken back.
const BELIEVED: usize = 48;
const TRIES: u32 = 3;

impl Scratch {
    /// Appends the tokens of a piece.
    pub(super) fn merge(
        &mut self,
        model: &Model,
        cache: &mut Cache,
        piece: &[u8],
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        match piece.len() {
            0..=16 => short::<16>(model, piece, |id| out.push(id)),
            17..=32 => short::<32>(model, piece, |id| out.push(id)),
            33..=SHORT => short::<SHORT>(model, piece, |id| out.push(id)),
            _ => self.long(model, cache, piece, out)?,
        }
        Ok(())
    }

    /// A piece of any length: stretch by stretch where that can be proved right, else all at once.
    #[cold]
    fn long(
        &mut self,
        model: &Model,
        cache: &mut Cache,
        piece: &[u8],
        out: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        let before = out.len();
        if let Some(made) = model.made() {
            if self.by_stretches(model, (made, cache), piece, out)? {
                return Ok(());
            }
            out.truncate(before);
        }
        self.begin(model, piece)?;
        self.by_heap(model)?;
        let mut place = 0;
        while let Some(symbol) = self.symbols.get(num::widen32(place)) {
            out.push(symbol.id);
            place = symbol.next;
        }
        if self.symbols.len() > KEPT {
            (self.symbols, self.heap) = (Vec::new(), BinaryHeap::new());
        }
        Ok(())
    }

    /// Encodes 64 bytes at a time. What comes out near the end of a stretch may be wrong and is left to the next, which
    /// begins where the last token that is believed ends. Whether the two fit is proved by the tokens at the border; where
    /// they do not, some are taken back. False where even that does not help; then `out` holds something wrong.
    fn by_stretches(
        &mut self,
        model: &Model,
        (made, cache): (&Made, &mut Cache),
        piece: &[u8],
        out: &mut Vec<u32>,
    ) -> Result<bool, TryReserveError> {
        let (first, mut done, mut farthest, mut tries) = (out.len(), 0_usize, 0_usize, 0_u32);
        let mut last: &[u8] = &[];
        while let Some(rest) = piece.get(done..).filter(|rest| !rest.is_empty()) {
            let stretch = rest.get(..SHORT).unwrap_or(rest);
            // In a run of one symbol every stretch is the same.
            if stretch != last {
                self.stretch.clear();
                self.stretch.try_reserve(SHORT)?;
                self.fill_stretch(model, cache, stretch);
                last = stretch;
            }
            let ids = out.get(first..).unwrap_or_default();
            let fits = match (ids.last(), self.stretch.first()) {
                (Some(left), Some(right)) => made.are_neighbours(&model.pairs, *left, *right),
                _ => true,
            };
            if !fits {
                tries = tries.saturating_add(1);
                if tries > TRIES {
                    return Ok(false);
                }
                let (mut back, wanted) = (0_usize, (BELIEVED / 8) << tries);
                while out.len() > first && back < wanted {
                    back = back.saturating_add(out.pop().map_or(0, |id| model.vocab.token(id).len()));
                }
                done = done.saturating_sub(back);
                continue;
            }
            let mut len = 0_usize;
            for id in &self.stretch {
                let token = model.vocab.token(*id).len();
                if len > 0 && len.saturating_add(token) > BELIEVED && stretch.len() < rest.len() {
                    break;
                }
                len = len.saturating_add(token);
                out.push(*id);
            }
            done = done.saturating_add(len);
            // Only what was never reached before counts, so that this ends.
            if done > farthest {
                (farthest, tries) = (done, 0);
            }
        }
        Ok(true)
    }

    /// The tokens of a stretch, which may have been met before.
    fn fill_stretch(&mut self, model: &Model, cache: &mut Cache, stretch: &[u8]) {
        let merge = |ids: &mut Vec<u32>| short::<SHORT>(model, stretch, |id| ids.push(id));
        if model.ignores_merges() {
            return merge(&mut self.stretch);
        }
        let place = Place::of(model.vocab.seed(), stretch);
        if !cache.give(place, stretch, &mut self.stretch) {
            merge(&mut self.stretch);
            cache.put(place, stretch, &self.stretch);
        }
    }

    /// One symbol a byte.
    fn begin(&mut self, model: &Model, piece: &[u8]) -> Result<(), TryReserveError> {
        self.symbols.clear();
        self.symbols.try_reserve(piece.len())?;
        let nexts = piece.iter().skip(1).map(Some).chain([None]);
        for ((byte, next), place) in piece.iter().zip(nexts).zip(0_u32..) {
            self.symbols.push(Symbol {
                id: model.bytes.get(usize::from(*byte)).copied().unwrap_or(0),
                rank: next.map_or(NONE, |next| model.byte_rank(*byte, *next)),
                before: place.wrapping_sub(1),
                next: if next.is_some() { place.wrapping_add(1) } else { NONE },
            });
        }
        Ok(())
    }

    fn symbol(&self, place: u32) -> Symbol {
        let none = Symbol { id: NONE, rank: NONE, before: NONE, next: NONE };
        self.symbols.get(num::widen32(place)).copied().unwrap_or(none)
    }

    fn set(&mut self, place: u32, symbol: Symbol) {
        if let Some(old) = self.symbols.get_mut(num::widen32(place)) {
            *old = symbol;
        }
    }

    /// Merges the symbol at `place` with the next, if their pair still has this rank. The answer is the two places whose
    /// pairs are new, with their ranks.
    #[inline]
    fn join(&mut self, model: &Model, place: u32, rank: u32) -> Option<[(u32, u32); 2]> {
        let mut joined = self.symbol(place);
        if joined.rank != rank || rank == NONE {
            return None;
        }
        let gone = self.symbol(joined.next);
        self.set(joined.next, Symbol { rank: NONE, ..gone });
        joined.id = model.product(rank);
        joined.next = gone.next;
        let mut next = self.symbol(gone.next);
        joined.rank = NONE;
        if next.id != NONE {
            joined.rank = model.pairs.rank(joined.id, next.id);
            next.before = place;
            self.set(gone.next, next);
        }
        self.set(place, joined);
        let mut before = self.symbol(joined.before);
        if before.id != NONE {
            before.rank = model.pairs.rank(before.id, joined.id);
            self.set(joined.before, before);
        }
        Some([(joined.before, before.rank), (place, joined.rank)])
    }

    fn by_heap(&mut self, model: &Model) -> Result<(), TryReserveError> {
        self.heap.clear();
        // Each merge takes one from the heap and brings in two at most.
        self.heap.try_reserve(self.symbols.len().saturating_mul(2))?;
        let pairs = self.symbols.iter().zip(0_u32..).filter(|(symbol, _)| symbol.rank != NONE);
        self.heap.extend(pairs.map(|(symbol, place)| Reverse((symbol.rank, place))));
        while let Some(Reverse((rank, place))) = self.heap.pop() {
            for (place, rank) in self.join(model, place, rank).into_iter().flatten() {
                if rank != NONE {
                    self.heap.push(Reverse((rank, place)));
                }
            }
        }
        Ok(())
    }
}
