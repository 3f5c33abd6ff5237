//! Why an atomic save failed, and what is on the disk then.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{Cancelled, Step};

/// Why an atomic save failed: the step, the file, and what the operating system says.
#[derive(Debug)]
pub struct AtomicError {
    step: Step,
    path: PathBuf,
    error: io::Error,
    committed: bool,
}

impl AtomicError {
    pub(in crate::file) fn new(step: Step, path: &Path, error: io::Error) -> Self {
        Self { step, path: path.to_path_buf(), error, committed: false }
    }

    /// The same, after the new file has its name.
    pub(in crate::file) fn committed(self) -> Self {
        Self { committed: true, ..self }
    }

    /// The same of another step, before anything was committed.
    pub(in crate::file) fn undone(self, step: Step) -> Self {
        Self { step, committed: false, ..self }
    }

    /// The step that failed.
    pub const fn step(&self) -> Step {
        self.step
    }

    /// The file that the step was for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the operating system, or the [`Watch`](super::Watch), says.
    pub const fn error(&self) -> &io::Error {
        &self.error
    }

    /// Whether the new file has its name all the same: it is whole and readers see it, but may be gone, and the old one be
    /// back, after a power failure. Otherwise nothing has changed.
    pub const fn is_committed(&self) -> bool {
        self.committed
    }

    /// Whether the save was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.error.get_ref(), Some(inner) if inner.is::<Cancelled>())
    }
}

impl fmt::Display for AtomicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.path.display(), self.step, self.error)?;
        let state = if self.committed { "the new file is there" } else { "nothing was changed" };
        write!(f, " ({state})")
    }
}

impl std::error::Error for AtomicError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<AtomicError> for io::Error {
    fn from(error: AtomicError) -> Self {
        Self::new(error.error.kind(), error)
    }
}
