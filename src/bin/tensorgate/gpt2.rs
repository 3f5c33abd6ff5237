//! What `generate` and `bench` have in common: finding a model and its vocabulary, and how it is run.

pub(crate) mod bench;
pub(crate) mod generate;

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use clap::ValueEnum;
use tensorgate::gpt2::{CacheType, Gpt2, LoadError, LoadOptions, Problem, Quantize, RunOptions, Runner};
use tensorgate::model::{Format, Model, Options};
use tensorgate::simd::Level;
use tensorgate::tokenizer::Tokenizer;

use crate::args::{counted, whole};
use crate::text;

/// The model that the program carries: four layers, trained on Jane Austen's novels.
const OWN: [&[u8]; 4] = [
    include_bytes!("../../../models/austen/model.safetensors"),
    include_bytes!("../../../models/austen/config.json"),
    include_bytes!("../../../models/austen/vocab.json"),
    include_bytes!("../../../models/austen/merges.txt"),
];

/// Tokens of a prompt that are run at once unless asked otherwise.
const BATCH: NonZeroUsize = NonZeroUsize::new(512).unwrap();

/// How a model is loaded and run.
#[derive(Debug, clap::Args)]
pub(crate) struct Running {
    /// Threads; as many as the system can run at once when not given.
    #[arg(long, short = 't', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Bring F32, F16 and BF16 weights into blocks when loading.
    #[arg(long, value_enum, value_name = "TYPE")]
    quantize: Option<Blocks>,

    /// Copy weights in blocks into an order that is read faster: takes their memory once more, and a moment when loading.
    #[arg(long)]
    repack: bool,

    /// In what numbers keys and values are kept: f32 is exact, f16 takes half the memory and is faster for long texts.
    #[arg(long, value_enum, value_name = "TYPE", default_value_t = Numbers::F16)]
    cache: Numbers,

    /// The longest text in tokens; as many as the model knows when not given.
    #[arg(long, value_name = "TOKENS", value_parser = counted)]
    context: Option<NonZeroUsize>,

    /// The most tokens of a prompt that are run at once.
    #[arg(long, value_name = "TOKENS", default_value_t = BATCH, value_parser = counted)]
    batch: NonZeroUsize,

    /// Multiply quantised weights with exact activations: slow.
    #[arg(long)]
    exact: bool,

    /// The most memory in MiB for copies of weights, and again for buffers and for each text.
    #[arg(long, value_name = "MIB", default_value_t = 16 * 1024, value_parser = whole::<u32>)]
    max_memory: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Blocks {
    #[value(name = "q8_0")]
    Q8,
    #[value(name = "q4_0")]
    Q4,
    #[value(name = "q4_k")]
    Q4K,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Numbers {
    F32,
    F16,
}

impl Running {
    fn load_options(&self) -> LoadOptions {
        let quantize = self.quantize.map(|blocks| match blocks {
            Blocks::Q8 => Quantize::Q8_0,
            Blocks::Q4 => Quantize::Q4_0,
            Blocks::Q4K => Quantize::Q4_K,
        });
        LoadOptions { quantize, repack: self.repack, memory_limit: self.memory(), ..LoadOptions::default() }
    }

    fn memory(&self) -> u64 {
        u64::from(self.max_memory) << 20
    }

    fn runner(&self, model: &Gpt2) -> io::Result<Runner> {
        let known = model.config().n_positions();
        if let Some(asked) = self.context.filter(|asked| asked.get() > known) {
            crate::complain(&format!(
                "note: the model knows {known} positions: --context {asked} is taken as {known}"
            ));
        }
        let options = RunOptions {
            threads: self.threads.map_or(0, usize::from),
            batch: self.batch.get(),
            context: self.context.map_or(0, usize::from),
            cache: match self.cache {
                Numbers::F32 => CacheType::F32,
                Numbers::F16 => CacheType::F16,
            },
            exact: self.exact,
            memory_limit: self.memory(),
            level: Level::best(),
        };
        Runner::new(model, &options).map_err(io::Error::other)
    }
}

/// A model with its vocabulary.
pub(crate) struct Loaded {
    pub(crate) model: Gpt2,
    /// `None` where there is none beside it.
    pub(crate) tokenizer: Option<Tokenizer>,
    pub(crate) name: String,
}

/// Loads the model at `path`, or the one that the program carries.
pub(crate) fn load(path: Option<&Path>, running: &Running) -> io::Result<Loaded> {
    let Some(path) = path else { return own(running) };
    let files = Model::open(path).map_err(|error| {
        let why = text::ascii(&crate::open::why(&error));
        if crate::open::is_refusal(&error) { Refused::error(why) } else { io::Error::other(why) }
    })?;
    // Both take a moment, and neither needs the other.
    let (model, tokenizer) = thread::scope(|scope| {
        let beside = || vocabulary(path, &files);
        let started = thread::Builder::new().spawn_scoped(scope, beside);
        let model = Gpt2::of_files(&files, &running.load_options()).map_err(|error| match error {
            LoadError::Config(config, error) => named(&config, &error),
            LoadError::Problems(problems) if problems.iter().all(|one| !matches!(one, Problem::Memory { .. })) => {
                refused(path, &problems)
            }
            error => named(path, &error),
        });
        if let (Ok(model), Ok(thread)) = (&model, &started) {
            model.touch(|| !thread.is_finished());
        }
        // Where there is no room for a thread, one after the other.
        (model, started.map_or_else(|_| beside(), |thread| thread.join().unwrap_or(Ok(None))))
    });
    Ok(Loaded { model: model?, tokenizer: tokenizer?, name: text::path(path) })
}

fn named(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", text::path(path)))
}

fn refused(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    Refused::error(format!("{}: {error}", text::path(path)))
}

/// Why a model is not run that could be read: the program ends as where a file is rejected.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl Refused {
    fn error(why: String) -> io::Error {
        io::Error::other(Self(why))
    }

    /// Whether an error says that a model was refused.
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn own(running: &Running) -> io::Result<Loaded> {
    let [weights, config, vocab, merges] = OWN;
    let files = Model::from_reader(weights, &Options::default()).map_err(io::Error::other)?;
    let model = Gpt2::new(&files, Some(config), &running.load_options()).map_err(io::Error::other)?;
    let tokenizer = Tokenizer::from_files(vocab, merges).map_err(io::Error::other)?;
    Ok(Loaded { model, tokenizer: Some(tokenizer), name: "austen, which the program carries".to_owned() })
}

/// The vocabulary of a model: in its GGUF file, or beside its safetensors files.
fn vocabulary(path: &Path, model: &Model) -> io::Result<Option<Tokenizer>> {
    let Some(file) = model.files().first() else { return Ok(None) };
    if model.format() == Format::Gguf {
        let Some(header) = file.gguf() else { return Ok(None) };
        if header.get("tokenizer.ggml.model").is_none() {
            return Ok(None);
        }
        return Tokenizer::from_gguf(&header).map(Some).map_err(|error| refused(path, &error));
    }
    let folder = file.path().parent().unwrap_or(Path::new(""));
    let there = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
    match (there("vocab.json"), there("merges.txt"), there("tokenizer.json")) {
        (Some(vocab), Some(merges), _) => {
            let made = Tokenizer::from_files(&read(&vocab)?, &read(&merges)?);
            made.map(Some).map_err(|error| refused(folder, &error))
        }
        (_, _, Some(whole)) => {
            Tokenizer::from_json(&read(&whole)?).map(Some).map_err(|error| refused(&whole, &error))
        }
        _ => Ok(None),
    }
}

/// A file of a vocabulary, of which there is a limit.
fn read(path: &PathBuf) -> io::Result<Vec<u8>> {
    let most = tensorgate::Limits::DEFAULT.vocab_len();
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| named(path, &error))?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| named(path, &error))?;
    Ok(bytes)
}

/// Notes about a model, on standard error.
pub(crate) fn tell_notes(model: &Gpt2) {
    for note in model.notes() {
        crate::complain(&format!("note: {note}"));
    }
}

/// An error while a model runs, with the name of the model; a reader of the pipe who has seen enough is none of its.
fn of_model(name: &str, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error;
    }
    io::Error::other(format!("{name}: {error}"))
}

/// How many of something there are in a second.
pub(crate) fn rate(count: usize, seconds: f64) -> f64 {
    let count = u32::try_from(count).map_or(f64::MAX, f64::from);
    if seconds > 0.0 { count / seconds } else { 0.0 }
}
