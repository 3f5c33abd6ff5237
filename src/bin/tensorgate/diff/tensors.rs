//! Pairs of tensors, compared by all threads.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tensorgate::file::ReadError;
use tensorgate::model::diff::{Comparer, DiffError, Difference, Run};

use super::pairing::{Pair, Pairing, Place};
use crate::parts::{Part, Tensor};
use crate::work::Work;

/// Elements that a thread takes at a time: a whole number of blocks of every type.
const PIECE: u64 = 1024 * 1024;
/// Elements that are read at a time.
const STEP: u64 = 64 * 1024;

/// What was found of a pair, or why its elements cannot be compared.
pub(super) type Comparison = Result<Difference, Why>;

/// Why elements are not compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    Cannot(DiffError),
    /// A row of a tensor whose dimensions change places does not fit into what is read at a time.
    LongRows,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cannot(error) => error.fmt(f),
            Self::LongRows => f.write_str("its rows are too long to change places with its columns"),
        }
    }
}

/// What a thread keeps.
#[derive(Default)]
struct Room {
    comparer: Comparer,
    a: Vec<u8>,
    b: Vec<u8>,
    columns: Vec<u8>,
}

/// A stretch of a pair.
#[derive(Clone, Copy)]
struct Piece {
    pair: usize,
    start: u64,
    end: u64,
    /// Elements to read at a time.
    step: u64,
}

/// Compares each pair.
///
/// # Errors
///
/// The file that could not be read.
pub(super) fn compare(pairing: &Pairing<'_>, work: &Work) -> Result<Vec<Comparison>, (PathBuf, ReadError)> {
    let mut all: Vec<Comparison> = pairing.both.iter().map(possible).collect();
    let able = |place: usize| all.get(place).is_some_and(Result::is_ok);
    let pairs = pairing.both.iter().enumerate().filter(|(place, _)| able(*place));
    let bytes = pairs.clone().map(|(_, pair)| pair.a.tensor.len().saturating_add(pair.b.tensor.len()));
    let bar = work.bar(bytes.fold(0, u64::saturating_add), "comparing");
    let found = Mutex::new(Vec::new());
    let lost = Mutex::new(PathBuf::new());
    let pieces = pairs.flat_map(|(place, pair)| pieces(place, pair));
    let outcome = work.spread(pieces, Room::default, |room, piece| {
        let Some(pair) = pairing.both.get(piece.pair) else { return Ok(()) };
        let outcome = one(pair, piece, room).map_err(|(part, error)| {
            lost.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&part.path);
            error
        })?;
        let elements = piece.end.saturating_sub(piece.start);
        let bytes = [pair.a, pair.b].map(|place| bytes_of(place.tensor, elements));
        bar.inc(bytes.into_iter().fold(0, u64::saturating_add));
        found.lock().unwrap_or_else(PoisonError::into_inner).push((piece.pair, piece.start, outcome));
        Ok(())
    });
    bar.finish_and_clear();
    outcome.map_err(|error| (lost.into_inner().unwrap_or_else(PoisonError::into_inner), error))?;
    for part in pairing.both.iter().flat_map(|pair| [pair.a.part, pair.b.part]) {
        part.unchanged().map_err(|error| (part.path.clone(), error))?;
    }
    // Sums are rounded: in this order they are the same on any number of threads.
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|(pair, start, _)| (*pair, *start));
    for (pair, _, outcome) in found {
        if let Some(slot) = all.get_mut(pair) {
            match (slot.as_mut(), outcome) {
                (Ok(sum), Ok(difference)) => sum.merge(&difference),
                (_, Err(error)) => *slot = Err(Why::Cannot(error)),
                (Err(_), _) => {}
            }
        }
    }
    Ok(all)
}

/// No difference so far, or why there will be none.
fn possible(pair: &Pair<'_>) -> Comparison {
    if pair.a.tensor.elements() != pair.b.tensor.elements() {
        return Err(Why::Cannot(DiffError::Length));
    }
    let row = turned_row(pair).unwrap_or_default();
    if row > PIECE { Err(Why::LongRows) } else { Ok(Difference::default()) }
}

/// The length of a row where one side is turned.
fn turned_row(pair: &Pair<'_>) -> Option<u64> {
    let turned = [pair.a, pair.b].into_iter().find(|place| place.turned)?;
    turned.tensor.shape.first().copied()
}

/// The stretches of a pair; where one side is turned they are whole rows of the other.
fn pieces(place: usize, pair: &Pair<'_>) -> impl Iterator<Item = Piece> + use<> {
    let count = pair.a.tensor.elements();
    let row = turned_row(pair).unwrap_or(1).max(1);
    let rows = |elements: u64| elements.checked_div(row).unwrap_or(1).max(1).saturating_mul(row);
    let (long, step) = (rows(PIECE), rows(STEP));
    let starts = (0..count.div_ceil(long)).map(move |number| number.saturating_mul(long));
    starts.map(move |start| Piece { pair: place, start, end: start.saturating_add(long).min(count), step })
}

/// Reads a stretch of both sides and compares it.
fn one<'s>(
    pair: &Pair<'s>,
    piece: Piece,
    room: &mut Room,
) -> Result<Result<Difference, DiffError>, (&'s Part, ReadError)> {
    let mut sum = Difference::default();
    let mut at = piece.start;
    while at < piece.end {
        let end = at.saturating_add(piece.step).min(piece.end);
        read(pair.a, at, end, &mut room.a, &mut room.columns)?;
        read(pair.b, at, end, &mut room.b, &mut room.columns)?;
        let run = |side: Place<'_>, bytes| Run::new(side.tensor.kind.element(), side.tensor.kind.endian(), bytes);
        match room.comparer.compare(run(pair.a, &room.a), run(pair.b, &room.b)) {
            Ok(difference) => sum.merge(&difference),
            Err(error) => return Ok(Err(error)),
        }
        at = end;
    }
    Ok(Ok(sum))
}

/// Bytes of so many elements, from a tensor's first.
fn bytes_of(tensor: &Tensor, elements: u64) -> u64 {
    tensor.kind.element().bytes_for(elements).unwrap_or_default()
}

/// Reads the elements from `start` to `end`, in the order of the other side.
fn read<'s>(
    side: Place<'s>,
    start: u64,
    end: u64,
    into: &mut Vec<u8>,
    columns: &mut Vec<u8>,
) -> Result<(), (&'s Part, ReadError)> {
    let tensor = side.tensor;
    let (from, to) = (bytes_of(tensor, start), bytes_of(tensor, end));
    into.resize(usize::try_from(to.saturating_sub(from)).unwrap_or_default(), 0);
    let outcome = match (side.turned, tensor.shape.as_slice()) {
        (true, [rows, width]) => {
            let row = (*rows).max(1);
            let first = start.checked_div(row).unwrap_or_default();
            let count = end.checked_div(row).unwrap_or_default().saturating_sub(first);
            turned(side, *width, first, count, into, columns)
        }
        _ => side.part.read(into, tensor.start.saturating_add(from)),
    };
    outcome.map_err(|error| (side.part, error))
}

/// Reads `count` columns from `first` on of a table that is `width` wide, and lays each down as a row.
fn turned(
    side: Place<'_>,
    width: u64,
    first: u64,
    count: u64,
    into: &mut [u8],
    columns: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let tensor = side.tensor;
    let bytes = |elements| usize::try_from(bytes_of(tensor, elements)).unwrap_or_default();
    let (unit, piece) = (bytes(1).max(1), bytes(count).max(1));
    columns.resize(into.len(), 0);
    for (row, to) in (0_u64..).zip(columns.chunks_mut(piece)) {
        let at = row.saturating_mul(width).saturating_add(first);
        side.part.read(to, tensor.start.saturating_add(bytes_of(tensor, at)))?;
    }
    let rows = columns.len().checked_div(piece).unwrap_or_default();
    let line = rows.saturating_mul(unit).max(1);
    for (column, to) in into.chunks_mut(line).enumerate() {
        let inside = column.saturating_mul(unit);
        for (to, from) in to.chunks_mut(unit).zip(columns.chunks(piece)) {
            let element = from.get(inside..inside.saturating_add(unit)).unwrap_or_default();
            if element.len() == to.len() {
                to.copy_from_slice(element);
            }
        }
    }
    Ok(())
}
