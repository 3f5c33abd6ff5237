//! From logits to a token.

use std::cmp::Ordering;
use std::fmt;

use super::random::Random;
use crate::simd::{self, Level};

/// How a token is chosen. The default is greedy.
///
/// What is asked for is applied in the order in which Hugging Face's transformers does: the bias, the penalty for
/// repetition, the temperature, top-k, top-p, min-p, and then the throw of the dice.
///
/// ```
/// use tensorgate::gpt2::{SampleOptions, Sampler};
/// # fn main() -> Result<(), tensorgate::gpt2::SampleError> {
/// let mut greedy = Sampler::new(SampleOptions::default())?;
/// assert_eq!(greedy.choose(&mut [0.1, 2.5, -3.0], &[])?.id, 1);
///
/// let options = SampleOptions { temperature: 0.8, top_k: 2, seed: 42, ..SampleOptions::default() };
/// let mut sampler = Sampler::new(options)?;
/// assert!(sampler.choose(&mut [0.1, 2.5, -3.0], &[])?.id < 2); // never the third best
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SampleOptions {
    /// Logits are divided by it; 0 is greedy: the greatest logit, the first of several.
    pub temperature: f32,
    /// Only so many of the best tokens are left in; 0 for all.
    pub top_k: usize,
    /// Only the best tokens that together have this much of the probability are left in; 1 for all.
    pub top_p: f32,
    /// Only tokens that are at least this times as likely as the likeliest are left in; 0 for all.
    pub min_p: f32,
    /// Positive logits of tokens that were there are divided by it, negative ones multiplied; 1 for none. (Keskar et al.
    /// 2019, *CTRL*, 4.1, as transformers applies it.)
    pub repetition_penalty: f32,
    /// How many of the last tokens the penalty looks at; 0 for all.
    pub repetition_window: usize,
    /// What is added to the logits of some tokens; minus infinity rules a token out.
    pub bias: Vec<(u32, f32)>,
    /// Where the generator begins: xoshiro256++, seeded by SplitMix64. The same seed gives the same numbers everywhere;
    /// the same text only where the logits and the system's exponential function are the same to the last bit.
    pub seed: u64,
    /// Whether [`Choice::log_probability`] is worked out, which takes a pass over the vocabulary.
    pub log_probability: bool,
    /// How many of the likeliest tokens are given with their log-probabilities.
    pub alternatives: usize,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            repetition_window: 0,
            bias: Vec::new(),
            seed: 0,
            log_probability: false,
            alternatives: 0,
        }
    }
}

impl SampleOptions {
    /// Whether tokens that were there are penalised.
    pub(super) fn is_penalised(&self) -> bool {
        self.repetition_penalty.to_bits() != 1.0_f32.to_bits()
    }
}

/// Why no token was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleError {
    /// An option is outside its range; its name and the range.
    Option(&'static str, &'static str),
    /// The logit of this token is not a number, or infinite.
    NotFinite(usize),
    /// A bias is for a token that the vocabulary does not have.
    BiasToken(u32),
    /// The biases rule every token out, or there is none.
    Nothing,
}

impl fmt::Display for SampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name, range) => write!(f, "{name} must be {range}"),
            Self::NotFinite(id) => write!(f, "the logit of token {id} is not a finite number"),
            Self::BiasToken(id) => write!(f, "a bias is for token {id}, which the vocabulary does not have"),
            Self::Nothing => f.write_str("no token is left to choose from"),
        }
    }
}

impl std::error::Error for SampleError {}

/// A token that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The token.
    pub id: u32,
    /// The natural logarithm of the probability that the model itself gives the token: of the logits as they came, without
    /// bias, penalty and temperature.
    pub log_probability: Option<f32>,
    /// The likeliest tokens by the same measure, the likeliest first.
    pub alternatives: Vec<(u32, f32)>,
}

/// A logit and its token.
type Candidate = (f32, u32);

/// The better one first: by logit, and of equal ones the first token.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "what sorting takes")]
fn better(a: &Candidate, b: &Candidate) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// Chooses tokens, and remembers where its generator stands.
#[derive(Clone, Debug)]
pub struct Sampler {
    options: SampleOptions,
    random: Random,
    candidates: Vec<Candidate>,
    seen: Vec<u32>,
}

impl Sampler {
    /// A sampler at the beginning of its seed's sequence.
    ///
    /// # Errors
    ///
    /// [`SampleError::Option`] where an option is outside its range.
    pub fn new(options: SampleOptions) -> Result<Self, SampleError> {
        let wrong = |name, range| Err(SampleError::Option(name, range));
        if !(options.temperature.is_finite() && options.temperature >= 0.0) {
            return wrong("temperature", "0 or more, and finite");
        }
        if !(options.top_p > 0.0 && options.top_p <= 1.0) {
            return wrong("top_p", "above 0, at most 1");
        }
        if !(0.0..=1.0).contains(&options.min_p) {
            return wrong("min_p", "from 0 to 1");
        }
        if !(options.repetition_penalty.is_finite() && options.repetition_penalty > 0.0) {
            return wrong("repetition_penalty", "above 0, and finite");
        }
        if options.bias.iter().any(|(_, bias)| bias.is_nan() || *bias == f32::INFINITY) {
            return wrong("bias", "a number, or minus infinity");
        }
        let random = Random::new(options.seed);
        Ok(Self { options, random, candidates: Vec::new(), seen: Vec::new() })
    }

    /// The options.
    pub const fn options(&self) -> &SampleOptions {
        &self.options
    }

    pub(crate) const fn random(&self) -> &Random {
        &self.random
    }

    pub(crate) const fn set_random(&mut self, random: Random) {
        self.random = random;
    }

    /// Chooses a token by its logits, one a token of the vocabulary. `history` is the text so far, for the penalty. The
    /// logits are changed.
    ///
    /// # Errors
    ///
    /// [`SampleError::NotFinite`] where a logit is not a number or infinite, [`SampleError::BiasToken`], and
    /// [`SampleError::Nothing`].
    pub fn choose(&mut self, logits: &mut [f32], history: &[u32]) -> Result<Choice, SampleError> {
        check(logits)?;
        let wanted = self.options.log_probability || self.options.alternatives > 0;
        let total = if wanted { log_sum(logits) } else { 0.0 };
        let mut alternatives = Vec::new();
        if self.options.alternatives > 0 {
            best(logits, self.options.alternatives, &mut self.candidates);
            alternatives.extend(self.candidates.iter().map(|(logit, id)| (*id, single(f64::from(*logit) - total))));
        }
        let biased = self.adjust(logits, history)?;
        let id = if self.options.temperature == 0.0 { greatest(logits) } else { self.throw(logits) };
        let id = id.ok_or(SampleError::Nothing)?;
        let own = |id: u32| {
            let now = logits.get(crate::num::widen32(id)).copied().unwrap_or(f32::NEG_INFINITY);
            let raw = biased.iter().find_map(|(at, raw)| (*at == id).then_some(*raw)).unwrap_or(now);
            single(f64::from(raw) - total)
        };
        let log_probability = self.options.log_probability.then(|| own(id));
        Ok(Choice { id, log_probability, alternatives })
    }

    /// Applies the biases and the penalty; gives the logits that were changed as they were, where they will be asked for.
    fn adjust(&mut self, logits: &mut [f32], history: &[u32]) -> Result<Vec<(u32, f32)>, SampleError> {
        let mut changed = Vec::new();
        let keep = self.options.log_probability;
        for (id, bias) in &self.options.bias {
            let logit = logits.get_mut(crate::num::widen32(*id)).ok_or(SampleError::BiasToken(*id))?;
            if keep {
                changed.push((*id, *logit));
            }
            *logit = (*logit + bias).min(f32::MAX);
        }
        let penalty = self.options.repetition_penalty;
        if self.options.is_penalised() {
            let window = match self.options.repetition_window {
                0 => history.len(),
                window => window.min(history.len()),
            };
            let recent = history.get(history.len().saturating_sub(window)..).unwrap_or_default();
            self.seen.clear();
            self.seen.extend_from_slice(recent);
            self.seen.sort_unstable();
            self.seen.dedup();
            for id in &self.seen {
                let Some(logit) = logits.get_mut(crate::num::widen32(*id)) else { continue };
                if keep {
                    changed.push((*id, *logit));
                }
                let changed = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
                *logit = changed.min(f32::MAX);
            }
        }
        Ok(changed)
    }

    /// Throws the dice among what the cuts leave.
    fn throw(&mut self, logits: &[f32]) -> Option<u32> {
        let most = most(logits);
        if most == f32::NEG_INFINITY {
            return None;
        }
        let options = &self.options;
        let inverse = 1.0 / f64::from(options.temperature);
        let weight = |logit: f32| ((f64::from(logit) - f64::from(most)) * inverse).exp();
        if options.top_k == 0 && options.top_p >= 1.0 && options.min_p == 0.0 {
            let total: f64 = logits.iter().map(|logit| weight(*logit)).sum();
            let all = logits.iter().zip(0_u32..).map(|(logit, id)| (weight(*logit), id));
            return pick(all, self.random.unit() * total);
        }
        if options.top_k > 0 {
            best(logits, options.top_k, &mut self.candidates);
        } else if options.top_p < 1.0 {
            nucleus(logits, options.top_p, weight, &mut self.candidates);
        } else {
            self.candidates.clear();
            self.candidates.extend(logits.iter().copied().zip(0_u32..));
        }
        if options.min_p > 0.0 {
            let least = f64::from(options.min_p);
            self.candidates.retain(|(logit, _)| weight(*logit) >= least);
        }
        if options.top_k > 0 && options.top_p < 1.0 {
            let total: f64 = self.candidates.iter().map(|(logit, _)| weight(*logit)).sum();
            let kept = reach(&self.candidates, total * f64::from(options.top_p), weight);
            self.candidates.truncate(kept);
        }
        let total: f64 = self.candidates.iter().map(|(logit, _)| weight(*logit)).sum();
        let left = self.candidates.iter().map(|(logit, id)| (weight(*logit), *id));
        pick(left, self.random.unit() * total)
    }
}

/// Refuses logits that are no finite numbers, and none at all.
fn check(logits: &[f32]) -> Result<(), SampleError> {
    if logits.is_empty() {
        return Err(SampleError::Nothing);
    }
    // Without a branch inside, so that it is done many at a time.
    let sound = logits.iter().fold(true, |sound, logit| sound & (logit.abs() <= f32::MAX));
    if sound {
        return Ok(());
    }
    Err(SampleError::NotFinite(logits.iter().position(|logit| !logit.is_finite()).unwrap_or(0)))
}

/// The first of the greatest logits; `None` where all are ruled out.
fn greatest(logits: &[f32]) -> Option<u32> {
    let at = simd::argmax(Level::best(), logits)?;
    logits.get(at).filter(|logit| **logit > f32::NEG_INFINITY)?;
    u32::try_from(at).ok()
}

/// The greatest of the logits.
fn most(logits: &[f32]) -> f32 {
    let at = simd::argmax(Level::best(), logits);
    at.and_then(|at| logits.get(at)).copied().unwrap_or(f32::NEG_INFINITY)
}

/// The logarithm of the sum of the exponentials.
fn log_sum(logits: &[f32]) -> f64 {
    let most = f64::from(most(logits));
    most + logits.iter().map(|logit| (f64::from(*logit) - most).exp()).sum::<f64>().ln()
}

/// The `count` best tokens, the best first, without those that are ruled out. One pass over the logits: what is not better
/// than the worst of the best so far is passed by, many at a time.
fn best(logits: &[f32], count: usize, into: &mut Vec<Candidate>) {
    const RUN: usize = 32;
    into.clear();
    let count = count.min(logits.len());
    let room = count.saturating_mul(2).max(64);
    let mut least = f32::NEG_INFINITY;
    for (run, start) in logits.chunks(RUN).zip((0_usize..).step_by(RUN)) {
        if run.iter().fold(0_u8, |any, logit| any | u8::from(*logit > least)) == 0 {
            continue;
        }
        let first = u32::try_from(start).unwrap_or(u32::MAX);
        into.extend(run.iter().copied().zip(first..).filter(|(logit, _)| *logit > least));
        if into.len() >= room {
            least = cut(into, count, least);
        }
    }
    cut(into, count, least);
    into.sort_unstable_by(better);
}

/// Keeps the `count` best; gives the logit of the worst of them where there are so many, else `least`.
fn cut(candidates: &mut Vec<Candidate>, count: usize, least: f32) -> f32 {
    let Some(place) = count.checked_sub(1) else {
        candidates.clear();
        return f32::MAX;
    };
    if candidates.len() <= count {
        return if candidates.len() < count { least } else { worst(candidates) };
    }
    candidates.select_nth_unstable_by(place, better);
    candidates.truncate(count);
    worst(candidates)
}

fn worst(candidates: &[Candidate]) -> f32 {
    candidates.iter().map(|(logit, _)| *logit).fold(f32::INFINITY, f32::min)
}

/// The best tokens that together have `share` of the probability, the best first.
fn nucleus(logits: &[f32], share: f32, weight: impl Fn(f32) -> f64 + Copy, into: &mut Vec<Candidate>) {
    let wanted = logits.iter().map(|logit| weight(*logit)).sum::<f64>() * f64::from(share);
    let mut count = 128_usize;
    loop {
        best(logits, count, into);
        let kept = reach(into, wanted, weight);
        if kept < into.len() || count >= logits.len() {
            into.truncate(kept);
            return;
        }
        count = count.saturating_mul(8);
    }
}

/// How many of the candidates, from the first, together reach `wanted`; all where they do not.
fn reach(candidates: &[Candidate], wanted: f64, weight: impl Fn(f32) -> f64) -> usize {
    let mut sum = 0.0;
    for (at, (logit, _)) in candidates.iter().enumerate() {
        sum += weight(*logit);
        if sum >= wanted {
            return at.saturating_add(1);
        }
    }
    candidates.len()
}

/// The one on whose stretch of the line `target` falls; the last that weighs anything, where rounding went past the end.
fn pick(candidates: impl Iterator<Item = (f64, u32)>, target: f64) -> Option<u32> {
    let (mut sum, mut last) = (0.0, None);
    for (weight, id) in candidates {
        if weight <= 0.0 {
            continue;
        }
        sum += weight;
        last = Some(id);
        if sum > target {
            break;
        }
    }
    last
}

/// The nearest 32-bit float.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
const fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests;
