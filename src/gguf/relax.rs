//! Which strict rules were relaxed to accept a file, and where.

use core::fmt;

use crate::error::ErrorKind;

/// A strict rule that the [`Limits`](crate::Limits) relax and that this file breaks: it would have been refused
/// otherwise.
///
/// ```
/// use tensorgate::{ErrorKind, Limits, gguf::{Header, Slot}};
///
/// // No pair and no tensor, then 8 bytes that belong to nothing.
/// let file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0PK\x03\x04....";
/// let limits = Limits::default().with_gguf_trailing(true);
/// let mut slots = [Slot::EMPTY; 0];
/// let header = Header::open_in(file, 40, &mut slots, &limits)?;
/// let used = header.relaxed().next().unwrap();
/// assert_eq!((used.kind(), used.at(), used.count()), (ErrorKind::GgDataTrailing, 32, 1));
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Relaxed {
    kind: ErrorKind,
    at: u64,
    count: u64,
}

impl Relaxed {
    /// The kind of error that the file would have been refused with.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable code of that kind.
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Absolute offset in bytes of the first place, as the error would have given it.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// How many places there are, at least 1.
    pub const fn count(&self) -> u64 {
        self.count
    }
}

impl fmt::Display for Relaxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}, tolerated: {} (places: {})", self.code(), self.at, self.kind.what(), self.count)
    }
}

/// What can be relaxed, in the order in which it is reported.
const KINDS: [ErrorKind; 6] = [
    ErrorKind::GgArrayNested,
    ErrorKind::GgStringUtf8,
    ErrorKind::GgNameLimit,
    ErrorKind::GgTypeUnknown,
    ErrorKind::GgTypeRemoved,
    ErrorKind::GgDataTrailing,
];

/// One record for each thing that can be relaxed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses([Relaxed; KINDS.len()]);

impl Uses {
    pub(super) const NONE: Self = Self(KINDS_UNUSED);

    /// One more place, behind all before it.
    #[cold]
    pub(super) fn note(&mut self, kind: ErrorKind, at: u64) {
        if let Some(used) = self.0.iter_mut().find(|used| used.kind == kind) {
            if used.count == 0 {
                used.at = at;
            }
            used.count = used.count.saturating_add(1);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Relaxed> + Clone + '_ {
        self.0.iter().copied().filter(|used| used.count > 0)
    }
}

const KINDS_UNUSED: [Relaxed; KINDS.len()] = {
    let [a, b, c, d, e, f] = KINDS;
    [unused(a), unused(b), unused(c), unused(d), unused(e), unused(f)]
};

const fn unused(kind: ErrorKind) -> Relaxed {
    Relaxed { kind, at: 0, count: 0 }
}
