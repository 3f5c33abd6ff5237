//! GGUF: magic, version and counts, key/value pairs, tensor infos, padding, then the tensors' bytes.
//!
//! Versions 2 and 3 are read, version 3 in both byte orders. The format is `docs/gguf.md` of ggml; where that and the
//! reference reader (`gguf.cpp` of ggml 0.25.3) differ, or neither says anything, the stricter one holds, and what
//! writers write is read.

mod array;
mod check;
mod header;
mod nest;
mod pairs;
mod reader;
mod relax;
mod slot;
mod split;
mod tensor;
mod text;
mod types;
mod value;
mod walk;
#[cfg(feature = "alloc")]
mod write;

pub use array::{Array, Element, Elements, StringIndex, Strings, Values};
pub use header::Header;
#[cfg(feature = "alloc")]
pub use header::OwnedHeader;
pub use reader::Endian;
pub use relax::Relaxed;
pub use slot::Slot;
pub use split::{ShardName, Split, SplitError, SplitErrorKind, SplitKeys, SplitSlot};
pub use tensor::{TensorError, TensorInfo, TensorView};
pub use text::Str;
pub use types::{Block, GgmlType};
pub use value::{Pair, Value, ValueError, ValueType};
#[cfg(feature = "std")]
pub(crate) use write::gather;
#[cfg(feature = "alloc")]
pub use write::{
    NO_PAIRS, PairSpec, Plan, PlanError, PlannedTensor, TensorData, TensorSpec, TensorWriter, WriteError,
    WriteOptions, WriteValue, Writer, serialize,
};

use crate::error::Error;
use crate::{Limits, num};
use value::getters;

/// The least bytes of a key/value pair: a length, a key of one byte, a type, a value of one byte.
const LEAST_PAIR: u64 = 8 + 1 + 4 + 1;
/// The least bytes of a tensor info: a length, a name of one byte, the number of dimensions, none of them, a type, an
/// offset.
const LEAST_INFO: u64 = 8 + 1 + 4 + 4 + 8;

/// A whole GGUF file in memory, every claim of its header proved.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::{Gguf, Limits, gguf::{GgmlType, Slot, ValueError, ValueType}};
///
/// let mut file = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
/// // One pair: `n` = 7 as u32.
/// file.extend_from_slice(b"\x01\0\0\0\0\0\0\0n\x04\0\0\0\x07\0\0\0");
/// // One tensor: `w`, 2 dimensions (3 innermost, 2), F16, offset 0; then zeros up to 96.
/// file.extend_from_slice(b"\x01\0\0\0\0\0\0\0w\x02\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0");
/// file.extend_from_slice(&[0; 8]);
/// file.resize(96, 0);
/// file.extend_from_slice(&[0x3c; 12]);
///
/// // Without an allocator: the caller brings the storage.
/// let mut slots = [Slot::EMPTY; 16];
/// let model = Gguf::open_in(&file, &mut slots, &Limits::default())?;
/// assert_eq!(model.u64("n"), Ok(7));
/// assert_eq!(model.str("n"), Err(ValueError::Type(ValueType::U32)));
/// let w = model.tensor("w")?;
/// assert_eq!((w.kind(), w.shape().to_string(), w.bytes().len()), (GgmlType::F16, "[2, 3]".into(), 12));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Gguf<'a> {
    header: Header<'a>,
    bytes: &'a [u8],
}

impl<'a> Gguf<'a> {
    /// Proves the file in `bytes`, in the caller's storage: one slot a key/value pair and one a tensor.
    ///
    /// # Errors
    ///
    /// As [`Header::open_in`] and [`Header::check_padding`], but never
    /// [`ErrorKind::NeedMore`](crate::ErrorKind::NeedMore): the file is all there.
    pub fn open_in(bytes: &'a [u8], slots: &'a mut [Slot], limits: &Limits) -> Result<Self, Error> {
        Self::of(Header::open_in(bytes, num::widen(bytes.len()), slots, limits)?, bytes)
    }

    /// Proves the file in `bytes` with the default limits.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// let file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /// let model = tensorgate::Gguf::open(file)?;
    /// assert!(model.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The verdict on the file; [`ErrorKind::StorageTooSmall`](crate::ErrorKind::StorageTooSmall) when memory ran out.
    #[cfg(feature = "alloc")]
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::open_with(bytes, &Limits::default())
    }

    /// Proves the file in `bytes` within `limits`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "alloc")]
    pub fn open_with(bytes: &'a [u8], limits: &Limits) -> Result<Self, Error> {
        Self::of(Header::open(bytes, num::widen(bytes.len()), limits)?, bytes)
    }

    fn of(header: Header<'a>, bytes: &'a [u8]) -> Result<Self, Error> {
        header.check_padding(bytes)?;
        Ok(Self { header, bytes })
    }

    /// The proved header.
    pub const fn header(&self) -> &Header<'a> {
        &self.header
    }

    /// The version of the format: 2 or 3.
    pub const fn version(&self) -> u32 {
        self.header.version()
    }

    /// The order of the bytes in the file's numbers, in metadata and in tensors.
    pub const fn endian(&self) -> Endian {
        self.header.endian()
    }

    /// The alignment of tensors in bytes, a power of two.
    pub const fn alignment(&self) -> u32 {
        self.header.alignment()
    }

    /// Where the data section begins; see [`Header::data_offset`].
    pub const fn data_offset(&self) -> u64 {
        self.header.data_offset()
    }

    /// The value under `key`, in constant or logarithmic time.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.header.get(key)
    }

    getters!('a);

    /// The key/value pairs, in the file's order.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = Pair<'a>> + Clone + '_ {
        self.header.pairs()
    }

    /// How many tensors there are, with those that have no view.
    pub fn len(&self) -> usize {
        self.header.len()
    }

    /// Whether there is no tensor, as in a file of a vocabulary only.
    pub fn is_empty(&self) -> bool {
        self.header.is_empty()
    }

    /// The tensors, in the order of the file, which is the order of their data.
    ///
    /// Those of a type that is not known, where the [`Limits`] tolerate it, have no view and are left out here;
    /// [`Header::tensors`] lists them too.
    pub fn tensors(&self) -> impl DoubleEndedIterator<Item = TensorView<'a>> + Clone + '_ {
        let (endian, bytes) = (self.endian(), self.bytes);
        self.header.tensors().filter_map(move |info| TensorView::new(info, endian, bytes))
    }

    /// The tensor called `name`.
    ///
    /// # Errors
    ///
    /// [`TensorError::NotFound`] when there is none, [`TensorError::UnknownType`] when its type is not known, which the
    /// [`Limits`] must tolerate for the file to be opened at all.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'a>, TensorError> {
        let info = self.header.tensor(name).map_err(|_| TensorError::NotFound)?;
        TensorView::new(info, self.endian(), self.bytes).ok_or(TensorError::UnknownType(info.kind()))
    }

    /// The data section, padding and all.
    pub fn data(&self) -> &'a [u8] {
        self.header.data().of(self.bytes).unwrap_or_default()
    }
}
