//! What `generate` and `bench` have in common: finding a model and its vocabulary, and how it is run.

pub(crate) mod bench;
pub(crate) mod generate;
mod prompt;
mod writer;

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use clap::ValueEnum;
use tensorgate::gpt2::{
    CacheType, Gpt2, LoadError, LoadOptions, Problem, Problems, Quantize, RunError, RunOptions, Runner,
};
use tensorgate::model::{Format, Model, Options};
use tensorgate::simd::Level;
use tensorgate::tokenizer::Tokenizer;

use crate::args::{counted, up_to, whole};
use crate::refused::{Refused, named};
use crate::text;
use crate::vocabulary::{self, First, Found};

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
    #[arg(long, short = 't', value_name = "N", value_parser = up_to::<1024>, allow_negative_numbers = true)]
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
    #[arg(long, value_name = "TOKENS", value_parser = counted, allow_negative_numbers = true)]
    context: Option<NonZeroUsize>,

    /// The most tokens of a prompt that are run at once.
    #[arg(long, value_name = "TOKENS", default_value_t = BATCH, value_parser = counted, allow_negative_numbers = true)]
    batch: NonZeroUsize,

    /// Multiply quantised weights with exact activations: slow.
    #[arg(long)]
    exact: bool,

    /// The most memory in MiB for copies of weights, and again for buffers and for each text.
    #[arg(long, value_name = "MIB", default_value_t = 16 * 1024, value_parser = whole::<u32>, allow_negative_numbers = true)]
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
        Runner::new(model, &options).map_err(ended)
    }
}

/// A model with its vocabulary.
pub(crate) struct Loaded {
    pub(crate) model: Gpt2,
    pub(crate) vocabulary: Found,
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
    let (model, vocabulary) = thread::scope(|scope| {
        let beside = || vocabulary(path, &files);
        let started = thread::Builder::new().spawn_scoped(scope, beside);
        let model = Gpt2::of_files(&files, &running.load_options()).map_err(|error| match error {
            LoadError::Config(config, error) => named(&config, &error),
            LoadError::Problems(problems) => not_run(&text::path(path), &problems),
            error => named(path, &error),
        });
        if let (Ok(model), Ok(thread)) = (&model, &started) {
            model.touch(|| !thread.is_finished());
        }
        // Where there is no room for a thread, one after the other.
        let broken = || Err(io::Error::other("the vocabulary was not read"));
        (model, started.map_or_else(|_| beside(), |thread| thread.join().unwrap_or_else(|_| broken())))
    });
    Ok(Loaded { model: model?, vocabulary: vocabulary?, name: text::path(path) })
}

fn own(running: &Running) -> io::Result<Loaded> {
    const NAME: &str = "austen, which the program carries";
    let [weights, config, vocab, merges] = OWN;
    let files = Model::from_reader(weights, &Options::default()).map_err(io::Error::other)?;
    let model = Gpt2::new(&files, Some(config), &running.load_options()).map_err(|error| not_run(NAME, &error))?;
    let tokenizer = Tokenizer::from_files(vocab, merges).map_err(io::Error::other)?;
    Ok(Loaded { model, vocabulary: Found::Tokenizer(Box::new(tokenizer)), name: NAME.to_owned() })
}

/// The vocabulary of a model: in its GGUF file, or beside its safetensors files.
fn vocabulary(path: &Path, model: &Model) -> io::Result<Found> {
    let nothing = || Ok(Found::Nothing(named(path, &"there is no vocabulary")));
    let Some(file) = model.files().first() else { return nothing() };
    if model.format() == Format::Gguf {
        return file.gguf().map_or_else(nothing, |header| vocabulary::in_gguf(path, &header));
    }
    vocabulary::in_folder(file.path().parent().unwrap_or(Path::new("")), First::Pair)
}

/// Why a model is not run. It is rejected for what is wrong with it; that there is not enough memory, or that it could not be
/// read, says nothing of it.
fn not_run(name: &str, problems: &Problems) -> io::Error {
    let why = format!("{name}: {problems}{}", more_memory(problems.iter()));
    let says_nothing = |problem: &Problem| matches!(problem, Problem::Memory { .. } | Problem::Unread { .. });
    if problems.iter().all(says_nothing) { io::Error::other(why) } else { Refused::error(why) }
}

/// Why a run ended: what comes out of the weights is the file's, and all else is not.
pub(crate) fn ended(error: RunError) -> io::Error {
    match error {
        RunError::NotFinite(_) => Refused::error(error.to_string()),
        RunError::Memory(problem) => io::Error::other(format!("{problem}{}", more_memory([&problem].into_iter()))),
        error => io::Error::other(error),
    }
}

/// What can be done where the limit is what there is too little of.
fn more_memory<'p>(mut problems: impl Iterator<Item = &'p Problem>) -> &'static str {
    let over = |problem: &Problem| matches!(problem, Problem::Memory { needed, limit, .. } if needed > limit);
    if problems.any(over) { " (--max-memory, in MiB, allows more)" } else { "" }
}

/// Notes about a model, on standard error.
pub(crate) fn tell_notes(model: &Gpt2) {
    for note in model.notes() {
        crate::complain(&format!("note: {note}"));
    }
}

/// How many of something there are in a second.
pub(crate) fn rate(count: usize, seconds: f64) -> f64 {
    let count = u32::try_from(count).map_or(f64::MAX, f64::from);
    if seconds > 0.0 { count / seconds } else { 0.0 }
}
