//! The two orders of an index: by name, and by shard and then name.

use core::cmp::Ordering;

use super::slot::IndexSlot;
use super::source::Source;
use crate::error::{Error, ErrorKind};
use crate::json::lex::plain_len;
use crate::json::text::{Decode, check_escape};
use crate::unique::{Insert, Items, Table, heap_sort};
use crate::{Limits, Name, num, steps};

/// The first character of a JSON string's inside as what it says, and what follows it. `None` at its closing quote.
fn character(text: &[u8]) -> Option<(char, &[u8])> {
    let (first, after) = text.split_first()?;
    let rest = match first {
        b'"' => return None,
        b'\\' => check_escape(after).ok()?,
        0..0x80 => after,
        0x80..0xE0 => text.get(2..)?,
        0xE0..0xF0 => text.get(3..)?,
        0xF0.. => text.get(4..)?,
    };
    let token = text.get(..text.len().saturating_sub(rest.len()))?;
    let decoded = Decode::new(core::str::from_utf8(token).ok()?, *first == b'\\').next()?;
    Some((decoded, rest))
}

/// What follows in both where they begin with one and the same escape of one spelling, but for surrogates.
fn same_escape<'a, 'b>(a: &'a [u8], b: &'b [u8]) -> Option<(&'a [u8], &'b [u8])> {
    let len = match (a, b) {
        ([b'\\', b'u', high, ..], [b'\\', b'u', ..]) if !matches!(high, b'd' | b'D') => 6,
        ([b'\\', left, ..], [b'\\', right, ..]) if left == right && *left != b'u' => 2,
        _ => return None,
    };
    let ((left, after_a), (right, after_b)) = (a.split_at_checked(len)?, b.split_at_checked(len)?);
    (left == right).then_some((after_a, after_b))
}

/// Orders two checked JSON strings by what they say, each given from behind its opening quote: as `Name` orders them,
/// but without looking for their ends first.
pub(super) fn compare(mut a: &[u8], mut b: &[u8]) -> Ordering {
    loop {
        steps::take(1);
        while let (Some((left, after_a)), Some((right, after_b))) =
            (a.split_first_chunk(), b.split_first_chunk::<8>())
            && left == right
            && plain_len(left) == left.len()
        {
            (a, b) = (after_a, after_b);
        }
        match (a.split_first(), b.split_first()) {
            (None | Some((b'"', _)), None | Some((b'"', _))) => return Ordering::Equal,
            (None | Some((b'"', _)), _) => return Ordering::Less,
            (_, None | Some((b'"', _))) => return Ordering::Greater,
            // All bytes before were equal, so both stand at the same place of a character.
            (Some((left, after_a)), Some((right, after_b))) if *left != b'\\' && *right != b'\\' => {
                if left != right {
                    return left.cmp(right);
                }
                (a, b) = (after_a, after_b);
            }
            _ => {
                if let Some(after) = same_escape(a, b) {
                    (a, b) = after;
                    continue;
                }
                match (character(a), character(b)) {
                    (Some((left, after_a)), Some((right, after_b))) if left == right => (a, b) = (after_a, after_b),
                    (Some((left, _)), Some((right, _))) => return left.cmp(&right),
                    // Not reached with checked text.
                    (left, right) => return left.is_some().cmp(&right.is_some()),
                }
            }
        }
    }
}

impl Items for [IndexSlot] {
    type Item = IndexSlot;

    #[inline]
    fn item(&self, index: usize) -> IndexSlot {
        self.get(index).copied().unwrap_or(IndexSlot::EMPTY)
    }

    #[inline]
    fn set_item(&mut self, index: usize, item: IndexSlot) {
        if let Some(slot) = self.get_mut(index) {
            *slot = item;
        }
    }
}

/// Sorts whole slots, with no path to a panic.
fn sort(slots: &mut [IndexSlot], order: impl Fn(&IndexSlot, &IndexSlot) -> Ordering) {
    let count = slots.len();
    heap_sort(slots, count, |_, a, b| order(&a, &b).is_lt());
}

/// Puts the slots into both orders and counts the shards; refuses equal names, at the first in the file's order that
/// stood before.
///
/// Slots come in the file's order; `ascending` says that this is the order of their names.
pub(super) fn arrange(
    source: Source<'_>,
    slots: &mut [IndexSlot],
    ascending: bool,
    limits: &Limits,
) -> Result<usize, Error> {
    if !ascending {
        let order = |a: &IndexSlot, b: &IndexSlot| compare(source.name_text(*a), source.name_text(*b));
        sort(slots, |a, b| order(a, b).then(a.name_at.cmp(&b.name_at)));
        let pairs = slots.iter().zip(slots.iter().skip(1));
        let second = pairs.filter(|(a, b)| order(a, b).is_eq()).map(|(_, b)| b.name_at).min();
        if let Some(at) = second {
            return Err(Error::new(ErrorKind::IxDupName, u64::from(at)));
        }
    }
    match few_shards(source, slots) {
        Some(count) if num::widen(count) <= limits.shards() => Ok(count),
        Some(_) => count_shards(source, slots, limits),
        None => {
            many_shards(source, slots);
            count_shards(source, slots, limits)
        }
    }
}

/// Up to this many shards are numbered in words on the stack.
const FEW: usize = 256;
/// Words of the table that finds a shard's number.
const FEW_WORDS: u32 = 512;

/// Sorts the slots' numbers by shard in linear time, where there are few shards. `None` where there are many, with the
/// numbers left anyhow.
fn few_shards(source: Source<'_>, slots: &mut [IndexSlot]) -> Option<usize> {
    let mut firsts = [IndexSlot::EMPTY; FEW];
    let count = number_shards(source, slots, &mut firsts)?;
    let firsts = firsts.get_mut(..count)?;
    sort(firsts, |a, b| compare(source.shard_text(*a), source.shard_text(*b)));
    let mut places = [0_u32; FEW];
    for slot in slots.iter() {
        let size = places.get_mut(num::widen32(slot.by_shard))?;
        *size = size.saturating_add(1);
    }
    // How many there are of each shard becomes where the first of it goes.
    let mut next = 0_u32;
    for first in firsts.iter() {
        let place = places.get_mut(num::widen32(first.by_shard))?;
        let size = core::mem::replace(place, next);
        next = next.saturating_add(size);
    }
    for slot in slots.iter_mut() {
        let place = places.get_mut(num::widen32(slot.by_shard))?;
        slot.by_shard = *place;
        *place = place.saturating_add(1);
    }
    invert(slots);
    Some(count)
}

/// Numbers the shards as they come: each slot gets its shard's number, and `firsts` the first slot of each. `None` where
/// there are more shards than room for them.
fn number_shards<'a>(source: Source<'a>, slots: &mut [IndexSlot], firsts: &mut [IndexSlot; FEW]) -> Option<usize> {
    let mut table = Table::new(FEW_WORDS, 256, 255);
    let mut words = [0_u32; 512];
    let mut count = 0_usize;
    let mut last: Option<(Name<'a>, u32)> = None;
    for slot in slots.iter_mut() {
        let shard = source.entry(slot.name_at)?.shard();
        if let Some((_, id)) = last.filter(|(name, _)| name.raw() == shard.raw()) {
            slot.by_shard = id;
            continue;
        }
        let hash = shard.hash64();
        let same = |id: u32| {
            let first = firsts.get(num::widen32(id)).and_then(|first| source.entry(first.name_at));
            first.is_some_and(|first| first.shard() == shard)
        };
        let id = if let Some(id) = table.find(&words[..], hash, |_, id| same(id)) {
            id
        } else {
            let id = num::narrow32(count)?;
            *firsts.get_mut(count)? = IndexSlot { name_at: slot.name_at, by_shard: id };
            (table.insert(&mut words[..], id, hash, |_, _| false) == Insert::New).then_some(())?;
            count = count.saturating_add(1);
            id
        };
        slot.by_shard = id;
        last = Some((shard, id));
    }
    Some(count)
}

/// Sorts the slots' numbers by shard, however many shards there are.
fn many_shards(source: Source<'_>, slots: &mut [IndexSlot]) {
    for (number, slot) in (0..u32::MAX).zip(slots.iter_mut()) {
        slot.by_shard = number;
    }
    let order = |a: &IndexSlot, b: &IndexSlot| compare(source.shard_text(*a), source.shard_text(*b));
    if !slots.is_sorted_by(|a, b| order(a, b).is_le()) {
        sort(slots, |a, b| order(a, b).then(a.by_shard.cmp(&b.by_shard)));
        names_back(slots);
    }
}

/// How many different shards there are; refuses more than the limit, at the first assignment in the order of shards to
/// one too many.
fn count_shards(source: Source<'_>, slots: &[IndexSlot], limits: &Limits) -> Result<usize, Error> {
    let ranked = slots.iter().filter_map(|slot| slots.get(num::widen32(slot.by_shard)));
    let mut before: Option<&[u8]> = None;
    let mut count = 0_usize;
    for slot in ranked {
        let shard = source.shard_text(*slot);
        if before.is_none_or(|before| compare(before, shard).is_ne()) {
            count = count.saturating_add(1);
            if num::widen(count) > limits.shards() {
                let at = source.entry(slot.name_at).map_or(0, |entry| entry.shard_at());
                return Err(Error::wanting(ErrorKind::IxShardLimit, at, limits.shards()));
            }
        }
        before = Some(shard);
    }
    Ok(count)
}

/// Marks a number as done with. An index has fewer than 2^30 tensors, so the bit is free.
const DONE: u32 = 1 << 31;

/// Turns where each slot goes into which slot is there, cycle by cycle.
fn invert(slots: &mut [IndexSlot]) {
    for start in 0..slots.len() {
        let mut from = start;
        let mut at = slots.get(start).map_or(0, |slot| num::widen32(slot.by_shard));
        // A cycle that was turned before has the mark on each of its numbers, and leads nowhere.
        while let Some(slot) = slots.get_mut(at).filter(|slot| slot.by_shard & DONE == 0) {
            let next = num::widen32(slot.by_shard);
            slot.by_shard = num::narrow32(from).unwrap_or(0) | DONE;
            (from, at) = (at, next);
        }
    }
    for slot in slots {
        slot.by_shard &= !DONE;
    }
}

/// Puts each slot's name into the slot that its number says and leaves the numbers where they are, cycle by cycle.
fn names_back(slots: &mut [IndexSlot]) {
    for start in 0..slots.len() {
        let mut carried = slots.get(start).copied().unwrap_or(IndexSlot::EMPTY);
        let mut at = start;
        while let Some(slot) = slots.get_mut(at).filter(|slot| slot.by_shard & DONE == 0) {
            let target = num::widen32(slot.by_shard);
            slot.by_shard |= DONE;
            if let Some(there) = slots.get_mut(target) {
                core::mem::swap(&mut there.name_at, &mut carried.name_at);
            }
            at = target;
        }
    }
    for slot in slots {
        slot.by_shard &= !DONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn agrees(a: &str, b: &str) {
        let want = Name::json(a, a.contains('\\')).cmp(&Name::json(b, b.contains('\\')));
        let (left, right) = (format!("{a}\": 1"), format!("{b}\",\"z\""));
        assert_eq!(compare(left.as_bytes(), right.as_bytes()), want, "{a} {b}");
    }

    /// A quote ends a name wherever it stands in the order of bytes: space and `!` stand before it.
    #[test]
    fn the_shorter_name_comes_first_whatever_follows() {
        for longer in ["a b", "a!", "a\\n", "a#", "ab", "a\u{e9}", "a\\u0020"] {
            agrees("a", longer);
            let (a, b) = ("a\"", format!("{longer}\""));
            assert_eq!(compare(a.as_bytes(), b.as_bytes()), Ordering::Less, "{longer}");
            assert_eq!(compare(b.as_bytes(), a.as_bytes()), Ordering::Greater, "{longer}");
        }
        for (a, b) in [(r"\ud83d\ude00", r"\uD83D\uDE00"), (r"\u00e9", r"\u00E9"), (r"\/", "/"), (r"\n", r"\u000a")]
        {
            agrees(a, b);
            assert_eq!(
                compare(format!("{a}\"").as_bytes(), format!("{b}\"").as_bytes()),
                Ordering::Equal,
                "{a} {b}"
            );
        }
    }

    #[test]
    fn strings_are_ordered_as_names_are() {
        let texts = [
            "",
            "a",
            r"\u0061",
            "ab",
            r"a\u0000",
            "model.layers.1",
            "model.layers.10",
            r"model.l\u0061yers.10",
            "é",
            r"\u00e9",
            "\u{ffff}",
            "\u{1f600}",
            r"\ud83d\ude00",
            r"\ud83d\ude01",
            r#"\""#,
            r"\\",
            r"\\u0061",
            "日本語日本語日本語",
            r"日本語日本\u8a9e日本語",
        ];
        for a in texts {
            for b in texts {
                agrees(a, b);
            }
        }
    }

    #[test]
    fn names_go_back() {
        // Every permutation of up to six, told by its number.
        for len in 0..=6_usize {
            for mut code in 0..(1..=len).product::<usize>() {
                let mut left: Vec<usize> = (0..len).collect();
                let mut order = Vec::new();
                for choices in (1..=len).rev() {
                    order.push(left.remove(code % choices));
                    code /= choices;
                }
                let small = |value: usize| u32::try_from(value).unwrap();
                let mut slots: Vec<IndexSlot> =
                    order.iter().map(|p| IndexSlot { name_at: 100 + small(*p), by_shard: small(*p) }).collect();
                let mut inverse = slots.clone();
                invert(&mut inverse);
                let small_at = |at: &u32| num::widen32(*at);
                assert!(
                    inverse
                        .iter()
                        .map(|slot| &slot.by_shard)
                        .enumerate()
                        .all(|(at, from)| order[small_at(from)] == at)
                );
                assert!(inverse.iter().zip(&slots).all(|(a, b)| a.name_at == b.name_at));
                names_back(&mut slots);
                assert!(slots.iter().enumerate().all(|(at, slot)| slot.name_at == 100 + small(at)));
                assert!(slots.iter().zip(&order).all(|(slot, p)| slot.by_shard == small(*p)));
            }
        }
    }

    #[test]
    fn few_and_many_shards_are_sorted_alike() {
        for shards in [1_usize, 2, 255, 256, 257] {
            let mixed = |i: usize| (i * 7919) % 601;
            let entries: Vec<String> = (0..600)
                .map(|i| {
                    format!(
                        "\"{:03}\":\"{}{}\"",
                        mixed(i),
                        if i % 5 == 0 { r"\u0078" } else { "x" },
                        mixed(i) % shards
                    )
                })
                .collect();
            let text = format!("{{\"weight_map\":{{{}}}}}", entries.join(","));
            let source = Source(&text);
            let mut at = 15;
            let slots = entries.iter().map(|entry| {
                let name_at = at;
                at += u32::try_from(entry.len() + 1).unwrap();
                IndexSlot { name_at, by_shard: 0 }
            });
            let mut few: Vec<IndexSlot> = slots.collect();
            few.sort_by_key(|slot| source.entry(slot.name_at).unwrap().name());
            let mut many = few.clone();
            many_shards(source, &mut many);
            let count = count_shards(source, &many, &Limits::DEFAULT).unwrap();
            assert_eq!(count, shards);
            assert_eq!(few_shards(source, &mut few), (shards <= FEW).then_some(shards));
            if shards <= FEW {
                let shown = |slots: &[IndexSlot]| slots.iter().map(|s| (s.name_at, s.by_shard)).collect::<Vec<_>>();
                assert_eq!(shown(&few), shown(&many));
            }
        }
    }

    proptest! {
        #[test]
        fn any_strings_are_ordered_as_names_are(
            common in "(a|é|\\\\u0061|\\\\\\\\|\\\\ud83d\\\\ude00){0,12}", a in "[ab]{0,3}(\\\\u0062|é|\u{10000})?", b in "[ab]{0,3}(\\\\u00e9|b)?",
        ) {
            let respelt: String = common.replace(r"\u0061", "a");
            agrees(&format!("{common}{a}"), &format!("{respelt}{b}"));
        }
    }
}
