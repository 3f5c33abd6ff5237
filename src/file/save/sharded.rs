//! Saving a model in shards, all of them or none.
//!
//! `docs/durability.md` says why it is done in this order and what a reader sees at each moment.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use super::folder::{Folder, INDEX, OldModel, SINGLE};
use super::{SaveError, SavedTensor, Saver, written};
use crate::file::atomic::{Atomic, Staged};
use crate::safetensors::{Plan, PlanError, TensorData, TensorSpec};
use crate::{Limits, Name, ShardIndex, num, shards};

/// What a sharded save made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedShards {
    files: Vec<PathBuf>,
    index: Option<PathBuf>,
    left: Vec<PathBuf>,
}

impl SavedShards {
    /// The files with the tensors, in the order in which these were given: one, or a shard each.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The index; `None` where everything went into one file.
    pub fn index(&self) -> Option<&Path> {
        self.index.as_deref()
    }

    /// Files of the model that was there before which could not be removed. No index names them.
    pub fn left(&self) -> &[PathBuf] {
        &self.left
    }
}

/// A folder's new model: the plan of each shard, and which tensors are in it.
struct Draft<'s, 'a> {
    specs: &'s [TensorSpec<'a>],
    ranges: Vec<core::ops::Range<usize>>,
    plans: Vec<Plan>,
    total: u64,
}

impl<'s, 'a> Draft<'s, 'a> {
    /// Everything that could be refused is refused here.
    fn new<'m, M, K, V>(
        specs: &'s [TensorSpec<'a>],
        metadata: Option<&M>,
        most: u64,
        limits: &Limits,
    ) -> Result<Self, SaveError>
    where
        M: IntoIterator<Item = (K, V)> + Clone,
        K: Into<Name<'m>>,
        V: Into<Name<'m>>,
    {
        // All tensors at once, so that an error names a tensor by the caller's index, and a name that is there twice is
        // found in whichever shards. The header of all of them together need not be one that a reader takes.
        let whole = limits.with_header_len(u64::MAX).with_tensors(u64::MAX);
        let plan = Plan::new(specs, metadata.cloned(), &whole)?;
        let total = plan.tensors().fold(0_u64, |sum, tensor| sum.saturating_add(tensor.span().len()));
        let ranges = shards::split(specs.iter().map(|spec| spec.byte_len().unwrap_or(0)), most);
        let mut plans = Vec::new();
        for range in &ranges {
            let of_shard = specs.get(range.clone()).unwrap_or_default();
            plans.push(Plan::new(of_shard, metadata.cloned(), limits)?);
        }
        let draft = Self { specs, ranges, plans, total };
        if draft.plans.len() > 1 {
            // With the longest names that the shards can have.
            let text = draft.index(u64::MAX)?;
            ShardIndex::open_with(&text, limits).map_err(SaveError::Index)?;
        }
        Ok(draft)
    }

    /// The shards' file names in a generation.
    fn names(&self, generation: u64) -> Vec<String> {
        let count = self.plans.len();
        (1..=count).map(|number| shard_name(generation, number, count)).collect()
    }

    /// The index's text.
    fn index(&self, generation: u64) -> Result<Vec<u8>, PlanError> {
        let names = self.names(generation);
        let mut entries = Vec::new();
        for (range, name) in self.ranges.iter().zip(&names) {
            let of_shard = self.specs.get(range.clone()).unwrap_or_default();
            entries.try_reserve(of_shard.len()).map_err(|_| PlanError::OutOfMemory)?;
            entries.extend(of_shard.iter().map(|spec| (spec.name(), Name::from(name))));
        }
        shards::serialize(entries, self.total).map_err(|_| PlanError::OutOfMemory)
    }
}

/// A shard's name. The first generation has Hugging Face's names; later ones say which they are.
fn shard_name(generation: u64, number: usize, count: usize) -> String {
    let generation = if generation > 1 { format!("-gen{generation}") } else { String::new() };
    format!("model{generation}-{number:05}-of-{count:05}.safetensors")
}

impl Saver<'_> {
    /// Saves a model in `folder`, in shards of at most `most` bytes of tensors (their headers come on top), all or nothing.
    ///
    /// Tensors stay in the order in which they are given, and one that is longer than `most` has a shard to itself. More
    /// than one shard are called `model-00001-of-00003.safetensors` and so on, with `model.safetensors.index.json`, as
    /// Hugging Face's libraries do it; a single one is `model.safetensors`, without an index. Each has the `metadata`.
    ///
    /// A model that was in the folder stays as it is, under its names, until the new one is whole and on the disk. Then the
    /// index is replaced in one step, and the old files are removed. So that no file of the old model is replaced before
    /// that, a folder that has shards gets new ones of other names, `model-gen2-00001-of-00003.safetensors` with a number
    /// that is one more each time. Shards that no index names stay, since they may be of a download that is not finished, but
    /// for those of later generations, which are of a save that was killed (where the file system has no locks, these stay too).
    ///
    /// ```
    /// use tensorgate::file::Saver;
    /// use tensorgate::safetensors::{NO_METADATA, TensorSpec};
    /// use tensorgate::Dtype;
    /// # let folder = tempfile::tempdir()?;
    /// let bytes = [0; 8];
    /// let tensors = ["a", "b", "c"].map(|name| TensorSpec::new(name, Dtype::F32, &[2]).with_bytes(&bytes));
    /// let saved = Saver::new().sharded(&folder, 20, tensors, NO_METADATA)?;
    /// assert_eq!(saved.files()[1], folder.path().join("model-00002-of-00002.safetensors"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SaveError::Safetensors`], [`SaveError::Index`] and [`SaveError::ByteCount`] before anything is touched, then
    /// [`SaveError::Atomic`]: the folder has its old model, unless [`SaveError::is_committed`].
    pub fn sharded<'a, 'm, T, M, K, V>(
        &self,
        folder: impl AsRef<Path>,
        most: u64,
        tensors: impl IntoIterator<Item = T>,
        metadata: Option<M>,
    ) -> Result<SavedShards, SaveError>
    where
        T: Into<TensorData<'a>>,
        M: IntoIterator<Item = (K, V)> + Clone,
        K: Into<Name<'m>>,
        V: Into<Name<'m>>,
    {
        let (mut specs, mut data) = (Vec::new(), Vec::new());
        for (index, tensor) in tensors.into_iter().enumerate() {
            let tensor: TensorData<'a> = tensor.into();
            let given = num::widen(tensor.bytes().len());
            if let Some(expected) = tensor.spec().byte_len().filter(|len| *len != given) {
                return Err(SaveError::ByteCount { index, expected, given });
            }
            specs.push(tensor.spec());
            data.push(tensor.bytes());
        }
        self.sharded_with(folder, most, &specs, metadata, |index, tensor| {
            Ok(tensor.write(data.get(index).copied().unwrap_or_default())?)
        })
    }

    /// As [`sharded`](Self::sharded), asking `supply` for each tensor's bytes by its index in `specs`. Within a shard they are
    /// asked for in the order of the file, widest dtype first.
    ///
    /// # Errors
    ///
    /// As [`sharded`](Self::sharded), and what `supply` says.
    #[expect(clippy::needless_pass_by_value, reason = "metadata is given as to the other ways of saving")]
    pub fn sharded_with<'m, M, K, V>(
        &self,
        folder: impl AsRef<Path>,
        most: u64,
        specs: &[TensorSpec<'_>],
        metadata: Option<M>,
        mut supply: impl FnMut(usize, &mut SavedTensor<'_, '_, '_, PlanError>) -> Result<(), SaveError>,
    ) -> Result<SavedShards, SaveError>
    where
        M: IntoIterator<Item = (K, V)> + Clone,
        K: Into<Name<'m>>,
        V: Into<Name<'m>>,
    {
        let draft = Draft::new(specs, metadata.as_ref(), most, &self.limits)?;
        let folder = Folder::open(folder.as_ref(), self.watch, &self.limits)?;
        let single = draft.plans.len() == 1;
        let like = folder.like();
        let mut staged = Vec::new();
        for (plan, (range, name)) in draft.plans.iter().zip(draft.ranges.iter().zip(draft.names(1))) {
            let path = folder.join(&name);
            let file = if single {
                Atomic::create_like(&folder.join(SINGLE), like.as_deref(), self.watch)?
            } else {
                Atomic::create_in(&path, like.as_deref(), self.watch)?
            };
            let given = |local: usize| range.start.saturating_add(local);
            let file = written(file, plan.layout(), |local, tensor| supply(given(local), tensor));
            staged.push(file.map_err(|error| error.with_index(given))?.stage()?);
        }
        let lock = folder.lock()?;
        let old = folder.old_model(&lock)?;
        match staged.pop() {
            Some(only) if single => commit_single(&folder, &old, only),
            Some(last) => {
                staged.push(last);
                self.commit_shards(&folder, &old, &draft, staged)
            }
            None => Err(SaveError::Stopped),
        }
    }

    /// Names the shards, brings their names to the disk, replaces the index, and removes what the old one named.
    fn commit_shards(
        &self,
        folder: &Folder<'_>,
        old: &OldModel,
        draft: &Draft<'_, '_>,
        staged: Vec<Staged<'_>>,
    ) -> Result<SavedShards, SaveError> {
        let generation = old.next_generation;
        let names = draft.names(generation);
        let mut index = Atomic::create_like(&folder.join(INDEX), folder.like().as_deref(), self.watch)?;
        let text = draft.index(generation)?;
        let put = io::Write::write_all(&mut index, &text);
        put.map_err(|error| SaveError::Write(error).at(&folder.join(INDEX)))?;
        let index = index.stage()?;

        let mut published = folder.published();
        for (shard, name) in staged.into_iter().zip(&names) {
            published.push(shard.name(&OsString::from(name))?);
        }
        folder.sync_shards()?;
        match index.rename(true) {
            Err(error) if error.is_committed() => {
                published.keep();
                return Err(error.into());
            }
            outcome => outcome?,
        }
        let files = published.keep();
        // The old model in one file, which some readers look for before an index.
        if old.has_single {
            folder.remove(SINGLE).map_err(crate::file::AtomicError::committed)?;
        }
        let left = folder.remove_all(&old.shards, &names);
        folder.sync()?;
        Ok(SavedShards { files, index: Some(folder.join(INDEX)), left })
    }
}

/// Names the one file, then removes the index, which other readers than this crate's may look at after it.
fn commit_single(folder: &Folder<'_>, old: &OldModel, file: Staged<'_>) -> Result<SavedShards, SaveError> {
    let target = folder.join(SINGLE);
    file.rename(true)?;
    if old.has_index {
        folder.remove(INDEX).map_err(crate::file::AtomicError::committed)?;
        folder.sync()?;
    }
    let left = folder.remove_all(&old.shards, &[]);
    Ok(SavedShards { files: vec![target], index: None, left })
}

impl SaveError {
    /// The same, with the caller's index of the tensor.
    fn with_index(self, given: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::ByteCount { index, expected, given: bytes } => {
                Self::ByteCount { index: given(index), expected, given: bytes }
            }
            other => other,
        }
    }
}

/// The generation that a shard's name tells: 1 for Hugging Face's own names; `None` for another file.
pub(super) fn generation(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("model-")?.strip_suffix(".safetensors")?;
    let (rest, count) = rest.rsplit_once("-of-")?;
    let (generation, number) = match rest.split_once('-') {
        Some((generation, number)) => {
            (generation.strip_prefix("gen")?.parse().ok().filter(|given| *given > 1)?, number)
        }
        None => (1, rest),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Only as it is written here: no sign, no zero in front.
    let same = generation == 1 || rest.starts_with(&format!("gen{generation}-"));
    (digits(number) && digits(count) && same).then_some(generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_told_by_the_names() {
        for given in [1, 2, 10, u64::MAX] {
            for (number, count) in [(1, 2), (99_999, 99_999), (100_000, 100_000)] {
                assert_eq!(generation(&shard_name(given, number, count)), Some(given));
            }
        }
        assert_eq!(shard_name(1, 1, 3), "model-00001-of-00003.safetensors");
        // Other writers' digits.
        assert_eq!(generation("model-1-of-3.safetensors"), Some(1));
        for other in [
            "model.safetensors",
            "model-gen2.safetensors",
            "model-gen1-00001-of-00002.safetensors",
            "model-gen02-00001-of-00002.safetensors",
            "model-gen+2-00001-of-00002.safetensors",
            "model-gen-00001-of-00002.safetensors",
            "model-v2-00001-of-00002.safetensors",
            "model-gen2-0000a-of-00002.safetensors",
            "model--of-.safetensors",
            "model-00001-of-00002.gguf",
            "other-00001-of-00002.safetensors",
        ] {
            assert_eq!(generation(other), None, "{other}");
        }
    }
}
