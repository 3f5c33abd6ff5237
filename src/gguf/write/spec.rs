//! What is to be written: pairs, and tensors described and with their bytes.

use core::fmt;

use super::WriteValue;
use crate::gguf::tensor::measure;
use crate::gguf::{Endian, GgmlType, Pair, TensorInfo, TensorView};
use crate::{DimIter, ErrorKind, Name, Shape};

/// A key/value pair to be written.
///
/// Made of a key and anything that makes a [`WriteValue`], or of a pair that a reader showed.
///
/// ```
/// use tensorgate::gguf::PairSpec;
///
/// let pairs = [
///     PairSpec::new("general.architecture", "llama"),
///     PairSpec::new("llama.block_count", 32_u32),
///     PairSpec::new("tokenizer.ggml.tokens", &["<s>", "</s>"]),
/// ];
/// assert_eq!(pairs[1].key(), "llama.block_count");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PairSpec<'a> {
    key: Name<'a>,
    value: WriteValue<'a>,
}

impl<'a> PairSpec<'a> {
    /// `value` under `key`.
    pub fn new(key: impl Into<Name<'a>>, value: impl Into<WriteValue<'a>>) -> Self {
        Self { key: key.into(), value: value.into() }
    }

    /// The key.
    pub const fn key(&self) -> Name<'a> {
        self.key
    }

    /// The value.
    pub const fn value(&self) -> WriteValue<'a> {
        self.value
    }
}

impl<'a, K: Into<Name<'a>>, V: Into<WriteValue<'a>>> From<(K, V)> for PairSpec<'a> {
    fn from((key, value): (K, V)) -> Self {
        Self::new(key, value)
    }
}

impl<'a> From<Pair<'a>> for PairSpec<'a> {
    fn from(pair: Pair<'a>) -> Self {
        Self::new(pair.key(), pair.value())
    }
}

impl<'a> From<&PairSpec<'a>> for PairSpec<'a> {
    fn from(pair: &PairSpec<'a>) -> Self {
        *pair
    }
}

/// A tensor to be written: its name, type and shape, all borrowed.
///
/// ```
/// use tensorgate::gguf::{GgmlType, TensorSpec};
///
/// let spec = TensorSpec::new("token_embd.weight", GgmlType::F16, &[32_000, 4096]);
/// assert_eq!(spec.byte_len(), Some(262_144_000));
/// assert_eq!(spec.with_kind(GgmlType::Q4_0).byte_len(), Some(73_728_000));
/// ```
#[derive(Clone, Copy)]
pub struct TensorSpec<'a> {
    name: Name<'a>,
    kind: GgmlType,
    shape: Shape<'a>,
}

impl<'a> TensorSpec<'a> {
    /// A tensor called `name` with dimensions `shape`, outermost first (the file has them the other way round); an empty
    /// shape is a scalar.
    pub fn new(name: impl Into<Name<'a>>, kind: GgmlType, shape: &'a [u64]) -> Self {
        Self::from_shape(name, kind, shape.into())
    }

    /// A tensor with a shape that a reader showed.
    pub fn from_shape(name: impl Into<Name<'a>>, kind: GgmlType, shape: Shape<'a>) -> Self {
        Self { name: name.into(), kind, shape }
    }

    /// The same tensor under another name.
    #[must_use]
    pub fn with_name(self, name: impl Into<Name<'a>>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same tensor with elements of another type.
    #[must_use]
    pub const fn with_kind(self, kind: GgmlType) -> Self {
        Self { kind, ..self }
    }

    /// The same tensor with other dimensions.
    #[must_use]
    pub fn with_shape(self, shape: &'a [u64]) -> Self {
        Self { shape: shape.into(), ..self }
    }

    /// This tensor with its bytes: row-major, in the byte order of the file that is written, also inside blocks.
    pub const fn with_bytes(self, bytes: &'a [u8]) -> TensorData<'a> {
        TensorData { spec: self, bytes, endian: None }
    }

    /// The tensor's name.
    pub const fn name(&self) -> Name<'a> {
        self.name
    }

    /// The type of its elements.
    pub const fn kind(&self) -> GgmlType {
        self.kind
    }

    /// Its dimensions, outermost first.
    pub fn dims(&self) -> DimIter<'a> {
        self.shape.iter()
    }

    /// Bytes that its type and shape need, without padding; `None` where there can be no such tensor.
    pub fn byte_len(&self) -> Option<u64> {
        let (dims, rank) = self.innermost_first()?;
        self.measure(dims.get(..rank)?).ok()
    }

    /// Its dimensions as the file has them, with how many they are; `None` for more than four.
    pub(super) fn innermost_first(&self) -> Option<([u64; 4], usize)> {
        let mut dims = [1; 4];
        let mut rank = 0_usize;
        for dim in self.dims() {
            *dims.get_mut(rank)? = dim;
            rank = rank.saturating_add(1);
        }
        dims.get_mut(..rank)?.reverse();
        Some((dims, rank))
    }

    pub(super) fn measure(&self, innermost_first: &[u64]) -> Result<u64, ErrorKind> {
        measure(innermost_first, self.kind)
    }
}

impl fmt::Debug for TensorSpec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}{}", self.name, self.kind, self.shape)
    }
}

impl<'a> From<TensorInfo<'a>> for TensorSpec<'a> {
    fn from(info: TensorInfo<'a>) -> Self {
        Self::from_shape(info.name(), info.kind(), info.shape())
    }
}

impl<'a> From<TensorView<'a>> for TensorSpec<'a> {
    fn from(view: TensorView<'a>) -> Self {
        view.info().into()
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
    /// The byte order of the file that they come from, where they come from one.
    endian: Option<Endian>,
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

    /// Whether the bytes are right in a file of this byte order, as far as is known.
    pub(super) fn suits(&self, endian: Endian) -> bool {
        self.endian.is_none_or(|own| own == endian) || self.spec.kind == GgmlType::I8
    }
}

impl fmt::Debug for TensorData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} bytes", self.spec, self.bytes.len())
    }
}

impl<'a> From<TensorView<'a>> for TensorData<'a> {
    fn from(view: TensorView<'a>) -> Self {
        Self { spec: view.into(), bytes: view.bytes(), endian: Some(view.endian()) }
    }
}

impl<'a> From<&TensorData<'a>> for TensorData<'a> {
    fn from(data: &TensorData<'a>) -> Self {
        *data
    }
}
