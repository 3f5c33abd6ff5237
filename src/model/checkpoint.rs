//! Checkpoints: the state of a training run in one safetensors file.
//!
//! Parameters and buffers have names under `model.`, the optimizer's state under `optim.`, and free-form strings stand in
//! `__metadata__`. Loading is strict: every name that is missing, not expected, or of another type or shape is told at
//! once, and nothing is copied before all of it was checked.

mod load;
mod new;

use std::path::Path;
use std::string::String;

pub use load::{LoadError, Mismatch, MismatchKind, Target};
pub use new::NewCheckpoint;

use super::{Format, Metadata, Model, ModelError, ModelErrorKind, Options, Tensor};

/// What the names of parameters and buffers begin with.
const PARAMETERS: &str = "model.";
/// What the names of the optimizer's state begin with.
const OPTIMIZER: &str = "optim.";

/// A checkpoint that was opened.
///
/// ```
/// use tensorgate::model::{Checkpoint, NewCheckpoint, Options, Target};
/// use tensorgate::{Dtype, safetensors};
///
/// let mut new = NewCheckpoint::new();
/// new.parameter("w", Dtype::F32, &[2], &[0, 0, 128, 63, 0, 0, 0, 64]);
/// new.optimizer("w.exp_avg", Dtype::F32, &[2], &[0; 8]);
/// new.metadata("step", "100");
/// // To a file: `file::save_safetensors`, which takes the same.
/// let bytes = safetensors::serialize(new.tensors(), new.pairs())?;
///
/// let saved = Checkpoint::from_reader(std::io::Cursor::new(bytes), &Options::default())?;
/// assert_eq!(saved.metadata().get("step").unwrap().as_str(), Some("100"));
/// let (mut w, mut average) = ([0_f32; 2], [0_f32; 2]);
/// saved.load([Target::new("w", &[2], &mut w)], [Target::new("w.exp_avg", &[2], &mut average)])?;
/// assert_eq!(w, [1.0, 2.0]);
///
/// // All that is wrong is told at once, and nothing was copied.
/// let error = saved.parameters().load([Target::new("v", &[2], &mut w)]).unwrap_err();
/// assert_eq!(error.missing(), ["model.v"]);
/// assert_eq!(error.unexpected(), ["model.w"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint(Model);

impl Checkpoint {
    /// Opens the checkpoint at `path`.
    ///
    /// # Errors
    ///
    /// As [`Model::open`], and [`ModelErrorKind::NotCheckpoint`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(path, &Options::default())
    }

    /// Opens the checkpoint at `path` as the options say.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, ModelError> {
        Self::from_model(Model::open_with(path, options)?)
    }

    /// Reads a checkpoint from a stream.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_reader(reader: impl std::io::Read + 'static, options: &Options) -> Result<Self, ModelError> {
        Self::from_model(Model::from_reader(reader, options)?)
    }

    /// The checkpoint that a model is.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::NotCheckpoint`] where it is not one safetensors file, or a name stands under neither `model.` nor
    /// `optim.`.
    pub fn from_model(model: Model) -> Result<Self, ModelError> {
        let fault = |name: Option<&str>| {
            let name = name.map(String::from);
            ModelError::new(model.path(), ModelErrorKind::NotCheckpoint { name })
        };
        if model.format() != Format::SafeTensors || model.files().len() != 1 {
            return Err(fault(None));
        }
        let stray = |name: &&str| !name.starts_with(PARAMETERS) && !name.starts_with(OPTIMIZER);
        let stray = model.names().find(stray).map(|name| fault(Some(name)));
        match stray {
            Some(error) => Err(error),
            None => Ok(Self(model)),
        }
    }

    /// Parameters and buffers.
    pub const fn parameters(&self) -> Part<'_> {
        Part { model: &self.0, prefix: PARAMETERS }
    }

    /// The optimizer's state.
    pub const fn optimizer(&self) -> Part<'_> {
        Part { model: &self.0, prefix: OPTIMIZER }
    }

    /// Its strings.
    pub fn metadata(&self) -> Metadata<'_> {
        self.0.metadata()
    }

    /// All of it, with whole names.
    pub const fn model(&self) -> &Model {
        &self.0
    }

    /// Copies both parts into the targets, whose names are without `model.` and `optim.`: all of it, or nothing.
    ///
    /// # Errors
    ///
    /// [`LoadError`] with everything that does not fit; then no target was touched.
    pub fn load<'t>(
        &self,
        parameters: impl IntoIterator<Item = Target<'t>>,
        optimizer: impl IntoIterator<Item = Target<'t>>,
    ) -> Result<(), LoadError> {
        load::all([
            (self.parameters(), parameters.into_iter().collect()),
            (self.optimizer(), optimizer.into_iter().collect()),
        ])
    }
}

/// Parameters and buffers of a checkpoint, or its optimizer's state; names are without what all of them begin with.
#[derive(Clone, Copy, Debug)]
pub struct Part<'c> {
    model: &'c Model,
    prefix: &'static str,
}

impl<'c> Part<'c> {
    /// The names, in the order of their bytes.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &'c str> + Clone + use<'c> {
        let prefix = self.prefix;
        self.model.names().filter_map(move |name| name.strip_prefix(prefix))
    }

    /// The tensor called `name`, where there is one.
    pub fn get(&self, name: &str) -> Option<Tensor> {
        self.model.get(&self.whole(name))
    }

    /// Copies this part into the targets: all of it, or nothing.
    ///
    /// # Errors
    ///
    /// [`LoadError`] with everything that does not fit; then no target was touched.
    pub fn load<'t>(&self, targets: impl IntoIterator<Item = Target<'t>>) -> Result<(), LoadError> {
        load::all([(*self, targets.into_iter().collect())])
    }

    fn whole(&self, name: &str) -> String {
        [self.prefix, name].concat()
    }
}
