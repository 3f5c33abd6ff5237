//! How files are read, for every command that reads any.

use clap::ValueEnum;
use tensorgate::Limits;
use tensorgate::file::Head;

use super::whole;
use crate::judge::Options;

/// The longest part of a GGUF file in front of its tensors, unless another is given.
const GGUF_HEADER: u64 = 256 * 1024 * 1024;

/// How files are read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Reading {
    /// The longest safetensors header, in bytes of JSON [default: 100000000].
    #[arg(long, value_name = "BYTES", value_parser = whole::<u64>, allow_negative_numbers = true)]
    max_header: Option<u64>,

    /// The longest part of a GGUF file in front of its tensors, in bytes [default: 268435456]; so much memory may be
    /// used.
    #[arg(long, value_name = "BYTES", value_parser = whole::<u64>, allow_negative_numbers = true)]
    max_gguf_header: Option<u64>,

    /// Give up on standard input, or a pipe, after so many bytes [default: 1099511627776].
    #[arg(long, value_name = "BYTES", value_parser = whole::<u64>, allow_negative_numbers = true)]
    max_stream: Option<u64>,

    /// Accept white space before a header's "{", and warn of it; the same as --allow leading-space.
    #[arg(long)]
    allow_leading_space: bool,

    /// Relax a rule, and warn where that was used; may be given several times, or with commas.
    #[arg(long, value_enum, value_name = "RULE", value_delimiter = ',')]
    allow: Vec<Allowed>,
}

/// A rule that can be relaxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Allowed {
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
    /// The limits with this rule relaxed.
    pub(crate) const fn relax(self, limits: Limits) -> Limits {
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
    /// What is read where nobody asks for anything else.
    pub(crate) const DEFAULT: Options = Options {
        limits: Limits::DEFAULT.with_metadata_len(GGUF_HEADER),
        stream_limit: Head::STREAM_LIMIT,
        readers: false,
    };

    /// How to read, as far as it was said here.
    pub(crate) fn options(&self) -> Options {
        self.over(Self::DEFAULT)
    }

    /// The same where a policy has its word first: what was given here counts more.
    pub(crate) fn over(&self, options: Options) -> Options {
        let mut limits = options.limits;
        limits = self.max_header.map_or(limits, |most| limits.with_header_len(most));
        limits = self.max_gguf_header.map_or(limits, |most| limits.with_metadata_len(most));
        limits = if self.allow_leading_space { limits.with_leading_space(true) } else { limits };
        limits = self.allow.iter().fold(limits, |limits, rule| rule.relax(limits));
        Options { limits, stream_limit: self.max_stream.unwrap_or(options.stream_limit), ..options }
    }
}
