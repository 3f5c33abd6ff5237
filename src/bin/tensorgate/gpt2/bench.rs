//! `bench`: how fast a model runs here.

use std::hint::black_box;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tensorgate::gpt2::{GenerateOptions, Gpt2, Runner};

use super::{Loaded, Running, ended, load, rate, tell_notes};
use crate::args::up_to;
use crate::{Exit, output, refused, text};

const EXAMPLES: &str = "\
Examples:
  tensorgate bench
  tensorgate bench gpt2/ --threads 2 --json
  tensorgate bench gpt2-q4_k_m.gguf --repack
  tensorgate bench gpt2/ --quantize q8_0 --repack";

/// Measure how fast a GPT-2 runs on this machine.
///
/// Reads the model's weights once, so that they are in memory; then the median of several rounds each: prompts of 128 and 512
/// tokens, 64 and 128 tokens one by one, and how much of the memory's bandwidth, as a plain pass over 512 MiB in between
/// reads, the latter use. It is told where the weights fit into the processor's caches. What the context has no room for is left
/// out, and said on standard error. The tokens are without meaning; the rates do not depend on them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    /// The model, as for generate; the built-in one when not given.
    model: Option<PathBuf>,

    /// How often each is measured; the median counts.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = up_to::<1000>, allow_negative_numbers = true)]
    rounds: u16,

    /// Print one JSON document.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    running: Running,
}

/// What was measured.
struct Measured {
    what: &'static str,
    tokens: usize,
    /// Tokens a second, in ascending order.
    rates: Vec<f64>,
}

impl Measured {
    fn median(&self) -> f64 {
        self.rates.get(self.rates.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Runs the command.
pub(crate) fn run(args: &Bench) -> io::Result<Exit> {
    let started = Instant::now();
    let loaded = load(args.model.as_deref(), &args.running)?;
    measure(args, started, &loaded).map_err(|error| refused::before(&loaded.name, error))
}

/// What is measured: prompts, and tokens one by one.
const WHAT: [(&str, usize); 4] = [("prefill", 128), ("prefill", 512), ("decode", 64), ("decode", 128)];

fn measure(args: &Bench, started: Instant, loaded: &Loaded) -> io::Result<Exit> {
    let mut runner = args.running.runner(&loaded.model)?;
    let loading = started.elapsed().as_secs_f64();
    tell_notes(&loaded.model);
    let first = first_token(&mut runner)?;
    let mut all: Vec<Measured> = Vec::new();
    let mut bandwidths = Vec::new();
    let room = runner.session().map_err(ended)?.capacity();
    let (fit, long): (Vec<_>, Vec<_>) = WHAT.into_iter().partition(|(_, tokens)| *tokens < room);
    all.extend(fit.into_iter().map(|(what, tokens)| Measured { what, tokens, rates: Vec::new() }));
    if !long.is_empty() {
        let long: Vec<String> = long.iter().map(|(what, tokens)| format!("{what} {tokens}")).collect();
        let long = long.join(", ");
        let room = text::count(u64::try_from(room).unwrap_or(u64::MAX), "token");
        crate::complain(&format!("note: not measured, since a context of {room} has no room for it: {long}"));
    }
    for _ in 0..args.rounds {
        for one in &mut all {
            let rate = if one.what == "prefill" {
                prefill(&mut runner, one.tokens)?
            } else {
                decode(&mut runner, one.tokens)?
            };
            one.rates.push(rate);
        }
        bandwidths.push(bandwidth(runner.threads())?);
    }
    for one in &mut all {
        one.rates.sort_by(f64::total_cmp);
    }
    bandwidths.sort_by(f64::total_cmp);
    let bandwidth = bandwidths.get(bandwidths.len() / 2).copied().unwrap_or(0.0);
    let repack = args.running.repack;
    let outcome = Outcome {
        name: &loaded.name,
        model: &loaded.model,
        repack,
        runner: &runner,
        loading,
        first,
        all,
        bandwidth,
        caches: caches(),
    };
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &outcome.json())?;
        writeln!(out)?;
    } else {
        outcome.human(&mut out)?;
    }
    out.flush()?;
    Ok(Exit::Accepted)
}

/// Tokens without meaning.
fn tokens(model: &Gpt2, count: usize, seed: usize) -> Vec<u32> {
    let vocabulary = model.config().n_vocab().max(1);
    let id = |at: usize| at.wrapping_mul(7919).wrapping_add(seed.wrapping_mul(104_729)).checked_rem(vocabulary);
    (1..=count).filter_map(|at| u32::try_from(id(at)?).ok()).collect()
}

/// The seconds until the first token after a prompt of 16, or as many as there is room for, with weights that were perhaps
/// never read; and how many they were.
fn first_token(runner: &mut Runner) -> io::Result<(usize, f64)> {
    let started = Instant::now();
    let mut session = runner.session().map_err(ended)?;
    let prompt = tokens(runner.model(), 16.min(session.capacity()), 1);
    session.push(&prompt).map_err(ended)?;
    black_box(runner.logits(&mut session).map_err(ended)?);
    Ok((prompt.len(), started.elapsed().as_secs_f64()))
}

fn prefill(runner: &mut Runner, count: usize) -> io::Result<f64> {
    let mut session = runner.session().map_err(ended)?;
    let prompt = tokens(runner.model(), count, 2);
    session.push(&prompt).map_err(ended)?;
    let started = Instant::now();
    black_box(runner.logits(&mut session).map_err(ended)?);
    Ok(rate(count, started.elapsed().as_secs_f64()))
}

fn decode(runner: &mut Runner, count: usize) -> io::Result<f64> {
    let mut session = runner.session().map_err(ended)?;
    let prompt = tokens(runner.model(), 1, 3);
    let options = GenerateOptions { tokens: count, stop: Some(Vec::new()), ..GenerateOptions::default() };
    let mut run = runner.generate(&mut session, &prompt, &options).map_err(ended)?;
    let started = Instant::now();
    run.try_for_each(|choice| choice.map(|choice| drop(black_box(choice)))).map_err(ended)?;
    Ok(rate(count, started.elapsed().as_secs_f64()))
}

/// Bytes a second that the threads read together, of 512 MiB, which no cache holds.
fn bandwidth(threads: usize) -> io::Result<f64> {
    const WORDS: usize = (512 << 20) / 8;
    let mut words: Vec<u64> = Vec::new();
    words.try_reserve_exact(WORDS).map_err(|_| io::Error::other("no memory to measure the bandwidth with"))?;
    words.resize(WORDS, 1);
    let share = WORDS.div_ceil(threads.max(1));
    let sum = |part: &[u64]| {
        let (blocks, _) = part.as_chunks::<32>();
        let mut sums = [0_u64; 32];
        for block in blocks {
            for (sum, word) in sums.iter_mut().zip(block) {
                *sum = sum.wrapping_add(*word);
            }
        }
        black_box(sums);
    };
    let started = Instant::now();
    thread::scope(|scope| {
        let mut parts = words.chunks(share);
        parts.try_for_each(|part| thread::Builder::new().spawn_scoped(scope, move || sum(part)).map(drop))
    })?;
    Ok(f64::from(512_u32 << 20) / started.elapsed().as_secs_f64())
}

/// Resident memory now and at its most, in bytes, where the system tells.
fn resident() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

/// Bytes that the largest cache of the first processor holds, where the system tells.
fn caches() -> Option<u64> {
    let sizes = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?.filter_map(|entry| {
        let size = std::fs::read_to_string(entry.ok()?.path().join("size")).ok()?;
        size.trim().strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
    });
    sizes.max()
}

struct Outcome<'a> {
    name: &'a str,
    model: &'a Gpt2,
    repack: bool,
    runner: &'a Runner,
    loading: f64,
    /// Tokens of the first prompt, and the seconds until the token after it.
    first: (usize, f64),
    all: Vec<Measured>,
    bandwidth: f64,
    /// Bytes that the processor's caches hold, where the system tells.
    caches: Option<u64>,
}

impl Outcome<'_> {
    /// The share of the memory's bandwidth that so many tokens a second use. It is above 1 where weights stay in caches, or where
    /// they are read better than a plain pass over memory is.
    fn share(&self, rate: f64) -> f64 {
        let bytes = u32::try_from(self.model.bytes_per_token() >> 10).map_or(0.0, f64::from) * 1024.0;
        rate * bytes / self.bandwidth
    }

    /// The share in words, and whether the weights may have come from the caches.
    fn told_share(&self, rate: f64) -> String {
        let percent = self.share(rate) * 100.0;
        match self.caches.filter(|caches| self.model.bytes_per_token() <= *caches) {
            Some(caches) => {
                format!("{percent:.0} % of the bandwidth, or from the caches ({})", text::rough(caches))
            }
            None => format!("{percent:.0} % of the bandwidth"),
        }
    }

    fn json(&self) -> Value {
        let each = self.all.iter().map(|one| {
            let median = one.median();
            let share = (one.what == "decode").then(|| self.share(median));
            json!({
                "what": one.what,
                "tokens": one.tokens,
                "tokens_per_second": median,
                "least": one.rates.first(),
                "most": one.rates.last(),
                "share_of_bandwidth": share,
            })
        });
        let memory = resident();
        json!({
            "model": self.name,
            "threads": self.runner.threads(),
            "processors": thread::available_parallelism().map_or(1, NonZero::get),
            "level": self.runner.level().name(),
            "repack": self.repack,
            "load_ms": self.loading * 1e3,
            "first_token_ms": self.first.1 * 1e3,
            "first_token_after": self.first.0,
            "bytes_per_token": self.model.bytes_per_token(),
            "read_bytes_per_second": self.bandwidth,
            "cache_bytes": self.caches,
            "resident_bytes": memory.map(|(now, _)| now),
            "resident_most_bytes": memory.map(|(_, most)| most),
            "measured": each.collect::<Vec<Value>>(),
        })
    }

    fn human(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.name)?;
        let (threads, level) = (self.runner.threads(), self.runner.level());
        writeln!(out, "threads {threads}, {level}; weights a token: {}", text::size(self.model.bytes_per_token()))?;
        let (after, seconds) = self.first;
        writeln!(out, "load {:.1} ms; first token after {after}: {:.1} ms", self.loading * 1e3, seconds * 1e3)?;
        for one in &self.all {
            let (median, least, most) = (one.median(), one.rates.first(), one.rates.last());
            let (least, most) = (least.copied().unwrap_or(0.0), most.copied().unwrap_or(0.0));
            write!(out, "{} {}: {median:.1} tokens/s ({least:.1} to {most:.1})", one.what, one.tokens)?;
            if one.what == "decode" {
                write!(out, ", {}", self.told_share(median))?;
            }
            writeln!(out)?;
        }
        writeln!(out, "memory is read at {:.1} GB/s", self.bandwidth / 1e9)?;
        if let Some((_, most)) = resident() {
            writeln!(
                out,
                "resident memory at the most, the measuring's own 512 MiB among it: {}",
                text::size(most)
            )?;
        }
        Ok(())
    }
}
