//! A proved header that owns its text.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Header, check};
use crate::Span;
use crate::error::{Error, ErrorKind};
use crate::safetensors::Slot;
use crate::store::Slots;

/// A proved header with a private copy of its text, which can be kept and sent between threads.
///
/// What it says is looked at through [`header`](Self::header), at no cost.
///
/// ```
/// use tensorgate::{Limits, safetensors::Header};
/// let owned = {
///     let file = b"\x02\0\0\0\0\0\0\0{}".to_vec();
///     Header::open(&file, 10, &Limits::default())?.into_owned()?
/// };
/// assert!(owned.header().is_empty());
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnedHeader {
    json: String,
    at: u64,
    slots: Vec<Slot>,
    lookup: check::Lookup,
    metadata: Option<check::Metadata>,
    data: Span,
    in_order: bool,
    relaxed: Option<Error>,
}

impl OwnedHeader {
    /// The header, borrowed from here.
    pub fn header(&self) -> Header<'_> {
        Header {
            text: check::Text { json: &self.json, at: self.at },
            slots: Slots::Lent(&self.slots),
            lookup: self.lookup,
            metadata: self.metadata,
            data: self.data,
            in_order: self.in_order,
            relaxed: self.relaxed,
        }
    }
}

impl Header<'_> {
    /// The same header with a copy of its text, free of the bytes that it was read from.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::StorageTooSmall`] when memory ran out.
    pub fn into_owned(self) -> Result<OwnedHeader, Error> {
        let out_of_memory = Error::new(ErrorKind::StorageTooSmall, self.text.at);
        let mut json = String::new();
        json.try_reserve_exact(self.text.json.len()).map_err(|_| out_of_memory)?;
        json.push_str(self.text.json);
        let mut slots = self.slots.into_vec().ok_or(out_of_memory)?;
        slots.shrink_to_fit();
        let Header { text, lookup, metadata, data, in_order, relaxed, .. } = self;
        Ok(OwnedHeader { json, at: text.at, slots, lookup, metadata, data, in_order, relaxed })
    }
}
