//! What `check` is asked for.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{Effort, Reading};

const EXAMPLES: &str = "\
Examples:
  tensorgate check model.safetensors
  tensorgate check models --jobs 2 --fail-fast
  tensorgate check models --format sarif --output report.sarif
  tensorgate check models --baseline accepted.json --write-baseline
  tensorgate check models --baseline accepted.json
  tensorgate check models --cache checked.jsonl
  tensorgate check models --policy tensorgate.toml --format github
  tensorgate check --deep model.safetensors
  cat model.safetensors | tensorgate check -

Exit codes:
  0  every file was accepted, or all that is wrong with it is in the baseline
  1  at least one file was rejected
  2  none was rejected, but a file could not be read; or there was nothing to
     check, the output was closed early, or the command line or the policy is
     wrong
  129, 130, 143
     the work was ended by SIGHUP, Ctrl-C or SIGTERM";

/// Judge files: accepted, rejected (with the rule, the byte and the fix), or unreadable.
///
/// Directories are searched for *.safetensors, *.gguf and *.index.json; other files there are skipped and counted.
/// Symbolic links to files are followed, those to directories are not (but a PATH is, whatever it is). A file named as
/// PATH is judged whatever it is called.
///
/// An index is rejected when a shard beside it, in the same directory, is bad or does not hold the tensors that the index
/// says; a shard that is missing is warned of.
///
/// What is allowed can be said in a tensorgate.toml, which is looked for in the working directory and in those above it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Check {
    /// Files and directories; "-" is standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// For whom the report is.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Write the report to a file, which appears when it is whole; progress and complaints stay on standard error.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print nothing of accepted files, and no summary (human format only); show no progress.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Show notes besides warnings for accepted files (human and github format; the others always have them).
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Read the data of accepted files too: bools other than 0 and 1 (which reject the file), numbers that are none or
    /// infinite, block scales that are, and tensors of nothing but zeros.
    #[arg(long)]
    pub(crate) deep: bool,

    /// Tell what other readers, as they were measured, do with each safetensors or GGUF file: read it, refuse it, crash, or
    /// see another model (human and JSON formats).
    #[arg(long, conflicts_with = "cache")]
    pub(crate) readers: bool,

    /// End with the first file, in the order of paths, that is rejected or cannot be read.
    #[arg(long)]
    pub(crate) fail_fast: bool,

    /// The policy, instead of the tensorgate.toml that is found.
    #[arg(long, value_name = "FILE", conflicts_with = "no_policy")]
    pub(crate) policy: Option<PathBuf>,

    /// Look for no policy.
    #[arg(long)]
    pub(crate) no_policy: bool,

    /// Findings that were accepted before, which count no longer; in files that have changed since, they do.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Write what is found now as the baseline.
    #[arg(long, requires = "baseline", conflicts_with = "fail_fast")]
    pub(crate) write_baseline: bool,

    /// Remember accepted files here, and do not read them again while the system says that they have not changed.
    #[arg(long, value_name = "FILE")]
    pub(crate) cache: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Who reads the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// People.
    Human,
    /// One JSON document (docs/schema/check.schema.json).
    Json,
    /// One JSON object a line and file.
    Jsonl,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for test reports.
    Junit,
    /// Annotations of GitHub Actions.
    Github,
}
