//! A model at work: threads and buffers for one batch at a time.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use super::cache::CacheType;
use super::engine::{Engine, Group, Want};
use super::error::RunError;
use super::generate::{GenerateOptions, Generation};
use super::model::Gpt2;
use super::session::Session;
use crate::simd::Level;

/// How a model is run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// How many threads, the caller's among them; 0 for as many as the system says can run at once.
    pub threads: usize,
    /// The most tokens that go through the model at once. Default: 512.
    pub batch: usize,
    /// The longest text of a session; 0, or more than the model knows, for as many positions as it knows.
    pub context: usize,
    /// In what numbers keys and values are kept.
    pub cache: CacheType,
    /// Whether activations are multiplied as they are with weights in blocks and in BF16 too: exact, and many times slower.
    /// Else they are rounded to 8 bits, with a scale for each 32 of them, where the weights are blocks, and to BF16 where many
    /// tokens meet BF16 weights at the level `avx512bf16`; so are queries, keys and values of many tokens there, for either
    /// kind of weights.
    pub exact: bool,
    /// Bytes of memory that the buffers may take, and each session. Default: 4 GiB.
    pub memory_limit: u64,
    /// The instructions that may be used.
    pub level: Level,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 0,
            batch: 512,
            context: 0,
            cache: CacheType::F32,
            exact: false,
            memory_limit: 4 << 30,
            level: Level::best(),
        }
    }
}

/// What gets a position and its logits.
type Each<'a> = dyn FnMut(usize, &mut [f32]) -> Result<(), RunError> + 'a;

/// A model at work.
///
/// The logits of a text are the same in every run with as many threads and the same batches; for other numbers of threads,
/// and for another way in which the text is cut into batches, they are the same up to the rounding of sums.
#[derive(Debug)]
pub struct Runner {
    model: Gpt2,
    engine: Engine,
    options: RunOptions,
}

impl Runner {
    /// Threads and buffers for `model`.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] where the buffers would not fit the limit, before anything is allocated; [`RunError::Threads`].
    pub fn new(model: &Gpt2, options: &RunOptions) -> Result<Self, RunError> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        };
        let engine = Engine::new(model.config(), options, threads)?;
        Ok(Self { model: model.clone(), engine, options: *options })
    }

    /// The model.
    pub const fn model(&self) -> &Gpt2 {
        &self.model
    }

    /// How many threads there are, the caller's among them.
    pub const fn threads(&self) -> usize {
        self.engine.threads()
    }

    /// The instructions that are used.
    pub const fn level(&self) -> Level {
        self.engine.level()
    }

    /// A session without a text.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] where its keys and values would not fit the limit.
    pub fn session(&self) -> Result<Session, RunError> {
        let RunOptions { cache, context, memory_limit, .. } = self.options;
        Session::new(&self.model, cache, context, memory_limit)
    }

    /// The session that [`Session::save`] made bytes of. Nothing in them is trusted.
    ///
    /// # Errors
    ///
    /// [`RunError::Session`] where they are none, or of another model; [`RunError::Token`]; [`RunError::Memory`];
    /// [`RunError::ContextFull`] where more was run than fits the context.
    pub fn restore(&self, bytes: &[u8]) -> Result<Session, RunError> {
        Session::restore(&self.model, bytes, self.options.context, self.options.memory_limit)
    }

    /// Runs the tokens of the session that were not run yet, and gives the logits after the last, one a token of the
    /// vocabulary. Where all were run, the last is run again.
    ///
    /// # Errors
    ///
    /// [`RunError::Empty`] without tokens, [`RunError::ContextFull`] where they are too many, and
    /// [`RunError::NotFinite`].
    pub fn logits(&mut self, session: &mut Session) -> Result<Vec<f32>, RunError> {
        let mut all = Vec::new();
        self.run(session, None, false, |_, logits| {
            all.extend_from_slice(logits);
            Ok(())
        })?;
        Ok(all)
    }

    /// Runs the tokens of the session that were not run yet, and gives the position and the logits of each of them: what it
    /// takes to say how likely a text is.
    ///
    /// # Errors
    ///
    /// As [`logits`](Self::logits).
    pub fn each_logits(
        &mut self,
        session: &mut Session,
        mut each: impl FnMut(usize, &[f32]),
    ) -> Result<(), RunError> {
        self.run(session, None, true, |position, logits| {
            each(position, logits);
            Ok(())
        })
    }

    /// Runs the last token of each of several sessions at once, which takes little longer than one, since every weight is
    /// read once for all; `each` gets the number of the session and its logits. Sessions that have more to run are run
    /// first, one after the other.
    ///
    /// # Errors
    ///
    /// As [`logits`](Self::logits); then none of the last tokens was run.
    pub fn step(
        &mut self,
        sessions: &mut [&mut Session],
        mut each: impl FnMut(usize, &mut [f32]),
    ) -> Result<(), RunError> {
        for session in sessions.iter_mut() {
            Self::ready(session)?;
            let last = session.tokens.len().saturating_sub(1);
            self.catch_up(session, last, None)?;
        }
        let batch = self.engine.batch();
        let (config, weights) = (self.model.config(), self.model.weights());
        for (part, first) in sessions.chunks_mut(batch).zip((0_usize..).step_by(batch)) {
            let groups = part.iter_mut().map(|session| {
                let last = session.tokens.len().saturating_sub(1);
                let Session { tokens, cache, .. } = &mut **session;
                Group { cache, tokens: tokens.get(last..).unwrap_or_default() }
            });
            let mut groups: Vec<Group<'_>> = groups.collect();
            self.engine.forward(config, weights, &mut groups, Want::All, None, |row, logits| {
                each(first.saturating_add(row), logits);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Goes on from the session's text and `prompt`: an iterator over what is chosen.
    ///
    /// # Errors
    ///
    /// [`RunError::Token`] and [`RunError::Sample`]; what goes wrong later, the iterator gives.
    pub fn generate<'r>(
        &'r mut self,
        session: &'r mut Session,
        prompt: &[u32],
        options: &GenerateOptions,
    ) -> Result<Generation<'r>, RunError> {
        session.push(prompt)?;
        Generation::new(self, session, options)
    }

    /// Whether there is something to run, and room for it; where all was run, the last token is to be run again.
    fn ready(session: &mut Session) -> Result<(), RunError> {
        let len = session.tokens.len();
        let Some(last) = len.checked_sub(1) else { return Err(RunError::Empty) };
        if len > session.capacity() {
            return Err(RunError::ContextFull { tokens: len, room: session.capacity() });
        }
        if session.run_len() > last {
            session.cache.truncate(last);
        }
        Ok(())
    }

    /// Runs what is not run yet before position `end`, without logits.
    fn catch_up(&mut self, session: &mut Session, end: usize, cancel: Option<&AtomicBool>) -> Result<(), RunError> {
        while session.run_len() < end {
            let next = session.run_len().saturating_add(self.engine.batch()).min(end);
            self.pass(session, next, Want::Nothing, cancel, &mut |_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Runs what is not run yet before position `end`, which is one batch.
    fn pass(
        &mut self,
        session: &mut Session,
        end: usize,
        want: Want,
        cancel: Option<&AtomicBool>,
        each: &mut Each<'_>,
    ) -> Result<(), RunError> {
        let (config, weights) = (self.model.config(), self.model.weights());
        let start = session.run_len();
        let tokens = session.tokens.get(start..end).unwrap_or_default();
        let mut groups = [Group { cache: &mut session.cache, tokens }];
        let each = |row: usize, logits: &mut [f32]| each(start.saturating_add(row), logits);
        self.engine.forward(config, weights, &mut groups, want, cancel, each)
    }

    /// Runs what is not run yet; `each` gets the logits of the last token, or of all.
    pub(super) fn run(
        &mut self,
        session: &mut Session,
        cancel: Option<&AtomicBool>,
        all: bool,
        mut each: impl FnMut(usize, &mut [f32]) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        Self::ready(session)?;
        let (end, batch) = (session.tokens.len(), self.engine.batch());
        while session.run_len() < end {
            let next = session.run_len().saturating_add(batch).min(end);
            let want = match (all, next == end) {
                (true, _) => Want::All,
                (false, true) => Want::Last,
                (false, false) => Want::Nothing,
            };
            self.pass(session, next, want, cancel, &mut each)?;
        }
        Ok(())
    }
}
