//! An index and its shards. A name is looked up in the index's own folder and nowhere else.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use super::load::{Judged, Loader, foreign, refused};
use super::open::whole;
use super::{Model, ModelError, ModelErrorKind, Options};
use crate::detect::Guess;
use crate::error::{Error, ErrorKind};
use crate::file::Head;
use crate::shards::{Finding, Shard};
use crate::{ShardIndex, num};

/// Opens the model of an index.
pub(super) fn open(path: &Path, mut head: Head, options: &Options) -> Result<Model, ModelError> {
    let limits = options.limits();
    // A byte over the limit is enough to know.
    let most = limits.index_len().saturating_add(1);
    head.fetch(most).map_err(|error| ModelError::read(path, error))?;
    let index = match ShardIndex::open_with(head.bytes(), limits) {
        Ok(index) => index,
        Err(error) => {
            let own = [Guess::Index, Guess::Json, Guess::Text];
            let guess = foreign(&mut head, error, &own);
            return Err(refused(path, error, guess));
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    missing(path, folder, &index)?;
    let mut loader = Loader::new(options, index.shards().len());
    let mut judged = Vec::new();
    judged.try_reserve_exact(index.shards().len()).map_err(|_| ModelError::memory(path, 0))?;
    for shard in index.shards() {
        judged.push(one(path, folder, &index, &shard, &mut loader)?);
    }
    let sum = judged.iter().try_fold(0, |sum, judged: &Judged| {
        let header = judged.header.safetensors()?;
        num::add(sum, header.data().len())
    });
    if let Some(finding) = sum.filter(|_| !index.is_empty()).and_then(|sum| index.check_total(sum)) {
        loader.warn(path, finding.error());
    }
    let mut metadata = BTreeMap::new();
    for (key, json) in index.metadata().into_iter().flatten() {
        metadata.insert(key.to_cow().into_owned(), String::from(json));
    }
    whole(loader, judged, Some((path.to_owned(), metadata)))
}

/// All shards are there, before any is looked into.
fn missing(path: &Path, folder: &Path, index: &ShardIndex<'_>) -> Result<(), ModelError> {
    let lacking = |shard: &Shard<'_>| {
        let there = folder.join(&*shard.name().to_cow()).metadata();
        matches!(there, Err(error) if error.kind() == io::ErrorKind::NotFound)
    };
    let mut missing = index.shards().filter(lacking);
    let Some(first) = missing.next() else { return Ok(()) };
    let at = first.tensors().map(|entry| entry.shard_at()).min().unwrap_or_default();
    let error = Error::new(ErrorKind::IxShardMissing, at);
    let shard = Some(first.name().to_cow().into_owned());
    Err(ModelError::new(path, ModelErrorKind::Disagreement { error, tensor: None, shard, more: missing.count() }))
}

/// Judges one shard, by itself and against the index.
fn one(
    path: &Path,
    folder: &Path,
    index: &ShardIndex<'_>,
    shard: &Shard<'_>,
    loader: &mut Loader<'_>,
) -> Result<Judged, ModelError> {
    let name = shard.name().to_cow();
    let file = folder.join(&*name);
    let head = Head::open_regular(&file).map_err(|error| ModelError::read(&file, error))?;
    let judged = loader.safetensors(&file, head)?;
    let Some(header) = judged.header.safetensors() else { return Ok(judged) };
    let mut findings = index.check_shard(&name, &header).filter(|finding| !finding.is_warning());
    match findings.next() {
        None => {
            drop(findings);
            drop(header);
            Ok(judged)
        }
        Some(first) => Err(ModelError::new(path, disagreement(&first, findings.count()))),
    }
}

fn disagreement(finding: &Finding<'_>, more: usize) -> ModelErrorKind {
    let owned = |name: crate::Name<'_>| name.to_cow().into_owned();
    ModelErrorKind::Disagreement {
        error: finding.error(),
        tensor: finding.tensor().map(owned),
        shard: finding.shard().map(owned),
        more,
    }
}
