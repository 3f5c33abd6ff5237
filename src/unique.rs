//! Finding duplicates and looking names up, in storage that the caller brings, in linear time.
//!
//! A [`Table`] is open addressing with linear probing over 32-bit words. A word holds an item's id and, in the bits that
//! the id leaves, a fingerprint of its hash, so that unequal names are told apart without touching them. The hash has no
//! secret (there is no entropy without `std`), so a hostile file can make all its names collide: each table has a budget
//! of probes. When it is spent, the table is filled anew with a hash [`Keyed`] by the whole text; and should that be
//! spent too, the caller sorts with [`heap_sort`], which no input can make slower than n log n.

use core::cmp::Ordering;
use core::hash::Hasher as _;

use crate::name::Name;
use crate::{num, steps};

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// One step of the hash: eight bytes into the state.
#[inline]
const fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(MULTIPLIER);
    product ^ (product >> 29)
}

/// The hash of `bytes`; the same as feeding them to a [`Fold`] one by one.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    steps::take_bytes(bytes.len());
    let (words, tail) = bytes.as_chunks::<8>();
    let state = words.iter().fold(MULTIPLIER, |state, word| mix(state, u64::from_le_bytes(*word)));
    let pending = tail.iter().rev().fold(0, |pending: u64, byte| (pending << 8) | u64::from(*byte));
    mix(mix(state, pending), num::widen(bytes.len()))
}

/// The same hash for text that comes byte by byte (names with escapes).
pub(crate) struct Fold {
    state: u64,
    pending: u64,
    shift: u32,
    count: u64,
}

impl Fold {
    pub(crate) const fn new() -> Self {
        Self { state: MULTIPLIER, pending: 0, shift: 0, count: 0 }
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.pending |= u64::from(byte).wrapping_shl(self.shift);
        self.shift = self.shift.wrapping_add(8);
        self.count = self.count.wrapping_add(1);
        if self.shift == 64 {
            self.state = mix(self.state, self.pending);
            self.pending = 0;
            self.shift = 0;
        }
    }

    #[inline]
    pub(crate) const fn finish(&self) -> u64 {
        mix(mix(self.state, self.pending), self.count)
    }
}

/// A hash that names cannot be made to collide under: SipHash-2-4, with a key that depends on every byte of the text that
/// the names stand in, themselves included. Who changes a name to collide changes the key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed(u64);

#[expect(deprecated, reason = "the one SipHash of core; what replaces it is in std alone")]
impl Keyed {
    /// The hash for names that stand in `text`.
    pub(crate) fn by(text: &[u8]) -> Self {
        steps::take_bytes(text.len());
        let mut hasher = core::hash::SipHasher::new();
        hasher.write(text);
        Self(hasher.finish())
    }

    /// Equal for equal names, however spelt.
    pub(crate) fn hash(self, name: Name<'_>) -> u64 {
        let mut hasher = core::hash::SipHasher::new_with_keys(self.0, MULTIPLIER);
        name.feed(&mut hasher);
        hasher.finish()
    }

    /// The same for names that are plain bytes, with no other spelling.
    pub(crate) fn hash_bytes(self, name: &[u8]) -> u64 {
        steps::take_bytes(name.len());
        let mut hasher = core::hash::SipHasher::new_with_keys(self.0, MULTIPLIER);
        hasher.write(name);
        hasher.finish()
    }
}

/// Storage for a [`Table`]: words that can be read and written by index. Reads past the end give 0, writes are dropped.
pub(crate) trait Words {
    fn word(&self, index: usize) -> u32;
    fn set_word(&mut self, index: usize, value: u32);
}

impl Words for [u32] {
    #[inline]
    fn word(&self, index: usize) -> u32 {
        self.get(index).copied().unwrap_or(0)
    }

    #[inline]
    fn set_word(&mut self, index: usize, value: u32) {
        if let Some(word) = self.get_mut(index) {
            *word = value;
        }
    }
}

/// A slot with two spare words, so that a header's slots carry its name table themselves.
pub(crate) trait Spare {
    fn spare(&self) -> &[u32; 2];
    fn spare_mut(&mut self) -> &mut [u32; 2];
}

/// The slots' spare words as the name table: two a slot, so that the table is half full.
#[derive(Debug)]
pub(crate) struct NameWords<'s, S>(pub(crate) &'s mut [S]);

/// The same, to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameWordsRef<'s, S>(pub(crate) &'s [S]);

#[inline]
fn name_word<S: Spare>(slots: &[S], index: usize) -> u32 {
    slots.get(index / 2).and_then(|slot| slot.spare().get(index & 1)).copied().unwrap_or(0)
}

impl<S: Spare> Words for NameWords<'_, S> {
    #[inline]
    fn word(&self, index: usize) -> u32 {
        name_word(self.0, index)
    }

    #[inline]
    fn set_word(&mut self, index: usize, value: u32) {
        if let Some(word) = self.0.get_mut(index / 2).and_then(|slot| slot.spare_mut().get_mut(index & 1)) {
            *word = value;
        }
    }
}

impl<S: Spare> Words for NameWordsRef<'_, S> {
    #[inline]
    fn word(&self, index: usize) -> u32 {
        name_word(self.0, index)
    }

    fn set_word(&mut self, _: usize, _: u32) {}
}

/// What became of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insert {
    New,
    Duplicate,
    Exhausted,
}

/// An open-addressing table of ids below 2^31 over words that are all zero to begin with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    capacity: u32,
    id_mask: u32,
    budget: u64,
    /// The farthest that any item stands from its home.
    reach: u32,
}

/// No item may stand farther from its home, so that a search ends soon in a table that was made to be slow. Honest items
/// stay within about 900 in a table of a million at 5/6 load.
const MOST_REACH: u32 = 1024;

impl Table {
    /// A table over the first `capacity` words for about `items` ids of at most `max_id`. The capacity must exceed the
    /// number of items.
    #[inline]
    pub(crate) const fn new(capacity: u32, items: u32, max_id: u32) -> Self {
        let id_mask = u32::MAX >> max_id.saturating_add(1).leading_zeros();
        // An honest table at 5/6 load takes about 3.5 probes an item; 32 leaves room for bad luck at every size.
        #[expect(clippy::as_conversions, reason = "u32 to u64 is lossless, and From is not const")]
        let budget = (items as u64).wrapping_mul(32).wrapping_add(1024);
        Self { capacity, id_mask, budget, reach: 0 }
    }

    /// Where the probing for `hash` begins.
    #[inline]
    fn home(&self, hash: u64) -> u32 {
        let scaled = (hash >> 32).wrapping_mul(u64::from(self.capacity)) >> 32;
        u32::try_from(scaled).unwrap_or(0)
    }

    #[inline]
    const fn next(&self, place: u32) -> u32 {
        let next = place.wrapping_add(1);
        if next >= self.capacity { 0 } else { next }
    }

    /// The word of `id`: id + 1 in the low bits, fingerprint above; never 0.
    #[inline]
    const fn pack(&self, id: u32, hash: u64) -> u32 {
        #[expect(
            clippy::as_conversions,
            clippy::cast_possible_truncation,
            reason = "the fingerprint is the low half"
        )]
        let print = hash as u32;
        (id.wrapping_add(1) & self.id_mask) | (print & !self.id_mask)
    }

    /// Fetches the word where the probing for `hash` begins: to do so for several items before any is put in lets the
    /// machine wait for all of them at once.
    #[inline]
    pub(crate) fn fetch<W: Words + ?Sized>(&self, words: &W, hash: u64) {
        core::hint::black_box(words.word(num::widen32(self.home(hash))));
    }

    /// Puts `id` in, unless an item for which `same` says yes is there already.
    #[inline]
    pub(crate) fn insert<W: Words + ?Sized>(
        &mut self,
        words: &mut W,
        id: u32,
        hash: u64,
        mut same: impl FnMut(&W, u32) -> bool,
    ) -> Insert {
        let packed = self.pack(id, hash);
        let mut place = self.home(hash);
        for reach in 0..=MOST_REACH {
            let Some(left) = self.budget.checked_sub(1) else { return Insert::Exhausted };
            steps::take(1);
            self.budget = left;
            let word = words.word(num::widen32(place));
            if word == 0 {
                words.set_word(num::widen32(place), packed);
                self.reach = self.reach.max(reach);
                return Insert::New;
            }
            if (word ^ packed) & !self.id_mask == 0 && same(words, (word & self.id_mask).wrapping_sub(1)) {
                return Insert::Duplicate;
            }
            place = self.next(place);
        }
        Insert::Exhausted
    }

    /// The id for which `same` says yes.
    #[inline]
    pub(crate) fn find<W: Words + ?Sized>(
        &self,
        words: &W,
        hash: u64,
        mut same: impl FnMut(&W, u32) -> bool,
    ) -> Option<u32> {
        let packed = self.pack(0, hash);
        let mut place = self.home(hash);
        for _ in 0..=self.reach {
            steps::take(1);
            let word = words.word(num::widen32(place));
            if word == 0 {
                return None;
            }
            if (word ^ packed) & !self.id_mask == 0 {
                let id = (word & self.id_mask).wrapping_sub(1);
                if same(words, id) {
                    return Some(id);
                }
            }
            place = self.next(place);
        }
        None
    }
}

/// Storage whose items can be read and written by index, for [`heap_sort`].
pub(crate) trait Items {
    type Item: Copy;
    fn item(&self, index: usize) -> Self::Item;
    fn set_item(&mut self, index: usize, item: Self::Item);
}

impl<W: Words + ?Sized> Items for W {
    type Item = u32;

    #[inline]
    fn item(&self, index: usize) -> u32 {
        self.word(index)
    }

    #[inline]
    fn set_item(&mut self, index: usize, item: u32) {
        self.set_word(index, item);
    }
}

/// Sorts the first `count` items in place by `less`: O(n log n) whatever the input, no recursion, and (unlike the
/// standard library's, which panics where an order is no order) no path to a panic.
pub(crate) fn heap_sort<S: Items + ?Sized>(
    items: &mut S,
    count: usize,
    mut less: impl FnMut(&S, S::Item, S::Item) -> bool,
) {
    for root in (0..count / 2).rev() {
        sift(items, root, count, &mut less);
    }
    for end in (1..count).rev() {
        let (first, last) = (items.item(0), items.item(end));
        items.set_item(0, last);
        items.set_item(end, first);
        sift(items, 0, end, &mut less);
    }
}

/// Sorts the first `count` words by `order`, equal ones by `place`, and gives the least place of a word that has an equal
/// before it: the slow and sure way to find duplicates.
#[cold]
pub(crate) fn first_duplicate<W: Words + ?Sized>(
    words: &mut W,
    count: usize,
    order: impl Fn(&W, u32, u32) -> Ordering,
    place: impl Fn(&W, u32) -> u32,
) -> Option<u32> {
    heap_sort(words, count, |words, a, b| {
        order(words, a, b).then_with(|| place(words, a).cmp(&place(words, b))).is_lt()
    });
    (1..count)
        .filter_map(|index| {
            let (before, this) = (words.word(index.saturating_sub(1)), words.word(index));
            order(words, before, this).is_eq().then(|| place(words, this))
        })
        .min()
}

/// Lets the item at `root` sink to its place in the heap of `count` items.
fn sift<S: Items + ?Sized>(
    items: &mut S,
    mut root: usize,
    count: usize,
    less: &mut impl FnMut(&S, S::Item, S::Item) -> bool,
) {
    let sinking = items.item(root);
    loop {
        steps::take(2);
        let left = root.saturating_mul(2).saturating_add(1);
        if left >= count {
            break;
        }
        let right = left.saturating_add(1);
        let child = if right < count && less(items, items.item(left), items.item(right)) { right } else { left };
        if !less(items, sinking, items.item(child)) {
            break;
        }
        items.set_item(root, items.item(child));
        root = child;
    }
    items.set_item(root, sinking);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn the_two_hashes_agree() {
        let text: Vec<u8> = (0..40).collect();
        for len in 0..=text.len() {
            let mut fold = Fold::new();
            text[..len].iter().for_each(|byte| fold.byte(*byte));
            assert_eq!(hash(&text[..len]), fold.finish(), "{len}");
        }
        assert_ne!(hash(b"a"), hash(b"a\0"));
        assert_ne!(hash(b""), hash(b"\0"));
    }

    #[test]
    fn the_keyed_hash_depends_on_the_text_and_not_on_the_spelling() {
        let (one, other) = (Keyed::by(b"one text"), Keyed::by(b"one texu"));
        let plain = Name::plain("model/\u{e9}\u{1f600}.weight");
        let spelt = Name::json(r"model\/\u00e9\ud83d\ude00.we\u0069ght", true);
        assert_eq!(plain, spelt);
        assert_eq!(one.hash(plain), one.hash(spelt));
        assert_ne!(one.hash(plain), other.hash(plain));
        assert_ne!(one.hash(plain), one.hash(Name::plain("model")));
    }

    #[test]
    fn a_full_table_finds_each_and_no_more() {
        let count = 1000_u32;
        let mut words = vec![0_u32; 1200];
        let mut table = Table::new(1200, count, count - 1);
        let key = |id: u32| hash(&id.to_le_bytes());
        for id in 0..count {
            assert_eq!(table.insert(&mut words[..], id, key(id), |_, _| false), Insert::New);
        }
        for id in 0..count {
            assert_eq!(table.find(&words[..], key(id), |_, found| found == id), Some(id));
            assert_eq!(table.insert(&mut words[..], id, key(id), |_, found| found == id), Insert::Duplicate);
        }
        assert_eq!(table.find(&words[..], key(count), |_, found| found == count), None);
    }

    #[test]
    fn a_flood_of_equal_hashes_is_noticed() {
        let mut words = vec![0_u32; 20_000];
        let mut table = Table::new(20_000, 10_000, 9_999);
        let outcomes: Vec<_> = (0..10_000).map(|id| table.insert(&mut words[..], id, 7, |_, _| false)).collect();
        assert!(outcomes.contains(&Insert::Exhausted));
    }

    #[test]
    fn a_search_in_a_crowded_table_ends_soon() {
        let mut words = vec![0_u32; 20_000];
        let mut table = Table::new(20_000, 10_000, 9_999);
        let put = (0..10_000).take_while(|id| table.insert(&mut words[..], *id, 7, |_, _| false) == Insert::New);
        assert!(u32::try_from(put.count()).unwrap() <= MOST_REACH + 1);
        let mut looks = 0_u32;
        assert_eq!(
            table.find(&words[..], 7, |_, _| {
                looks += 1;
                false
            }),
            None
        );
        assert!(looks <= MOST_REACH + 1);
    }

    #[test]
    fn the_first_duplicate_is_the_first_in_the_files_order() {
        let keys = [5, 3, 9, 3, 5, 3, 1];
        let key = |id: u32| keys[usize::try_from(id).unwrap()];
        let mut words: Vec<u32> = (0..7).rev().collect();
        assert_eq!(first_duplicate(&mut words[..], 7, |_, a, b| key(a).cmp(&key(b)), |_, id| id), Some(3));
        let mut words = vec![6, 2, 1, 0];
        assert_eq!(first_duplicate(&mut words[..], 4, |_, a, b| key(a).cmp(&key(b)), |_, id| id), None);
        assert_eq!(words, [6, 1, 0, 2]);
    }

    #[test]
    fn the_heap_sorts() {
        for count in 0..200_usize {
            let mut words: Vec<u32> =
                (0..count).map(|i| u32::try_from(hash(&i.to_le_bytes()) % 50).unwrap()).collect();
            let mut want = words.clone();
            want.sort_unstable();
            heap_sort(&mut words[..], count, |_, a, b| a < b);
            assert_eq!(words, want);
        }
    }
}
