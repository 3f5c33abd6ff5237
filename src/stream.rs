//! What the writers of all formats share: a file's tensors in any chunks, each counted, zeros where there is room between
//! them, and why a file was not finished.
//!
//! The formats have their own names for these ([`safetensors::Writer`](crate::safetensors::Writer),
//! [`gguf::Writer`](crate::gguf::Writer)), each with its own reason why there can be no such file.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use crate::{Sink, Span, num};

/// Why a file was not finished. `P` says why there can be no such file; `E` is the sink's error, that of a `Vec<u8>`
/// unless named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteError<P, E = alloc::collections::TryReserveError> {
    /// There can be no such file. Nothing was written.
    Plan(P),
    /// A tensor was given more or fewer bytes than its type and shape need.
    ByteCount {
        /// The tensor, by its index in the order in which the caller gave them.
        index: usize,
        /// Bytes that its type and shape need.
        expected: u64,
        /// Bytes given, including those that were refused.
        given: u64,
    },
    /// The sink did not take the bytes.
    Sink(E),
    /// An error before this one left the file incomplete; it cannot be gone on with.
    Stopped,
}

impl<P, E> From<P> for WriteError<P, E> {
    fn from(error: P) -> Self {
        Self::Plan(error)
    }
}

impl<P: fmt::Display, E: fmt::Display> fmt::Display for WriteError<P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::ByteCount { index, expected, given } => {
                write!(f, "tensor {index} needs {expected} bytes and was given {given}")
            }
            Self::Sink(error) => write!(f, "the bytes could not be written: {error}"),
            Self::Stopped => f.write_str("an error before this one left the file incomplete"),
        }
    }
}

impl<P: core::error::Error + 'static, E: core::error::Error + 'static> core::error::Error for WriteError<P, E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Plan(error) => Some(error),
            Self::Sink(error) => Some(error),
            Self::ByteCount { .. } | Self::Stopped => None,
        }
    }
}

/// One tensor of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTensor {
    index: usize,
    span: Span,
}

impl PlannedTensor {
    pub(crate) const fn new(index: usize, span: Span) -> Self {
        Self { index, span }
    }

    /// Its index in the order in which the caller gave the tensors.
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Where its bytes go in the file, absolute.
    pub const fn span(&self) -> Span {
        self.span
    }
}

/// Where everything goes in a file that is still to be written, whatever its format: the bytes of its header, the tensors in
/// the order of their bytes, and its length. The plans of the formats are made of one.
#[derive(Clone, Debug)]
pub struct Layout<P> {
    head: Vec<u8>,
    tensors: Vec<PlannedTensor>,
    file_len: u64,
    plan: PhantomData<fn() -> P>,
}

impl<P> Layout<P> {
    /// A file of `file_len` bytes that begins with `head`, with `tensors` in the order of their bytes behind it.
    pub(crate) const fn new(head: Vec<u8>, tensors: Vec<PlannedTensor>, file_len: u64) -> Self {
        Self { head, tensors, file_len, plan: PhantomData }
    }

    /// The file's first bytes, up to the padding in front of the first tensor.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The file's length in bytes.
    pub const fn file_len(&self) -> u64 {
        self.file_len
    }

    /// The tensors, in the order in which their bytes stand in the file.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = PlannedTensor> + DoubleEndedIterator + Clone + '_ {
        self.tensors.iter().copied()
    }

    /// Writes the file, asking `bytes` for each tensor's by its index (in the order of [`tensors`](Self::tensors)).
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] where a tensor's are not as many as was planned, [`WriteError::Sink`] where the sink
    /// fails. What the sink has then is no whole file.
    pub fn write<S: Sink, B: AsRef<[u8]>>(
        &self,
        sink: &mut S,
        mut bytes: impl FnMut(usize) -> B,
    ) -> Result<(), WriteError<P, S::Error>> {
        let mut writer = self.writer(sink)?;
        while let Some(mut tensor) = writer.tensor()? {
            tensor.write(bytes(tensor.index()).as_ref())?;
        }
        writer.finish().map(|_| ())
    }

    /// Begins to write the file: the header goes into `sink` at once, and the tensors' bytes follow in any chunks.
    ///
    /// # Errors
    ///
    /// [`WriteError::Sink`] where the sink fails.
    pub fn writer<S: Sink>(&self, sink: S) -> Result<Writer<'_, S, P>, WriteError<P, S::Error>> {
        Writer::begin(&self.head, &self.tensors, self.file_len, sink)
    }
}

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
pub struct Writer<'p, S, P> {
    /// The tensors that are still to come.
    rest: &'p [PlannedTensor],
    current: Option<Progress>,
    sink: S,
    /// Bytes that the sink has, and will have at the end.
    at: u64,
    file_len: u64,
    stopped: bool,
    plan: PhantomData<fn() -> P>,
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

    fn miscounted<P, E>(&self, given: u64) -> WriteError<P, E> {
        WriteError::ByteCount { index: self.tensor.index(), expected: self.tensor.span().len(), given }
    }
}

/// What padding is written from.
static ZEROS: [u8; 4096] = [0; 4096];

impl<'p, S: Sink, P> Writer<'p, S, P> {
    /// Begins a file of `file_len` bytes with `head`, which ends in front of the first of `tensors`.
    fn begin(
        head: &[u8],
        tensors: &'p [PlannedTensor],
        file_len: u64,
        mut sink: S,
    ) -> Result<Self, WriteError<P, S::Error>> {
        sink.write_all(head).map_err(WriteError::Sink)?;
        let at = num::widen(head.len());
        Ok(Self { rest: tensors, current: None, sink, at, file_len, stopped: false, plan: PhantomData })
    }

    /// The next tensor, to be given its bytes; `None` behind the last.
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] where the tensor before this one lacks bytes, [`WriteError::Sink`] where the sink fails,
    /// [`WriteError::Stopped`] after any error.
    #[expect(clippy::type_complexity, reason = "the formats' own names for these types are short")]
    pub fn tensor(&mut self) -> Result<Option<TensorWriter<'_, 'p, S, P>>, WriteError<P, S::Error>> {
        self.complete()?;
        let Some((tensor, rest)) = self.rest.split_first() else { return Ok(None) };
        self.pad(tensor.span().start())?;
        self.rest = rest;
        let progress = Progress { tensor: *tensor, given: 0 };
        self.current = Some(progress);
        Ok(Some(TensorWriter { writer: self, progress }))
    }

    /// Gives the sink back, flushed, when the file is whole. (Tensors without a byte need not have been asked for.)
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] naming the first tensor that lacks bytes, [`WriteError::Sink`] where the sink fails,
    /// [`WriteError::Stopped`] after any error. The sink is dropped with the writer.
    pub fn finish(mut self) -> Result<S, WriteError<P, S::Error>> {
        self.complete()?;
        if let Some(tensor) = self.rest.iter().find(|tensor| !tensor.span().is_empty()) {
            return Err(Progress { tensor: *tensor, given: 0 }.miscounted(0));
        }
        self.pad(self.file_len)?;
        self.sink.flush().map_err(WriteError::Sink)?;
        Ok(self.sink)
    }

    /// The current tensor has all its bytes, and nothing went wrong.
    fn complete(&mut self) -> Result<(), WriteError<P, S::Error>> {
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

    /// Zeros up to `end`.
    fn pad(&mut self, end: u64) -> Result<(), WriteError<P, S::Error>> {
        while self.at < end {
            let left = num::narrow(end.saturating_sub(self.at)).unwrap_or(usize::MAX);
            self.put(ZEROS.get(..left).unwrap_or(&ZEROS))?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError<P, S::Error>> {
        if let Err(error) = self.sink.write_all(bytes) {
            self.stopped = true;
            return Err(WriteError::Sink(error));
        }
        self.at = self.at.saturating_add(num::widen(bytes.len()));
        Ok(())
    }
}

impl<S, P> fmt::Debug for Writer<'_, S, P> {
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
pub struct TensorWriter<'w, 'p, S, P> {
    writer: &'w mut Writer<'p, S, P>,
    progress: Progress,
}

impl<S: Sink, P> TensorWriter<'_, '_, S, P> {
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
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError<P, S::Error>> {
        if self.writer.stopped {
            return Err(WriteError::Stopped);
        }
        let more = num::widen(bytes.len());
        let given = self.progress.given.saturating_add(more);
        if more > self.progress.remaining() {
            self.writer.stopped = true;
            return Err(self.progress.miscounted(given));
        }
        self.writer.put(bytes)?;
        self.progress.given = given;
        self.writer.current = Some(self.progress);
        Ok(())
    }
}

impl<S: Sink, P> Sink for TensorWriter<'_, '_, S, P> {
    type Error = WriteError<P, S::Error>;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.write(bytes)
    }
}

impl<S, P> fmt::Debug for TensorWriter<'_, '_, S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorWriter").field("progress", &self.progress).finish_non_exhaustive()
    }
}
