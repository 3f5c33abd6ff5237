//! Saving a GGUF model in several files, all of them or none.

use std::ffi::OsString;
use std::format;
use std::io;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use super::folder::Folder;
use super::{SaveError, SavedTensor, Saver, written};
use crate::file::atomic::{Atomic, AtomicError, Step};
use crate::gguf::{Plan, PlanError};

impl Saver<'_> {
    /// Saves the files of a split GGUF model, `<stem>-00001-of-00003.gguf` and so on beside `path`, where the stem is that
    /// of `path` (`model` for `model.gguf`). Each plan has the keys `split.no`, `split.count` and `split.tensors.count`
    /// already.
    ///
    /// The files get their names when all are on the disk, the first one last: a model is opened by its first file, so
    /// whoever finds that finds them all. Names that are taken are not replaced, since several files cannot be at once.
    /// `fill` is asked for each tensor's bytes by the number of its file, from 0, and its index there.
    ///
    /// # Errors
    ///
    /// What `fill` says, [`SaveError::ByteCount`], [`SaveError::Atomic`]; no file is there then.
    pub fn split_gguf(
        &self,
        path: impl AsRef<Path>,
        plans: &[Plan],
        mut fill: impl FnMut(usize, usize, &mut SavedTensor<'_, '_, '_, PlanError>) -> Result<(), SaveError>,
    ) -> Result<Vec<PathBuf>, SaveError> {
        let path = path.as_ref();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = Folder::open(parent, self.watch, &self.limits)?;
        let stem = path.file_stem().unwrap_or_default();
        let names: Vec<OsString> = (1..=plans.len())
            .map(|number| {
                let mut name = stem.to_owned();
                name.push(format!("-{number:05}-of-{:05}.gguf", plans.len()));
                name
            })
            .collect();
        let taken = names.iter().map(|name| parent.join(name)).find(|path| path.symlink_metadata().is_ok());
        if let Some(taken) = taken {
            return Err(AtomicError::new(Step::Publish, &taken, io::ErrorKind::AlreadyExists.into()).into());
        }
        let mut staged = Vec::new();
        for (number, (plan, name)) in plans.iter().zip(&names).enumerate() {
            let part = Atomic::create_in(&parent.join(name), None, self.watch)?;
            let part = written(part, plan.layout(), |index, tensor| fill(number, index, tensor));
            staged.push(part?.stage()?);
        }
        let mut published = folder.published();
        for (part, name) in staged.into_iter().zip(&names).rev() {
            published.push(part.name(name)?);
        }
        folder.sync_shards()?;
        let mut files = published.keep();
        files.reverse();
        Ok(files)
    }
}
