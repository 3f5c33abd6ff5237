//! What `convert` is asked for.

use std::path::PathBuf;

use clap::ValueEnum;
use tensorgate::gguf::{Endian, GgmlType};

use super::{Effort, Reading};

const EXAMPLES: &str = "\
Examples:
  tensorgate convert model.safetensors model.gguf
  tensorgate convert gpt2 gpt2.gguf --dtype f16       a folder with its vocabulary
  tensorgate convert gpt2.gguf gpt2-folder/           and back
  tensorgate convert sharded/ single.safetensors
  tensorgate convert model.safetensors sharded/ --max-shard-size 5GB
  tensorgate convert model-00001-of-00003.gguf merged.gguf
  tensorgate convert merged.gguf model.gguf --max-shard-size 2GB
  tensorgate convert odd.safetensors even.safetensors --align";

/// Write a model in another way: safetensors or GGUF, sharded or whole, in another type, byte order or alignment.
///
/// The new file, or set of files, appears all at once when it is on the disk; it may be the one that is read. The format
/// is that of OUT's name (.safetensors, .gguf), of --to, or safetensors for a folder.
///
/// GPT-2's tensors get the names and the layout of the other format, and its config and vocabulary go with them where the
/// model is read from, or written to, a folder. Tensors of other models keep their names. Blocks of GGUF files become F32
/// in safetensors unless --dtype says another type.
///
/// From safetensors to a folder, config.json and the files of the vocabulary go along as they are.
///
/// A type's change counts the values that became infinite, subnormal or zero. Where a value was no number (NaN) or
/// infinite before, nothing is written unless that is allowed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    /// A file, an index, the first file of a split, or a folder.
    #[arg(value_name = "IN")]
    pub(crate) from: PathBuf,

    /// A file, or a folder (one that is there, or a name that ends with "/").
    #[arg(value_name = "OUT")]
    pub(crate) to: PathBuf,

    /// The format, where OUT does not say it.
    #[arg(long = "to", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<To>,

    /// The type that tensors of numbers with fractions, and of blocks, get. Vectors of a GPT-2 are F32 in GGUF.
    #[arg(long, value_enum, value_name = "TYPE")]
    pub(crate) dtype: Option<Cast>,

    /// What becomes of the names.
    #[arg(long, value_enum, default_value_t = Names::Auto)]
    pub(crate) names: Names,

    /// Split into files of at most so many bytes of tensors, such as 5GB or 500MiB: safetensors with an index, GGUF as
    /// NAME-00001-of-00003.gguf.
    #[arg(long, value_name = "SIZE", value_parser = size, allow_negative_numbers = true)]
    pub(crate) max_shard_size: Option<u64>,

    /// Have each tensor of a GGUF file at a multiple of so many bytes (32 without), and the data of a safetensors file
    /// begin at one (8 without); the tensors of a safetensors file are packed by the size of their type, so that all are
    /// aligned to it.
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "64", value_parser = power_of_two, allow_negative_numbers = true)]
    pub(crate) align: Option<u32>,

    /// The byte order of a GGUF file.
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) byte_order: Option<ByteOrder>,

    /// Convert values that are no numbers (NaN), or infinite, too.
    #[arg(long)]
    pub(crate) allow_non_finite: bool,

    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but errors, and show no progress.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    Safetensors,
    Gguf,
}

impl From<To> for tensorgate::model::Format {
    fn from(to: To) -> Self {
        match to {
            To::Safetensors => Self::SafeTensors,
            To::Gguf => Self::Gguf,
        }
    }
}

/// A type that numbers are cast to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cast {
    F32,
    F16,
    Bf16,
}

impl From<Cast> for GgmlType {
    fn from(cast: Cast) -> Self {
        match cast {
            Cast::F32 => Self::F32,
            Cast::F16 => Self::F16,
            Cast::Bf16 => Self::BF16,
        }
    }
}

/// What becomes of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Names {
    /// GPT-2's where the model is one, and the format changes.
    Auto,
    /// They stay, whatever the model is.
    Keep,
    /// GPT-2's.
    Gpt2,
}

/// An order of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl From<ByteOrder> for Endian {
    fn from(order: ByteOrder) -> Self {
        match order {
            ByteOrder::Little => Self::Little,
            ByteOrder::Big => Self::Big,
        }
    }
}

/// A number of bytes: `5GB` is decimal, as with Hugging Face's libraries, `5GiB` binary.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = match text.get(digits.len()..).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1_000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        "tb" | "t" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1_u64 << 40,
        unit => return Err(format!("{unit:?} is no unit; B, KB, MB, GB, TB, KiB, MiB, GiB and TiB are")),
    };
    let number: u64 = digits.parse().map_err(|_| String::from("a whole number and a unit, such as 5GB"))?;
    match number.checked_mul(unit) {
        Some(0) => Err(String::from("a shard of no bytes holds nothing")),
        Some(bytes) => Ok(bytes),
        None => Err(String::from("more bytes than 64 bits count")),
    }
}

fn power_of_two(text: &str) -> Result<u32, String> {
    let number: u32 = text.parse().map_err(|_| String::from("a power of two from 8 to 65536"))?;
    if number.is_power_of_two() && (8..=65_536).contains(&number) {
        Ok(number)
    } else {
        Err(String::from("a power of two from 8 to 65536"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal_and_binary() {
        let good = [("1", 1), ("5GB", 5_000_000_000), ("500 MiB", 500 << 20), ("10kb", 10_000), ("7b", 7)];
        assert!(good.iter().all(|(text, bytes)| size(text) == Ok(*bytes)));
        for bad in ["", "GB", "0", "1.5GB", "-1", "5XB", "99999999999TB", "5G B"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
