//! The type of a tensor's elements, in either format.

use std::fmt;

use crate::Dtype;
use crate::gguf::GgmlType;

/// The type of a tensor's elements, as its file has it.
///
/// ```
/// use tensorgate::{Dtype, gguf::GgmlType, model::ElementType};
/// assert_eq!(ElementType::Ggml(GgmlType::F16).dtype(), Some(Dtype::F16));
/// assert_eq!(ElementType::Ggml(GgmlType::Q4_0).dtype(), None);
/// assert_eq!(ElementType::Ggml(GgmlType::Q4_0).bytes_for(64), Some(36));
/// assert_eq!(ElementType::Dtype(Dtype::BF16).to_string(), "BF16");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Of a safetensors file.
    Dtype(Dtype),
    /// Of a GGUF file.
    Ggml(GgmlType),
}

impl ElementType {
    /// The type as safetensors has it, for plain numbers; `None` for blocks.
    pub const fn dtype(self) -> Option<Dtype> {
        match self {
            Self::Dtype(dtype) => Some(dtype),
            Self::Ggml(kind) => kind.dtype(),
        }
    }

    /// The type of GGUF that has the same numbers, as it is or for plain ones; `None` where GGUF has no such type.
    pub fn ggml(self) -> Option<GgmlType> {
        match self {
            Self::Dtype(dtype) => GgmlType::ALL.iter().copied().find(|kind| kind.dtype() == Some(dtype)),
            Self::Ggml(kind) => Some(kind),
        }
    }

    /// Elements that stand in one block: 1 for plain numbers, and `None` for a type that is not known.
    pub const fn block_elements(self) -> Option<u32> {
        match self {
            Self::Dtype(_) => Some(1),
            Self::Ggml(kind) => kind.block_elements(),
        }
    }

    /// Bytes that `elements` elements take, or `None` where they are no whole number of bytes or blocks, do not fit, or
    /// the type is not known.
    pub fn bytes_for(self, elements: u64) -> Option<u64> {
        match self {
            Self::Dtype(dtype) => {
                let bits = crate::num::mul(elements, dtype.bits())?;
                bits.is_multiple_of(8).then_some(bits / 8)
            }
            Self::Ggml(kind) => kind.bytes_for(elements),
        }
    }

    /// The number of a type of ggml's; 0 for others.
    pub(super) const fn ggml_id(self) -> u32 {
        match self {
            Self::Dtype(_) => 0,
            Self::Ggml(kind) => kind.id(),
        }
    }
}

impl From<Dtype> for ElementType {
    fn from(dtype: Dtype) -> Self {
        Self::Dtype(dtype)
    }
}

impl From<GgmlType> for ElementType {
    fn from(kind: GgmlType) -> Self {
        Self::Ggml(kind)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dtype(dtype) => fmt::Display::fmt(dtype, f),
            Self::Ggml(kind) => fmt::Display::fmt(kind, f),
        }
    }
}
