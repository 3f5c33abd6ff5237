//! Arrays of arrays, walked without recursion: how many elements are left on each level is all there is to keep.

use super::reader::Endian;
use super::value::{ValueType, number, string};
use crate::cursor::Cursor;
use crate::limits::NESTED_CEILING;
use crate::num;

/// Bytes of an array without elements: its element type and its count.
pub(super) const LEAST_ARRAY: u64 = 12;

/// The arrays of arrays that are open, outermost first.
#[derive(Debug)]
pub(super) struct Nest {
    left: [u64; NESTED_CEILING],
    open: usize,
}

impl Nest {
    pub(super) const fn new() -> Self {
        Self { left: [0; NESTED_CEILING], open: 0 }
    }

    /// How many are open.
    pub(super) const fn open(&self) -> usize {
        self.open
    }

    /// Opens an array of `count` arrays; false where there are as many open as there can be.
    pub(super) fn push(&mut self, count: u64) -> bool {
        let Some(level) = self.left.get_mut(self.open) else { return false };
        *level = count;
        self.open = self.open.saturating_add(1);
        true
    }

    /// Goes on to the next array inside the open ones, closing those that are through; false where there is none.
    pub(super) fn advance(&mut self) -> bool {
        while let Some(last) = self.open.checked_sub(1) {
            if let Some(left) = self.left.get_mut(last).filter(|left| **left > 0) {
                *left = left.saturating_sub(1);
                return true;
            }
            self.open = last;
        }
        false
    }

    /// The least bytes that follow the array that is read.
    pub(super) fn after(&self) -> u64 {
        let open = self.left.get(..self.open).unwrap_or_default();
        open.iter().fold(0_u64, |sum, left| sum.saturating_add(left.saturating_mul(LEAST_ARRAY)))
    }
}

/// Steps over the array that stands next, in bytes that were proved before.
pub(super) fn skip(cursor: &mut Cursor<'_>, endian: Endian) -> Option<()> {
    let mut nest = Nest::new();
    loop {
        let kind = ValueType::from_id(number!(cursor, endian, u32))?;
        let count = number!(cursor, endian, u64);
        match (kind, kind.size()) {
            // The array itself stands inside another one, so that what it opens is one level less.
            (ValueType::Array, _) if !nest.push(count) => return None,
            (ValueType::Array, _) => {}
            (_, Some(size)) => {
                cursor.take(num::narrow(num::mul(count, size)?)?)?;
            }
            (_, None) => {
                for _ in 0..count {
                    string(cursor, endian)?;
                }
            }
        }
        if !nest.advance() {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_array_is_met_once() {
        let mut nest = Nest::new();
        // [[.., ..], [], [..]], each leaf met when it is read.
        assert!(nest.push(3) && nest.advance());
        assert_eq!(nest.after(), 2 * LEAST_ARRAY);
        assert!(nest.push(2) && nest.advance() && nest.advance());
        assert_eq!((nest.open(), nest.after()), (2, 2 * LEAST_ARRAY));
        assert!(nest.advance() && nest.push(0) && nest.advance());
        assert_eq!((nest.open(), nest.after()), (1, 0));
        assert!(nest.push(1) && nest.advance() && !nest.advance());
        assert_eq!(nest.open(), 0);
    }

    #[test]
    fn there_is_a_deepest_level() {
        let mut nest = Nest::new();
        assert!((0..NESTED_CEILING).all(|_| nest.push(u64::MAX)));
        assert!(!nest.push(0) && nest.advance());
        assert_eq!(nest.after(), u64::MAX);
    }
}
