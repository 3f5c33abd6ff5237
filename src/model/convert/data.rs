//! A tensor's bytes in its new type, order and shape, a piece at a time.

use std::borrow::ToOwned;
use std::thread;
use std::vec::Vec;

use super::outputs::ggml_of;
use super::{Conversion, ConvertError, Loss, Output};
use crate::file::{Advice, SaveError};
use crate::gguf::{Endian, GgmlType};
use crate::model::Tensor;
use crate::num;
use crate::quant::{self, NonFinite, QuantError};

/// Elements in one piece: whole blocks of every type.
const PIECE: usize = 1 << 20;

/// The largest block, in elements; all others divide it.
const BLOCK: usize = 256;

/// Bytes that are copied in one piece.
const COPY: usize = 8 << 20;

/// Takes a tensor's bytes in order.
pub(super) type Put<'p> = &'p mut dyn FnMut(&[u8]) -> Result<(), SaveError>;

/// Gives all bytes of `output` to `put`. Memory is taken for a piece, or for a transposed tensor's rows that make one.
pub(super) fn stream(conversion: &Conversion<'_>, output: &Output, put: Put<'_>) -> Result<Loss, SaveError> {
    let source = &output.source;
    source.advise(Advice::Sequential);
    let stream = Stream { conversion, output };
    // Types of the same numbers in either format have one kind, and what has none is copied as it is.
    let kinds = (ggml_of(source.element()), ggml_of(output.element));
    let loss = match kinds {
        (Some(from), Some(to)) if from != to => stream.encode(from, to, put),
        (kind, _) => stream.copy(kind, put),
    }?;
    source.advise(Advice::DontNeed);
    Ok(loss)
}

struct Stream<'s> {
    conversion: &'s Conversion<'s>,
    output: &'s Output,
}

/// Memory for a piece, or an error.
fn room<T: Clone + Default>(len: usize) -> Result<Vec<T>, SaveError> {
    let mut room = Vec::new();
    room.try_reserve_exact(len).map_err(SaveError::other)?;
    room.resize(len, T::default());
    Ok(room)
}

impl Stream<'_> {
    fn source(&self) -> &Tensor {
        &self.output.source
    }

    fn tell(&self, bytes: usize) {
        (self.conversion.progress)(num::widen(bytes));
    }

    /// Bytes from `start` on will not be read again: their pages are given back, so that a model larger than the memory
    /// takes no more of it than a piece does. Says where the next ones begin.
    fn read(&self, start: u64, bytes: &[u8]) -> u64 {
        let len = num::widen(bytes.len());
        self.source().advise_range(start, len, Advice::DontNeed);
        start.saturating_add(len)
    }

    fn fault(&self, error: QuantError) -> SaveError {
        SaveError::other(ConvertError::Decode { tensor: self.source().name().to_owned(), error })
    }

    /// The same numbers: in another byte order, or transposed, or neither.
    fn copy(&self, kind: Option<GgmlType>, put: Put<'_>) -> Result<Loss, SaveError> {
        let turned = kind.filter(|_| self.source().endian() != self.conversion.endian);
        let mut buffer = Vec::new();
        let mut give = |bytes: &[u8]| -> Result<(), SaveError> {
            match turned {
                None => put(bytes)?,
                Some(kind) => {
                    buffer.clear();
                    buffer.try_reserve(bytes.len()).map_err(SaveError::other)?;
                    buffer.extend_from_slice(bytes);
                    quant::swap_order(kind, &mut buffer).map_err(|error| self.fault(error))?;
                    put(&buffer)?;
                }
            }
            self.tell(bytes.len());
            Ok(())
        };
        if self.output.transposed {
            self.transpose_bytes(&mut give)?;
        } else {
            let block = kind.and_then(GgmlType::block_bytes).map_or(1, num::widen32);
            let piece = COPY.checked_div(block).unwrap_or(COPY).saturating_mul(block);
            let mut start = 0_u64;
            for bytes in self.source().bytes().chunks(piece.max(1)) {
                give(bytes)?;
                start = self.read(start, bytes);
            }
        }
        Ok(Loss { values: self.source().elements(), ..Loss::default() })
    }

    /// Rows and columns of the source, which has two dimensions.
    fn dims(&self) -> (usize, usize) {
        match *self.source().shape() {
            [rows, columns] => (num::narrow(rows).unwrap_or(0), num::narrow(columns).unwrap_or(0)),
            _ => (0, 0),
        }
    }

    /// How many of the source's columns are turned into rows at once: `unit` or a multiple of it.
    fn stripe(rows: usize, unit: usize) -> usize {
        let fit = PIECE.checked_div(rows.max(1)).unwrap_or(1);
        fit.checked_div(unit).unwrap_or(0).saturating_mul(unit).clamp(unit, BLOCK)
    }

    /// Plain numbers, columns first.
    fn transpose_bytes(&self, give: Put<'_>) -> Result<(), SaveError> {
        let (rows, columns) = self.dims();
        let elements = rows.saturating_mul(columns);
        let Some(width) = self.source().bytes().len().checked_div(elements).filter(|width| *width > 0) else {
            return Ok(());
        };
        let stripe = Self::stripe(rows, 1);
        let mut buffer: Vec<u8> = room(stripe.saturating_mul(rows).saturating_mul(width))?;
        let column = rows.saturating_mul(width);
        for first in (0..columns).step_by(stripe) {
            let wide = stripe.min(columns.saturating_sub(first));
            for (row, bytes) in self.source().bytes().chunks_exact(columns.saturating_mul(width)).enumerate() {
                let from = bytes.chunks_exact(width).skip(first).take(wide);
                let to = buffer.chunks_exact_mut(width).skip(row).step_by(rows);
                for (from, to) in from.zip(to) {
                    to.copy_from_slice(from);
                }
            }
            give(buffer.get(..column.saturating_mul(wide)).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Other numbers: through `f32`.
    fn encode(&self, from: GgmlType, to: GgmlType, put: Put<'_>) -> Result<Loss, SaveError> {
        let mut encoder = Encoder::new(self, to)?;
        let mut loss = Loss::default();
        if self.output.transposed {
            let (rows, columns) = self.dims();
            let unit = num::widen32(from.block_elements().unwrap_or(1));
            let stripe = Self::stripe(rows, unit);
            let mut values: Vec<f32> = room(stripe.saturating_mul(rows))?;
            for first in (0..columns).step_by(stripe) {
                let wide = stripe.min(columns.saturating_sub(first));
                self.gather(from, first, wide, &mut values)?;
                let values = values.get(..wide.saturating_mul(rows)).unwrap_or_default();
                let place = |at: u64| {
                    let (column, row) = (
                        at.checked_div(num::widen(rows)).unwrap_or(0),
                        at.checked_rem(num::widen(rows)).unwrap_or(0),
                    );
                    row.saturating_mul(num::widen(columns)).saturating_add(num::widen(first)).saturating_add(column)
                };
                loss = loss.plus(&encoder.piece(values, &place, put)?);
            }
        } else {
            let block = num::widen32(from.block_bytes().unwrap_or(1));
            let elements = num::widen32(from.block_elements().unwrap_or(1));
            let blocks = PIECE.checked_div(elements).unwrap_or(1);
            let mut values: Vec<f32> = room(PIECE.min(num::narrow(self.source().elements()).unwrap_or(PIECE)))?;
            let (mut start, mut offset) = (0_u64, 0_u64);
            for bytes in self.source().bytes().chunks(blocks.saturating_mul(block)) {
                let count = bytes.len().checked_div(block).unwrap_or(0).saturating_mul(elements);
                let values = values.get_mut(..count).unwrap_or_default();
                quant::decode_from(from, self.source().endian(), bytes, values)
                    .map_err(|error| self.fault(error))?;
                loss = loss.plus(&encoder.piece(values, &|at| at.saturating_add(start), put)?);
                start = start.saturating_add(num::widen(count));
                offset = self.read(offset, bytes);
            }
        }
        Ok(loss)
    }

    /// `wide` columns of the source from `first` on as rows.
    fn gather(&self, from: GgmlType, first: usize, wide: usize, values: &mut [f32]) -> Result<(), SaveError> {
        let (rows, columns) = self.dims();
        let bytes_of = |count: usize| from.bytes_for(num::widen(count)).and_then(num::narrow).unwrap_or(0_usize);
        let (row_bytes, start, len) = (bytes_of(columns), bytes_of(first), bytes_of(wide));
        let mut decoded = [0.0; BLOCK];
        let decoded = decoded.get_mut(..wide).unwrap_or_default();
        for (row, bytes) in self.source().bytes().chunks_exact(row_bytes.max(1)).enumerate() {
            let part = bytes.get(start..).and_then(|rest| rest.get(..len)).unwrap_or_default();
            quant::decode_from(from, self.source().endian(), part, decoded).map_err(|error| self.fault(error))?;
            for (from, to) in decoded.iter().zip(values.iter_mut().skip(row).step_by(rows)) {
                *to = *from;
            }
        }
        Ok(())
    }
}

/// Encodes pieces, a part in each thread.
struct Encoder<'s> {
    stream: &'s Stream<'s>,
    to: GgmlType,
    bytes: Vec<u8>,
    back: Vec<f32>,
}

impl<'s> Encoder<'s> {
    fn new(stream: &'s Stream<'s>, to: GgmlType) -> Result<Self, SaveError> {
        Ok(Self { stream, to, bytes: Vec::new(), back: Vec::new() })
    }

    /// One piece; `place` says where in the source its elements stand.
    fn piece(&mut self, values: &[f32], place: &dyn Fn(u64) -> u64, put: Put<'_>) -> Result<Loss, SaveError> {
        let len = self.to.bytes_for(num::widen(values.len())).and_then(num::narrow).unwrap_or(0_usize);
        if self.back.len() < values.len() {
            self.back = room(values.len())?;
        }
        if self.bytes.len() < len {
            self.bytes = room(len)?;
        }
        let (bytes, back) =
            (self.bytes.get_mut(..len).unwrap_or_default(), self.back.get_mut(..values.len()).unwrap_or_default());
        let conversion = self.stream.conversion;
        let outcome = in_parts(conversion, self.to, values, bytes, back);
        let loss = outcome.map_err(|error| match error {
            QuantError::NotFinite { index, is_nan } => SaveError::other(ConvertError::NotFinite {
                tensor: self.stream.source().name().to_owned(),
                element: place(index),
                is_nan,
            }),
            error => self.stream.fault(error),
        })?;
        if conversion.endian == Endian::Big {
            quant::swap_order(self.to, bytes).map_err(|error| self.stream.fault(error))?;
        }
        put(bytes)?;
        self.stream.tell(len);
        Ok(loss)
    }
}

/// Values in one thread less than which a thread costs more than it gives.
const LEAST: usize = 1 << 15;

/// Encodes values and decodes what they became, each thread a part of whole blocks.
fn in_parts(
    conversion: &Conversion<'_>,
    to: GgmlType,
    values: &[f32],
    bytes: &mut [u8],
    back: &mut [f32],
) -> Result<Loss, QuantError> {
    let refuse = conversion.non_finite == NonFinite::Refuse;
    let share = values.len().div_ceil(conversion.threads.max(1)).max(LEAST).next_multiple_of(BLOCK);
    let share_bytes = to.bytes_for(num::widen(share)).and_then(num::narrow).unwrap_or(1_usize).max(1);
    let parts = values.chunks(share).zip(bytes.chunks_mut(share_bytes)).zip(back.chunks_mut(share));
    let starts = (0..values.len()).step_by(share);
    let work = |start: usize, values: &[f32], bytes: &mut [u8], back: &mut [f32]| -> Result<Loss, QuantError> {
        if refuse && let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let is_nan = values.get(at).is_some_and(|value| value.is_nan());
            return Err(QuantError::NotFinite { index: num::widen(start.saturating_add(at)), is_nan });
        }
        // What is finite and too large is counted.
        quant::encode_with(to, NonFinite::Keep, values, bytes)?;
        quant::decode(to, bytes, back)?;
        Ok(Loss::of(values, back, to))
    };
    if values.len() <= share {
        return work(0, values, bytes, back);
    }
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = parts
            .zip(starts)
            .map(|(((values, bytes), back), start)| scope.spawn(move || work(start, values, bytes, back)))
            .collect();
        let mut loss = Ok(Loss::default());
        for thread in threads {
            // The first error in the order of the values; a panic of a thread is one here too.
            let part = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            loss = match (loss, part) {
                (Ok(sum), Ok(part)) => Ok(sum.plus(&part)),
                (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            };
        }
        loss
    })
}
