//! Writing: a plan of the file first, proved to be one that the reader accepts, then its bytes into any sink.
//!
//! Files are byte for byte those of the reference writer (`safetensors` 0.8.0, `tensor.rs`, `prepare` and `serialize`):
//! widest dtype first, then by name, compact JSON, padded with spaces to a multiple of eight. Two things differ.
//! Metadata is sorted by key, so that equal inputs give equal files (the reference's order is random). And what the
//! reference writes but no reader takes is refused: a tensor named twice or called `__metadata__`, bytes that are more
//! or fewer than the shape says.

mod error;
mod json;
mod spec;

use alloc::vec::Vec;

pub use error::PlanError;
pub use spec::{TensorData, TensorSpec};

pub use crate::stream::PlannedTensor;

use crate::safetensors::Metadata;
use crate::sink::Count;
use crate::stream::Layout;
use crate::{Limits, Name, Sink, Span, num, stream};

/// Why a file was not finished. `E` is the sink's error; that of a `Vec<u8>` unless named.
pub type WriteError<E = alloc::collections::TryReserveError> = stream::WriteError<PlanError, E>;

/// A file being written.
pub type Writer<'p, S> = stream::Writer<'p, S, PlanError>;

/// One tensor of a [`Writer`], to be given its bytes in order.
pub type TensorWriter<'w, 'p, S> = stream::TensorWriter<'w, 'p, S, PlanError>;

/// Bytes of the header length that every file begins with.
const FRAME: u64 = 8;

/// The header's length is a multiple of this, so that the data begins aligned for the widest dtype.
const PADDING: u64 = 8;

/// A data section that moves is moved by a multiple of this, so that tensors are as well aligned as they were: no type and
/// no vector register wants more.
#[cfg(feature = "std")]
const SHIFT: u64 = 64;

/// No metadata, where a writer asks for some.
pub const NO_METADATA: Option<Metadata<'static>> = None;

/// A safetensors file of `tensors` and `metadata`, in memory, with the default limits.
///
/// Tensors are anything that makes a [`TensorData`]: a [`TensorSpec`] with bytes, or a view of a file that was read.
/// Metadata is any pairs of text: an array, a map, a file's [`Metadata`], or [`NO_METADATA`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::safetensors::{TensorSpec, serialize};
/// use tensorgate::{Dtype, SafeTensors};
///
/// let bytes = [0_u8; 16];
/// let w = TensorSpec::new("w", Dtype::F32, &[2, 2]).with_bytes(&bytes);
/// let file = serialize([w], Some([("format", "pt")]))?;
/// let read = SafeTensors::open(&file)?;
/// assert_eq!(read.tensor("w")?.bytes(), bytes);
///
/// // What was read can be written again.
/// assert_eq!(serialize(read.tensors(), read.metadata())?, file);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`WriteError::Plan`] where there can be no such file, [`WriteError::ByteCount`] where a tensor's bytes are not as
/// many as its dtype and shape need, [`WriteError::Sink`] where memory is out.
pub fn serialize<'a, 'm, T, M, K, V>(
    tensors: impl IntoIterator<Item = T>,
    metadata: Option<M>,
) -> Result<Vec<u8>, WriteError>
where
    T: Into<TensorData<'a>>,
    M: IntoIterator<Item = (K, V)>,
    K: Into<Name<'m>>,
    V: Into<Name<'m>>,
{
    let (plan, data) = gather(tensors, metadata, &Limits::DEFAULT)?;
    let mut file = Vec::new();
    let len = num::narrow(plan.file_len()).ok_or(PlanError::OutOfMemory)?;
    file.try_reserve_exact(len).map_err(WriteError::Sink)?;
    plan.write(&mut file, |index| data.get(index).copied().unwrap_or_default())?;
    Ok(file)
}

/// The plan of a file of tensors that are at hand, and their bytes by index, which are as many as they must be.
pub(crate) fn gather<'a, 'm, T, M, K, V, E>(
    tensors: impl IntoIterator<Item = T>,
    metadata: Option<M>,
    limits: &Limits,
) -> Result<(Plan, Vec<&'a [u8]>), WriteError<E>>
where
    T: Into<TensorData<'a>>,
    M: IntoIterator<Item = (K, V)>,
    K: Into<Name<'m>>,
    V: Into<Name<'m>>,
{
    let mut draft = Draft::new(limits);
    let mut data: Vec<&[u8]> = Vec::new();
    for tensor in tensors {
        let tensor: TensorData<'a> = tensor.into();
        let index = draft.items.len();
        let expected = draft.tensor(tensor.spec())?;
        let given = num::widen(tensor.bytes().len());
        if given != expected {
            return Err(WriteError::ByteCount { index, expected, given });
        }
        data.try_reserve(1).map_err(|_| PlanError::OutOfMemory)?;
        data.push(tensor.bytes());
    }
    draft.metadata(metadata)?;
    Ok((draft.finish(PADDING)?, data))
}

/// A file that is still to be written: its header, its length, and where each tensor's bytes go.
///
/// It knows what the tensors are and not their bytes, so it takes memory for the header and for nothing else, however
/// long the file will be. Everything that could be refused is refused here, before a sink sees a byte; what is left to
/// go wrong afterwards is the sink, and bytes that are not as many as was said.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::safetensors::{NO_METADATA, Plan, TensorSpec};
/// use tensorgate::{Dtype, Limits};
///
/// let tensors = [TensorSpec::new("bias", Dtype::F32, &[2]), TensorSpec::new("mask", Dtype::I64, &[1])];
/// let plan = Plan::new(tensors, NO_METADATA, &Limits::default())?;
/// assert_eq!(plan.file_len(), 8 + 120 + 16);
///
/// // The widest dtype comes first; tensors keep the index under which they were given.
/// assert!(plan.tensors().map(|tensor| tensor.index()).eq([1, 0]));
///
/// let data = [&[0; 8], &[1; 8]];
/// let mut file = Vec::new();
/// plan.write(&mut file, |index| data[index])?;
/// assert_eq!(&file[128..], [[1; 8], [0; 8]].as_flattened());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its head is the length word, the JSON and its padding.
    layout: Layout<PlanError>,
}

impl Plan {
    /// The plan of a file of `tensors`, in any order, and `metadata` that this crate's reader accepts within `limits`.
    ///
    /// Some metadata without a pair is written as an empty object, [`NO_METADATA`] not at all.
    ///
    /// # Errors
    ///
    /// Why there can be no such file; the first tensor that is wrong is named, then the first name or key that was
    /// there before.
    pub fn new<'a, 'm, T, M, K, V>(
        tensors: impl IntoIterator<Item = T>,
        metadata: Option<M>,
        limits: &Limits,
    ) -> Result<Self, PlanError>
    where
        T: Into<TensorSpec<'a>>,
        M: IntoIterator<Item = (K, V)>,
        K: Into<Name<'m>>,
        V: Into<Name<'m>>,
    {
        Self::aligned(tensors, metadata, 1, limits)
    }

    /// As [`new`](Self::new), with the data section at a multiple of `alignment` bytes, at the least of eight: more spaces
    /// behind the JSON. Since the widest dtype comes first, every tensor is aligned to its own then, and the first one to
    /// `alignment`.
    ///
    /// ```
    /// use tensorgate::safetensors::{NO_METADATA, Plan, TensorSpec};
    /// use tensorgate::{Dtype, Limits};
    ///
    /// let tensors = [TensorSpec::new("a", Dtype::F32, &[2])];
    /// let plan = Plan::aligned(tensors, NO_METADATA, 4096, &Limits::default())?;
    /// assert_eq!(plan.tensors().next().unwrap().span().start(), 4096);
    /// # Ok::<(), tensorgate::safetensors::PlanError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn aligned<'a, 'm, T, M, K, V>(
        tensors: impl IntoIterator<Item = T>,
        metadata: Option<M>,
        alignment: u32,
        limits: &Limits,
    ) -> Result<Self, PlanError>
    where
        T: Into<TensorSpec<'a>>,
        M: IntoIterator<Item = (K, V)>,
        K: Into<Name<'m>>,
        V: Into<Name<'m>>,
    {
        let mut draft = Draft::new(limits);
        for tensor in tensors {
            draft.tensor(tensor.into())?;
        }
        draft.metadata(metadata)?;
        draft.finish(alignment.into())
    }

    /// The plan of the file of `header` with other metadata. The tensors stay in the order of their data, so that the data
    /// section stays as it is, and it begins where it did if the new header fits in front of it; else as many bytes further on
    /// as are a multiple of [`SHIFT`].
    #[cfg(feature = "std")]
    pub(crate) fn with_metadata<'m, M>(
        header: &super::Header<'_>,
        metadata: Option<M>,
        limits: &Limits,
    ) -> Result<Self, PlanError>
    where
        M: IntoIterator<Item = (Name<'m>, Name<'m>)>,
    {
        let mut draft = Draft::new(limits);
        for tensor in header.tensors() {
            draft.tensor(tensor.into())?;
        }
        draft.metadata(metadata)?;
        draft.sort_pairs()?;
        let before = num::widen(header.json().len());
        draft.lay(|json_len| {
            let more = json_len.saturating_sub(before).checked_next_multiple_of(SHIFT)?;
            before.checked_add(more)
        })
    }

    /// The file's first bytes: the eight of the header's length, then [`header`](Self::header).
    pub fn prefix(&self) -> &[u8] {
        self.layout.head()
    }

    /// The JSON with its padding, as it stands in the file behind the eight bytes of its length.
    pub fn header(&self) -> &[u8] {
        self.prefix().split_first_chunk::<8>().map(|(_, header)| header).unwrap_or_default()
    }

    /// The file's length in bytes.
    pub const fn file_len(&self) -> u64 {
        self.layout.file_len()
    }

    /// Where everything goes, as for a file of any format.
    pub const fn layout(&self) -> &Layout<PlanError> {
        &self.layout
    }

    /// The tensors, in the order in which their bytes stand in the file: without a gap, from the end of
    /// [`prefix`](Self::prefix) to [`file_len`](Self::file_len).
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = PlannedTensor> + DoubleEndedIterator + Clone + '_ {
        self.layout.tensors()
    }

    /// Writes the file, asking `bytes` for each tensor's by its index (in the order of [`tensors`](Self::tensors)).
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] where a tensor's are not as many as was planned, [`WriteError::Sink`] where the sink
    /// fails. What the sink has then is no whole file.
    pub fn write<S: Sink, B: AsRef<[u8]>>(
        &self,
        sink: &mut S,
        bytes: impl FnMut(usize) -> B,
    ) -> Result<(), WriteError<S::Error>> {
        self.layout.write(sink, bytes)
    }

    /// Begins to write the file: the header goes into `sink` at once, and the tensors' bytes follow in any chunks.
    ///
    /// # Errors
    ///
    /// [`WriteError::Sink`] where the sink fails.
    pub fn writer<S: Sink>(&self, sink: S) -> Result<Writer<'_, S>, WriteError<S::Error>> {
        self.layout.writer(sink)
    }
}

/// A tensor as it was given, with the number of bytes it needs.
struct Item<'a> {
    spec: TensorSpec<'a>,
    index: usize,
    len: u64,
}

/// A pair of metadata as it was given.
struct Pair<'a> {
    key: Name<'a>,
    value: Name<'a>,
    index: usize,
}

/// What a header takes at the least for a tensor besides its name: `"":{"dtype":"U8","shape":[],"data_offsets":[0,0]}`.
const LEAST_ENTRY: u64 = 49;

/// What a header takes at the least for a metadata pair besides its texts: `"":""`.
const LEAST_PAIR: u64 = 5;

/// What was given so far, each thing checked by itself.
struct Draft<'a, 'm, 'l> {
    limits: &'l Limits,
    items: Vec<Item<'a>>,
    pairs: Option<Vec<Pair<'m>>>,
    /// The header will not be shorter than this, so that no more is kept than a header can hold.
    least_len: u64,
}

impl<'a, 'm, 'l> Draft<'a, 'm, 'l> {
    const fn new(limits: &'l Limits) -> Self {
        Self { limits, items: Vec::new(), pairs: None, least_len: 0 }
    }

    /// Notes that the header will be longer by at least `more`.
    fn grow(&mut self, more: u64) -> Result<(), PlanError> {
        self.least_len = self.least_len.saturating_add(more);
        let limit = self.limits.header_len();
        if self.least_len > limit { Err(PlanError::HeaderLen { limit }) } else { Ok(()) }
    }

    /// Takes a tensor, and says how many bytes it needs.
    fn tensor(&mut self, spec: TensorSpec<'a>) -> Result<u64, PlanError> {
        let index = self.items.len();
        let limits = self.limits;
        if num::widen(index) >= limits.tensors() {
            return Err(PlanError::Tensors { limit: limits.tensors() });
        }
        if spec.name() == "__metadata__" {
            return Err(PlanError::ReservedName { index });
        }
        let name_len = text_len(spec.name());
        if name_len > limits.name_len() {
            return Err(PlanError::NameLen { index, limit: limits.name_len() });
        }
        let rank = spec.dims().fold(0_u64, |rank, _| rank.saturating_add(1));
        if rank > limits.rank() {
            return Err(PlanError::Rank { index, limit: limits.rank() });
        }
        let elements = num::product(spec.dims()).ok_or(PlanError::SizeOverflow { index })?;
        let bits = num::mul(elements, spec.dtype().bits()).ok_or(PlanError::SizeOverflow { index })?;
        if !bits.is_multiple_of(8) {
            return Err(PlanError::SizeBits { index });
        }
        self.grow(LEAST_ENTRY.saturating_add(name_len))?;
        self.items.try_reserve(1).map_err(|_| PlanError::OutOfMemory)?;
        self.items.push(Item { spec, index, len: bits / 8 });
        Ok(bits / 8)
    }

    /// Takes the metadata.
    fn metadata<M, K, V>(&mut self, metadata: Option<M>) -> Result<(), PlanError>
    where
        M: IntoIterator<Item = (K, V)>,
        K: Into<Name<'m>>,
        V: Into<Name<'m>>,
    {
        let Some(metadata) = metadata else { return Ok(()) };
        let mut pairs = Vec::new();
        for (key, value) in metadata {
            let pair = Pair { key: key.into(), value: value.into(), index: pairs.len() };
            let limit = self.limits.metadata_keys();
            if num::widen(pair.index) >= limit {
                return Err(PlanError::MetadataKeys { limit });
            }
            self.grow(LEAST_PAIR.saturating_add(text_len(pair.key)).saturating_add(text_len(pair.value)))?;
            pairs.try_reserve(1).map_err(|_| PlanError::OutOfMemory)?;
            pairs.push(pair);
        }
        self.pairs = Some(pairs);
        Ok(())
    }

    /// Puts everything in its order and writes the header.
    fn finish(mut self, alignment: u64) -> Result<Plan, PlanError> {
        self.sort_tensors()?;
        self.sort_pairs()?;
        let alignment = alignment.max(PADDING);
        self.lay(|json_len| {
            let data_at = json_len.checked_add(FRAME)?.checked_next_multiple_of(alignment)?;
            data_at.checked_next_multiple_of(PADDING)?.checked_sub(FRAME)
        })
    }

    /// Writes the header, everything in the order that it has. `pad` says how long it is to be.
    fn lay(self, pad: impl FnOnce(u64) -> Option<u64>) -> Result<Plan, PlanError> {
        let items = &self.items[..];
        let pairs = self.pairs.as_deref();
        let data_len =
            items.iter().try_fold(0_u64, |sum, item| sum.checked_add(item.len)).ok_or(PlanError::FileLen)?;
        let mut json_len = Count::default();
        let Ok(()) = json::header(&mut json_len, pairs, items);
        let limit = self.limits.header_len();
        let header_len = pad(json_len.0).filter(|len| *len <= limit);
        let header_len = header_len.ok_or(PlanError::HeaderLen { limit })?;
        let data_at = FRAME.checked_add(header_len).ok_or(PlanError::FileLen)?;
        let file_len = data_at.checked_add(data_len).ok_or(PlanError::FileLen)?;

        let prefix_len = num::narrow(data_at).ok_or(PlanError::OutOfMemory)?;
        let mut prefix = Vec::new();
        prefix.try_reserve_exact(prefix_len).map_err(|_| PlanError::OutOfMemory)?;
        prefix.extend_from_slice(&header_len.to_le_bytes());
        json::header(&mut prefix, pairs, items).map_err(|_| PlanError::OutOfMemory)?;
        prefix.resize(prefix_len, b' ');

        let mut tensors = Vec::new();
        tensors.try_reserve_exact(items.len()).map_err(|_| PlanError::OutOfMemory)?;
        let mut start = data_at;
        for item in items {
            let span = start.checked_add(item.len).and_then(|end| Span::new(start, end));
            let span = span.ok_or(PlanError::FileLen)?;
            tensors.push(PlannedTensor::new(item.index, span));
            start = span.end();
        }
        Ok(Plan { layout: Layout::new(prefix, tensors, file_len) })
    }

    /// No name twice, then widest dtype first and by name.
    fn sort_tensors(&mut self) -> Result<(), PlanError> {
        self.items.sort_unstable_by(|a, b| a.spec.name().cmp(&b.spec.name()).then(a.index.cmp(&b.index)));
        let names = self.items.iter().map(|item| (item.spec.name(), item.index));
        if let Some((first, index)) = first_twice(names) {
            return Err(PlanError::DuplicateName { index, first });
        }
        self.items.sort_unstable_by(|a, b| {
            b.spec.dtype().cmp(&a.spec.dtype()).then_with(|| a.spec.name().cmp(&b.spec.name()))
        });
        Ok(())
    }

    /// No key twice, by key.
    fn sort_pairs(&mut self) -> Result<(), PlanError> {
        let Some(pairs) = &mut self.pairs else { return Ok(()) };
        pairs.sort_unstable_by(|a, b| a.key.cmp(&b.key).then(a.index.cmp(&b.index)));
        match first_twice(pairs.iter().map(|pair| (pair.key, pair.index))) {
            Some((first, index)) => Err(PlanError::DuplicateKey { index, first }),
            None => Ok(()),
        }
    }
}

/// Of texts in order, with their indices: where the first that was there before stands, and where it was before.
fn first_twice<'a>(sorted: impl Iterator<Item = (Name<'a>, usize)> + Clone) -> Option<(usize, usize)> {
    let pairs = sorted.clone().zip(sorted.skip(1));
    pairs.filter(|(a, b)| a.0 == b.0).map(|(a, b)| (a.1, b.1)).min_by_key(|(_, second)| *second)
}

/// Bytes that the text takes inside its quotes in a header.
fn text_len(text: Name<'_>) -> u64 {
    let mut count = Count::default();
    let Ok(()) = json::string(&mut count, text);
    count.0.saturating_sub(2)
}
