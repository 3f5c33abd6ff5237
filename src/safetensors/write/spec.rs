//! What is to be written: tensors described, and tensors with their bytes.

use core::fmt;

use crate::safetensors::TensorInfo;
use crate::{Dtype, Name, Shape, TensorView, num};

/// A tensor to be written: its name, dtype and shape, all borrowed.
///
/// It can be made of a program's own values or of what a reader showed, and changed on the way:
///
/// ```
/// use tensorgate::Dtype;
/// use tensorgate::safetensors::TensorSpec;
///
/// let spec = TensorSpec::new("wte", Dtype::F32, &[50_257, 768]);
/// assert_eq!(spec.byte_len(), Some(154_389_504));
/// assert_eq!(spec.with_dtype(Dtype::F16).byte_len(), Some(77_194_752));
/// ```
#[derive(Clone, Copy)]
pub struct TensorSpec<'a> {
    name: Name<'a>,
    dtype: Dtype,
    shape: Shape<'a>,
}

impl<'a> TensorSpec<'a> {
    /// A tensor called `name` with dimensions `shape`, outermost first; an empty shape is a scalar.
    pub fn new(name: impl Into<Name<'a>>, dtype: Dtype, shape: &'a [u64]) -> Self {
        Self::from_shape(name, dtype, shape.into())
    }

    /// A tensor with a shape that a reader showed.
    pub fn from_shape(name: impl Into<Name<'a>>, dtype: Dtype, shape: Shape<'a>) -> Self {
        Self { name: name.into(), dtype, shape }
    }

    /// The same tensor under another name.
    #[must_use]
    pub fn with_name(self, name: impl Into<Name<'a>>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same tensor with elements of another type.
    #[must_use]
    pub const fn with_dtype(self, dtype: Dtype) -> Self {
        Self { dtype, ..self }
    }

    /// The same tensor with other dimensions.
    #[must_use]
    pub fn with_shape(self, shape: &'a [u64]) -> Self {
        Self { shape: shape.into(), ..self }
    }

    /// This tensor with its bytes: little-endian, row-major.
    pub const fn with_bytes(self, bytes: &'a [u8]) -> TensorData<'a> {
        TensorData { spec: self, bytes }
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
    pub fn dims(&self) -> impl Iterator<Item = u64> + Clone + use<'a> {
        self.shape.iter()
    }

    /// Bytes that its dtype and shape need, or `None` where they do not fit or are not whole.
    pub fn byte_len(&self) -> Option<u64> {
        self.dtype.bytes_for(num::product(self.dims())?)
    }
}

impl fmt::Debug for TensorSpec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.name, self.dtype)?;
        f.debug_list().entries(self.dims()).finish()
    }
}

impl<'a> From<TensorInfo<'a>> for TensorSpec<'a> {
    fn from(info: TensorInfo<'a>) -> Self {
        Self::from_shape(info.name(), info.dtype(), info.shape())
    }
}

impl<'a> From<TensorView<'a>> for TensorSpec<'a> {
    fn from(view: TensorView<'a>) -> Self {
        Self::from_shape(view.name(), view.dtype(), view.shape())
    }
}

impl<'a> From<&TensorSpec<'a>> for TensorSpec<'a> {
    fn from(spec: &TensorSpec<'a>) -> Self {
        *spec
    }
}

/// A tensor to be written, with its bytes.
#[derive(Clone, Copy)]
pub struct TensorData<'a> {
    spec: TensorSpec<'a>,
    bytes: &'a [u8],
}

impl<'a> TensorData<'a> {
    /// What the tensor is.
    pub const fn spec(&self) -> TensorSpec<'a> {
        self.spec
    }

    /// Its bytes.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl fmt::Debug for TensorData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} bytes", self.spec, self.bytes.len())
    }
}

impl<'a> From<TensorView<'a>> for TensorData<'a> {
    fn from(view: TensorView<'a>) -> Self {
        TensorSpec::from(view).with_bytes(view.bytes())
    }
}

impl<'a> From<&TensorData<'a>> for TensorData<'a> {
    fn from(data: &TensorData<'a>) -> Self {
        *data
    }
}
