//! What holds between entries: keys and names are unique, and the padding is zero.

use super::slot::Slot;
use crate::error::{Error, ErrorKind};
use crate::unique::{Insert, Keyed, NameWords, NameWordsRef, Table, Words, hash, heap_sort};
use crate::{Span, num, steps};

/// How keys or names are looked up afterwards.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lookup {
    /// The slots' words are a hash table.
    Hashed(Table),
    /// The slots' words are a table of the other hash (a file made to break the quick one).
    Keyed(Table, Keyed),
    /// The slots' words are indices that ascend by key (a file made to break both).
    Sorted,
}

/// The key or name of a slot, in the file's beginning.
#[inline]
pub(super) fn name<'a>(head: &'a [u8], slot: &Slot) -> &'a [u8] {
    let start = num::widen32(slot.at);
    head.get(start..start.saturating_add(num::widen32(slot.len))).unwrap_or_default()
}

/// Why a table of names was not filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The name at this place stands in an earlier slot too.
    Duplicate(u32),
    /// The names collide more than chance allows.
    Exhausted,
}

/// Proves that no two slots have the same key or name, and leaves them ready for looking up.
///
/// The error is of `kind` and points at the first that stood before.
pub(super) fn unique(head: &[u8], slots: &mut [Slot], kind: ErrorKind) -> Result<Lookup, Error> {
    match fill(head, slots, hash) {
        Ok(table) => Ok(Lookup::Hashed(table)),
        Err(Stop::Duplicate(at)) => Err(Error::new(kind, u64::from(at))),
        Err(Stop::Exhausted) => collided(head, slots, kind),
    }
}

/// Puts every slot in a table over the slots' own words, which are all zero, in the file's order.
#[inline]
fn fill(head: &[u8], slots: &mut [Slot], hash: impl Fn(&[u8]) -> u64) -> Result<Table, Stop> {
    let count = u32::try_from(slots.len()).unwrap_or(u32::MAX);
    let mut table = Table::new(count.saturating_mul(2), count, count);
    let mut words = NameWords(slots);
    for id in 0..count {
        let Some(slot) = words.0.get(num::widen32(id)).copied() else { break };
        let key = name(head, &slot);
        let outcome = table.insert(&mut words, id, hash(key), |words, other| {
            words.0.get(num::widen32(other)).is_some_and(|slot| name(head, slot) == key)
        });
        match outcome {
            Insert::New => {}
            Insert::Duplicate => return Err(Stop::Duplicate(slot.at)),
            Insert::Exhausted => return Err(Stop::Exhausted),
        }
    }
    Ok(table)
}

/// Goes on where the quick hash collides: with one that depends on everything up to the last slot, then by sorting.
#[cold]
fn collided(head: &[u8], slots: &mut [Slot], kind: ErrorKind) -> Result<Lookup, Error> {
    let end = slots.last().map_or(0, |slot| num::widen32(slot.end));
    let keyed = Keyed::by(head.get(..end).unwrap_or(head));
    let mut words = NameWords(slots);
    for index in 0..words.0.len().saturating_mul(2) {
        words.set_word(index, 0);
    }
    match fill(head, slots, |key| keyed.hash_bytes(key)) {
        Ok(table) => Ok(Lookup::Keyed(table, keyed)),
        Err(Stop::Duplicate(at)) => Err(Error::new(kind, u64::from(at))),
        Err(Stop::Exhausted) => sort(head, NameWords(slots), kind),
    }
}

/// The slow and sure way: sorts the slots' indices by key, equal keys by place.
#[cold]
fn sort(head: &[u8], mut words: NameWords<'_, Slot>, kind: ErrorKind) -> Result<Lookup, Error> {
    let count = words.0.len();
    for index in 0..count {
        words.set_word(index, u32::try_from(index).unwrap_or(u32::MAX));
    }
    let slot = |slots: &[Slot], index: u32| slots.get(num::widen32(index)).copied().unwrap_or(Slot::EMPTY);
    heap_sort(&mut words, count, |words, a, b| {
        let (a, b) = (slot(words.0, a), slot(words.0, b));
        steps::take_bytes(name(head, &a).len());
        name(head, &a).cmp(name(head, &b)).then(a.at.cmp(&b.at)).is_lt()
    });
    let at = |index: usize| slot(words.0, words.word(index));
    let second = (1..count)
        .filter_map(|index| {
            let (before, this) = (at(index.saturating_sub(1)), at(index));
            (name(head, &before) == name(head, &this)).then(|| u64::from(this.at))
        })
        .min();
    second.map_or(Ok(Lookup::Sorted), |at| Err(Error::new(kind, at)))
}

/// The index of the slot whose key or name is `wanted`.
#[inline]
pub(super) fn find(head: &[u8], slots: &[Slot], lookup: Lookup, wanted: &[u8]) -> Option<usize> {
    let words = NameWordsRef(slots);
    let in_table = |table: Table, hash: u64| {
        let found = table.find(&words, hash, |words, id| {
            words.0.get(num::widen32(id)).is_some_and(|slot| name(head, slot) == wanted)
        });
        found.map(num::widen32)
    };
    match lookup {
        Lookup::Hashed(table) => in_table(table, hash(wanted)),
        Lookup::Keyed(table, keyed) => in_table(table, keyed.hash_bytes(wanted)),
        Lookup::Sorted => {
            let (mut low, mut high) = (0, slots.len());
            while low < high {
                let middle = low.midpoint(high);
                let id = num::widen32(words.word(middle));
                match name(head, slots.get(id)?).cmp(wanted) {
                    core::cmp::Ordering::Equal => return Some(id),
                    core::cmp::Ordering::Less => low = middle.saturating_add(1),
                    core::cmp::Ordering::Greater => high = middle,
                }
            }
            None
        }
    }
}

/// Proves that the bytes of `span` are all zero.
pub(super) fn zero(file: &[u8], span: Span) -> Result<(), Error> {
    let have = num::widen(file.len());
    let bytes = span.of(file).ok_or(Error::wanting(ErrorKind::NeedMore, have, span.end()))?;
    // Whole blocks first, since an alignment of gigabytes is allowed.
    let (blocks, _) = bytes.as_chunks::<64>();
    let clean = blocks.iter().take_while(|block| block.iter().fold(0, |any, byte| any | byte) == 0).count();
    let start = clean.saturating_mul(64);
    let found = bytes.get(start..).unwrap_or_default().iter().position(|byte| *byte != 0);
    found.map_or(Ok(()), |index| {
        let at = span.start().saturating_add(num::widen(start.saturating_add(index)));
        Err(Error::new(ErrorKind::GgPaddingNonzero, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// Slots for keys of two bytes, one after the other.
    fn slots(count: u32) -> Vec<Slot> {
        (0..count).map(|id| Slot::new(u64::from(id) * 2, 2, 0)).collect()
    }

    #[test]
    fn sorted_and_hashed_say_the_same() {
        for repeat in [None, Some((0, 1)), Some((3, 299)), Some((150, 151))] {
            let mut head: Vec<u8> = (0..300_u16).flat_map(|id| (id.wrapping_mul(40_503)).to_be_bytes()).collect();
            if let Some((from, to)) = repeat {
                let key = [head[from * 2], head[from * 2 + 1]];
                head[to * 2..to * 2 + 2].copy_from_slice(&key);
            }
            let mut hashed = slots(300);
            let mut sorted = slots(300);
            let by_hash = unique(&head, &mut hashed, ErrorKind::GgKeyDup);
            let by_sort = sort(&head, NameWords(&mut sorted), ErrorKind::GgKeyDup);
            assert_eq!(by_hash.as_ref().err(), by_sort.as_ref().err());
            let want = repeat.map(|(_, to)| u64::try_from(to * 2).unwrap());
            assert_eq!(by_hash.as_ref().err().map(Error::at), want);
            if let (Ok(by_hash), Ok(by_sort)) = (by_hash, by_sort) {
                for id in 0..300 {
                    let key = name(&head, &hashed[id]);
                    assert_eq!(find(&head, &hashed, by_hash, key), Some(id));
                    assert_eq!(find(&head, &sorted, by_sort, key), Some(id));
                }
                assert_eq!(find(&head, &hashed, by_hash, b"no"), None);
                assert_eq!(find(&head, &sorted, by_sort, b"no"), None);
            }
        }
    }

    #[test]
    fn a_flood_of_equal_hashes_is_hashed_otherwise() {
        // Two words a key, the second chosen so that the state behind it is the same for all.
        let after_first = |word: u64| {
            let product = (word ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            product ^ (product >> 29)
        };
        let head: Vec<u8> = (0..2000_u64).flat_map(|n| [n, after_first(n)]).flat_map(u64::to_le_bytes).collect();
        let fresh = || (0..2000).map(|id| Slot::new(id * 16, 16, 0));
        let mut slots: Vec<Slot> = fresh().collect();
        assert_eq!(hash(&head[..16]), hash(&head[16..32]));
        let lookup = unique(&head, &mut slots, ErrorKind::GgKeyDup).unwrap();
        assert!(matches!(lookup, Lookup::Keyed(..)));
        assert!((0..2000).all(|id| find(&head, &slots, lookup, name(&head, &slots[id])) == Some(id)));
        // The key at 32 once more, at the end.
        let mut slots: Vec<Slot> = fresh().chain([Slot::new(32, 16, 0)]).collect();
        assert_eq!(unique(&head, &mut slots, ErrorKind::GgKeyDup).unwrap_err().at(), 32);
    }

    #[test]
    fn the_first_byte_that_is_not_zero() {
        let span = Span::new(3, 300).unwrap();
        let mut file = vec![9; 3];
        file.resize(300, 0);
        assert_eq!(zero(&file, span), Ok(()));
        for at in [299, 200, 67, 66, 3] {
            file[at] = 1;
            assert_eq!(zero(&file, span).unwrap_err().at(), u64::try_from(at).unwrap());
        }
        assert_eq!(zero(&file[..299], span).unwrap_err().needs(), Some(300));
    }
}
