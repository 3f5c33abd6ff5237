//! One file: its header judged, then its bytes held.

use std::path::{Path, PathBuf};
use std::vec::Vec;

use super::file::OwnedHeader;
use super::{ModelError, ModelErrorKind, ModelFile, Options, Warning};
use crate::detect::{Guess, PREFIX_LEN, detect};
use crate::error::{Error, ErrorKind};
use crate::file::{FileBytes, Head, Hold, ReadError};
use crate::{Span, gguf, num, safetensors};

/// Bytes that are read of a GGUF file at first: most headers without a vocabulary fit.
const FIRST: u64 = 64 * 1024;

/// A file whose header was proved.
pub(super) struct Judged {
    pub(super) path: PathBuf,
    pub(super) header: OwnedHeader,
    pending: Pending,
}

/// Its bytes, or the open file that they are still to come from.
enum Pending {
    Open(Head),
    Held(FileBytes),
}

/// Judges and holds the files of one model.
pub(super) struct Loader<'o> {
    pub(super) options: &'o Options,
    /// Bytes that may still be copied to memory.
    left: u64,
    /// Whether files stay open until all are judged, so that nothing is copied of a model that is refused. A mapping
    /// costs nothing, and there are only so many files that a process may have open.
    patient: bool,
    pub(super) warnings: Vec<Warning>,
}

/// Files that are kept open at the most.
const MOST_OPEN: usize = 128;

impl<'o> Loader<'o> {
    /// For a model of so many files.
    pub(super) fn new(options: &'o Options, files: usize) -> Self {
        let patient = options.hold() != Hold::Map && files <= MOST_OPEN;
        Self { options, left: options.memory_limit(), patient, warnings: Vec::new() }
    }

    /// The same, for a model that turns out to have so many files.
    pub(super) fn for_files(mut self, files: usize) -> Self {
        self.patient &= files <= MOST_OPEN;
        self
    }

    /// Judges a safetensors file.
    pub(super) fn safetensors(&mut self, path: &Path, mut head: Head) -> Result<Judged, ModelError> {
        let limits = self.options.limits();
        let unread = |error| ModelError::read(path, error);
        let header = if head.is_regular() {
            let len = head.load_safetensors(limits).map_err(unread)?;
            safetensors::Header::open(head.bytes(), len, limits)
        } else {
            head.load(|bytes, len| safetensors::Header::open(bytes, len, limits).err()?.needs()).map_err(unread)?;
            // Of a stream that goes on, all is known but where it ends.
            safetensors::Header::open(head.bytes(), head.file_len().unwrap_or(u64::MAX), limits)
        };
        let early = header.and_then(safetensors::Header::into_owned);
        let header = match early {
            Ok(header) => header,
            Err(error) if error.kind() == ErrorKind::StDataTrailing && !head.is_regular() => {
                let bytes = self.take(path, head)?;
                let header = safetensors::Header::open(&bytes, num::widen(bytes.len()), limits);
                let header = header.and_then(safetensors::Header::into_owned);
                let header = header.map_err(|error| refused(path, error, None))?;
                return Ok(self.judged(path, OwnedHeader::SafeTensors(header), Pending::Held(bytes)));
            }
            Err(error) => {
                let guess = foreign(&mut head, error, &[Guess::Safetensors]);
                return Err(refused(path, error, guess));
            }
        };
        self.settle(path, OwnedHeader::SafeTensors(header), head)
    }

    /// Judges a GGUF file, its padding too.
    pub(super) fn gguf(&mut self, path: &Path, mut head: Head) -> Result<Judged, ModelError> {
        let limits = self.options.limits();
        let unread = |error| ModelError::read(path, error);
        head.fetch(FIRST).map_err(unread)?;
        head.load(|bytes, len| gguf::Header::open(bytes, len, limits).err()?.needs()).map_err(unread)?;
        let header = gguf::Header::open(head.bytes(), head.file_len().unwrap_or(u64::MAX), limits);
        match header.and_then(gguf::Header::into_owned) {
            Ok(header) if head.is_regular() => {
                self.padding(path, &mut head, &header.header())?;
                self.settle(path, OwnedHeader::Gguf(header), head)
            }
            // Of a stream that goes on, all is known but where it ends.
            Err(error) if !is_end(&head, error) => {
                let guess = foreign(&mut head, error, &[Guess::Gguf, Guess::GgufBig, Guess::GgufOld]);
                Err(refused(path, error, guess))
            }
            _ => {
                let bytes = self.take(path, head)?;
                let header = gguf::Header::open(&bytes, num::widen(bytes.len()), limits);
                let header = header.and_then(|header| {
                    header.check_padding(&bytes)?;
                    header.into_owned()
                });
                let header = header.map_err(|error| refused(path, error, None))?;
                Ok(self.judged(path, OwnedHeader::Gguf(header), Pending::Held(bytes)))
            }
        }
    }

    /// Proves that the padding of a regular file is zero, of which only that is read.
    fn padding(&self, path: &Path, head: &mut Head, header: &gguf::Header<'_>) -> Result<(), ModelError> {
        let bytes = header.padding().fold(0_u64, |sum, span| sum.saturating_add(span.len()));
        let limit = self.options.padding_limit();
        if bytes > limit {
            return Err(ModelError::new(path, ModelErrorKind::Padding { bytes, limit }));
        }
        let spans: Vec<Span> = header.padding().collect();
        match head.first_nonzero(&spans).map_err(|error| ModelError::read(path, error))? {
            Some(at) => Err(refused(path, Error::new(ErrorKind::GgPaddingNonzero, at), None)),
            None => Ok(()),
        }
    }

    fn settle(&mut self, path: &Path, header: OwnedHeader, head: Head) -> Result<Judged, ModelError> {
        let pending = if self.patient && head.is_regular() {
            Pending::Open(head)
        } else {
            Pending::Held(self.take(path, head)?)
        };
        Ok(self.judged(path, header, pending))
    }

    fn judged(&mut self, path: &Path, header: OwnedHeader, pending: Pending) -> Judged {
        if let Some(error) = header.safetensors().and_then(|header| header.relaxed()) {
            self.warn(path, error);
        }
        if let Some(header) = header.gguf() {
            for relaxed in header.relaxed() {
                self.warn(path, Error::new(relaxed.kind(), relaxed.at()));
            }
        }
        Judged { path: path.to_owned(), header, pending }
    }

    pub(super) fn warn(&mut self, path: &Path, error: Error) {
        self.warnings.push(Warning { path: path.to_owned(), error });
    }

    fn take(&mut self, path: &Path, head: Head) -> Result<FileBytes, ModelError> {
        let bytes =
            head.into_bytes(self.options.hold(), self.left).map_err(|error| ModelError::read(path, error))?;
        if bytes.hold() != Hold::Map {
            self.left = self.left.saturating_sub(num::widen(bytes.len()));
        }
        Ok(bytes)
    }

    /// Holds the bytes of a judged file.
    pub(super) fn finish(&mut self, judged: Judged) -> Result<ModelFile, ModelError> {
        let Judged { path, header, pending } = judged;
        let bytes = match pending {
            Pending::Held(bytes) => bytes,
            Pending::Open(head) => self.take(&path, head)?,
        };
        Ok(ModelFile::new(path, header, bytes))
    }
}

/// Whether the error says no more than that a stream has not ended where the model does.
fn is_end(head: &Head, error: Error) -> bool {
    head.file_len().is_none() && error.kind() == ErrorKind::GgDataTrailing
}

pub(super) fn refused(path: &Path, error: Error, guess: Option<Guess>) -> ModelError {
    if error.kind() == ErrorKind::StorageTooSmall {
        return ModelError::memory(path, error.want().unwrap_or(0));
    }
    ModelError::new(path, ModelErrorKind::Invalid { error, guess })
}

/// What a refused file seems to be, where its first bytes already do not fit; never one of `own`.
pub(super) fn foreign(head: &mut Head, error: Error, own: &[Guess]) -> Option<Guess> {
    use ErrorKind as K;
    let fits = match error.kind() {
        // A length that was cut off is a length.
        K::StHeaderPastEnd => head.bytes().len() <= 8,
        K::JsonEnd => !head.bytes().starts_with(&[0; 8]) && !head.bytes().is_empty(),
        K::GgTooShort => !head.bytes().is_empty() && b"GGUF".starts_with(head.bytes()),
        K::StTooShort | K::StHeaderLimit | K::GgMagic | K::JsonNotObject | K::JsonUtf8 | K::IxLengthLimit => false,
        _ => true,
    };
    if fits {
        return None;
    }
    // What cannot be read any more does not matter: the file is refused all the same.
    let _: Result<(), ReadError> = head.fetch(num::widen(PREFIX_LEN));
    let guess = detect(head.bytes());
    (guess != Guess::Unknown && !own.contains(&guess)).then_some(guess)
}
