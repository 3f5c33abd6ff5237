//! The proved tensor.

use core::fmt;

use crate::{Dtype, Name, Shape, Span};

/// A tensor whose every claim was proved: its bytes lie inside the file and are exactly as many as its shape and dtype
/// need.
///
/// It borrows the file's bytes, not the handle it came from, and can outlive that handle.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    name: Name<'a>,
    dtype: Dtype,
    shape: Shape<'a>,
    span: Span,
    bytes: &'a [u8],
    /// Whether somebody else may write to the bytes, as to those of a mapped file.
    shared: bool,
}

impl<'a> TensorView<'a> {
    #[inline]
    pub(crate) const fn new(name: Name<'a>, dtype: Dtype, shape: Shape<'a>, span: Span, bytes: &'a [u8]) -> Self {
        Self { name, dtype, shape, span, bytes, shared: false }
    }

    /// The same, of bytes that somebody else may write to.
    #[cfg(feature = "std")]
    pub(crate) const fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// Whether somebody else may write to the bytes.
    #[inline]
    pub(crate) const fn is_shared(&self) -> bool {
        self.shared
    }

    /// The tensor's name.
    pub const fn name(&self) -> Name<'a> {
        self.name
    }

    /// The type of its elements.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Its dimensions, outermost first.
    pub const fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        // Proved to be a whole number of elements; a sub-byte dtype divides by its bits.
        crate::num::mul(self.span.len(), 8).and_then(|bits| bits.checked_div(self.dtype.bits())).unwrap_or(0)
    }

    /// Where its bytes stand in the file, absolute.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Its bytes, little-endian, row-major, at whatever alignment the file gives them.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}{} at {}..{}", self.name, self.dtype, self.shape, self.span.start(), self.span.end())
    }
}
