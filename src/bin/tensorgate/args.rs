//! What can be asked for.

mod check;
mod convert;
mod diff;
mod effort;
mod extras;
mod hash;
mod metadata;
mod number;
mod quantize;
mod reading;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};

pub(crate) use check::{Check, Format};
pub(crate) use convert::{ByteOrder, Convert, Names};
pub(crate) use diff::Diff;
pub(crate) use effort::Effort;
pub(crate) use extras::{Completions, Explain, Man};
pub(crate) use hash::Hash;
pub(crate) use metadata::{Kind, Metadata, Place, SetPairs};
pub(crate) use number::{counted, filled, number, up_to, whole};
pub(crate) use quantize::Quantize;
pub(crate) use reading::{Allowed, Reading};

const EXAMPLES: &str = "\
Examples:
  tensorgate check model.safetensors
  tensorgate check models --format jsonl
  tensorgate check --deep model.safetensors
  tensorgate check --readers model.safetensors
  cat model.safetensors | tensorgate check -
  tensorgate check model.gguf model.safetensors.index.json
  tensorgate explain ST-DUP-NAME
  tensorgate inspect model.gguf
  tensorgate inspect model.safetensors --json
  tensorgate hash model.safetensors
  tensorgate diff model.safetensors models/a.safetensors
  tensorgate quantize model.gguf q8.gguf --type q8_0

Exit codes:
  0  every file was accepted; with hash --verify, diff: nothing differs
  1  at least one file was rejected; with hash --verify, diff: something does
  2  none was rejected, but a file could not be read, or one of a model that
     is needed is not there; or there was nothing to check, the output was
     closed early, or the command line is wrong
  129, 130, 143
     long work was ended by SIGHUP, Ctrl-C or SIGTERM; nothing is left behind";

const INSPECT: &str = "\
Examples:
  tensorgate inspect model.safetensors
  tensorgate inspect model.gguf --summary --depth 2
  tensorgate inspect model.safetensors --tensor 'h.*.weight'
  tensorgate inspect model.safetensors.index.json
  tensorgate inspect gpt2/
  tensorgate inspect model.safetensors --json
  tensorgate inspect model.safetensors --html model.html --deep

Exit codes:
  0  the file was accepted
  1  it was rejected
  2  it could not be read, has no such tensor, or the command line is wrong";

const TOKENIZE: &str = "\
Examples:
  tensorgate tokenize --tokenizer gpt2/ \"It is a truth\"
  echo \"It is a truth\" | tensorgate tokenize --tokenizer model.gguf --count
  tensorgate tokenize --tokenizer gpt2/ --decode 40 83 363";

/// Says whether model files can be trusted, and what is in them.
///
/// Formats: safetensors, GGUF (versions 2 and 3), and sharded indexes (*.index.json), which are held against the shards
/// beside them. What a file is, its content says; strangers (a git-LFS pointer, a web page, a pickle) are named.
///
/// Of a file only the header is read, and of GGUF the padding; tensors only where that is asked for. Nothing in a file is
/// run, and its text is shown escaped.
#[derive(Debug, Parser)]
#[command(name = "tensorgate", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    Inspect(Inspect),
    Generate(crate::gpt2::generate::Generate),
    Bench(crate::gpt2::bench::Bench),
    Hash(Hash),
    Convert(Convert),
    Diff(Diff),
    Quantize(Quantize),
    #[command(subcommand)]
    Metadata(Metadata),
    Tokenize(Tokenize),
    Explain(Explain),
    Completions(Completions),
    Man(Man),
}

/// Show what is in a model: memory, modules with their shares, a map of the file, tensors and metadata; of an index
/// and of the first file of a split model, the files and what is in those that are there. Of a folder that is the index, else model.safetensors, else its only GGUF.
///
/// A file that is not accepted is reported as by check.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("document").args(["json", "html"]))]
#[command(after_help = INSPECT)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Inspect {
    /// A file, a folder with one model, or "-" for standard input.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// Show long names, shapes, arrays and metadata values whole.
    #[arg(long)]
    pub(crate) all: bool,

    /// Show only the tensors of this name, or those that match it as a pattern with *, ? and [...].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "summary", "all"])]
    pub(crate) tensor: Option<String>,

    /// Do not list the tensors one by one.
    #[arg(long, conflicts_with = "json")]
    pub(crate) summary: bool,

    /// Show modules so deep below each other, at most.
    #[arg(long, value_name = "LEVELS", default_value_t = 3, value_parser = levels, allow_negative_numbers = true, conflicts_with = "json")]
    pub(crate) depth: usize,

    /// Print one JSON document.
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,

    /// Write one page for a browser to FILE (*.html), which needs no network and runs nothing of the file: a table of the
    /// tensors to search, their sizes as areas, the file from its first byte to its last, metadata and findings.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "tensor", "summary", "depth"], value_parser = OsStringValueParser::new().try_map(page))]
    pub(crate) html: Option<PathBuf>,

    /// Read the tensors too: least, greatest and mean values and a histogram of each, in the page or the JSON document.
    #[arg(long, requires = "document")]
    pub(crate) deep: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The path of a page, which no model's path can be.
fn page(path: OsString) -> Result<PathBuf, String> {
    let lower = path.as_encoded_bytes().to_ascii_lowercase();
    if lower.ends_with(b".html") || lower.ends_with(b".htm") {
        Ok(PathBuf::from(path))
    } else {
        Err("a page's name ends in .html".to_owned())
    }
}

/// Levels of a tree: no deeper than a page is wide.
fn levels(text: &str) -> Result<usize, String> {
    let levels: usize = text.parse().map_err(|_| "a number from 0 to 16".to_owned())?;
    if levels <= 16 { Ok(levels) } else { Err("a number from 0 to 16".to_owned()) }
}

/// Turn text into tokens of a byte-level BPE vocabulary as GPT-2's, or tokens into text.
///
/// The text is TEXT, a file, or standard input. The vocabulary comes from vocab.json and merges.txt, from a
/// tokenizer.json, from a directory with these, or from a GGUF file.
#[derive(Debug, clap::Args)]
#[command(after_help = TOKENIZE)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Tokenize {
    /// Text, in quotes where it has spaces, or ids with --decode; standard input where it is missing.
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    pub(crate) text: Vec<String>,

    /// Read the text, or the ids, from a file; "-" is standard input.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The most of standard input or of a file that is read, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = whole::<u32>, allow_negative_numbers = true)]
    pub(crate) max_input: u32,

    /// A model directory, a tokenizer.json or a GGUF file.
    #[arg(long, short, value_name = "PATH", required_unless_present = "vocab", conflicts_with_all = ["vocab", "merges"])]
    pub(crate) tokenizer: Option<PathBuf>,

    /// A vocab.json, with --merges.
    #[arg(long, value_name = "FILE", requires = "merges")]
    pub(crate) vocab: Option<PathBuf>,

    /// The merges.txt to a --vocab.
    #[arg(long, value_name = "FILE", requires = "vocab")]
    pub(crate) merges: Option<PathBuf>,

    /// Turn ids, separated by white space or commas, into the bytes they stand for; a terminal gets control characters
    /// escaped.
    #[arg(long, conflicts_with_all = ["count", "special"])]
    pub(crate) decode: bool,

    /// Print only how many tokens there are.
    #[arg(long)]
    pub(crate) count: bool,

    /// Recognise special tokens such as <|endoftext|> in the text; otherwise they are text.
    #[arg(long)]
    pub(crate) special: bool,

    /// Print one JSON document: ids, and the text of each token (U+FFFD where it is no UTF-8).
    #[arg(long)]
    pub(crate) json: bool,
}
