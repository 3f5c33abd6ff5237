//! How a model is opened.

use crate::Limits;
use crate::file::{FileBytes, Hold};

/// How a model is opened: what its files may claim, how their bytes are held, and how much memory that may take.
///
/// ```
/// use tensorgate::{Limits, file::Hold, model::Options};
/// let careful = Options::default().with_hold(Hold::Snapshot).with_memory_limit(16 << 30);
/// let lenient = Options::default().with_limits(Limits::default().with_leading_space(true));
/// assert_eq!((careful.hold(), lenient.hold()), (Hold::Snapshot, Hold::Map));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    limits: Limits,
    hold: Hold,
    memory_limit: u64,
    padding_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::DEFAULT,
            hold: Hold::Map,
            memory_limit: FileBytes::MEMORY_LIMIT,
            padding_limit: 64 << 20,
        }
    }
}

impl Options {
    /// What headers and indexes may claim, and the strict rules that are relaxed.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same with other limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How the files' bytes are held. Default: [`Hold::Map`].
    pub const fn hold(&self) -> Hold {
        self.hold
    }

    /// The same with another [`hold`](Self::hold).
    #[must_use]
    pub const fn with_hold(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }

    /// Bytes of tensors that may be copied to memory, over all files together: those of streams, and of files that are
    /// not mapped. Default: 4 GiB ([`FileBytes::MEMORY_LIMIT`]).
    pub const fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// The same with another [`memory_limit`](Self::memory_limit).
    #[must_use]
    pub const fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Bytes of padding of a GGUF file, which must be zero, that are read at the most to see it; a file with more is
    /// refused. Default: 64 MiB. Files in use have at most 31 bytes a tensor.
    pub const fn padding_limit(&self) -> u64 {
        self.padding_limit
    }

    /// The same with another [`padding_limit`](Self::padding_limit).
    #[must_use]
    pub const fn with_padding_limit(mut self, bytes: u64) -> Self {
        self.padding_limit = bytes;
        self
    }
}
