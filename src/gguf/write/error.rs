//! Why there can be no such file.

use core::fmt;

use crate::ErrorKind;
use crate::gguf::GgmlType;

/// Why there can be no file of these pairs and tensors: this crate's reader would refuse it.
///
/// Pairs and tensors are named by their index in the order in which the caller gave them; a `general.alignment` that the
/// writer adds is the pair behind the caller's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlanError {
    /// The alignment that was asked for is no power of two.
    Alignment {
        /// The alignment, in bytes.
        alignment: u32,
    },
    /// `general.alignment` is not a `u32` that is a power of two.
    AlignmentValue {
        /// The pair.
        index: usize,
    },
    /// `general.alignment` is not the alignment that was asked for.
    AlignmentDiffers {
        /// The pair.
        index: usize,
        /// The alignment that was asked for, in bytes.
        asked: u32,
    },
    /// There are more pairs than [`Limits::metadata_keys`](crate::Limits::metadata_keys).
    Pairs {
        /// The limit.
        limit: u64,
    },
    /// A key is empty.
    KeyEmpty {
        /// The pair.
        index: usize,
    },
    /// A key has a character that is not printable ASCII.
    KeyCharset {
        /// The pair.
        index: usize,
    },
    /// A key is longer than [`Limits::key_len`](crate::Limits::key_len).
    KeyLen {
        /// The pair.
        index: usize,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A key stands twice.
    DuplicateKey {
        /// The second pair of that key.
        index: usize,
        /// The first.
        first: usize,
    },
    /// A value that is a string, not one in an array, is not valid UTF-8.
    StringUtf8 {
        /// The pair.
        index: usize,
    },
    /// A string, or one in an array, is longer than [`Limits::string_len`](crate::Limits::string_len).
    StringLen {
        /// The pair.
        index: usize,
        /// The limit, in bytes.
        limit: u64,
    },
    /// An array has more elements than [`Limits::array_len`](crate::Limits::array_len).
    ArrayLen {
        /// The pair.
        index: usize,
        /// The limit.
        limit: u64,
    },
    /// There are more tensors than [`Limits::tensors`](crate::Limits::tensors).
    Tensors {
        /// The limit.
        limit: u64,
    },
    /// A tensor's name is empty.
    NameEmpty {
        /// The tensor.
        index: usize,
    },
    /// A tensor's name has a control character.
    NameControl {
        /// The tensor.
        index: usize,
    },
    /// A tensor's name is longer than [`Limits::gguf_name_len`](crate::Limits::gguf_name_len).
    NameLen {
        /// The tensor.
        index: usize,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A tensor has the name of one before it.
    DuplicateName {
        /// The second tensor of that name.
        index: usize,
        /// The first.
        first: usize,
    },
    /// A tensor has more dimensions than [`Limits::gguf_rank`](crate::Limits::gguf_rank).
    Rank {
        /// The tensor.
        index: usize,
        /// The limit.
        limit: u64,
    },
    /// A tensor's type is none of the live ones, so that nobody knows how many bytes it takes.
    Type {
        /// The tensor.
        index: usize,
        /// Its type.
        kind: GgmlType,
    },
    /// A tensor's innermost dimension is not a whole number of its type's blocks.
    RowBlocks {
        /// The tensor.
        index: usize,
        /// Its type.
        kind: GgmlType,
    },
    /// A tensor's dimensions, or their product, do not fit 63 bits, or its bytes 64. (The product grows from the
    /// innermost dimension outwards, and a zero saves only what comes after it.)
    SizeOverflow {
        /// The tensor.
        index: usize,
    },
    /// A tensor's bytes come from a file of the other byte order.
    ByteOrder {
        /// The tensor.
        index: usize,
    },
    /// The pairs and infos are longer than [`Limits::metadata_len`](crate::Limits::metadata_len).
    HeaderLen {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The file's length does not fit 64 bits.
    FileLen,
    /// There is no memory for the header.
    OutOfMemory,
}

impl PlanError {
    /// What the reader would say of a tensor.
    pub(super) const fn of_tensor(index: usize, kind: GgmlType, verdict: ErrorKind) -> Self {
        match verdict {
            ErrorKind::GgRowBlocks => Self::RowBlocks { index, kind },
            ErrorKind::GgTypeUnknown | ErrorKind::GgTypeRemoved => Self::Type { index, kind },
            _ => Self::SizeOverflow { index },
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alignment { alignment } => write!(f, "an alignment of {alignment} is no power of two"),
            Self::AlignmentValue { index } => {
                write!(f, "general.alignment (pair {index}) is not a u32 that is a power of two")
            }
            Self::AlignmentDiffers { index, asked } => {
                write!(f, "general.alignment (pair {index}) is not the alignment of {asked} that was asked for")
            }
            Self::Pairs { limit } => write!(f, "there are more pairs than the limit of {limit}"),
            Self::KeyEmpty { index } => write!(f, "the key of pair {index} is empty"),
            Self::KeyCharset { index } => write!(f, "the key of pair {index} is not all printable ASCII"),
            Self::KeyLen { index, limit } => {
                write!(f, "the key of pair {index} is longer than the limit of {limit} bytes")
            }
            Self::DuplicateKey { index, first } => write!(f, "pairs {first} and {index} have the same key"),
            Self::StringUtf8 { index } => write!(f, "the string of pair {index} is not valid UTF-8"),
            Self::StringLen { index, limit } => {
                write!(f, "a string of pair {index} is longer than the limit of {limit} bytes")
            }
            Self::ArrayLen { index, limit } => {
                write!(f, "the array of pair {index} has more elements than the limit of {limit}")
            }
            Self::HeaderLen { limit } => write!(f, "the header is longer than the limit of {limit} bytes"),
            Self::FileLen => f.write_str("the file's length does not fit 64 bits"),
            Self::OutOfMemory => f.write_str("there is no memory for the header"),
            Self::Tensors { limit } => write!(f, "there are more tensors than the limit of {limit}"),
            Self::NameEmpty { index } => write!(f, "the name of tensor {index} is empty"),
            Self::NameControl { index } => write!(f, "the name of tensor {index} has a control character"),
            Self::NameLen { index, limit } => {
                write!(f, "the name of tensor {index} is longer than the limit of {limit} bytes")
            }
            Self::DuplicateName { index, first } => write!(f, "tensors {first} and {index} have the same name"),
            Self::Rank { index, limit } => {
                write!(f, "tensor {index} has more dimensions than the limit of {limit}")
            }
            Self::Type { index, kind } => write!(f, "tensor {index} is of {kind}, whose size is not known"),
            Self::RowBlocks { index, kind } => {
                let block = kind.block_elements().unwrap_or(1);
                write!(f, "the innermost dimension of tensor {index} ({kind}) is no multiple of {block}")
            }
            Self::ByteOrder { index } => {
                write!(f, "the bytes of tensor {index} come from a file of the other byte order")
            }
            Self::SizeOverflow { index } => write!(f, "the size of tensor {index} does not fit 64 bits"),
        }
    }
}

impl core::error::Error for PlanError {}
