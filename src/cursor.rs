//! A reader that *is* the remaining slice: there is no index to overflow, and the absolute offset is derived.

use crate::{num, steps};

/// What is left of the file, with the absolute offset of its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    end: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor over `bytes`, whose first byte stands at the absolute offset `start`.
    ///
    /// `start + bytes.len()` saturates; no file is that long, and a saturated offset is only ever shown.
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8], start: u64) -> Self {
        Self { rest: bytes, end: start.saturating_add(num::widen(bytes.len())) }
    }

    /// Absolute offset of the next byte.
    #[inline]
    pub(crate) const fn at(&self) -> u64 {
        self.end.wrapping_sub(num::widen(self.rest.len()))
    }

    /// All that is left.
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Goes on at `rest`, which must be a tail of what is left.
    #[inline]
    pub(crate) const fn set_rest(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// The next byte, not consumed.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Consumes the next byte.
    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        steps::take(1);
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Consumes `count` bytes, or nothing where fewer are left.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        steps::take(1);
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    /// Consumes `N` bytes, or nothing where fewer are left.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        steps::take(1);
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_follow_the_rest() {
        let mut cursor = Cursor::new(b"abcdef", 10);
        assert_eq!((cursor.at(), cursor.peek()), (10, Some(b'a')));
        assert_eq!(cursor.byte(), Some(b'a'));
        assert_eq!(cursor.array::<2>(), Some(*b"bc"));
        assert_eq!((cursor.at(), cursor.take(4)), (13, None));
        assert_eq!(cursor.take(3), Some(&b"def"[..]));
        assert_eq!((cursor.at(), cursor.byte(), cursor.rest()), (16, None, &b""[..]));
    }
}
