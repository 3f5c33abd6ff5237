//! The tensors' bytes, in any chunks, each tensor's counted.

use core::fmt;

use super::{Plan, PlannedTensor, WriteError};
use crate::{Sink, num};

/// A file being written: the header is in the sink, the tensors follow one by one.
///
/// No byte is held back, so a file of any length takes no memory here. A tensor is whole before the next begins, and
/// [`finish`](Self::finish) gives the sink back only when every byte is there; after any error the writer refuses to go
/// on, so that what is finished is what was planned.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::safetensors::{NO_METADATA, Plan, TensorSpec};
/// use tensorgate::{Dtype, Limits};
///
/// let tensors = [TensorSpec::new("w", Dtype::F32, &[100, 100])];
/// let plan = Plan::new(tensors, NO_METADATA, &Limits::default())?;
/// let mut writer = plan.writer(Vec::new())?;
/// while let Some(mut tensor) = writer.tensor()? {
///     // As many bytes at a time as are at hand.
///     let chunk = [tensor.index() as u8; 1000];
///     while tensor.remaining() > 0 {
///         tensor.write(&chunk)?;
///     }
/// }
/// let file = writer.finish()?;
/// assert_eq!(file.len() as u64, plan.file_len());
/// # Ok(())
/// # }
/// ```
#[must_use = "the file is whole only when `finish` has said so"]
pub struct Writer<'p, S> {
    /// The tensors that are still to come.
    rest: &'p [PlannedTensor],
    current: Option<Progress>,
    sink: S,
    stopped: bool,
}

/// How far a tensor is.
#[derive(Clone, Copy, Debug)]
struct Progress {
    tensor: PlannedTensor,
    given: u64,
}

impl Progress {
    const fn remaining(&self) -> u64 {
        self.tensor.span().len().saturating_sub(self.given)
    }

    fn miscounted<E>(&self, given: u64) -> WriteError<E> {
        WriteError::ByteCount { index: self.tensor.index(), expected: self.tensor.span().len(), given }
    }
}

impl<'p, S: Sink> Writer<'p, S> {
    pub(super) fn begin(plan: &'p Plan, mut sink: S) -> Result<Self, WriteError<S::Error>> {
        sink.write_all(&plan.prefix).map_err(WriteError::Sink)?;
        Ok(Self { rest: &plan.tensors, current: None, sink, stopped: false })
    }

    /// The next tensor, to be given its bytes; `None` behind the last.
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] where the tensor before this one lacks bytes, [`WriteError::Stopped`] after any error.
    pub fn tensor(&mut self) -> Result<Option<TensorWriter<'_, 'p, S>>, WriteError<S::Error>> {
        self.complete()?;
        let Some((tensor, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        let progress = Progress { tensor: *tensor, given: 0 };
        self.current = Some(progress);
        Ok(Some(TensorWriter { writer: self, progress }))
    }

    /// Gives the sink back, flushed, when the file is whole. (Tensors without a byte need not have been asked for.)
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] naming the first tensor that lacks bytes, [`WriteError::Sink`] where flushing fails,
    /// [`WriteError::Stopped`] after any error. The sink is dropped with the writer.
    pub fn finish(mut self) -> Result<S, WriteError<S::Error>> {
        self.complete()?;
        if let Some(tensor) = self.rest.iter().find(|tensor| !tensor.span().is_empty()) {
            return Err(Progress { tensor: *tensor, given: 0 }.miscounted(0));
        }
        self.sink.flush().map_err(WriteError::Sink)?;
        Ok(self.sink)
    }

    /// The current tensor has all its bytes, and nothing went wrong.
    fn complete(&mut self) -> Result<(), WriteError<S::Error>> {
        if self.stopped {
            return Err(WriteError::Stopped);
        }
        match self.current {
            Some(progress) if progress.remaining() > 0 => {
                self.stopped = true;
                Err(progress.miscounted(progress.given))
            }
            _ => Ok(()),
        }
    }
}

impl<S> fmt::Debug for Writer<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("current", &self.current)
            .field("tensors_left", &self.rest.len())
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}

/// One tensor of a [`Writer`], to be given its bytes in order.
///
/// It is a [`Sink`] too, so that whatever writes into a sink can write a tensor. There is nothing to call at the end:
/// the writer notices a tensor that lacks bytes.
pub struct TensorWriter<'w, 'p, S> {
    writer: &'w mut Writer<'p, S>,
    progress: Progress,
}

impl<S: Sink> TensorWriter<'_, '_, S> {
    /// The tensor's index in the order in which the caller gave the tensors to the plan.
    pub const fn index(&self) -> usize {
        self.progress.tensor.index()
    }

    /// What was planned of it.
    pub const fn planned(&self) -> PlannedTensor {
        self.progress.tensor
    }

    /// How many bytes it still needs.
    pub const fn remaining(&self) -> u64 {
        self.progress.remaining()
    }

    /// Takes the tensor's next bytes, as many or as few as there are at hand.
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] where these are more than it still needs (none of them is written),
    /// [`WriteError::Sink`] where the sink fails, [`WriteError::Stopped`] after any error.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        if self.writer.stopped {
            return Err(WriteError::Stopped);
        }
        let more = num::widen(bytes.len());
        let given = self.progress.given.saturating_add(more);
        if more > self.progress.remaining() {
            self.writer.stopped = true;
            return Err(self.progress.miscounted(given));
        }
        if let Err(error) = self.writer.sink.write_all(bytes) {
            self.writer.stopped = true;
            return Err(WriteError::Sink(error));
        }
        self.progress.given = given;
        self.writer.current = Some(self.progress);
        Ok(())
    }
}

impl<S: Sink> Sink for TensorWriter<'_, '_, S> {
    type Error = WriteError<S::Error>;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.write(bytes)
    }
}

impl<S> fmt::Debug for TensorWriter<'_, '_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorWriter").field("progress", &self.progress).finish_non_exhaustive()
    }
}
