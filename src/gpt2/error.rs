//! Why a run stopped.

use std::{fmt, io};

use super::problem::Problem;
use super::sample::SampleError;
use crate::simd::ShapeError;

/// A part of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The embedding of tokens and positions.
    Embedding,
    /// This block, from 0.
    Layer(usize),
    /// The last norm and the head.
    Head,
}

impl Place {
    /// Whose output goes into layer `layer`.
    pub(super) const fn before(layer: usize) -> Self {
        match layer.checked_sub(1) {
            None => Self::Embedding,
            Some(layer) => Self::Layer(layer),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedding => f.write_str("the embedding"),
            Self::Layer(layer) => write!(f, "layer {layer}"),
            Self::Head => f.write_str("the head"),
        }
    }
}

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunError {
    /// What this part of the model gave is not a finite number.
    NotFinite(Place),
    /// This token is not in the vocabulary of so many.
    Token {
        /// The token.
        id: u32,
        /// Tokens in the vocabulary.
        vocabulary: usize,
    },
    /// There is no token to go on from.
    Empty,
    /// The text is longer than the context.
    ContextFull {
        /// Tokens of the text.
        tokens: usize,
        /// Tokens that the context has room for.
        room: usize,
    },
    /// More memory would be needed than is allowed.
    Memory(Problem),
    /// No token was chosen.
    Sample(SampleError),
    /// The system gave no threads.
    Threads(io::ErrorKind),
    /// A session that was saved cannot be restored.
    Session(SessionError),
    /// The run was cancelled.
    Cancelled,
    /// Buffers of the runner do not fit together, which is a fault of this library.
    Internal(ShapeError),
}

/// Why a session that was saved cannot be restored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionError {
    /// The bytes are not a safetensors file.
    File(crate::Error),
    /// A field or tensor is missing, or not what it must be.
    Field(&'static str),
    /// It was saved with another model.
    OtherModel,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => write!(f, "{error}"),
            Self::Field(name) => write!(f, "{name} is missing, or not what it must be"),
            Self::OtherModel => f.write_str("it was saved with another model"),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite(place) => write!(f, "what {place} gave is not a finite number"),
            Self::Token { id, vocabulary } => write!(f, "token {id} is not in the vocabulary of {vocabulary}"),
            Self::Empty => f.write_str("there is no token to go on from"),
            Self::ContextFull { tokens, room } => {
                write!(f, "the text has {tokens} tokens, and the context has room for {room}")
            }
            Self::Memory(problem) => problem.fmt(f),
            Self::Sample(error) => error.fmt(f),
            Self::Threads(kind) => write!(f, "the system gave no threads: {kind}"),
            Self::Session(error) => write!(f, "the session cannot be restored: {error}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Internal(error) => write!(f, "a fault in this library: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ShapeError> for RunError {
    fn from(error: ShapeError) -> Self {
        Self::Internal(error)
    }
}

impl From<SampleError> for RunError {
    fn from(error: SampleError) -> Self {
        match error {
            SampleError::NotFinite(_) => Self::NotFinite(Place::Head),
            error => Self::Sample(error),
        }
    }
}
