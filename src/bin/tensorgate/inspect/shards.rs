//! The tensors of a sharded model, from the headers of the shards that lie beside its index.

use std::collections::HashMap;

use serde_json::Value;
use tensorgate::file::Head;

use super::tensor::Tensor;
use super::values;
use crate::judge::{Model, Options};
use crate::parts::{self, Part};
use crate::report::Report;
use crate::work::Work;

/// The shards that are there, with their tensors.
#[derive(Debug, Default)]
pub(super) struct Shards {
    parts: Vec<(String, Part)>,
}

impl Shards {
    /// Opens the shards of an accepted index once more; of another model there are none.
    ///
    /// # Errors
    ///
    /// A report on the shard that could not be opened.
    pub(super) fn open(
        report: &Report,
        model: &Model<'_>,
        head: &Head,
        options: &Options,
    ) -> Result<Self, Box<Report>> {
        if !matches!(model, Model::Index(..)) {
            return Ok(Self::default());
        }
        let parts = parts::parts(report, model, head, options)?;
        Ok(Self { parts: parts.into_iter().map(|part| (part.name(), part)).collect() })
    }

    /// Whether no shard is there.
    pub(super) const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// All tensors of the shards that are there, each with its shard.
    pub(super) fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> + Clone {
        self.parts.iter().flat_map(|(name, part)| part.tensors.iter().filter_map(|one| Tensor::of(one, name)))
    }

    /// The same by name.
    pub(super) fn by_name(&self) -> HashMap<&str, Tensor<'_>> {
        let all = self.parts.iter().flat_map(|(name, part)| part.tensors.iter().map(move |one| (one, name)));
        all.filter_map(|(one, name)| Some((one.name.as_str(), Tensor::of(one, name)?))).collect()
    }

    /// The values of the tensors by name.
    ///
    /// # Errors
    ///
    /// A report on the shard that could not be read.
    pub(super) fn values(&self, work: &Work) -> Result<HashMap<&str, Value>, Box<Report>> {
        let mut all = HashMap::new();
        for (_, part) in &self.parts {
            let found = values::values(work, part).map_err(|error| Box::new(Report::unread(&part.path, &error)))?;
            all.extend(part.tensors.iter().map(|tensor| tensor.name.as_str()).zip(found));
        }
        Ok(all)
    }
}
