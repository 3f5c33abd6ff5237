//! What the bytes of a tensor hold that its header cannot tell: numbers that are none, bools that are neither, scales
//! that spoil a block, nothing but zeros.
//!
//! A [`Scan`] takes a tensor's bytes in pieces of any length, which may split elements, and counts; the parts of a tensor
//! that was divided among threads are put together by [`Census::merge`].
//!
//! What is looked for is what the reference's `ggml_validate_row_data` refuses (`ggml-quants.c`; llama.cpp calls it with
//! `--check-tensors`), and the like of it for the types of safetensors:
//!
//! | types | not a number | infinite | else |
//! |---|---|---|---|
//! | `F16`, `BF16`, `F32`, `F64`, `F8_E5M2` | exponent all ones, mantissa not zero | exponent all ones, mantissa zero | |
//! | `C64` | either part is not a number | either part is infinite | counted once an element |
//! | `F8_E4M3` | `0x7F`, `0xFF` | has none | |
//! | `F8_E4M3FNUZ`, `F8_E5M2FNUZ` | `0x80` | has none | |
//! | `F8_E8M0` | `0xFF` | has none | is never zero |
//! | `BOOL` | | | a byte other than 0 and 1 |
//! | blocks | | | a scale or minimum that is infinite or no number |
//! | `F4`, `F6_E2M3`, `F6_E3M2`, integers, `NVFP4` | have none | have none | |

mod blocks;
mod lanes;

use crate::gguf::{Endian, GgmlType};
use crate::{Dtype, num};

use blocks::Block;
use lanes::Lane;

/// The longest element, in bytes: a block of `Q8_K`.
const LONGEST: usize = 292;

/// Places of one sort in a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    count: u64,
    first: u64,
}

impl Places {
    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Where the first of them begins, in bytes from the tensor's first; `None` where there is none.
    pub const fn first(&self) -> Option<u64> {
        if self.count > 0 { Some(self.first) } else { None }
    }

    const fn add(&mut self, at: u64) {
        if self.count == 0 || at < self.first {
            self.first = at;
        }
        self.count = self.count.saturating_add(1);
    }

    const fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            let count = self.count.saturating_add(other.count);
            self.add(other.first);
            self.count = count;
        }
    }
}

/// What was found in a tensor's bytes, or in a part of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    bytes: u64,
    not_a_number: Places,
    infinite: Places,
    bools: Places,
    scales: Places,
    nonzero: bool,
}

impl Census {
    /// Bytes that were looked at.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Elements that are not a number.
    pub const fn not_a_number(&self) -> Places {
        self.not_a_number
    }

    /// Elements that are infinite.
    pub const fn infinite(&self) -> Places {
        self.infinite
    }

    /// Bytes of a `BOOL` tensor that are neither 0 nor 1.
    pub const fn bools(&self) -> Places {
        self.bools
    }

    /// Blocks with a scale or a minimum that is infinite or not a number.
    pub const fn scales(&self) -> Places {
        self.scales
    }

    /// Whether there are elements, and all of them are zero, with either sign. A tensor of blocks is, where all scales
    /// and minima are zero, or of types whose scale cannot be, all elements. Of `F6_E2M3` and `F6_E3M2` a negative zero
    /// is not told from other numbers.
    pub const fn is_all_zero(&self) -> bool {
        self.bytes > 0 && !self.nonzero
    }

    /// Whether there is nothing to tell: all zeros is something.
    pub const fn is_clean(&self) -> bool {
        let places = [self.not_a_number.count, self.infinite.count, self.bools.count, self.scales.count];
        matches!(places, [0, 0, 0, 0]) && !self.is_all_zero()
    }

    /// Takes up what was found in another part of the same tensor, whatever the order of the parts.
    pub const fn merge(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.not_a_number.merge(&other.not_a_number);
        self.infinite.merge(&other.infinite);
        self.bools.merge(&other.bools);
        self.scales.merge(&other.scales);
        self.nonzero |= other.nonzero;
    }
}

/// How the elements of a type are looked at.
#[derive(Clone, Copy, Debug)]
enum Form {
    Lane(Lane),
    Block(Block),
    /// A type that nothing is known of.
    Opaque,
}

/// A pass over a tensor's bytes that can be paused anywhere.
///
/// ```
/// use tensorgate::{Dtype, scan::Scan};
///
/// let mut scan = Scan::new(Dtype::F32);
/// // 1.0, NaN, infinity: in pieces that split elements.
/// for piece in [&[0, 0, 128][..], &[63, 0, 0, 192], &[127, 0, 0, 128, 127]] {
///     scan.feed(piece);
/// }
/// let census = scan.census();
/// assert_eq!((census.not_a_number().count(), census.not_a_number().first()), (1, Some(4)));
/// assert_eq!((census.infinite().count(), census.infinite().first()), (1, Some(8)));
/// assert!(!census.is_all_zero());
/// ```
#[derive(Clone, Debug)]
pub struct Scan {
    form: Form,
    /// Where the next whole element begins, in bytes from the tensor's first.
    at: u64,
    held: usize,
    split: [u8; LONGEST],
    census: Census,
}

impl Scan {
    /// A pass over the elements of a safetensors type.
    pub const fn new(dtype: Dtype) -> Self {
        Self::of(Form::Lane(Lane::new(dtype, Endian::Little)))
    }

    /// A pass over the elements of a GGUF type. Of a type that is not known only the bytes are counted.
    pub const fn gguf(kind: GgmlType, endian: Endian) -> Self {
        Self::of(match (kind.dtype(), Block::new(kind, endian)) {
            (Some(dtype), _) => Form::Lane(Lane::new(dtype, endian)),
            (None, Some(block)) => Form::Block(block),
            (None, None) => Form::Opaque,
        })
    }

    const fn of(form: Form) -> Self {
        let nonzero = match form {
            Form::Lane(lane) => lane.is_never_zero(),
            Form::Block(_) => false,
            Form::Opaque => true,
        };
        let none = Places { count: 0, first: 0 };
        let census = Census { bytes: 0, not_a_number: none, infinite: none, bools: none, scales: none, nonzero };
        Self { form, at: 0, held: 0, split: [0; LONGEST], census }
    }

    /// The same, for a part of the tensor that begins `offset` bytes behind the tensor's first: the beginning of an
    /// element, a multiple of [`unit`](Self::unit).
    #[must_use]
    pub const fn starting_at(mut self, offset: u64) -> Self {
        self.at = offset;
        self
    }

    /// Bytes of an element, or of a block.
    pub const fn unit(&self) -> usize {
        match self.form {
            Form::Lane(lane) => lane.unit(),
            Form::Block(block) => block.unit(),
            Form::Opaque => 1,
        }
    }

    /// Looks at the bytes that follow those of the call before.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.census.bytes = self.census.bytes.saturating_add(num::widen(bytes.len()));
        let mut rest = bytes;
        if self.held > 0 {
            let room = self.unit().saturating_sub(self.held);
            let (more, behind) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            rest = behind;
            self.hold(more);
            if self.held < self.unit() {
                return;
            }
            let split = self.split;
            self.units(split.get(..self.held).unwrap_or_default());
            self.held = 0;
        }
        let over = rest.len().checked_rem(self.unit()).unwrap_or(0);
        let (whole, over) = rest.split_at_checked(rest.len().saturating_sub(over)).unwrap_or((rest, &[]));
        self.units(whole);
        self.hold(over);
    }

    /// Keeps the beginning of an element.
    fn hold(&mut self, bytes: &[u8]) {
        let free = self.split.get_mut(self.held..).unwrap_or_default();
        for (to, from) in free.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.held = self.held.saturating_add(bytes.len());
    }

    /// Looks at whole elements.
    fn units(&mut self, bytes: &[u8]) {
        match self.form {
            Form::Lane(lane) => lane.look(bytes, self.at, &mut self.census),
            Form::Block(block) => block.look(bytes, self.at, &mut self.census),
            Form::Opaque => {}
        }
        self.at = self.at.saturating_add(num::widen(bytes.len()));
    }

    /// What was found so far. An element that was not fed whole is not in it.
    pub const fn census(&self) -> Census {
        self.census
    }
}

#[cfg(test)]
mod tests;
