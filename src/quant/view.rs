//! Tensors of a file as rows of blocks, and as elements one by one.

use core::fmt;
use core::iter::FusedIterator;

use super::error::QuantError;
use crate::gguf::{Endian, GgmlType, TensorView};
use crate::num;

/// The most elements that a block of any type has.
const LARGEST: usize = 256;

/// A tensor as rows: the innermost dimension is a row's elements, all others count the rows.
///
/// Nothing is decoded before it is asked for. A tensor of rank 0 is one row of one element.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    kind: GgmlType,
    order: Endian,
    bytes: &'a [u8],
    elements: usize,
    row_bytes: usize,
    count: usize,
}

impl<'a> Rows<'a> {
    /// The rows of a tensor.
    ///
    /// ```
    /// # #[cfg(feature = "alloc")]
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// use tensorgate::Gguf;
    /// use tensorgate::gguf::{GgmlType, NO_PAIRS, TensorSpec, WriteOptions, serialize};
    /// use tensorgate::quant::Rows;
    ///
    /// // Two blocks: a scale of 1/64, then the elements.
    /// let mut data = [64; 2 * 34];
    /// (data[0], data[1], data[34], data[35]) = (0x00, 0x24, 0x00, 0x24);
    /// let spec = TensorSpec::new("w", GgmlType::Q8_0, &[2, 32]).with_bytes(&data);
    /// let bytes = serialize(NO_PAIRS, [spec], &WriteOptions::default())?;
    ///
    /// let file = Gguf::open(&bytes)?;
    /// let rows = Rows::of(&file.tensor("w")?)?;
    /// let mut row = [0.0; 32];
    /// for index in 0..rows.len() {
    ///     rows.decode(index, &mut row)?;
    ///     assert_eq!(row, [1.0; 32]);
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "alloc"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// Where this build does not decode the tensor's type.
    pub fn of(tensor: &TensorView<'a>) -> Result<Self, QuantError> {
        let kind = tensor.kind();
        let elements = tensor.shape().iter().last().unwrap_or(1);
        let rows = tensor.elements().checked_div(elements).unwrap_or(0);
        Self::new(kind, tensor.endian(), tensor.bytes(), elements, rows)
    }

    /// The rows of bytes that are known to be `rows` rows of `elements` elements each.
    ///
    /// # Errors
    ///
    /// Where this build does not decode the type, a row is no whole number of blocks, or the bytes are not as many as the
    /// rows take.
    pub fn new(
        kind: GgmlType,
        order: Endian,
        bytes: &'a [u8],
        elements: u64,
        rows: u64,
    ) -> Result<Self, QuantError> {
        if !super::is_decodable(kind) {
            return Err(if kind.is_known() { QuantError::Feature(kind) } else { QuantError::UnknownType(kind) });
        }
        let found = num::widen(bytes.len());
        let row_bytes = kind.bytes_for(elements).ok_or(QuantError::Blocks { kind, elements })?;
        let expected = num::mul(row_bytes, rows).unwrap_or(u64::MAX);
        if expected != found {
            return Err(QuantError::Bytes { expected, found });
        }
        // Of no elements there can be more rows than this machine counts; then there is none of them to show.
        let narrow = |number| num::narrow(number).unwrap_or(0);
        Ok(Self {
            kind,
            order,
            bytes,
            elements: narrow(elements),
            row_bytes: narrow(row_bytes),
            count: narrow(rows),
        })
    }

    /// The type of the elements.
    pub const fn kind(&self) -> GgmlType {
        self.kind
    }

    /// How many rows there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many elements a row has.
    pub const fn row_elements(&self) -> usize {
        self.elements
    }

    /// The blocks of a row; `None` where there is no such row.
    pub fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        if index >= self.count {
            return None;
        }
        let start = index.checked_mul(self.row_bytes)?;
        self.bytes.get(start..start.checked_add(self.row_bytes)?)
    }

    /// Decodes a row into storage of the caller's, which has exactly as many elements.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or `out` has another length.
    pub fn decode(&self, index: usize, out: &mut [f32]) -> Result<(), QuantError> {
        let (at, rows) = (num::widen(index), num::widen(self.count));
        let bytes = self.bytes(index).ok_or(QuantError::Row { index: at, rows })?;
        super::decode_from(self.kind, self.order, bytes, out)
    }

    /// The elements of all rows, one by one.
    pub const fn values(&self) -> Values<'a> {
        Values { kind: self.kind, order: self.order, rest: self.bytes, buffer: [0.0; LARGEST], at: 0, end: 0 }
    }
}

/// The elements of a tensor as `f32`, in row-major order, decoded a block at a time.
///
/// [`Iterator::nth`] leaves out whole blocks without decoding them; [`Iterator::fold`] and what builds on it
/// (`for_each`, `sum`) is the fast way through all of them.
#[derive(Clone)]
pub struct Values<'a> {
    kind: GgmlType,
    order: Endian,
    /// The blocks that are not decoded yet.
    rest: &'a [u8],
    buffer: [f32; LARGEST],
    /// Of what the buffer holds, what was given out, and the end.
    at: usize,
    end: usize,
}

impl<'a> Values<'a> {
    /// The elements of a tensor.
    ///
    /// # Errors
    ///
    /// As [`Rows::of`].
    pub fn of(tensor: &TensorView<'a>) -> Result<Self, QuantError> {
        Ok(Rows::of(tensor)?.values())
    }

    /// The elements and the bytes of a block.
    fn block(&self) -> (usize, usize) {
        match self.kind.block() {
            Some(block) => (num::widen32(block.elements()), num::widen32(block.bytes())),
            None => (1, 1),
        }
    }

    /// How many elements the blocks that are not decoded yet have.
    fn undecoded(&self) -> usize {
        let (elements, bytes) = self.block();
        // A file's bytes are in memory, its elements are not: of 1-bit blocks there are seven times as many.
        self.rest.len().checked_div(bytes).unwrap_or(0).saturating_mul(elements)
    }

    /// Decodes as many blocks as the buffer holds; whether there was one.
    fn refill(&mut self) -> bool {
        let (elements, bytes) = self.block();
        let blocks = LARGEST.checked_div(elements).unwrap_or(1);
        let most = blocks.saturating_mul(bytes).min(self.rest.len());
        let Some((head, rest)) = self.rest.split_at_checked(most) else { return false };
        self.rest = rest;
        let count = most.checked_div(bytes).unwrap_or(0).saturating_mul(elements);
        (self.at, self.end) = (0, count);
        let Some(out) = self.buffer.get_mut(..count) else { return false };
        count > 0 && super::decode_from(self.kind, self.order, head, out).is_ok()
    }
}

impl Iterator for Values<'_> {
    type Item = f32;

    #[inline]
    fn next(&mut self) -> Option<f32> {
        if self.at >= self.end && !self.refill() {
            return None;
        }
        let value = *self.buffer.get(self.at)?;
        self.at = self.at.saturating_add(1);
        Some(value)
    }

    fn nth(&mut self, skipped: usize) -> Option<f32> {
        let buffered = self.end.saturating_sub(self.at);
        if skipped < buffered {
            self.at = self.at.saturating_add(skipped);
            return self.next();
        }
        let (elements, bytes) = self.block();
        let skipped = skipped.saturating_sub(buffered);
        let blocks = skipped.checked_div(elements).unwrap_or(0);
        let start = blocks.saturating_mul(bytes).min(self.rest.len());
        self.rest = self.rest.get(start..).unwrap_or_default();
        (self.at, self.end) = (0, 0);
        if !self.refill() {
            return None;
        }
        self.at = skipped.checked_rem(elements).unwrap_or(0);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.saturating_sub(self.at).saturating_add(self.undecoded());
        (left, Some(left))
    }

    fn count(self) -> usize {
        self.len()
    }

    fn fold<B, F: FnMut(B, f32) -> B>(mut self, init: B, mut f: F) -> B {
        let mut state = init;
        loop {
            let ready = self.buffer.get(self.at..self.end).unwrap_or_default();
            state = ready.iter().fold(state, |state, value| f(state, *value));
            if !self.refill() {
                return state;
            }
        }
    }
}

impl ExactSizeIterator for Values<'_> {}

impl FusedIterator for Values<'_> {}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values({}, {} left)", self.kind, num::widen(self.len()))
    }
}
