//! What is wrong with a model that cannot be run, all of it at once.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// One reason why a model cannot be run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// `config.json` is not the JSON it should be.
    Json(Error),
    /// The config is longer than [`MAX_CONFIG_LEN`](crate::gpt2::MAX_CONFIG_LEN) bytes.
    ConfigLength(u64),
    /// A key stands twice in `config.json`, counting the other names that a field has.
    DuplicateKey {
        /// The key, escaped.
        key: String,
        /// Its offset in the file.
        at: u64,
    },
    /// A field of the config is of the wrong type or outside its range.
    Field {
        /// The field.
        key: &'static str,
        /// What was found, escaped and cut.
        found: String,
        /// What it must be.
        expected: &'static str,
    },
    /// Neither the config nor the shapes of the weights give this field.
    MissingField(&'static str),
    /// The config asks for what is not implemented.
    Unsupported {
        /// The field.
        key: &'static str,
        /// What was found, escaped and cut.
        found: String,
        /// What there is instead.
        expected: &'static str,
    },
    /// A tensor that the model needs is not there.
    MissingTensor(String),
    /// A tensor has another shape than the config says.
    Shape {
        /// The tensor.
        name: String,
        /// Its shape, row-major.
        found: Vec<u64>,
        /// What it must be, row-major.
        expected: Vec<u64>,
    },
    /// A tensor is of a type that cannot be multiplied.
    Type {
        /// The tensor.
        name: String,
        /// Its type.
        found: String,
    },
    /// There is a tensor of the model that the config does not account for, as of a layer too many.
    UnexpectedTensor(String),
    /// The rows of a tensor are not a whole number of its type's blocks.
    Blocks {
        /// The tensor.
        name: String,
        /// Elements in a row.
        row: u64,
        /// Elements in a block.
        block: u64,
    },
    /// A tensor's bytes could not be read: its file was cut or written meanwhile, or cannot be read any more.
    Unread {
        /// The tensor.
        name: String,
        /// Why.
        why: String,
    },
    /// A weight cannot be brought into blocks.
    Value {
        /// The tensor.
        name: String,
        /// Which of its elements, counted from 0 in the file's order; for a scale that is too large, its block's first.
        element: u64,
        /// What is the matter with it.
        why: String,
    },
    /// More memory would be needed than is allowed.
    Memory {
        /// What it is needed for.
        what: &'static str,
        /// How many bytes it needs; `u64::MAX` where that is more than can be counted.
        needed: u64,
        /// How many bytes are allowed.
        limit: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => match error.kind() {
                // Two kinds whose words speak of an index, whose reader does the stepping over.
                ErrorKind::IxDepthLimit => write!(f, "config.json, byte {}: values nest too deep", error.at()),
                ErrorKind::IxMetadataNumber => write!(f, "config.json, byte {}: a malformed number", error.at()),
                kind => write!(f, "config.json, byte {}: {}", error.at(), kind.what()),
            },
            Self::ConfigLength(len) => write!(f, "config.json is {len} bytes long, far too long for a config"),
            Self::DuplicateKey { key, at } => write!(f, "config.json, byte {at}: \"{key}\" stands twice"),
            Self::Field { key, found, expected } => write!(f, "{key} is {found}, expected {expected}"),
            Self::MissingField(key) => write!(f, "{key} is not given, and the weights' shapes do not tell it"),
            Self::Unsupported { key, found, expected } => {
                write!(f, "{key} is {found}, which is not supported; supported: {expected}")
            }
            Self::MissingTensor(name) => write!(f, "tensor {name} is missing"),
            Self::Shape { name, found, expected } => {
                write!(f, "tensor {name} has shape {found:?}, expected {expected:?}")
            }
            Self::Type { name, found } => {
                write!(f, "tensor {name} is of type {found}, which the runner does not have")
            }
            Self::UnexpectedTensor(name) => write!(f, "tensor {name} has no place in a model of this config"),
            Self::Blocks { name, row, block } => {
                write!(f, "tensor {name} has rows of {row}, which are not whole blocks of {block}")
            }
            Self::Unread { name, why } => write!(f, "tensor {name} cannot be read: {why}"),
            Self::Value { name, element, why } => write!(f, "element {element} of tensor {name} is {why}"),
            Self::Memory { what, needed: u64::MAX, limit } => {
                write!(f, "more memory than can be counted is needed for {what}, and {limit} bytes are allowed")
            }
            Self::Memory { what, needed, limit } => {
                write!(f, "{needed} bytes of memory are needed for {what}, and {limit} are allowed")
            }
        }
    }
}

/// Every problem that was found, at least one, and at most a thousand: a hostile file can have millions.
///
/// ```
/// use tensorgate::gpt2::Fields;
/// let problems = Fields::from_json(br#"{"n_layer":-1,"n_head":"12"}"#).unwrap_err();
/// assert_eq!(problems.iter().count(), 2);
/// assert!(problems.to_string().starts_with("n_layer is -1, expected"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problems {
    kept: Vec<Problem>,
    /// Whether there were more.
    is_cut: bool,
}

/// How many problems are kept. Whoever looks for them may stop when there are more.
pub(super) const KEPT: usize = 1000;

/// How many problems are shown.
const SHOWN: usize = 20;

impl Problems {
    /// `Ok` where there are none.
    pub(crate) fn none_of(mut list: Vec<Problem>) -> Result<(), Self> {
        let is_cut = list.len() > KEPT;
        list.truncate(KEPT);
        if list.is_empty() { Ok(()) } else { Err(Self { kept: list, is_cut }) }
    }

    /// The problems, in the order in which they were found.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Problem> {
        self.kept.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self { kept: vec![problem], is_cut: false }
    }
}

impl fmt::Display for Problems {
    /// One problem a line, the first twenty of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.kept.iter().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        match self.kept.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more if self.is_cut => write!(f, "\nand more than {more} more"),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Text of a file's, made printable and cut to what helps.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut out: String = text.escape_default().take(MOST).collect();
    if text.escape_default().nth(MOST).is_some() {
        out.push_str("...");
    }
    out
}
