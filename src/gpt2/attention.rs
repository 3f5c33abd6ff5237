//! Attention of one head over its keys and values.

use super::cache::{CacheType, Dims, Shared};
use super::config::Config;
use crate::num;
use crate::simd::{self, Act, Form, Level, MatMut, Matrix, Scratch, ShapeError, Then};

/// How many queries are held against the keys at once.
const QUERIES: usize = 32;

/// Floats that a thread's buffers may take.
pub(super) fn floats(config: &Config) -> u64 {
    let rows = num::widen(QUERIES.min(config.n_positions()));
    let row = num::widen(config.n_positions()).saturating_add(num::widen(config.head_dim()).saturating_mul(2));
    rows.saturating_mul(row).saturating_mul(2)
}

/// What a thread needs for a head.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    act: Act,
    queries: Vec<f32>,
    scores: Vec<f32>,
    piece: Vec<f32>,
    out: Vec<f32>,
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
        let (dim, entry) = (self.dims.head_dim, self.dims.entry());
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
        let mut first = self.from;
        while first < count {
            let last = first.saturating_add(QUERIES).min(count);
            // What the last of these queries sees; the others see less, down to one key less for each row.
            let own = self.used.saturating_add(last).saturating_mul(entry);
            let own = (keys.get(..own).unwrap_or_default(), values.get(..own).unwrap_or_default());
            buffers.queries.clear();
            for row in rows.clone().skip(first).take(last.saturating_sub(first)) {
                buffers.queries.extend(self.part(row, 0, head).iter().map(|query| query * self.scale));
            }
            let total = seen.saturating_add(last);
            let tile = Tile { attention: self, head, own, total, first: seen.saturating_add(first) };
            tile.scores(buffers, scratch)?;
            tile.values(buffers, scratch)?;
            for (row, values) in (first..last).zip(buffers.out.chunks_exact(dim)) {
                out.row(row).copy_from_slice(values);
            }
            first = last;
        }
        Ok(())
    }

    /// A head's query (0), key (1) or value (2) in a row.
    fn part<'r>(&self, row: &'r [f32], part: usize, head: usize) -> &'r [f32] {
        let dim = self.dims.head_dim;
        let start = part.saturating_mul(self.width).saturating_add(head.saturating_mul(dim));
        row.get(start..).and_then(|rest| rest.get(..dim)).unwrap_or_default()
    }
}

/// Some queries of a head, and all keys that the last of them sees.
struct Tile<'a> {
    attention: &'a Attention<'a>,
    head: usize,
    own: (&'a [u8], &'a [u8]),
    total: usize,
    /// The position of the first query.
    first: usize,
}

impl<'a> Tile<'a> {
    /// Runs of keys and values.
    fn runs(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.attention.shared.head(self.head).chain([self.own]).filter(|(keys, _)| !keys.is_empty())
    }

    /// Probabilities in `buffers.scores`, a row of `total` for each query.
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
        for (row, position) in buffers.scores.chunks_exact_mut(self.total).zip(self.first..) {
            let (seen, hidden) = row.split_at_mut(position.saturating_add(1).min(self.total));
            simd::softmax(level, seen, 1.0);
            hidden.fill(0.0);
        }
        Ok(())
    }

    /// The values under these probabilities, in `buffers.out`.
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
