//! A tensor's bytes in its new type, order and shape, a piece at a time.

use std::borrow::ToOwned;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::vec::Vec;

use super::{Conversion, ConvertError, Loss, Output};
use crate::file::{ReadError, SaveError};
use crate::gguf::{Endian, GgmlType};
use crate::model::{ElementType, Source, Tensor};
use crate::num;
use crate::quant::{self, NonFinite, QuantError, What};
use crate::scan::Scan;

/// Elements in one piece: whole blocks of every type.
const PIECE: usize = 1 << 20;

/// The largest block, in elements; all others divide it.
const BLOCK: usize = 256;

/// Bytes that are copied in one piece: they are still in the second cache when they are written.
const COPY: usize = 512 << 10;

/// Takes a tensor's bytes in order.
pub(super) type Put<'p> = &'p mut dyn FnMut(&[u8]) -> Result<(), SaveError>;

/// Values of a transposed tensor that are turned at once at the most.
const TURN: usize = 16 << 20;

/// Gives all bytes of `output` to `put`, from `source`. Memory is taken for pieces, and for the whole of a tensor that is
/// transposed.
pub(super) fn stream(
    conversion: &Conversion<'_>,
    output: &Output,
    source: &mut Source<'_>,
    put: Put<'_>,
) -> Result<Loss, SaveError> {
    let stream = Stream { conversion, output };
    // Types of the same numbers in either format have one kind, and what has none is copied as it is.
    match (output.source.element().ggml(), output.element.ggml()) {
        (Some(from), Some(to)) if from != to => stream.encode(from, to, source, put),
        (kind, _) => stream.copy(kind, source, put),
    }
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

/// What the source's file could not give.
pub(super) fn unread(tensor: &Tensor, path: &Path, error: ReadError) -> SaveError {
    SaveError::other(ConvertError::Read { tensor: tensor.name().to_owned(), path: path.to_owned(), error })
}

fn next<'s>(source: &'s mut Source<'_>, most: usize) -> Result<Option<&'s [u8]>, SaveError> {
    let (tensor, path) = (source.tensor(), source.path());
    source.next(most).map_err(|error| unread(tensor, path, error))
}

fn whole<'s>(source: &'s mut Source<'_>) -> Result<&'s [u8], SaveError> {
    Ok(next(source, usize::MAX)?.unwrap_or_default())
}

impl Stream<'_> {
    fn source(&self) -> &Tensor {
        &self.output.source
    }

    fn tell(&self, bytes: usize) {
        (self.conversion.progress)(num::widen(bytes));
    }

    fn fault(&self, error: QuantError) -> SaveError {
        SaveError::other(ConvertError::Decode { tensor: self.source().name().to_owned(), error })
    }

    /// What looks for values that are not finite, where they are refused.
    fn scan(&self) -> Option<Scan> {
        let refused = self.conversion.non_finite == NonFinite::Refuse;
        refused.then(|| match self.source().element() {
            ElementType::Dtype(dtype) => Scan::new(dtype),
            ElementType::Ggml(kind) => Scan::gguf(kind, self.source().endian()),
        })
    }

    /// The next of the tensor's bytes have no value that is a NaN or infinite, and no scale that makes one.
    fn sound(&self, scan: Option<&mut Scan>, bytes: &[u8]) -> Result<(), SaveError> {
        let Some(scan) = scan else { return Ok(()) };
        let before = scan.census().bytes();
        scan.feed(bytes);
        let census = scan.census();
        let places = [census.not_a_number(), census.infinite(), census.scales()].map(|places| places.first());
        let Some(at) = places.into_iter().flatten().min() else { return Ok(()) };
        let unit = num::widen(scan.unit()).max(1);
        let elements = self.source().element().block_elements().map_or(1, u64::from);
        let is_nan = match self.source().element() {
            ElementType::Ggml(kind) if places.last() == Some(&Some(at)) => {
                let start = at.saturating_sub(at.checked_rem(unit).unwrap_or(0));
                // Of the bytes before these there was nothing to find.
                let block =
                    start.checked_sub(before).and_then(num::narrow).and_then(|start: usize| bytes.get(start..));
                let block = block.and_then(|rest| rest.get(..scan.unit())).unwrap_or_default();
                let fault = quant::faults(kind, self.source().endian(), block).ok().and_then(|mut all| all.next());
                fault.is_some_and(|fault| fault.what() == What::Nan)
            }
            _ => places.first() == Some(&Some(at)),
        };
        Err(SaveError::other(ConvertError::NotFinite {
            tensor: self.source().name().to_owned(),
            element: at.checked_div(unit).unwrap_or(0).saturating_mul(elements),
            is_nan,
        }))
    }

    /// The same numbers: in another byte order, or transposed, or neither.
    fn copy(&self, kind: Option<GgmlType>, source: &mut Source<'_>, put: Put<'_>) -> Result<Loss, SaveError> {
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
        let mut scan = self.scan();
        let block = kind.and_then(GgmlType::block_bytes).map_or(1, num::widen32);
        let piece = COPY.checked_div(block).unwrap_or(COPY).saturating_mul(block).max(1);
        if self.output.transposed {
            let all = whole(source)?;
            for bytes in all.chunks(piece) {
                self.sound(scan.as_mut(), bytes)?;
            }
            self.transpose_bytes(all, &mut give)?;
        } else {
            while let Some(bytes) = next(source, piece)? {
                self.sound(scan.as_mut(), bytes)?;
                give(bytes)?;
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

    /// The parts of the source, of so many rows and columns, that are turned one after the other: some columns whole, of
    /// which `unit` are at least read together, or where these are too long, one column a piece at a time.
    fn tiles(rows: usize, columns: usize, unit: usize) -> impl Iterator<Item = Tile> {
        let whole = rows.saturating_mul(unit) <= TURN;
        let fit = PIECE.checked_div(rows.max(1)).and_then(|fit| fit.checked_div(unit)).unwrap_or(0);
        let stripe = if whole { fit.saturating_mul(unit).clamp(unit, BLOCK) } else { 1 };
        let run = if whole { rows.max(1) } else { PIECE };
        (0..columns).step_by(stripe.max(1)).flat_map(move |column| {
            let wide = stripe.min(columns.saturating_sub(column));
            (0..rows).step_by(run).map(move |row| Tile {
                column,
                wide,
                row,
                high: run.min(rows.saturating_sub(row)),
            })
        })
    }

    /// Plain numbers, columns first.
    fn transpose_bytes(&self, all: &[u8], give: Put<'_>) -> Result<(), SaveError> {
        let (rows, columns) = self.dims();
        let elements = rows.saturating_mul(columns);
        let Some(width) = all.len().checked_div(elements).filter(|width| *width > 0) else {
            return Ok(());
        };
        let mut buffer: Vec<u8> = Vec::new();
        for tile in Self::tiles(rows, columns, 1) {
            if buffer.is_empty() {
                buffer = room(tile.values().saturating_mul(width))?;
            }
            for (row, bytes) in tile.rows(all, columns.saturating_mul(width)).enumerate() {
                let from = bytes.chunks_exact(width).skip(tile.column).take(tile.wide);
                let to = buffer.chunks_exact_mut(width).skip(row).step_by(tile.high);
                for (from, to) in from.zip(to) {
                    to.copy_from_slice(from);
                }
            }
            give(buffer.get(..tile.values().saturating_mul(width)).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Other numbers: through `f32`.
    fn encode(
        &self,
        from: GgmlType,
        to: GgmlType,
        source: &mut Source<'_>,
        put: Put<'_>,
    ) -> Result<Loss, SaveError> {
        let mut encoder = Encoder::new(self, from, to);
        let mut loss = Loss::default();
        if self.output.transposed {
            let (rows, columns) = self.dims();
            let unit = num::widen32(from.block_elements().unwrap_or(1));
            let mut numbers = Numbers::default();
            let all = whole(source)?;
            for tile in Self::tiles(rows, columns, unit) {
                numbers.resize(tile.values(), from)?;
                self.gather((from, to), all, &tile, &mut numbers)?;
                let place = |at: u64| tile.place(at, columns);
                loss = loss.plus(&encoder.piece(&numbers, &place, put)?);
            }
        } else {
            let block = num::widen32(from.block_bytes().unwrap_or(1));
            let elements = num::widen32(from.block_elements().unwrap_or(1));
            let blocks = PIECE.checked_div(elements).unwrap_or(1);
            let mut numbers = Numbers::default();
            let mut first = 0_u64;
            while let Some(bytes) = next(source, blocks.saturating_mul(block))? {
                let count = bytes.len().checked_div(block).unwrap_or(0).saturating_mul(elements);
                numbers.resize(count, from)?;
                self.decode((from, to), bytes, &mut numbers.narrow, &mut numbers.wide)?;
                loss = loss.plus(&encoder.piece(&numbers, &|at| at.saturating_add(first), put)?);
                first = first.saturating_add(num::widen(count));
            }
        }
        Ok(loss)
    }

    /// Blocks as `f32`, and where they are `f64`, as they are too.
    fn decode(
        &self,
        (from, to): (GgmlType, GgmlType),
        bytes: &[u8],
        narrow: &mut [f32],
        wide: &mut [f64],
    ) -> Result<(), SaveError> {
        if from != GgmlType::F64 {
            let outcome = quant::decode_from(from, self.source().endian(), bytes, narrow);
            return outcome.map_err(|error| self.fault(error));
        }
        let big = self.source().endian() == Endian::Big;
        let halves = matches!(to, GgmlType::F16 | GgmlType::BF16);
        for ((bytes, wide), narrow) in bytes.as_chunks::<8>().0.iter().zip(wide).zip(narrow) {
            *wide = if big { f64::from_be_bytes(*bytes) } else { f64::from_le_bytes(*bytes) };
            // Rounded once: what is rounded again is rounded to odd before.
            *narrow = if halves { to_odd(*wide) } else { nearest(*wide) };
        }
        Ok(())
    }

    /// A tile with its columns as rows.
    fn gather(
        &self,
        kinds: (GgmlType, GgmlType),
        all: &[u8],
        tile: &Tile,
        numbers: &mut Numbers,
    ) -> Result<(), SaveError> {
        let (_, columns) = self.dims();
        let unit = num::widen32(kinds.0.block_elements().unwrap_or(1));
        let bytes_of = |count: usize| kinds.0.bytes_for(num::widen(count)).and_then(num::narrow).unwrap_or(0_usize);
        // A single column lies inside a block.
        let skip = tile.column.checked_rem(unit).unwrap_or(0);
        let read = skip.saturating_add(tile.wide).next_multiple_of(unit);
        let (row_bytes, start, len) =
            (bytes_of(columns), bytes_of(tile.column.saturating_sub(skip)), bytes_of(read));
        let (mut narrow, mut wide) = ([0.0; BLOCK], [0.0; BLOCK]);
        let (narrow, wide) = (narrow.get_mut(..read).unwrap_or_default(), wide.get_mut(..read).unwrap_or_default());
        for (row, bytes) in tile.rows(all, row_bytes).enumerate() {
            let part = bytes.get(start..).and_then(|rest| rest.get(..len)).unwrap_or_default();
            self.decode(kinds, part, narrow, wide)?;
            let places = numbers.narrow.iter_mut().skip(row).step_by(tile.high);
            for (from, to) in narrow.iter().skip(skip).take(tile.wide).zip(places) {
                *to = *from;
            }
            let places = numbers.wide.iter_mut().skip(row).step_by(tile.high);
            for (from, to) in wide.iter().skip(skip).take(tile.wide).zip(places) {
                *to = *from;
            }
        }
        Ok(())
    }
}

/// Columns and rows of a matrix that are turned together.
struct Tile {
    column: usize,
    wide: usize,
    row: usize,
    high: usize,
}

impl Tile {
    fn values(&self) -> usize {
        self.wide.saturating_mul(self.high)
    }

    /// The bytes of its rows, each of `row_bytes`, of all those of the matrix.
    fn rows<'a>(&self, all: &'a [u8], row_bytes: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let rows = all.get(self.row.saturating_mul(row_bytes)..).unwrap_or_default();
        rows.chunks_exact(row_bytes.max(1)).take(self.high)
    }

    /// Where in the matrix an element of the turned tile stands, row-major.
    fn place(&self, at: u64, columns: usize) -> u64 {
        let high = num::widen(self.high);
        let (column, row) = (at.checked_div(high).unwrap_or(0), at.checked_rem(high).unwrap_or(0));
        let row = row.saturating_add(num::widen(self.row));
        row.saturating_mul(num::widen(columns)).saturating_add(num::widen(self.column)).saturating_add(column)
    }
}

/// Values on their way. Those of `f64` are there as such too, since what they lose shows only so.
#[derive(Default)]
struct Numbers {
    narrow: Vec<f32>,
    wide: Vec<f64>,
}

impl Numbers {
    fn resize(&mut self, len: usize, from: GgmlType) -> Result<(), SaveError> {
        let more = len.saturating_sub(self.narrow.len());
        self.narrow.try_reserve_exact(more).map_err(SaveError::other)?;
        self.narrow.resize(len, 0.0);
        if from == GgmlType::F64 {
            self.wide.try_reserve_exact(more).map_err(SaveError::other)?;
            self.wide.resize(len, 0.0);
        }
        Ok(())
    }
}

/// The nearest `f32`, even where there are two.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "rounds to nearest, even where it is a tie"
)]
const fn nearest(value: f64) -> f32 {
    value as f32
}

/// One of the two neighbouring `f32`s, the one whose last bit is set where the value is none: rounding that to fewer bits
/// gives what rounding the value itself does (Boldo and Melquiond, *When double rounding is odd*, 2004).
fn to_odd(value: f64) -> f32 {
    let near = nearest(value);
    let back = f64::from(near);
    #[expect(clippy::float_cmp, reason = "whether it is exactly that value")]
    let exact = back == value;
    if exact || !value.is_finite() {
        return near;
    }
    let toward_zero = if back.abs() > value.abs() { near.to_bits().wrapping_sub(1) } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

/// Encodes pieces, a part in each thread.
struct Encoder<'s> {
    stream: &'s Stream<'s>,
    kinds: (GgmlType, GgmlType),
    bytes: Vec<u8>,
    back: Vec<f32>,
}

impl<'s> Encoder<'s> {
    fn new(stream: &'s Stream<'s>, from: GgmlType, to: GgmlType) -> Self {
        Self { stream, kinds: (from, to), bytes: Vec::new(), back: Vec::new() }
    }

    /// One piece; `place` says where in the source its elements stand.
    fn piece(&mut self, numbers: &Numbers, place: &dyn Fn(u64) -> u64, put: Put<'_>) -> Result<Loss, SaveError> {
        let (values, to) = (numbers.narrow.as_slice(), self.kinds.1);
        let len = to.bytes_for(num::widen(values.len())).and_then(num::narrow).unwrap_or(0_usize);
        if self.back.len() < values.len() {
            self.back = room(values.len())?;
        }
        if self.bytes.len() < len {
            self.bytes = room(len)?;
        }
        let (bytes, back) =
            (self.bytes.get_mut(..len).unwrap_or_default(), self.back.get_mut(..values.len()).unwrap_or_default());
        let conversion = self.stream.conversion;
        let outcome = in_parts(conversion, self.kinds, numbers, bytes, back);
        let loss = outcome.map_err(|error| match error {
            QuantError::NotFinite { index, is_nan } => SaveError::other(ConvertError::NotFinite {
                tensor: self.stream.source().name().to_owned(),
                element: place(index),
                is_nan,
            }),
            error => self.stream.fault(error),
        })?;
        if conversion.endian == Endian::Big {
            quant::swap_order(to, bytes).map_err(|error| self.stream.fault(error))?;
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
    (from, to): (GgmlType, GgmlType),
    numbers: &Numbers,
    bytes: &mut [u8],
    back: &mut [f32],
) -> Result<Loss, QuantError> {
    let values = numbers.narrow.as_slice();
    let refuse = conversion.non_finite == NonFinite::Refuse;
    let share = values.len().div_ceil(conversion.threads.max(1)).max(LEAST).next_multiple_of(BLOCK);
    let share_bytes = to.bytes_for(num::widen(share)).and_then(num::narrow).unwrap_or(1_usize).max(1);
    let parts = values.chunks(share).zip(bytes.chunks_mut(share_bytes)).zip(back.chunks_mut(share));
    let starts = (0..values.len()).step_by(share);
    let work = |start: usize, values: &[f32], bytes: &mut [u8], back: &mut [f32]| -> Result<Loss, QuantError> {
        let wide = numbers.wide.get(start..).and_then(|rest| rest.get(..values.len()));
        if refuse {
            let fault = match wide {
                Some(wide) => first_odd(wide),
                None => first_odd(values),
            };
            if let Some((at, is_nan)) = fault {
                return Err(QuantError::NotFinite { index: num::widen(start.saturating_add(at)), is_nan });
            }
        }
        // What is finite and too large is counted.
        quant::encode_with(to, NonFinite::Keep, values, bytes)?;
        quant::decode(to, bytes, back)?;
        Ok(match wide {
            Some(wide) => Loss::of(wide, back, (from, to)),
            None => Loss::of(values, back, (from, to)),
        })
    };
    let count = values.len().div_ceil(share);
    let mut outcomes: Vec<_> = (0..count).map(|_| Ok(Loss::default())).collect();
    let tasks = Mutex::new(parts.zip(starts).zip(&mut outcomes));
    let run = || {
        loop {
            let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(((((values, bytes), back), start), outcome)) = task else { break };
            *outcome = work(start, values, bytes, back);
        }
    };
    thread::scope(|scope| {
        for _ in 1..count {
            // Where there is no room for another thread, these do it all.
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    // The first error in the order of the values.
    outcomes.into_iter().try_fold(Loss::default(), |sum, part| Ok(sum.plus(&part?)))
}

/// The first value that is not finite, and whether it is a NaN.
fn first_odd<V: Copy + Into<f64>>(values: &[V]) -> Option<(usize, bool)> {
    let at = values.iter().position(|value| !(*value).into().is_finite())?;
    Some((at, values.get(at).is_some_and(|value| (*value).into().is_nan())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element once, at its place, whatever the matrix is like.
    #[test]
    fn tiles_cover_a_matrix_in_the_order_of_its_transpose() {
        let long = TURN / 32 + 5;
        for (rows, columns, unit) in [(3, 5, 1), (1, 1, 1), (700, 3000, 1), (5, 512, 256), (long, 64, 32)] {
            let (mut next, mut most) = (0_u64, 0);
            for tile in Stream::tiles(rows, columns, unit) {
                most = most.max(tile.values());
                for at in [0, tile.values() as u64 / 2, tile.values() as u64 - 1] {
                    let turned = next + at;
                    let (column, row) = (turned / rows as u64, turned % rows as u64);
                    assert_eq!(tile.place(at, columns), row * columns as u64 + column);
                }
                assert!(tile.column % unit == 0 || tile.wide == 1);
                next += tile.values() as u64;
            }
            assert_eq!(next, (rows * columns) as u64);
            assert!(most <= TURN);
        }
        assert_eq!(Stream::tiles(0, 7, 1).count() + Stream::tiles(7, 0, 1).count(), 0);
    }

    /// Halves of doubles that lie next to the middle of two halves, where rounding twice goes wrong.
    #[test]
    fn doubles_are_rounded_once() {
        let half = |value: f64| {
            let mut out = [0; 2];
            quant::encode_with(GgmlType::F16, NonFinite::Keep, &[to_odd(value)], &mut out).unwrap();
            u16::from_le_bytes(out)
        };
        let tie = 1.0 + f64::from_bits(0x3F40_0000_0000_0000);
        assert_eq!(half(tie), 0x3C00);
        assert_eq!(half(tie + f64::EPSILON), 0x3C01);
        assert_eq!(half(-(tie + f64::EPSILON)), 0xBC01);
        assert_eq!((half(1e300), half(-65_504.0), half(1e-300), half(0.0)), (0x7C00, 0xFBFF, 0, 0));
        assert!(to_odd(f64::NAN).is_nan() && to_odd(f64::INFINITY).is_infinite());
    }
}
