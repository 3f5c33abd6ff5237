//! The steps of a save, and who is asked before each.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// One thing that a save asks of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Step {
    /// Looking at what the path leads to, and opening its folder.
    Inspect,
    /// Making the temporary file.
    Create,
    /// Giving it the mode of the file that it will replace.
    SetMode,
    /// Writing at most 8 MiB into it.
    Write,
    /// Bringing its bytes to the disk.
    Sync,
    /// Giving a finished shard its name, which no file has. No reader looks for it yet.
    Publish,
    /// Bringing the shards' names to the disk.
    SyncShards,
    /// Giving the file its name, in the place of the file that had it: from here on readers see the new one.
    Rename,
    /// Bringing the folder to the disk, so that the new name is there after a power failure too.
    SyncFolder,
    /// Removing a file of the old model, which nothing names any more.
    Remove,
    /// Removing a temporary file, or a shard that was published in vain, after a failure.
    Discard,
}

impl Step {
    /// All of them, in the order of a save.
    pub const ALL: &'static [Self] = &[
        Self::Inspect,
        Self::Create,
        Self::SetMode,
        Self::Write,
        Self::Sync,
        Self::Publish,
        Self::SyncShards,
        Self::Rename,
        Self::SyncFolder,
        Self::Remove,
        Self::Discard,
    ];

    /// Whether the old file still has its name when this step begins.
    pub const fn is_before_commit(self) -> bool {
        !matches!(self, Self::SyncFolder | Self::Remove | Self::Discard)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Inspect => "looking at the target",
            Self::Create => "making a temporary file",
            Self::SetMode => "setting the file's mode",
            Self::Write => "writing",
            Self::Sync => "bringing the file to the disk",
            Self::Publish => "naming a shard",
            Self::SyncShards => "bringing the shards' names to the disk",
            Self::Rename => "renaming the file",
            Self::SyncFolder => "bringing the folder to the disk",
            Self::Remove => "removing an old file",
            Self::Discard => "removing a temporary file",
        })
    }
}

/// Somebody who is asked before each step of a save.
///
/// What an error means is what it would mean if the step itself had failed with it: nothing is left behind, and the old
/// file is as it was. So this is how a save is cancelled (`AtomicBool` is a `Watch`: once it is true, every step before the
/// new file has its name fails with [`Cancelled`]), how progress is shown, and how tests make each step fail. `()` lets
/// everything happen.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use tensorgate::file::Saver;
/// use tensorgate::safetensors::{NO_METADATA, TensorSpec};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("model.safetensors");
/// let stop = AtomicBool::new(true); // a handler of Ctrl-C would set it
/// let tensors: [TensorSpec; 0] = [];
/// let error = Saver::new().with_watch(&stop)
///     .safetensors(&path, tensors.iter().map(|spec| spec.with_bytes(&[])), NO_METADATA)
///     .unwrap_err();
/// assert!(error.is_cancelled() && !path.exists());
/// ```
pub trait Watch: Sync {
    /// Asked before `step` is done to `path`.
    ///
    /// # Errors
    ///
    /// What the step is to fail with. [`io::ErrorKind::Interrupted`] is an error like any other: nothing is tried again.
    fn before(&self, step: Step, path: &Path) -> io::Result<()>;
}

impl Watch for () {
    fn before(&self, _: Step, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl Watch for AtomicBool {
    fn before(&self, step: Step, _: &Path) -> io::Result<()> {
        if step.is_before_commit() && self.load(Ordering::Relaxed) {
            Err(io::Error::other(Cancelled))
        } else {
            Ok(())
        }
    }
}

impl<F: Fn(Step, &Path) -> io::Result<()> + Sync> Watch for F {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        self(step, path)
    }
}

/// Why a step was not done: the save was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}
