//! What `hash` is asked for.

use std::path::PathBuf;

use super::{Effort, Reading};

const EXAMPLES: &str = "\
Examples:
  tensorgate hash gpt2/
  tensorgate hash model.safetensors > sums && tensorgate hash model.safetensors --verify sums
  tensorgate hash model.safetensors --tensors --json

Exit codes:
  0  it was done; with --verify: all is as the manifest says
  1  the model was rejected; with --verify: something is missing, unexpected or
     changed
  2  the model or the manifest could not be read, or the command line is wrong
  129, 130, 143
     the work was ended by SIGHUP, Ctrl-C or SIGTERM";

/// Print the SHA-256 of every tensor and file of a model, as a manifest, or hold the model against one.
///
/// The model is a file, the index of a sharded model, the first file of a split one, or a folder with one model. Tensors are listed by name, with
/// their type and shape, so that two saves of the same tensors have the same lines whatever their files are; the line
/// "model" is the digest of these lines.
///
/// With --verify the exit code is 0 where all is as the manifest says, and 1 where something is missing, unexpected or
/// changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Hash {
    /// A file of a model, or a folder.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// Compare with this manifest instead of printing one.
    #[arg(long, value_name = "MANIFEST")]
    pub(crate) verify: Option<PathBuf>,

    /// Only the tensors, not the files: their metadata, order and division do not matter then.
    #[arg(long)]
    pub(crate) tensors: bool,

    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing where the manifest agrees, and show no progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) reading: Reading,
}
