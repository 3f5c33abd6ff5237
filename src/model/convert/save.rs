//! Writing what was planned.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use super::data::{stream, unread};
use super::pairs::{alignment, decoded, for_gguf, for_safetensors};
use super::{ConvertError, Loss, Plan};
use crate::file::{SaveError, SavedTensor, Saver};
use crate::gguf::{self, GgmlType, PairSpec, WriteOptions};
use crate::model::{Format, ModelFile, Source};
use crate::{Dtype, safetensors};

/// Where the new model goes.
#[derive(Clone, Copy, Debug)]
pub enum Target<'t> {
    /// One file.
    File(&'t Path),
    /// Several files of at most so many bytes of tensors: of safetensors the folder of [`Saver::sharded`], with an index;
    /// of GGUF the file name of [`Saver::split_gguf`], of which theirs are made.
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
        let mut report = Report::default();
        report.losses.try_reserve_exact(self.outputs.len())?;
        report.losses.resize(self.outputs.len(), None);
        match self.conversion.format {
            Format::Gguf => self.gguf(target, saver, &mut report)?,
            Format::SafeTensors => self.safetensors(target, saver, &mut report)?,
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
        let path = self.model.files().get(output.source.file()).map_or(Path::new(""), ModelFile::path);
        let refuse = |error| unread(&output.source, path, error);
        let mut source = Source::open(&output.source, path).map_err(refuse)?;
        let loss = stream(&self.conversion, output, &mut source, &mut |bytes| Ok(tensor.write(bytes)?))?;
        source.unchanged().map_err(refuse)?;
        let changed = output.element.dtype() != output.source.element().dtype() || output.element.dtype().is_none();
        if let Some(place) = losses.get_mut(index).filter(|_| changed && output.element != output.source.element())
        {
            *place = Some(loss);
        }
        Ok(())
    }

    fn gguf(&self, target: Target<'_>, saver: &Saver<'_>, report: &mut Report) -> Result<(), ConvertError> {
        let texts = decoded(&self.model)?;
        let pairs = for_gguf(&self.conversion, &self.model, &texts, &self.outputs)?;
        let mut options = WriteOptions::default().with_endian(self.conversion.endian);
        if let Some(alignment) = alignment(&self.conversion, &self.model) {
            options = options.with_alignment(alignment);
        }
        let plan = |pairs: &[PairSpec<'_>], range: Range<usize>| {
            let specs = self.outputs.get(range).unwrap_or_default().iter().map(|output| {
                let kind = output.element.ggml().unwrap_or(GgmlType::F32);
                gguf::TensorSpec::new(output.name(), kind, output.shape())
            });
            gguf::Plan::new(pairs.iter().copied(), specs, &options).map_err(ConvertError::Gguf)
        };
        let losses = &mut report.losses;
        match target {
            Target::File(path) => {
                let plan = plan(&pairs.pairs, 0..self.outputs.len())?;
                saver.layout(path, plan.layout(), |index, tensor| self.fill(index, tensor, losses))?;
                report.files.push(path.to_path_buf());
            }
            Target::Shards(path, most) => {
                let ranges = files(&self.outputs, most);
                let mut plans = Vec::new();
                for (number, range) in ranges.iter().enumerate() {
                    let keys = split_keys(number, ranges.len(), self.outputs.len())?;
                    // As llama.cpp's own tool does it, only the first file says what the model is.
                    let rest: &[PairSpec<'_>] = if number == 0 { &pairs.pairs } else { &[] };
                    let pairs: Vec<_> = rest.iter().copied().chain(keys).collect();
                    plans.push(plan(&pairs, range.clone())?);
                }
                report.files = saver.split_gguf(path, &plans, |number, index, tensor| {
                    let first = ranges.get(number).map_or(0, |range| range.start);
                    self.fill(first.saturating_add(index), tensor, losses)
                })?;
            }
        }
        report.dropped = pairs.dropped;
        Ok(())
    }

    fn safetensors(&self, target: Target<'_>, saver: &Saver<'_>, report: &mut Report) -> Result<(), ConvertError> {
        let (texts, dropped) = for_safetensors(&self.model);
        let mut pairs = Vec::new();
        pairs.try_reserve_exact(texts.len())?;
        pairs.extend(texts.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let metadata = (!pairs.is_empty()).then_some(pairs);
        let mut specs = Vec::new();
        specs.try_reserve_exact(self.outputs.len())?;
        specs.extend(self.outputs.iter().map(|output| {
            let dtype = output.element.dtype().unwrap_or(Dtype::U8);
            safetensors::TensorSpec::new(output.name(), dtype, output.shape())
        }));
        let losses = &mut report.losses;
        match target {
            Target::File(path) => {
                let alignment = self.conversion.alignment.unwrap_or(1);
                let plan = safetensors::Plan::aligned(specs, metadata, alignment, &crate::Limits::DEFAULT)
                    .map_err(ConvertError::Safetensors)?;
                saver.layout(path, plan.layout(), |index, tensor| self.fill(index, tensor, losses))?;
                report.files.push(path.to_path_buf());
            }
            Target::Shards(folder, most) => {
                let written = saver.sharded_with(folder, most, &specs, metadata, |index, tensor| {
                    self.fill(index, tensor, losses)
                })?;
                report.files.extend(written.files().iter().cloned());
                report.files.extend(written.index().map(Path::to_path_buf));
            }
        }
        report.dropped = dropped;
        Ok(())
    }
}

/// What a file of a split says of it: `split.no` from 0, `split.count` and `split.tensors.count`, in llama.cpp's types.
fn split_keys<'k>(number: usize, count: usize, tensors: usize) -> Result<[PairSpec<'k>; 3], ConvertError> {
    let too_many = || ConvertError::Save(SaveError::other("a model can be split into at most 65,535 files"));
    let short = |value: usize| u16::try_from(value).map_err(|_| too_many());
    let tensors = i32::try_from(tensors).map_err(|_| too_many())?;
    Ok([
        PairSpec::new("split.no", short(number)?),
        PairSpec::new("split.count", short(count)?),
        PairSpec::new("split.tensors.count", tensors),
    ])
}

/// The indices of the tensors of each file of a split: at most `most` bytes together, or one tensor that has more.
fn files(outputs: &[super::Output], most: u64) -> Vec<Range<usize>> {
    crate::shards::split(outputs.iter().map(super::Output::byte_len), most)
}
