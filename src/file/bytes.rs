//! A whole file's bytes with an owner that can be shared.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use std::vec::Vec;

use super::aligned::Aligned;
use super::map::Mapping;
use super::{Head, ReadError, snapshot};
use crate::{Span, num};

/// How the bytes of a file are held while they are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hold {
    /// Mapped: nothing is read before it is touched, and memory is only the pages that were. The file must not change;
    /// see [`FileBytes`] for what happens when it does. What cannot be mapped (a pipe, a device, a file of `/proc`) is
    /// read instead.
    #[default]
    Map,
    /// A private copy that nobody can change, sealed by the kernel where it can do that (Linux: `memfd_create` with all
    /// four seals, `memfd_create(2)`, *File sealing*), and otherwise as [`Read`](Self::Read).
    Snapshot,
    /// Read into memory of this process.
    Read,
}

/// What the kernel may be told about bytes that are about to be used, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// They are read once, from front to back: read far ahead, and drop what was read soon (`MADV_SEQUENTIAL`).
    Sequential,
    /// They are read in no order: do not read ahead (`MADV_RANDOM`).
    Random,
    /// They are needed soon: begin to read them now (`MADV_WILLNEED`).
    WillNeed,
    /// They are not needed for now: take their pages out of this process. They come back, from the kernel's cache or
    /// the file, when they are touched again (`MADV_DONTNEED`).
    DontNeed,
}

/// Which file it was, and its state: what must be the same for it to hold the same bytes.
///
/// A file that is written without a change of its length, within one step of the file system's clock, looks the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device and inode, where there are such.
    place: Option<(u64, u64)>,
    len: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { place: place(metadata), len: metadata.len(), modified: metadata.modified().ok() }
    }

    /// That of the file which `path` leads to now, links followed.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn at(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::of(&metadata))
    }

    /// Its length in bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it had no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When it was last written.
    pub const fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Whether it is the same file, however its state differs; `false` where that cannot be told.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.place.is_some() && self.place == other.place
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems do not say")]
fn place(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// All bytes of a file: mapped, sealed, or in memory. Cheap to clone, and can be sent between threads.
///
/// The bytes are there until the last clone is gone, whatever becomes of the path or of the handle.
///
/// # Files that change
///
/// A file that is mapped ([`Hold::Map`]) can be changed by whoever may write to it. Then the bytes here change with it,
/// at any moment; and where the file was cut, touching what is gone ends the process (`SIGBUS`). Nothing can prevent
/// that from here. Programs that save by renaming, as this crate does, do not change a file that is mapped: the old one
/// stays as it was. Where others may write, hold a [`Hold::Snapshot`].
///
/// ```
/// use tensorgate::file::{FileBytes, Hold};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// # std::fs::write(&path, b"\x02\0\0\0\0\0\0\0{}")?;
/// let bytes = FileBytes::open(&path, Hold::Map, FileBytes::MEMORY_LIMIT)?;
/// let clone = bytes.clone();
/// let sum = std::thread::spawn(move || clone.iter().map(|byte| u32::from(*byte)).sum::<u32>());
/// assert_eq!(sum.join().unwrap(), 250);
/// assert_eq!(bytes.identity().unwrap().len(), 10);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileBytes(Arc<Inner>);

struct Inner {
    held: Held,
    identity: Option<Identity>,
}

pub(super) enum Held {
    Mapped(Mapping),
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems do not seal"))]
    Sealed(Mapping),
    Heap(Aligned),
}

impl FileBytes {
    /// Bytes that a file may take of memory unless said otherwise: 4 GiB. Mapped files take none.
    pub const MEMORY_LIMIT: u64 = 4 << 30;

    /// All bytes of the file at `path`, of which at most `most` are copied to memory.
    ///
    /// Opening a named pipe waits for its writer, and then reads to its end.
    ///
    /// # Errors
    ///
    /// As [`Head::open`] and [`Head::into_bytes`].
    pub fn open(path: &Path, hold: Hold, most: u64) -> Result<Self, ReadError> {
        Head::open(path)?.into_bytes(hold, most)
    }

    /// All bytes of a stream, at most `most`.
    ///
    /// # Errors
    ///
    /// [`ReadError::StreamTooLong`], [`ReadError::Io`], [`ReadError::Memory`].
    pub fn read(reader: impl Read, most: u64) -> Result<Self, ReadError> {
        Self::of_stream(Vec::new(), reader, most)
    }

    /// The bytes of a stream, the first of which were read before.
    pub(super) fn of_stream(start: Vec<u8>, reader: impl Read, most: u64) -> Result<Self, ReadError> {
        Ok(Self::new(Held::Heap(Aligned::of_stream(start, reader, most)?), None))
    }

    /// The bytes of an open regular file that had this identity; `between` is called before it is looked at again.
    pub(super) fn of_file(
        file: &mut File,
        identity: Identity,
        hold: Hold,
        most: u64,
        between: impl FnOnce(),
    ) -> Result<Self, ReadError> {
        let len = identity.len;
        if hold != Hold::Map && len > most {
            return Err(ReadError::OverLimit { len, limit: most });
        }
        let kept = match hold {
            Hold::Map => Held::Mapped(Mapping::new(file, len)?),
            Hold::Snapshot => snapshot::of(file, len)?,
            Hold::Read => {
                file.seek(SeekFrom::Start(0))?;
                Held::Heap(Aligned::of_file(file, len)?)
            }
        };
        between();
        let now = Identity::of(&file.metadata()?);
        if now == identity {
            Ok(Self::new(kept, Some(identity)))
        } else {
            Err(ReadError::Changed { before: len, after: now.len })
        }
    }

    fn new(held: Held, identity: Option<Identity>) -> Self {
        Self(Arc::new(Inner { held, identity }))
    }

    /// All of them.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0.held {
            Held::Mapped(mapping) | Held::Sealed(mapping) => mapping.as_slice(),
            Held::Heap(aligned) => aligned.as_slice(),
        }
    }

    /// How they are held. A stream is [`Hold::Read`] whatever was asked for, and so is a snapshot that the kernel cannot
    /// seal.
    pub fn hold(&self) -> Hold {
        match &self.0.held {
            Held::Mapped(_) => Hold::Map,
            Held::Sealed(_) => Hold::Snapshot,
            Held::Heap(_) => Hold::Read,
        }
    }

    /// Which file it was when it was opened; `None` for a stream.
    pub fn identity(&self) -> Option<Identity> {
        self.0.identity
    }

    /// Tells the kernel about the bytes in `span`, as far as they are there. Does nothing where it cannot be told, and
    /// nothing to bytes in memory of this process.
    ///
    /// The pages at the span's ends are shared with what is beside it: [`Advice::DontNeed`] leaves them, the others take
    /// them in.
    pub fn advise(&self, span: Span, advice: Advice) {
        if let Held::Mapped(mapping) | Held::Sealed(mapping) = &self.0.held {
            mapping.advise(span, advice);
        }
    }

    /// Tells the kernel about all of them.
    pub fn advise_all(&self, advice: Advice) {
        if let Some(span) = Span::new(0, num::widen(self.as_slice().len())) {
            self.advise(span, advice);
        }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for FileBytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBytes").field("len", &self.len()).field("hold", &self.hold()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What changes between the mapping and the second look is seen, and nothing of it is handed out.
    #[test]
    fn a_change_while_it_is_held_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for hold in [Hold::Map, Hold::Snapshot, Hold::Read] {
            for after in [0, 99, 101, 70_000] {
                std::fs::write(&path, [7; 100]).unwrap();
                let mut file = File::open(&path).unwrap();
                let identity = Identity::of(&file.metadata().unwrap());
                let cut = || File::options().write(true).open(&path).unwrap().set_len(after).unwrap();
                let error = FileBytes::of_file(&mut file, identity, hold, 1000, cut).unwrap_err();
                assert!(matches!(error, ReadError::Changed { before: 100, after: now } if now == after), "{error}");
            }
        }
    }
}
