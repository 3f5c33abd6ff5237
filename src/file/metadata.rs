//! Changing a file's metadata, and nothing else of it.
//!
//! The file is written anew beside the old one and takes its place all at once, as [`Atomic`] does it: at no moment is there
//! half a header. The tensors' bytes are copied in the kernel, which on some file systems shares them and copies nothing.
//! They stand in the same order afterwards and are as well aligned: the data section begins where it did wherever the new
//! header fits in front of it, else further on by a multiple of 64 bytes (safetensors) or of the file's alignment (GGUF).
//!
//! ```
//! use tensorgate::file::{metadata::{self, Edit}, save_safetensors};
//! use tensorgate::safetensors::TensorSpec;
//! use tensorgate::{Dtype, SafeTensors};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("model.safetensors");
//! let w = TensorSpec::new("w", Dtype::U8, &[3]).with_bytes(&[1, 2, 3]);
//! save_safetensors(&path, [w], Some([("format", "pt"), ("note", "old")]))?;
//! metadata::edit_safetensors(&path, &[Edit::Set("license", "mit"), Edit::Remove("note")])?;
//! let bytes = std::fs::read(&path)?;
//! let file = SafeTensors::open(&bytes)?;
//! assert!(file.metadata().unwrap().get("license").unwrap() == "mit");
//! assert_eq!(file.tensor("w")?.bytes(), [1, 2, 3]);
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;

use super::atomic::{Atomic, Step, open_folder};
use super::save::folder::wait_for_lock;
use super::{Head, ReadError, SaveError, Saver};
use crate::gguf::{self, PairSpec, WriteOptions, WriteValue};
use crate::safetensors;
use crate::stream::Layout;
use crate::{Error, Name, Span, num};

/// A change of one key. `V` is text for safetensors, anything that makes a [`WriteValue`] for GGUF.
///
/// Changes are made in their order, so that a later one sees what an earlier one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'a, V> {
    /// Gives the key this value: in the place of the one that it has, or behind all others.
    Set(&'a str, V),
    /// Takes the key away, which must be there.
    Remove(&'a str),
}

/// As [`Saver::edit_safetensors`], with the default limits and nobody asked.
///
/// # Errors
///
/// As [`Saver::edit_safetensors`].
pub fn edit_safetensors(path: impl AsRef<Path>, edits: &[Edit<'_, &str>]) -> Result<bool, EditError> {
    Saver::new().edit_safetensors(path, edits)
}

/// As [`Saver::edit_gguf`], with the default limits and nobody asked.
///
/// # Errors
///
/// As [`Saver::edit_gguf`].
pub fn edit_gguf<'a, V: Into<WriteValue<'a>> + Copy>(
    path: impl AsRef<Path>,
    edits: &[Edit<'a, V>],
) -> Result<bool, EditError> {
    Saver::new().edit_gguf(path, edits)
}

impl Saver<'_> {
    /// Changes the metadata of a safetensors file; says whether that made a difference. Where it makes none, the file is not
    /// touched. A file whose last key is taken away is without metadata.
    ///
    /// # Errors
    ///
    /// [`EditError::Read`], [`EditError::Invalid`], [`EditError::NoSuchKey`], [`EditError::Save`]. Nothing has changed then,
    /// but as [`SaveError::is_committed`] says.
    pub fn edit_safetensors(&self, path: impl AsRef<Path>, edits: &[Edit<'_, &str>]) -> Result<bool, EditError> {
        let path = path.as_ref();
        let _lock = self.lock(path)?;
        let mut head = Head::open_regular(path)?;
        let len = head.load_safetensors(&self.limits)?;
        let header = safetensors::Header::open(head.bytes(), len, &self.limits)?;
        let before: Vec<(Name<'_>, Name<'_>)> = header.metadata().into_iter().flatten().collect();
        let mut pairs = before.clone();
        for edit in edits {
            match *edit {
                Edit::Set(key, value) => match pairs.iter_mut().find(|(known, _)| *known == key) {
                    Some(pair) => pair.1 = value.into(),
                    None => pairs.push((key.into(), value.into())),
                },
                Edit::Remove(key) => take(&mut pairs, key, |pair| pair.0)?,
            }
        }
        if pairs == before {
            return Ok(false);
        }
        let metadata = (!pairs.is_empty()).then_some(pairs);
        let plan = safetensors::Plan::with_metadata(&header, metadata, &self.limits).map_err(SaveError::from)?;
        let spans: Vec<Span> = header.tensors().map(|tensor| tensor.span()).collect();
        let file = self.rewritten(path, &head, plan.layout(), &spans)?;
        drop(header);
        unchanged(&mut head)?;
        file.commit().map_err(SaveError::from)?;
        Ok(true)
    }

    /// Changes the key/value pairs of a GGUF file; says whether that made a difference. Where it makes none, the file is
    /// not touched. Byte order stays, version 2 becomes 3 (which is spelt the same). Another `general.alignment` lays the
    /// tensors out by it.
    ///
    /// # Errors
    ///
    /// As [`edit_safetensors`](Self::edit_safetensors).
    pub fn edit_gguf<'a, V: Into<WriteValue<'a>> + Copy>(
        &self,
        path: impl AsRef<Path>,
        edits: &[Edit<'a, V>],
    ) -> Result<bool, EditError> {
        let path = path.as_ref();
        let _lock = self.lock(path)?;
        let mut head = Head::open_regular(path)?;
        head.load(|bytes, len| gguf::Header::open(bytes, len, &self.limits).err()?.needs())?;
        let len = head.file_len().unwrap_or(0);
        let header = gguf::Header::open(head.bytes(), len, &self.limits)?;
        let mut pairs: Vec<PairSpec<'_>> = header.pairs().map(PairSpec::from).collect();
        for edit in edits {
            match *edit {
                Edit::Set(key, value) => {
                    let pair = PairSpec::new(key, value);
                    match pairs.iter_mut().find(|known| known.key() == key) {
                        Some(known) => *known = pair,
                        None => pairs.push(pair),
                    }
                }
                Edit::Remove(key) => take(&mut pairs, key, PairSpec::key)?,
            }
        }
        let options = WriteOptions::default().with_endian(header.endian()).with_limits(self.limits);
        let plan = gguf::Plan::new(pairs, header.tensors(), &options).map_err(SaveError::from)?;
        // Behind magic and version, which may be 2.
        if header.head().get(8..) == plan.header().get(8..) {
            return Ok(false);
        }
        let spans: Vec<Span> = header.tensors().map(|tensor| tensor.span()).collect();
        let file = self.rewritten(path, &head, plan.layout(), &spans)?;
        drop(header);
        unchanged(&mut head)?;
        file.commit().map_err(SaveError::from)?;
        Ok(true)
    }

    /// Waits until nobody else changes metadata in the file's folder: of two changes at once, the later one would undo the
    /// other's. Held until the file is closed; nothing is waited for where there are no locks.
    fn lock(&self, path: &Path) -> Result<Option<std::fs::File>, EditError> {
        // What is not there, or may not be opened, is reported when it is read.
        let Ok(target) = std::fs::canonicalize(path) else { return Ok(None) };
        let Some(folder) = target.parent().and_then(|parent| open_folder(parent).ok()) else {
            return Ok(None);
        };
        let still = || self.watch.before(Step::Inspect, &target);
        wait_for_lock(&folder, still).map_err(|error| EditError::Save(SaveError::Write(error).at(&target)))?;
        Ok(Some(folder))
    }

    /// The file that the layout says, with the bytes that the old one has at `spans`, a tensor's each.
    fn rewritten<P>(
        &self,
        path: &Path,
        head: &Head,
        layout: &Layout<P>,
        spans: &[Span],
    ) -> Result<Atomic<'_>, EditError> {
        let source = head.regular().ok_or(ReadError::NotRegular)?;
        let mut file = Atomic::create_watched(path, self.watch).map_err(SaveError::from)?;
        let target = file.target().to_path_buf();
        let mut copy = || -> io::Result<()> {
            file.write_all(layout.head())?;
            let mut at = num::widen(layout.head().len());
            let mut run: Option<(u64, u64)> = None;
            for tensor in layout.tensors() {
                let Some(old) = spans.get(tensor.index()) else { continue };
                let gap = tensor.span().start().saturating_sub(at);
                // Tensors side by side are copied at once.
                match &mut run {
                    Some((_, end)) if gap == 0 && *end == old.start() => *end = old.end(),
                    _ => {
                        flush(&mut file, source, run.take())?;
                        zeros(&mut file, gap)?;
                        run = Some((old.start(), old.end()));
                    }
                }
                at = tensor.span().end();
            }
            flush(&mut file, source, run)?;
            zeros(&mut file, layout.file_len().saturating_sub(at))
        };
        copy().map_err(|error| SaveError::Write(error).at(&target))?;
        Ok(file)
    }
}

/// Copies the bytes `[start, end)` of the old file.
fn flush(file: &mut Atomic<'_>, source: &std::fs::File, run: Option<(u64, u64)>) -> io::Result<()> {
    match run {
        Some((start, end)) if start < end => file.copy_from(source, start, end.saturating_sub(start)),
        _ => Ok(()),
    }
}

fn zeros(file: &mut Atomic<'_>, count: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), count), file).map(|_| ())
}

/// The old file is still what it was when its header was read.
fn unchanged(head: &mut Head) -> Result<(), ReadError> {
    head.measure(0).map(|_| ())
}

/// Takes the pair of `key` out.
fn take<'p, P>(pairs: &mut Vec<P>, key: &str, key_of: impl Fn(&P) -> Name<'p>) -> Result<(), EditError> {
    let at = pairs.iter().position(|pair| key_of(pair) == key);
    pairs.remove(at.ok_or_else(|| EditError::NoSuchKey(key.to_string()))?);
    Ok(())
}

/// Why metadata was not changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum EditError {
    /// The file could not be read, or was written meanwhile.
    Read(ReadError),
    /// It is no valid file of its format.
    Invalid(Error),
    /// A key that was to be taken away is not there.
    NoSuchKey(String),
    /// There can be no file with these changes, or it could not be saved.
    Save(SaveError),
}

impl From<ReadError> for EditError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<Error> for EditError {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}

impl From<SaveError> for EditError {
    fn from(error: SaveError) -> Self {
        Self::Save(error)
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
            Self::NoSuchKey(key) => write!(f, "there is no key {:?}", Name::from(key)),
            Self::Save(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Invalid(error) => Some(error),
            Self::Save(error) => Some(error),
            Self::NoSuchKey(_) => None,
        }
    }
}
