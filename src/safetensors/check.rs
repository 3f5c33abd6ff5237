//! What holds between entries: names and metadata keys are unique, and the data is tiled exactly.

use core::cmp::Ordering;

use super::entry;
use super::slot::{ScratchWords, Slot, scratch_slots, scratch_words};
use crate::error::{Error, ErrorKind};
use crate::json::lex::Lexer;
use crate::json::object::Members;
use crate::name::Name;
use crate::num;
use crate::unique::{Insert, Keyed, NameWords, NameWordsRef, Table, Words, first_duplicate, heap_sort};

/// The header's text and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    pub(super) json: &'a str,
    pub(super) at: u64,
}

impl<'a> Text<'a> {
    /// The name kept in a slot.
    #[inline]
    pub(super) fn name(&self, slot: &Slot) -> Name<'a> {
        let start = num::widen32(slot.name_at);
        let end = start.saturating_add(num::widen32(slot.name_len));
        Name::json(self.json.get(start..end).unwrap_or_default(), slot.escaped)
    }

    /// The absolute offset of a position in the header.
    #[inline]
    pub(super) const fn absolute(&self, position: u32) -> u64 {
        self.at.saturating_add(num::widen(num::widen32(position)))
    }
}

/// How names are looked up afterwards.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lookup {
    /// The slots themselves ascend by name.
    Ascending,
    /// The slots' words are a hash table.
    Hashed(Table),
    /// The slots' words are indices that ascend by name (a file made to break both).
    Sorted,
    /// The slots' words are a table of the other hash (a file made to break the quick one).
    Keyed(Table, Keyed),
}

/// Why a table of names was not filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The name of this slot stands in an earlier one too.
    Duplicate(u32),
    /// The names collide more than chance allows.
    Exhausted,
}

/// Proves that no two names are equal, and leaves the slots ready for looking up.
pub(super) fn unique_names(text: Text<'_>, slots: &mut [Slot]) -> Result<Lookup, Error> {
    match fill_names(text, slots, |name| name.hash64()) {
        Ok(table) => Ok(Lookup::Hashed(table)),
        Err(stop) => suspect_names(text, slots, stop),
    }
}

/// Puts every slot in a table over the slots' own words, which are all zero.
#[inline]
fn fill_names(text: Text<'_>, slots: &mut [Slot], hash: impl Fn(Name<'_>) -> u64) -> Result<Table, Stop> {
    let count = u32::try_from(slots.len()).unwrap_or(u32::MAX);
    let mut table = Table::new(count.saturating_mul(2), count, count);
    let mut words = NameWords(slots);
    for id in 0..count {
        let Some(name) = words.0.get(num::widen32(id)).map(|slot| text.name(slot)) else { break };
        let outcome = table.insert(&mut words, id, hash(name), |words, other| {
            words.0.get(num::widen32(other)).is_some_and(|slot| text.name(slot) == name)
        });
        match outcome {
            Insert::New => {}
            Insert::Duplicate => return Err(Stop::Duplicate(id)),
            Insert::Exhausted => return Err(Stop::Exhausted),
        }
    }
    Ok(table)
}

/// Goes on where names are equal or collide.
#[cold]
fn suspect_names(text: Text<'_>, slots: &mut [Slot], mut stop: Stop) -> Result<Lookup, Error> {
    let keyed = Keyed::by(text.json.as_bytes());
    if stop == Stop::Exhausted {
        clear_names(slots);
        match fill_names(text, slots, |name| keyed.hash(name)) {
            Ok(table) => return Ok(Lookup::Keyed(table, keyed)),
            Err(other) => stop = other,
        }
    }
    if stop != Stop::Exhausted {
        // In the file's order, the first duplicate that is met is the first there is.
        let count = slots.len();
        heap_sort(slots, count, |_, a, b| a.name_at < b.name_at);
        clear_names(slots);
        if let Err(Stop::Duplicate(id)) = fill_names(text, slots, |name| keyed.hash(name)) {
            let at =
                slots.get(num::widen32(id)).map_or(text.at, |slot| text.absolute(slot.name_at).saturating_sub(1));
            return Err(Error::new(ErrorKind::StDupName, at));
        }
    }
    sort_names(text, NameWords(slots))
}

/// The slow and sure way: sorts the slots' indices by name (equal names by place), and says which name in the file's
/// order is the first that stood before.
#[cold]
fn sort_names(text: Text<'_>, mut words: NameWords<'_, Slot>) -> Result<Lookup, Error> {
    let count = words.0.len();
    for index in 0..count {
        words.set_word(index, u32::try_from(index).unwrap_or(u32::MAX));
    }
    let slot = |slots: &[Slot], index: u32| slots.get(num::widen32(index)).copied().unwrap_or(Slot::EMPTY);
    let name = |words: &NameWords<'_, Slot>, index| text.name(&slot(words.0, index));
    let second = first_duplicate(
        &mut words,
        count,
        |words, a, b| name(words, a).cmp(&name(words, b)),
        |words, index| slot(words.0, index).name_at,
    );
    second
        .map_or(Ok(Lookup::Sorted), |at| Err(Error::new(ErrorKind::StDupName, text.absolute(at).saturating_sub(1))))
}

/// The index of the slot whose name is `wanted`.
#[inline]
pub(super) fn find(text: Text<'_>, slots: &[Slot], lookup: &Lookup, wanted: Name<'_>) -> Option<usize> {
    match lookup {
        Lookup::Ascending => slots.binary_search_by(|slot| text.name(slot).cmp(&wanted)).ok(),
        Lookup::Hashed(table) => {
            let words = NameWordsRef(slots);
            let found = table.find(&words, wanted.hash64(), |words, id| {
                words.0.get(num::widen32(id)).is_some_and(|slot| text.name(slot) == wanted)
            });
            found.map(num::widen32)
        }
        Lookup::Sorted => {
            let words = NameWordsRef(slots);
            let (mut low, mut high) = (0, slots.len());
            while low < high {
                let middle = low.midpoint(high);
                let id = num::widen32(words.word(middle));
                match text.name(slots.get(id)?).cmp(&wanted) {
                    Ordering::Equal => return Some(id),
                    Ordering::Less => low = middle.saturating_add(1),
                    Ordering::Greater => high = middle,
                }
            }
            None
        }
        Lookup::Keyed(table, keyed) => {
            let words = NameWordsRef(slots);
            let found = table.find(&words, keyed.hash(wanted), |words, id| {
                words.0.get(num::widen32(id)).is_some_and(|slot| text.name(slot) == wanted)
            });
            found.map(num::widen32)
        }
    }
}

/// Sorts the slots by where their data begins, and proves that they tile `[0, data_len)` without gap or overlap.
///
/// Returns nothing but the proof; an error points at the `data_offsets` that do not fit.
pub(super) fn tiling(text: Text<'_>, slots: &mut [Slot], tiled: bool, data_len: u64) -> Result<(), Error> {
    let offsets_at = |slot: &Slot| {
        let name_at = text.absolute(slot.name_at);
        entry::again(text.json.as_bytes(), text.at, name_at).map_or(name_at, |entry| entry.offsets_at)
    };
    let mut covered = 0_u64;
    if tiled {
        covered = slots.last().map_or(0, |slot| slot.end);
    } else {
        let key = |slot: &Slot| (slot.begin, slot.end, slot.name_at);
        heap_sort(slots, slots.len(), |_, a, b| key(&a) < key(&b));
        for slot in &*slots {
            let kind = match slot.begin.cmp(&covered) {
                Ordering::Equal => {
                    covered = slot.end;
                    continue;
                }
                Ordering::Greater => ErrorKind::StGap,
                Ordering::Less => ErrorKind::StOverlap,
            };
            return Err(Error::wanting(kind, offsets_at(slot), covered));
        }
    }
    let data_at = text.at.saturating_add(num::widen(text.json.len()));
    let want = data_at.saturating_add(covered);
    if covered > data_len {
        // The first tensor that the file cuts short is the one to look at.
        let first = slots.iter().find(|slot| slot.end > data_len).map_or(data_at, offsets_at);
        return Err(Error::wanting(ErrorKind::StDataShort, first, want));
    }
    if covered < data_len { Err(Error::wanting(ErrorKind::StDataTrailing, want, want)) } else { Ok(()) }
}

/// Where `__metadata__`'s object stands, and what is known of its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metadata {
    /// Position in the header of the object's `{`; `None` for null.
    pub(super) object: Option<u32>,
    pub(super) keys: u32,
    pub(super) ascending: bool,
}

/// Up to this many keys are told apart in words on the stack.
const STACK_KEYS: u32 = 64;
/// As many slots as the words for so many keys take: 64 * 6 / 5 + 2 words, nine a slot.
const STACK_SLOTS: usize = 9;

/// How many slots of scratch the proof that metadata keys are unique takes.
pub(super) fn metadata_scratch(metadata: Metadata) -> usize {
    if metadata.ascending || metadata.keys <= STACK_KEYS { 0 } else { scratch_slots(metadata.keys) }
}

/// Proves that no two metadata keys are equal; `scratch` has [`metadata_scratch`] slots.
pub(super) fn unique_keys(text: Text<'_>, metadata: Metadata, scratch: &mut [Slot]) -> Result<(), Error> {
    let Some(object) = metadata.object.filter(|_| !metadata.ascending) else { return Ok(()) };
    let capacity = u32::try_from(scratch_words(metadata.keys)).unwrap_or(u32::MAX);
    // A few keys take slots on the stack, so that the code for their words is there once.
    let mut few = [Slot::EMPTY; STACK_SLOTS];
    let slots = if metadata.keys <= STACK_KEYS { &mut few[..] } else { scratch };
    let mut words = ScratchWords(slots);
    clear(&mut words, capacity);
    keys_in(text, object, metadata.keys, &mut words, capacity)
}

fn clear_names(slots: &mut [Slot]) {
    let count = u32::try_from(slots.len()).unwrap_or(u32::MAX).saturating_mul(2);
    clear(&mut NameWords(slots), count);
}

fn clear<W: Words + ?Sized>(words: &mut W, capacity: u32) {
    (0..capacity).for_each(|index| words.set_word(num::widen32(index), 0));
}

/// The key whose quote stands at `position` of the header.
fn key_at(text: Text<'_>, position: u32) -> Option<Name<'_>> {
    let rest = text.json.as_bytes().get(num::widen32(position)..)?;
    Lexer::resume(rest, 0).string(ErrorKind::JsonKey).ok()
}

/// Calls `take` with each key and the position of its quote. The object was accepted before.
fn each_key<'a>(
    text: Text<'a>,
    object: u32,
    mut take: impl FnMut(Name<'a>, u32) -> Result<(), Error>,
) -> Result<(), Error> {
    let rest = text.json.as_bytes().get(num::widen32(object)..).unwrap_or_default();
    let mut lexer = Lexer::resume(rest, u64::from(object));
    let mut members = Members::open(&mut lexer, ErrorKind::StMetadataType)?;
    while let Some((key, at)) = members.key(&mut lexer)? {
        take(key, u32::try_from(at).unwrap_or(u32::MAX))?;
        lexer.string(ErrorKind::StMetadataValue)?;
    }
    Ok(())
}

fn keys_in(
    text: Text<'_>,
    object: u32,
    keys: u32,
    words: &mut ScratchWords<'_>,
    capacity: u32,
) -> Result<(), Error> {
    let most = u32::try_from(text.json.len()).unwrap_or(u32::MAX);
    let empty = Table::new(capacity, keys, most);
    if fill_keys(text, object, words, empty, |key| key.hash64())? {
        return Ok(());
    }
    clear(words, capacity);
    let keyed = Keyed::by(text.json.as_bytes());
    if fill_keys(text, object, words, empty, |key| keyed.hash(key))? {
        return Ok(());
    }
    sort_keys(text, object, words, keys)
}

/// How many keys are hashed before the first of them is put in the table, so that their words are fetched together: a
/// large table is in no cache.
const AHEAD: usize = 16;

/// Puts every key in the table, in the file's order; false where they collide more than chance allows.
fn fill_keys(
    text: Text<'_>,
    object: u32,
    words: &mut ScratchWords<'_>,
    mut table: Table,
    hash: impl Fn(Name<'_>) -> u64,
) -> Result<bool, Error> {
    let mut ahead = [(Name::plain(""), 0_u32, 0_u64); AHEAD];
    let mut waiting = 0_usize;
    let mut filled = true;
    each_key(text, object, |key, position| {
        if let Some(place) = ahead.get_mut(waiting) {
            *place = (key, position, hash(key));
            waiting = waiting.saturating_add(1);
        }
        if waiting == AHEAD && filled {
            waiting = 0;
            filled = put_keys(text, words, &mut table, &ahead)?;
        }
        Ok(())
    })?;
    let rest = ahead.get(..waiting).unwrap_or_default();
    Ok(filled && put_keys(text, words, &mut table, rest)?)
}

fn put_keys(
    text: Text<'_>,
    words: &mut ScratchWords<'_>,
    table: &mut Table,
    keys: &[(Name<'_>, u32, u64)],
) -> Result<bool, Error> {
    for (_, _, hash) in keys {
        table.fetch(words, *hash);
    }
    for (key, position, hash) in keys {
        match table.insert(words, *position, *hash, |_, other| key_at(text, other) == Some(*key)) {
            Insert::New => {}
            Insert::Duplicate => return Err(Error::new(ErrorKind::StDupMetadataKey, text.absolute(*position))),
            Insert::Exhausted => return Ok(false),
        }
    }
    Ok(true)
}

/// The slow and sure way for metadata keys.
#[cold]
fn sort_keys(text: Text<'_>, object: u32, words: &mut ScratchWords<'_>, keys: u32) -> Result<(), Error> {
    let mut count = 0_usize;
    each_key(text, object, |_, position| {
        words.set_word(count, position);
        count = count.saturating_add(1);
        Ok(())
    })?;
    let count = count.min(num::widen32(keys));
    let second =
        first_duplicate(words, count, |_, a, b| key_at(text, a).cmp(&key_at(text, b)), |_, position| position);
    second.map_or(Ok(()), |at| Err(Error::new(ErrorKind::StDupMetadataKey, text.absolute(at))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;
    use std::string::String;
    use std::vec::Vec;

    /// Keys of an object in this order, and where each stands.
    fn keys(names: &[&str]) -> (String, Vec<Slot>) {
        let mut json = String::from("{");
        let mut slots = Vec::new();
        for name in names {
            let at = u32::try_from(json.len() + 1).unwrap();
            slots.push(Slot::named(at, u32::try_from(name.len()).unwrap(), name.contains('\\')));
            write!(json, "\"{name}\":\"\",").unwrap();
        }
        json.pop();
        json.push('}');
        (json, slots)
    }

    #[test]
    fn the_slots_on_the_stack_are_enough() {
        assert_eq!(scratch_slots(STACK_KEYS), STACK_SLOTS);
    }

    /// No file is known to get as far as the sort, so that it is tried here alone.
    #[test]
    fn the_sort_finds_what_the_tables_find() {
        let (json, mut slots) = keys(&["b", "c", "\\u0061b", "", "aa"]);
        let text = Text { json: &json, at: 8 };
        let lookup = sort_names(text, NameWords(&mut slots)).unwrap();
        for (index, name) in ["b", "c", "ab", "", "aa"].iter().enumerate() {
            assert_eq!(find(text, &slots, &lookup, Name::plain(name)), Some(index));
        }
        for absent in ["A", "a", "aaa", "abc", "bb", "d"] {
            assert_eq!(find(text, &slots, &lookup, Name::plain(absent)), None, "{absent}");
        }
        let count = u32::try_from(slots.len()).unwrap();
        assert_eq!(sort_keys(text, 0, &mut ScratchWords(&mut [Slot::EMPTY; 1]), count), Ok(()));
    }

    /// The tables are not only there: keys that do not collide are told apart by the first of them.
    #[test]
    fn honest_keys_need_no_sort() {
        let names: Vec<String> = (0..50).map(|index| std::format!("k{:02}", index * 37 % 50)).collect();
        for count in [1, 15, 16, 17, 32, 50] {
            let names: Vec<&str> = names[..count].iter().map(String::as_str).collect();
            let fill = |names: &[&str]| {
                let (json, _) = keys(names);
                let capacity = u32::try_from(scratch_words(64)).unwrap();
                let table = Table::new(capacity, 50, u32::try_from(json.len()).unwrap());
                let mut slots = [Slot::EMPTY; STACK_SLOTS];
                let text = Text { json: &json, at: 8 };
                let outcome = fill_keys(text, 0, &mut ScratchWords(&mut slots), table, |key| key.hash64());
                let used = (0..STACK_SLOTS * 9).filter(|word| ScratchWords(&mut slots).word(*word) != 0).count();
                (outcome.map_err(|error| error.kind()), used)
            };
            assert_eq!(fill(&names), (Ok(true), count));
            assert_eq!(fill(&[&names[..], &names[..1]].concat()), (Err(ErrorKind::StDupMetadataKey), count));
        }
    }

    #[test]
    fn the_first_duplicate_is_the_same_however_it_is_found() {
        let names = ["x", "a", "b", "\\u0061", "x", "b"];
        let (json, slots) = keys(&names);
        let text = Text { json: &json, at: 8 };
        let want = 8 + u64::try_from(json.find("\"\\u0061\"").unwrap()).unwrap();
        for turn in 0..names.len() {
            // As the data's order may have left them.
            let mut turned = slots.clone();
            turned.rotate_left(turn);
            let found = unique_names(text, &mut turned.clone()).unwrap_err();
            assert_eq!((found.kind(), found.at()), (ErrorKind::StDupName, want));
            let exhausted = suspect_names(text, &mut turned.clone(), Stop::Exhausted).unwrap_err();
            let sorted = sort_names(text, NameWords(&mut turned)).unwrap_err();
            assert_eq!([exhausted, sorted], [found; 2]);
        }
        let metadata = Metadata { object: Some(0), keys: 6, ascending: false };
        let found = unique_keys(text, metadata, &mut []).unwrap_err();
        assert_eq!((found.kind(), found.at()), (ErrorKind::StDupMetadataKey, want));
        assert_eq!(sort_keys(text, 0, &mut ScratchWords(&mut [Slot::EMPTY; 1]), 6), Err(found));
    }
}
