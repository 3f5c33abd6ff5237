//! What can be asked for.

mod convert;
mod diff;
mod effort;
mod hash;
mod metadata;
mod quantize;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use tensorgate::Limits;
use tensorgate::file::Head;

pub(crate) use convert::{ByteOrder, Convert, Names};
pub(crate) use diff::Diff;
pub(crate) use effort::Effort;
pub(crate) use hash::Hash;
pub(crate) use metadata::{Kind, Metadata, Place, SetPairs};
pub(crate) use quantize::Quantize;

use crate::judge::Options;

const EXAMPLES: &str = "\
Examples:
  tensorgate check model.safetensors
  tensorgate check models --format jsonl
  tensorgate check --deep model.safetensors
  tensorgate check --readers model.safetensors
  cat model.safetensors | tensorgate check -
  tensorgate check model.gguf model.safetensors.index.json
  tensorgate inspect model.gguf
  tensorgate inspect model.safetensors
  tensorgate inspect model.safetensors --json
  tensorgate hash model.safetensors
  tensorgate diff model.safetensors models/a.safetensors
  tensorgate quantize model.gguf q8.gguf --type q8_0

Exit codes:
  0  every file was accepted; with hash --verify, diff: nothing differs
  1  at least one file was rejected; with hash --verify, diff: something does
  2  none was rejected, but a file could not be read; or there was nothing to
     check, the output was closed early, or the command line is wrong
  130, 143
     long work was ended by Ctrl-C or SIGTERM; nothing is left behind";

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
}

/// Judge files: accepted, rejected (with the rule, the byte and the fix), or unreadable.
///
/// Directories are searched for *.safetensors, *.gguf and *.index.json; other files there are skipped and counted.
/// Symbolic links to files are followed, those to directories are not (but a PATH is, whatever it is). A file named as
/// PATH is judged whatever it is called.
///
/// An index is rejected when a shard beside it, in the same directory, is bad or does not hold the tensors that the index
/// says; a shard that is missing is warned of.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Check {
    /// Files and directories; "-" is standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// For people, as one JSON document, or as one JSON object a line and file.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Print nothing of accepted files, and no summary (human format only).
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Show notes besides warnings for accepted files (human format; JSON always has them).
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Read the data of accepted files too: bools other than 0 and 1 (which reject the file), numbers that are none or
    /// infinite, block scales that are, and tensors of nothing but zeros.
    #[arg(long)]
    pub(crate) deep: bool,

    /// Tell what other readers, as they were measured, do with each safetensors or GGUF file: read it, refuse it, crash, or
    /// see another model.
    #[arg(long)]
    pub(crate) readers: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
    Jsonl,
}

/// Show what is in a file: tensors by module, types, sizes, offsets and metadata; of an index, its shards.
///
/// A file that is not accepted is reported as by check.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Inspect {
    /// A file; "-" is standard input.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// Show long names, shapes, arrays and metadata values whole.
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON document.
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Turn text into tokens of a byte-level BPE vocabulary as GPT-2's, or tokens into text.
///
/// The text is TEXT, a file, or standard input. The vocabulary comes from vocab.json and merges.txt, from a
/// tokenizer.json, from a directory with these, or from a GGUF file.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Tokenize {
    /// Text, or ids with --decode; standard input where it is missing.
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    pub(crate) text: Option<String>,

    /// Read the text, or the ids, from a file; "-" is standard input.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// A model directory, a tokenizer.json or a GGUF file.
    #[arg(long, short, value_name = "PATH", required_unless_present = "vocab", conflicts_with_all = ["vocab", "merges"])]
    pub(crate) tokenizer: Option<PathBuf>,

    /// A vocab.json, with --merges.
    #[arg(long, value_name = "FILE", requires = "merges")]
    pub(crate) vocab: Option<PathBuf>,

    /// The merges.txt to a --vocab.
    #[arg(long, value_name = "FILE", requires = "vocab")]
    pub(crate) merges: Option<PathBuf>,

    /// Turn ids, separated by white space or commas, into the bytes they stand for.
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

/// How files are read.
#[derive(Debug, clap::Args)]
pub(crate) struct Reading {
    /// The longest safetensors header, in bytes of JSON.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::DEFAULT.header_len())]
    max_header: u64,

    /// The longest part of a GGUF file in front of its tensors, in bytes; so much memory may be used.
    #[arg(long, value_name = "BYTES", default_value_t = 256 * 1024 * 1024)]
    max_gguf_header: u64,

    /// Give up on standard input, or a pipe, after so many bytes.
    #[arg(long, value_name = "BYTES", default_value_t = Head::STREAM_LIMIT)]
    max_stream: u64,

    /// Accept white space before a header's "{", and warn of it; the same as --allow leading-space.
    #[arg(long)]
    allow_leading_space: bool,

    /// Relax a rule, and warn where that was used; may be given several times, or with commas.
    #[arg(long, value_enum, value_name = "RULE", value_delimiter = ',')]
    allow: Vec<Allowed>,
}

/// A rule that can be relaxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// White space before a safetensors header's "{".
    LeadingSpace,
    /// GGUF tensor names of up to 1,023 bytes instead of 63.
    LongNames,
    /// Arrays of arrays in GGUF metadata, up to 8 levels.
    NestedArrays,
    /// GGUF string values that are not valid UTF-8.
    InvalidUtf8,
    /// GGUF tensor types of forks or newer formats: listed, never sized.
    UnknownTypes,
    /// Bytes behind the last tensor of a GGUF file.
    Trailing,
}

impl Allowed {
    const fn relax(self, limits: Limits) -> Limits {
        match self {
            Self::LeadingSpace => limits.with_leading_space(true),
            Self::LongNames => limits.with_gguf_name_len(1_023),
            Self::NestedArrays => limits.with_gguf_nested_arrays(8),
            Self::InvalidUtf8 => limits.with_gguf_invalid_utf8(true),
            Self::UnknownTypes => limits.with_gguf_unknown_types(true),
            Self::Trailing => limits.with_gguf_trailing(true),
        }
    }
}

impl Reading {
    pub(crate) fn options(&self) -> Options {
        let limits = Limits::DEFAULT.with_header_len(self.max_header).with_leading_space(self.allow_leading_space);
        let limits = limits.with_metadata_len(self.max_gguf_header);
        let limits = self.allow.iter().fold(limits, |limits, rule| rule.relax(limits));
        Options { limits, stream_limit: self.max_stream, readers: false }
    }
}
