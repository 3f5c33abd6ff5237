//! Why a checkpoint was not loaded.

use std::fmt;
use std::string::String;
use std::vec::Vec;

use crate::file::ReadError;
use crate::{Dtype, Error, Name, Shape};

/// Why a checkpoint was not loaded. Nothing of the caller's has changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The file could not be read, or changed meanwhile, or there is no memory for it.
    Read(ReadError),
    /// It is no valid safetensors file.
    Invalid(Error),
    /// It is not the checkpoint that was expected; everything that is wrong.
    Mismatch(Vec<Mismatch>),
}

/// One thing in which a checkpoint is not what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The file lacks a tensor.
    Missing {
        /// The whole name, `model.` or `optim.` and all.
        name: String,
    },
    /// The file has a tensor that nobody expects.
    Unexpected {
        /// Its name.
        name: String,
    },
    /// A tensor has another shape.
    Shape {
        /// Its name.
        name: String,
        /// The caller's shape.
        expected: Vec<u64>,
        /// The file's.
        found: Vec<u64>,
    },
    /// A tensor has elements of another type.
    Dtype {
        /// Its name.
        name: String,
        /// The caller's type.
        expected: Dtype,
        /// The file's.
        found: Dtype,
    },
    /// The caller's slice is not as long as the caller's shape says.
    Length {
        /// The tensor's name.
        name: String,
        /// Bytes that the shape needs; `u64::MAX` where they cannot be counted.
        needed: u64,
        /// Bytes of the slice.
        given: u64,
    },
    /// The caller has two slices for one name.
    Twice {
        /// The name.
        name: String,
    },
    /// An element of a slice of `bool` is neither 0 nor 1 in the file.
    Bool {
        /// The tensor's name.
        name: String,
        /// The first such element.
        at: u64,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name } => write!(f, "missing: {:?}", Name::from(name)),
            Self::Unexpected { name } => write!(f, "unexpected: {:?}", Name::from(name)),
            Self::Shape { name, expected, found } => {
                let (expected, found) = (Shape::from(expected.as_slice()), Shape::from(found.as_slice()));
                write!(f, "{:?} has shape {found}, expected {expected}", Name::from(name))
            }
            Self::Dtype { name, expected, found } => {
                write!(f, "{:?} is {found}, expected {expected}", Name::from(name))
            }
            Self::Length { name, needed, given } => {
                write!(f, "the slice for {:?} has {given} bytes, its shape needs {needed}", Name::from(name))
            }
            Self::Twice { name } => write!(f, "two slices for {:?}", Name::from(name)),
            Self::Bool { name, at } => {
                write!(f, "element {at} of {:?} is neither true nor false", Name::from(name))
            }
        }
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
            Self::Mismatch(wrong) => {
                f.write_str("the checkpoint is not the one that was expected")?;
                wrong.iter().try_for_each(|mismatch| write!(f, "\n  {mismatch}"))
            }
        }
    }
}

impl std::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Invalid(error) => Some(error),
            Self::Mismatch(_) => None,
        }
    }
}

impl From<ReadError> for RestoreError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<Error> for RestoreError {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}
