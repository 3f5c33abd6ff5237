//! Tensors of the same name, compared by all threads.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tensorgate::file::ReadError;
use tensorgate::model::diff::{Comparer, DiffError, Difference, Run, alike};

use crate::parts::{Part, Tensor};
use crate::side::Side;
use crate::work::Work;

/// Elements that a thread takes at a time: a whole number of blocks of every type.
const PIECE: u64 = 1024 * 1024;
/// Elements that are read at a time.
const STEP: u64 = 64 * 1024;

/// A tensor and its file.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    pub(super) tensor: &'s Tensor,
    part: &'s Part,
}

/// Two tensors of one name.
#[derive(Clone, Copy)]
pub(super) struct Pair<'s> {
    pub(super) a: Place<'s>,
    pub(super) b: Place<'s>,
}

impl Pair<'_> {
    pub(super) fn is_reshaped(&self) -> bool {
        self.a.tensor.shape != self.b.tensor.shape
    }

    pub(super) fn is_retyped(&self) -> bool {
        !alike(self.a.tensor.kind.element(), self.b.tensor.kind.element())
    }

    /// Whether there is something to tell.
    pub(super) fn differs(&self, found: &Comparison, types: bool) -> bool {
        let values = found.as_ref().map_or(true, |difference| difference.differ() > 0);
        self.is_reshaped() || types && self.is_retyped() || values
    }
}

/// What was found of a pair, or why its elements cannot be compared.
pub(super) type Comparison = Result<Difference, DiffError>;

/// The tensors of two models by name.
#[derive(Default)]
pub(super) struct Pairing<'s> {
    pub(super) added: Vec<Place<'s>>,
    pub(super) removed: Vec<Place<'s>>,
    pub(super) both: Vec<Pair<'s>>,
}

impl<'s> Pairing<'s> {
    /// Pairs them, in the order of their names.
    pub(super) fn of(a: &'s Side, b: &'s Side) -> Self {
        let mut pairing = Self::default();
        let mut rest = sorted(b).into_iter().peekable();
        for a in sorted(a) {
            let name = a.tensor.name.as_str();
            while let Some(b) = rest.next_if(|b| b.tensor.name.as_str() < name) {
                pairing.added.push(b);
            }
            match rest.next_if(|b| b.tensor.name == name) {
                Some(b) => pairing.both.push(Pair { a, b }),
                None => pairing.removed.push(a),
            }
        }
        pairing.added.extend(rest);
        pairing
    }

    /// Whether each tensor has its like.
    pub(super) const fn is_complete(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

fn sorted(side: &Side) -> Vec<Place<'_>> {
    let places = side.parts.iter().flat_map(|part| part.tensors.iter().map(move |tensor| Place { tensor, part }));
    let mut all: Vec<Place<'_>> = places.collect();
    all.sort_by(|a, b| a.tensor.name.cmp(&b.tensor.name));
    all
}

/// What a thread keeps.
#[derive(Default)]
struct Room {
    comparer: Comparer,
    a: Vec<u8>,
    b: Vec<u8>,
}

/// A stretch of a pair.
#[derive(Clone, Copy)]
struct Piece {
    pair: usize,
    start: u64,
    end: u64,
}

/// Compares each pair.
///
/// # Errors
///
/// The file that could not be read.
pub(super) fn compare(pairing: &Pairing<'_>, work: &Work) -> Result<Vec<Comparison>, (PathBuf, ReadError)> {
    let bytes = pairing.both.iter().map(|pair| pair.a.tensor.len().saturating_add(pair.b.tensor.len()));
    let bar = work.bar(bytes.fold(0, u64::saturating_add), "comparing");
    let pieces = pairing.both.iter().enumerate().flat_map(|(place, pair)| pieces(place, pair));
    let found = Mutex::new(Vec::new());
    let lost = Mutex::new(PathBuf::new());
    let outcome = work.spread(pieces, Room::default, |room, piece| {
        let Some(pair) = pairing.both.get(piece.pair) else { return Ok(()) };
        let outcome = one(pair, piece, room).map_err(|(part, error)| {
            lost.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&part.path);
            error
        })?;
        let elements = piece.end.saturating_sub(piece.start);
        let bytes = [pair.a, pair.b].map(|side| side.tensor.kind.element().bytes_for(elements).unwrap_or_default());
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
    let mut all = vec![Ok(Difference::default()); pairing.both.len()];
    for (pair, _, outcome) in found {
        let Some(Ok(sum)) = all.get_mut(pair) else { continue };
        match outcome {
            Ok(difference) => sum.merge(&difference),
            Err(error) => {
                if let Some(slot) = all.get_mut(pair) {
                    *slot = Err(error);
                }
            }
        }
    }
    Ok(all)
}

/// The stretches of a pair; one of no elements where they cannot be compared, so that this is told.
fn pieces(place: usize, pair: &Pair<'_>) -> impl Iterator<Item = Piece> + use<> {
    let elements = |tensor: &Tensor| tensor.elements();
    let (a, b) = (elements(pair.a.tensor), elements(pair.b.tensor));
    let count = if a == b { a } else { 0 };
    let starts = (0..count.div_ceil(PIECE)).map(|number| number.saturating_mul(PIECE));
    let whole = starts.map(move |start| Piece { pair: place, start, end: start.saturating_add(PIECE).min(count) });
    let none = (a != b).then_some(Piece { pair: place, start: 0, end: 0 });
    whole.chain(none)
}

/// Reads a stretch of both sides and compares it.
fn one<'s>(pair: &Pair<'s>, piece: Piece, room: &mut Room) -> Result<Comparison, (&'s Part, ReadError)> {
    if piece.end == 0 {
        return Ok(Err(DiffError::Length));
    }
    let mut sum = Difference::default();
    let mut at = piece.start;
    while at < piece.end {
        let end = at.saturating_add(STEP).min(piece.end);
        read(pair.a, at, end, &mut room.a)?;
        read(pair.b, at, end, &mut room.b)?;
        let run = |side: Place<'_>, bytes| Run::new(side.tensor.kind.element(), side.tensor.kind.endian(), bytes);
        match room.comparer.compare(run(pair.a, &room.a), run(pair.b, &room.b)) {
            Ok(difference) => sum.merge(&difference),
            Err(error) => return Ok(Err(error)),
        }
        at = end;
    }
    Ok(Ok(sum))
}

/// Reads the elements from `start` to `end` of a tensor.
fn read<'s>(side: Place<'s>, start: u64, end: u64, into: &mut Vec<u8>) -> Result<(), (&'s Part, ReadError)> {
    let bytes = |elements| side.tensor.kind.element().bytes_for(elements).unwrap_or_default();
    let len = usize::try_from(bytes(end).saturating_sub(bytes(start))).unwrap_or_default();
    into.resize(len, 0);
    side.part.read(into, side.tensor.start.saturating_add(bytes(start))).map_err(|error| (side.part, error))
}
