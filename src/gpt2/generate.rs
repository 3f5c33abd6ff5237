//! Texts that go on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::error::RunError;
use super::runner::Runner;
use super::sample::{Choice, SampleOptions, Sampler};
use super::session::Session;

/// What happens where a text has filled its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The text ends.
    #[default]
    Stop,
    /// The middle of the text is dropped: the first `keep` tokens stay, and of the others the last half of what there is
    /// room for, which is run again at its new positions.
    Slide {
        /// How many tokens at the beginning stay; at most half the context.
        keep: usize,
    },
}

/// How a text goes on.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// How tokens are chosen. The dice go on where they stood in the session; a new one begins with the seed.
    pub sample: SampleOptions,
    /// The most tokens that are chosen.
    pub tokens: usize,
    /// Tokens that end the text; they are given too. `None` for those that the model's config names.
    pub stop: Option<Vec<u32>>,
    /// What happens where the context is full.
    pub overflow: Overflow,
    /// Ends the run as soon as it is set, between two layers.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self { sample: SampleOptions::default(), tokens: 60, stop: None, overflow: Overflow::Stop, cancel: None }
    }
}

/// Why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// As many tokens were chosen as were asked for.
    Tokens,
    /// A token that ends a text was chosen.
    Stop,
    /// The context is full.
    Context,
    /// Something went wrong, or it was cancelled: the error was given.
    Error,
}

/// A text that goes on, token by token. After an error, nothing more comes.
#[derive(Debug)]
pub struct Generation<'r> {
    runner: &'r mut Runner,
    session: &'r mut Session,
    sampler: Sampler,
    options: GenerateOptions,
    stop: Vec<u32>,
    made: usize,
    finish: Option<Finish>,
}

impl<'r> Generation<'r> {
    pub(super) fn new(
        runner: &'r mut Runner,
        session: &'r mut Session,
        options: &GenerateOptions,
    ) -> Result<Self, RunError> {
        let mut sampler = Sampler::new(options.sample.clone())?;
        if let Some(random) = &session.random {
            sampler.set_random(random.clone());
        }
        let stop = options.stop.clone().unwrap_or_else(|| runner.model().config().eos().to_vec());
        Ok(Self { runner, session, sampler, options: options.clone(), stop, made: 0, finish: None })
    }

    /// Why the text ended, once it has.
    pub const fn finish(&self) -> Option<Finish> {
        self.finish
    }

    /// The session.
    pub const fn session(&self) -> &Session {
        self.session
    }

    /// Runs what is there and chooses what follows; `None` where the context is full.
    fn advance(&mut self) -> Result<Option<Choice>, RunError> {
        let (tokens, room) = (self.session.tokens.len(), self.session.capacity());
        if tokens > room {
            match self.options.overflow {
                // A prompt that never fitted is a mistake; a text that has grown too long has ended.
                Overflow::Stop if self.made == 0 => return Err(RunError::ContextFull { tokens, room }),
                Overflow::Stop => return Ok(None),
                Overflow::Slide { keep } => self.session.slide(keep),
            }
        }
        let (sampler, mut choice) = (&mut self.sampler, None);
        let penalised = self.options.sample.is_penalised();
        let history = if penalised { self.session.tokens.clone() } else { Vec::new() };
        self.runner.run(self.session, self.options.cancel.as_deref(), false, |_, logits| {
            choice = Some(sampler.choose(logits, &history)?);
            Ok(())
        })?;
        if let Some(choice) = &choice {
            self.session.tokens.push(choice.id);
            self.session.random = Some(self.sampler.random().clone());
        }
        Ok(choice)
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Choice, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finish.is_some() {
            return None;
        }
        if self.made >= self.options.tokens {
            self.finish = Some(Finish::Tokens);
            return None;
        }
        match self.advance() {
            Ok(Some(choice)) => {
                self.made = self.made.saturating_add(1);
                if self.stop.contains(&choice.id) {
                    self.finish = Some(Finish::Stop);
                }
                Some(Ok(choice))
            }
            Ok(None) => {
                self.finish = Some(Finish::Context);
                None
            }
            Err(error) => {
                self.finish = Some(Finish::Error);
                Some(Err(error))
            }
        }
    }
}

impl std::iter::FusedIterator for Generation<'_> {}

/// Looks for strings that end a text in bytes that come piece by piece, and holds back what may be the beginning of one.
///
/// ```
/// use tensorgate::gpt2::StopStrings;
/// let mut stops = StopStrings::new(["\nUser:"]);
/// assert_eq!(stops.push(b"Hello.\nUs"), b"Hello.");
/// assert_eq!(stops.push(b"e it. \nUser: and"), b"\nUse it. ");
/// assert!(stops.found());
/// assert_eq!(stops.finish(), b"");
/// ```
#[derive(Clone, Debug)]
pub struct StopStrings {
    stops: Vec<Vec<u8>>,
    held: Vec<u8>,
    found: bool,
}

impl StopStrings {
    /// Those strings; empty ones are left out.
    pub fn new<S: AsRef<[u8]>>(stops: impl IntoIterator<Item = S>) -> Self {
        let stops = stops.into_iter().map(|stop| stop.as_ref().to_vec()).filter(|stop| !stop.is_empty());
        Self { stops: stops.collect(), held: Vec::new(), found: false }
    }

    /// Takes the next bytes, and gives those that are sure to stand before any of the strings. Nothing comes after one was
    /// found.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.found {
            return Vec::new();
        }
        self.held.extend_from_slice(bytes);
        let first = (0..self.held.len()).find(|at| {
            let rest = self.held.get(*at..).unwrap_or_default();
            self.stops.iter().any(|stop| rest.starts_with(stop) || stop.starts_with(rest))
        });
        let Some(first) = first else { return std::mem::take(&mut self.held) };
        let rest = self.held.split_off(first);
        self.found = self.stops.iter().any(|stop| rest.starts_with(stop));
        let sure = std::mem::replace(&mut self.held, rest);
        if self.found {
            self.held.clear();
        }
        sure
    }

    /// Whether one of the strings was found.
    pub const fn found(&self) -> bool {
        self.found
    }

    /// What was held back, once nothing more comes: as far as the first of the strings, where one hid in the beginning of
    /// another.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut held = std::mem::take(&mut self.held);
        let first = (0..held.len()).find(|at| {
            let rest = held.get(*at..).unwrap_or_default();
            self.stops.iter().any(|stop| rest.starts_with(stop))
        });
        if let Some(first) = first {
            held.truncate(first);
            self.found = true;
        }
        held
    }
}
