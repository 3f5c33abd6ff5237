//! Why a model was not saved.

use std::boxed::Box;
use std::fmt;
use std::io;
use std::path::Path;

use super::{AtomicError, Step, WriteError};
use crate::{gguf, safetensors};

/// Why a model was not saved.
#[derive(Debug)]
#[non_exhaustive]
pub enum SaveError {
    /// There can be no such safetensors file. Nothing was touched.
    Safetensors(safetensors::PlanError),
    /// There can be no such GGUF file. Nothing was touched.
    Gguf(gguf::PlanError),
    /// A tensor was given more or fewer bytes than its type and shape need.
    ByteCount {
        /// The tensor, by its index in the order in which the caller gave them.
        index: usize,
        /// Bytes that its type and shape need.
        expected: u64,
        /// Bytes given.
        given: u64,
    },
    /// There can be no such index: this crate's reader would refuse it, for its length or the number of shards. Nothing was
    /// touched.
    Index(crate::Error),
    /// Writing went on after an error.
    Stopped,
    /// Whoever gives the tensors' bytes could not.
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The sink did not take the bytes; which file it was is not known here.
    Write(io::Error),
    /// A step of the save failed.
    Atomic(AtomicError),
}

impl SaveError {
    /// An error of whoever gives the tensors' bytes.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Source(error.into())
    }

    /// What a writer to the file `path` says.
    pub(super) fn of<P>(error: WriteError<P, io::Error>, path: &Path) -> Self
    where
        P: Into<Self>,
    {
        Self::from(error).at(path)
    }

    /// The same, with the file that was written.
    pub(in crate::file) fn at(self, path: &Path) -> Self {
        match self {
            Self::Write(error) => Self::Atomic(AtomicError::new(Step::Write, path, error)),
            other => other,
        }
    }

    /// Whether the save was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Atomic(error) if error.is_cancelled())
    }

    /// Whether the new file has its name all the same; see [`AtomicError::is_committed`].
    pub const fn is_committed(&self) -> bool {
        matches!(self, Self::Atomic(error) if error.is_committed())
    }
}

impl<P> From<WriteError<P, io::Error>> for SaveError
where
    P: Into<Self>,
{
    fn from(error: WriteError<P, io::Error>) -> Self {
        match error {
            WriteError::Plan(error) => error.into(),
            WriteError::ByteCount { index, expected, given } => Self::ByteCount { index, expected, given },
            WriteError::Sink(error) => Self::Write(error),
            WriteError::Stopped => Self::Stopped,
        }
    }
}

impl From<safetensors::PlanError> for SaveError {
    fn from(error: safetensors::PlanError) -> Self {
        Self::Safetensors(error)
    }
}

impl From<gguf::PlanError> for SaveError {
    fn from(error: gguf::PlanError) -> Self {
        Self::Gguf(error)
    }
}

impl From<AtomicError> for SaveError {
    fn from(error: AtomicError) -> Self {
        Self::Atomic(error)
    }
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Safetensors(error) => error.fmt(f),
            Self::Gguf(error) => error.fmt(f),
            Self::ByteCount { index, expected, given } => {
                write!(f, "tensor {index} needs {expected} bytes and was given {given}")
            }
            Self::Index(error) => write!(f, "the index would be refused: {error}"),
            Self::Stopped => f.write_str("an error before this one left the file incomplete"),
            Self::Source(error) => error.fmt(f),
            Self::Write(error) => write!(f, "the bytes could not be written: {error}"),
            Self::Atomic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Safetensors(error) => Some(error),
            Self::Gguf(error) => Some(error),
            Self::Source(error) => Some(&**error),
            Self::Index(error) => Some(error),
            Self::Write(error) => Some(error),
            Self::Atomic(error) => Some(error),
            Self::ByteCount { .. } | Self::Stopped => None,
        }
    }
}
