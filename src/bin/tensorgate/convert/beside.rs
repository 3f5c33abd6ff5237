//! The small files of a model beside its tensors, which go where the new model goes.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tensorgate::file::Atomic;
use tensorgate::model::{Format, Model};

use super::gpt2;
use crate::limited::at_most;
use crate::text;

/// Bytes of such a file that are read at the most; a vocabulary of GPT-2's has a megabyte, the largest ones have twenty.
const MOST: u64 = 64 << 20;

/// What Hugging Face's programs read beside a model.
const KNOWN: [&str; 8] = [
    "config.json",
    "generation_config.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
];

/// Files to be written beside the new model's tensors.
#[derive(Debug, Default)]
pub(super) struct Beside {
    folder: PathBuf,
    files: Vec<(&'static str, Vec<u8>)>,
    /// What whoever uses them should know.
    pub(super) notes: Vec<String>,
}

impl Beside {
    /// What goes into `folder` with the model: the files beside it as they are, or what they would say where it is a GPT-2
    /// of a GGUF file that gets Hugging Face's names.
    pub(super) fn of(model: &Model, folder: Option<&Path>, renamed: bool, to: Format) -> Result<Self, String> {
        let Some(folder) = folder.filter(|_| to == Format::SafeTensors) else { return Ok(Self::default()) };
        let own = Self { folder: folder.to_owned(), ..Self::default() };
        match model.format() {
            Format::SafeTensors => Ok(own.copies(model)),
            _ if renamed => Ok(Self { files: gpt2::texts(model)?, ..own }),
            _ => Ok(own),
        }
    }

    /// The files beside the model, unless they are in the folder already.
    fn copies(mut self, model: &Model) -> Self {
        let standing = model.index_path().or_else(|| Some(model.files().first()?.path()));
        // A model from standard input stands nowhere.
        let Some(source) = standing.filter(|path| path.is_file()).and_then(Path::parent) else { return self };
        let source = if source.as_os_str().is_empty() { Path::new(".") } else { source };
        let real = |path: &Path| path.canonicalize().ok();
        if real(source) == real(&self.folder) {
            return self;
        }
        for name in KNOWN {
            match read(&source.join(name)) {
                Ok(Some(bytes)) => self.files.push((name, bytes)),
                Ok(None) => {}
                Err(error) => self.notes.push(format!("not taken along: {error}")),
            }
        }
        self
    }

    /// Writes them, and says which files they are; what is another file so far is replaced, and a note says so.
    pub(super) fn write(&mut self) -> Result<Vec<PathBuf>, String> {
        let mut written = Vec::new();
        for (name, bytes) in &self.files {
            let path = self.folder.join(name);
            let there = path.symlink_metadata().is_ok();
            if there && read(&path).is_ok_and(|old| old.as_ref() == Some(bytes)) {
                written.push(path);
                continue;
            }
            put(&path, bytes).map_err(|error| format!("{}: {error}", text::path(&path)))?;
            if there {
                self.notes
                    .push(format!("{}: another file of this name was there and is replaced", text::path(&path)));
            }
            written.push(path);
        }
        Ok(written)
    }
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Atomic::create(path).map_err(io::Error::other)?;
    file.write_all(bytes)?;
    file.commit().map_err(io::Error::other)
}

/// A small file; `None` where it is not there.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let failed = |error: io::Error| format!("{}: {error}", text::path(path));
    // Before it is opened: a pipe would wait for a writer.
    match path.metadata() {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(format!("{}: not a regular file", text::path(path))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let bytes = File::open(path).and_then(|file| at_most(file, MOST)).map_err(failed)?;
    bytes.map(Some).ok_or_else(|| format!("{}: longer than {MOST} bytes", text::path(path)))
}
