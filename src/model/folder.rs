//! The one model in a folder.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use super::open::ends_with;
use super::{ModelError, ModelErrorKind};
use crate::file::ReadError;
use crate::gguf::ShardName;

/// Names that are told at the most.
const MOST: usize = 10;

/// The file to open: the index, else `model.safetensors`, else the only GGUF model there is. Links that lead nowhere count:
/// what they were to lead to is what is missing.
pub(super) fn find(folder: &Path) -> Result<PathBuf, ModelError> {
    for name in ["model.safetensors.index.json", "model.safetensors"] {
        let path = folder.join(name);
        match path.symlink_metadata() {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ModelError::read(&path, error.into())),
        }
    }
    let names = names(folder).map_err(|error| ModelError::read(folder, ReadError::Io(error)))?;
    let models: Vec<&OsString> = names.iter().filter(|name| ends_with(Path::new(name), ".gguf")).collect();
    // Of a split model all files are one.
    let firsts: BTreeSet<OsString> = models.iter().map(|name| first_of(name)).collect();
    let mut each = firsts.iter();
    match (each.next(), each.next()) {
        (Some(only), None) => Ok(folder.join(only)),
        (None, _) => {
            let folders = folders(folder).map_err(|error| ModelError::read(folder, ReadError::Io(error)))?;
            let all: Vec<OsString> = names.into_iter().chain(folders).collect();
            let (found, more) = told(all.iter());
            Err(ModelError::new(folder, ModelErrorKind::NothingFound { found, more }))
        }
        (Some(_), Some(_)) => {
            let (found, more) = told(firsts.iter());
            Err(ModelError::new(folder, ModelErrorKind::Ambiguous { found, more }))
        }
    }
}

/// The names of all that is in the folder and is no folder, in order.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    entries(folder, |path| !path.is_dir())
}

/// The names of the folders in the folder, in order, each with a `/` behind it.
fn folders(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = entries(folder, Path::is_dir)?;
    for name in &mut names {
        name.push("/");
    }
    Ok(names)
}

fn entries(folder: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if wanted(&entry.path()) {
            names.push(entry.file_name());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The name of the first file of the split model that a file is of; its own for any other.
fn first_of(name: &OsString) -> OsString {
    let shard = name.to_str().and_then(ShardName::parse).and_then(|shard| shard.sibling(1));
    shard.map_or_else(|| name.clone(), |first| std::format!("{first}").into())
}

fn told<'n>(names: impl ExactSizeIterator<Item = &'n OsString>) -> (Vec<String>, usize) {
    let more = names.len().saturating_sub(MOST);
    (names.take(MOST).map(|name| name.to_string_lossy().into_owned()).collect(), more)
}
