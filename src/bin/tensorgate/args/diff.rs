//! What `diff` is asked for.

use std::path::PathBuf;

use super::{Effort, Names, Reading};

const EXAMPLES: &str = "\
Examples:
  tensorgate diff model.safetensors models/a.safetensors
  tensorgate diff gpt2/ model.safetensors --values
  tensorgate diff model.safetensors gpt2/ --json

Exit codes:
  0  nothing differs
  1  something does
  2  a model was rejected or could not be read, or the command line is wrong
  129, 130, 143
     the work was ended by SIGHUP, Ctrl-C or SIGTERM";

/// Tell what two models differ in: tensors added, removed, of another type or shape, or with other values; and metadata.
///
/// Each is a file, the index of a sharded model, the first file of a split one, or a folder with one model. Tensors are
/// matched by name, and compared by value, so that a model can be held against its converted or quantised copy.
///
/// The exit code is 0 where nothing differs, 1 where something does, and 2 where a model was rejected or could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The first model.
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,

    /// The second model.
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,

    /// Only names, shapes and values count: types and metadata may differ.
    #[arg(long)]
    pub(crate) values: bool,

    /// Between formats, tensors of a GPT-2 are matched by the names that each has for them, and projections transposed;
    /// with "keep", names must be the same.
    #[arg(long, value_enum, default_value_t = Names::Auto)]
    pub(crate) names: Names,

    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing: the exit code tells.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) reading: Reading,
}
