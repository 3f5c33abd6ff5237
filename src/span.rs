//! A proved range of the file; the only thing that slices.

use crate::num;

/// A half-open range `[start, end)` of the file in bytes, with `start <= end`.
///
/// One that comes out of this crate was proved to lie inside the file it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    start: u64,
    end: u64,
}

impl Span {
    /// The span, where `start <= end`.
    #[inline]
    pub(crate) const fn new(start: u64, end: u64) -> Option<Self> {
        if start <= end { Some(Self { start, end }) } else { None }
    }

    /// Offset of the first byte.
    pub const fn start(self) -> u64 {
        self.start
    }

    /// Offset after the last byte.
    pub const fn end(self) -> u64 {
        self.end
    }

    /// Length in bytes.
    pub const fn len(self) -> u64 {
        self.end.wrapping_sub(self.start)
    }

    /// Whether it covers no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes of `file` in this span, where it lies inside.
    #[inline]
    pub(crate) fn of(self, file: &[u8]) -> Option<&[u8]> {
        file.get(num::narrow(self.start)?..num::narrow(self.end)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_inside_is_given() {
        let file = [1, 2, 3, 4];
        assert_eq!(Span::new(3, 2), None);
        for start in 0..6 {
            for end in start..6 {
                let span = Span::new(start, end).unwrap();
                assert_eq!(span.len(), end - start);
                let inside = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
                assert_eq!(span.of(&file), file.get(inside));
            }
        }
        assert_eq!(Span::new(u64::MAX, u64::MAX).unwrap().of(&file), None);
    }
}
