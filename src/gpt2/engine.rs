//! From tokens to logits.
//!
//! A batch of rows (tokens) goes through the model in one of two ways. Few rows are bound by reading the weights, which the
//! threads share out by outputs: five phases a layer, each with all rows. Many rows are bound by arithmetic and are
//! shared out by rows: between two rounds of attention, which are shared out by heads, a thread takes its rows through
//! everything, so that a layer has two phases. Neither way changes a sum: the logits do not depend on the number of
//! threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::attention::{self, Attention};
use super::cache::Cache;
use super::config::{Activation, Config};
use super::error::{Place, RunError};
use super::problem::Problem;
use super::runner::RunOptions;
use super::weights::{Block, Layout, Linear, Matrix, Norm, Weights};
use crate::num;
use crate::simd::pool::{Chunks, Columns, Pool};
use crate::simd::{self, Act, Form, Gelu, Level, MatMut, Scratch, ShapeError, Then, WeightType};

/// What one thread needs for itself.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) act: Act,
    pub(super) scratch: Scratch,
    pub(super) attention: attention::Buffers,
    normed: Vec<f32>,
    hidden: Vec<f32>,
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
    /// For few rows; each worker has its own for many.
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
}

/// The most rows that are shared out by outputs, for each thread.
const FEW: usize = 32;
/// The most rows that a thread takes at a time.
const ROWS: usize = 128;
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
        let own = floats(ROWS.min(batch), n_embd.saturating_add(n_inner))
            .saturating_mul(3)
            .saturating_add(attention::floats(config).saturating_mul(2));
        let shared = floats(batch, n_embd.saturating_mul(5))
            .saturating_add(floats(few, n_embd.saturating_add(n_inner.saturating_mul(2))))
            .saturating_add(floats(splits(pool.threads()), n_embd.saturating_mul(3).max(n_inner)))
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
                    normed: zeroed(ROWS.min(batch), n_embd)?,
                    hidden: zeroed(ROWS.min(batch), config.n_inner())?,
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
                partial: zeroed(splits(pool.threads()), triple.max(config.n_inner()))?,
                logits: zeroed(HEADS.min(batch), config.n_vocab())?,
                pool,
            })
        };
        make().ok_or(refused)
    }

    fn few(threads: usize) -> usize {
        if threads == 1 { FEW } else { FEW.saturating_mul(threads) }
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

    /// Few rows: every phase is shared out by outputs, attention by heads.
    fn through_few(
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
    fn after_attention(&mut self, job: &Job<'_>, block: &Block, from: usize, to: usize) -> Result<(), RunError> {
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

    /// Many rows: shared out by rows, attention by heads.
    fn through_many(
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
        let size = rows.div_ceil(self.pool.threads()).next_multiple_of(16).min(ROWS);
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
        let size = share(outputs, self.pool.threads());
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
        let hidden = span_mut(&mut worker.hidden, 0, rows, inner);
        multiply(level, &block.up, &worker.act, hidden, false, &mut worker.scratch)?;
        activate(level, self.config.activation(), hidden);
        worker.act.set(level, form(&block.down), hidden, inner)?;
        multiply(level, &block.down, &worker.act, x, true, &mut worker.scratch)
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

/// Into how many parts inputs are cut: the same for all usual numbers of threads, so that the sums are too.
const fn splits(threads: usize) -> usize {
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

/// A matrix as the kernels see it.
fn view(matrix: &Matrix) -> Result<simd::Matrix<'_>, ShapeError> {
    match matrix.layout {
        Layout::Rows => simd::Matrix::new(matrix.kind, matrix.bytes(), matrix.outputs, matrix.inputs),
        Layout::Columns => simd::Matrix::input_major(matrix.kind, matrix.bytes(), matrix.inputs, matrix.outputs),
    }
}

/// How many outputs a part has: four parts a thread, of whole runs of 64.
fn share(outputs: usize, threads: usize) -> usize {
    let parts = if threads == 1 { 1 } else { threads.saturating_mul(4) };
    outputs.div_ceil(parts).next_multiple_of(64)
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
