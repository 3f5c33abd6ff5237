//! Keys and values of the positions that were seen.
//!
//! For each layer and head the keys of all positions lie one after the other, and so do the values: what attention reads
//! for a head is two runs of memory. A cache that is forked keeps what it has in common with its twin in segments that
//! both own and nobody changes any more.

use std::sync::Arc;

use super::config::Config;
use super::problem::Problem;
use super::room::Room;
use crate::num;
use crate::simd::WeightType;

/// In what numbers keys and values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CacheType {
    /// 32-bit floats: as exact as the rest.
    #[default]
    F32,
    /// 16-bit floats: half the memory, and half the reading at each token; logits differ in about the third digit after
    /// the point.
    F16,
}

impl CacheType {
    /// Bytes of a number.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }

    /// The kernels' name for it.
    pub(super) const fn kind(self) -> WeightType {
        match self {
            Self::F32 => WeightType::F32,
            Self::F16 => WeightType::F16,
        }
    }
}

/// The dimensions that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dims {
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) head_dim: usize,
    pub(super) kind: CacheType,
}

impl Dims {
    pub(super) const fn new(config: &Config, kind: CacheType) -> Self {
        Self { layers: config.n_layer(), heads: config.n_head(), head_dim: config.head_dim(), kind }
    }

    /// Bytes of one position in one head, keys or values.
    pub(super) const fn entry(&self) -> usize {
        self.head_dim.saturating_mul(self.kind.size())
    }

    /// Bytes of `positions` positions in one head, which follow one another: a head's run.
    const fn run(&self, positions: usize) -> usize {
        positions.saturating_mul(self.entry())
    }

    /// Bytes of `positions` positions in all layers, keys and values; `u64::MAX` where they cannot be counted.
    pub(super) fn bytes(&self, positions: usize) -> u64 {
        let factors = [2, self.layers, self.heads, positions, self.head_dim, self.kind.size()].map(num::widen);
        num::product(factors).unwrap_or(u64::MAX)
    }
}

/// Room for some positions.
#[derive(Debug)]
struct Segment {
    capacity: usize,
    keys: Room,
    values: Room,
}

impl Segment {
    /// Room for `capacity` positions, all zero, of which the system gives the pages as they are written to. `None` where
    /// there is no memory.
    fn new(dims: &Dims, capacity: usize) -> Option<Self> {
        let half = num::narrow(dims.bytes(capacity) / 2)?;
        let run = dims.run(capacity);
        Some(Self { capacity, keys: Room::zeroed(half, run)?, values: Room::zeroed(half, run)? })
    }

    /// The first `used` keys and values of a head.
    fn head(&self, dims: &Dims, layer: usize, head: usize, used: usize) -> (&[u8], &[u8]) {
        let run = dims.run(self.capacity);
        let start = layer.saturating_mul(dims.heads).saturating_add(head).saturating_mul(run);
        let len = used.min(self.capacity).saturating_mul(dims.entry());
        let cut = |bytes: &'_ [u8]| -> (usize, usize) {
            let from = start.min(bytes.len());
            (from, from.saturating_add(len).min(bytes.len()))
        };
        let (from, to) = cut(&self.keys);
        (self.keys.get(from..to).unwrap_or_default(), self.values.get(from..to).unwrap_or_default())
    }
}

/// The keys and values of one sequence.
#[derive(Debug)]
pub(super) struct Cache {
    dims: Dims,
    /// What is shared and done, with how many positions of each are ours.
    shared: Vec<(Arc<Segment>, usize)>,
    /// How many positions are in `shared`.
    before: usize,
    tail: Segment,
    /// How many positions are in the tail.
    used: usize,
}

impl Cache {
    /// A cache for `capacity` positions.
    pub(super) fn new(dims: Dims, capacity: usize, limit: u64) -> Result<Self, Problem> {
        let tail = Self::segment(&dims, capacity, limit)?;
        Ok(Self { dims, shared: Vec::new(), before: 0, tail, used: 0 })
    }

    fn segment(dims: &Dims, capacity: usize, limit: u64) -> Result<Segment, Problem> {
        let needed = dims.bytes(capacity);
        let refused = Problem::Memory { what: "the context", needed, limit };
        if needed > limit {
            return Err(refused);
        }
        Segment::new(dims, capacity).ok_or(refused)
    }

    pub(super) const fn dims(&self) -> &Dims {
        &self.dims
    }

    /// How many positions there are.
    pub(super) const fn len(&self) -> usize {
        self.before.saturating_add(self.used)
    }

    /// For how many there is room.
    pub(super) const fn capacity(&self) -> usize {
        self.before.saturating_add(self.tail.capacity)
    }

    /// Bytes that were asked for, those that are shared among them.
    pub(super) fn bytes(&self) -> u64 {
        let shared = self.shared.iter().map(|(segment, _)| self.dims.bytes(segment.capacity));
        shared.fold(self.dims.bytes(self.tail.capacity), u64::saturating_add)
    }

    /// Another cache with the same positions, which from now on are kept once for both.
    pub(super) fn fork(&mut self, limit: u64) -> Result<Self, Problem> {
        let room = self.tail.capacity.saturating_sub(self.used);
        let (own, tail) = (Self::segment(&self.dims, room, limit)?, Self::segment(&self.dims, room, limit)?);
        if self.used > 0 {
            let done = std::mem::replace(&mut self.tail, own);
            self.shared.push((Arc::new(done), self.used));
            self.before = self.before.saturating_add(self.used);
            self.used = 0;
        }
        Ok(Self { dims: self.dims, shared: self.shared.clone(), before: self.before, tail, used: 0 })
    }

    /// Forgets all positions from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        if len >= self.before {
            self.used = self.used.min(len.saturating_sub(self.before));
            return;
        }
        self.used = 0;
        while self.before > len {
            let Some((segment, used)) = self.shared.pop() else { break };
            let start = self.before.saturating_sub(used);
            let kept = len.saturating_sub(start);
            self.before = start;
            if kept > 0 {
                self.shared.push((segment, kept));
                self.before = start.saturating_add(kept);
                break;
            }
        }
    }

    /// Takes in `count` positions, which were written to the runs of [`layer_mut`](Self::layer_mut).
    pub(super) fn advance(&mut self, count: usize) {
        self.used = self.used.saturating_add(count).min(self.tail.capacity);
    }

    /// The keys and the values of a layer's own runs, one a head, each of [`run`](Self::run) bytes, to be written from
    /// [`used`](Self::used) on; and what came before.
    pub(super) fn layer_mut(&mut self, layer: usize) -> (&mut [u8], &mut [u8], Shared<'_>) {
        let size = self.dims.run(self.tail.capacity).saturating_mul(self.dims.heads);
        let from = layer.saturating_mul(size);
        let to = from.saturating_add(size);
        let keys = self.tail.keys.get_mut(from..to).unwrap_or_default();
        let values = self.tail.values.get_mut(from..to).unwrap_or_default();
        (keys, values, Shared { dims: &self.dims, segments: &self.shared, layer })
    }

    /// Bytes of a head's own run.
    pub(super) const fn run(&self) -> usize {
        self.dims.run(self.tail.capacity)
    }

    /// Positions in the own runs.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// Keys and values of one head in one layer as runs of memory, in the order of the positions.
    pub(super) fn runs(&self, layer: usize, head: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
        let shared = Shared { dims: &self.dims, segments: &self.shared, layer };
        shared.head(head).chain([self.tail.head(&self.dims, layer, head, self.used)])
    }

    /// The bytes of one head's own run from position `at` on, to be filled when a cache is restored.
    pub(super) fn own_mut(&mut self, layer: usize, head: usize) -> (&mut [u8], &mut [u8]) {
        let run = self.run();
        let (keys, values, _) = self.layer_mut(layer);
        let from = head.saturating_mul(run);
        let to = from.saturating_add(run);
        (keys.get_mut(from..to).unwrap_or_default(), values.get_mut(from..to).unwrap_or_default())
    }
}

/// The segments of a layer that came before its own runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'a> {
    dims: &'a Dims,
    segments: &'a [(Arc<Segment>, usize)],
    layer: usize,
}

impl<'a> Shared<'a> {
    /// Keys and values of one head, in the order of the positions.
    pub(super) fn head(self, head: usize) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.segments.iter().map(move |(segment, used)| segment.head(self.dims, self.layer, head, *used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMS: Dims = Dims { layers: 2, heads: 3, head_dim: 4, kind: CacheType::F16 };

    /// Writes one position whose bytes say which it is, in which layer and head.
    fn push(cache: &mut Cache, mark: u8) {
        for layer in 0..2_u8 {
            for head in 0..3_u8 {
                let (entry, at) = (cache.dims().entry(), cache.used());
                let (keys, values) = cache.own_mut(layer.into(), head.into());
                keys[at * entry..][..entry].fill(mark ^ (layer * 100 + head * 10));
                values[at * entry..][..entry].fill(!(mark ^ (layer * 100 + head * 10)));
            }
        }
        cache.advance(1);
    }

    /// The marks of all positions, the same in every layer and head.
    fn marks(cache: &Cache) -> Vec<u8> {
        let mut all = Vec::new();
        for layer in 0..2_u8 {
            for head in 0..3_u8 {
                let mut marks = Vec::new();
                for (keys, values) in cache.runs(layer.into(), head.into()) {
                    assert_eq!(keys.len(), values.len());
                    for (key, value) in keys.chunks(8).zip(values.chunks(8)) {
                        assert!(
                            key.iter().all(|byte| *byte == key[0]) && value.iter().all(|byte| *byte == !key[0])
                        );
                        marks.push(key[0] ^ (layer * 100 + head * 10));
                    }
                }
                all.push(marks);
            }
        }
        assert!(all.iter().all(|marks| *marks == all[0]));
        assert_eq!(all[0].len(), cache.len());
        all.remove(0)
    }

    #[test]
    fn forks_share_what_was_and_differ_in_what_comes() {
        let mut first = Cache::new(DIMS, 6, 1 << 20).unwrap();
        (1..=3).for_each(|mark| push(&mut first, mark));
        let mut second = first.fork(1 << 20).unwrap();
        push(&mut first, 4);
        push(&mut second, 40);
        let mut third = second.fork(1 << 20).unwrap();
        push(&mut third, 41);
        assert_eq!(marks(&first), [1, 2, 3, 4]);
        assert_eq!(marks(&second), [1, 2, 3, 40]);
        assert_eq!(marks(&third), [1, 2, 3, 40, 41]);
        assert_eq!([&first, &second, &third].map(Cache::capacity), [6; 3]);
        third.truncate(2);
        push(&mut third, 9);
        assert_eq!(marks(&third), [1, 2, 9]);
        assert_eq!(marks(&second), [1, 2, 3, 40]);
    }

    #[test]
    fn truncation_at_every_length() {
        for len in 0..=6 {
            let mut cache = Cache::new(DIMS, 8, 1 << 20).unwrap();
            (0..2).for_each(|mark| push(&mut cache, mark));
            let other = cache.fork(1 << 20).unwrap();
            (2..4).for_each(|mark| push(&mut cache, mark));
            drop(cache.fork(1 << 20).unwrap());
            (4..6).for_each(|mark| push(&mut cache, mark));
            cache.truncate(len);
            assert_eq!(marks(&cache), (0..6).take(len).collect::<Vec<u8>>());
            assert_eq!(marks(&other), [0, 1]);
        }
    }

    #[test]
    fn what_would_not_fit_is_refused_before() {
        let huge = Dims { layers: usize::MAX, ..DIMS };
        for (dims, capacity, limit) in [(DIMS, 100, DIMS.bytes(100) - 1), (huge, 1 << 20, u64::MAX - 1)] {
            assert!(matches!(Cache::new(dims, capacity, limit), Err(Problem::Memory { .. })));
        }
        assert_eq!(DIMS.bytes(100), 2 * 2 * 3 * 100 * 4 * 2);
        assert_eq!(Cache::new(DIMS, 100, DIMS.bytes(100)).unwrap().bytes(), DIMS.bytes(100));
    }
}
