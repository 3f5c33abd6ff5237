//! Writing what was planned.

use std::path::{Path, PathBuf};
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::data::stream;
use super::pairs::{decoded, for_gguf, for_safetensors};
use super::{ConvertError, Loss, Plan};
use crate::file::{SaveError, SavedTensor, Saver};
use crate::gguf::{self, GgmlType, WriteOptions};
use crate::model::{ElementType, Format};
use crate::{Dtype, safetensors};

/// Where the new model goes.
#[derive(Clone, Copy, Debug)]
pub enum Target<'t> {
    /// One file.
    File(&'t Path),
    /// A folder, in shards of at most so many bytes of tensors, with an index, as [`Saver::sharded`] makes them; of
    /// safetensors only.
    Shards(&'t Path, u64),
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    losses: Vec<Option<Loss>>,
    dropped: Vec<String>,
    files: Vec<PathBuf>,
}

impl Report {
    /// What each tensor lost, in the order of [`Plan::outputs`]; `None` where its type stayed.
    pub fn losses(&self) -> &[Option<Loss>] {
        &self.losses
    }

    /// Keys of the source's metadata that the new format cannot have.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// The files that were written, an index among them.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl Plan<'_> {
    /// Writes the new model, atomically: what was there before stays until all of it is on the disk. Also over the files
    /// that the tensors come from.
    ///
    /// # Errors
    ///
    /// [`ConvertError::NotFinite`] where a value is none that can be converted, [`ConvertError::Save`], and where there
    /// can be no such file.
    pub fn save(&self, target: Target<'_>, saver: &Saver<'_>) -> Result<Report, ConvertError> {
        let mut report = Report { losses: vec![None; self.outputs.len()], ..Report::default() };
        match (self.conversion.format, target) {
            (Format::Gguf, Target::File(path)) => self.gguf(path, saver, &mut report)?,
            (Format::SafeTensors, target) => self.safetensors(target, saver, &mut report)?,
            (Format::Gguf, Target::Shards(..)) => {
                let error = "GGUF models are split into files, not into shards with an index";
                return Err(ConvertError::Save(SaveError::other(error)));
            }
        }
        Ok(report)
    }

    /// Gives one tensor's bytes to the writer of any format.
    fn fill<P>(
        &self,
        index: usize,
        tensor: &mut SavedTensor<'_, '_, '_, P>,
        losses: &mut [Option<Loss>],
    ) -> Result<(), SaveError>
    where
        P: Into<SaveError>,
    {
        let Some(output) = self.outputs.get(index) else { return Ok(()) };
        let loss = stream(&self.conversion, output, &mut |bytes| Ok(tensor.write(bytes)?))?;
        let changed = output.element.dtype() != output.source.element().dtype() || output.element.dtype().is_none();
        if let Some(place) = losses.get_mut(index).filter(|_| changed && output.element != output.source.element())
        {
            *place = Some(loss);
        }
        Ok(())
    }

    fn gguf(&self, path: &Path, saver: &Saver<'_>, report: &mut Report) -> Result<(), ConvertError> {
        let texts = decoded(&self.model);
        let pairs =
            for_gguf(&self.conversion, &self.model, &texts, self.outputs.iter().map(super::Output::element));
        let mut options = WriteOptions::default().with_endian(self.conversion.endian);
        if let Some(alignment) = self.conversion.alignment {
            options = options.with_alignment(alignment);
        }
        let specs = self.outputs.iter().map(|output| {
            let kind = match output.element {
                ElementType::Ggml(kind) => kind,
                ElementType::Dtype(_) => GgmlType::F32,
            };
            gguf::TensorSpec::new(output.name(), kind, output.shape())
        });
        let plan = gguf::Plan::new(pairs.pairs, specs, &options).map_err(ConvertError::Gguf)?;
        let losses = &mut report.losses;
        saver.layout(path, plan.layout(), |index, tensor| self.fill(index, tensor, losses))?;
        report.dropped = pairs.dropped;
        report.files.push(path.to_path_buf());
        Ok(())
    }

    fn safetensors(&self, target: Target<'_>, saver: &Saver<'_>, report: &mut Report) -> Result<(), ConvertError> {
        let (texts, dropped) = for_safetensors(&self.model);
        let metadata = (!texts.is_empty())
            .then(|| texts.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<Vec<_>>());
        let specs: Vec<_> = self
            .outputs
            .iter()
            .map(|output| {
                let dtype = output.element.dtype().unwrap_or(Dtype::U8);
                safetensors::TensorSpec::new(output.name(), dtype, output.shape())
            })
            .collect();
        let losses = &mut report.losses;
        match target {
            Target::File(path) => {
                let plan = safetensors::Plan::new(specs, metadata, &crate::Limits::DEFAULT)
                    .map_err(ConvertError::Safetensors)?;
                saver.layout(path, plan.layout(), |index, tensor| self.fill(index, tensor, losses))?;
                report.files.push(path.to_path_buf());
            }
            Target::Shards(folder, most) => {
                let saved = saver.sharded_with(folder, most, &specs, metadata, |index, tensor| {
                    self.fill(index, tensor, losses)
                })?;
                report.files.extend(saved.files().iter().cloned());
                report.files.extend(saved.index().map(Path::to_path_buf));
            }
        }
        report.dropped = dropped;
        Ok(())
    }
}
