//! Dimensions, read where they stand.

use core::fmt;
use core::iter::FusedIterator;

use crate::num;

/// A tensor's dimensions, outermost first, of any rank, borrowed from the header, or from a slice (`From<&[u64]>`).
///
/// Dimensions are decoded as they are asked for; a shape costs no memory, however many there are.
///
/// ```
/// # use tensorgate::{SafeTensors, Limits, safetensors::Slot};
/// # let mut file = b"\x3a\0\0\0\0\0\0\0".to_vec();
/// # file.extend_from_slice(br#"{"w":{"dtype":"U8","shape":[2,3],"data_offsets":[0,6]}}   "#);
/// # file.extend_from_slice(&[0; 6]);
/// let mut slots = [Slot::EMPTY; 1];
/// let file = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
/// let shape = file.tensor("w").unwrap().shape();
/// assert_eq!(shape.rank(), 2);
/// assert!(shape.iter().eq([2, 3]));
/// assert_eq!(shape.to_string(), "[2, 3]");
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    dims: Dims<'a>,
}

#[derive(Clone, Copy)]
enum Dims<'a> {
    /// The inside of a JSON array of plain integers, checked by the lexer.
    Text(&'a [u8]),
    /// At most four, as in a GGUF tensor info, already outermost first.
    Few([u64; 4], u8),
    /// A program's own, which a writer puts into a file.
    Given(&'a [u64]),
}

impl<'a> Shape<'a> {
    /// The inside of a JSON array that the lexer accepted.
    #[inline]
    pub(crate) const fn from_json(text: &'a [u8]) -> Self {
        Self { dims: Dims::Text(text) }
    }

    /// The first `rank` of four dimensions, outermost first.
    #[inline]
    pub(crate) const fn few(dims: [u64; 4], rank: u8) -> Self {
        Self { dims: Dims::Few(dims, if rank > 4 { 4 } else { rank }) }
    }

    /// The dimensions, outermost first.
    pub fn iter(&self) -> DimIter<'a> {
        DimIter { dims: self.dims }
    }

    /// How many dimensions there are; 0 for a scalar. Linear in the length of the shape's text.
    pub fn rank(&self) -> usize {
        // `count` adds with a panic where overflow is checked; a header has fewer dimensions than bytes.
        self.iter().fold(0, |rank, _| rank.saturating_add(1))
    }

    /// The dimension at `axis`, counted from the outermost.
    pub fn dim(&self, axis: usize) -> Option<u64> {
        self.iter().nth(axis)
    }

    /// The product of all dimensions, 1 for a scalar, or `None` where it does not fit.
    ///
    /// For a shape that came from a proved tensor it always fits.
    pub fn elements(&self) -> Option<u64> {
        // A file may have its dimensions the other way round: a zero that comes last here may have come first there.
        num::product(self.iter()).or_else(|| self.iter().any(|dim| dim == 0).then_some(0))
    }

    /// The dimensions as a `Vec`.
    #[cfg(feature = "alloc")]
    pub fn to_vec(&self) -> alloc::vec::Vec<u64> {
        self.iter().collect()
    }
}

impl<'a> From<&'a [u64]> for Shape<'a> {
    fn from(dims: &'a [u64]) -> Self {
        Self { dims: Dims::Given(dims) }
    }
}

impl<'a> IntoIterator for Shape<'a> {
    type Item = u64;
    type IntoIter = DimIter<'a>;

    fn into_iter(self) -> DimIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Shape<'a> {
    type Item = u64;
    type IntoIter = DimIter<'a>;

    fn into_iter(self) -> DimIter<'a> {
        self.iter()
    }
}

impl PartialEq for Shape<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Shape<'_> {}

impl PartialEq<[u64]> for Shape<'_> {
    fn eq(&self, other: &[u64]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        let mut dims = self.iter();
        if let Some(first) = dims.next() {
            write!(f, "{first}")?;
        }
        for dim in dims {
            write!(f, ", {dim}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Iterator over a [`Shape`]'s dimensions, outermost first.
#[derive(Clone)]
pub struct DimIter<'a> {
    dims: Dims<'a>,
}

impl fmt::Debug for DimIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl Iterator for DimIter<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        match &mut self.dims {
            Dims::Text(text) => {
                let start = text.iter().position(u8::is_ascii_digit)?;
                let digits = text.get(start..)?;
                let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (number, rest) = digits.split_at_checked(len)?;
                *text = rest;
                Some(
                    number
                        .iter()
                        .fold(0_u64, |value, digit| value.wrapping_mul(10).wrapping_add(u64::from(digit & 0x0F))),
                )
            }
            Dims::Few(dims, count) => {
                let [first, second, third, fourth] = *dims;
                *count = count.checked_sub(1)?;
                *dims = [second, third, fourth, 0];
                Some(first)
            }
            Dims::Given(dims) => {
                let (first, rest) = dims.split_first()?;
                *dims = rest;
                Some(*first)
            }
        }
    }
}

impl FusedIterator for DimIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn dims_are_read_where_they_stand() {
        let shape = Shape::from_json(b" 1 ,\n20,18446744073709551615 ");
        assert!(shape.iter().eq([1, 20, u64::MAX]));
        assert_eq!((shape.rank(), shape.dim(1), shape.dim(3)), (3, Some(20), None));
        assert_eq!(shape.elements(), None);
        assert_eq!(Shape::from_json(b"").elements(), Some(1));
        assert_eq!(Shape::from_json(b" ").to_string(), "[]");
        let few = Shape::few([3, 2, 0, 0], 2);
        assert_eq!(Shape::few([1; 4], 9).rank(), 4);
        assert_eq!(few, Shape::from_json(b"3,2"));
        assert_eq!((few.to_string().as_str(), few.elements()), ("[3, 2]", Some(6)));
        assert_eq!(Shape::from(&[3, 2][..]), few);
        assert_eq!(Shape::from(&[7; 9][..]).rank(), 9);
        assert_eq!(Shape::few([1 << 62, 4, 0, 0], 3).elements(), Some(0));
    }
}
