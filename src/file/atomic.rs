//! A file that appears under its name all at once.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::vec::Vec;
use std::{ffi, fmt};

use tempfile::TempPath;

mod error;
mod place;
mod step;

pub use error::AtomicError;
pub use step::{Cancelled, Step, Watch};

use place::Place;

/// Bytes that are held back so that many small tensors make one write.
const BUFFER: usize = 256 << 10;

/// Bytes from which on a tensor is written from where it is: copying it would cost more than the call.
const DIRECT: usize = 64 << 10;

/// Bytes of the largest write: between two of them a [`Watch`] is asked.
const CHUNK: usize = 8 << 20;

/// A file being written that takes its name, and the place of the file that had it, all at once.
///
/// The bytes go into a temporary file in the same folder. [`commit`](Self::commit) brings them to the disk, renames the
/// file and brings the folder to the disk, in this order; whatever fails before, and wherever the process dies, the file
/// that had the name before is whole. Dropped without a commit, the temporary file is removed.
///
/// - **Mode** (Unix): the nine permission bits of the file that is replaced, or, where there is none, those that the umask
///   leaves of `rw-rw-rw-`. The owner is whoever saves.
/// - **Symbolic links**: what the name leads to is replaced and the link stays, also where it leads to nothing yet.
/// - **Refused**: a name that is a folder, a device, a pipe or a socket, and a file that nobody may write.
/// - **Readers**: whoever has the old file open or mapped keeps it, unchanged. So a file can be saved over while its own
///   tensors are being read.
///
/// A process that is killed leaves its temporary file, `.<name>.<12 letters>.tensorgate-tmp`, which nothing else is called
/// and which can be deleted.
///
/// ```
/// use std::io::Write;
/// use tensorgate::file::Atomic;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("config.json");
/// let mut file = Atomic::create(&path)?;
/// file.write_all(b"{}")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok(())
/// # }
/// ```
#[must_use = "without `commit` nothing is saved"]
pub struct Atomic<'w> {
    staged: Staged<'w>,
    file: File,
    buffer: Vec<u8>,
    failed: bool,
}

impl Atomic<'static> {
    /// Begins a file that will be called `path`.
    ///
    /// # Errors
    ///
    /// Where the folder is missing or may not be written, or what is called `path` now must not be replaced.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, AtomicError> {
        Atomic::create_watched(path, &())
    }
}

impl<'w> Atomic<'w> {
    /// As [`create`](Self::create), asking `watch` before each step.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create), and whatever `watch` says.
    pub fn create_watched(path: impl AsRef<Path>, watch: &'w dyn Watch) -> Result<Self, AtomicError> {
        Self::in_place(Place::find(path.as_ref(), watch)?, watch)
    }

    /// As [`create_watched`](Self::create_watched); a file that is new has the mode of `like`, where there is one.
    pub(super) fn create_like(path: &Path, like: Option<&Path>, watch: &'w dyn Watch) -> Result<Self, AtomicError> {
        let mut place = Place::find(path, watch)?;
        place.mode = place.mode.or_else(|| place::mode_of(like));
        Self::in_place(place, watch)
    }

    /// A file that will be [`named`](Staged::name) later, with the mode of the file `like`, where there is one.
    /// Until then it goes by `path`, which is in the same folder
    /// and is not looked at.
    pub(super) fn create_in(path: &Path, like: Option<&Path>, watch: &'w dyn Watch) -> Result<Self, AtomicError> {
        // The folder is brought to the disk once for all shards, and not kept open for each.
        Self::in_place(Place { target: path.to_path_buf(), folder: None, mode: place::mode_of(like) }, watch)
    }

    fn in_place(place: Place, watch: &'w dyn Watch) -> Result<Self, AtomicError> {
        let error = |step, error| AtomicError::new(step, &place.target, error);
        let mut buffer = Vec::new();
        let memory = |_| error(Step::Create, io::ErrorKind::OutOfMemory.into());
        buffer.try_reserve_exact(BUFFER).map_err(memory)?;
        let made = watch.before(Step::Create, &place.target).and_then(|()| place.temporary());
        let (file, temporary) = made.map_err(|cause| error(Step::Create, cause))?.into_parts();
        let made =
            Self { staged: Staged { temporary: Some(temporary), place, watch }, file, buffer, failed: false };
        made.set_mode()?;
        Ok(made)
    }

    /// Gives the temporary file the exact mode of the one that it will replace.
    fn set_mode(&self) -> Result<(), AtomicError> {
        let Staged { place, watch, .. } = &self.staged;
        let Some(mode) = &place.mode else { return Ok(()) };
        let set = watch.before(Step::SetMode, &place.target).and_then(|()| place::set_mode(&self.file, mode));
        set.map_err(|error| AtomicError::new(Step::SetMode, &place.target, error))
    }

    /// The file that will be replaced: what the path leads to through symbolic links.
    pub fn target(&self) -> &Path {
        &self.staged.place.target
    }

    /// Brings the bytes to the disk, and gives the file its name.
    ///
    /// # Errors
    ///
    /// Before the file has its name, nothing has changed and the temporary file is removed. Where only the last step
    /// failed, the new file stands under its name and it is not known whether it will after a power failure:
    /// [`AtomicError::is_committed`].
    pub fn commit(self) -> Result<(), AtomicError> {
        let staged = self.stage()?;
        staged.rename(true)?;
        Ok(())
    }

    /// Brings the bytes to the disk; the file is without its name yet.
    pub(super) fn stage(mut self) -> Result<Staged<'w>, AtomicError> {
        let error = |step, error| AtomicError::new(step, &self.staged.place.target, error);
        if self.failed {
            return Err(error(Step::Write, io::Error::other("an earlier write failed")));
        }
        if let Err(cause) = self.drain() {
            return Err(AtomicError::new(Step::Write, self.target(), cause));
        }
        let synced = self.staged.before(Step::Sync).and_then(|()| self.file.sync_all());
        synced.map_err(|cause| AtomicError::new(Step::Sync, self.target(), cause))?;
        Ok(self.staged)
    }

    /// What `write` gives, remembered where it is an error.
    fn remember<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        self.failed |= outcome.is_err();
        // The standard library's `write_all` would ask a watch that says so again and again.
        outcome.map_err(
            |error| if error.kind() == io::ErrorKind::Interrupted { io::Error::other(error) } else { error },
        )
    }

    /// Writes all of `bytes`, behind what the buffer held.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() < DIRECT {
            if bytes.len() > BUFFER.saturating_sub(self.buffer.len()) {
                self.drain()?;
            }
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.drain()?;
        for chunk in bytes.chunks(CHUNK) {
            self.staged.before(Step::Write)?;
            self.file.write_all(chunk)?;
        }
        Ok(())
    }

    /// Empties the buffer into the file.
    fn drain(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.staged.before(Step::Write)?;
        let outcome = self.file.write_all(&self.buffer);
        self.buffer.clear();
        outcome
    }

    /// Takes the bytes of `from` in `[start, start + len)`, in the kernel where it can.
    pub(super) fn copy_from(&mut self, from: &File, start: u64, len: u64) -> io::Result<()> {
        let outcome = self.copy(from, start, len);
        self.remember(outcome)
    }

    fn copy(&mut self, mut from: &File, start: u64, len: u64) -> io::Result<()> {
        self.drain()?;
        from.seek(SeekFrom::Start(start))?;
        let mut left = len;
        while left > 0 {
            self.staged.before(Step::Write)?;
            let some = left.min(crate::num::widen(CHUNK).saturating_mul(8));
            // On Linux this is `copy_file_range`, which shares blocks where the file system can.
            let copied = io::copy(&mut io::Read::take(from, some), &mut self.file)?;
            if copied == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left = left.saturating_sub(copied);
        }
        Ok(())
    }
}

impl Write for Atomic<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let outcome = self.put(bytes);
        self.remember(outcome)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.drain();
        self.remember(outcome)
    }
}

impl Seek for Atomic<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.flush()?;
        self.file.seek(to)
    }
}

impl fmt::Debug for Atomic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Atomic")
            .field("target", &self.target())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// A file whose bytes are on the disk and that has no name yet. Dropped, it is removed.
pub(super) struct Staged<'w> {
    temporary: Option<TempPath>,
    place: Place,
    watch: &'w dyn Watch,
}

impl Staged<'_> {
    fn before(&self, step: Step) -> io::Result<()> {
        self.watch.before(step, &self.place.target)
    }

    /// Gives the file its name, and brings the folder to the disk.
    pub(super) fn rename(mut self, replace: bool) -> Result<(), AtomicError> {
        let target = self.place.target.clone();
        self.publish(Step::Rename, &target, replace)?;
        match &self.place.folder {
            Some(folder) => sync_folder(folder, &self.place.target, self.watch),
            None => Ok(()),
        }
    }

    /// Gives the file the name `file_name` in its folder, which must not be taken.
    pub(super) fn name(mut self, file_name: &ffi::OsStr) -> Result<PathBuf, AtomicError> {
        let target = self.place.target.with_file_name(file_name);
        self.publish(Step::Publish, &target, false)?;
        Ok(target)
    }

    fn publish(&mut self, step: Step, target: &Path, replace: bool) -> Result<(), AtomicError> {
        let watched = self.watch.before(step, target);
        let renamed = watched.and_then(|()| {
            let Some(temporary) = self.temporary.take() else { return Ok(()) };
            let renamed = if replace { temporary.persist(target) } else { temporary.persist_noclobber(target) };
            renamed.map_err(|refused| {
                self.temporary = Some(refused.path);
                refused.error
            })
        });
        renamed.map_err(|error| AtomicError::new(step, target, error))
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(mut temporary) = self.temporary.take()
            && self.watch.before(Step::Discard, &temporary).is_err()
        {
            temporary.disable_cleanup(true);
        }
    }
}

/// Brings a folder's entries to the disk, after what is called `target` in it was replaced.
pub(super) fn sync_folder(folder: &File, target: &Path, watch: &dyn Watch) -> Result<(), AtomicError> {
    let synced = watch.before(Step::SyncFolder, target).and_then(|()| place::sync_folder(folder));
    synced.map_err(|error| AtomicError::new(Step::SyncFolder, target, error).committed())
}

pub(super) use place::open_folder;
