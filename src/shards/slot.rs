//! The storage that parsing an index takes: one slot a tensor, the caller's or our own.

use crate::num;
use crate::unique::Words;

/// Storage for one tensor of an index, 8 bytes. Callers without an allocator bring a slice of them.
///
/// ```
/// use tensorgate::shards::IndexSlot;
/// let slots = [IndexSlot::EMPTY; 2048];
/// assert_eq!(size_of_val(&slots), 2048 * 8);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IndexSlot {
    /// Position of a name's opening quote; the slots ascend by what the names say.
    pub(super) name_at: u32,
    /// Number of a slot; these ascend by the slot's shard, then by its name.
    pub(super) by_shard: u32,
}

impl IndexSlot {
    /// A slot with nothing in it.
    pub const EMPTY: Self = Self { name_at: 0, by_shard: 0 };
}

/// How many words a slot holds when it is used for nothing else.
pub(super) const SCRATCH_WORDS: usize = 2;

/// Whole slots as words, to tell metadata keys apart in.
#[derive(Debug)]
pub(super) struct ScratchWords<'s>(pub(super) &'s mut [IndexSlot]);

impl Words for ScratchWords<'_> {
    fn word(&self, index: usize) -> u32 {
        let Some(slot) = self.0.get(index / SCRATCH_WORDS) else { return 0 };
        if index.is_multiple_of(SCRATCH_WORDS) { slot.name_at } else { slot.by_shard }
    }

    fn set_word(&mut self, index: usize, value: u32) {
        let Some(slot) = self.0.get_mut(index / SCRATCH_WORDS) else { return };
        *(if index.is_multiple_of(SCRATCH_WORDS) { &mut slot.name_at } else { &mut slot.by_shard }) = value;
    }
}

/// Room for every tensor that `text` can name, and never more bytes than the text has; `None` where memory is out.
#[cfg(feature = "alloc")]
pub(super) fn reserve(text: &[u8]) -> Option<alloc::vec::Vec<IndexSlot>> {
    // `"a":"b",` has 8 bytes. One name may be empty and the last has no comma, but `{"weight_map":{}}` is there too. (More
    // empty names than one take no slot.)
    const { assert!(size_of::<IndexSlot>() <= 8) };
    let most = crate::store::count(text, b',').saturating_add(1).min(text.len() / 8);
    let mut slots = alloc::vec::Vec::new();
    slots.try_reserve_exact(most).ok()?;
    Some(slots)
}

/// A position in an index as a slot keeps it. The limit on its length keeps it in 32 bits.
#[inline]
pub(super) fn narrow(at: u64) -> u32 {
    num::narrow(at).and_then(num::narrow32).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_run_into_one_another() {
        let mut slots = [IndexSlot::EMPTY; 3];
        let mut words = ScratchWords(&mut slots);
        (0..7).for_each(|i| words.set_word(i, u32::try_from(i + 1).unwrap()));
        assert!((0..6).all(|i| words.word(i) == u32::try_from(i + 1).unwrap()));
        assert_eq!(words.word(6), 0);
    }

    #[test]
    #[cfg(feature = "alloc")]
    fn no_more_is_reserved_than_the_text_has() {
        for text in [&b""[..], b"{}", b",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,", br#"{"weight_map":{"":"b"}}"#] {
            let room = reserve(text).unwrap().capacity();
            assert!(room * size_of::<IndexSlot>() <= text.len() && room <= crate::store::count(text, b',') + 1);
        }
    }
}
