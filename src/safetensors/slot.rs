//! The storage that parsing a header takes: one slot a tensor, the caller's or our own.

use crate::unique::{Items, Spare, Words};
use crate::{Dtype, num};

/// Storage for one tensor of a header, 40 bytes. Callers without an allocator bring a slice of them.
///
/// ```
/// use tensorgate::safetensors::Slot;
/// let slots = [Slot::EMPTY; 512];
/// assert!(size_of_val(&slots) <= 512 * 40);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Where the name begins in the header, behind its quote.
    pub(super) name_at: u32,
    /// Bytes of the name as it stands.
    pub(super) name_len: u32,
    /// Where the shape's text begins in the header, behind its bracket.
    pub(super) shape_at: u32,
    /// Two words of the name table (see [`Slots`]).
    pub(super) table: [u32; 2],
    /// Where the data begins and ends in the data section.
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) dtype: Dtype,
    /// Whether the name holds escapes.
    pub(super) escaped: bool,
}

impl Slot {
    /// A slot with nothing in it.
    pub const EMPTY: Self = Self {
        name_at: 0,
        name_len: 0,
        shape_at: 0,
        table: [0; 2],
        begin: 0,
        end: 0,
        dtype: Dtype::U8,
        escaped: false,
    };

    /// A slot for a tensor whose name begins at `name_at`.
    #[inline]
    pub(super) const fn named(name_at: u32, name_len: u32, escaped: bool) -> Self {
        Self { name_at, name_len, escaped, ..Self::EMPTY }
    }
}

impl Items for [Slot] {
    type Item = Slot;

    #[inline]
    fn item(&self, index: usize) -> Slot {
        self.get(index).copied().unwrap_or(Slot::EMPTY)
    }

    #[inline]
    fn set_item(&mut self, index: usize, item: Slot) {
        if let Some(place) = self.get_mut(index) {
            *place = item;
        }
    }
}

impl Spare for Slot {
    #[inline]
    fn spare(&self) -> &[u32; 2] {
        &self.table
    }

    #[inline]
    fn spare_mut(&mut self) -> &mut [u32; 2] {
        &mut self.table
    }
}

/// How many words a slot holds when it is used for nothing else.
pub(super) const SCRATCH_WORDS: usize = 9;

/// Whole slots as words, for the table of metadata keys.
#[derive(Debug)]
pub(super) struct ScratchWords<'s>(pub(super) &'s mut [Slot]);

#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the two halves of a u64, taken apart")]
const fn low(value: u64) -> u32 {
    value as u32
}

impl Words for ScratchWords<'_> {
    fn word(&self, index: usize) -> u32 {
        let Some(slot) = self.0.get(index / SCRATCH_WORDS) else { return 0 };
        match index % SCRATCH_WORDS {
            0 => slot.name_at,
            1 => slot.name_len,
            2 => slot.shape_at,
            3 => slot.table[0],
            4 => slot.table[1],
            5 => low(slot.begin),
            6 => low(slot.begin >> 32),
            7 => low(slot.end),
            _ => low(slot.end >> 32),
        }
    }

    fn set_word(&mut self, index: usize, value: u32) {
        let Some(slot) = self.0.get_mut(index / SCRATCH_WORDS) else { return };
        let wide = u64::from(value);
        match index % SCRATCH_WORDS {
            0 => slot.name_at = value,
            1 => slot.name_len = value,
            2 => slot.shape_at = value,
            3 => slot.table[0] = value,
            4 => slot.table[1] = value,
            5 => slot.begin = (slot.begin & !0xFFFF_FFFF) | wide,
            6 => slot.begin = (slot.begin & 0xFFFF_FFFF) | (wide << 32),
            7 => slot.end = (slot.end & !0xFFFF_FFFF) | wide,
            _ => slot.end = (slot.end & 0xFFFF_FFFF) | (wide << 32),
        }
    }
}

/// The least bytes that a tensor's entry can take in a header: `"":{"dtype":"U8","shape":[],"data_offsets":[0,0]}`.
#[cfg(feature = "alloc")]
pub(super) const LEAST_ENTRY: usize = 49;

/// Room for every tensor that `header` can hold, and never more bytes than the header has; `None` where memory is out.
///
/// Counting the entries first would cost as much as reading them; what is reserved past them is never touched.
#[cfg(feature = "alloc")]
pub(super) fn reserve(header: &[u8]) -> Option<alloc::vec::Vec<Slot>> {
    const { assert!(size_of::<Slot>() <= LEAST_ENTRY) };
    let most = header.len() / LEAST_ENTRY;
    let mut slots = alloc::vec::Vec::new();
    slots.try_reserve_exact(most).ok()?;
    Some(slots)
}

/// How many scratch slots the table of `keys` metadata keys takes, at 5/6 load.
pub(super) fn scratch_slots(keys: u32) -> usize {
    scratch_words(keys).div_ceil(SCRATCH_WORDS)
}

/// How many words the table of `keys` metadata keys takes.
pub(super) fn scratch_words(keys: u32) -> usize {
    let keys = num::widen32(keys);
    keys.saturating_add(keys / 5).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unique::NameWords;

    #[test]
    fn words_do_not_run_into_one_another() {
        let mut slots = [Slot::EMPTY; 3];
        let count = u32::try_from(slots.len() * SCRATCH_WORDS).unwrap();
        let mut words = ScratchWords(&mut slots);
        (0..count).for_each(|i| words.set_word(num::widen32(i), !i));
        assert!((0..count).all(|i| words.word(num::widen32(i)) == !i));
        // Whichever is set first, and whatever was there.
        (0..count).rev().for_each(|i| words.set_word(num::widen32(i), i));
        assert!((0..count).all(|i| words.word(num::widen32(i)) == i));
        assert_eq!(words.word(num::widen32(count)), 0);
        let mut slots = [Slot::EMPTY; 3];
        let mut words = NameWords(&mut slots);
        (0..6).for_each(|i| words.set_word(i, u32::try_from(i + 1).unwrap()));
        assert!((0..6).all(|i| words.word(i) == u32::try_from(i + 1).unwrap()));
        assert_eq!(words.word(6), 0);
    }
}
