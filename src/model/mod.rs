//! Whole models, however they are kept: one file, a sharded set, or a split GGUF model, behind one interface.
//!
//! [`Model::open`] takes a path to any of these and reads the headers only; the tensors' bytes are mapped, and their
//! pages come when they are touched. A [`Tensor`] owns its share of the mapping, so that it outlives the model, can be
//! cloned, and can be sent to other threads.
//!
//! | `path` is | what is opened |
//! |---|---|
//! | a safetensors file | that file |
//! | an index (`model.safetensors.index.json`, or any JSON with a `weight_map`) | the shards that it names, in its own folder |
//! | a GGUF file | that file |
//! | the first file of a split GGUF model | all files of the split, in its own folder |
//! | a folder | its `model.safetensors.index.json`, else its `model.safetensors`, else its only GGUF model |
//! | a pipe, a device, a file of `/proc` | what comes out of it, read into memory up to a limit |
//!
//! What a file is, its first bytes decide, and where they do not its name. Symbolic links are followed, as caches of
//! downloads are made of them; names in an index are plain file names, so that they lead nowhere but beside it.
//!
//! Every header is copied to private memory and proved there, every name in an index is held against the shards, and the
//! files of a split against each other, before anything is handed out. What a mapped file cannot promise stands at
//! [`FileBytes`]; [`Hold::Snapshot`] is for those who need certainty.

pub mod checkpoint;
pub mod convert;
pub mod diff;
mod element;
mod error;
mod file;
mod folder;
mod load;
mod metadata;
pub mod mixture;
pub mod names;
mod open;
mod options;
mod sharded;
mod source;
mod split;
mod table;
mod tensor;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

pub use element::ElementType;
pub use error::{ModelError, ModelErrorKind};
pub use file::ModelFile;
pub use metadata::{Metadata, MetadataValue};
pub use options::Options;
pub(crate) use source::Source;
pub use tensor::Tensor;

use crate::Error;
#[cfg(doc)]
use crate::file::{FileBytes, Hold};
use table::Table;

/// The format of a model's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// safetensors, one file or several.
    SafeTensors,
    /// GGUF, one file or several.
    Gguf,
}

impl Format {
    /// Its name: `safetensors` or `GGUF`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SafeTensors => "safetensors",
            Self::Gguf => "GGUF",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A whole model, every header of it proved. Cheap to clone.
///
/// ```
/// use tensorgate::model::Model;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// # let mut file = 54_u64.to_le_bytes().to_vec();
/// # file.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
/// # file.extend_from_slice(&[0, 0, 128, 63, 0, 0, 0, 64]);
/// # std::fs::write(&path, &file)?;
/// let model = Model::open(&path)?; // or the folder, an index, a GGUF file
/// for tensor in model.tensors() {
///     println!("{} {} {:?}", tensor.name(), tensor.element(), tensor.shape());
/// }
/// let w = model.tensor("w")?;
/// drop(model);
/// // A tensor keeps its file's bytes alive, wherever it is sent.
/// let sum = std::thread::spawn(move || w.view().unwrap().iter_f32().unwrap().sum::<f32>());
/// assert_eq!(sum.join().unwrap(), 3.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Model(Arc<Inner>);

struct Inner {
    format: Format,
    files: Vec<ModelFile>,
    table: Arc<Table>,
    /// Of the index: where it is, its metadata as JSON texts.
    index: Option<(PathBuf, BTreeMap<String, String>)>,
    warnings: Vec<Warning>,
}

/// What is odd about a model that is accepted: a strict rule that the limits relax, or an index whose `total_size` is
/// missing or wrong.
#[derive(Clone, Debug)]
pub struct Warning {
    path: PathBuf,
    error: Error,
}

impl Warning {
    /// The file that it is about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What, and where in the file.
    pub const fn error(&self) -> Error {
        self.error
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", error::shown(&self.path), self.error)
    }
}

impl Model {
    /// Opens the model at `path`, mapped, within the default limits.
    ///
    /// # Errors
    ///
    /// [`ModelError`], with the file that is at fault.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(path, &Options::default())
    }

    /// The file that [`open`](Self::open) would begin with: of a folder the index, else `model.safetensors`, else its only GGUF
    /// model; `path` itself where it is no folder. Nothing of it is read.
    ///
    /// # Errors
    ///
    /// [`ModelError`] where a folder has no model or several, with what it has.
    pub fn locate(path: impl AsRef<Path>) -> Result<PathBuf, ModelError> {
        let path = path.as_ref();
        if path.is_dir() { folder::find(path) } else { Ok(path.to_owned()) }
    }

    /// Opens the model at `path` as the options say.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, ModelError> {
        open::path(path.as_ref(), options)
    }

    /// Reads a whole model of one file from a stream, such as standard input, into memory.
    ///
    /// ```
    /// use tensorgate::model::{Model, Options};
    /// let model = Model::from_reader(&b"\x02\0\0\0\0\0\0\0{}"[..], &Options::default())?;
    /// assert!(model.is_empty());
    /// # Ok::<(), tensorgate::model::ModelError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). An index is refused, since it is nothing without its folder, and so is the first file of
    /// a split.
    pub fn from_reader(reader: impl Read + 'static, options: &Options) -> Result<Self, ModelError> {
        open::stream(crate::file::Head::from_reader(reader), options)
    }

    /// The format of its files.
    pub fn format(&self) -> Format {
        self.0.format
    }

    /// Its files: the shards by name, or the files of a split by number, or the only one.
    pub fn files(&self) -> &[ModelFile] {
        &self.0.files
    }

    /// The index that it was opened by, where there is one.
    pub fn index_path(&self) -> Option<&Path> {
        self.0.index.as_ref().map(|(path, _)| path.as_path())
    }

    /// What is odd about it.
    pub fn warnings(&self) -> &[Warning] {
        &self.0.warnings
    }

    /// What its files say besides tensors.
    pub fn metadata(&self) -> Metadata<'_> {
        Metadata::new(&self.0.files, self.0.index.as_ref().map(|(_, metadata)| metadata))
    }

    /// How many tensors there are, with those that have no size (see [`tensor`](Self::tensor)).
    pub fn len(&self) -> usize {
        self.0.table.len()
    }

    /// Whether there is no tensor, as in a GGUF file of a vocabulary only.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of all tensors, in the order of their bytes.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator + Clone + '_ {
        self.0.table.names()
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.table.find(name).is_some()
    }

    /// The tensor called `name`, in logarithmic time.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::NoTensor`] where there is none, with the name that was probably meant. [`ModelErrorKind::NoSize`]
    /// where it is of a type that is not known, which the limits must tolerate for the model to be opened at all.
    pub fn tensor(&self, name: &str) -> Result<Tensor, ModelError> {
        let none = |kind| ModelError::new(self.path(), kind);
        let Some(index) = self.0.table.find(name) else {
            let near = self.0.table.near(name).map(String::from);
            return Err(none(ModelErrorKind::NoTensor { name: name.into(), near }));
        };
        self.tensor_at(index).ok_or_else(|| {
            let id = self.0.table.element(index).map_or(0, ElementType::ggml_id);
            none(ModelErrorKind::NoSize { name: name.into(), id })
        })
    }

    /// The tensor called `name`, where there is one and its size is known. Cheaper than [`tensor`](Self::tensor) for
    /// those that need not be there.
    pub fn get(&self, name: &str) -> Option<Tensor> {
        self.tensor_at(self.0.table.find(name)?)
    }

    /// The tensors, in the order of their names. Those of a type that is not known are left out.
    pub fn tensors(&self) -> impl DoubleEndedIterator<Item = Tensor> + '_ {
        (0..self.len()).filter_map(|index| self.tensor_at(index))
    }

    /// The tensors, in the order in which their bytes stand in the files: the one to read a whole model in. Those of a
    /// type that is not known are left out.
    pub fn in_file_order(&self) -> impl DoubleEndedIterator<Item = Tensor> + '_ {
        self.0.table.in_file_order().iter().filter_map(|index| self.tensor_at(*index))
    }

    fn tensor_at(&self, index: usize) -> Option<Tensor> {
        Tensor::new(&self.0.table, index, &self.0.files)
    }

    /// The path that errors about the model as a whole name.
    fn path(&self) -> &Path {
        self.index_path().or_else(|| self.0.files.first().map(ModelFile::path)).unwrap_or(Path::new(""))
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("format", &self.format())
            .field("files", &self.files().len())
            .field("tensors", &self.len())
            .finish_non_exhaustive()
    }
}
