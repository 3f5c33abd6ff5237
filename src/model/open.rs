//! What is at a path, and whose business it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use super::load::{Judged, Loader};
use super::table::Table;
use super::{Format, Inner, Model, ModelError, ModelErrorKind, Options, folder, sharded, split};
use crate::detect::{Guess, PREFIX_LEN, detect};
use crate::file::{Head, ReadError};
use crate::gguf::SplitKeys;
use crate::num;

/// Opens what is at a path that somebody named.
pub(super) fn path(path: &Path, options: &Options) -> Result<Model, ModelError> {
    if path.is_dir() {
        let found = folder::find(path)?;
        // It was found and not named: a pipe there would be a trap.
        let head = Head::open_regular(&found).map_err(|error| ModelError::read(&found, error))?;
        return file(&found, head, options);
    }
    let head = Head::open(path).map_err(|error| ModelError::read(path, error))?;
    file(path, head, options)
}

fn file(path: &Path, mut head: Head, options: &Options) -> Result<Model, ModelError> {
    let unread = |error| ModelError::read(path, error);
    match kind(path, &mut head, options).map_err(unread)? {
        Kind::Index => sharded::open(path, head, options),
        Kind::Gguf => split::open(path, head, options),
        Kind::SafeTensors => single(path, head, options),
    }
}

/// Reads a model of one file from a stream.
pub(super) fn stream(mut head: Head, options: &Options) -> Result<Model, ModelError> {
    let path = Path::new("");
    let mut loader = Loader::new(options, 1);
    let alone = || Err(ModelError::new(path, ModelErrorKind::NoFolder));
    match kind(path, &mut head, options).map_err(|error| ModelError::read(path, error))? {
        Kind::Index => alone(),
        Kind::SafeTensors => single(path, head, options),
        Kind::Gguf => {
            let judged = loader.gguf(path, head)?;
            let keys = judged.header.gguf().map_or(Ok(None), |header| SplitKeys::of(&header));
            match keys {
                Ok(Some(keys)) if keys.count() > 1 => alone(),
                Err(error) => Err(ModelError::split(path, error)),
                Ok(_) => whole(loader, [judged].into(), None),
            }
        }
    }
}

fn single(path: &Path, head: Head, options: &Options) -> Result<Model, ModelError> {
    let mut loader = Loader::new(options, 1);
    let judged = loader.safetensors(path, head)?;
    whole(loader, [judged].into(), None)
}

/// The model of files that were judged, each by itself and against each other.
pub(super) fn whole(
    mut loader: Loader<'_>,
    judged: Vec<Judged>,
    index: Option<(PathBuf, BTreeMap<String, String>)>,
) -> Result<Model, ModelError> {
    let first = judged.first().map(|judged| judged.path.clone()).unwrap_or_default();
    let memory = || ModelError::memory(&first, 0);
    let (mut headers, mut files) = (Vec::new(), Vec::new());
    headers.try_reserve_exact(judged.len()).map_err(|_| memory())?;
    files.try_reserve_exact(judged.len()).map_err(|_| memory())?;
    headers.extend(judged.iter().map(|judged| &judged.header));
    let table = Table::of(&headers).ok_or_else(memory)?;
    for judged in judged {
        files.push(loader.finish(judged)?);
    }
    let format = files.first().map_or(Format::SafeTensors, super::ModelFile::format);
    Ok(Model(Arc::new(Inner { format, files, table: Arc::new(table), index, warnings: loader.warnings })))
}

/// Which reader is to judge a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SafeTensors,
    Gguf,
    Index,
}

/// Its first bytes say it, and where they do not its name.
fn kind(path: &Path, head: &mut Head, options: &Options) -> Result<Kind, ReadError> {
    head.fetch(8)?;
    if head.bytes().starts_with(b"GGUF") {
        return Ok(Kind::Gguf);
    }
    if ends_with(path, ".index.json") {
        return Ok(Kind::Index);
    }
    if ends_with(path, ".safetensors") {
        return Ok(Kind::SafeTensors);
    }
    head.fetch(num::widen(PREFIX_LEN))?;
    Ok(match detect(head.bytes()) {
        Guess::Safetensors => Kind::SafeTensors,
        Guess::Index => Kind::Index,
        Guess::GgufReversed => Kind::Gguf,
        _ if ends_with(path, ".gguf") => Kind::Gguf,
        // The metadata may stand before what makes it an index.
        Guess::Json if has_map(head, options)? => Kind::Index,
        _ => Kind::SafeTensors,
    })
}

fn has_map(head: &mut Head, options: &Options) -> Result<bool, ReadError> {
    head.fetch(options.limits().index_len())?;
    Ok(head.bytes().windows(12).any(|window| window == b"\"weight_map\""))
}

/// Whether the path ends in `ending`, whatever the case.
pub(super) fn ends_with(path: &Path, ending: &str) -> bool {
    path.as_os_str().as_encoded_bytes().to_ascii_lowercase().ends_with(ending.as_bytes())
}
