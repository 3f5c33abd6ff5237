//! What `metadata` is asked for.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use tensorgate::gguf::ValueType;

use super::Reading;

const EXAMPLES: &str = "\
Examples:
  tensorgate metadata list model.gguf
  tensorgate metadata get model.gguf general.name
  tensorgate metadata set model.gguf general.name \"A name\"
  tensorgate metadata set model.gguf gpt2.context_length=2048 tokenizer.ggml.add_bos_token=false
  tensorgate metadata set model.gguf my.number 7 --type u16
  tensorgate metadata set model.safetensors license=mit note=
  tensorgate metadata remove model.gguf general.url general.description

Exit codes:
  0  done, or there was nothing to change
  1  the file was rejected, or has no such key
  2  it could not be read or written, or the command line is wrong
  129, 130, 143
     ended by SIGHUP, Ctrl-C or SIGTERM; the file is what it was";

/// Show or change what a file says besides its tensors: the pairs of GGUF, the texts of safetensors.
///
/// A change writes the file anew beside the old one, which it replaces all at once; the tensors' bytes stay what they are.
/// Of a sharded model, name the file that is meant; of a split one, the first.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Metadata {
    /// Show all keys with their values.
    List {
        /// Show long keys, values and arrays whole.
        #[arg(long, conflicts_with = "json")]
        all: bool,

        /// Print one JSON document.
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        place: Place,
    },
    /// Print one value: text escaped as it is elsewhere, or with --json exactly.
    Get {
        #[command(flatten)]
        place: Place,

        /// The key.
        key: String,

        /// Print the value as JSON; of GGUF, an object with its type.
        #[arg(long)]
        json: bool,
    },
    /// Give keys other values, or add keys.
    #[command(after_help = EXAMPLES)]
    Set(SetPairs),
    /// Take keys away, all of them or, where one is not there, none.
    Remove {
        #[command(flatten)]
        place: Place,

        /// The keys.
        #[arg(required = true, value_name = "KEY")]
        keys: Vec<String>,

        /// Print nothing but errors.
        #[arg(long, short)]
        quiet: bool,
    },
}

/// What `set` is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct SetPairs {
    #[command(flatten)]
    pub(crate) place: Place,

    /// KEY VALUE, or any number of KEY=VALUE.
    #[arg(required = true, value_name = "KEY=VALUE", allow_negative_numbers = true)]
    pub(crate) pairs: Vec<String>,

    /// The type of the values in a GGUF file. Without, a key keeps its type; a new one is a string, or what the format says
    /// of it (general.alignment and such).
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) kind: Option<Kind>,

    /// Print nothing but errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Which file.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// A safetensors or GGUF file, or a folder with one.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// A type of values that are no arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
    Bool,
    String,
}

impl Kind {
    /// That of the format; `None` for arrays.
    pub(crate) fn of(kind: ValueType) -> Option<Self> {
        // Numbers and bools are called the same there; a string is `str`.
        let same = |own: &Self| own.name() == kind.name() || (*own == Self::String && kind == ValueType::String);
        Self::value_variants().iter().copied().find(same)
    }

    /// Its name, as it is asked for.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bool => "bool",
            Self::String => "string",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_but_arrays() {
        for kind in ValueType::ALL {
            assert_eq!(Kind::of(*kind).is_none(), *kind == ValueType::Array, "{kind}");
        }
        for kind in Kind::value_variants() {
            assert_eq!(kind.to_possible_value().unwrap().get_name(), kind.name());
        }
    }
}
