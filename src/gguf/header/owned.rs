//! A proved header that owns its bytes.

use alloc::vec::Vec;

use super::{Frame, Header, Layout, Lookup, Slot, Slots, Uses};
use crate::error::{Error, ErrorKind};

/// A proved header with a private copy of its bytes, which can be kept and sent between threads.
///
/// What it says is looked at through [`header`](Self::header), at no cost.
///
/// ```
/// use tensorgate::{Limits, gguf::Header};
/// let owned = {
///     let file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
///     Header::open(&file, 24, &Limits::default())?.into_owned()?
/// };
/// assert_eq!(owned.header().version(), 3);
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnedHeader {
    head: Vec<u8>,
    frame: Frame,
    slots: Vec<Slot>,
    pairs: usize,
    keys: Lookup,
    names: Lookup,
    layout: Layout,
    uses: Uses,
}

impl OwnedHeader {
    /// The header, borrowed from here.
    pub fn header(&self) -> Header<'_> {
        Header {
            head: &self.head,
            frame: self.frame,
            slots: Slots::Lent(&self.slots),
            pairs: self.pairs,
            keys: self.keys,
            names: self.names,
            layout: self.layout,
            uses: self.uses,
        }
    }
}

impl Header<'_> {
    /// The same header with a copy of its bytes, free of those that it was read from.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::StorageTooSmall`] when memory ran out.
    pub fn into_owned(self) -> Result<OwnedHeader, Error> {
        let out_of_memory = Error::new(ErrorKind::StorageTooSmall, super::TENSORS_AT);
        let mut head = Vec::new();
        head.try_reserve_exact(self.head.len()).map_err(|_| out_of_memory)?;
        head.extend_from_slice(self.head);
        let mut slots = self.slots.into_vec().ok_or(out_of_memory)?;
        slots.shrink_to_fit();
        let Header { frame, pairs, keys, names, layout, uses, .. } = self;
        Ok(OwnedHeader { head, frame, slots, pairs, keys, names, layout, uses })
    }
}
