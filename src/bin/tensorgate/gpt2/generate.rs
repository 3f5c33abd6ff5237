//! `generate`: a text that goes on.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tensorgate::gpt2::{
    Finish, GenerateOptions, Overflow, RunError, Runner, SampleOptions, Sampler, Session, StopStrings,
};
use tensorgate::tokenizer::{StreamDecoder, Tokenizer};

use super::{Loaded, Running, load, of_model, rate, tell_notes};
use crate::args::{number, whole};
use crate::{Exit, output, text};

const EXAMPLES: &str = "\
Examples:
  tensorgate generate
  tensorgate generate \"It is a truth\"
  tensorgate generate gpt2/ \"Once upon a time\" --tokens 100
  tensorgate generate model.gguf --interactive
  echo \"Hello\" | tensorgate generate gpt2/model.safetensors - --temperature 0
  tensorgate generate gpt2/ \"Hello\" --quantize q8_0 --json
  tensorgate generate gpt2-q8_0.gguf \"Hello\" --repack";

/// Go on from a text with a GPT-2.
///
/// MODEL is a safetensors file, an index or a folder, with config.json and the vocabulary (vocab.json and merges.txt, or
/// tokenizer.json) beside it, or a GGUF file of the gpt2 architecture. Without one, a small model that was trained on Jane
/// Austen's novels writes, which the program carries; a single argument that is no file and has spaces is its prompt.
///
/// The text goes to standard output, what it took to standard error. Nothing in MODEL is trusted or run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Generate {
    /// The model; the built-in one when not given.
    model: Option<PathBuf>,

    /// The text to go on from; "-" is standard input.
    prompt: Option<String>,

    /// The most tokens to write.
    #[arg(long, short = 'n', default_value_t = 60, value_name = "N", value_parser = whole::<usize>)]
    tokens: usize,

    /// How daring the choices are; 0 always takes the likeliest token.
    #[arg(long, default_value_t = 0.8, value_name = "T", value_parser = number, allow_negative_numbers = true)]
    temperature: f32,

    /// Choose among so many of the likeliest tokens; 0 for all.
    #[arg(long, default_value_t = 40, value_name = "K", value_parser = whole::<usize>)]
    top_k: usize,

    /// Choose among the likeliest tokens that together have this probability.
    #[arg(long, default_value_t = 1.0, value_name = "P", value_parser = number, allow_negative_numbers = true)]
    top_p: f32,

    /// Choose among tokens that are at least this times as likely as the likeliest.
    #[arg(long, default_value_t = 0.0, value_name = "P", value_parser = number, allow_negative_numbers = true)]
    min_p: f32,

    /// Make tokens that were there less likely; 1 for no change.
    #[arg(long, default_value_t = 1.0, value_name = "R", value_parser = number, allow_negative_numbers = true)]
    repetition_penalty: f32,

    /// Where the dice begin: the same seed gives the same text.
    #[arg(long, default_value_t = 42, value_name = "N", value_parser = whole::<u64>)]
    seed: u64,

    /// End before this text; may be given several times.
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,

    /// Where the context is full, drop the middle of the text and go on, instead of ending.
    #[arg(long)]
    slide: bool,

    /// Ask for a text again and again; each goes on from all before.
    #[arg(long, short, conflicts_with = "json")]
    interactive: bool,

    /// Print one JSON document at the end.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    running: Running,
}

/// What was asked for, once it is clear what is the model and what is the prompt.
struct Asked<'a> {
    model: Option<&'a Path>,
    prompt: Option<&'a str>,
}

impl Generate {
    fn asked(&self) -> Asked<'_> {
        let Some(first) = &self.model else { return Asked { model: None, prompt: None } };
        if self.prompt.is_some() || first.exists() {
            return Asked { model: Some(first), prompt: self.prompt.as_deref() };
        }
        match first.to_str() {
            Some(text) if text == "-" || text.contains(char::is_whitespace) => {
                Asked { model: None, prompt: Some(text) }
            }
            _ => Asked { model: Some(first), prompt: None },
        }
    }

    /// What could have been meant by a single word that is no model.
    fn hint(&self, error: io::Error) -> io::Error {
        let word = self.model.as_deref().filter(|path| self.prompt.is_none() && !path.exists());
        match word.and_then(Path::to_str) {
            Some(word) if !word.is_empty() && word.chars().all(char::is_alphanumeric) => io::Error::other(format!(
                "{error}\nwhere {0} is no model but a prompt: echo {0} | tensorgate generate -",
                text::ascii(word)
            )),
            _ => error,
        }
    }

    fn options(&self) -> GenerateOptions {
        let sample = SampleOptions {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            seed: self.seed,
            log_probability: self.json,
            ..SampleOptions::default()
        };
        let overflow = if self.slide { Overflow::Slide { keep: 0 } } else { Overflow::Stop };
        GenerateOptions { sample, tokens: self.tokens, overflow, ..GenerateOptions::default() }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Generate) -> io::Result<Exit> {
    let started = Instant::now();
    let (asked, options) = (args.asked(), args.options());
    // What is asked for wrongly is said before anything is loaded.
    Sampler::new(options.sample.clone()).map_err(io::Error::other)?;
    let loaded = load(asked.model, &args.running).map_err(|error| args.hint(error))?;
    tell_notes(&loaded.model);
    let Loaded { model, tokenizer: Some(tokenizer), name } = &loaded else {
        let what =
            "there is no vocabulary: vocab.json and merges.txt, or tokenizer.json, must stand beside the model";
        return Err(io::Error::other(what));
    };
    if tokenizer.vocab_size() > model.config().n_vocab() {
        let (has, knows) = (tokenizer.vocab_size(), model.config().n_vocab());
        return Err(io::Error::other(format!("the vocabulary has {has} tokens, and the model knows {knows}")));
    }
    let mut runner = args.running.runner(model)?;
    let session = runner.session().map_err(io::Error::other)?;
    let loading = started.elapsed();
    let mut writer = Writer { runner: &mut runner, session, tokenizer, options, stops: &args.stop, loading };
    if args.interactive {
        return writer.interactive(asked.prompt, name);
    }
    let prompt = match asked.prompt {
        Some("-") => standard_input()?,
        Some(text) => text.to_owned(),
        None if asked.model.is_none() => "It is a truth universally acknowledged, that".to_owned(),
        None => String::new(),
    };
    let ids = match (prompt.is_empty(), model.config().eos()) {
        (false, _) => tokenizer.encode(prompt.as_bytes()),
        (true, [end, ..]) => vec![*end],
        (true, []) => {
            return Err(io::Error::other(
                "there is no prompt, and the model has no token to begin a text with: give a PROMPT behind the model, or \
                 \"-\" for standard input",
            ));
        }
    };
    if args.json {
        return writer.document(&prompt, &ids, name).map_err(|error| of_model(name, error));
    }
    let mut out = Terminal::new();
    out.write(&prompt)?;
    let report = writer.line(&ids, &mut out, name)?;
    report.tell();
    Ok(Exit::Accepted)
}

fn standard_input() -> io::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(16 << 20).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("standard input is not UTF-8"))
}

/// Standard output, on which nothing that a model writes moves the cursor or changes colours.
struct Terminal {
    guarded: bool,
}

impl Terminal {
    fn new() -> Self {
        Self { guarded: io::stdout().is_terminal() }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let mut out = output::raw();
        if self.guarded && text.contains(is_control) {
            let shown: String = text.chars().flat_map(shown).collect();
            out.write_all(shown.as_bytes())?;
        } else {
            out.write_all(text.as_bytes())?;
        }
        out.flush()
    }
}

/// Whether a terminal could take the character for more than a letter; so are those that turn the direction of writing.
fn is_control(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n' && c != '\t')
}

fn shown(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) = if is_control(c) { (None, Some(c.escape_default())) } else { (Some(c), None) };
    plain.into_iter().chain(escaped.into_iter().flatten())
}

/// What it took.
struct Report {
    loading: Duration,
    threads: usize,
    level: &'static str,
    /// Tokens of the prompt that were run, and the seconds until the first token was chosen.
    prompt: usize,
    first: f64,
    /// Tokens that were chosen, and the seconds from the first on.
    made: usize,
    rest: f64,
    finish: Option<Finish>,
}

impl Report {
    fn tell(&self) {
        let Self { threads, level, prompt, made, .. } = self;
        let load = self.loading.as_secs_f64() * 1e3;
        let (prefill, decode) = (rate(*prompt, self.first), rate(made.saturating_sub(1), self.rest));
        let plural = if *threads == 1 { "" } else { "s" };
        crate::complain(&format!(
            "load {load:.0} ms; prompt {prompt} tokens, {prefill:.0} tokens/s; {made} tokens written, {decode:.0} tokens/s; \
             {threads} thread{plural}, {level}{}",
            match self.finish {
                Some(Finish::Context) => "; the context is full",
                _ => "",
            }
        ));
    }
}

/// An error, with what can be done where the text is too long; the model knows so many positions.
fn advised(error: RunError, most: usize) -> io::Error {
    let RunError::ContextFull { room, .. } = error else { return io::Error::other(error) };
    let more = if room < most { format!(", give it more with --context (up to {most})") } else { String::new() };
    io::Error::other(format!("{error}: shorten the text{more}, or let --slide drop the middle of it"))
}

/// A session and all that it takes to go on with it.
struct Writer<'a> {
    runner: &'a mut Runner,
    session: Session,
    tokenizer: &'a Tokenizer,
    options: GenerateOptions,
    stops: &'a [String],
    loading: Duration,
}

impl Writer<'_> {
    /// Goes on from the tokens, writes the text as it comes, and ends the line, whatever became of the text.
    fn line(&mut self, ids: &[u32], out: &mut Terminal, name: &str) -> io::Result<Report> {
        let outcome = self.write(ids, out).map_err(|error| of_model(name, error));
        out.write("\n")?;
        outcome
    }

    /// Goes on from the tokens, and writes the text as it comes.
    fn write(&mut self, ids: &[u32], out: &mut Terminal) -> io::Result<Report> {
        let mut text = StreamDecoder::new();
        let mut stops = StopStrings::new(self.stops);
        let report = self.each(ids, &mut stops, |_, _, bytes| out.write(text.push(bytes)))?;
        let rest = stops.finish();
        out.write(text.push(&rest))?;
        out.write(text.finish())?;
        Ok(report)
    }

    /// Goes on from the tokens; `take` gets each token, its log-probability, and the bytes that are sure to belong to the text.
    fn each(
        &mut self,
        ids: &[u32],
        stops: &mut StopStrings,
        mut take: impl FnMut(u32, Option<f32>, &[u8]) -> io::Result<()>,
    ) -> io::Result<Report> {
        let started = Instant::now();
        let (threads, level, loading) = (self.runner.threads(), self.runner.level().name(), self.loading);
        let prompt = self.session.tokens().len().saturating_add(ids.len()).saturating_sub(self.session.run_len());
        let mut report = Report { loading, threads, level, prompt, first: 0.0, made: 0, rest: 0.0, finish: None };
        let run = self.runner.generate(&mut self.session, ids, &self.options);
        let mut run = run.map_err(io::Error::other)?;
        let ends = run.session().model().config().eos().to_vec();
        let most = run.session().model().config().n_positions();
        let mut first = started;
        for choice in run.by_ref() {
            let choice = choice.map_err(|error| advised(error, most))?;
            if report.made == 0 {
                first = Instant::now();
                report.first = first.duration_since(started).as_secs_f64();
            }
            report.made = report.made.saturating_add(1);
            let bytes = self.tokenizer.token_bytes(choice.id).filter(|_| !ends.contains(&choice.id));
            let sure = stops.push(bytes.unwrap_or_default());
            take(choice.id, choice.log_probability, &sure)?;
            if stops.found() {
                break;
            }
        }
        report.rest = first.elapsed().as_secs_f64();
        report.finish = run.finish();
        Ok(report)
    }

    /// Asks for texts until there are none.
    fn interactive(&mut self, prompt: Option<&str>, name: &str) -> io::Result<Exit> {
        let mut out = Terminal::new();
        let asks = io::stdin().is_terminal();
        let mut next = prompt.filter(|text| *text != "-").map(str::to_owned);
        loop {
            if next.is_none() {
                if asks {
                    out.write("> ")?;
                }
                let mut line = String::new();
                if io::stdin().lock().take(1 << 20).read_line(&mut line)? == 0 {
                    return Ok(Exit::Accepted);
                }
                next = Some(line.trim_end_matches(['\r', '\n']).to_owned());
            }
            let line = next.take().unwrap_or_default();
            let ids = self.tokenizer.encode(line.as_bytes());
            if ids.is_empty() && self.session.tokens().is_empty() {
                continue;
            }
            let report = self.line(&ids, &mut out, name)?;
            if asks {
                report.tell();
            }
        }
    }

    /// One JSON document.
    fn document(&mut self, prompt: &str, ids: &[u32], name: &str) -> io::Result<Exit> {
        let mut stops = StopStrings::new(self.stops);
        let (mut text, mut tokens) = (Vec::new(), Vec::new());
        let report = self.each(ids, &mut stops, |id, log_probability, bytes| {
            text.extend_from_slice(bytes);
            tokens.push(json!({ "id": id, "log_probability": log_probability }));
            Ok(())
        })?;
        text.extend(stops.finish());
        let finish = match report.finish {
            _ if stops.found() => "stop_string",
            Some(Finish::Stop) => "stop_token",
            Some(Finish::Context) => "context",
            _ => "tokens",
        };
        let document = json!({
            "model": name,
            "prompt": prompt,
            "prompt_ids": ids,
            "text": String::from_utf8_lossy(&text),
            "tokens": tokens,
            "finish": finish,
            "seed": self.options.sample.seed,
            "threads": report.threads,
            "level": report.level,
            "load_ms": report.loading.as_secs_f64() * 1e3,
            "prompt_tokens_per_second": rate(report.prompt, report.first),
            "tokens_per_second": rate(report.made.saturating_sub(1), report.rest),
        });
        let mut out = output::stdout();
        output::json(&mut out, &document)?;
        writeln!(out)?;
        out.flush()?;
        Ok(Exit::Accepted)
    }
}
