//! Why a model cannot be converted.

use std::collections::TryReserveError;
use std::fmt;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use super::super::ElementType;
use super::super::error::shown;
use crate::file::{ReadError, SaveError};
use crate::quant::QuantError;
use crate::{Name, gguf, safetensors};

/// Why a model was not converted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// These tensors cannot be in a file of that kind; all of them are listed.
    Tensors(Vec<Problem>),
    /// There can be no such safetensors file.
    Safetensors(safetensors::PlanError),
    /// There can be no such GGUF file.
    Gguf(gguf::PlanError),
    /// The name that a tensor would get is another's already.
    SameName {
        /// The name.
        name: String,
    },
    /// A value is a NaN or infinite, and it was not said that such values are to be kept.
    NotFinite {
        /// The tensor, by its name in the source.
        tensor: String,
        /// Which element, row-major in the source.
        element: u64,
        /// Whether it is a NaN; otherwise it is infinite.
        is_nan: bool,
    },
    /// A tensor's bytes could not be decoded.
    Decode {
        /// The tensor, by its name in the source.
        tensor: String,
        /// Why.
        error: QuantError,
    },
    /// A tensor's bytes could not be read: its file was cut or written meanwhile, or cannot be read any more.
    Read {
        /// The tensor, by its name in the source.
        tensor: String,
        /// The file that it is in.
        path: PathBuf,
        /// Why.
        error: ReadError,
    },
    /// There is not enough memory for the list of tensors or of keys.
    Memory,
    /// The file could not be saved.
    Save(SaveError),
}

/// A tensor that cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its name in the source.
    pub tensor: String,
    /// Why not.
    pub kind: ProblemKind,
}

/// Why a tensor cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The format has no such type of elements.
    NoType(ElementType),
    /// Values cannot be brought into that type here.
    NotEncodable(ElementType),
    /// It has more dimensions than the format allows.
    Rank {
        /// How many it has.
        rank: u64,
        /// How many it may have.
        most: u64,
    },
    /// Its rows are no whole number of blocks.
    Rows {
        /// Elements in a row.
        row: u64,
        /// Elements in a block.
        block: u64,
    },
    /// Its name is longer than the format allows.
    Name {
        /// Bytes that the name has.
        len: u64,
        /// Bytes that it may have.
        most: u64,
    },
    /// Its name is empty or has control characters, and the format's may not.
    NameText,
    /// Its dimensions are larger than the format counts.
    Size,
    /// It is of a type that is not known, so that its bytes are not either.
    NoSize,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: ", Name::from(self.tensor.as_str()))?;
        match &self.kind {
            ProblemKind::NoType(element) => write!(f, "the format has no type {element}"),
            ProblemKind::NotEncodable(element) => write!(f, "values cannot be brought into the type {element}"),
            ProblemKind::Rank { rank, most } => write!(f, "{rank} dimensions, and the format allows {most}"),
            ProblemKind::Rows { row, block } => {
                write!(f, "rows of {row} elements are no whole number of blocks of {block}")
            }
            ProblemKind::Name { len, most } => write!(f, "a name of {len} bytes, and the format allows {most}"),
            ProblemKind::NameText => {
                f.write_str("the format allows no name that is empty or has control characters")
            }
            ProblemKind::Size => f.write_str("dimensions that are larger than the format counts"),
            ProblemKind::NoSize => f.write_str("its type is not known"),
        }
    }
}

/// Problems that an error's text lists; the others are counted.
const SHOWN: usize = 20;

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensors(problems) => {
                write!(f, "{} of the tensors cannot be converted:", problems.len())?;
                for problem in problems.iter().take(SHOWN) {
                    write!(f, "\n  {problem}")?;
                }
                match problems.len().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => write!(f, "\n  and {more} more"),
                }
            }
            Self::Safetensors(error) => write!(f, "no such safetensors file can be: {error}"),
            Self::Gguf(error) => write!(f, "no such GGUF file can be: {error}"),
            Self::SameName { name } => {
                write!(f, "two tensors would be called {:?}", Name::from(name.as_str()))
            }
            Self::NotFinite { tensor, element, is_nan } => write!(
                f,
                "element {element} of {:?} is {}",
                Name::from(tensor.as_str()),
                if *is_nan { "no number (NaN)" } else { "infinite" }
            ),
            Self::Decode { tensor, error } => write!(f, "{:?}: {error}", Name::from(tensor.as_str())),
            Self::Read { tensor, path, error } => {
                write!(f, "{:?}, in {}: {error}", Name::from(tensor.as_str()), shown(path))
            }
            Self::Memory => f.write_str("there is not enough memory for what is to be written"),
            Self::Save(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConvertError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Safetensors(error) => Some(error),
            Self::Gguf(error) => Some(error),
            Self::Decode { error, .. } => Some(error),
            Self::Read { error, .. } => Some(error),
            Self::Save(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<TryReserveError> for ConvertError {
    fn from(_: TryReserveError) -> Self {
        Self::Memory
    }
}

impl From<SaveError> for ConvertError {
    /// An error that came out of a tensor's data is told as what it is.
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Source(source) => match source.downcast::<Self>() {
                Ok(own) => *own,
                Err(source) => Self::Save(SaveError::Source(source)),
            },
            SaveError::Safetensors(error) => Self::Safetensors(error),
            SaveError::Gguf(error) => Self::Gguf(error),
            error => Self::Save(error),
        }
    }
}
