//! Why there is no model, or no tensor.

use std::boxed::Box;
use std::fmt;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;

use crate::detect::Guess;
use crate::file::ReadError;
use crate::gguf::SplitError;
use crate::{Error, Name};

/// Why there is no model, or no tensor: the file, and what is wrong with it.
///
/// [`Display`](fmt::Display) is one line of printable ASCII, so that it is safe for terminals and logs.
pub struct ModelError(Box<Inner>);

struct Inner {
    path: PathBuf,
    kind: ModelErrorKind,
}

/// What is wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The file could not be read or held.
    Read(ReadError),
    /// The file is refused: the verdict, and what the file seems to be instead, where it begins as something else does.
    Invalid {
        /// The verdict, with the offset of the field that lied.
        error: Error,
        /// What it seems to be.
        guess: Option<Guess>,
    },
    /// The index and its shards disagree. The offset of the error is one in the index.
    Disagreement {
        /// The first disagreement.
        error: Error,
        /// The tensor that it is about.
        tensor: Option<String>,
        /// The shard that it is about.
        shard: Option<String>,
        /// How many more there are of this shard, or how many more shards are missing.
        more: usize,
    },
    /// The files of a split model are no model together.
    Split(SplitError),
    /// The file is another than the first of a split model.
    NotFirst {
        /// The name of the first, as far as the name of this one tells it.
        first: Option<String>,
    },
    /// An index, or a file of a split model, came as a stream: what belongs to it cannot be found.
    NoFolder,
    /// There is no model in the folder.
    NothingFound {
        /// The names of its files, then of its folders with a `/` behind each; at most ten.
        found: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// There is more than one model in the folder.
    Ambiguous {
        /// The names of the files that could be meant, at most ten.
        found: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// A GGUF file has more padding than is looked at.
    Padding {
        /// Bytes of padding.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// There is no tensor of this name.
    NoTensor {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant.
        near: Option<String>,
    },
    /// The tensor's type is not known, so that nobody can tell which bytes are its own.
    NoSize {
        /// The tensor's name.
        name: String,
        /// The number of its type.
        id: u32,
    },
}

impl ModelError {
    pub(super) fn new(path: &Path, kind: ModelErrorKind) -> Self {
        Self(Box::new(Inner { path: path.to_owned(), kind }))
    }

    pub(super) fn read(path: &Path, error: ReadError) -> Self {
        Self::new(path, ModelErrorKind::Read(error))
    }

    pub(super) fn memory(path: &Path, wanted: u64) -> Self {
        Self::read(path, ReadError::Memory { wanted })
    }

    pub(super) fn split(path: &Path, error: SplitError) -> Self {
        Self::new(path, ModelErrorKind::Split(error))
    }

    /// The file or folder that is at fault; empty for a stream.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What is wrong with it.
    pub fn kind(&self) -> &ModelErrorKind {
        &self.0.kind
    }

    /// A stable code, as in `docs/rules.md`.
    ///
    /// ```
    /// let error = tensorgate::model::Model::open("no such file").unwrap_err();
    /// assert_eq!(error.code(), "IO-NOT-FOUND");
    /// ```
    pub fn code(&self) -> &'static str {
        match &self.0.kind {
            ModelErrorKind::Read(error) => error.code(),
            ModelErrorKind::Invalid { error, .. } | ModelErrorKind::Disagreement { error, .. } => error.code(),
            ModelErrorKind::Split(error) => error.code(),
            ModelErrorKind::NotFirst { .. } => "MO-NOT-FIRST",
            ModelErrorKind::NoFolder => "MO-NO-FOLDER",
            ModelErrorKind::NothingFound { .. } => "MO-NOTHING-FOUND",
            ModelErrorKind::Ambiguous { .. } => "MO-AMBIGUOUS",
            ModelErrorKind::Padding { .. } => "MO-PADDING-LIMIT",
            ModelErrorKind::NoTensor { .. } => "MO-NO-TENSOR",
            ModelErrorKind::NoSize { .. } => "MO-NO-SIZE",
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.0.path;
        let shown = if path.as_os_str().is_empty() { "the stream".into() } else { shown(path) };
        write!(f, "{shown}: {}", self.0.kind)
    }
}

impl fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{}", shown_text(&error.to_string())),
            Self::Invalid { error, guess: None } => write!(f, "{error}"),
            Self::Invalid { error, guess: Some(guess) } => {
                write!(f, "{error}; it seems to be {} ({})", guess.what(), guess.advice())
            }
            Self::Disagreement { error, tensor, shard, more } => {
                write!(f, "{error}")?;
                for (what, name) in [("tensor", tensor), ("shard", shard)] {
                    if let Some(name) = name {
                        write!(f, "; {what} {:?}", Name::from(name))?;
                    }
                }
                and_more(f, *more)
            }
            Self::Split(error) => write!(f, "{error}"),
            Self::NotFirst { first: Some(first) } => {
                write!(f, "it is not the first file of a split model: open {:?}", Name::from(first))
            }
            Self::NotFirst { first: None } => {
                f.write_str("it is not the first file of a split model: open that one")
            }
            Self::NoFolder => {
                f.write_str("it is a part of a model whose other files cannot be found from a stream")
            }
            Self::NothingFound { found, more } => {
                f.write_str(
                    "there is no model.safetensors.index.json, no model.safetensors and no .gguf file in it",
                )?;
                f.write_str(if found.is_empty() { "; it is empty" } else { "; found: " })?;
                list(f, found, *more)
            }
            Self::Ambiguous { found, more } => {
                f.write_str("it holds more than one model, so name the file: ")?;
                list(f, found, *more)
            }
            Self::Padding { bytes, limit } => {
                write!(f, "{bytes} bytes of padding must be zero, and only {limit} are looked at")
            }
            Self::NoTensor { name, near } => {
                write!(f, "there is no tensor {:?}", Name::from(name))?;
                near.iter().try_for_each(|near| write!(f, "; did you mean {:?}?", Name::from(near)))
            }
            Self::NoSize { name, id } => {
                write!(f, "tensor {:?} is of a type that is not known: {id}", Name::from(name))
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, names: &[String], more: usize) -> fmt::Result {
    for (index, name) in names.iter().enumerate() {
        write!(f, "{}{:?}", if index == 0 { "" } else { ", " }, Name::from(name))?;
    }
    and_more(f, more)
}

fn and_more(f: &mut fmt::Formatter<'_>, more: usize) -> fmt::Result {
    if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
}

/// A path for terminals and logs.
pub(super) fn shown(path: &Path) -> String {
    shown_text(&path.to_string_lossy())
}

fn shown_text(text: &str) -> String {
    Name::from(text).to_string()
}

impl fmt::Debug for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelError").field("path", &self.0.path).field("kind", &self.0.kind).finish()
    }
}

impl std::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ModelErrorKind::Read(error) => Some(error),
            ModelErrorKind::Invalid { error, .. } | ModelErrorKind::Disagreement { error, .. } => Some(error),
            ModelErrorKind::Split(error) => Some(error),
            _ => None,
        }
    }
}
