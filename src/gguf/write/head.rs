//! The header's bytes, as they grow: never longer than the limit, and an error where memory is out.

use alloc::vec::Vec;

use super::PlanError;
use crate::gguf::{Element, Endian};
use crate::{Name, Sink, num};

/// The file from its first byte to the end of the tensor infos.
#[derive(Debug)]
pub(super) struct Head {
    bytes: Vec<u8>,
    endian: Endian,
    limit: u64,
}

/// Bytes that the text takes as UTF-8.
pub(super) fn text_len(text: Name<'_>) -> u64 {
    match text.as_str() {
        Some(text) => num::widen(text.len()),
        None => text.chars().fold(0, |len, decoded| len.saturating_add(num::widen(decoded.len_utf8()))),
    }
}

impl Head {
    pub(super) const fn new(endian: Endian, limit: u64) -> Self {
        Self { bytes: Vec::new(), endian, limit }
    }

    pub(super) const fn endian(&self) -> Endian {
        self.endian
    }

    pub(super) fn len(&self) -> u64 {
        num::widen(self.bytes.len())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), PlanError> {
        if self.len().saturating_add(num::widen(bytes.len())) > self.limit {
            return Err(PlanError::HeaderLen { limit: self.limit });
        }
        self.bytes.write_all(bytes).map_err(|_| PlanError::OutOfMemory)
    }

    /// A number or a bool, in the file's byte order.
    pub(super) fn number<T: Number>(&mut self, value: T) -> Result<(), PlanError> {
        value.put(self)
    }

    /// Puts a number where there are eight bytes already.
    pub(super) fn replace(&mut self, at: usize, value: u64) {
        let encoded = match self.endian {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        if let Some(place) = self.bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *place = encoded;
        }
    }

    /// A string of `len` bytes: its length, then what it says.
    pub(super) fn text(&mut self, text: Name<'_>, len: u64) -> Result<(), PlanError> {
        self.number(len)?;
        if let Some(plain) = text.as_str() {
            return self.put(plain.as_bytes());
        }
        let mut buffer = [0; 4];
        text.chars().try_for_each(|decoded| self.put(decoded.encode_utf8(&mut buffer).as_bytes()))
    }
}

/// What can stand in a file as a number does.
pub(super) trait Number: Element {
    fn put(self, head: &mut Head) -> Result<(), PlanError>;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline]
            fn put(self, head: &mut Head) -> Result<(), PlanError> {
                match head.endian {
                    Endian::Little => head.put(&self.to_le_bytes()),
                    Endian::Big => head.put(&self.to_be_bytes()),
                }
            }
        }
    )*};
}

numbers!(u8 i8 u16 i16 u32 i32 f32 u64 i64 f64);

impl Number for bool {
    fn put(self, head: &mut Head) -> Result<(), PlanError> {
        head.put(&[u8::from(self)])
    }
}
