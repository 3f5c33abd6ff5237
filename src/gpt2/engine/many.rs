//! Many rows: bound by arithmetic, and shared out by rows.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Engine, Group, Job, Rule, Want, Worker, activate, embed_one, is_finite, norm, span_mut, view};
use crate::gpt2::config::Config;
use crate::gpt2::error::{Place, RunError};
use crate::gpt2::weights::{Block, Linear};
use crate::simd::pool::Chunks;
use crate::simd::{Act, Level, MatMut, Scratch, ShapeError, Then};

impl Engine {
    /// Many rows: shared out by rows, attention by heads.
    pub(super) fn through_many(
        &mut self,
        job: &Job<'_>,
        groups: &mut [Group<'_>],
        rows: usize,
        want: Want,
    ) -> Result<(), RunError> {
        let places: Vec<(u32, usize)> =
            groups.iter().flat_map(|group| group.tokens.iter().copied().zip(group.cache.len()..)).collect();
        self.by_rows(job, &places, rows, None, job.weights.blocks.first())?;
        let last = job.config.n_layer().saturating_sub(1);
        for (layer, block) in job.weights.blocks.iter().enumerate() {
            job.go_on()?;
            self.attend(job, groups, layer, want, rows)?;
            match want {
                Want::Nothing if layer == last => {}
                Want::Last if layer == last => self.after_attention(job, block, rows.saturating_sub(1), rows)?,
                _ => {
                    let next = job.weights.blocks.get(layer.saturating_add(1));
                    self.by_rows(job, &places, rows, Some((layer, block)), next)?;
                }
            }
        }
        Ok(())
    }

    /// What lies between two rounds of attention: the second half of a block and the beginning of the next, or the
    /// embedding and the beginning of the first.
    fn by_rows(
        &mut self,
        job: &Job<'_>,
        places: &[(u32, usize)],
        rows: usize,
        block: Option<(usize, &Block)>,
        next: Option<&Block>,
    ) -> Result<(), RunError> {
        let (width, triple) = (job.config.n_embd(), job.config.n_embd().saturating_mul(3));
        let size = Self::rows(rows, self.pool.threads());
        let per = |width: usize| size.saturating_mul(width);
        let (level, rule) = (self.level, self.rule);
        let attended = self.attended.as_slice();
        let next_layer = block.map_or(0, |(layer, _)| layer.saturating_add(1));
        let wrong = AtomicUsize::new(usize::MAX);
        let parts = (
            Chunks::new(span_mut(&mut self.x, 0, rows, width), per(width)),
            Chunks::new(span_mut(&mut self.qkv, 0, rows, triple), per(triple)),
        );
        self.pool.run(parts, &mut self.workers, |worker, index, (x, qkv)| {
            let from = index.saturating_mul(size);
            let outcome = (|| {
                match block {
                    None => {
                        let place = span_mut(&mut worker.normed, 0, 1, width);
                        let places = places.get(from..).unwrap_or_default();
                        for ((token, position), row) in places.iter().zip(x.chunks_exact_mut(width)) {
                            embed_one(job.weights, *token, *position, row, place)?;
                        }
                    }
                    Some((_, block)) => {
                        let attended = attended.get(from.saturating_mul(width)..).unwrap_or_default();
                        let attended = attended.get(..x.len()).unwrap_or_default();
                        let rest = Rest { level, rule, config: job.config, block };
                        rest.rows(worker, attended, x)?;
                    }
                }
                let Some(next) = next else { return Ok(()) };
                if !is_finite(x) {
                    wrong.fetch_min(next_layer, Ordering::Relaxed);
                    return Ok(());
                }
                let rows = x.len().checked_div(width).unwrap_or(0);
                let normed = span_mut(&mut worker.normed, 0, rows, width);
                norm(level, &next.norm_1, job.config.epsilon(), x, normed)?;
                worker.act.set(level, rule.form(&next.qkv.matrix, rows), normed, width)?;
                multiply(level, &next.qkv, &worker.act, qkv, false, &mut worker.scratch)
            })();
            worker.failed = worker.failed.or(outcome.err());
        });
        self.outcome()?;
        match wrong.into_inner() {
            usize::MAX => Ok(()),
            layer => Err(RunError::NotFinite(Place::before(layer))),
        }
    }
}

/// Columns of the inner layer that are worked out at a time, and become activations while they are still in a cache: those of
/// a few tiles.
pub(super) const STRIP: usize = 64;

/// The second half of a block, for rows of one thread.
struct Rest<'a> {
    level: Level,
    rule: Rule,
    config: &'a Config,
    block: &'a Block,
}

impl Rest<'_> {
    fn rows(&self, worker: &mut Worker, attended: &[f32], x: &mut [f32]) -> Result<(), ShapeError> {
        let (width, inner) = (self.config.n_embd(), self.config.n_inner());
        let rows = x.len().checked_div(width).unwrap_or(0);
        let Self { level, rule, block, .. } = *self;
        let form = |linear: &Linear| rule.form(&linear.matrix, rows);
        worker.act.set(level, form(&block.proj), attended, width)?;
        multiply(level, &block.proj, &worker.act, x, true, &mut worker.scratch)?;
        let normed = span_mut(&mut worker.normed, 0, rows, width);
        norm(level, &block.norm_2, self.config.epsilon(), x, normed)?;
        worker.act.set(level, form(&block.up), normed, width)?;
        worker.inner.open(level, form(&block.down), rows, inner)?;
        let up = view(&block.up.matrix)?;
        for first in (0..inner).step_by(STRIP) {
            let columns = first..inner.min(first.saturating_add(STRIP));
            let (Some(part), bias) = (up.outputs_at(columns.clone()), block.up.bias.get(columns)) else { break };
            let strip = span_mut(&mut worker.strip, 0, rows, part.outputs());
            let Some(out) = MatMut::new(strip, part.outputs()) else { break };
            part.multiply(level, &worker.act, out, Then { bias, add: false }, &mut worker.scratch)?;
            activate(level, self.config.activation(), strip);
            worker.inner.put(0, first, strip, part.outputs());
        }
        worker.inner.close();
        multiply(level, &block.down, &worker.inner, x, true, &mut worker.scratch)
    }
}

/// A whole product on this thread.
fn multiply(
    level: Level,
    linear: &Linear,
    act: &Act,
    out: &mut [f32],
    add: bool,
    scratch: &mut Scratch,
) -> Result<(), ShapeError> {
    let matrix = view(&linear.matrix)?;
    let Some(out) = MatMut::new(out, linear.matrix.outputs) else { return Ok(()) };
    matrix.multiply(level, act, out, Then { bias: Some(&linear.bias), add }, scratch)
}
