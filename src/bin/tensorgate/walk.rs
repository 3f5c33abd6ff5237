//! Which files are meant.

use std::path::{Path, PathBuf};

use tensorgate::file::ReadError;
use tensorgate::model::ModelError;
use walkdir::{DirEntry, WalkDir};

/// Something to judge.
#[derive(Debug)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    /// A path that was named: it is read, whatever it is.
    Named(PathBuf),
    /// A file that a search found: only a regular file is read.
    Found(PathBuf),
    /// A place that could not be looked into.
    Lost(PathBuf, ReadError),
    /// A folder that is no model, or more than one.
    Unclear(PathBuf, ModelError),
}

impl Source {
    /// What was named: `-` is standard input.
    pub(crate) fn named(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::Named(path.to_owned()) }
    }

    /// The path as it is reported.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Stdin => Path::new("-"),
            Self::Named(path) | Self::Found(path) | Self::Lost(path, _) | Self::Unclear(path, _) => path,
        }
    }
}

/// What was found: the sources sorted by path, and how many files were passed over.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) sources: Vec<Source>,
    pub(crate) skipped: u64,
}

/// The files that `paths` mean.
pub(crate) fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        let source = Source::named(path);
        if matches!(source, Source::Named(_)) && path.is_dir() {
            search(path, &mut found);
        } else {
            found.sources.push(source);
        }
    }
    let key = |source: &Source| source.path().as_os_str().as_encoded_bytes().to_owned();
    found.sources.sort_by_cached_key(key);
    found.sources.dedup_by(|a, b| a.path().as_os_str() == b.path().as_os_str());
    found
}

fn search(folder: &Path, found: &mut Found) {
    for entry in WalkDir::new(folder) {
        match entry {
            Ok(entry) => consider(entry, found),
            Err(error) => {
                let path = error.path().unwrap_or(folder).to_owned();
                let error = error.into_io_error().unwrap_or_else(|| std::io::ErrorKind::Other.into());
                found.sources.push(Source::Lost(path, ReadError::Io(error)));
            }
        }
    }
}

fn consider(entry: DirEntry, found: &mut Found) {
    // A link to a directory is not entered, so that no link leads out of the tree or round in it.
    let is_dir = entry.file_type().is_dir() || (entry.path_is_symlink() && entry.path().is_dir());
    if is_dir {
        return;
    }
    if is_model(entry.path()) {
        found.sources.push(Source::Found(entry.into_path()));
    } else {
        found.skipped = found.skipped.saturating_add(1);
    }
}

/// Whether a file's name says that it is a model or an index.
fn is_model(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.as_encoded_bytes().to_ascii_lowercase();
    [&b".safetensors"[..], b".gguf", b".index.json"].iter().any(|ending| name.ends_with(ending))
}
