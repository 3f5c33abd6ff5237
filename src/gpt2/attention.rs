//! Attention of one head over its keys and values.

mod many;

use std::ops::Range;

use super::cache::{CacheType, Dims, Shared};
use super::config::Config;
use crate::num;
use crate::simd::{self, Act, Form, Level, MatMut, Matrix, Scratch, ShapeError, Then, Tiles};

/// Floats that a thread's buffers may take.
pub(super) fn floats(config: &Config) -> u64 {
    let positions = num::widen(config.n_positions());
    let dim = num::widen(config.head_dim());
    let rows = num::widen(many::QUERIES.min(config.n_positions()));
    let queries = rows.saturating_mul(positions.saturating_add(dim.saturating_mul(2))).saturating_mul(3);
    // All keys and values as tiles of up to 32 columns, and once more where they lie in several places.
    let tiles = positions.saturating_add(32).saturating_mul(dim.saturating_add(32)).saturating_mul(3);
    queries.saturating_add(tiles)
}

/// What a thread needs for a head.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    act: Act,
    queries: Vec<f32>,
    scores: Vec<f32>,
    /// What the scores of each query add up to.
    sums: Vec<f32>,
    piece: Vec<f32>,
    out: Vec<f32>,
    /// Keys and values of a head made ready for many queries, and the bytes of them all where they lie in several places.
    keys: Tiles,
    values: Tiles,
    together: Vec<u8>,
}

impl Buffers {
    /// With room for what the longest context takes; `None` where there is no memory.
    pub(super) fn new(config: &Config) -> Option<Self> {
        let (positions, dim) = (config.n_positions(), config.head_dim());
        let rows = many::QUERIES.min(positions);
        let mut new = Self::default();
        new.act.reserve(rows, positions.max(dim))?;
        new.keys.reserve(dim, positions)?;
        new.values.reserve(positions, dim)?;
        for (buffer, width) in
            [(&mut new.queries, dim), (&mut new.scores, positions), (&mut new.sums, 1), (&mut new.out, dim)]
        {
            buffer.try_reserve_exact(rows.checked_mul(width)?).ok()?;
        }
        Some(new)
    }
}

/// What the heads of one layer have in common.
#[derive(Debug)]
pub(super) struct Attention<'a> {
    pub(super) level: Level,
    pub(super) dims: Dims,
    /// Rows of queries, keys and values, each `width` wide.
    pub(super) qkv: &'a [f32],
    pub(super) width: usize,
    /// How many positions the own runs hold already.
    pub(super) used: usize,
    pub(super) scale: f32,
    /// In which form many queries and their probabilities are multiplied.
    pub(super) form: Form,
    /// The first row whose output is wanted.
    pub(super) from: usize,
    pub(super) shared: Shared<'a>,
}

impl Attention<'_> {
    /// Writes the rows' keys and values of one head to its runs, and what the rows attend to to `out`.
    pub(super) fn head(
        &self,
        buffers: &mut Buffers,
        scratch: &mut Scratch,
        head: usize,
        keys: &mut [u8],
        values: &mut [u8],
        mut out: MatMut<'_>,
    ) -> Result<(), ShapeError> {
        let entry = self.dims.entry();
        let start = self.used.saturating_mul(entry);
        let rows = self.qkv.chunks_exact(self.width.saturating_mul(3));
        let count = rows.len();
        for (part, run) in [(1, &mut *keys), (2, &mut *values)] {
            let room = run.get_mut(start..).unwrap_or_default();
            for (row, to) in rows.clone().zip(room.chunks_exact_mut(entry)) {
                write(self.level, self.dims.kind, self.part(row, part, head), to);
            }
        }
        let before: usize =
            self.shared.head(head).map(|(keys, _)| keys.len().checked_div(entry).unwrap_or(0)).sum();
        let seen = before.saturating_add(self.used);
        let wanted = self.from..count;
        let len = self.used.saturating_add(count).saturating_mul(entry);
        let own = (keys.get(..len).unwrap_or_default(), values.get(..len).unwrap_or_default());
        let queries = Queries { attention: self, head, own, total: seen.saturating_add(count), seen };
        if wanted.len() < simd::MANY {
            queries.few(buffers, scratch, wanted, &mut out)
        } else {
            queries.many(buffers, wanted, &mut out)
        }
    }

    /// A head's query (0), key (1) or value (2) in a row.
    fn part<'r>(&self, row: &'r [f32], part: usize, head: usize) -> &'r [f32] {
        let dim = self.dims.head_dim;
        let start = part.saturating_mul(self.width).saturating_add(head.saturating_mul(dim));
        row.get(start..).and_then(|rest| rest.get(..dim)).unwrap_or_default()
    }
}

/// The queries of a head, and all keys that the last of them sees.
struct Queries<'a> {
    attention: &'a Attention<'a>,
    head: usize,
    own: (&'a [u8], &'a [u8]),
    total: usize,
    /// How many positions came before the first query.
    seen: usize,
}

impl<'a> Queries<'a> {
    /// Some queries in `buffers.queries`.
    fn take(&self, buffers: &mut Buffers, rows: Range<usize>) {
        let Attention { qkv, width, scale, .. } = *self.attention;
        buffers.queries.clear();
        for row in qkv.chunks_exact(width.saturating_mul(3)).skip(rows.start).take(rows.len()) {
            buffers.queries.extend(self.attention.part(row, 0, self.head).iter().map(|query| query * scale));
        }
    }

    /// What some queries of which `buffers.out` has the outputs attend to.
    fn give(&self, buffers: &Buffers, rows: Range<usize>, out: &mut MatMut<'_>) {
        let sums = buffers.sums.iter().zip(buffers.out.chunks_exact(self.attention.dims.head_dim));
        for (row, (sum, values)) in rows.zip(sums) {
            let inverse = 1.0 / sum;
            out.row(row).iter_mut().zip(values).for_each(|(out, value)| *out = value * inverse);
        }
    }

    /// The exponents of the scores in `buffers.scores`, rows of `total` each of which sees one more, and their sums.
    fn exponents(&self, buffers: &mut Buffers, first: usize, total: usize) {
        buffers.sums.clear();
        for (row, position) in buffers.scores.chunks_exact_mut(total).zip(self.seen.saturating_add(first)..) {
            let (seen, hidden) = row.split_at_mut(position.saturating_add(1).min(total));
            buffers.sums.push(simd::exponents(self.attention.level, seen, 1.0));
            hidden.fill(0.0);
        }
    }

    /// A few queries: keys and values are multiplied where they are.
    fn few(
        &self,
        buffers: &mut Buffers,
        scratch: &mut Scratch,
        rows: Range<usize>,
        out: &mut MatMut<'_>,
    ) -> Result<(), ShapeError> {
        self.take(buffers, rows.clone());
        self.scores(buffers, scratch)?;
        self.exponents(buffers, rows.start, self.total);
        self.values(buffers, scratch)?;
        self.give(buffers, rows, out);
        Ok(())
    }

    /// Runs of keys and values.
    fn runs(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.attention.shared.head(self.head).chain([self.own]).filter(|(keys, _)| !keys.is_empty())
    }

    /// The scores in `buffers.scores`, a row of `total` for each query.
    fn scores(&self, buffers: &mut Buffers, scratch: &mut Scratch) -> Result<(), ShapeError> {
        let (level, dims) = (self.attention.level, self.attention.dims);
        let queries = buffers.queries.len().checked_div(dims.head_dim).unwrap_or(0);
        buffers.act.set(level, Form::F32, &buffers.queries, dims.head_dim)?;
        buffers.scores.resize(queries.saturating_mul(self.total), 0.0);
        let Some(mut rest) = MatMut::new(&mut buffers.scores, self.total) else { return Ok(()) };
        for (keys, _) in self.runs() {
            let count = keys.len().checked_div(dims.entry()).unwrap_or(0);
            let (part, after) = rest.split_at(count);
            let matrix = Matrix::new(dims.kind.kind(), keys, count, dims.head_dim)?;
            matrix.multiply(level, &buffers.act, part, Then::default(), scratch)?;
            rest = after;
        }
        Ok(())
    }

    /// The values times the exponents of their scores, in `buffers.out`.
    fn values(&self, buffers: &mut Buffers, scratch: &mut Scratch) -> Result<(), ShapeError> {
        let (level, dims) = (self.attention.level, self.attention.dims);
        buffers.out.resize(buffers.queries.len(), 0.0);
        let mut start = 0_usize;
        if buffers.scores.len() == self.total {
            // One query: its probabilities serve where they are.
            buffers.out.fill(0.0);
            for (_, values) in self.runs() {
                let end = start.saturating_add(values.len().checked_div(dims.entry()).unwrap_or(0));
                let part = buffers.scores.get(start..end).unwrap_or_default();
                simd::add_scaled(level, dims.kind.kind(), values, dims.entry(), part, &mut buffers.out)?;
                start = end;
            }
            return Ok(());
        }
        for (_, values) in self.runs() {
            let count = values.len().checked_div(dims.entry()).unwrap_or(0);
            if count == self.total {
                buffers.act.set(level, Form::F32, &buffers.scores, count)?;
            } else {
                buffers.piece.clear();
                for row in buffers.scores.chunks_exact(self.total) {
                    let part = row.get(start..).and_then(|rest| rest.get(..count)).unwrap_or_default();
                    buffers.piece.extend_from_slice(part);
                }
                buffers.act.set(level, Form::F32, &buffers.piece, count)?;
            }
            let matrix = Matrix::input_major(dims.kind.kind(), values, count, dims.head_dim)?;
            let Some(out) = MatMut::new(&mut buffers.out, dims.head_dim) else { return Ok(()) };
            matrix.multiply(level, &buffers.act, out, Then { bias: None, add: start > 0 }, scratch)?;
            start = start.saturating_add(count);
        }
        Ok(())
    }
}

/// Numbers as the cache keeps them, little-endian.
fn write(level: Level, kind: CacheType, from: &[f32], to: &mut [u8]) {
    match kind {
        CacheType::F32 => {
            for (value, to) in from.iter().zip(to.chunks_exact_mut(4)) {
                to.copy_from_slice(&value.to_le_bytes());
            }
        }
        CacheType::F16 => {
            let mut halves = [0_u16; 64];
            for (values, to) in from.chunks(64).zip(to.chunks_mut(128)) {
                simd::f32_to_f16(level, values, &mut halves);
                for (half, to) in halves.iter().zip(to.chunks_exact_mut(2)) {
                    to.copy_from_slice(&half.to_le_bytes());
                }
            }
        }
    }
}
