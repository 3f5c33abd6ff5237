//! Checkpoints: parameters, buffers and the optimizer's state in one safetensors file, with free-form metadata.
//!
//! Parameters and buffers stand under `model.`, the optimizer's state under `optim.`, so that any reader of safetensors can
//! tell them apart. Saving is atomic ([`Saver`]). Loading is strict, and it is *check, then copy*: every name, shape and
//! type is compared first, and all that is wrong is told at once; then the bytes are read into private memory and checked;
//! and only then the caller's slices are written, which cannot fail any more. So a load that fails changes nothing.
//!
//! ```
//! use tensorgate::model::checkpoint::{Checkpoint, Restore};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("step-100.safetensors");
//! let (mut w, mut momentum, mut step) = ([1.0_f32, 2.0], [0.5_f32, 0.25], 100_i64);
//! Checkpoint::new()
//!     .model("w", &[2], &w)
//!     .optimizer("momentum.w", &[2], &momentum)
//!     .optimizer("step", &[], &[step])
//!     .metadata("lr", "0.001")
//!     .save(&path)?;
//!
//! (w, momentum, step) = ([0.0; 2], [0.0; 2], 0);
//! let metadata = Restore::new()
//!     .model("w", &[2], &mut w)
//!     .optimizer("momentum.w", &[2], &mut momentum)
//!     .optimizer("step", &[], std::slice::from_mut(&mut step))
//!     .load(&path)?;
//! assert_eq!((w, momentum, step, metadata["lr"].as_str()), ([1.0, 2.0], [0.5, 0.25], 100, "0.001"));
//! # Ok(())
//! # }
//! ```

use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{fmt, format};

mod error;
mod restore;
mod values;

pub use error::{Mismatch, RestoreError};
pub use restore::Restore;
pub use values::{Values, ValuesMut};

use crate::file::{SaveError, Saver};
use crate::safetensors::{Plan, TensorSpec};

/// What the names of parameters and buffers begin with.
pub const MODEL: &str = "model.";

/// What the names of the optimizer's state begin with.
pub const OPTIMIZER: &str = "optim.";

/// A checkpoint to be saved: named slices of the caller's.
#[derive(Clone, Default)]
pub struct Checkpoint<'a> {
    entries: Vec<Entry<'a>>,
    metadata: Vec<(String, String)>,
}

#[derive(Clone)]
struct Entry<'a> {
    name: String,
    shape: &'a [u64],
    values: Values<'a>,
}

impl<'a> Checkpoint<'a> {
    /// One with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a parameter or buffer of the model: `values` in row-major order, `shape` outermost first (empty for a scalar).
    #[must_use]
    pub fn model(self, name: &str, shape: &'a [u64], values: impl Into<Values<'a>>) -> Self {
        self.with(MODEL, name, shape, values.into())
    }

    /// With a part of the optimizer's state.
    #[must_use]
    pub fn optimizer(self, name: &str, shape: &'a [u64], values: impl Into<Values<'a>>) -> Self {
        self.with(OPTIMIZER, name, shape, values.into())
    }

    fn with(mut self, prefix: &str, name: &str, shape: &'a [u64], values: Values<'a>) -> Self {
        self.entries.push(Entry { name: format!("{prefix}{name}"), shape, values });
        self
    }

    /// With a pair of metadata.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "numbers are given by value")]
    pub fn metadata(mut self, key: impl ToString, value: impl ToString) -> Self {
        self.metadata.push((key.to_string(), value.to_string()));
        self
    }

    /// Saves the checkpoint.
    ///
    /// # Errors
    ///
    /// As [`save_with`](Self::save_with).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        self.save_with(path, &Saver::new())
    }

    /// Saves the checkpoint as `saver` saves.
    ///
    /// # Errors
    ///
    /// [`SaveError::Safetensors`] where a name or key is there twice, [`SaveError::ByteCount`] where a slice is not as long
    /// as its shape says, both before anything is touched; [`SaveError::Atomic`].
    pub fn save_with(&self, path: impl AsRef<Path>, saver: &Saver<'_>) -> Result<(), SaveError> {
        let specs =
            self.entries.iter().map(|entry| TensorSpec::new(&entry.name, entry.values.dtype(), entry.shape));
        let metadata = (!self.metadata.is_empty()).then(|| self.metadata.iter().map(|(key, value)| (key, value)));
        let plan = Plan::new(specs, metadata, saver.limits())?;
        for tensor in plan.tensors() {
            let (index, expected) = (tensor.index(), tensor.span().len());
            let given = self.entries.get(index).map_or(0, |entry| entry.values.byte_len());
            if given != expected {
                return Err(SaveError::ByteCount { index, expected, given });
            }
        }
        saver.layout(path, plan.layout(), |index, tensor| match self.entries.get(index) {
            Some(entry) => Ok(entry.values.write_le(tensor)?),
            None => Ok(()),
        })
    }
}

impl fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint")
            .field("tensors", &self.entries.len())
            .field("metadata", &self.metadata)
            .finish()
    }
}
