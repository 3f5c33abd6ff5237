//! The digests: of each file from its first byte to its last, and of each tensor, side by side.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use sha2::{Digest, Sha256};
use tensorgate::file::ReadError;

use super::manifest::{FileLine, Manifest, Sum, TensorLine};
use crate::parts::{Part, Tensor};
use crate::work::Work;

/// Bytes that are read at a time.
const BUFFER: usize = 256 * 1024;

/// Something to hash, by its place. A file comes before its tensors and takes as long as they do together, so that two
/// threads share a model evenly, and read each byte at nearly the same time.
#[derive(Clone, Copy)]
enum Item {
    File(usize),
    Tensor(usize, usize),
}

/// The manifest of all parts of a model.
///
/// # Errors
///
/// The file that could not be read.
pub(super) fn manifest(
    parts: &[Part],
    with_files: bool,
    work: &Work,
    shown: &str,
) -> Result<Manifest, (PathBuf, ReadError)> {
    let bytes = |part: &Part| part.tensors.iter().map(Tensor::len).fold(0, u64::saturating_add);
    let files = parts.iter().map(|part| if with_files { part.len() } else { 0 }).fold(0, u64::saturating_add);
    let bar = work.bar(parts.iter().map(bytes).fold(files, u64::saturating_add), shown);
    let items = parts.iter().enumerate().flat_map(|(place, part)| {
        let file = with_files.then_some(Item::File(place));
        file.into_iter().chain((0..part.tensors.len()).map(move |tensor| Item::Tensor(place, tensor)))
    });
    let found = Mutex::new(Manifest::default());
    let lost = Mutex::new(None);
    let outcome = work.spread(
        items,
        || vec![0; BUFFER],
        |buffer, item| {
            let outcome = one(parts, item, buffer, work, &bar, &found);
            if outcome.is_err() {
                let (Item::File(place) | Item::Tensor(place, _)) = item;
                let path = parts.get(place).map(|part| part.path.clone());
                *lost.lock().unwrap_or_else(PoisonError::into_inner) = path;
            }
            outcome
        },
    );
    bar.finish_and_clear();
    let lost = lost.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
    outcome.map_err(|error| (lost, error))?;
    for part in parts {
        part.unchanged().map_err(|error| (part.path.clone(), error))?;
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.tensors.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    found.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn one(
    parts: &[Part],
    item: Item,
    buffer: &mut [u8],
    work: &Work,
    bar: &ProgressBar,
    found: &Mutex<Manifest>,
) -> Result<(), ReadError> {
    let (Item::File(place) | Item::Tensor(place, _)) = item;
    let Some(part) = parts.get(place) else { return Ok(()) };
    match item {
        Item::File(_) => {
            let sum = sum(part, 0, part.len(), buffer, work, bar)?;
            let line = FileLine { name: part.name(), bytes: part.len(), sum };
            found.lock().unwrap_or_else(PoisonError::into_inner).files.push(line);
        }
        Item::Tensor(_, tensor) => {
            let Some(tensor) = part.tensors.get(tensor) else { return Ok(()) };
            let sum = sum(part, tensor.start, tensor.end, buffer, work, bar)?;
            let (name, kind, shape) = (tensor.name.clone(), tensor.kind.label(), tensor.shape.clone());
            let line = TensorLine { name, kind, shape, sum };
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = u64::try_from(size_of_val(&line)).unwrap_or_default();
            found.tensors.try_reserve(1).map_err(|_| ReadError::Memory { wanted })?;
            found.tensors.push(line);
        }
    }
    Ok(())
}

fn sum(
    part: &Part,
    start: u64,
    end: u64,
    buffer: &mut [u8],
    work: &Work,
    bar: &ProgressBar,
) -> Result<Sum, ReadError> {
    let mut hasher = Sha256::new();
    let mut at = start;
    while at < end && !work.is_stopped() {
        let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let len = left.min(buffer.len());
        let bytes = buffer.get_mut(..len).unwrap_or_default();
        part.read(bytes, at)?;
        hasher.update(&*bytes);
        let len = u64::try_from(len).unwrap_or_default();
        bar.inc(len);
        at = at.saturating_add(len);
    }
    Ok(hasher.finalize().into())
}
