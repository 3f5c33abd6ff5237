//! The folder of a sharded model: what is in it, and what is done to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
#[cfg(unix)]
use std::time::{Duration, Instant};
use std::vec::Vec;

use super::sharded::generation;
use crate::file::atomic::{AtomicError, Step, Watch, open_folder, sync_folder};
use crate::file::{Head, ReadError};
use crate::{Limits, ShardIndex};

/// The index.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// A model in one file.
pub(super) const SINGLE: &str = "model.safetensors";

/// How long another save may take to commit.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder in which a model is saved.
pub(super) struct Folder<'w> {
    path: PathBuf,
    file: File,
    watch: &'w dyn Watch,
    limits: Limits,
}

/// What there is of the model before.
#[derive(Default)]
pub(super) struct OldModel {
    pub(super) has_index: bool,
    pub(super) has_single: bool,
    /// Shards that nothing will name when the new model is there.
    pub(super) shards: Vec<String>,
    /// A generation whose names no shard has, nor had as long as there have been shards in the folder.
    pub(super) next_generation: u64,
}

impl<'w> Folder<'w> {
    pub(super) fn open(path: &Path, watch: &'w dyn Watch, limits: &Limits) -> Result<Self, AtomicError> {
        let opened = watch.before(Step::Inspect, path).and_then(|()| {
            if fs::metadata(path)?.is_dir() { open_folder(path) } else { Err(io::ErrorKind::NotADirectory.into()) }
        });
        let file = opened.map_err(|error| AtomicError::new(Step::Inspect, path, error))?;
        Ok(Self { path: path.to_path_buf(), file, watch, limits: *limits })
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The file whose mode the shards are to have: the old index or the old model, so that a private model stays so.
    pub(super) fn like(&self) -> Option<PathBuf> {
        [INDEX, SINGLE].into_iter().map(|name| self.join(name)).find(|path| path.is_file())
    }

    /// Waits until no other save commits in this folder. Where the file system has no locks, nothing is waited for.
    pub(super) fn lock(&self) -> Result<Lock<'_>, AtomicError> {
        // A cancelled save does not wait.
        let held = wait_for_lock(&self.file, || self.watch.before(Step::Publish, &self.path));
        let held = held.map_err(|error| AtomicError::new(Step::Publish, &self.path, error))?;
        Ok(Lock { folder: &self.file, held })
    }

    /// What there is of the model before. Only files that are called as shards are ever meant to be removed, whatever an
    /// index says, and of those that no index names, only this crate's own.
    pub(super) fn old_model(&self, lock: &Lock<'_>) -> Result<OldModel, AtomicError> {
        let failed = |error| AtomicError::new(Step::Inspect, &self.path, error);
        self.watch.before(Step::Inspect, &self.path).map_err(failed)?;
        let mut old = OldModel { next_generation: 1, ..OldModel::default() };
        let named = self.named()?;
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let Ok(name) = entry.map_err(failed)?.file_name().into_string() else { continue };
            old.has_index |= name == INDEX;
            old.has_single |= name == SINGLE;
            let Some(given) = generation(&name) else { continue };
            old.next_generation = old.next_generation.max(given.saturating_add(1));
            // A later generation's names are this crate's own, so that one that nothing names is of a save that was killed:
            // while the lock is held, no other save has shards that it is about to name. Hugging Face's names are also
            // those of a download that is not finished.
            if (lock.held && given > 1) || named.contains(&name) {
                old.shards.push(name);
            }
        }
        old.shards.sort();
        Ok(old)
    }

    /// The shards that the index names, in the order of their names; none where there is no index, or none that is valid.
    fn named(&self) -> Result<Vec<String>, AtomicError> {
        let path = self.join(INDEX);
        let mut head = match Head::open_regular(&path) {
            Ok(head) => head,
            Err(ReadError::Io(error)) if error.kind() != io::ErrorKind::NotFound => {
                return Err(AtomicError::new(Step::Inspect, &path, error));
            }
            Err(_) => return Ok(Vec::new()),
        };
        let fetched = head.fetch(self.limits.index_len().saturating_add(1));
        fetched.map_err(|error| AtomicError::new(Step::Inspect, &path, io::Error::other(error)))?;
        let Ok(index) = ShardIndex::open_with(head.bytes(), &self.limits) else { return Ok(Vec::new()) };
        Ok(index.shards().map(|shard| shard.name().to_cow().to_string()).collect())
    }

    /// Brings the shards' names to the disk.
    pub(super) fn sync_shards(&self) -> Result<(), AtomicError> {
        let allowed = self.watch.before(Step::SyncShards, &self.path);
        allowed.map_err(|error| AtomicError::new(Step::SyncShards, &self.path, error))?;
        // The step has its own name, since nothing is committed yet.
        sync_folder(&self.file, &self.path, &()).map_err(|error| error.undone(Step::SyncShards))
    }

    /// Brings the folder to the disk, after the new model is there.
    pub(super) fn sync(&self) -> Result<(), AtomicError> {
        sync_folder(&self.file, &self.path, self.watch)
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), AtomicError> {
        let path = self.join(name);
        let removed = self.watch.before(Step::Remove, &path).and_then(|()| fs::remove_file(&path));
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(AtomicError::new(Step::Remove, &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Removes `names` but for those in `keep`; gives those that could not be.
    pub(super) fn remove_all(&self, names: &[String], keep: &[String]) -> Vec<PathBuf> {
        let old = names.iter().filter(|name| !keep.contains(name));
        old.filter(|name| self.remove(name).is_err()).map(|name| self.join(name)).collect()
    }

    /// Shards that will be named, and are removed where not all are.
    pub(super) fn published(&self) -> Published<'w> {
        Published { paths: Vec::new(), watch: self.watch }
    }
}

/// Waits until nobody else has the folder's lock, asking `still` in between, and says whether it is held now: it is not
/// where the file system has no locks. It is held until the file is closed, or unlocked.
#[cfg(unix)]
pub(in crate::file) fn wait_for_lock(folder: &File, still: impl Fn() -> io::Result<()>) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    let started = Instant::now();
    loop {
        match flock(folder, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::AGAIN) if started.elapsed() < PATIENCE => {}
            Err(error @ (rustix::io::Errno::AGAIN | rustix::io::Errno::IO)) => return Err(error.into()),
            outcome => return Ok(outcome.is_ok()),
        }
        still()?;
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(not(unix))]
pub(in crate::file) fn wait_for_lock(_: &File, _: impl Fn() -> io::Result<()>) -> io::Result<bool> {
    Ok(false)
}

/// Nobody else commits in the folder while this is there.
pub(super) struct Lock<'f> {
    folder: &'f File,
    /// The file system has locks.
    held: bool,
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        #[cfg(unix)]
        let _ = rustix::fs::flock(self.folder, rustix::fs::FlockOperation::Unlock);
        #[cfg(not(unix))]
        let _ = self.folder;
    }
}

/// Shards that have their names before an index names them.
pub(super) struct Published<'w> {
    paths: Vec<PathBuf>,
    watch: &'w dyn Watch,
}

impl Published<'_> {
    pub(super) fn push(&mut self, path: PathBuf) {
        self.paths.push(path);
    }

    /// The index names them.
    pub(super) fn keep(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.paths)
    }
}

impl Drop for Published<'_> {
    fn drop(&mut self) {
        for path in &self.paths {
            if self.watch.before(Step::Discard, path).is_ok() {
                let _ = fs::remove_file(path);
            }
        }
    }
}
