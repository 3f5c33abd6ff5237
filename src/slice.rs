//! Sub-tensors: a start, stop and step, or one index, for each axis, over a view and without a copy.
//!
//! [`TensorView::slice`] proves the request and gives a [`SubTensor`], whose bytes come as [`Runs`]: the longest pieces
//! that are contiguous in the file, in row-major order. Nothing is allocated, whatever the rank.
//!
//! # Which ranges are right
//!
//! For an axis of `dim` elements:
//!
//! - `Select(i)` needs `i < dim`, and drops the axis.
//! - A range needs `stop <= dim`, and a `start` that is an element (`start < dim`) or the end itself
//!   (`start == stop == dim`; so the full range of an axis of no elements is right). Else it is
//!   [`SliceError::OutOfRange`].
//! - A range whose start is not below its stop is then empty. It leaves its axis in the shape, with 0 elements.
//! - A step counts from the start; 0 is an error. Axes for which nothing is said are kept whole.
//!
//! An empty range is no lie: NumPy gives an empty array for `[2:1]`, for `[3:3]` on three elements and for `[:]` on
//! none, and so does this. A position outside the axis is refused all the same, where NumPy would clip it silently: for
//! weights it is a mistake about the shape. The reference implementation (`safetensors` 0.8.0, `slice.rs`) panics on an
//! inverted range or gives it 2^64 − 1 elements, refuses the two other empty ranges, lets `..=u64::MAX` wrap to an empty
//! one, and gives the bytes of the whole tensor for some empty results.
//!
//! Elements below a byte ([`Dtype::F4`], [`Dtype::F6_E2M3`], [`Dtype::F6_E3M2`]) can be sliced where every run begins
//! and ends on a byte; else it is [`SliceError::SubByte`].

mod runs;

use core::fmt;
use core::iter::{repeat, successors};
use core::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

pub use runs::Runs;

use crate::shape::DimIter;
use crate::{Dtype, TensorView, num};

/// What to take of one axis. Made from an index, from any range of `u64`, or from a pair of bounds.
///
/// ```
/// use core::ops::Bound;
/// use tensorgate::Axis;
/// assert_eq!(Axis::from(3), Axis::Select(3));
/// assert_eq!(Axis::from(..), Axis::Full);
/// let (start, stop) = (Bound::Included(1), Bound::Excluded(6));
/// assert_eq!(Axis::from(1..6).step_by(2), Axis::Range { start, stop, step: 2 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Axis {
    /// The whole axis.
    #[default]
    Full,
    /// One element; the axis is no axis of the result.
    Select(u64),
    /// Every `step`-th element from `start` to `stop`.
    Range {
        /// The first element.
        start: Bound<u64>,
        /// Where to stop.
        stop: Bound<u64>,
        /// From one element to the next; 1 for all of them.
        step: u64,
    },
}

impl Axis {
    /// The same range with another step. A selected index stays what it is.
    #[must_use]
    pub const fn step_by(self, step: u64) -> Self {
        match self {
            Self::Full => Self::Range { start: Bound::Unbounded, stop: Bound::Unbounded, step },
            Self::Range { start, stop, .. } => Self::Range { start, stop, step },
            Self::Select(index) => Self::Select(index),
        }
    }

    /// What is taken of an axis of `dim` elements, by the rule of the [module](self).
    fn cut(self, axis: u64, dim: u64) -> Result<Cut, SliceError> {
        let outside = |asked| SliceError::OutOfRange { axis, asked, dim };
        let (from, to, step) = match self {
            Self::Full => return Ok(Cut { start: 0, count: dim, step: 1, kept: true }),
            Self::Select(index) if index < dim => return Ok(Cut { start: index, count: 1, step: 1, kept: false }),
            Self::Select(index) => return Err(outside(index)),
            Self::Range { step: 0, .. } => return Err(SliceError::ZeroStep { axis }),
            Self::Range { start, stop, step } => (start, stop, step),
        };
        let end = match to {
            Bound::Unbounded => dim,
            Bound::Excluded(end) if end <= dim => end,
            Bound::Included(last) if last < dim => last.saturating_add(1),
            Bound::Excluded(asked) | Bound::Included(asked) => return Err(outside(asked)),
        };
        let first = match from {
            Bound::Unbounded => 0,
            Bound::Included(first) => first,
            Bound::Excluded(before) => num::add(before, 1).ok_or_else(|| outside(before))?,
        };
        if first >= dim && (first, end) != (dim, dim) {
            return Err(outside(first));
        }
        let count = num::sub(end, first).map_or(0, |length| length.div_ceil(step));
        Ok(Cut { start: first, count, step, kept: true })
    }
}

impl From<u64> for Axis {
    fn from(index: u64) -> Self {
        Self::Select(index)
    }
}

impl From<RangeFull> for Axis {
    fn from(_: RangeFull) -> Self {
        Self::Full
    }
}

impl From<(Bound<u64>, Bound<u64>)> for Axis {
    fn from((start, stop): (Bound<u64>, Bound<u64>)) -> Self {
        Self::Range { start, stop, step: 1 }
    }
}

macro_rules! from_range {
    ($($range:ty)*) => {$(
        impl From<$range> for Axis {
            fn from(range: $range) -> Self {
                Self::from((range.start_bound().cloned(), range.end_bound().cloned()))
            }
        }
    )*};
}

from_range! { Range<u64> RangeFrom<u64> RangeTo<u64> RangeInclusive<u64> RangeToInclusive<u64> }

/// What is taken of an axis: `count` elements, `start + i * step`, all of them inside.
#[derive(Clone, Copy)]
struct Cut {
    start: u64,
    count: u64,
    step: u64,
    kept: bool,
}

/// Why a sub-tensor cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SliceError {
    /// There are more indexers than axes.
    TooManyAxes {
        /// How many were given.
        given: u64,
        /// How many axes the tensor has.
        rank: u64,
    },
    /// A position is outside its axis.
    OutOfRange {
        /// Which axis, counted from the outermost.
        axis: u64,
        /// The position that was asked for.
        asked: u64,
        /// How many elements the axis has.
        dim: u64,
    },
    /// A step of 0.
    ZeroStep {
        /// Which axis, counted from the outermost.
        axis: u64,
    },
    /// A run would begin or end inside a byte.
    SubByte {
        /// The tensor's dtype.
        dtype: Dtype,
    },
    /// The bytes to copy to are not as many as the sub-tensor's.
    Size {
        /// Bytes of the sub-tensor.
        expected: u64,
        /// Bytes that were brought.
        found: u64,
    },
    /// There was no memory for a copy.
    Alloc {
        /// How many bytes it takes.
        bytes: u64,
    },
}

impl fmt::Display for SliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyAxes { given, rank } => write!(f, "{given} axes were given, and the tensor has {rank}"),
            Self::OutOfRange { axis, asked, dim } => {
                write!(f, "position {asked} is outside axis {axis}, which has {dim} elements")
            }
            Self::ZeroStep { axis } => write!(f, "the step of axis {axis} is 0"),
            Self::SubByte { dtype } => write!(f, "a piece of this {dtype} tensor would begin or end inside a byte"),
            Self::Size { expected, found } => write!(f, "the sub-tensor has {expected} bytes, not {found}"),
            Self::Alloc { bytes } => write!(f, "there is no memory for a copy of {bytes} bytes"),
        }
    }
}

impl core::error::Error for SliceError {}

/// The cut of every axis, outermost first, with what the axis has and which one it is.
fn cuts<'a>(
    dims: DimIter<'a>,
    axes: &'a [Axis],
) -> impl Iterator<Item = Result<(u64, Cut), SliceError>> + Clone + 'a {
    let axes = axes.iter().copied().chain(repeat(Axis::Full));
    // A range without an end counts with a panic where overflow is checked.
    let numbers = successors(Some(0_u64), |number| number.checked_add(1));
    numbers.zip(dims).zip(axes).map(|((index, dim), axis)| Ok((dim, axis.cut(index, dim)?)))
}

impl<'a> TensorView<'a> {
    /// A part of the tensor: `axes` says what to take of each axis, outermost first; axes for which nothing is said are
    /// kept whole.
    ///
    /// `axes` may be an array, a slice or a `Vec`; the sub-tensor keeps it to tell its shape. See
    /// [`slice`](crate::slice) for which ranges are right.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// # use tensorgate::{Limits, SafeTensors, safetensors::Slot};
    /// # let mut file = 56_u64.to_le_bytes().to_vec();
    /// # file.extend_from_slice(br#"{"w":{"dtype":"U8","shape":[3,4],"data_offsets":[0,12]}}"#);
    /// # file.extend_from_slice(&[0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]);
    /// # let mut slots = [Slot::EMPTY; 1];
    /// # let model = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
    /// use tensorgate::Axis;
    /// let w = model.tensor("w")?; // [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]
    ///
    /// let columns = w.slice([Axis::Full, Axis::from(1..3)])?;
    /// assert!(columns.shape().eq([3, 2]));
    /// assert!(columns.runs().eq([[1, 2], [11, 12], [21, 22]]));
    ///
    /// let row = w.slice([Axis::from(1), Axis::from(..).step_by(3)])?;
    /// assert!(row.shape().eq([2]));
    /// let mut bytes = [0; 2];
    /// row.copy_to(&mut bytes)?;
    /// assert_eq!(bytes, [10, 13]);
    ///
    /// let rows = w.slice([Axis::from(1..)])?;
    /// assert_eq!(rows.contiguous(), Some(&w.bytes()[4..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`SliceError::TooManyAxes`], [`SliceError::OutOfRange`], [`SliceError::ZeroStep`], and [`SliceError::SubByte`]
    /// where elements narrower than a byte cannot be cut there.
    pub fn slice<A: AsRef<[Axis]>>(&self, axes: A) -> Result<SubTensor<'a, A>, SliceError> {
        let runs = Runs::new(*self, axes.as_ref())?;
        Ok(SubTensor { view: *self, axes, runs })
    }
}

/// A part of a tensor, over the tensor's own bytes. Made by [`TensorView::slice`].
///
/// `A` is how the axes were given: an array, a slice, a `Vec`.
#[derive(Clone)]
pub struct SubTensor<'a, A> {
    view: TensorView<'a>,
    axes: A,
    runs: Runs<'a>,
}

impl<'a, A: AsRef<[Axis]>> SubTensor<'a, A> {
    /// The tensor that this is a part of.
    pub const fn tensor(&self) -> TensorView<'a> {
        self.view
    }

    /// The dimensions that are left, outermost first: selected axes are gone, empty ranges are 0.
    pub fn shape(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        // Every cut was proved when this was made.
        cuts(self.view.shape().iter(), self.axes.as_ref())
            .filter_map(Result::ok)
            .filter_map(|(_, cut)| cut.kept.then_some(cut.count))
    }
}

impl<'a, A> SubTensor<'a, A> {
    /// The type of its elements.
    pub const fn dtype(&self) -> Dtype {
        self.view.dtype()
    }

    /// How many elements it has.
    pub const fn elements(&self) -> u64 {
        self.runs.elements()
    }

    /// How many bytes its runs have together.
    pub fn bytes_len(&self) -> u64 {
        // Proved to be whole bytes, and no more than the tensor's.
        self.dtype().bytes_for(self.elements()).unwrap_or(0)
    }

    /// Its bytes in row-major order, as the longest pieces that are contiguous in the file; none where it is empty.
    pub fn runs(&self) -> Runs<'a> {
        self.runs.clone()
    }

    /// Its bytes, where they are one piece of the file (or none at all).
    pub fn contiguous(&self) -> Option<&'a [u8]> {
        let mut runs = self.runs();
        let first = runs.next().unwrap_or_default();
        if runs.next().is_none() { Some(first) } else { None }
    }

    /// Copies its bytes into `out`, row-major, little-endian.
    ///
    /// # Errors
    ///
    /// [`SliceError::Size`] where `out` has not exactly [`bytes_len`](Self::bytes_len) bytes. `out` is untouched then.
    pub fn copy_to(&self, out: &mut [u8]) -> Result<(), SliceError> {
        let (expected, found) = (self.bytes_len(), num::widen(out.len()));
        if expected != found {
            return Err(SliceError::Size { expected, found });
        }
        let mut rest = out;
        for run in self.runs() {
            // The runs are as long together as `out`, so there is always room.
            let Some((target, after)) = rest.split_at_mut_checked(run.len()) else { break };
            target.copy_from_slice(run);
            rest = after;
        }
        Ok(())
    }

    /// Its bytes in memory of their own, row-major, little-endian.
    ///
    /// # Errors
    ///
    /// [`SliceError::Alloc`] where there is no memory for them.
    #[cfg(feature = "alloc")]
    pub fn to_vec(&self) -> Result<alloc::vec::Vec<u8>, SliceError> {
        let bytes = self.bytes_len();
        let mut copy = alloc::vec::Vec::new();
        let room = num::narrow(bytes).and_then(|len| copy.try_reserve_exact(len).ok());
        room.ok_or(SliceError::Alloc { bytes })?;
        for run in self.runs() {
            copy.extend_from_slice(run);
        }
        Ok(copy)
    }
}

impl<A: AsRef<[Axis]>> fmt::Debug for SubTensor<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.axes.as_ref(), self.view)
    }
}
