//! The 22 element types of safetensors.

use core::fmt;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $tag:literal $bits:literal;)*) => {
        /// An element type, in the order in which the reference writer sorts them (narrow alignment first).
        ///
        /// Source: `safetensors` 0.8.0, `tensor.rs` lines 811 to 891.
        ///
        /// ```
        /// use tensorgate::Dtype;
        /// assert_eq!(Dtype::from_tag(b"BF16"), Some(Dtype::BF16));
        /// assert_eq!(Dtype::F4.bits(), 4);
        /// assert_eq!(Dtype::F32.to_string(), "F32");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[expect(non_camel_case_types, reason = "the format's own tags, letter for letter")]
        #[repr(u8)]
        pub enum Dtype { $($(#[$doc])* $variant,)* }

        impl Dtype {
            /// All of them, in the order of the enumeration.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant,)*];

            /// The tag as it stands in a header.
            pub const fn tag(self) -> &'static str {
                match self { $(Dtype::$variant => $tag,)* }
            }

            /// Bits per element: 4, 6, 8, 16, 32 or 64.
            pub const fn bits(self) -> u64 {
                match self { $(Dtype::$variant => $bits,)* }
            }
        }
    };
}

dtypes! {
    /// One byte, 0 or 1. The format does not check it; see [`TensorView::as_bool`](crate::TensorView::as_bool).
    BOOL "BOOL" 8;
    /// 4-bit float (E2M1), two elements a byte, the low nibble first.
    F4 "F4" 4;
    /// 6-bit float, 2 exponent and 3 mantissa bits.
    F6_E2M3 "F6_E2M3" 6;
    /// 6-bit float, 3 exponent and 2 mantissa bits.
    F6_E3M2 "F6_E3M2" 6;
    /// Unsigned byte.
    U8 "U8" 8;
    /// Signed byte.
    I8 "I8" 8;
    /// 8-bit float, 5 exponent and 2 mantissa bits, IEEE-like.
    F8_E5M2 "F8_E5M2" 8;
    /// 8-bit float, 4 exponent and 3 mantissa bits, finite (`fn`): no infinities, one NaN a sign.
    F8_E4M3 "F8_E4M3" 8;
    /// 8-bit power of two (OCP microscaling scale).
    F8_E8M0 "F8_E8M0" 8;
    /// 8-bit float, 4 exponent and 3 mantissa bits, finite, unsigned zero.
    F8_E4M3FNUZ "F8_E4M3FNUZ" 8;
    /// 8-bit float, 5 exponent and 2 mantissa bits, finite, unsigned zero.
    F8_E5M2FNUZ "F8_E5M2FNUZ" 8;
    /// Signed 16-bit integer.
    I16 "I16" 16;
    /// Unsigned 16-bit integer.
    U16 "U16" 16;
    /// IEEE half.
    F16 "F16" 16;
    /// The upper half of an IEEE single.
    BF16 "BF16" 16;
    /// Signed 32-bit integer.
    I32 "I32" 32;
    /// Unsigned 32-bit integer.
    U32 "U32" 32;
    /// IEEE single.
    F32 "F32" 32;
    /// Complex: two IEEE singles, real first.
    C64 "C64" 64;
    /// IEEE double.
    F64 "F64" 64;
    /// Signed 64-bit integer.
    I64 "I64" 64;
    /// Unsigned 64-bit integer.
    U64 "U64" 64;
}

impl Dtype {
    /// The dtype of a tag, letter for letter (tags are case-sensitive).
    pub const fn from_tag(tag: &[u8]) -> Option<Self> {
        Some(match tag {
            b"F32" => Self::F32,
            b"BF16" => Self::BF16,
            b"F16" => Self::F16,
            b"BOOL" => Self::BOOL,
            b"F4" => Self::F4,
            b"F6_E2M3" => Self::F6_E2M3,
            b"F6_E3M2" => Self::F6_E3M2,
            b"U8" => Self::U8,
            b"I8" => Self::I8,
            b"F8_E5M2" => Self::F8_E5M2,
            b"F8_E4M3" => Self::F8_E4M3,
            b"F8_E8M0" => Self::F8_E8M0,
            b"F8_E4M3FNUZ" => Self::F8_E4M3FNUZ,
            b"F8_E5M2FNUZ" => Self::F8_E5M2FNUZ,
            b"I16" => Self::I16,
            b"U16" => Self::U16,
            b"I32" => Self::I32,
            b"U32" => Self::U32,
            b"C64" => Self::C64,
            b"F64" => Self::F64,
            b"I64" => Self::I64,
            b"U64" => Self::U64,
            _ => return None,
        })
    }

    /// Length in bytes of `elements` elements, or `None` where the bits do not fit a `u64` or are no whole bytes.
    ///
    /// ```
    /// use tensorgate::Dtype;
    /// assert_eq!(Dtype::F4.bytes_for(6), Some(3));
    /// assert_eq!(Dtype::F4.bytes_for(3), None);
    /// ```
    pub fn bytes_for(self, elements: u64) -> Option<u64> {
        let bits = crate::num::mul(elements, self.bits())?;
        if bits.is_multiple_of(8) { Some(bits / 8) } else { None }
    }

    /// Alignment in bytes that a native slice of this type wants: its size, or 1 below a byte. 4 for [`Dtype::C64`].
    pub const fn align(self) -> u64 {
        match self {
            Self::C64 => 4,
            other if other.bits() < 8 => 1,
            other => other.bits() / 8,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.tag())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_comes_back() {
        assert_eq!(Dtype::ALL.len(), 22);
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::from_tag(dtype.tag().as_bytes()), Some(*dtype));
            assert_eq!(Dtype::from_tag(dtype.tag().to_lowercase().as_bytes()), None);
        }
        for stranger in ["", " F32", "F32 ", "F128", "I4", "U4", "BFLOAT16", "C128", "F6", "F8_e5m2"] {
            assert_eq!(Dtype::from_tag(stranger.as_bytes()), None, "{stranger}");
        }
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!(Dtype::U8.bytes_for((1 << 61) - 1), Some((1 << 61) - 1));
        assert_eq!(Dtype::U8.bytes_for(1 << 61), None);
        assert_eq!(Dtype::F64.bytes_for(1 << 61), None);
        assert_eq!(Dtype::F6_E2M3.bytes_for(4), Some(3));
        assert_eq!(Dtype::F6_E2M3.bytes_for(2), None);
    }
}
