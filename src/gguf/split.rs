//! Models split over several GGUF files: their names, their keys, and what holds between them.
//!
//! Nothing here opens a file. The caller finds the shards, by names of its own choosing, and hands in their headers.
//! Source of the rules: gguf-split and the model loader of llama.cpp, as of ggml 0.25.3.

mod error;
mod name;

pub use error::{SplitError, SplitErrorKind};
pub use name::ShardName;

use super::header::Header;
use super::value::{Value, ValueType};
use crate::num;
use crate::unique::{Items, heap_sort};

/// What the keys of a split model say, their types checked: `split.no`, `split.count` and `split.tensors.count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SplitKeys {
    number: u16,
    count: u16,
    tensors: u32,
}

/// The three keys and the type that each must have.
const NUMBER_KEY: (&str, ValueType) = ("split.no", ValueType::U16);
const COUNT_KEY: (&str, ValueType) = ("split.count", ValueType::U16);
const TENSORS_KEY: (&str, ValueType) = ("split.tensors.count", ValueType::I32);

impl SplitKeys {
    /// The keys of a shard; `Ok(None)` for a model that is whole, which has none of them or a count of 0.
    ///
    /// # Errors
    ///
    /// [`SplitErrorKind::KeyType`], [`SplitErrorKind::KeyMissing`] when there are some but not all,
    /// [`SplitErrorKind::Number`] when the number is not below the count, [`SplitErrorKind::Tensors`] when the tensors
    /// of all shards are a negative number or fewer than this shard has.
    pub fn of(header: &Header<'_>) -> Result<Option<Self>, SplitError> {
        let keys = [NUMBER_KEY, COUNT_KEY, TENSORS_KEY];
        for (key, kind) in keys {
            if header.get(key).is_some_and(|value| value.kind() != kind) {
                return Err(SplitError::new(SplitErrorKind::KeyType).put_at(type_at(header, key)));
            }
        }
        let [number, count, tensors] = keys.map(|(key, _)| header.get(key));
        if matches!(count, Some(Value::U16(0))) || (number, count, tensors) == (None, None, None) {
            return Ok(None);
        }
        let (Some(Value::U16(number)), Some(Value::U16(count)), Some(Value::I32(signed))) =
            (number, count, tensors)
        else {
            return Err(SplitError::new(SplitErrorKind::KeyMissing));
        };
        if number >= count {
            let error = SplitError::new(SplitErrorKind::Number).put_at(value_at(header, NUMBER_KEY.0));
            return Err(error.wanting(u64::from(count).saturating_sub(1)));
        }
        let tensors = u32::try_from(signed).ok().filter(|tensors| u64::from(*tensors) >= num::widen(header.len()));
        let wrong = SplitError::new(SplitErrorKind::Tensors).put_at(value_at(header, TENSORS_KEY.0));
        Ok(Some(Self { number, count, tensors: tensors.ok_or(wrong)? }))
    }

    /// `split.no`: which shard it is, from 0 on.
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// `split.count`: how many shards there are.
    pub const fn count(&self) -> u16 {
        self.count
    }

    /// `split.tensors.count`: how many tensors all shards have together.
    pub const fn tensors(&self) -> u32 {
        self.tensors
    }

    fn shard(self) -> u32 {
        u32::from(self.number).saturating_add(1)
    }
}

#[cold]
fn type_at(header: &Header<'_>, key: &str) -> u64 {
    header.pairs().find(|pair| pair.key() == key).map_or(0, |pair| pair.type_at())
}

#[cold]
fn value_at(header: &Header<'_>, key: &str) -> u64 {
    header.pairs().find(|pair| pair.key() == key).map_or(0, |pair| pair.value_at())
}

/// Storage for one tensor's name or one shard, while shards are checked against one another.
#[derive(Clone, Copy, Debug)]
pub struct SplitSlot<'a> {
    /// A tensor's name, which is never empty; empty for the shard itself.
    name: &'a str,
    shard: u32,
    at: u64,
}

impl SplitSlot<'_> {
    /// A slot with nothing in it.
    pub const EMPTY: Self = Self { name: "", shard: 0, at: 0 };

    fn before(&self, other: &Self) -> bool {
        (self.name, self.shard, self.at) < (other.name, other.shard, other.at)
    }
}

#[derive(Debug)]
enum Slots<'a, 's> {
    Lent(&'s mut [SplitSlot<'a>], usize),
    #[cfg(feature = "alloc")]
    Owned(alloc::vec::Vec<SplitSlot<'a>>, core::marker::PhantomData<&'s ()>),
}

impl<'a> Slots<'a, '_> {
    fn push(&mut self, slot: SplitSlot<'a>) -> bool {
        match self {
            Self::Lent(slots, used) => {
                let Some(place) = slots.get_mut(*used) else { return false };
                *place = slot;
                *used = used.saturating_add(1);
                true
            }
            #[cfg(feature = "alloc")]
            Self::Owned(slots, _) => {
                if slots.len() == slots.capacity() && slots.try_reserve(1).is_err() {
                    return false;
                }
                slots.push(slot);
                true
            }
        }
    }

    fn as_mut(&mut self) -> &mut [SplitSlot<'a>] {
        match self {
            Self::Lent(slots, used) => slots.get_mut(..*used).unwrap_or_default(),
            #[cfg(feature = "alloc")]
            Self::Owned(slots, _) => slots,
        }
    }
}

/// The slots as something to sort.
struct Rows<'r, 'a>(&'r mut [SplitSlot<'a>]);

impl<'a> Items for Rows<'_, 'a> {
    type Item = SplitSlot<'a>;

    fn item(&self, index: usize) -> SplitSlot<'a> {
        self.0.get(index).copied().unwrap_or(SplitSlot::EMPTY)
    }

    fn set_item(&mut self, index: usize, item: SplitSlot<'a>) {
        if let Some(place) = self.0.get_mut(index) {
            *place = item;
        }
    }
}

/// The shards of one model, checked against one another as they are handed in, in any order.
///
/// It keeps the names of the tensors, so the headers' bytes stay borrowed. One slot a tensor and one a shard.
///
/// ```
/// use tensorgate::{Limits, gguf::{Header, Split, SplitErrorKind, SplitSlot, Slot}};
///
/// // The first of two shards, without tensors.
/// let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0".to_vec();
/// file.extend_from_slice(b"\x08\0\0\0\0\0\0\0split.no\x02\0\0\0\0\0");
/// file.extend_from_slice(b"\x0b\0\0\0\0\0\0\0split.count\x02\0\0\0\x02\0");
/// file.extend_from_slice(b"\x13\0\0\0\0\0\0\0split.tensors.count\x05\0\0\0\x07\0\0\0");
/// let mut slots = [Slot::EMPTY; 3];
/// let first = Header::open_in(&file, file.len() as u64, &mut slots, &Limits::default())?;
///
/// let mut names = [SplitSlot::EMPTY; 16];
/// let mut split = Split::new_in(&first, &mut names)?;
/// split.add("model-00001-of-00002.gguf", &first)?;
/// let error = split.finish().unwrap_err();
/// assert_eq!((error.kind(), error.shard()), (SplitErrorKind::Missing, Some(2)));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Split<'a, 's, 'n> {
    keys: SplitKeys,
    architecture: Option<Value<'a>>,
    prefix: Option<&'n str>,
    /// Tensors of all shards so far.
    tensors: u64,
    slots: Slots<'a, 's>,
    sorted: bool,
}

impl<'a, 's, 'n> Split<'a, 's, 'n> {
    /// Begins with what the first shard says of all of them, in the caller's storage. The first shard is to be
    /// [added](Self::add) like the others.
    ///
    /// # Errors
    ///
    /// As [`SplitKeys::of`]; [`SplitErrorKind::KeyMissing`] also when the model is whole, [`SplitErrorKind::First`] when
    /// it is another shard than the first, [`SplitErrorKind::Architecture`] when `general.architecture` is no text.
    pub fn new_in(first: &Header<'a>, slots: &'s mut [SplitSlot<'a>]) -> Result<Self, SplitError> {
        Self::with(first, Slots::Lent(slots, 0))
    }

    /// The same with storage that grows by what was read.
    ///
    /// # Errors
    ///
    /// As [`new_in`](Self::new_in).
    #[cfg(feature = "alloc")]
    pub fn new(first: &Header<'a>) -> Result<Self, SplitError> {
        Self::with(first, Slots::Owned(alloc::vec::Vec::new(), core::marker::PhantomData))
    }

    fn with(first: &Header<'a>, slots: Slots<'a, 's>) -> Result<Self, SplitError> {
        let keys = SplitKeys::of(first)?.ok_or(SplitError::new(SplitErrorKind::KeyMissing))?;
        if keys.number != 0 {
            let error = SplitError::new(SplitErrorKind::First).in_shard(keys.shard());
            return Err(error.put_at(value_at(first, NUMBER_KEY.0)).wanting(0));
        }
        let architecture = architecture(first, keys.shard())?;
        Ok(Self { keys, architecture, prefix: None, tensors: 0, slots, sorted: true })
    }

    /// What the first shard's keys say.
    pub const fn keys(&self) -> SplitKeys {
        self.keys
    }

    /// Adds one shard under the name of its file, without folders.
    ///
    /// # Errors
    ///
    /// What is wrong with this shard, alone or beside those before it. Whether there are two of one number, and whether
    /// names are unique, is seen at [the end](Self::finish).
    pub fn add(&mut self, name: &'n str, header: &Header<'a>) -> Result<(), SplitError> {
        let name = ShardName::parse(name).ok_or(SplitError::new(SplitErrorKind::Name))?;
        let shard = name.number();
        let fault = |kind| SplitError::new(kind).in_shard(shard);
        let keys = SplitKeys::of(header).map_err(|error| error.in_shard(shard))?;
        let keys = keys.ok_or(fault(SplitErrorKind::KeyMissing))?;
        if keys.count != self.keys.count || name.count() != u32::from(keys.count) {
            let error = fault(SplitErrorKind::Count).put_at(value_at(header, COUNT_KEY.0));
            return Err(error.wanting(u64::from(self.keys.count)));
        }
        if keys.shard() != shard {
            let error = fault(SplitErrorKind::Number).put_at(value_at(header, NUMBER_KEY.0));
            return Err(error.wanting(u64::from(shard).saturating_sub(1)));
        }
        if keys.tensors != self.keys.tensors {
            let error = fault(SplitErrorKind::Tensors).put_at(value_at(header, TENSORS_KEY.0));
            return Err(error.wanting(u64::from(self.keys.tensors)));
        }
        if *self.prefix.get_or_insert(name.prefix()) != name.prefix() {
            return Err(fault(SplitErrorKind::Prefix));
        }
        if let Some(value) = architecture(header, shard)?
            && self.architecture.is_some_and(|first| first != value)
        {
            return Err(fault(SplitErrorKind::Architecture).put_at(value_at(header, ARCHITECTURE_KEY)));
        }
        self.keep(header, shard)
    }

    fn keep(&mut self, header: &Header<'a>, shard: u32) -> Result<(), SplitError> {
        self.tensors = self.tensors.saturating_add(num::widen(header.len()));
        self.sorted = false;
        let own = SplitSlot { name: "", shard, at: 0 };
        let names = header.tensors().map(|info| SplitSlot { name: info.name().raw(), shard, at: info.info_at() });
        for slot in core::iter::once(own).chain(names) {
            if !self.slots.push(slot) {
                let wanted = u64::from(self.keys.tensors).saturating_add(u64::from(self.keys.count));
                return Err(SplitError::new(SplitErrorKind::Storage).in_shard(shard).wanting(wanted));
            }
        }
        Ok(())
    }

    /// The slots by name, then by shard; those of the shards themselves come first.
    fn sort(&mut self) -> &[SplitSlot<'a>] {
        let sorted = core::mem::replace(&mut self.sorted, true);
        let slots = self.slots.as_mut();
        if !sorted {
            let count = slots.len();
            heap_sort(&mut Rows(slots), count, |_, a, b| a.before(&b));
        }
        slots
    }

    /// The numbers of the shards that were not added, from 1 on.
    pub fn missing(&mut self) -> impl Iterator<Item = u32> + '_ {
        let count = u32::from(self.keys.count);
        let mut shards =
            self.sort().iter().take_while(|slot| slot.name.is_empty()).map(|slot| slot.shard).peekable();
        (1..=count).filter(move |number| {
            let mut there = false;
            while shards.next_if(|shard| shard <= number).is_some_and(|shard| {
                there |= shard == *number;
                true
            }) {}
            !there
        })
    }

    /// Proves that the shards that were added are the whole model.
    ///
    /// # Errors
    ///
    /// The first of [`SplitErrorKind::Repeated`], [`SplitErrorKind::Missing`] (the least number; see
    /// [`missing`](Self::missing) for all), [`SplitErrorKind::Tensors`] and [`SplitErrorKind::NameDup`] that there is.
    pub fn finish(mut self) -> Result<SplitKeys, SplitError> {
        let keys = self.keys;
        if let Some(second) = same(self.sort(), |slot| slot.name.is_empty()) {
            return Err(SplitError::new(SplitErrorKind::Repeated).in_shard(second.shard));
        }
        if let Some(number) = self.missing().next() {
            return Err(SplitError::new(SplitErrorKind::Missing).in_shard(number));
        }
        if self.tensors != u64::from(keys.tensors) {
            return Err(SplitError::new(SplitErrorKind::Tensors).wanting(self.tensors));
        }
        if let Some(second) = same(self.sort(), |slot| !slot.name.is_empty()) {
            return Err(SplitError::new(SplitErrorKind::NameDup).in_shard(second.shard).put_at(second.at));
        }
        Ok(keys)
    }
}

/// The first slot of a kind that says what its neighbour before says: a shard's number, or a tensor's name.
fn same<'r, 'a>(slots: &'r [SplitSlot<'a>], of_kind: impl Fn(&SplitSlot<'a>) -> bool) -> Option<&'r SplitSlot<'a>> {
    let pairs = slots.iter().zip(slots.iter().skip(1)).filter(|(a, b)| of_kind(a) && of_kind(b));
    let mut same = pairs.filter(|(a, b)| if a.name.is_empty() { a.shard == b.shard } else { a.name == b.name });
    same.next().map(|(_, second)| second)
}

const ARCHITECTURE_KEY: &str = "general.architecture";

/// The architecture, where the shard gives one; only the first does in files that gguf-split writes.
fn architecture<'a>(header: &Header<'a>, shard: u32) -> Result<Option<Value<'a>>, SplitError> {
    match header.get(ARCHITECTURE_KEY) {
        Some(value) if value.kind() != ValueType::String => {
            let error = SplitError::new(SplitErrorKind::Architecture).in_shard(shard);
            Err(error.put_at(type_at(header, ARCHITECTURE_KEY)))
        }
        value => Ok(value),
    }
}
