//! A header judged whole: from its own bytes and the file's length alone.

#[cfg(feature = "alloc")]
mod owned;

#[cfg(feature = "alloc")]
pub use owned::OwnedHeader;

use super::array::Array;
use super::check::{self, Lookup};
use super::reader::{Endian, Reader};
use super::relax::{Relaxed, Uses};
use super::slot::{Slot, Store};
use super::tensor::{self, TensorInfo, Tiling};
use super::value::{Pair, Value, ValueError, getters};
use super::{LEAST_INFO, LEAST_PAIR, pairs};
use crate::error::{Error, ErrorKind};
use crate::store::{Lent, Slots};
use crate::{Limits, NotFound, Span, num};

/// Bytes that every file begins with: magic, version and two counts.
const FRAME: u64 = 24;
/// Where the count of tensors and the count of pairs stand.
const TENSORS_AT: u64 = 8;
const PAIRS_AT: u64 = 16;

/// A GGUF header whose every claim was proved against the file's length.
///
/// It needs the beginning of the file only: magic, version, key/value pairs and tensor infos. The padding is the one
/// thing that cannot be seen from there; see [`check_padding`](Self::check_padding).
///
/// ```
/// use tensorgate::{Limits, gguf::{Header, Slot}};
///
/// // One pair, `n` = 7 as u32, and no tensor.
/// let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
/// file.extend_from_slice(b"\x01\0\0\0\0\0\0\0n\x04\0\0\0\x07\0\0\0");
/// let file_len = 41;
///
/// // A reader of ranges is told what to fetch: at first the frame, then what the counts need at least.
/// let mut slots = [Slot::EMPTY; 1];
/// let error = Header::open_in(&file[..10], file_len, &mut slots, &Limits::default()).unwrap_err();
/// assert_eq!(error.needs(), Some(24));
/// let error = Header::open_in(&file[..24], file_len, &mut slots, &Limits::default()).unwrap_err();
/// assert_eq!(error.needs(), Some(32));
///
/// let header = Header::open_in(&file, file_len, &mut slots, &Limits::default())?;
/// assert_eq!((header.version(), header.u64("n")), (3, Ok(7)));
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Header<'a> {
    /// The file's bytes from the first to the end of the tensor infos.
    head: &'a [u8],
    frame: Frame,
    slots: Slots<'a, Slot>,
    pairs: usize,
    keys: Lookup,
    names: Lookup,
    layout: Layout,
    uses: Uses,
}

/// What the first 24 bytes say.
#[derive(Clone, Copy, Debug)]
struct Frame {
    version: u32,
    endian: Endian,
    tensors: u64,
    pairs: u64,
}

/// Where the data is.
#[derive(Clone, Copy, Debug)]
struct Layout {
    alignment: u32,
    /// From the first byte of the data section to the end of the file.
    data: Span,
}

/// What one pass found.
struct Pass {
    frame: Frame,
    head_len: u64,
    keys: Option<Lookup>,
    names: Option<Lookup>,
    layout: Layout,
    uses: Uses,
}

impl<'a> Header<'a> {
    /// Judges a file of `file_len` bytes from its first bytes, in the caller's storage: one slot a key/value pair and
    /// one a tensor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NeedMore`] when `prefix` does not hold the whole header yet. [`Error::needs`] is longer than the
    /// prefix and never longer than the file: it is the end of the field that is cut, with the least that the counts
    /// say must follow. [`ErrorKind::StorageTooSmall`] when there are more pairs and tensors than slots;
    /// [`Error::needs_slots`] says how many. Any other kind is the verdict on the file, and stays when more of the file
    /// is given.
    pub fn open_in(prefix: &'a [u8], file_len: u64, slots: &'a mut [Slot], limits: &Limits) -> Result<Self, Error> {
        let mut lent = Lent { slots, used: 0 };
        let pass = pass(prefix, file_len, &mut lent, limits)?;
        let Lent { slots, used } = lent;
        let slots = slots.get(..used).unwrap_or_default();
        Self::proved(prefix, Slots::Lent(slots), &pass)
    }

    /// Judges a file of `file_len` bytes from its first bytes.
    ///
    /// Holds less than three times the bytes of the header, and only for entries that were read; where a block cannot grow
    /// in place, the one before it, half as large, is there until it was copied.
    ///
    /// # Errors
    ///
    /// As [`open_in`](Self::open_in); [`ErrorKind::StorageTooSmall`] here means that memory ran out.
    #[cfg(feature = "alloc")]
    pub fn open(prefix: &'a [u8], file_len: u64, limits: &Limits) -> Result<Self, Error> {
        let mut slots = alloc::vec::Vec::new();
        let pass = pass(prefix, file_len, &mut slots, limits)?;
        Self::proved(prefix, Slots::Owned(slots), &pass)
    }

    fn proved(prefix: &'a [u8], slots: Slots<'a, Slot>, pass: &Pass) -> Result<Self, Error> {
        let wanted = pass.frame.pairs.saturating_add(pass.frame.tensors);
        let too_small = Error::wanting(ErrorKind::StorageTooSmall, TENSORS_AT, wanted);
        let (Some(keys), Some(names)) = (pass.keys, pass.names) else { return Err(too_small) };
        let head = num::narrow(pass.head_len).and_then(|len| prefix.get(..len)).ok_or(too_small)?;
        let pairs = num::narrow(pass.frame.pairs).ok_or(too_small)?;
        Ok(Self { head, frame: pass.frame, slots, pairs, keys, names, layout: pass.layout, uses: pass.uses })
    }

    /// The version of the format: 2 or 3.
    pub const fn version(&self) -> u32 {
        self.frame.version
    }

    /// The order of the bytes in the file's numbers, in metadata and in tensors.
    pub const fn endian(&self) -> Endian {
        self.frame.endian
    }

    /// The alignment of tensors in bytes, a power of two: the value of `general.alignment`, or 32.
    pub const fn alignment(&self) -> u32 {
        self.layout.alignment
    }

    /// Where the data section begins: behind the tensor infos and their padding, or, as the reference has it, right
    /// behind the metadata in a file without tensors.
    pub const fn data_offset(&self) -> u64 {
        self.layout.data.start()
    }

    /// From where the data section begins to the end of the file.
    pub const fn data(&self) -> Span {
        self.layout.data
    }

    /// Bytes of the file up to the end of the tensor infos, without padding.
    pub const fn head(&self) -> &'a [u8] {
        self.head
    }

    /// The strict rules that were relaxed to accept this file: one record a rule, and none for a file that the default
    /// limits accept too.
    pub fn relaxed(&self) -> impl Iterator<Item = Relaxed> + Clone + '_ {
        self.uses.iter()
    }

    fn pair_slots(&self) -> &[Slot] {
        self.slots.as_slice().get(..self.pairs).unwrap_or_default()
    }

    fn tensor_slots(&self) -> &[Slot] {
        self.slots.as_slice().get(self.pairs..).unwrap_or_default()
    }

    /// The value under `key`, in constant or logarithmic time.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let slots = self.pair_slots();
        let index = check::find(self.head, slots, self.keys, key.as_bytes())?;
        pairs::value_of(self.head, self.frame.endian, slots.get(index)?)
    }

    getters!('a);

    /// The key/value pairs, in the file's order.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = Pair<'a>> + Clone + '_ {
        let (head, endian) = (self.head, self.frame.endian);
        self.pair_slots().iter().filter_map(move |slot| pairs::pair(head, endian, slot))
    }

    /// How many key/value pairs there are.
    pub const fn pair_count(&self) -> usize {
        self.pairs
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.tensor_slots().len()
    }

    /// Whether there is no tensor, as in a file of a vocabulary only.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tensors, in the order of the file, which is the order of their data.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = TensorInfo<'a>> + DoubleEndedIterator + Clone + '_ {
        let (head, endian, data) = (self.head, self.frame.endian, self.layout.data);
        self.tensor_slots().iter().map(move |slot| TensorInfo::of(head, endian, data, slot))
    }

    /// The tensor at `index` in the order of the file.
    pub fn tensor_at(&self, index: usize) -> Option<TensorInfo<'a>> {
        let slot = self.tensor_slots().get(index)?;
        Some(TensorInfo::of(self.head, self.frame.endian, self.layout.data, slot))
    }

    /// The tensor called `name`, in constant or logarithmic time.
    ///
    /// # Errors
    ///
    /// [`NotFound`] when there is none.
    pub fn tensor(&self, name: &str) -> Result<TensorInfo<'a>, NotFound> {
        let index = check::find(self.head, self.tensor_slots(), self.names, name.as_bytes());
        index.and_then(|index| self.tensor_at(index)).ok_or(NotFound)
    }

    /// The parts of the file that must be zero, in order: between the tensor infos and the data section, behind each
    /// tensor up to the alignment, and behind the metadata of a file without tensors. The last one ends where the file
    /// ends. Empty ones are left out. Where a tensor of a type that is not known ends cannot be told, so there is none
    /// behind it.
    pub fn padding(&self) -> impl Iterator<Item = Span> + Clone + '_ {
        let (head, endian, layout) = (self.head, self.frame.endian, self.layout);
        let data_at = layout.data.start();
        let file_len = layout.data.end();
        let alignment = u64::from(layout.alignment);
        let padded = num::align_up(num::widen(head.len()), alignment).unwrap_or(u64::MAX);
        let first = if self.is_empty() { padded.min(file_len) } else { data_at };
        let between = self.tensor_slots().iter().filter_map(move |slot| {
            let (_, end) = tensor::extent(head, endian, slot)?;
            let start = data_at.saturating_add(end);
            let next = data_at.saturating_add(num::align_up(end, alignment)?);
            Span::new(start, next.min(file_len))
        });
        let spans = Span::new(num::widen(head.len()), first).into_iter().chain(between);
        spans.filter(|span| !span.is_empty())
    }

    /// Proves that the padding is zero, which takes the whole file: the last step of [`Gguf::open`](crate::Gguf::open).
    ///
    /// The format's document asks for zeros; no other reader looks, so that padding is a place to hide things. Takes
    /// time in the number of tensors and the bytes of padding.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::GgPaddingNonzero`] at the first byte that is not zero; [`ErrorKind::NeedMore`] when `file` does not
    /// reach that far.
    pub fn check_padding(&self, file: &[u8]) -> Result<(), Error> {
        self.padding().try_for_each(|span| check::zero(file, span))
    }
}

/// Reads the file's beginning once, in its order, then proves what holds between its parts.
fn pass<S: Store>(prefix: &[u8], file_len: u64, store: &mut S, limits: &Limits) -> Result<Pass, Error> {
    let mut reader = Reader::new(prefix, file_len, limits);
    let frame = frame(&mut reader, limits)?;
    let infos = frame.tensors.saturating_mul(LEAST_INFO);
    let (alignment, stored) = pairs::pairs(&mut reader, frame.pairs, infos, store, limits)?;
    let keys = if stored { Some(check::unique(prefix, store.kept(0), ErrorKind::GgKeyDup)?) } else { None };
    // The pairs may have taken the room that the tensors were counted on.
    let most = reader.left() / LEAST_INFO;
    if frame.tensors > most {
        return Err(Error::wanting(ErrorKind::GgTensorCount, TENSORS_AT, most));
    }
    let infos = reader.clone();
    let (tiling, stored) = tensor::infos(&mut reader, frame.tensors, alignment, stored, store, limits)?;
    let first = num::narrow(frame.pairs).filter(|_| stored);
    let names = match first {
        Some(first) => Some(check::unique(prefix, store.kept(first), ErrorKind::GgNameDup)?),
        None => None,
    };
    let head_len = reader.at();
    let layout = layout(&frame, tiling, alignment, head_len, file_len).map_err(|error| {
        // The first tensor that the file cuts short is the one to look at.
        let past = || tensor::first_past_end(&infos, frame.tensors, error.at(), file_len);
        match (error.kind(), error.want()) {
            (kind @ ErrorKind::GgDataShort, Some(want)) => Error::wanting(kind, past().unwrap_or(error.at()), want),
            _ => error,
        }
    })?;
    if let Err(error) = trailing(tiling, frame.tensors == 0, head_len, layout) {
        pairs::tolerate(&mut reader, limits.gguf_trailing(), error)?;
    }
    Ok(Pass { frame, head_len, keys, names, layout, uses: reader.uses() })
}

/// Magic, version and counts.
fn frame(reader: &mut Reader<'_>, limits: &Limits) -> Result<Frame, Error> {
    reader.set_after(FRAME.saturating_sub(4));
    magic(reader.array(ErrorKind::GgTooShort)?).map_err(|kind| Error::new(kind, 0))?;
    reader.set_after(FRAME.saturating_sub(8));
    let (version, endian) = version(reader.array(ErrorKind::GgTooShort)?)?;
    reader.set_endian(endian);
    reader.set_after(8);
    let tensors = endian.u64(reader.array(ErrorKind::GgTooShort)?);
    reader.set_after(0);
    let pairs = endian.u64(reader.array(ErrorKind::GgTooShort)?);
    // A count is a claim: each entry takes its least bytes from what the file has.
    let room = reader.left();
    let most = room / LEAST_INFO;
    if tensors > most {
        return Err(Error::wanting(ErrorKind::GgTensorCount, TENSORS_AT, most));
    }
    let most = room.saturating_sub(tensors.saturating_mul(LEAST_INFO)) / LEAST_PAIR;
    if pairs > most {
        return Err(Error::wanting(ErrorKind::GgPairCount, PAIRS_AT, most));
    }
    if tensors > limits.tensors() {
        return Err(Error::wanting(ErrorKind::GgTensorLimit, TENSORS_AT, limits.tensors()));
    }
    if pairs > limits.metadata_keys() {
        return Err(Error::wanting(ErrorKind::GgPairLimit, PAIRS_AT, limits.metadata_keys()));
    }
    Ok(Frame { version, endian, tensors, pairs })
}

/// The magic, which is bytes and never swapped.
const fn magic(bytes: [u8; 4]) -> Result<(), ErrorKind> {
    match &bytes {
        b"GGUF" => Ok(()),
        b"FUGG" => Err(ErrorKind::GgMagicReversed),
        // With and without a byte order mark, in both orders.
        b"\xff\xfeG\0" | b"G\0G\0" | b"\xfe\xff\0G" | b"\0G\0G" => Err(ErrorKind::GgMagicUtf16),
        _ => Err(ErrorKind::GgMagic),
    }
}

/// The version, from whose low 16 bits the byte order is told: no version comes near 65,536.
const fn version(bytes: [u8; 4]) -> Result<(u32, Endian), Error> {
    let little = u32::from_le_bytes(bytes);
    let kind = match (little, little.swap_bytes()) {
        (2 | 3, _) => return Ok((little, Endian::Little)),
        (_, 3) => return Ok((3, Endian::Big)),
        (1, _) | (_, 1) => ErrorKind::GgVersion1,
        (_, 2) => ErrorKind::GgVersionBig2,
        _ if little != 0 && little.trailing_zeros() >= 16 => ErrorKind::GgVersionSwapped,
        _ => ErrorKind::GgVersion,
    };
    Err(Error::wanting(kind, 4, 3))
}

/// The data section begins and the tensors end inside the file.
fn layout(frame: &Frame, tiling: Tiling, alignment: u32, head_len: u64, file_len: u64) -> Result<Layout, Error> {
    let padded = num::align_up(head_len, u64::from(alignment)).unwrap_or(u64::MAX);
    let data_at = if frame.tensors == 0 { head_len } else { padded };
    let data = Span::new(data_at, file_len);
    let data = data.ok_or(Error::wanting(ErrorKind::GgPaddingShort, head_len, data_at))?;
    if tiling.end > data.len() {
        let want = num::add(data_at, tiling.end).unwrap_or(u64::MAX);
        return Err(Error::wanting(ErrorKind::GgDataShort, data_at, want));
    }
    Ok(Layout { alignment, data })
}

/// Nothing but padding follows the last tensor. Without tensors, zeros may follow up to the alignment.
fn trailing(tiling: Tiling, empty: bool, head_len: u64, layout: Layout) -> Result<(), Error> {
    let padded = num::align_up(head_len, u64::from(layout.alignment)).unwrap_or(u64::MAX);
    let tiled = if empty { padded.saturating_sub(head_len) } else { tiling.next };
    if tiled >= layout.data.len() || tiling.open {
        return Ok(());
    }
    let end = layout.data.start().saturating_add(tiled);
    Err(Error::wanting(ErrorKind::GgDataTrailing, end, end))
}
