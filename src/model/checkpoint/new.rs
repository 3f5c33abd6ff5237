//! A checkpoint to be saved.

use std::string::String;
use std::vec::Vec;

use super::{OPTIMIZER, PARAMETERS};
use crate::Dtype;
use crate::safetensors::{TensorData, TensorSpec};

/// The tensors and strings of a checkpoint that is to be saved, under the names that [`Checkpoint`](super::Checkpoint)
/// looks for. It borrows the tensors' bytes.
#[derive(Clone, Debug, Default)]
pub struct NewCheckpoint<'a> {
    tensors: Vec<(String, Dtype, &'a [u64], &'a [u8])>,
    metadata: Vec<(String, String)>,
}

impl<'a> NewCheckpoint<'a> {
    /// With nothing in it.
    pub const fn new() -> Self {
        Self { tensors: Vec::new(), metadata: Vec::new() }
    }

    /// Adds a parameter or a buffer: dimensions outermost first, bytes little-endian and row-major. Whether they are as
    /// many as they should be is judged when it is saved.
    pub fn parameter(&mut self, name: &str, dtype: Dtype, shape: &'a [u64], bytes: &'a [u8]) -> &mut Self {
        self.tensors.push(([PARAMETERS, name].concat(), dtype, shape, bytes));
        self
    }

    /// Adds some of the optimizer's state, as [`parameter`](Self::parameter) does.
    pub fn optimizer(&mut self, name: &str, dtype: Dtype, shape: &'a [u64], bytes: &'a [u8]) -> &mut Self {
        self.tensors.push(([OPTIMIZER, name].concat(), dtype, shape, bytes));
        self
    }

    /// Adds a string.
    pub fn metadata(&mut self, key: &str, value: &str) -> &mut Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// The tensors, for a writer of safetensors files.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = TensorData<'_>> + Clone {
        self.tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| TensorSpec::new(name.as_str(), *dtype, shape).with_bytes(bytes))
    }

    /// The strings, for a writer of safetensors files; `None` where there are none.
    pub fn pairs(&self) -> Option<impl Iterator<Item = (&str, &str)> + Clone> {
        let pairs = self.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        (!self.metadata.is_empty()).then_some(pairs)
    }
}
