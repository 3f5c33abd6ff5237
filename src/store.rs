//! Where parsing keeps what it found: a slice of the caller's, or a vector that never grows.

/// Somewhere to put slots while parsing.
pub(crate) trait Store<T> {
    /// Keeps the slot; false where there is no more room.
    fn push(&mut self, slot: T) -> bool;
}

/// A caller's slice, filled from the front.
#[derive(Debug)]
pub(crate) struct Lent<'s, T> {
    pub(crate) slots: &'s mut [T],
    pub(crate) used: usize,
}

impl<T> Store<T> for Lent<'_, T> {
    #[inline]
    fn push(&mut self, slot: T) -> bool {
        match self.slots.get_mut(self.used) {
            Some(place) => {
                *place = slot;
                self.used = self.used.saturating_add(1);
                true
            }
            None => false,
        }
    }
}

#[cfg(feature = "alloc")]
impl<T> Store<T> for alloc::vec::Vec<T> {
    #[inline]
    fn push(&mut self, slot: T) -> bool {
        // Room was reserved for as many as the text can hold: this never allocates.
        if self.len() < self.capacity() {
            alloc::vec::Vec::push(self, slot);
            true
        } else {
            false
        }
    }
}

/// The slots of what was parsed, lent or owned.
#[derive(Clone, Debug)]
pub(crate) enum Slots<'a, T> {
    Lent(&'a [T]),
    #[cfg(feature = "alloc")]
    Owned(alloc::vec::Vec<T>),
}

impl<T> Slots<'_, T> {
    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Self::Lent(slots) => slots,
            #[cfg(feature = "alloc")]
            Self::Owned(slots) => slots,
        }
    }
}

#[cfg(feature = "alloc")]
impl<T: Copy> Slots<'_, T> {
    /// The slots as a vector; `None` where there is no memory to copy lent ones.
    pub(crate) fn into_vec(self) -> Option<alloc::vec::Vec<T>> {
        match self {
            Self::Owned(slots) => Some(slots),
            Self::Lent(lent) => {
                let mut slots = alloc::vec::Vec::new();
                slots.try_reserve_exact(lent.len()).ok()?;
                slots.extend_from_slice(lent);
                Some(slots)
            }
        }
    }
}

/// How often `wanted` stands in `text`, in lanes of a byte so that the compiler counts a whole vector at once.
#[cfg(feature = "alloc")]
pub(crate) fn count(text: &[u8], wanted: u8) -> usize {
    let (blocks, tail) = text.as_chunks::<128>();
    let in_block = |block: &[u8; 128]| {
        let (lanes, _) = block.as_chunks::<32>();
        let mut sums = [0_u8; 32];
        for lane in lanes {
            for (sum, byte) in sums.iter_mut().zip(lane) {
                *sum = sum.wrapping_add(u8::from(*byte == wanted));
            }
        }
        sums.iter().fold(0_usize, |count, sum| count.wrapping_add(usize::from(*sum)))
    };
    let whole = blocks.iter().fold(0_usize, |count, block| count.wrapping_add(in_block(block)));
    tail.iter().fold(whole, |count, byte| count.wrapping_add(usize::from(*byte == wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "alloc")]
    fn bytes_are_counted() {
        for len in [0_usize, 1, 127, 128, 129, 4_000] {
            let text: std::vec::Vec<u8> = (0..len).map(|i| if i % 3 == 0 { b'{' } else { b'z' }).collect();
            assert_eq!(count(&text, b'{'), len.div_ceil(3));
        }
    }

    #[test]
    fn a_full_slice_takes_no_more() {
        let mut places = [0_u8; 2];
        let mut lent = Lent { slots: &mut places, used: 0 };
        assert_eq!([lent.push(7), lent.push(8), lent.push(9)], [true, true, false]);
        assert_eq!((lent.used, places), (2, [7, 8]));
    }
}
