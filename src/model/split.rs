//! A GGUF file, and the others where it is the first of a split model. They are looked for beside it, by its own name.

use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;

use super::load::Loader;
use super::open::whole;
use super::{Model, ModelError, ModelErrorKind, Options};
use crate::file::{Head, ReadError};
use crate::gguf::{ShardName, Split, SplitError, SplitKeys};

/// Opens the model of a GGUF file.
pub(super) fn open(path: &Path, head: Head, options: &Options) -> Result<Model, ModelError> {
    let mut loader = Loader::new(options, 1);
    let first = loader.gguf(path, head)?;
    let keys = first.header.gguf().map_or(Ok(None), |header| SplitKeys::of(&header));
    let keys = keys.map_err(|error| ModelError::split(path, error))?;
    // The reference takes a model that is split into one for a whole one, whatever its name.
    let Some(keys) = keys.filter(|keys| keys.count() > 1) else { return whole(loader, [first].into(), None) };
    let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let shard = ShardName::parse(&own);
    if keys.number() != 0 {
        let first = shard.and_then(|shard| shard.sibling(1)).map(|first| first.to_string());
        return Err(ModelError::new(path, ModelErrorKind::NotFirst { first }));
    }
    let mut loader = loader.for_files(keys.count().into());
    let mut names = Vec::from([own.clone()]);
    let mut judged = Vec::from([first]);
    let folder = path.parent().unwrap_or(Path::new(""));
    for number in 2..=u32::from(keys.count()) {
        let Some(name) = shard.and_then(|shard| shard.sibling(number)) else { break };
        let beside = folder.join(name.to_string());
        match Head::open_regular(&beside) {
            // What is missing is told below, with its number.
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) => return Err(ModelError::read(&beside, error)),
            Ok(head) => judged.push(loader.gguf(&beside, head)?),
        }
        names.push(name.to_string());
    }
    let headers: Vec<_> = judged.iter().filter_map(|judged| judged.header.gguf()).collect();
    together(&names, &headers).map_err(|error| {
        let number = error.shard().and_then(|number| shard?.sibling(number));
        let at = number.map(|name| folder.join(name.to_string()));
        ModelError::split(at.as_deref().unwrap_or(path), error)
    })?;
    drop(headers);
    whole(loader, judged, None)
}

/// The files are one model.
fn together(names: &[String], headers: &[crate::gguf::Header<'_>]) -> Result<(), SplitError> {
    let Some(first) = headers.first() else { return Ok(()) };
    let mut split = Split::new(first)?;
    for (name, header) in names.iter().zip(headers) {
        split.add(name, header)?;
    }
    split.finish().map(|_| ())
}
