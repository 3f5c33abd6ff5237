//! From tokens to logits.
//!
//! A batch of rows (tokens) goes through the model in one of two ways. Few rows are bound by reading the weights, which the
//! threads share out by outputs: five phases a layer, each with all rows. Many rows are bound by arithmetic and are
//! shared out by rows: between two rounds of attention, which are shared out by heads, a thread takes its rows through
//! everything, so that a layer has two phases. A single row times a matrix that lies `[in, out]` is shared out by inputs, in
//! four parts whatever the number of threads, or in as many as there are threads above four.
//!
//! What a part computes does not depend on who computes it: the logits are the same in every run with as many threads.
//! For another number of threads they are the same up to the rounding of sums, and for one row and up to four threads the
//! same to the last bit.

mod few;
mod many;

use std::sync::atomic::{AtomicBool, Ordering};

use super::attention::{self, Attention};
use super::cache::Cache;
use super::config::{Activation, Config};
use super::error::{Place, RunError};
use super::problem::Problem;
use super::runner::RunOptions;
use super::weights::{Matrix, Norm, Weights};
use crate::num;
use crate::simd::pool::{Chunks, Columns, Pool};
use crate::simd::{self, Act, Form, Gelu, Level, Scratch, ShapeError, Then, WeightType};

/// What one thread needs for itself.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) act: Act,
    pub(super) scratch: Scratch,
    pub(super) attention: attention::Buffers,
    normed: Vec<f32>,
    /// Some columns of the inner layer, and all of them as activations.
    strip: Vec<f32>,
    inner: Act,
    /// What went wrong in a phase.
    pub(super) failed: Option<ShapeError>,
}

/// Threads and buffers, made once and sized for the largest batch.
#[derive(Debug)]
pub(super) struct Engine {
    level: Level,
    rule: Rule,
    pool: Pool,
    workers: Vec<Worker>,
    act: Act,
    batch: usize,
    x: Vec<f32>,
    qkv: Vec<f32>,
    attended: Vec<f32>,
    /// For few rows.
    hidden: Vec<f32>,
    normed: Vec<f32>,
    /// What each part of the inputs gives to the outputs.
    partial: Vec<f32>,
    logits: Vec<f32>,
}

/// How the form of activations is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Whether block formats and BF16 are multiplied with activations as they are too.
    pub(super) exact: bool,
    /// Whether the processor multiplies BF16 with BF16.
    pub(super) brain: bool,
}

impl Rule {
    fn form(self, matrix: &Matrix, rows: usize) -> Form {
        match matrix.kind {
            _ if self.exact => Form::F32,
            WeightType::BF16 if rows >= simd::MANY && self.brain => Form::Bf16,
            kind => kind.form(),
        }
    }

    /// The form in which many queries are multiplied with keys: as exact as the activations from which both were made.
    fn attention(self, matrix: &Matrix) -> Form {
        let is_exact = self.exact || matches!(matrix.kind, WeightType::F32 | WeightType::F16);
        if is_exact || !self.brain { Form::F32 } else { Form::Bf16 }
    }
}

/// The most rows that are shared out by outputs, for each thread.
const FEW: usize = 32;
/// The most rows that a thread takes at a time. Weights are unpacked for each time anew, so that fewer are slower: 128 took
/// 1.1 to 1.2 times as long for a prompt of 512.
const ROWS: usize = 512;
/// The most rows of which logits are worked out at once.
const HEADS: usize = 8;

/// One sequence's rows of a batch, which follow its cache.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) cache: &'a mut Cache,
    pub(super) tokens: &'a [u32],
}

/// Of which rows of a batch the outputs are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Nothing,
    Last,
    All,
}

/// What the phases of one batch have in common.
struct Job<'a> {
    config: &'a Config,
    weights: &'a Weights,
    cancel: Option<&'a AtomicBool>,
}

impl Engine {
    /// An engine of `threads` threads.
    pub(super) fn new(config: &Config, options: &RunOptions, threads: usize) -> Result<Self, RunError> {
        let (level, limit) = (options.level, options.memory_limit);
        let batch = options.batch.clamp(1, config.n_positions());
        let pool = Pool::new(threads).map_err(|error| RunError::Threads(error.kind()))?;
        let few = Self::few(pool.threads()).min(batch);
        let (n_embd, n_inner) = (num::widen(config.n_embd()), num::widen(config.n_inner()));
        let floats = |rows: usize, width: u64| num::mul(num::widen(rows), width).unwrap_or(u64::MAX);
        let rows = Self::rows(batch, pool.threads()).min(batch);
        let own = floats(rows, n_embd.saturating_add(n_inner))
            .saturating_mul(3)
            .saturating_add(attention::floats(config).saturating_mul(2));
        let shared = floats(batch, n_embd.saturating_mul(5))
            .saturating_add(floats(few, n_embd.saturating_add(n_inner.saturating_mul(2))))
            .saturating_add(floats(few::splits(pool.threads()), n_embd.saturating_mul(3).max(n_inner)))
            .saturating_add(floats(HEADS.min(batch), num::widen(config.n_vocab())));
        let all = own.saturating_mul(num::widen(pool.threads())).saturating_add(shared).saturating_mul(4);
        let refused = RunError::Memory(Problem::Memory { what: "the runner's buffers", needed: all, limit });
        if all > limit {
            return Err(refused);
        }
        let zeroed = |rows: usize, width: usize| {
            let len = rows.checked_mul(width)?;
            bytemuck::allocation::try_zeroed_vec::<f32>(len).ok()
        };
        let make = || {
            let (n_embd, triple) = (config.n_embd(), config.n_embd().checked_mul(3)?);
            let workers = std::iter::repeat_with(|| {
                Some(Worker {
                    attention: attention::Buffers::new(config)?,
                    normed: zeroed(rows, n_embd)?,
                    strip: zeroed(rows, many::STRIP.min(config.n_inner()))?,
                    ..Worker::default()
                })
            });
            Some(Self {
                level,
                rule: Rule { exact: options.exact, brain: Level::named("avx512bf16") == Some(level) },
                workers: workers.take(pool.threads()).collect::<Option<_>>()?,
                act: Act::new(),
                batch,
                x: zeroed(batch, n_embd)?,
                qkv: zeroed(batch, triple)?,
                attended: zeroed(batch, n_embd)?,
                hidden: zeroed(few, config.n_inner())?,
                normed: zeroed(few, n_embd)?,
                partial: zeroed(few::splits(pool.threads()), triple.max(config.n_inner()))?,
                logits: zeroed(HEADS.min(batch), config.n_vocab())?,
                pool,
            })
        };
        make().ok_or(refused)
    }

    fn few(threads: usize) -> usize {
        if threads == 1 { FEW } else { FEW.saturating_mul(threads) }
    }

    /// How many of the rows of a batch a thread takes at a time: its share, in whole groups of tokens.
    fn rows(rows: usize, threads: usize) -> usize {
        rows.div_ceil(threads).next_multiple_of(16).min(ROWS)
    }

    /// The most rows of a batch.
    pub(super) const fn batch(&self) -> usize {
        self.batch
    }

    pub(super) const fn threads(&self) -> usize {
        self.pool.threads()
    }

    pub(super) const fn level(&self) -> Level {
        self.level
    }

    /// Takes a batch through the model. The caches get the rows' keys and values only where all went well; the logits of
    /// the rows that are wanted are given to `each` one by one, with the row's number.
    ///
    /// The tokens are in the vocabulary, there is room in each cache, and there are at most [`batch`](Self::batch) rows.
    pub(super) fn forward(
        &mut self,
        config: &Config,
        weights: &Weights,
        groups: &mut [Group<'_>],
        want: Want,
        cancel: Option<&AtomicBool>,
        mut each: impl FnMut(usize, &mut [f32]) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let job = Job { config, weights, cancel };
        let rows: usize = groups.iter().map(|group| group.tokens.len()).sum();
        if rows == 0 {
            return Ok(());
        }
        if rows <= Self::few(self.pool.threads()) {
            self.through_few(&job, groups, rows, want)?;
        } else {
            self.through_many(&job, groups, rows, want)?;
        }
        let wanted = match want {
            Want::Nothing => rows..rows,
            Want::Last => rows.saturating_sub(1)..rows,
            Want::All => 0..rows,
        };
        let mut start = wanted.start;
        while start < wanted.end {
            let count = wanted.end.saturating_sub(start).min(HEADS);
            self.head(&job, start, count)?;
            for (row, logits) in self.logits.chunks_exact_mut(config.n_vocab()).take(count).enumerate() {
                each(start.saturating_add(row), logits)?;
            }
            start = start.saturating_add(count);
        }
        for group in groups {
            group.cache.advance(group.tokens.len());
        }
        Ok(())
    }

    /// What the workers' last phase met.
    fn outcome(&mut self) -> Result<(), RunError> {
        match self.workers.iter_mut().find_map(|worker| worker.failed.take()) {
            None => Ok(()),
            Some(error) => Err(error.into()),
        }
    }

    /// Attention of all rows, or in the last layer of those that are wanted.
    fn attend(
        &mut self,
        job: &Job<'_>,
        groups: &mut [Group<'_>],
        layer: usize,
        want: Want,
        rows: usize,
    ) -> Result<(), RunError> {
        let width = job.config.n_embd();
        let is_last = layer.saturating_add(1) == job.config.n_layer();
        let form = job.weights.blocks.get(layer).map_or(Form::F32, |block| self.rule.attention(&block.qkv.matrix));
        let skipped = match want {
            Want::Nothing if is_last => rows,
            Want::Last if is_last => rows.saturating_sub(1),
            _ => 0,
        };
        let mut start = 0_usize;
        for group in groups {
            let count = group.tokens.len();
            let end = start.saturating_add(count);
            let (dims, run, used) = (*group.cache.dims(), group.cache.run(), group.cache.used());
            let triple = width.saturating_mul(3);
            let qkv = span_mut(&mut self.qkv, start, end, triple);
            let (keys, values, shared) = group.cache.layer_mut(layer);
            let parts = (
                (Chunks::new(keys, run), Chunks::new(values, run)),
                Columns::new(span_mut(&mut self.attended, start, end, width), width, dims.head_dim),
            );
            let attention = Attention {
                level: self.level,
                dims,
                qkv,
                width,
                used,
                scale: job.config.attention_scale(layer),
                form,
                from: skipped.saturating_sub(start).min(count),
                shared,
            };
            self.pool.run(parts, &mut self.workers, |worker, head, ((keys, values), out)| {
                let outcome = attention.head(&mut worker.attention, &mut worker.scratch, head, keys, values, out);
                worker.failed = worker.failed.or(outcome.err());
            });
            start = end;
        }
        self.outcome()
    }

    /// The logits of some rows.
    fn head(&mut self, job: &Job<'_>, start: usize, count: usize) -> Result<(), RunError> {
        let width = job.config.n_embd();
        let x = span_mut(&mut self.x, start, start.saturating_add(count), width);
        finite(x, job.config.n_layer())?;
        let normed = span_mut(&mut self.normed, 0, count, width);
        norm(self.level, &job.weights.last_norm, job.config.epsilon(), x, normed)?;
        let matrix = job.weights.head();
        self.act.set(self.level, self.rule.form(matrix, count), normed, width)?;
        let (level, act, whole) = (self.level, &self.act, view(matrix)?);
        let outputs = job.config.n_vocab();
        let size = few::share(outputs, self.pool.threads());
        let parts = Columns::new(span_mut(&mut self.logits, 0, count, outputs), outputs, size);
        self.pool.run(parts, &mut self.workers, |worker, index, tile| {
            let start = index.saturating_mul(size);
            let Some(part) = whole.outputs_at(start..start.saturating_add(size).min(outputs)) else { return };
            let outcome = part.multiply(level, act, tile, Then::default(), &mut worker.scratch);
            worker.failed = worker.failed.or(outcome.err());
        });
        self.outcome()
    }
}

impl Job<'_> {
    fn go_on(&self) -> Result<(), RunError> {
        match self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(RunError::Cancelled),
            _ => Ok(()),
        }
    }
}

/// A matrix as the kernels see it.
fn view(matrix: &Matrix) -> Result<simd::Matrix<'_>, ShapeError> {
    matrix.view()
}

/// Rows `from..to` of a buffer.
fn span_mut(buffer: &mut [f32], from: usize, to: usize, width: usize) -> &mut [f32] {
    buffer.get_mut(from.saturating_mul(width)..to.saturating_mul(width)).unwrap_or_default()
}

fn norm(level: Level, norm: &Norm, epsilon: f32, x: &[f32], out: &mut [f32]) -> Result<(), ShapeError> {
    let width = norm.weight.len();
    for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        simd::layer_norm(level, x, &norm.weight, &norm.bias, epsilon, out)?;
    }
    Ok(())
}

fn activate(level: Level, activation: Activation, values: &mut [f32]) {
    match activation {
        Activation::GeluNew => simd::gelu(level, values, Gelu::Tanh),
        Activation::Gelu => simd::gelu(level, values, Gelu::Erf),
        Activation::Relu => simd::relu(level, values),
    }
}

/// The sums of a token's row and its position's; `place` has room for a row.
fn embed_one(
    weights: &Weights,
    token: u32,
    position: usize,
    row: &mut [f32],
    place: &mut [f32],
) -> Result<(), ShapeError> {
    view(&weights.embedding)?.decode_row(num::widen32(token), row)?;
    view(&weights.positions)?.decode_row(position, place)?;
    row.iter_mut().zip(place).for_each(|(x, place)| *x += *place);
    Ok(())
}

/// Whether all values are finite numbers. Without a branch inside, so that it is done many at a time.
fn is_finite(values: &[f32]) -> bool {
    values.iter().fold(true, |sound, value| sound & (value.abs() <= f32::MAX))
}

/// An error where what goes into layer `layer` is not finite.
fn finite(values: &[f32], layer: usize) -> Result<(), RunError> {
    if is_finite(values) { Ok(()) } else { Err(RunError::NotFinite(Place::before(layer))) }
}
