//! Why a file is not written.

use core::fmt;

/// Why there can be no file of these tensors: this crate's reader would refuse it.
///
/// Tensors and metadata pairs are named by their index in the order in which the caller gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlanError {
    /// A tensor has the name of one before it.
    DuplicateName {
        /// The second tensor of that name.
        index: usize,
        /// The first.
        first: usize,
    },
    /// A tensor is called `__metadata__`, which the format keeps for metadata.
    ReservedName {
        /// The tensor.
        index: usize,
    },
    /// A tensor's size in bits does not fit 64 bits (its dimensions are multiplied from the first to the last).
    SizeOverflow {
        /// The tensor.
        index: usize,
    },
    /// A tensor's bits are not a whole number of bytes.
    SizeBits {
        /// The tensor.
        index: usize,
    },
    /// A tensor has more dimensions than [`Limits::rank`](crate::Limits::rank).
    Rank {
        /// The tensor.
        index: usize,
        /// The limit.
        limit: u64,
    },
    /// A tensor's name, with its escapes, is longer than [`Limits::name_len`](crate::Limits::name_len).
    NameLen {
        /// The tensor.
        index: usize,
        /// The limit, in bytes.
        limit: u64,
    },
    /// There are more tensors than [`Limits::tensors`](crate::Limits::tensors).
    Tensors {
        /// The limit.
        limit: u64,
    },
    /// A metadata key stands twice.
    DuplicateKey {
        /// The second pair of that key.
        index: usize,
        /// The first.
        first: usize,
    },
    /// There are more metadata keys than [`Limits::metadata_keys`](crate::Limits::metadata_keys).
    MetadataKeys {
        /// The limit.
        limit: u64,
    },
    /// The header, padded, is longer than [`Limits::header_len`](crate::Limits::header_len).
    HeaderLen {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The file's length does not fit 64 bits.
    FileLen,
    /// There is no memory for the header.
    OutOfMemory,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName { index, first } => write!(f, "tensors {first} and {index} have the same name"),
            Self::ReservedName { index } => {
                write!(f, "tensor {index} is called __metadata__, a name that the format keeps for itself")
            }
            Self::SizeOverflow { index } => write!(f, "the size of tensor {index} in bits does not fit 64 bits"),
            Self::SizeBits { index } => write!(f, "the bits of tensor {index} are not a whole number of bytes"),
            Self::Rank { index, limit } => {
                write!(f, "tensor {index} has more dimensions than the limit of {limit}")
            }
            Self::NameLen { index, limit } => {
                write!(f, "the name of tensor {index} is longer than the limit of {limit} bytes")
            }
            Self::Tensors { limit } => write!(f, "there are more tensors than the limit of {limit}"),
            Self::DuplicateKey { index, first } => {
                write!(f, "metadata pairs {first} and {index} have the same key")
            }
            Self::MetadataKeys { limit } => write!(f, "there are more metadata keys than the limit of {limit}"),
            Self::HeaderLen { limit } => write!(f, "the header is longer than the limit of {limit} bytes"),
            Self::FileLen => f.write_str("the file's length does not fit 64 bits"),
            Self::OutOfMemory => f.write_str("there is no memory for the header"),
        }
    }
}

impl core::error::Error for PlanError {}
