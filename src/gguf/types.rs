//! The tensor types: how many elements and bytes a block of each has.

use core::fmt;

use crate::{Dtype, num};

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident $id:literal $elements:literal $bytes:literal;)*) => {
        impl GgmlType {
            $(
                #[doc = concat!("Type ", stringify!($id), ": ", stringify!($elements), " elements in ", stringify!($bytes), " bytes.")]
                $(#[$doc])*
                pub const $name: Self = Self($id);
            )*

            /// The 35 types that the format has today, by ascending number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that the reference gives it, or `None` for a number that is no live type.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($id => Some(stringify!($name)),)* _ => None }
            }

            /// The block, or `None` for a number that is no live type.
            #[inline]
            pub const fn block(self) -> Option<Block> {
                match self.0 { $($id => Some(Block { elements: $elements, bytes: $bytes }),)* _ => None }
            }
        }
    };
}

/// The type of a tensor's elements: a number, of which 35 are known here.
///
/// Any number can be held, so that a file with types of another program's can be listed; only the known ones have a
/// name and a block. Source: `ggml.h` and the `type_traits` of `ggml.c`, ggml 0.25.3.
///
/// ```
/// use tensorgate::gguf::GgmlType;
/// assert_eq!(GgmlType::Q4_0.block_elements(), Some(32));
/// assert_eq!(GgmlType::Q4_0.block_bytes(), Some(18));
/// assert_eq!(GgmlType::Q6_K.to_string(), "Q6_K");
/// assert_eq!(GgmlType::from_id(4).removed_name(), Some("Q4_2"));
/// assert_eq!(GgmlType::from_id(133).to_string(), "type 133");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GgmlType(u32);

/// The unit in which a type stores its elements; a row is a whole number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    elements: u32,
    bytes: u32,
}

impl Block {
    /// How many elements a block holds: 1 for plain types, 32 to 256 for quantised ones.
    #[inline]
    pub const fn elements(self) -> u32 {
        self.elements
    }

    /// How many bytes a block takes.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bytes
    }

    /// Bytes that `elements` elements take, or `None` where they are no whole number of blocks or do not fit.
    #[inline]
    pub(super) fn bytes_for(self, elements: u64) -> Option<u64> {
        let block = u64::from(self.elements);
        let blocks = elements.checked_div(block)?;
        if num::mul(blocks, block)? != elements {
            return None;
        }
        num::mul(blocks, u64::from(self.bytes))
    }
}

types! {
    /// IEEE single.
    F32 0 1 4;
    /// IEEE half.
    F16 1 1 2;
    /// 4 bits and a scale.
    Q4_0 2 32 18;
    /// 4 bits, a scale and a minimum.
    Q4_1 3 32 20;
    /// 5 bits and a scale.
    Q5_0 6 32 22;
    /// 5 bits, a scale and a minimum.
    Q5_1 7 32 24;
    /// 8 bits and a scale.
    Q8_0 8 32 34;
    /// 8 bits, a scale and a sum; made for activations.
    Q8_1 9 32 36;
    /// 2 bits, with scales and minima for each 16.
    Q2_K 10 256 84;
    /// 3 bits, with scales for each 16.
    Q3_K 11 256 110;
    /// 4 bits, with scales and minima for each 32.
    Q4_K 12 256 144;
    /// 5 bits, with scales and minima for each 32.
    Q5_K 13 256 176;
    /// 6 bits, with scales for each 16.
    Q6_K 14 256 210;
    /// 8 bits and an IEEE single as the scale; made for intermediate results.
    Q8_K 15 256 292;
    /// About 2 bits, by a table of 256 patterns.
    IQ2_XXS 16 256 66;
    /// About 2 bits, by a table of 512 patterns.
    IQ2_XS 17 256 74;
    /// About 3 bits, by a table of 256 patterns.
    IQ3_XXS 18 256 98;
    /// About 1.5 bits, by a table of 2,048 patterns.
    IQ1_S 19 256 50;
    /// 4 bits through a table of 16 values.
    IQ4_NL 20 32 18;
    /// About 3 bits, by a table of 512 patterns.
    IQ3_S 21 256 110;
    /// About 2.5 bits, by a table of 1,024 patterns.
    IQ2_S 22 256 82;
    /// 4 bits through a table of 16 values, with scales for each 32.
    IQ4_XS 23 256 136;
    /// Signed byte.
    I8 24 1 1;
    /// Signed 16-bit integer.
    I16 25 1 2;
    /// Signed 32-bit integer.
    I32 26 1 4;
    /// Signed 64-bit integer.
    I64 27 1 8;
    /// IEEE double.
    F64 28 1 8;
    /// About 1.75 bits, by a table of 2,048 patterns.
    IQ1_M 29 256 56;
    /// The upper half of an IEEE single.
    BF16 30 1 2;
    /// Three values, five to a byte.
    TQ1_0 34 256 54;
    /// Three values in 2 bits each.
    TQ2_0 35 256 66;
    /// 4-bit floats (E2M1) under a power of two for each 32.
    MXFP4 39 32 17;
    /// 4-bit floats (E2M1) under an 8-bit float for each 16.
    NVFP4 40 64 36;
    /// 1 bit and a scale.
    Q1_0 41 128 18;
    /// 2 bits and a scale.
    Q2_0 42 64 18;
}

impl GgmlType {
    /// The type with this number, known or not.
    #[inline]
    pub const fn from_id(id: u32) -> Self {
        Self(id)
    }

    /// Its number in the file.
    #[inline]
    pub const fn id(self) -> u32 {
        self.0
    }

    /// Whether it is one of the 35 live types.
    pub const fn is_known(self) -> bool {
        self.block().is_some()
    }

    /// The name that a removed type once had. No file with such a tensor can be read: the layout is gone from the
    /// reference, and some programs have given the numbers to types of their own.
    pub const fn removed_name(self) -> Option<&'static str> {
        Some(match self.0 {
            4 => "Q4_2",
            5 => "Q4_3",
            31 => "Q4_0_4_4",
            32 => "Q4_0_4_8",
            33 => "Q4_0_8_8",
            36 => "IQ4_NL_4_4",
            37 => "IQ4_NL_4_8",
            38 => "IQ4_NL_8_8",
            _ => return None,
        })
    }

    /// Elements in a block, or `None` for a number that is no live type.
    pub const fn block_elements(self) -> Option<u32> {
        match self.block() {
            Some(block) => Some(block.elements),
            None => None,
        }
    }

    /// Bytes in a block, or `None` for a number that is no live type.
    pub const fn block_bytes(self) -> Option<u32> {
        match self.block() {
            Some(block) => Some(block.bytes),
            None => None,
        }
    }

    /// Length in bytes of `elements` elements, or `None` where the type is not known, the elements are no whole number
    /// of blocks, or the bytes do not fit a `u64`.
    ///
    /// ```
    /// use tensorgate::gguf::GgmlType;
    /// assert_eq!(GgmlType::Q8_0.bytes_for(64), Some(68));
    /// assert_eq!(GgmlType::Q8_0.bytes_for(65), None);
    /// ```
    pub fn bytes_for(self, elements: u64) -> Option<u64> {
        self.block()?.bytes_for(elements)
    }

    /// The same type as safetensors has it, for the types that are plain numbers; `None` for blocks.
    pub const fn dtype(self) -> Option<Dtype> {
        Some(match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::BF16 => Dtype::BF16,
            Self::F64 => Dtype::F64,
            Self::I8 => Dtype::I8,
            Self::I16 => Dtype::I16,
            Self::I32 => Dtype::I32,
            Self::I64 => Dtype::I64,
            _ => return None,
        })
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

impl fmt::Debug for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_removed_and_unknown_numbers() {
        assert_eq!(GgmlType::ALL.len(), 35);
        let (mut live, mut removed) = (0, 0);
        for id in 0..43 {
            let kind = GgmlType::from_id(id);
            assert_ne!(kind.is_known(), kind.removed_name().is_some(), "{id}");
            assert_eq!(kind.is_known(), GgmlType::ALL.contains(&kind));
            live += u32::from(kind.is_known());
            removed += u32::from(kind.removed_name().is_some());
        }
        assert_eq!((live, removed), (35, 8));
        for id in [43, 44, 97, 133, 202, 399, i32::MAX.cast_unsigned(), 1 << 31, u32::MAX] {
            let kind = GgmlType::from_id(id);
            assert_eq!((kind.name(), kind.block(), kind.removed_name()), (None, None, None));
        }
    }

    #[test]
    fn plain_types_agree_with_safetensors() {
        for kind in GgmlType::ALL {
            let block = kind.block().unwrap();
            match kind.dtype() {
                Some(dtype) => {
                    assert_eq!((1, dtype.bits()), (block.elements(), u64::from(block.bytes()) * 8));
                    assert_eq!(kind.name(), Some(dtype.tag()));
                }
                None => assert!(block.elements() >= 32),
            }
        }
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!(GgmlType::F32.bytes_for(1 << 62), None);
        assert_eq!(GgmlType::F32.bytes_for((1 << 62) - 1), Some(u64::MAX - 3));
        assert_eq!(GgmlType::Q1_0.bytes_for(u64::MAX - 127), Some((u64::MAX - 127) / 128 * 18));
        assert_eq!(GgmlType::Q4_K.bytes_for(255), None);
        assert_eq!(GgmlType::from_id(36).bytes_for(0), None);
    }
}
