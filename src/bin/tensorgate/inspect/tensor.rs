//! A tensor as it is shown, whatever the format.

use tensorgate::{Name, Shape, Span, gguf, safetensors};

use crate::parts;

/// Where its bytes stand in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    start: u64,
    end: u64,
}

impl Place {
    pub(super) const fn start(self) -> u64 {
        self.start
    }

    pub(super) const fn end(self) -> u64 {
        self.end
    }

    pub(super) const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self { start: span.start(), end: span.end() }
    }
}

/// What is shown of one tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor<'a> {
    pub(super) name: Name<'a>,
    /// Its dtype's tag or its type's name.
    pub(super) kind: &'static str,
    pub(super) shape: Shape<'a>,
    pub(super) span: Place,
    /// The file that it is in, where a model has several.
    pub(super) file: Option<&'a str>,
}

impl<'a> Tensor<'a> {
    /// A tensor of one file of several.
    pub(super) fn of(tensor: &'a parts::Tensor, file: &'a str) -> Option<Self> {
        let kind = match tensor.kind {
            parts::Kind::Plain(dtype) => dtype.tag(),
            parts::Kind::Ggml(kind, _) => kind.name()?,
        };
        let (name, shape) = (Name::from(tensor.name.as_str()), Shape::from(tensor.shape.as_slice()));
        Some(Self { name, kind, shape, span: Place { start: tensor.start, end: tensor.end }, file: Some(file) })
    }

    /// How many elements it has.
    pub(super) fn parameters(&self) -> u64 {
        self.shape.elements().unwrap_or_default()
    }
}

impl<'a> From<safetensors::TensorInfo<'a>> for Tensor<'a> {
    fn from(info: safetensors::TensorInfo<'a>) -> Self {
        Self {
            name: info.name(),
            kind: info.dtype().tag(),
            shape: info.shape(),
            span: info.span().into(),
            file: None,
        }
    }
}

impl<'a> From<gguf::TensorInfo<'a>> for Tensor<'a> {
    fn from(info: gguf::TensorInfo<'a>) -> Self {
        // A type without a name has no size, and is refused.
        Self {
            name: info.name(),
            kind: info.kind().name().unwrap_or("?"),
            shape: info.shape(),
            span: info.span().into(),
            file: None,
        }
    }
}
