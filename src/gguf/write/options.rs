//! How a file is written.

use crate::Limits;
use crate::gguf::Endian;

/// Byte order, alignment and limits of a file that is written. The defaults: little-endian, the alignment that a pair
/// `general.alignment` gives or else 32, the default limits.
///
/// ```
/// use tensorgate::gguf::{Endian, WriteOptions};
/// let options = WriteOptions::default().with_endian(Endian::Big).with_alignment(64);
/// assert_eq!((options.endian(), options.alignment()), (Endian::Big, Some(64)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    endian: Endian,
    alignment: Option<u32>,
    limits: Limits,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl WriteOptions {
    /// The default options, as a constant.
    pub const DEFAULT: Self = Self { endian: Endian::Little, alignment: None, limits: Limits::DEFAULT };

    /// The order of the bytes in the file's numbers.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// The same options with another byte order. Tensors' bytes are not turned round: they must be in it already.
    #[must_use]
    pub const fn with_endian(mut self, endian: Endian) -> Self {
        self.endian = endian;
        self
    }

    /// The alignment of tensors in bytes, where it was asked for.
    pub const fn alignment(&self) -> Option<u32> {
        self.alignment
    }

    /// The same options with an alignment of so many bytes: a power of two. (The format's document wants a multiple of
    /// 8; the reference reads 1, 2 and 4 too.)
    #[must_use]
    pub const fn with_alignment(mut self, alignment: u32) -> Self {
        self.alignment = Some(alignment);
        self
    }

    /// What a reader will at most accept.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same options with other limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
