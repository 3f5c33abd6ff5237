//! Why blocks cannot be decoded, checked or made.

use core::fmt;

use crate::gguf::GgmlType;

/// Why blocks cannot be decoded, are no sound data, or cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuantError {
    /// The number is none of the format's types.
    UnknownType(GgmlType),
    /// The crate was built without the feature `iq`, which the type's tables of patterns need.
    Feature(GgmlType),
    /// There is no encoder for this type.
    NoEncoder(GgmlType),
    /// The elements are no whole number of blocks.
    Blocks {
        /// The type.
        kind: GgmlType,
        /// The elements asked for.
        elements: u64,
    },
    /// The bytes are not as many as the elements take.
    Bytes {
        /// How many bytes the elements take; where no number of elements was given, the most whole blocks there are.
        expected: u64,
        /// How many bytes there are.
        found: u64,
    },
    /// The tensor has no such row.
    Row {
        /// The row asked for.
        index: u64,
        /// How many there are.
        rows: u64,
    },
    /// A number in the data is not finite.
    Fault(Fault),
    /// A value to encode is not finite.
    NotFinite {
        /// Which one.
        index: u64,
        /// Whether it is a NaN; otherwise it is infinite.
        is_nan: bool,
    },
    /// A value, or the scale of a block, is too large for the type, and would come back infinite.
    Overflow {
        /// The value, or the block's first.
        index: u64,
    },
}

/// A number in a tensor's data that makes elements infinite or no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    pub(super) block: u64,
    pub(super) at: u64,
    pub(super) what: What,
}

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// It is no number.
    Nan,
    /// It is infinite.
    Infinite,
    /// It is the exponent 255, which stands for no number in E8M0. It decodes to a large one all the same.
    Exponent,
}

impl Fault {
    /// The index of the block; of plain types, of the element.
    pub const fn block(&self) -> u64 {
        self.block
    }

    /// Where the number begins: a byte offset in the data that was checked.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// What is wrong with it.
    pub const fn what(&self) -> What {
        self.what
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::Nan => "NaN",
            What::Infinite => "infinity",
            What::Exponent => "exponent 255",
        };
        write!(f, "{what} in block {}, at byte {} of the data", self.block, self.at)
    }
}

impl fmt::Display for QuantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownType(kind) => write!(f, "no tensor type has the number {}", kind.id()),
            Self::Feature(kind) => write!(f, "{kind} needs the feature iq, which this build does not have"),
            Self::NoEncoder(kind) => write!(f, "there is no encoder for {kind}"),
            Self::Blocks { kind, elements } => {
                write!(f, "{elements} elements are no whole number of blocks of {kind}")
            }
            Self::Bytes { expected, found } => write!(f, "the data has {found} bytes, not {expected}"),
            Self::Row { index, rows } => write!(f, "row {index} was asked for, and there are {rows}"),
            Self::Fault(fault) => fmt::Display::fmt(fault, f),
            Self::NotFinite { index, is_nan: true } => write!(f, "value {index} is no number"),
            Self::NotFinite { index, is_nan: false } => write!(f, "value {index} is infinite"),
            Self::Overflow { index } => write!(f, "value {index}, or its block, is too large for the type"),
        }
    }
}

impl core::error::Error for QuantError {}
impl core::error::Error for Fault {}
