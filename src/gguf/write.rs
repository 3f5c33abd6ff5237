//! Writing: a plan of the file first, proved to be one that the reader accepts, then its bytes into any sink.
//!
//! Version 3, pairs and tensors in the order in which they are given. Files are laid out as the reference's writer does
//! it (ggml 0.25.3, `gguf.cpp`): zeros behind the infos and behind each tensor up to the alignment, the last one too. One
//! thing differs: a file without tensors ends behind its last pair, where the reference's reader has the data section
//! begin. That is how the Python package writes vocabularies; the reference's writer puts zeros there that its reader does
//! not look for.

mod error;
mod head;
mod options;
mod spec;
mod value;

use alloc::vec::Vec;

pub use error::PlanError;
pub use options::WriteOptions;
pub use spec::{PairSpec, TensorData, TensorSpec};
pub use value::WriteValue;

pub use crate::stream::PlannedTensor;

use super::pairs::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, printable};
use super::slot::{Slot, Store};
use super::{Endian, check};
use crate::stream::Layout;
use crate::{ErrorKind, Name, Sink, Span, num, stream};
use head::{Head, text_len};

/// Why a file was not finished. `E` is the sink's error; that of a `Vec<u8>` unless named.
pub type WriteError<E = alloc::collections::TryReserveError> = stream::WriteError<PlanError, E>;

/// A file being written.
pub type Writer<'p, S> = stream::Writer<'p, S, PlanError>;

/// One tensor of a [`Writer`], to be given its bytes in order.
pub type TensorWriter<'w, 'p, S> = stream::TensorWriter<'w, 'p, S, PlanError>;

/// No pairs, where a writer asks for some.
pub const NO_PAIRS: [PairSpec<'static>; 0] = [];

/// The version that is written.
const VERSION: u32 = 3;

/// Where the count of tensors and the count of pairs stand.
const TENSORS_AT: usize = 8;
const PAIRS_AT: usize = 16;

/// A GGUF file of `pairs` and `tensors`, in memory.
///
/// Pairs are anything that makes a [`PairSpec`], tensors anything that makes a [`TensorData`]: a [`TensorSpec`] with
/// bytes, or what a reader shows.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::Gguf;
/// use tensorgate::gguf::{GgmlType, PairSpec, TensorSpec, WriteOptions, serialize};
///
/// let pairs = [PairSpec::new("general.architecture", "gpt2"), PairSpec::new("gpt2.block_count", 12_u32)];
/// let bytes = [0; 34];
/// let w = TensorSpec::new("w", GgmlType::Q8_0, &[1, 32]).with_bytes(&bytes);
/// let file = serialize(pairs, [w], &WriteOptions::default())?;
/// let read = Gguf::open(&file)?;
/// assert_eq!(read.u64("gpt2.block_count"), Ok(12));
///
/// // What was read can be written again.
/// assert_eq!(serialize(read.pairs(), read.tensors(), &WriteOptions::default())?, file);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`WriteError::Plan`] where there can be no such file, also where a tensor comes from a file of the other byte order;
/// [`WriteError::ByteCount`] where a tensor's bytes are not as many as its type and shape need, [`WriteError::Sink`]
/// where memory is out.
pub fn serialize<'k, 'a, P, T>(
    pairs: impl IntoIterator<Item = P>,
    tensors: impl IntoIterator<Item = T>,
    options: &WriteOptions,
) -> Result<Vec<u8>, WriteError>
where
    P: Into<PairSpec<'k>>,
    T: Into<TensorData<'a>>,
{
    let (plan, data) = gather(pairs, tensors, options)?;
    let mut file = Vec::new();
    let len = num::narrow(plan.file_len()).ok_or(PlanError::OutOfMemory)?;
    file.try_reserve_exact(len).map_err(WriteError::Sink)?;
    plan.write(&mut file, |index| data.get(index).copied().unwrap_or_default())?;
    Ok(file)
}

/// The plan of a file of tensors that are at hand, and their bytes by index, which are as many as they must be and in the
/// file's byte order.
pub(crate) fn gather<'k, 'a, P, T, E>(
    pairs: impl IntoIterator<Item = P>,
    tensors: impl IntoIterator<Item = T>,
    options: &WriteOptions,
) -> Result<(Plan, Vec<&'a [u8]>), WriteError<E>>
where
    P: Into<PairSpec<'k>>,
    T: Into<TensorData<'a>>,
{
    let mut draft = Draft::new(pairs, options)?;
    let mut data: Vec<&[u8]> = Vec::new();
    for tensor in tensors {
        let tensor: TensorData<'a> = tensor.into();
        let index = draft.tensors.len();
        let expected = draft.tensor(tensor.spec())?;
        if !tensor.suits(options.endian()) {
            return Err(PlanError::ByteOrder { index }.into());
        }
        let given = num::widen(tensor.bytes().len());
        if given != expected {
            return Err(WriteError::ByteCount { index, expected, given });
        }
        data.try_reserve(1).map_err(|_| PlanError::OutOfMemory)?;
        data.push(tensor.bytes());
    }
    Ok((draft.finish()?, data))
}

/// A file that is still to be written: its header, its length, and where each tensor's bytes go.
///
/// It knows what the tensors are and not their bytes, so it takes memory for the header and for nothing else, however
/// long the file will be. Everything that could be refused is refused here, before a sink sees a byte; what is left to
/// go wrong afterwards is the sink, and bytes that are not as many as was said.
///
/// Numbers of the header are written in the file's byte order. The tensors' bytes are the caller's, and must be in that
/// order already, also inside blocks.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::gguf::{GgmlType, Plan, TensorSpec, WriteOptions};
///
/// let tensors = [TensorSpec::new("a", GgmlType::F32, &[3]), TensorSpec::new("b", GgmlType::I8, &[5])];
/// let plan = Plan::new([("answer", 42_u8)], tensors, &WriteOptions::default().with_alignment(64))?;
/// // `general.alignment` was added, since it is not 32.
/// assert_eq!(plan.header().len(), 24 + (8 + 6 + 4 + 1) + (8 + 17 + 4 + 4) + 2 * (8 + 1 + 4 + 8 + 4 + 8));
/// let starts: Vec<u64> = plan.tensors().map(|tensor| tensor.span().start()).collect();
/// assert_eq!((starts, plan.file_len()), (vec![192, 256], 320));
///
/// let data: [&[u8]; 2] = [&[0; 12], &[1; 5]];
/// let mut file = Vec::new();
/// plan.write(&mut file, |index| data[index])?;
/// assert_eq!(file[256..264], [1, 1, 1, 1, 1, 0, 0, 0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    layout: Layout<PlanError>,
    data: Span,
    alignment: u32,
    endian: Endian,
}

impl Plan {
    /// The plan of a file of `pairs` and `tensors`, in their order, that this crate's reader accepts within the
    /// options' limits.
    ///
    /// The alignment is that of the options, or else that of a pair `general.alignment`, or else 32. Where there is no
    /// such pair and the alignment is not 32, one is added behind the others.
    ///
    /// # Errors
    ///
    /// Why there can be no such file: the first pair that is wrong by itself is named, then the first key that was there
    /// before, then the same for tensors.
    pub fn new<'k, 'a, P, T>(
        pairs: impl IntoIterator<Item = P>,
        tensors: impl IntoIterator<Item = T>,
        options: &WriteOptions,
    ) -> Result<Self, PlanError>
    where
        P: Into<PairSpec<'k>>,
        T: Into<TensorSpec<'a>>,
    {
        let mut draft = Draft::new(pairs, options)?;
        for tensor in tensors {
            draft.tensor(tensor.into())?;
        }
        draft.finish()
    }

    /// The file's first bytes: magic, version, counts, pairs and infos, without the padding behind them.
    pub fn header(&self) -> &[u8] {
        self.layout.head()
    }

    /// The file's length in bytes, padding and all.
    pub const fn file_len(&self) -> u64 {
        self.layout.file_len()
    }

    /// Where everything goes, as for a file of any format.
    pub const fn layout(&self) -> &Layout<PlanError> {
        &self.layout
    }

    /// Where the data section begins: behind the padding of the header, or, without tensors, where the file ends.
    pub const fn data_offset(&self) -> u64 {
        self.data.start()
    }

    /// The alignment of tensors in bytes, a power of two.
    pub const fn alignment(&self) -> u32 {
        self.alignment
    }

    /// The order of the bytes in the file's numbers.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// The tensors, in the order in which they were given, which is that of their bytes in the file.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = PlannedTensor> + DoubleEndedIterator + Clone + '_ {
        self.layout.tensors()
    }

    /// Writes the file, asking `bytes` for each tensor's by its index, in order.
    ///
    /// # Errors
    ///
    /// [`WriteError::ByteCount`] where a tensor's are not as many as was planned, [`WriteError::Sink`] where the sink
    /// fails. What the sink has then is no whole file.
    pub fn write<S: Sink, B: AsRef<[u8]>>(
        &self,
        sink: &mut S,
        bytes: impl FnMut(usize) -> B,
    ) -> Result<(), WriteError<S::Error>> {
        self.layout.write(sink, bytes)
    }

    /// Begins to write the file: the header goes into `sink` at once, and the tensors' bytes follow in any chunks.
    ///
    /// # Errors
    ///
    /// [`WriteError::Sink`] where the sink fails.
    pub fn writer<S: Sink>(&self, sink: S) -> Result<Writer<'_, S>, WriteError<S::Error>> {
        self.layout.writer(sink)
    }
}

/// A file whose pairs are written and whose infos are being written.
struct Draft<'o> {
    options: &'o WriteOptions,
    head: Head,
    /// Of the pairs at first, then of the tensors: what the reader finds names by.
    slots: Vec<Slot>,
    pairs: usize,
    alignment: u32,
    /// With spans that are relative to the data section.
    tensors: Vec<PlannedTensor>,
    /// Where the next tensor begins, relative to the data section.
    next: u64,
}

impl<'o> Draft<'o> {
    /// Writes all pairs.
    fn new<'k, P: Into<PairSpec<'k>>>(
        pairs: impl IntoIterator<Item = P>,
        options: &'o WriteOptions,
    ) -> Result<Self, PlanError> {
        if let Some(alignment) = options.alignment().filter(|alignment| !alignment.is_power_of_two()) {
            return Err(PlanError::Alignment { alignment });
        }
        let mut head = Head::new(options.endian(), options.limits().metadata_len());
        head.put(b"GGUF")?;
        head.number(VERSION)?;
        head.number(0_u64)?;
        head.number(0_u64)?;
        let (slots, tensors) = (Vec::new(), Vec::new());
        let mut draft = Self { options, head, slots, pairs: 0, alignment: DEFAULT_ALIGNMENT, tensors, next: 0 };
        let mut alignment = None;
        for pair in pairs {
            let pair = pair.into();
            let index = draft.slots.len();
            draft.pair(pair)?;
            if draft.slots.last().is_some_and(|slot| check::name(draft.head.bytes(), slot) == ALIGNMENT_KEY) {
                alignment = Some(agreed(pair.value(), index, options.alignment())?);
            }
        }
        draft.alignment = alignment.or(options.alignment()).unwrap_or(DEFAULT_ALIGNMENT);
        if alignment.is_none() && draft.alignment != DEFAULT_ALIGNMENT {
            let key = core::str::from_utf8(ALIGNMENT_KEY).unwrap_or_default();
            draft.pair(PairSpec::new(key, draft.alignment))?;
        }
        draft.unique(ErrorKind::GgKeyDup).map_err(|(index, first)| PlanError::DuplicateKey { index, first })?;
        draft.pairs = draft.slots.len();
        draft.slots.clear();
        Ok(draft)
    }

    fn pair(&mut self, pair: PairSpec<'_>) -> Result<(), PlanError> {
        let index = self.slots.len();
        let limits = self.options.limits();
        if num::widen(index) >= limits.metadata_keys() {
            return Err(PlanError::Pairs { limit: limits.metadata_keys() });
        }
        let (key, limit) = (pair.key(), limits.key_len());
        let len = text_len(key);
        if len > limit {
            return Err(PlanError::KeyLen { index, limit });
        }
        if len == 0 {
            return Err(PlanError::KeyEmpty { index });
        }
        if !key.chars().all(|c| u8::try_from(c).is_ok_and(printable)) {
            return Err(PlanError::KeyCharset { index });
        }
        let at = self.text(key, len)?;
        pair.value().write(&mut self.head, index, limits)?;
        self.keep(at, len)
    }

    /// Writes a tensor's info, and says how many bytes it needs.
    fn tensor(&mut self, spec: TensorSpec<'_>) -> Result<u64, PlanError> {
        let index = self.tensors.len();
        let limits = self.options.limits();
        if num::widen(index) >= limits.tensors() {
            return Err(PlanError::Tensors { limit: limits.tensors() });
        }
        let (name, limit) = (spec.name(), limits.gguf_name_len());
        let name_len = text_len(name);
        if name_len > limit {
            return Err(PlanError::NameLen { index, limit });
        }
        if name_len == 0 {
            return Err(PlanError::NameEmpty { index });
        }
        if name.chars().any(char::is_control) {
            return Err(PlanError::NameControl { index });
        }
        let limit = limits.gguf_rank();
        let (dims, rank) = spec.innermost_first().ok_or(PlanError::Rank { index, limit })?;
        let dims =
            dims.get(..rank).filter(|_| num::widen(rank) <= limit).ok_or(PlanError::Rank { index, limit })?;
        let len = spec.measure(dims).map_err(|verdict| PlanError::of_tensor(index, spec.kind(), verdict))?;
        let too_big = PlanError::SizeOverflow { index };
        let span = num::add(self.next, len).and_then(|end| Span::new(self.next, end)).ok_or(too_big)?;

        let at = self.text(name, name_len)?;
        self.head.number(u32::try_from(rank).unwrap_or(u32::MAX))?;
        dims.iter().try_for_each(|dim| self.head.number(*dim))?;
        self.head.number(spec.kind().id())?;
        self.head.number(self.next)?;
        self.next = num::align_up(span.end(), u64::from(self.alignment)).ok_or(too_big)?;
        self.tensors.try_reserve(1).map_err(|_| PlanError::OutOfMemory)?;
        self.tensors.push(PlannedTensor::new(index, span));
        self.keep(at, name_len)?;
        Ok(len)
    }

    /// Writes a key or name; says where its bytes begin.
    fn text(&mut self, text: Name<'_>, len: u64) -> Result<u64, PlanError> {
        let at = self.head.len().saturating_add(8);
        self.head.text(text, len)?;
        Ok(at)
    }

    /// Notes the pair or info that was written, whose key or name is `len` bytes at `at`.
    fn keep(&mut self, at: u64, len: u64) -> Result<(), PlanError> {
        let len = num::narrow(len).ok_or(PlanError::OutOfMemory)?;
        let kept = Store::push(&mut self.slots, Slot::new(at, len, self.head.len()));
        if kept { Ok(()) } else { Err(PlanError::OutOfMemory) }
    }

    /// Proves that no two slots have the same key or name; else the index of the first that was there before, and where
    /// it was before.
    fn unique(&mut self, kind: ErrorKind) -> Result<(), (usize, usize)> {
        let head = self.head.bytes();
        let Err(error) = check::unique(head, &mut self.slots, kind) else { return Ok(()) };
        let second = self.slots.iter().position(|slot| u64::from(slot.at) == error.at()).unwrap_or(0);
        let name = self.slots.get(second).map(|slot| check::name(head, slot));
        let first = self.slots.iter().position(|slot| Some(check::name(head, slot)) == name);
        Err((second, first.unwrap_or(0)))
    }

    /// Everything that holds for all tensors together.
    fn finish(mut self) -> Result<Plan, PlanError> {
        self.unique(ErrorKind::GgNameDup).map_err(|(index, first)| PlanError::DuplicateName { index, first })?;
        self.head.replace(TENSORS_AT, num::widen(self.tensors.len()));
        self.head.replace(PAIRS_AT, num::widen(self.pairs));
        let padded = num::align_up(self.head.len(), u64::from(self.alignment));
        let start = if self.tensors.is_empty() { Some(self.head.len()) } else { padded };
        let data =
            start.and_then(|start| Span::new(start, num::add(start, self.next)?)).ok_or(PlanError::FileLen)?;
        for tensor in &mut self.tensors {
            let span = tensor.span();
            // Inside the data section, so that nothing overflows.
            let (start, end) = (data.start().saturating_add(span.start()), data.start().saturating_add(span.end()));
            *tensor = PlannedTensor::new(tensor.index(), Span::new(start, end).unwrap_or(data));
        }
        let endian = self.head.endian();
        let layout = Layout::new(self.head.into_bytes(), self.tensors, data.end());
        Ok(Plan { layout, data, alignment: self.alignment, endian })
    }
}

/// The alignment that a pair gives, where it is one and the one that was asked for.
fn agreed(value: WriteValue<'_>, index: usize, asked: Option<u32>) -> Result<u32, PlanError> {
    let given = value.u32().filter(|alignment| alignment.is_power_of_two());
    let given = given.ok_or(PlanError::AlignmentValue { index })?;
    match asked {
        Some(asked) if asked != given => Err(PlanError::AlignmentDiffers { index, asked }),
        _ => Ok(given),
    }
}
