//! safetensors: eight bytes of length, a JSON header, then the tensors' bytes.

mod check;
mod entry;
mod header;
mod metadata;
mod slot;
#[cfg(feature = "alloc")]
mod write;

#[cfg(feature = "alloc")]
pub use header::OwnedHeader;
pub use header::{Header, TensorInfo};
pub use metadata::{Metadata, MetadataIter};
pub use slot::Slot;
#[cfg(feature = "std")]
pub(crate) use write::gather;
#[cfg(feature = "alloc")]
pub use write::{
    NO_METADATA, Plan, PlanError, PlannedTensor, TensorData, TensorSpec, TensorWriter, WriteError, Writer,
    serialize,
};

use crate::error::Error;
use crate::{Limits, NotFound, Span, TensorView, num};

/// A whole safetensors file in memory, every claim of its header proved.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::{Dtype, Limits, SafeTensors, safetensors::Slot};
///
/// let mut file = 54_u64.to_le_bytes().to_vec();
/// file.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
/// file.extend_from_slice(&[0; 8]);
///
/// // Without an allocator: the caller brings the storage.
/// let mut slots = [Slot::EMPTY; 16];
/// let model = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
/// let w = model.tensor("w")?;
/// assert_eq!((w.dtype(), w.bytes().len()), (Dtype::F32, 8));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SafeTensors<'a> {
    header: Header<'a>,
    bytes: &'a [u8],
}

impl<'a> SafeTensors<'a> {
    /// Proves the file in `bytes`, in the caller's storage: one slot a tensor.
    ///
    /// # Errors
    ///
    /// As [`Header::open_in`], but never [`ErrorKind::NeedMore`](crate::ErrorKind::NeedMore): the file is all there.
    pub fn open_in(bytes: &'a [u8], slots: &'a mut [Slot], limits: &Limits) -> Result<Self, Error> {
        Ok(Self { header: Header::open_in(bytes, num::widen(bytes.len()), slots, limits)?, bytes })
    }

    /// Proves the file in `bytes` with the default limits.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// let file = b"\x02\0\0\0\0\0\0\0{}";
    /// let model = tensorgate::SafeTensors::open(file)?;
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
        Ok(Self { header: Header::open(bytes, num::widen(bytes.len()), limits)?, bytes })
    }

    /// The proved header.
    pub const fn header(&self) -> &Header<'a> {
        &self.header
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.header.len()
    }

    /// Whether there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.header.is_empty()
    }

    /// The tensors, in the order of their data.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = TensorView<'a>> + DoubleEndedIterator + Clone + '_ {
        let bytes = self.bytes;
        self.header.tensors().map(move |info| view(bytes, &info))
    }

    /// The tensor called `name`.
    ///
    /// # Errors
    ///
    /// [`NotFound`] when there is none.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'a>, NotFound> {
        self.header.tensor(name).map(|info| view(self.bytes, &info))
    }

    /// The free-form metadata, or `None` where there is none or it is null.
    pub fn metadata(&self) -> Option<Metadata<'a>> {
        self.header.metadata()
    }

    /// The data section: everything behind the header.
    pub fn data(&self) -> &'a [u8] {
        self.header.data().of(self.bytes).unwrap_or_default()
    }
}

/// The view of a tensor whose span was proved to lie inside `bytes`.
fn view<'a>(bytes: &'a [u8], info: &TensorInfo<'a>) -> TensorView<'a> {
    let span: Span = info.span();
    TensorView::new(info.name(), info.dtype(), info.shape(), span, span.of(bytes).unwrap_or_default())
}
