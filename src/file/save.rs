//! Saving: a plan, its tensors' bytes streamed into a file that appears all at once.

use std::fmt;
use std::io;
use std::path::Path;

mod error;
pub(super) mod folder;
mod sharded;
mod split;

pub use error::SaveError;
pub use sharded::SavedShards;

use super::atomic::{Atomic, AtomicError, Step, Watch};
use crate::gguf::{self, PairSpec, WriteOptions};
use crate::safetensors::{self, TensorData};
use crate::stream::{Layout, TensorWriter, WriteError};
use crate::{IoSink, Limits, Name};

/// One tensor of a file that is being saved, to be given its bytes in order.
pub type SavedTensor<'t, 'p, 'w, P> = TensorWriter<'t, 'p, IoSink<Atomic<'w>>, P>;

/// How files are saved: who is asked before each step, and what their readers will at most accept.
///
/// Every save is atomic, as [`Atomic`] says: the old file is whole or the new one is, whatever fails, and nothing is left
/// behind. Memory is taken for headers and one buffer, never for tensors' bytes, however long the file.
///
/// ```
/// use tensorgate::Dtype;
/// use tensorgate::file::Saver;
/// use tensorgate::safetensors::{NO_METADATA, Plan, TensorSpec};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// // Tensors that are made as they are written: 4 KiB of memory, however large they are.
/// let specs = [TensorSpec::new("a", Dtype::U8, &[1 << 20]), TensorSpec::new("b", Dtype::U8, &[5])];
/// let plan = Plan::new(specs, NO_METADATA, &Default::default())?;
/// Saver::new().layout(&path, plan.layout(), |index, tensor| {
///     let chunk = [index as u8; 4096];
///     while tensor.remaining() > 0 {
///         tensor.write(&chunk[..tensor.remaining().min(4096) as usize])?;
///     }
///     Ok(())
/// })?;
/// assert_eq!(std::fs::metadata(&path)?.len(), plan.file_len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Saver<'w> {
    pub(super) watch: &'w dyn Watch,
    pub(super) limits: Limits,
}

impl Default for Saver<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'w> Saver<'w> {
    /// With the default limits, and nobody asked.
    pub const fn new() -> Self {
        Self { watch: &(), limits: Limits::DEFAULT }
    }

    /// The same, asking `watch` before each step; an [`AtomicBool`](std::sync::atomic::AtomicBool) cancels the save.
    #[must_use]
    pub const fn with_watch(mut self, watch: &'w dyn Watch) -> Self {
        self.watch = watch;
        self
    }

    /// The same with other limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What readers of the saved files will at most accept.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Saves a safetensors file of tensors that are at hand, such as views of mapped files: also of the one at `path`.
    ///
    /// # Errors
    ///
    /// [`SaveError::Safetensors`] and [`SaveError::ByteCount`] before anything is touched, then [`SaveError::Atomic`].
    pub fn safetensors<'a, 'm, T, M, K, V>(
        &self,
        path: impl AsRef<Path>,
        tensors: impl IntoIterator<Item = T>,
        metadata: Option<M>,
    ) -> Result<(), SaveError>
    where
        T: Into<TensorData<'a>>,
        M: IntoIterator<Item = (K, V)>,
        K: Into<Name<'m>>,
        V: Into<Name<'m>>,
    {
        let (plan, data) = safetensors::gather::<_, _, _, _, io::Error>(tensors, metadata, &self.limits)
            .map_err(|error| SaveError::of(error, path.as_ref()))?;
        self.slices(path.as_ref(), plan.layout(), &data)
    }

    /// Saves a GGUF file of pairs and tensors that are at hand. The limits are those of `options`.
    ///
    /// # Errors
    ///
    /// [`SaveError::Gguf`] and [`SaveError::ByteCount`] before anything is touched, then [`SaveError::Atomic`].
    pub fn gguf<'k, 'a, P, T>(
        &self,
        path: impl AsRef<Path>,
        pairs: impl IntoIterator<Item = P>,
        tensors: impl IntoIterator<Item = T>,
        options: &WriteOptions,
    ) -> Result<(), SaveError>
    where
        P: Into<PairSpec<'k>>,
        T: Into<gguf::TensorData<'a>>,
    {
        let (plan, data) = gguf::gather::<_, _, io::Error>(pairs, tensors, options)
            .map_err(|error| SaveError::of(error, path.as_ref()))?;
        self.slices(path.as_ref(), plan.layout(), &data)
    }

    fn slices<P>(&self, path: &Path, layout: &Layout<P>, data: &[&[u8]]) -> Result<(), SaveError>
    where
        P: Into<SaveError>,
    {
        self.layout(path, layout, |index, tensor| {
            tensor.write(data.get(index).copied().unwrap_or_default()).map_err(SaveError::from)
        })
    }

    /// Saves the file that a plan of either format lays out, asking `supply` for each tensor's bytes in the order of the
    /// file, by the index under which it was given.
    ///
    /// # Errors
    ///
    /// What `supply` says ([`SaveError::other`] takes errors of its own), [`SaveError::ByteCount`] where it
    /// gave more or fewer bytes than a tensor needs, [`SaveError::Atomic`].
    pub fn layout<P>(
        &self,
        path: impl AsRef<Path>,
        layout: &Layout<P>,
        supply: impl FnMut(usize, &mut SavedTensor<'_, '_, '_, P>) -> Result<(), SaveError>,
    ) -> Result<(), SaveError>
    where
        P: Into<SaveError>,
    {
        let file = Atomic::create_watched(path, self.watch)?;
        written(file, layout, supply)?.commit().map_err(SaveError::from)
    }
}

/// `file` with all that the layout says in it.
pub(super) fn written<'w, P>(
    file: Atomic<'w>,
    layout: &Layout<P>,
    mut supply: impl FnMut(usize, &mut SavedTensor<'_, '_, '_, P>) -> Result<(), SaveError>,
) -> Result<Atomic<'w>, SaveError>
where
    P: Into<SaveError>,
{
    let target = file.target().to_path_buf();
    let placed = |error: SaveError| error.at(&target);
    let mut writer = layout.writer(IoSink::new(file)).map_err(|error| SaveError::of(error, &target))?;
    while let Some(mut tensor) = writer.tensor().map_err(|error| SaveError::of(error, &target))? {
        supply(tensor.index(), &mut tensor).map_err(placed)?;
    }
    writer.finish().map(IoSink::into_inner).map_err(|error| SaveError::of(error, &target))
}

impl fmt::Debug for Saver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saver").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// As [`Saver::safetensors`], with the default limits and nobody asked.
///
/// ```
/// use tensorgate::file::save_safetensors;
/// use tensorgate::safetensors::TensorSpec;
/// use tensorgate::{Dtype, SafeTensors};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// let w = TensorSpec::new("w", Dtype::U8, &[3]).with_bytes(&[1, 2, 3]);
/// save_safetensors(&path, [w], Some([("format", "pt")]))?;
/// let bytes = std::fs::read(&path)?;
/// assert_eq!(SafeTensors::open(&bytes)?.tensor("w")?.bytes(), [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`Saver::safetensors`].
pub fn save_safetensors<'a, 'm, T, M, K, V>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = T>,
    metadata: Option<M>,
) -> Result<(), SaveError>
where
    T: Into<TensorData<'a>>,
    M: IntoIterator<Item = (K, V)>,
    K: Into<Name<'m>>,
    V: Into<Name<'m>>,
{
    Saver::new().safetensors(path, tensors, metadata)
}

/// As [`Saver::gguf`], with nobody asked.
///
/// # Errors
///
/// As [`Saver::gguf`].
pub fn save_gguf<'k, 'a, P, T>(
    path: impl AsRef<Path>,
    pairs: impl IntoIterator<Item = P>,
    tensors: impl IntoIterator<Item = T>,
    options: &WriteOptions,
) -> Result<(), SaveError>
where
    P: Into<PairSpec<'k>>,
    T: Into<gguf::TensorData<'a>>,
{
    Saver::new().gguf(path, pairs, tensors, options)
}
