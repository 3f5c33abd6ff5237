//! Vocabularies from files: which are there, and which of them an error is about.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tensorgate::Limits;
use tensorgate::gguf::Header;
use tensorgate::tokenizer::{Source, Tokenizer, TokenizerError, TokenizerErrorKind};

use crate::refused::{Refused, named, refused};
use crate::text;

/// What was found where a vocabulary may be.
pub(crate) enum Found {
    Tokenizer(Box<Tokenizer>),
    /// There is none, which is an error only for those who need one.
    Nothing(io::Error),
}

impl Found {
    /// The vocabulary, for those who need one.
    pub(crate) fn needed(self) -> io::Result<Tokenizer> {
        match self {
            Self::Tokenizer(tokenizer) => Ok(*tokenizer),
            Self::Nothing(why) => Err(why),
        }
    }
}

/// Which files are taken where a folder has both kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Pair,
    Whole,
}

/// The vocabulary in a folder.
pub(crate) fn in_folder(folder: &Path, first: First) -> io::Result<Found> {
    let [vocab, merges, whole] =
        ["vocab.json", "merges.txt", "tokenizer.json"].map(|name| Place::of(folder.join(name)));
    let tokenizer = match (&vocab, &merges, &whole) {
        (Place::File(vocab), Place::File(merges), _) if first == First::Pair => pair(vocab, merges)?,
        (_, _, Place::File(path)) => from_json(path)?,
        (Place::File(vocab), Place::File(merges), _) => pair(vocab, merges)?,
        _ => return Ok(Found::Nothing(lacking(folder, &[vocab, merges, whole]))),
    };
    Ok(Found::Tokenizer(Box::new(tokenizer)))
}

/// The vocabulary of a GGUF file whose header was read.
pub(crate) fn in_gguf(path: &Path, header: &Header<'_>) -> io::Result<Found> {
    const MODEL: &str = "tokenizer.ggml.model";
    if header.get(MODEL).is_some() {
        let mut needed = ["tokenizer.ggml.tokens", "tokenizer.ggml.merges"].into_iter();
        if let Some(key) = needed.find(|key| header.get(key).is_none()) {
            return Err(refused(path, &format!("its vocabulary lacks {key}")));
        }
        let tokenizer = Tokenizer::from_gguf(header).map_err(|error| of_tokenizer(path, &error))?;
        return Ok(Found::Tokenizer(Box::new(tokenizer)));
    }
    let why = if header.get("tokenizer.ggml.tokens").is_some() {
        format!("it has tokens, and no {MODEL} that says of what kind they are")
    } else {
        format!("there is no vocabulary in it: no {MODEL}, and no tokens")
    };
    Ok(Found::Nothing(refused(path, &why)))
}

/// What is where a file could be. What is found, and was not named, is opened only where it is a regular file: reading from a
/// pipe or a device may never end.
enum Place {
    File(PathBuf),
    Nothing,
    Odd(String),
}

impl Place {
    fn of(path: PathBuf) -> Self {
        let odd = |why: &str| Self::Odd(format!("{}: {why}", text::path(&path)));
        match fs::metadata(&path) {
            Ok(found) if found.is_file() => Self::File(path),
            Ok(_) => odd("it is no regular file"),
            Err(error) if error.kind() != io::ErrorKind::NotFound => odd(&error.to_string()),
            Err(_) if fs::symlink_metadata(&path).is_ok() => odd("it is a link to nothing"),
            Err(_) => Self::Nothing,
        }
    }
}

/// Why a folder has no vocabulary.
fn lacking(folder: &Path, places: &[Place; 3]) -> io::Error {
    let odd = places.iter().filter_map(|place| if let Place::Odd(why) = place { Some(why.as_str()) } else { None });
    let odd: Vec<&str> = odd.collect();
    if !odd.is_empty() {
        return io::Error::other(odd.join("\n"));
    }
    let why = match places {
        [Place::File(_), ..] => "vocab.json is in this folder, and merges.txt, which belongs to it, is not",
        [_, Place::File(_), _] => "merges.txt is in this folder, and vocab.json, which belongs to it, is not",
        _ => "there is no vocabulary in this folder: neither vocab.json and merges.txt nor tokenizer.json",
    };
    named(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }, &why)
}

/// The vocabulary in a vocab.json and its merges.txt, whatever they are called.
pub(crate) fn pair(vocab: &Path, merges: &Path) -> io::Result<Tokenizer> {
    Tokenizer::from_files(&read(vocab)?, &read(merges)?).map_err(|error| {
        let path = if error.source_file() == Source::Merges { merges } else { vocab };
        of_tokenizer(path, &error)
    })
}

/// The vocabulary in a tokenizer.json, whatever it is called.
pub(crate) fn from_json(path: &Path) -> io::Result<Tokenizer> {
    Tokenizer::from_json(&read(path)?).map_err(|error| of_tokenizer(path, &error))
}

/// Where memory runs out, nothing is said of the file.
fn of_tokenizer(path: &Path, error: &TokenizerError) -> io::Error {
    let is_refusal = error.kind() != TokenizerErrorKind::Memory;
    if is_refusal { refused(path, error) } else { named(path, error) }
}

/// What is in the place of a tokenizer.json, with what to name instead where it is something else of a vocabulary.
pub(crate) fn from_named(path: &Path) -> io::Result<Tokenizer> {
    from_json(path).map_err(|error| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match name {
            "tokenizer.json" => error,
            _ if !Refused::is(&error) => error,
            "vocab.json" | "merges.txt" => {
                let [vocab, merges] = ["vocab.json", "merges.txt"].map(|name| text::path(&path.with_file_name(name)));
                let folder = text::path(folder);
                let why = format!(
                    "it is no tokenizer.json, and a part of a vocabulary: name its folder (--tokenizer {folder}), or both \
                     parts (--vocab {vocab} --merges {merges})"
                );
                refused(path, &why)
            }
            _ => Refused::error(format!(
                "{error}\n--tokenizer takes a tokenizer.json, a GGUF file or the folder of a vocabulary; a vocab.json goes \
                 with --vocab"
            )),
        }
    })
}

/// A file's bytes, at most as many as a vocabulary may have and one more, so that the limit is seen.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = Limits::DEFAULT.vocab_len().saturating_add(1);
    let file = File::open(path).map_err(|error| named(path, &error))?;
    file.take(most).read_to_end(&mut bytes).map_err(|error| named(path, &error))?;
    Ok(bytes)
}
