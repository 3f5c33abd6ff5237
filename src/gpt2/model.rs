//! A model that was loaded: its config, its weights where they stand, and what is to be noted about them.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::{Config, Fields, MAX_CONFIG_LEN};
use super::prepare;
use super::problem::{Problem, Problems};
use super::quantize::Quantize;
use super::weights::{self, Weights};
use crate::Limits;
use crate::model::{Format, Model, ModelError, Options};

/// The longest beginning of a GGUF file that is read unless the caller says otherwise, in bytes.
const METADATA_LEN: u64 = 256 << 20;

/// How a model is loaded.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// How its files are opened.
    pub files: Options,
    /// Bytes of memory that may be taken for what is not used where it stands in the file: biases, norms, and weights
    /// that are brought into another form. Default: 16 GiB.
    pub memory_limit: u64,
    /// Whether F32, F16 and BF16 weights are brought into blocks, which takes memory and a moment, and makes every token
    /// faster. Weights that are in blocks stay as they are.
    pub quantize: Option<Quantize>,
    /// Whether weights in Q8_0, Q4_0, Q4_K and Q6_K, also those that [`quantize`](Self::quantize) makes, are copied into an
    /// order that the processor reads best ([`Packed`](crate::simd::Packed)): it takes as much memory again as they do and
    /// a moment, and makes every token faster. Weights of other types stay as they are.
    pub repack: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        // A vocabulary takes a few megabytes; a file of nothing but metadata would take what it claims.
        let limits = Limits::DEFAULT.with_metadata_len(METADATA_LEN);
        Self {
            files: Options::default().with_limits(limits),
            memory_limit: 16 << 30,
            quantize: None,
            repack: false,
        }
    }
}

/// Why a model was not loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// Its files cannot be opened.
    Model(ModelError),
    /// Its `config.json` cannot be read.
    Config(PathBuf, io::Error),
    /// It cannot be run.
    Problems(Problems),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Config(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Problems(problems) => problems.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model(error) => Some(error),
            Self::Config(_, error) => Some(error),
            Self::Problems(error) => Some(error),
        }
    }
}

impl From<Problems> for LoadError {
    fn from(problems: Problems) -> Self {
        Self::Problems(problems)
    }
}

/// A GPT-2 that was loaded. Cheap to clone; its weights stay in the file, of which only what is touched is in memory, unless
/// the options say otherwise.
#[derive(Clone)]
pub struct Gpt2(Arc<Inner>);

struct Inner {
    config: Config,
    weights: Weights,
    notes: Vec<String>,
}

impl Gpt2 {
    /// Loads the model at `path`: a safetensors file, its index or its folder, with `config.json` beside it, or a GGUF file.
    ///
    /// Where there is no `config.json`, the shapes of the weights tell the dimensions, and notes say what they told.
    ///
    /// # Errors
    ///
    /// [`LoadError`]: of what makes the model unfit to be run, all problems at once.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::open_with(path, &LoadOptions::default())
    }

    /// Loads the model at `path` as the options say.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Self, LoadError> {
        Self::of_files(&Model::open_with(path, &options.files).map_err(LoadError::Model)?, options)
    }

    /// Takes a model that was opened, with the `config.json` beside its files.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn of_files(model: &Model, options: &LoadOptions) -> Result<Self, LoadError> {
        let config = match model.format() {
            Format::SafeTensors => beside(model)?,
            _ => None,
        };
        Ok(Self::new(model, config.as_deref(), options)?)
    }

    /// Takes a model that was opened. `config` is the text of `config.json`; a GGUF file has its own.
    ///
    /// ```
    /// use tensorgate::gpt2::{Gpt2, LoadOptions};
    /// use tensorgate::model::{Model, Options};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = Model::from_reader(&b"\x02\0\0\0\0\0\0\0{}"[..], &Options::default())?;
    /// let config = br#"{"n_layer":1,"n_head":1,"n_embd":8,"n_positions":4,"vocab_size":5}"#;
    /// let problems = Gpt2::new(&model, Some(config), &LoadOptions::default()).unwrap_err();
    /// assert!(problems.to_string().contains("n_layer is 1, expected at most the number of tensors"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Problems`]: all that makes the model unfit to be run.
    pub fn new(model: &Model, config: Option<&[u8]>, options: &LoadOptions) -> Result<Self, Problems> {
        let fields = match (model.files().first().and_then(crate::model::ModelFile::gguf), config) {
            (Some(header), _) => Fields::from_gguf(&header)?,
            (None, Some(config)) => Fields::from_json(config)?,
            (None, None) => Fields::default(),
        };
        let (config, mut weights, mut notes) = weights::load(model, &fields, options.memory_limit)?;
        prepare::all(&mut weights, options, &mut notes)?;
        Ok(Self(Arc::new(Inner { config, weights, notes })))
    }

    /// Its dimensions.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// What was not said and had to be taken from elsewhere, and what is in the file and not used.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// Bytes of weights that are read for each token: all matrices but those of embeddings, of which a row is read.
    pub fn bytes_per_token(&self) -> u64 {
        self.0.weights.bytes_per_token()
    }

    /// Touches the weights that stand in a mapped file, in the order in which a text meets them, so that their pages are there
    /// when the first text comes: for a thread that has nothing to do while, say, the vocabulary is loaded. It ends when all
    /// were touched, or when `go_on`, which is asked again and again, says no. Nothing needs it.
    ///
    /// A file that is not in the system's cache is read by it; one that was cut meanwhile ends the program, as it would
    /// when the model is run ([`FileBytes`](crate::file::FileBytes), *Files that change*).
    pub fn touch(&self, go_on: impl FnMut() -> bool) {
        self.weights().touch(go_on);
    }

    pub(super) fn weights(&self) -> &Weights {
        &self.0.weights
    }

    /// What tells one model from another, so that a session is not continued with weights that it was not begun with. It
    /// is no protection against somebody who means to confuse.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut feed = |bytes: [u8; 4]| {
            for byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        let config = self.config();
        for dimension in [config.n_layer(), config.n_head(), config.n_embd(), config.n_inner(), config.n_vocab()] {
            feed(u32::try_from(dimension).unwrap_or(u32::MAX).to_le_bytes());
        }
        for vector in self.weights().vectors() {
            for value in vector {
                feed(value.to_le_bytes());
            }
        }
        hash
    }
}

impl fmt::Debug for Gpt2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpt2").field("config", self.config()).finish_non_exhaustive()
    }
}

/// The text of the `config.json` beside a model, where there is one.
fn beside(model: &Model) -> Result<Option<Vec<u8>>, LoadError> {
    let Some(folder) = model.files().first().and_then(|file| file.path().parent()) else { return Ok(None) };
    let path = folder.join("config.json");
    let wrong = |error| LoadError::Config(path.clone(), error);
    match std::fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error)),
        Ok(found) if !found.is_file() => return Err(wrong(io::Error::other("not a file"))),
        // What is read of it would be no more than the limit, and is not its length.
        Ok(found) if found.len() > MAX_CONFIG_LEN => {
            return Err(Problems::from(Problem::ConfigLength(found.len())).into());
        }
        Ok(_) => {}
    }
    let file = std::fs::File::open(&path).map_err(wrong)?;
    let mut text = Vec::new();
    // One byte more than is taken, so that one that has grown is seen to be too long.
    file.take(MAX_CONFIG_LEN.saturating_add(1)).read_to_end(&mut text).map_err(wrong)?;
    Ok(Some(text))
}
