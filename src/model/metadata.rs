//! What a model says besides its tensors, in either format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::string::String;

use super::ModelFile;
use crate::{Name, gguf};

/// A value of a model's metadata.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetadataValue<'m> {
    /// Of a safetensors file's `__metadata__`.
    Text(Name<'m>),
    /// Of a GGUF file's key/value pairs.
    Gguf(gguf::Value<'m>),
    /// Of an index's `metadata`: the value's JSON text.
    Json(&'m str),
}

impl<'m> MetadataValue<'m> {
    /// The text of a string that can be borrowed: `None` for other values, for JSON, and for text that holds escapes or is
    /// no UTF-8.
    pub fn as_str(&self) -> Option<&'m str> {
        match self {
            Self::Text(text) => text.as_str(),
            Self::Gguf(value) => value.str().ok(),
            Self::Json(_) => None,
        }
    }

    /// The value of a GGUF file.
    pub const fn gguf(&self) -> Option<gguf::Value<'m>> {
        match self {
            Self::Gguf(value) => Some(*value),
            _ => None,
        }
    }
}

/// A model's metadata: one view of the strings of safetensors files, the values of GGUF files, and those of an index.
///
/// Of the shards of an index, each adds the keys that those before it do not have, and the index those that no shard has.
/// Of a split GGUF model only the first file counts, as for llama.cpp.
///
/// ```
/// use tensorgate::model::{Model, Options};
/// let mut file = 33_u64.to_le_bytes().to_vec();
/// file.extend_from_slice(br#"{"__metadata__":{"format":"pt"} }"#);
/// let model = Model::from_reader(std::io::Cursor::new(file), &Options::default())?;
/// assert_eq!(model.metadata().get("format").unwrap().as_str(), Some("pt"));
/// assert_eq!(model.metadata().iter().count(), 1);
/// # Ok::<(), tensorgate::model::ModelError>(())
/// ```
#[derive(Clone)]
pub struct Metadata<'m> {
    files: &'m [ModelFile],
    gguf: Option<gguf::Header<'m>>,
    index: Option<&'m BTreeMap<String, String>>,
}

impl<'m> Metadata<'m> {
    pub(super) fn new(files: &'m [ModelFile], index: Option<&'m BTreeMap<String, String>>) -> Self {
        Self { files, gguf: files.first().and_then(ModelFile::gguf), index }
    }

    /// The value of `key`; linear in the metadata of safetensors files.
    pub fn get(&self, key: &str) -> Option<MetadataValue<'m>> {
        if let Some(header) = &self.gguf {
            return header.get(key).map(MetadataValue::Gguf);
        }
        let text = self.texts().find(|(other, _)| *other == key).map(|(_, value)| MetadataValue::Text(value));
        text.or_else(|| self.index?.get(key).map(|json| MetadataValue::Json(json)))
    }

    /// Keys and values, each key once: those of files in the files' order, then those of the index by name.
    pub fn iter(&self) -> impl Iterator<Item = (Name<'m>, MetadataValue<'m>)> + '_ {
        let pairs = self.gguf.iter().flat_map(gguf::Header::pairs);
        let pairs = pairs.map(|pair| (Name::from(pair.key()), MetadataValue::Gguf(pair.value())));
        let texts = self.texts().map(|(key, value)| (key, MetadataValue::Text(value)));
        let json = self.index.into_iter().flatten();
        let json = json.map(|(key, json)| (Name::from(key), MetadataValue::Json(json)));
        // A single file has no key twice.
        let mut seen = (self.files.len() > 1 || self.index.is_some()).then(BTreeSet::new);
        pairs.chain(texts).chain(json).filter(move |(key, _)| seen.as_mut().is_none_or(|seen| seen.insert(*key)))
    }

    fn texts(&self) -> impl Iterator<Item = (Name<'m>, Name<'m>)> + use<'m> {
        self.files.iter().filter_map(|file| file.safetensors()?.metadata()).flatten()
    }
}

impl fmt::Debug for Metadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
