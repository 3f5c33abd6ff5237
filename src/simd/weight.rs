//! The element types that the kernels multiply.

use crate::Dtype;
use crate::gguf::GgmlType;

/// The type of a weight matrix's elements. Layouts: GGUF's block formats, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(non_camel_case_types, reason = "the names under which the formats are known")]
#[allow(missing_docs, reason = "the names say all; their layouts stand at GgmlType")]
pub enum WeightType {
    F32,
    F16,
    BF16,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q4_K,
    Q5_K,
    Q6_K,
}

/// In which form a matrix of some type takes its activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Form {
    /// As they are. Every weight type can be multiplied with it; for block formats that is the exact and slow way.
    #[default]
    F32,
    /// Rounded to BF16 (8 bits of precision), sums in F32: for BF16 weights, on processors with `vdpbf16ps`. With F32 and
    /// F16 weights these are rounded as well, where the processor has the instruction.
    Bf16,
    /// 8 bits under a scale for each 32: for block formats.
    Q8,
}

impl WeightType {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::Q8_0,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q4_K,
        Self::Q5_K,
        Self::Q6_K,
    ];

    /// The kernels' type of a GGUF type, or `None` where there are no kernels for it.
    pub const fn from_ggml(ty: GgmlType) -> Option<Self> {
        Some(match ty {
            GgmlType::F32 => Self::F32,
            GgmlType::F16 => Self::F16,
            GgmlType::BF16 => Self::BF16,
            GgmlType::Q8_0 => Self::Q8_0,
            GgmlType::Q4_0 => Self::Q4_0,
            GgmlType::Q4_1 => Self::Q4_1,
            GgmlType::Q5_0 => Self::Q5_0,
            GgmlType::Q5_1 => Self::Q5_1,
            GgmlType::Q4_K => Self::Q4_K,
            GgmlType::Q5_K => Self::Q5_K,
            GgmlType::Q6_K => Self::Q6_K,
            _ => return None,
        })
    }

    /// The kernels' type of a safetensors dtype, or `None` where there are no kernels for it.
    pub const fn from_dtype(dtype: Dtype) -> Option<Self> {
        Some(match dtype {
            Dtype::F32 => Self::F32,
            Dtype::F16 => Self::F16,
            Dtype::BF16 => Self::BF16,
            _ => return None,
        })
    }

    /// Elements of a block: 1, 32 or 256.
    pub const fn block_elements(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::BF16 => 1,
            Self::Q8_0 | Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 => 32,
            Self::Q4_K | Self::Q5_K | Self::Q6_K => 256,
        }
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Q8_0 => 34,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q4_K => 144,
            Self::Q5_K => 176,
            Self::Q6_K => 210,
        }
    }

    /// Bytes of a row of that many elements, or `None` where they are no whole number of blocks or do not fit.
    pub const fn row_bytes(self, elements: usize) -> Option<usize> {
        if !elements.is_multiple_of(self.block_elements()) {
            return None;
        }
        elements.wrapping_div(self.block_elements()).checked_mul(self.block_bytes())
    }

    /// Whether the elements are floating point numbers and not blocks.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::BF16)
    }

    /// The form of activations with which a product is fastest: [`Form::Q8`] for block formats, else [`Form::F32`].
    pub const fn form(self) -> Form {
        if self.is_float() { Form::F32 } else { Form::Q8 }
    }
}
