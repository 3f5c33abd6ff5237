//! Many queries of a head: its keys and values are made ready once for all of them.

use std::ops::Range;

use super::{Attention, Buffers, Queries};
use crate::simd::{MatMut, Matrix, ShapeError, Then};

/// How many queries are held against the keys at once: two groups of tokens. More would work out more scores of keys that
/// queries do not see.
pub(super) const QUERIES: usize = 24;

impl Queries<'_> {
    /// What all queries in `rows` attend to.
    pub(super) fn many(
        &self,
        buffers: &mut Buffers,
        rows: Range<usize>,
        out: &mut MatMut<'_>,
    ) -> Result<(), ShapeError> {
        let Attention { level, dims, form, .. } = *self.attention;
        self.make_ready(buffers)?;
        let mut first = rows.start;
        while first < rows.end {
            let last = rows.end.min(first.saturating_add(QUERIES));
            // What the last of these queries sees; the others see less, down to one key less for each row.
            let total = self.seen.saturating_add(last);
            self.take(buffers, first..last);
            buffers.act.set(level, form, &buffers.queries, dims.head_dim)?;
            buffers.scores.resize(last.saturating_sub(first).saturating_mul(total), 0.0);
            let Some(scores) = MatMut::new(&mut buffers.scores, total) else { return Ok(()) };
            buffers.keys.multiply(&buffers.act, scores, Then::default())?;
            self.exponents(buffers, first, total);
            buffers.act.set(level, form, &buffers.scores, total)?;
            buffers.out.resize(buffers.queries.len(), 0.0);
            let Some(sums) = MatMut::new(&mut buffers.out, dims.head_dim) else { return Ok(()) };
            buffers.values.multiply(&buffers.act, sums, Then::default())?;
            self.give(buffers, first..last, out);
            first = last;
        }
        Ok(())
    }

    /// Keys and values as tiles.
    fn make_ready(&self, buffers: &mut Buffers) -> Result<(), ShapeError> {
        let Attention { level, dims, form, .. } = *self.attention;
        let Buffers { keys, values, together, .. } = buffers;
        let mut set = |bytes: (&[u8], &[u8])| {
            keys.set(level, form, &Matrix::new(dims.kind.kind(), bytes.0, self.total, dims.head_dim)?)?;
            values.set(level, form, &Matrix::input_major(dims.kind.kind(), bytes.1, self.total, dims.head_dim)?)
        };
        if self.runs().count() == 1 {
            return set(self.own);
        }
        let mut all = std::mem::take(together);
        all.clear();
        self.runs().for_each(|(keys, _)| all.extend_from_slice(keys));
        let middle = all.len();
        self.runs().for_each(|(_, values)| all.extend_from_slice(values));
        let outcome = all.split_at_checked(middle).map_or(Ok(()), set);
        *together = all;
        outcome
    }
}
