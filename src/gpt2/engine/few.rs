//! Few rows: bound by reading the weights, which the threads share out by outputs.

use super::{Engine, Group, Job, Want, Worker, activate, embed_one, finite, norm, span_mut, view};
use crate::gpt2::config::Activation;
use crate::gpt2::error::RunError;
use crate::gpt2::weights::{Block, Layout, Linear, Matrix};
use crate::simd::pool::{Chunks, Columns, Pool};
use crate::simd::{self, Form, Level, MatMut, Then};

impl Engine {
    /// Few rows: every phase is shared out by outputs, attention by heads.
    pub(super) fn through_few(
        &mut self,
        job: &Job<'_>,
        groups: &mut [Group<'_>],
        rows: usize,
        want: Want,
    ) -> Result<(), RunError> {
        let width = job.config.n_embd();
        let mut start = 0_usize;
        for group in groups.iter() {
            let end = start.saturating_add(group.tokens.len());
            let x = span_mut(&mut self.x, start, end, width).chunks_exact_mut(width);
            let place = span_mut(&mut self.normed, 0, 1, width);
            for ((token, position), row) in group.tokens.iter().zip(group.cache.len()..).zip(x) {
                embed_one(job.weights, *token, position, row, place)?;
            }
            start = end;
        }
        let last = job.config.n_layer().saturating_sub(1);
        for (layer, block) in job.weights.blocks.iter().enumerate() {
            job.go_on()?;
            let x = span_mut(&mut self.x, 0, rows, width);
            finite(x, layer)?;
            let normed = span_mut(&mut self.normed, 0, rows, width);
            norm(self.level, &block.norm_1, job.config.epsilon(), x, normed)?;
            self.product(&block.qkv, Source::Normed, Target::Qkv, 0, rows)?;
            self.attend(job, groups, layer, want, rows)?;
            let from = match want {
                Want::Nothing if layer == last => return Ok(()),
                Want::Last if layer == last => rows.saturating_sub(1),
                _ => 0,
            };
            self.after_attention(job, block, from, rows)?;
        }
        Ok(())
    }

    /// The second half of a block for rows `from..to`, shared out by outputs.
    pub(super) fn after_attention(
        &mut self,
        job: &Job<'_>,
        block: &Block,
        from: usize,
        to: usize,
    ) -> Result<(), RunError> {
        let (width, rows) = (job.config.n_embd(), to.saturating_sub(from));
        self.product(&block.proj, Source::Attended, Target::X, from, to)?;
        let normed = span_mut(&mut self.normed, 0, rows, width);
        norm(self.level, &block.norm_2, job.config.epsilon(), span_mut(&mut self.x, from, to, width), normed)?;
        self.product(&block.up, Source::Normed, Target::Hidden(job.config.activation()), from, to)?;
        self.product(&block.down, Source::Hidden, Target::X, from, to)
    }

    /// Rows `from..to` of a source times a matrix, into the same rows of a target. Buffers that hold nothing but these rows
    /// begin with the first of them.
    fn product(
        &mut self,
        linear: &Linear,
        source: Source,
        target: Target,
        from: usize,
        to: usize,
    ) -> Result<(), RunError> {
        let (inputs, width, rows) = (linear.matrix.inputs, linear.matrix.outputs, to.saturating_sub(from));
        let input = match source {
            Source::Attended => span_mut(&mut self.attended, from, to, inputs),
            Source::Normed => span_mut(&mut self.normed, 0, rows, inputs),
            Source::Hidden => span_mut(&mut self.hidden, 0, rows, inputs),
        };
        let form = self.rule.form(&linear.matrix, rows);
        if rows == 1 && form == Form::F32 && linear.matrix.layout == Layout::Columns {
            let threads = self.pool.threads();
            by_inputs(self.level, &mut self.pool, &mut self.workers, linear, input, &mut self.partial);
            let count = splits(threads).min(inputs.div_ceil(run_of_inputs(inputs, threads)));
            let partial = span_mut(&mut self.partial, 0, count, width);
            let (sum, others) = partial.split_at_mut(width.min(partial.len()));
            others.chunks_exact(width).for_each(|other| simd::add(self.level, sum, other));
            simd::add(self.level, sum, &linear.bias);
            let out = match target {
                Target::X => span_mut(&mut self.x, from, to, width),
                Target::Qkv => span_mut(&mut self.qkv, from, to, width),
                Target::Hidden(activation) => {
                    activate(self.level, activation, sum);
                    span_mut(&mut self.hidden, 0, rows, width)
                }
            };
            match target {
                Target::X => simd::add(self.level, out, sum),
                _ => out.copy_from_slice(sum),
            }
            return self.outcome();
        }
        self.act.set(self.level, form, input, inputs)?;
        let out = match target {
            Target::X => span_mut(&mut self.x, from, to, width),
            Target::Qkv => span_mut(&mut self.qkv, from, to, width),
            Target::Hidden(_) => span_mut(&mut self.hidden, 0, rows, width),
        };
        let (level, act, add) = (self.level, &self.act, matches!(target, Target::X));
        let whole = view(&linear.matrix)?;
        let size = share(width, self.pool.threads());
        self.pool.run(Columns::new(out, width, size), &mut self.workers, |worker, index, mut tile| {
            let start = index.saturating_mul(size);
            let range = start..start.saturating_add(size).min(width);
            let bias = linear.bias.get(range.clone());
            let outcome = match whole.outputs_at(range) {
                None => Ok(()),
                Some(part) => part.multiply(level, act, tile.reborrow(), Then { bias, add }, &mut worker.scratch),
            };
            worker.failed = worker.failed.or(outcome.err());
            if let Target::Hidden(activation) = target {
                for row in 0..tile.rows() {
                    activate(level, activation, tile.row(row));
                }
            }
        });
        self.outcome()
    }
}

/// Where a product comes from.
#[derive(Clone, Copy)]
enum Source {
    Normed,
    Attended,
    Hidden,
}

/// Where a product goes.
#[derive(Clone, Copy)]
enum Target {
    X,
    Qkv,
    Hidden(Activation),
}

/// Into how many parts inputs are cut: the same for all usual numbers of threads, so that the sums are too.
pub(super) const fn splits(threads: usize) -> usize {
    if threads < 4 { 4 } else { threads }
}

/// How many inputs a part has: runs of 8, as the kernels take rows.
fn run_of_inputs(inputs: usize, threads: usize) -> usize {
    inputs.div_ceil(splits(threads)).next_multiple_of(8)
}

/// One row times a matrix that lies `[in, out]`, shared out by inputs: so each thread reads its part of the weights from end
/// to end, and not a piece of every row. What each part of the inputs gives goes to `partial`.
fn by_inputs(
    level: Level,
    pool: &mut Pool,
    workers: &mut [Worker],
    linear: &Linear,
    input: &[f32],
    partial: &mut [f32],
) {
    let Matrix { inputs, outputs, kind, .. } = linear.matrix;
    let size = run_of_inputs(inputs, pool.threads());
    let row = kind.row_bytes(outputs).unwrap_or(0);
    let bytes = linear.matrix.bytes();
    let parts = Chunks::new(span_mut(partial, 0, inputs.div_ceil(size), outputs), outputs);
    pool.run(parts, workers, |worker, index, out| {
        let from = index.saturating_mul(size).min(inputs);
        let to = from.saturating_add(size).min(inputs);
        let outcome = (|| {
            let bytes = bytes.get(from.saturating_mul(row)..to.saturating_mul(row)).unwrap_or_default();
            let (input, count) = (input.get(from..to).unwrap_or_default(), to.saturating_sub(from));
            let matrix = simd::Matrix::input_major(kind, bytes, count, outputs)?;
            worker.act.set(level, Form::F32, input, count)?;
            let Some(out) = MatMut::new(out, outputs) else { return Ok(()) };
            matrix.multiply(level, &worker.act, out, Then::default(), &mut worker.scratch)
        })();
        worker.failed = worker.failed.or(outcome.err());
    });
}

/// How many outputs a part has: two parts a thread, of whole runs of 64. With four, each so short that the processor hardly
/// follows its rows before they end, two threads decode blocks at 0.9 of the speed.
pub(super) fn share(outputs: usize, threads: usize) -> usize {
    let parts = if threads == 1 { 1 } else { threads.saturating_mul(2) };
    outputs.div_ceil(parts).next_multiple_of(64)
}
