//! One file of a model.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Format;
use crate::file::FileBytes;
use crate::{gguf, safetensors};

/// One file of a model: its path, its proved header in private memory, and its bytes.
pub struct ModelFile {
    path: PathBuf,
    header: OwnedHeader,
    bytes: FileBytes,
}

pub(super) enum OwnedHeader {
    SafeTensors(safetensors::OwnedHeader),
    Gguf(gguf::OwnedHeader),
}

impl OwnedHeader {
    pub(super) fn safetensors(&self) -> Option<safetensors::Header<'_>> {
        match self {
            Self::SafeTensors(header) => Some(header.header()),
            Self::Gguf(_) => None,
        }
    }

    pub(super) fn gguf(&self) -> Option<gguf::Header<'_>> {
        match self {
            Self::SafeTensors(_) => None,
            Self::Gguf(header) => Some(header.header()),
        }
    }
}

impl ModelFile {
    pub(super) const fn new(path: PathBuf, header: OwnedHeader, bytes: FileBytes) -> Self {
        Self { path, header, bytes }
    }

    /// Its path, as it was given or found; links in it are not resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format.
    pub const fn format(&self) -> Format {
        match &self.header {
            OwnedHeader::SafeTensors(_) => Format::SafeTensors,
            OwnedHeader::Gguf(_) => Format::Gguf,
        }
    }

    /// All its bytes. Those of the header are not to be parsed from here: they can be changed behind one's back, and were
    /// proved in the copy that [`safetensors`](Self::safetensors) and [`gguf`](Self::gguf) give.
    pub const fn bytes(&self) -> &FileBytes {
        &self.bytes
    }

    /// Its proved header, where it is a safetensors file.
    pub fn safetensors(&self) -> Option<safetensors::Header<'_>> {
        self.header.safetensors()
    }

    /// Its proved header, where it is a GGUF file.
    pub fn gguf(&self) -> Option<gguf::Header<'_>> {
        self.header.gguf()
    }
}

impl fmt::Debug for ModelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelFile").field("path", &self.path).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
