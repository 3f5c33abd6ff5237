//! `tensorgate check --deep`: the data of accepted files, read once by all threads.

mod pass;
mod tap;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use tensorgate::file::{Head, ReadError};
use tensorgate::scan::Census;

pub(crate) use tap::Tap;

use crate::judge::{Model, Options};
use crate::parts::{Part, Tensor, parts};
use crate::report::{Data, Odd, Report};
use crate::work::Work;
use pass::Pass;

/// Bytes that a thread takes at a time, so that all of them are busy to the end.
const PIECE: u64 = 8 * 1024 * 1024;
/// Bytes that are read at a time: they are still in the second cache when they are counted.
const BUFFER: usize = 256 * 1024;
/// Bytes between two tensors that are read along rather than skipped.
const GAP: u64 = 64 * 1024;

/// What is to be read of a file.
enum Wanted {
    /// It is no model, or was not accepted.
    Nothing,
    Parts(Vec<Part>),
    /// A stream: it was looked at while it passed.
    Passed,
    Failed(Box<Report>),
}

/// Deep checks of one run. What was read of a file is kept for when it is named again, as a shard or by another path.
pub(crate) struct Deep<'w> {
    work: &'w Work,
    options: Options,
    known: HashMap<PathBuf, Known>,
    wanted: Wanted,
}

/// A file that was read.
struct Known {
    len: u64,
    modified: Option<SystemTime>,
    data: Data,
}

impl<'w> Deep<'w> {
    pub(crate) fn new(work: &'w Work, options: Options) -> Self {
        Self { work, options, known: HashMap::new(), wanted: Wanted::Nothing }
    }

    /// How the next file is read.
    pub(crate) const fn read_with(&mut self, options: Options) {
        self.options = options;
    }

    /// Takes note of an accepted file while its header is there.
    pub(crate) fn look(&mut self, report: &Report, model: &Model<'_>, head: &Head) {
        self.wanted = if head.file().is_none() && !matches!(model, Model::Index(..)) {
            Wanted::Passed
        } else {
            match parts(report, model, head, &self.options) {
                Ok(parts) => Wanted::Parts(parts),
                Err(report) => Wanted::Failed(report),
            }
        };
    }

    /// Reads the data of the file that was looked at, and adds to its report what was found.
    pub(crate) fn finish(&mut self, report: Report, tap: Tap) -> Report {
        let wanted = std::mem::replace(&mut self.wanted, Wanted::Nothing);
        if report.fault.is_some() {
            return report;
        }
        match wanted {
            Wanted::Nothing => report,
            Wanted::Failed(failed) => Report { path: report.path, ..*failed },
            Wanted::Passed => match tap.into_data() {
                Some(data) => report.with_data(data, |_, _| None),
                None => report,
            },
            Wanted::Parts(parts) => match self.read(&parts, &report.path) {
                Ok(data) => report.with_data(data, |place, at| window(parts.get(place)?, at)),
                Err((path, error)) => {
                    let failed = Report::unread(&path, &error);
                    Report { path: report.path, size: report.size, ..failed }
                }
            },
        }
    }

    fn read(&mut self, parts: &[Part], path: &Path) -> Result<Data, (PathBuf, ReadError)> {
        let mut sum = Data::default();
        let total = parts.iter().map(|part| bytes(&part.tensors)).fold(0, u64::saturating_add);
        let bar = self.work.bar(total, &crate::text::path(path));
        for (place, part) in parts.iter().enumerate() {
            let data = self.one(part, &|bytes| bar.inc(bytes)).map_err(|error| (part.path.clone(), error))?;
            let shard = (parts.len() > 1 || part.path != path).then(|| part.name());
            sum.add(place, shard.as_deref(), data);
        }
        bar.finish_and_clear();
        Ok(sum)
    }

    /// Reads one file, unless that was done before.
    fn one(&mut self, part: &Part, advance: &(dyn Fn(u64) + Sync)) -> Result<Data, ReadError> {
        let key = part.path.canonicalize().unwrap_or_else(|_| part.path.clone());
        let known = self.known.get(&key);
        if let Some(known) = known.filter(|known| (known.len, known.modified) == (part.len(), part.modified())) {
            advance(known.data.bytes);
            return Ok(known.data.clone());
        }
        let censuses = Mutex::new(vec![Census::default(); part.tensors.len()]);
        let pieces = Pieces { tensors: &part.tensors, next: 0, at: 0 };
        self.work.spread(
            pieces,
            || vec![0; BUFFER],
            |buffer, piece| {
                let found = look(part, &piece, buffer, advance)?;
                let mut all = censuses.lock().unwrap_or_else(PoisonError::into_inner);
                for (place, census) in found {
                    if let Some(sum) = all.get_mut(place) {
                        sum.merge(&census);
                    }
                }
                Ok(())
            },
        )?;
        part.unchanged()?;
        let censuses = censuses.into_inner().unwrap_or_else(PoisonError::into_inner);
        let data = summary(&part.tensors, &censuses);
        if !self.work.is_stopped() {
            let (len, modified) = (part.len(), part.modified());
            self.known.insert(key, Known { len, modified, data: data.clone() });
        }
        Ok(data)
    }
}

/// The bytes around a place, for its picture.
fn window(part: &Part, at: u64) -> Option<(Vec<u8>, usize)> {
    let start = at.saturating_sub(8);
    let len = part.len().saturating_sub(start).min(16);
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    part.read(&mut bytes, start).ok()?;
    Some((bytes, usize::try_from(at.saturating_sub(start)).ok()?))
}

fn bytes(tensors: &[Tensor]) -> u64 {
    tensors.iter().map(Tensor::len).fold(0, u64::saturating_add)
}

/// What is to be told of a file's tensors.
fn summary(tensors: &[Tensor], censuses: &[Census]) -> Data {
    let odd = tensors.iter().zip(censuses).filter(|(_, census)| !census.is_clean());
    let odd = odd.map(|(tensor, census)| Odd {
        place: 0,
        shard: None,
        name: tensor.name.clone(),
        kind: tensor.kind.label(),
        start: tensor.start,
        census: *census,
    });
    let bytes = censuses.iter().map(Census::bytes).fold(0, u64::saturating_add);
    Data { bytes, tensors: u64::try_from(tensors.len()).unwrap_or(u64::MAX), odd: odd.collect() }
}

/// A stretch of a file for one thread: whole tensors, or whole elements of one.
struct Piece {
    first: usize,
    start: u64,
    end: u64,
}

/// A file's tensors, cut into pieces as they are asked for.
struct Pieces<'t> {
    tensors: &'t [Tensor],
    next: usize,
    /// Where the rest of a tensor begins that was cut.
    at: u64,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let first = self.next;
        let start = self.tensors.get(first)?.start.max(self.at);
        let mut end = start;
        while let Some(tensor) = self.tensors.get(self.next) {
            if tensor.start > end.saturating_add(GAP) {
                break;
            }
            if tensor.end.saturating_sub(start) > PIECE {
                if self.next == first {
                    let unit = u64::try_from(tensor.kind.scan().unit()).unwrap_or(1);
                    let over = PIECE.checked_rem(unit).unwrap_or_default();
                    end = start.saturating_add(PIECE.saturating_sub(over));
                    self.at = end;
                }
                break;
            }
            end = end.max(tensor.end);
            self.next = self.next.saturating_add(1);
        }
        Some(Piece { first, start, end })
    }
}

/// Reads a piece and counts.
fn look(
    part: &Part,
    piece: &Piece,
    buffer: &mut [u8],
    advance: &(dyn Fn(u64) + Sync),
) -> Result<Vec<(usize, Census)>, ReadError> {
    let mut pass = Pass::new(part.tensors.as_slice(), piece.first);
    let mut at = piece.start;
    while at < piece.end {
        let left = usize::try_from(piece.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let len = left.min(buffer.len());
        let bytes = buffer.get_mut(..len).unwrap_or_default();
        part.read(bytes, at)?;
        pass.feed(at, bytes);
        let len = u64::try_from(len).unwrap_or_default();
        advance(len);
        at = at.saturating_add(len);
    }
    Ok(pass.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Kind;
    use tensorgate::Dtype;
    use tensorgate::gguf::{Endian, GgmlType};

    fn tensor(kind: Kind, start: u64, end: u64) -> Tensor {
        Tensor { name: String::new(), kind, shape: Vec::new(), start, end }
    }

    #[test]
    fn pieces_cover_every_byte_once_and_split_no_element() {
        let block = Kind::Ggml(GgmlType::Q6_K, Endian::Little);
        let tensors = [
            tensor(Kind::Plain(Dtype::U8), 100, 100),
            tensor(Kind::Plain(Dtype::F64), 100, 100 + 8 * 5),
            tensor(block, 160, 160 + 210 * 200_000),
            tensor(Kind::Plain(Dtype::F16), 160 + 210 * 200_000, 160 + 210 * 200_000 + 2),
            tensor(Kind::Plain(Dtype::F32), 1 << 40, (1 << 40) + PIECE),
            tensor(Kind::Plain(Dtype::U8), (1 << 40) + PIECE, (1 << 40) + PIECE),
            tensor(Kind::Plain(Dtype::U8), (1 << 40) + PIECE, (1 << 40) + PIECE + 1),
        ];
        let mut covered = vec![0; tensors.len()];
        let mut end = 0;
        for piece in (Pieces { tensors: &tensors, next: 0, at: 0 }) {
            assert!(piece.end - piece.start <= PIECE && piece.start >= end);
            end = piece.end;
            for (tensor, covered) in tensors.iter().zip(&mut covered).skip(piece.first) {
                let (from, to) = (piece.start.max(tensor.start), piece.end.min(tensor.end));
                if from < to {
                    let unit = u64::try_from(tensor.kind.scan().unit()).unwrap();
                    assert_eq!((from - tensor.start) % unit, 0);
                    *covered += to - from;
                }
            }
        }
        assert!(covered.iter().zip(&tensors).all(|(covered, tensor)| *covered == tensor.len()));
    }
}
