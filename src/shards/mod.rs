//! Sharded indexes: `model.safetensors.index.json`, which says which file has which tensor.
//!
//! ```text
//! index      = object of: metadata (optional), weight_map (required), in any order
//! metadata   = null / object of values  ; any JSON value; nesting, keys and numbers bounded, see Limits
//! weight_map = object of strings        ; tensor name -> shard's plain file name
//! ```
//!
//! in the strict JSON subset of this crate: one object and nothing before it, UTF-8, no key twice in any object however
//! it is spelt. Nothing follows from the shards' names: real indexes number them from 0 or 1, with one digit to six.
//!
//! [`ShardIndex`] is what the index says. [`check`] holds it against the shards that are there.

pub mod check;
mod file_name;
mod metadata;
mod order;
mod slot;
mod source;
mod value;
#[cfg(feature = "alloc")]
mod write;

pub use check::Finding;
pub use metadata::{IndexMetadata, IndexMetadataIter};
pub use slot::IndexSlot;
#[cfg(feature = "alloc")]
pub(crate) use value::skip as skip_value;
#[cfg(feature = "alloc")]
pub use write::{serialize, split};

use core::iter::FusedIterator;

use self::slot::narrow;
use self::source::Source;
use crate::error::{Error, ErrorKind};
use crate::json::lex::{Lexer, utf8};
use crate::json::object::Members;
use crate::store::{Lent, Slots, Store};
use crate::{Limits, Name, NotFound, num};

/// A sharded index, every claim of which that can be proved from its own text was proved.
///
/// ```
/// use tensorgate::{Limits, ShardIndex, shards::IndexSlot};
///
/// let text = br#"{
///   "metadata": {"total_size": 24},
///   "weight_map": {"b": "two.safetensors", "a": "one.safetensors", "c": "two.safetensors"}
/// }"#;
/// // Without an allocator: the caller brings the storage, a slot a tensor.
/// let mut slots = [IndexSlot::EMPTY; 16];
/// let index = ShardIndex::open_in(text, &mut slots, &Limits::default())?;
/// assert_eq!(index.total_size(), Some(24));
/// assert!(index.shard_of("a").unwrap() == "one.safetensors");
/// assert!(index.tensors().is_sorted_by_key(|entry| entry.name()));
/// let two = index.shards().nth(1).unwrap();
/// assert!(two.name() == "two.safetensors" && two.len() == 2);
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShardIndex<'a> {
    source: Source<'a>,
    slots: Slots<'a, IndexSlot>,
    map_at: u32,
    shards: usize,
    metadata: Option<metadata::Found>,
}

/// What one pass over the index found.
struct Pass {
    count: usize,
    stored: bool,
    ascending: bool,
    map_at: Option<u32>,
    metadata: Option<metadata::Found>,
    /// Whether a name is empty, and where the second of that kind stands, which is kept in no slot.
    empty: bool,
    empty_again: Option<u64>,
}

impl<'a> ShardIndex<'a> {
    /// Proves the index in `bytes`, in the caller's storage: one slot a tensor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::StorageTooSmall`] when there are more tensors than slots; [`Error::needs_slots`] says how many. (An
    /// object in the metadata with more than 64 keys in no order takes a slot for each two of them besides.) Any other
    /// kind is the verdict on the index.
    pub fn open_in(bytes: &'a [u8], slots: &'a mut [IndexSlot], limits: &Limits) -> Result<Self, Error> {
        let source = text(bytes, limits)?;
        let mut lent = Lent { slots, used: 0 };
        let pass = read(source, &mut lent, limits)?;
        let needed = needed(source, &pass)?;
        if !pass.stored || needed > lent.slots.len() {
            return Err(Error::wanting(ErrorKind::StorageTooSmall, 0, num::widen(needed)));
        }
        let (used, spare) = lent.slots.split_at_mut_checked(pass.count).unwrap_or_default();
        let shards = prove(source, &pass, used, spare, limits)?;
        Ok(Self::proved(source, Slots::Lent(used), shards, &pass))
    }

    /// Proves the index in `bytes` with the default limits.
    ///
    /// Allocates at most as many bytes as the index has.
    ///
    /// ```
    /// let index = tensorgate::ShardIndex::open(br#"{"weight_map":{"w":"model-0.safetensors"}}"#)?;
    /// assert_eq!((index.len(), index.total_size()), (1, None));
    /// # Ok::<(), tensorgate::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The verdict on the index; [`ErrorKind::StorageTooSmall`] when memory ran out.
    #[cfg(feature = "alloc")]
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::open_with(bytes, &Limits::default())
    }

    /// Proves the index in `bytes` within `limits`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[cfg(feature = "alloc")]
    pub fn open_with(bytes: &'a [u8], limits: &Limits) -> Result<Self, Error> {
        let source = text(bytes, limits)?;
        let out_of_memory = Error::new(ErrorKind::StorageTooSmall, 0);
        let mut slots = slot::reserve(bytes).ok_or(out_of_memory)?;
        let pass = read(source, &mut slots, limits)?;
        let needed = needed(source, &pass)?;
        // What was reserved is enough for the scratch too, since keys take more bytes than their share of it.
        if !pass.stored || needed > slots.capacity() {
            return Err(out_of_memory);
        }
        slots.resize(needed, IndexSlot::EMPTY);
        let (used, spare) = slots.split_at_mut_checked(pass.count).unwrap_or_default();
        let shards = prove(source, &pass, used, spare, limits)?;
        slots.truncate(pass.count);
        Ok(Self::proved(source, Slots::Owned(slots), shards, &pass))
    }

    fn proved(source: Source<'a>, slots: Slots<'a, IndexSlot>, shards: usize, pass: &Pass) -> Self {
        Self { source, slots, map_at: pass.map_at.unwrap_or(0), shards, metadata: pass.metadata }
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.slots.as_slice().len()
    }

    /// Whether there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tensors, in the order of their names.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = IndexEntry<'a>> + DoubleEndedIterator + Clone + '_ {
        let source = self.source;
        self.slots.as_slice().iter().map(move |slot| source.entry(slot.name_at).unwrap_or_default())
    }

    /// The tensor at `index` in the order of the names.
    pub fn get(&self, index: usize) -> Option<IndexEntry<'a>> {
        self.slots.as_slice().get(index).and_then(|slot| self.source.entry(slot.name_at))
    }

    /// The tensors, in the order in which the index has them.
    pub fn in_file_order(&self) -> impl Iterator<Item = IndexEntry<'a>> + Clone + '_ {
        let mut lexer = self.source.lexer(self.map_at);
        let mut members = Members::open(&mut lexer, ErrorKind::IxMapType).ok();
        core::iter::from_fn(move || {
            let next = members.as_mut()?.key(&mut lexer).ok().flatten();
            let entry = next.and_then(|(name, name_at)| {
                let shard_at = lexer.at();
                let shard = lexer.string(ErrorKind::IxShardType).ok()?;
                Some(IndexEntry { name, shard, name_at, shard_at })
            });
            if entry.is_none() {
                members = None;
            }
            entry
        })
        .fuse()
    }

    /// The tensor called `name`, in logarithmic time.
    ///
    /// # Errors
    ///
    /// [`NotFound`] when the index does not name it.
    pub fn tensor(&self, name: &str) -> Result<IndexEntry<'a>, NotFound> {
        self.find(Name::plain(name)).ok_or(NotFound)
    }

    /// The shard that the tensor called `name` is in, by its file name.
    ///
    /// # Errors
    ///
    /// [`NotFound`] when the index does not name the tensor.
    pub fn shard_of(&self, name: &str) -> Result<Name<'a>, NotFound> {
        self.tensor(name).map(|entry| entry.shard)
    }

    fn find(&self, wanted: Name<'_>) -> Option<IndexEntry<'a>> {
        let name = |slot: &IndexSlot| self.source.entry(slot.name_at).map(|entry| entry.name);
        let slots = self.slots.as_slice();
        let index = slots.binary_search_by(|slot| name(slot).cmp(&Some(wanted))).ok()?;
        self.source.entry(slots.get(index)?.name_at)
    }

    /// The slot whose number stands at `rank` in the order of shards.
    fn ranked(&self, rank: usize) -> Option<IndexEntry<'a>> {
        let slots = self.slots.as_slice();
        let number = num::widen32(slots.get(rank)?.by_shard);
        self.source.entry(slots.get(number)?.name_at)
    }

    /// The ranks of the tensors whose shard is `shard`: `[start, end)`.
    fn ranks_of(&self, shard: Name<'_>) -> (usize, usize) {
        let before = |this: &IndexSlot, or_equal: bool| {
            let number = num::widen32(this.by_shard);
            let entry = self.slots.as_slice().get(number).and_then(|slot| self.source.entry(slot.name_at));
            entry.is_some_and(|entry| entry.shard < shard || (or_equal && entry.shard == shard))
        };
        let slots = self.slots.as_slice();
        (slots.partition_point(|slot| before(slot, false)), slots.partition_point(|slot| before(slot, true)))
    }

    /// The different shards, in the order of their names.
    pub fn shards(&self) -> Shards<'_> {
        Shards { index: self, rank: 0, left: self.shards }
    }

    /// The shard called `name`.
    ///
    /// # Errors
    ///
    /// [`NotFound`] when the index does not name it.
    pub fn shard(&self, name: &str) -> Result<Shard<'_>, NotFound> {
        self.find_shard(Name::plain(name)).ok_or(NotFound)
    }

    fn find_shard(&self, name: Name<'_>) -> Option<Shard<'_>> {
        let (start, end) = self.ranks_of(name);
        let first = self.ranked(start).filter(|_| start < end)?;
        Some(Shard { index: self, name: first.shard, start, end })
    }

    /// The free-form metadata, or `None` where there is none or it is null.
    pub fn metadata(&self) -> Option<IndexMetadata<'a>> {
        self.metadata.and_then(|found| found.object).map(|at| IndexMetadata::new(self.source, at))
    }

    /// `metadata.total_size`, the number of bytes of all tensors: a claim that [`check`](Self::check_total) proves.
    /// `None` where it is missing or no plain integer below 2^64.
    pub fn total_size(&self) -> Option<u64> {
        self.metadata.and_then(|found| found.total_size)
    }

    /// The index's text.
    pub const fn json(&self) -> &'a str {
        self.source.0
    }
}

/// What an index says of one tensor.
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry<'a> {
    name: Name<'a>,
    shard: Name<'a>,
    name_at: u64,
    shard_at: u64,
}

impl Default for IndexEntry<'_> {
    fn default() -> Self {
        Self { name: Name::plain(""), shard: Name::plain(""), name_at: 0, shard_at: 0 }
    }
}

impl<'a> IndexEntry<'a> {
    /// The tensor's name.
    pub const fn name(&self) -> Name<'a> {
        self.name
    }

    /// The file name of the shard that it is in.
    pub const fn shard(&self) -> Name<'a> {
        self.shard
    }

    /// Offset in the index of the name's opening quote.
    pub const fn name_at(&self) -> u64 {
        self.name_at
    }

    /// Offset in the index of the opening quote of the shard's name.
    pub const fn shard_at(&self) -> u64 {
        self.shard_at
    }
}

/// One shard and the tensors that an index puts into it: at least one.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::len_without_is_empty, reason = "a shard is there because a tensor is in it")]
pub struct Shard<'a> {
    index: &'a ShardIndex<'a>,
    name: Name<'a>,
    start: usize,
    end: usize,
}

impl<'a> Shard<'a> {
    /// The shard's file name: a plain one, safe to join to the index's folder.
    pub const fn name(&self) -> Name<'a> {
        self.name
    }

    /// How many tensors the index puts into it.
    pub const fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// The tensors that the index puts into it, in the order of their names.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = IndexEntry<'a>> + DoubleEndedIterator + Clone + use<'a> {
        let index = self.index;
        (self.start..self.end).map(move |rank| index.ranked(rank).unwrap_or_default())
    }
}

/// Iterator over the different shards of a [`ShardIndex`], in the order of their names.
#[derive(Clone, Debug)]
pub struct Shards<'a> {
    index: &'a ShardIndex<'a>,
    rank: usize,
    left: usize,
}

impl<'a> Iterator for Shards<'a> {
    type Item = Shard<'a>;

    fn next(&mut self) -> Option<Shard<'a>> {
        self.left = self.left.checked_sub(1)?;
        let first = self.index.ranked(self.rank)?;
        let mut end = self.rank.saturating_add(1);
        while self.index.ranked(end).is_some_and(|entry| entry.shard == first.shard) {
            end = end.saturating_add(1);
        }
        let shard = Shard { index: self.index, name: first.shard, start: self.rank, end };
        self.rank = end;
        Some(shard)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Shards<'_> {}
impl FusedIterator for Shards<'_> {}

/// The index's text, within the limit and UTF-8.
fn text<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Source<'a>, Error> {
    if num::widen(bytes.len()) > limits.index_len() {
        return Err(Error::wanting(ErrorKind::IxLengthLimit, 0, limits.index_len()));
    }
    utf8(bytes, 0).map(Source)
}

/// Reads the whole index once.
fn read<S: Store<IndexSlot>>(source: Source<'_>, store: &mut S, limits: &Limits) -> Result<Pass, Error> {
    let mut lexer = Lexer::new(source.0, 0);
    let mut pass = Pass {
        count: 0,
        stored: true,
        ascending: true,
        map_at: None,
        metadata: None,
        empty: false,
        empty_again: None,
    };
    let mut members = Members::open(&mut lexer, ErrorKind::JsonNotObject)?;
    while let Some((key, at)) = members.key(&mut lexer)? {
        if key == "weight_map" {
            if pass.map_at.replace(narrow(lexer.at())).is_some() {
                return Err(Error::new(ErrorKind::IxDupField, at));
            }
            weight_map(&mut lexer, &mut pass, store, limits)?;
        } else if key == "metadata" {
            if pass.metadata.is_some() {
                return Err(Error::new(ErrorKind::IxDupField, at));
            }
            pass.metadata = Some(metadata::read(&mut lexer, limits)?);
        } else {
            return Err(Error::new(ErrorKind::IxFieldUnknown, at));
        }
    }
    lexer.finish()?;
    if pass.map_at.is_none() { Err(Error::new(ErrorKind::IxFieldMissing, 0)) } else { Ok(pass) }
}

/// Reads `weight_map`'s object.
fn weight_map<'a, S: Store<IndexSlot>>(
    lexer: &mut Lexer<'a>,
    pass: &mut Pass,
    store: &mut S,
    limits: &Limits,
) -> Result<(), Error> {
    let mut before: Option<Name<'a>> = None;
    let mut last_shard: Option<Name<'a>> = None;
    let mut pairs = 0_u64;
    let mut members = Members::open(lexer, ErrorKind::IxMapType)?;
    while let Some((name, name_at)) = members.key(lexer)? {
        pairs = pairs.saturating_add(1);
        if pairs > limits.tensors() {
            return Err(Error::wanting(ErrorKind::IxTensorLimit, name_at, limits.tensors()));
        }
        if num::widen(name.raw().len()) > limits.name_len() {
            return Err(Error::wanting(ErrorKind::IxNameLimit, name_at, limits.name_len()));
        }
        let shard_at = lexer.at();
        let shard = lexer.string(ErrorKind::IxShardType)?;
        // Neighbours mostly share a shard, and then it was judged before.
        if last_shard.is_none_or(|last| last.raw() != shard.raw()) && !file_name::is_plain(shard) {
            return Err(Error::new(ErrorKind::IxShardName, shard_at));
        }
        last_shard = Some(shard);
        // A pair takes eight bytes, as much as a slot, but for those whose name is empty: all but one are a fault.
        if name.raw().is_empty() && core::mem::replace(&mut pass.empty, true) {
            pass.empty_again = pass.empty_again.or(Some(name_at));
            continue;
        }
        pass.count = pass.count.saturating_add(1);
        pass.ascending &= before.is_none_or(|before| before < name);
        before = Some(name);
        pass.stored &= store.push(IndexSlot { name_at: narrow(name_at), by_shard: 0 });
    }
    Ok(())
}

/// How many slots the rest takes: one a tensor, and the metadata's scratch.
fn needed(source: Source<'_>, pass: &Pass) -> Result<usize, Error> {
    let object = pass.metadata.and_then(|found| found.object);
    let scratch = object.map_or(Ok(0), |object| metadata::scratch(source, object))?;
    Ok(pass.count.saturating_add(scratch))
}

/// Proves what holds between members, arranges the slots, and counts the shards.
fn prove(
    source: Source<'_>,
    pass: &Pass,
    slots: &mut [IndexSlot],
    spare: &mut [IndexSlot],
    limits: &Limits,
) -> Result<usize, Error> {
    if let Some(object) = pass.metadata.and_then(|found| found.object) {
        metadata::unique_keys(source, object, spare)?;
    }
    let arranged = order::arrange(source, slots, pass.ascending, limits);
    // Of names that stand twice, the first in the file's order is reported.
    let Some(again) = pass.empty_again else { return arranged };
    match arranged {
        Err(error) if error.kind() == ErrorKind::IxDupName && error.at() < again => Err(error),
        _ => Err(Error::new(ErrorKind::IxDupName, again)),
    }
}
