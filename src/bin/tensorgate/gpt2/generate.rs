//! `generate`: a text that goes on.

#[cfg(unix)]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tensorgate::gpt2::{GenerateOptions, Gpt2, Overflow, SampleOptions, Sampler};
use tensorgate::tokenizer::Tokenizer;

use super::writer::Writer;
use super::{Loaded, Running, ended, load, prompt, tell_notes};
use crate::args::{filled, number, whole};
use crate::refused::{self, Refused};
use crate::terminal::Terminal;
use crate::{Exit, complain, text};

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
    #[arg(long, short = 'n', default_value_t = 60, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    tokens: usize,

    /// How daring the choices are; 0 always takes the likeliest token.
    #[arg(long, default_value_t = 0.8, value_name = "T", value_parser = number, allow_negative_numbers = true)]
    temperature: f32,

    /// Choose among so many of the likeliest tokens; 0 for all.
    #[arg(long, default_value_t = 40, value_name = "K", value_parser = whole::<usize>, allow_negative_numbers = true)]
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
    #[arg(long, default_value_t = 42, value_name = "N", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,

    /// End before this text; may be given several times.
    #[arg(long, value_name = "TEXT", value_parser = filled)]
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

impl Asked<'_> {
    /// The prompt's text.
    fn text(&self) -> io::Result<String> {
        match self.prompt {
            Some("-") => prompt::whole(io::stdin().lock()),
            Some(text) => Ok(text.to_owned()),
            None if self.model.is_none() => Ok("It is a truth universally acknowledged, that".to_owned()),
            None => Ok(String::new()),
        }
    }
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
    if asked.prompt.is_none() && !args.interactive && is_given(&io::stdin()) {
        complain("note: standard input is not read: give \"-\" as PROMPT to go on from what comes there");
    }
    let Loaded { model, vocabulary, name } = load(asked.model, &args.running).map_err(|error| args.hint(error))?;
    tell_notes(&model);
    let tokenizer = vocabulary.needed()?;
    if tokenizer.vocab_size() > model.config().n_vocab() {
        let (has, knows) = (tokenizer.vocab_size(), model.config().n_vocab());
        return Err(Refused::error(format!(
            "{name}: the vocabulary has {has} tokens, and the model knows {knows}"
        )));
    }
    let mut runner = args.running.runner(&model)?;
    let session = runner.session().map_err(ended)?;
    let loading = started.elapsed();
    let stops = &args.stop;
    let mut writer = Writer { runner: &mut runner, session, tokenizer: &tokenizer, options, stops, loading };
    if args.interactive {
        return writer.interactive(asked.prompt, &name);
    }
    let prompt = asked.text()?;
    let ids = first_tokens(&prompt, &tokenizer, &model)?;
    writer.fits(&ids).map_err(|error| refused::before(&name, error))?;
    if args.json {
        return writer.document(&prompt, &ids, &name).map_err(|error| refused::before(&name, error));
    }
    let mut out = Terminal::new();
    out.write(&prompt)?;
    let report = writer.line(&ids, &mut out, &name)?;
    report.tell();
    Ok(Exit::Accepted)
}

/// The tokens to go on from: those of the prompt, or the one that the model begins a text with.
fn first_tokens(prompt: &str, tokenizer: &Tokenizer, model: &Gpt2) -> io::Result<Vec<u32>> {
    match (prompt.is_empty(), model.config().eos()) {
        (false, _) => Ok(tokenizer.encode(prompt.as_bytes())),
        (true, [end, ..]) => Ok(vec![*end]),
        (true, []) => Err(io::Error::other(
            "there is no prompt, and the model has no token to begin a text with: give a PROMPT behind the model, or \
             \"-\" for standard input",
        )),
    }
}

/// Whether somebody gives a text on standard input: a pipe or a file, and neither a terminal nor nothing at all.
#[cfg(unix)]
fn is_given(input: &io::Stdin) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let found = input.as_fd().try_clone_to_owned().and_then(|input| File::from(input).metadata());
    found.is_ok_and(|found| found.is_file() || found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_given(_: &io::Stdin) -> bool {
    false
}
