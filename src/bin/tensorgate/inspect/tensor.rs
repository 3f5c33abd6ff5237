//! A tensor as it is shown, whatever the format.

use tensorgate::{Name, Shape, Span, gguf, safetensors};

/// What is shown of one tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor<'a> {
    pub(super) name: Name<'a>,
    /// Its dtype's tag or its type's name.
    pub(super) kind: &'static str,
    pub(super) shape: Shape<'a>,
    pub(super) span: Span,
}

impl Tensor<'_> {
    /// How many elements it has.
    pub(super) fn parameters(&self) -> u64 {
        self.shape.elements().unwrap_or_default()
    }
}

impl<'a> From<safetensors::TensorInfo<'a>> for Tensor<'a> {
    fn from(info: safetensors::TensorInfo<'a>) -> Self {
        Self { name: info.name(), kind: info.dtype().tag(), shape: info.shape(), span: info.span() }
    }
}

impl<'a> From<gguf::TensorInfo<'a>> for Tensor<'a> {
    fn from(info: gguf::TensorInfo<'a>) -> Self {
        // A type without a name has no size, and is refused.
        Self { name: info.name(), kind: info.kind().name().unwrap_or("?"), shape: info.shape(), span: info.span() }
    }
}
