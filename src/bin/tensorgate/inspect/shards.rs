//! The tensors of a model in several files, from the headers of those that lie beside its index, or beside its first file.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use tensorgate::file::Head;

use super::human::{NAME, cut};
use super::tensor::Tensor;
use super::values;
use crate::judge::{Model, Options};
use crate::parts::{self, Part};
use crate::report::Report;
use crate::work::Work;
use crate::{complain, text};

/// The shards that are there, with their tensors.
#[derive(Debug, Default)]
pub(super) struct Shards {
    parts: Vec<(String, Part)>,
    /// Those that are not, of a split model: what would be in them is not known.
    missing: Vec<String>,
}

impl Shards {
    /// Opens the shards of an accepted index, or of the first file of a split model, once more; of another model there are
    /// none.
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
        let others = match model {
            Model::Gguf(header) if head.file().is_some() => parts::siblings(&report.path, header),
            _ => Vec::new(),
        };
        if others.is_empty() && !matches!(model, Model::Index(..)) {
            if let Some(note) = parts::alone(&report.path, model) {
                complain(&note);
            }
            return Ok(Self::default());
        }
        let parts = parts::parts(report, model, head, options)?;
        let lost = others.iter().filter(|path| parts.iter().all(|part| part.path != **path));
        let missing = lost.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
        Ok(Self { parts: parts.into_iter().map(|part| (part.name(), part)).collect(), missing })
    }

    /// Whether no shard is there.
    pub(super) const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// All tensors of the shards that are there, each with its shard.
    pub(super) fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> + Clone {
        self.parts.iter().flat_map(|(name, part)| part.tensors.iter().filter_map(|one| Tensor::of(one, name)))
    }

    /// How many files the model has.
    pub(super) const fn files(&self) -> usize {
        self.parts.len().saturating_add(self.missing.len())
    }

    /// Tensors of types that nobody knows the size of, which are not among those shown.
    pub(super) fn left_out(&self) -> u64 {
        let left = self.parts.iter().map(|(_, part)| part.left_out).fold(0, usize::saturating_add);
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// The files of a split model for people.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(super) fn print(&self, out: &mut impl Write, all: bool) -> io::Result<()> {
        let bytes = self.tensors().fold(0_u64, |sum, tensor| sum.saturating_add(tensor.span.len()));
        writeln!(out, "shards      {}, {} there with {}", self.files(), self.parts.len(), text::size(bytes))?;
        for (name, tensors, bytes) in self.sums() {
            let tensors = text::count(tensors, "tensor");
            writeln!(out, "  {}  {tensors}, {}", cut(name, NAME, all), text::size(bytes))?;
        }
        for name in &self.missing {
            writeln!(out, "  {}  not there", cut(name, NAME, all))?;
        }
        Ok(())
    }

    /// The files of a split model for programs.
    pub(super) fn json(&self) -> Vec<Value> {
        let there =
            self.sums().map(|(name, tensors, bytes)| json!({"name": name, "tensors": tensors, "bytes": bytes}));
        let lost = self.missing.iter().map(|name| json!({"name": name, "tensors": null, "bytes": null}));
        there.chain(lost).collect()
    }

    /// The files that are there: their names, how many tensors they have, and the bytes of these.
    fn sums(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        self.parts.iter().map(|(name, part)| {
            let bytes = part.tensors.iter().map(parts::Tensor::len).fold(0, u64::saturating_add);
            let count = part.tensors.len().saturating_add(part.left_out);
            (name.as_str(), u64::try_from(count).unwrap_or(u64::MAX), bytes)
        })
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
