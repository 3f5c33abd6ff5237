//! What `diff` is asked for.

use std::path::PathBuf;

use super::{Effort, Names, Reading};

/// Tell what two models differ in: tensors added, removed, of another type or shape, or with other values; and metadata.
///
/// Each is a file, the index of a sharded model, the first file of a split one, or a folder with one model. Tensors are
/// matched by name, and compared by value, so that a model can be held against its converted or quantised copy.
///
/// The exit code is 0 where nothing differs, 1 where something does, and 2 where a model could not be read.
#[derive(Debug, clap::Args)]
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
