//! Merging: always the pair of the lowest rank, the leftmost of equals, until there is none left.
//!
//! Short pieces are done in arrays on the stack. For long ones a search for the lowest rank in each step would be
//! quadratic. There, pairs wait in a queue for each rank; in a vocabulary in which merges only join what lower ranks made
//! (as training makes them) the ranks come in ascending order, so each is visited once and everything is linear but the
//! sorting of equal pairs. Other vocabularies take a heap.

use alloc::collections::{BinaryHeap, TryReserveError};
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::model::{Model, NONE};
use crate::num;

/// The longest piece that is merged on the stack: one bit a byte.
const SHORT: usize = 64;
const PLACE_BITS: u32 = 6;
const NO_PAIR: u32 = u32::MAX;

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
        let least = pairs.iter().fold(NO_PAIR, |least, pair| least.min(*pair));
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

/// A place that waits in the queue of its rank, and who waits behind it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: u32,
    next: u32,
}

/// The queue of a rank.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    /// Whether places came in another order than from left to right.
    mixed: bool,
}

impl Default for Queue {
    fn default() -> Self {
        Self { first: NONE, last: NONE, mixed: false }
    }
}

/// What merging long pieces needs, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    symbols: Vec<Symbol>,
    waiting: Vec<Waiting>,
    queues: Vec<Queue>,
    /// A bit for each rank whose queue is not empty, and one for each word of those that is not zero.
    ranks: Vec<u64>,
    words: Vec<u64>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    sorted: Vec<u32>,
}

/// What is kept of the memory for a long piece, in symbols.
const KEPT: usize = 1 << 16;

impl Scratch {
    /// Appends the tokens of a piece.
    pub(super) fn merge(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        match piece.len() {
            0..=16 => short::<16>(model, piece, |id| out.push(id)),
            17..=32 => short::<32>(model, piece, |id| out.push(id)),
            33..=SHORT => short::<SHORT>(model, piece, |id| out.push(id)),
            _ => self.long(model, piece, out)?,
        }
        Ok(())
    }

    #[cold]
    fn long(&mut self, model: &Model, piece: &[u8], out: &mut Vec<u32>) -> Result<(), TryReserveError> {
        self.begin(model, piece)?;
        if model.is_ordered() {
            self.by_rank(model)?;
        } else {
            self.by_heap(model)?;
        }
        let mut place = 0;
        while let Some(symbol) = self.symbols.get(num::widen32(place)) {
            out.push(symbol.id);
            place = symbol.next;
        }
        if self.symbols.len() > KEPT {
            (self.symbols, self.waiting, self.heap) = (Vec::new(), Vec::new(), BinaryHeap::new());
            self.sorted = Vec::new();
        }
        Ok(())
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

    /// Puts a place into the queue of its rank.
    #[inline]
    fn wait(&mut self, place: u32, rank: u32) {
        let Some(queue) = self.queues.get_mut(num::widen32(rank)) else { return };
        let new = num::narrow32(self.waiting.len()).unwrap_or(NONE);
        self.waiting.push(Waiting { place, next: NONE });
        if let Some(last) = self.waiting.get_mut(num::widen32(queue.last)).filter(|_| queue.first != NONE) {
            last.next = new;
            queue.mixed |= last.place > place;
            queue.last = new;
            return;
        }
        *queue = Queue { first: new, last: new, mixed: false };
        let word = rank / 64;
        super::vocab::set(&mut self.ranks, rank);
        super::vocab::set(&mut self.words, word);
    }

    /// The lowest rank whose queue is not empty; its bit is taken.
    fn lowest(&mut self) -> Option<u32> {
        let (at, bits) = self.words.iter_mut().enumerate().find(|(_, bits)| **bits != 0)?;
        let word = num::narrow32(at)?.checked_mul(64)?.checked_add(bits.trailing_zeros())?;
        let ranks = self.ranks.get_mut(num::widen32(word))?;
        let rank = word.checked_mul(64)?.checked_add(ranks.trailing_zeros())?;
        *ranks &= ranks.wrapping_sub(1);
        if *ranks == 0 {
            *bits &= bits.wrapping_sub(1);
        }
        Some(rank)
    }

    fn by_rank(&mut self, model: &Model) -> Result<(), TryReserveError> {
        let ranks = model.products.len();
        self.waiting.clear();
        self.waiting.try_reserve(self.symbols.len().saturating_mul(3))?;
        if self.queues.len() != ranks {
            (self.queues, self.ranks, self.words) = (Vec::new(), Vec::new(), Vec::new());
            self.queues.try_reserve_exact(ranks)?;
            self.ranks.try_reserve_exact(ranks.div_ceil(64))?;
            self.words.try_reserve_exact(ranks.div_ceil(64 * 64))?;
            self.queues.resize(ranks, Queue::default());
            self.ranks.resize(ranks.div_ceil(64), 0);
            self.words.resize(ranks.div_ceil(64 * 64), 0);
        }
        for place in 0..num::narrow32(self.symbols.len()).unwrap_or(NONE) {
            let rank = self.symbol(place).rank;
            if rank != NONE {
                self.wait(place, rank);
            }
        }
        while let Some(rank) = self.lowest() {
            let queue = self.queues.get_mut(num::widen32(rank)).map(core::mem::take).unwrap_or_default();
            if queue.mixed {
                self.sort(queue.first)?;
            }
            let mut waiting = queue.first;
            while let Some(Waiting { place, next }) = self.waiting.get(num::widen32(waiting)).copied() {
                for (place, rank) in self.join(model, place, rank).into_iter().flatten() {
                    if rank != NONE {
                        self.wait(place, rank);
                    }
                }
                waiting = next;
            }
        }
        Ok(())
    }

    /// Sorts the places of a queue from left to right.
    fn sort(&mut self, first: u32) -> Result<(), TryReserveError> {
        self.sorted.clear();
        let mut waiting = first;
        while let Some(Waiting { place, next }) = self.waiting.get(num::widen32(waiting)).copied() {
            self.sorted.try_reserve(1)?;
            self.sorted.push(place);
            waiting = next;
        }
        self.sorted.sort_unstable();
        let mut waiting = first;
        for place in &self.sorted {
            let Some(slot) = self.waiting.get_mut(num::widen32(waiting)) else { break };
            slot.place = *place;
            waiting = slot.next;
        }
        Ok(())
    }
}
