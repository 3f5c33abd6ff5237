//! The storage that parsing a header takes: one slot a key/value pair and one a tensor, the caller's or our own.

use crate::num;
use crate::store::Lent;
use crate::unique::Spare;

/// Storage for one key/value pair or one tensor info, 20 bytes. Callers without an allocator bring a slice of them.
///
/// ```
/// use tensorgate::gguf::Slot;
/// let slots = [Slot::EMPTY; 512];
/// assert!(size_of_val(&slots) <= 512 * 20);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Where the key's or the name's bytes begin in the file.
    pub(super) at: u32,
    /// How many they are.
    pub(super) len: u32,
    /// Where the pair or the info ends in the file.
    pub(super) end: u32,
    /// Two words of the name table (see [`NameWords`]).
    table: [u32; 2],
}

impl Slot {
    /// A slot with nothing in it.
    pub const EMPTY: Self = Self { at: 0, len: 0, end: 0, table: [0; 2] };

    /// The slot of a pair or an info. The limit on metadata keeps all positions in 32 bits.
    #[inline]
    pub(super) fn new(at: u64, len: usize, end: u64) -> Self {
        let position = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Self { at: position(at), len: num::narrow32(len).unwrap_or(u32::MAX), end: position(end), table: [0; 2] }
    }
}

/// Somewhere to put slots while parsing.
pub(super) trait Store {
    /// Keeps the slot; false where there is no more room.
    fn push(&mut self, slot: Slot) -> bool;

    /// The slots that were kept, from number `from` on.
    fn kept(&mut self, from: usize) -> &mut [Slot];
}

impl Store for Lent<'_, Slot> {
    #[inline]
    fn push(&mut self, slot: Slot) -> bool {
        crate::store::Store::push(self, slot)
    }

    fn kept(&mut self, from: usize) -> &mut [Slot] {
        self.slots.get_mut(from..self.used).unwrap_or_default()
    }
}

/// The least bytes that a pair or an info can take: a key of one byte with a value of one byte.
#[cfg(feature = "alloc")]
const LEAST: usize = 14;

#[cfg(feature = "alloc")]
impl Store for alloc::vec::Vec<Slot> {
    /// Grows only by entries that were read, never by a count that a file claims.
    #[inline]
    fn push(&mut self, slot: Slot) -> bool {
        // Doubling from four, so that the slots' block stays under three times the header's bytes.
        const { assert!(size_of::<Slot>() * 2 <= LEAST * 3) };
        if self.len() == self.capacity() && self.try_reserve(1).is_err() {
            return false;
        }
        alloc::vec::Vec::push(self, slot);
        true
    }

    fn kept(&mut self, from: usize) -> &mut [Slot] {
        self.get_mut(from..).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unique::{NameWords, Words};

    #[test]
    fn words_do_not_run_into_one_another() {
        let mut slots = [Slot::new(7, 3, 99); 3];
        let mut words = NameWords(&mut slots);
        (0..6).for_each(|i| words.set_word(i, u32::try_from(i + 1).unwrap()));
        assert!((0..6).all(|i| words.word(i) == u32::try_from(i + 1).unwrap()));
        assert_eq!(words.word(6), 0);
        assert!(slots.iter().all(|slot| (slot.at, slot.len, slot.end) == (7, 3, 99)));
    }
}
