//! The walk over a sub-tensor's bytes.

use core::fmt;
use core::iter::FusedIterator;

use super::{Axis, SliceError, cuts};
use crate::{Dtype, TensorView, num};

/// Axes of two or more elements that a non-empty tensor can have: the product of the dimensions fits a `u64`.
const MOST: usize = 64;

/// One level of the walk: `count` positions, `stride` bytes apart, and at which of them it is.
#[derive(Clone, Copy)]
struct Level {
    count: u64,
    stride: u64,
    index: u64,
}

/// The bytes of a [`SubTensor`](super::SubTensor) in row-major order: the longest pieces that are contiguous in the file. No run is empty,
/// and none begins where the one before it ends.
#[derive(Clone)]
pub struct Runs<'a> {
    bytes: &'a [u8],
    /// Elements of the sub-tensor.
    elements: u64,
    /// Where the walk stands, in bytes.
    at: u64,
    /// Bytes of each piece of the walk. A run is one piece, or two that meet.
    piece: u64,
    /// Runs still to come.
    left: u64,
    levels: [Level; MOST],
    depth: usize,
}

impl<'a> Runs<'a> {
    /// The walk over what `axes` leave of `view`, proved.
    pub(super) fn new(view: TensorView<'a>, axes: &[Axis]) -> Result<Self, SliceError> {
        let (given, rank) = (num::widen(axes.len()), num::widen(view.shape().rank()));
        if given > rank {
            return Err(SliceError::TooManyAxes { given, rank });
        }
        let levels = [Level { count: 1, stride: 0, index: 0 }; MOST];
        let mut runs = Self { bytes: view.bytes(), elements: 0, at: 0, piece: 0, left: 0, levels, depth: 0 };
        // In elements, until `finish`. No sum or product below passes the number of the tensor's elements, since a
        // position is inside its axis; only the step of an axis of one element may wrap, and `push` drops that.
        let mut below = view.elements();
        let mut empty = below == 0;
        for cut in cuts(view.shape().iter(), axes) {
            let (dim, cut) = cut?;
            below = below.checked_div(dim).unwrap_or(0);
            empty |= cut.count == 0;
            if !empty {
                runs.at = runs.at.wrapping_add(cut.start.wrapping_mul(below));
                runs.push(cut.count, cut.step.wrapping_mul(below));
            }
        }
        if !empty {
            runs.finish(view.dtype()).ok_or(SliceError::SubByte { dtype: view.dtype() })?;
        }
        Ok(runs)
    }

    /// Elements of the sub-tensor, however many runs were taken.
    pub(super) const fn elements(&self) -> u64 {
        self.elements
    }

    /// Adds a level inside the others, or widens the innermost where the two are one walk.
    fn push(&mut self, count: u64, stride: u64) {
        if count < 2 {
            return;
        }
        match self.levels.get_mut(..self.depth).and_then(<[Level]>::last_mut) {
            Some(last) if last.stride == count.wrapping_mul(stride) => {
                *last = Level { count: last.count.wrapping_mul(count), stride, index: 0 };
            }
            _ => {
                // There is room: 64 factors of two or more do not fit a `u64`.
                if let Some(free) = self.levels.get_mut(self.depth) {
                    *free = Level { count, stride, index: 0 };
                    self.depth = self.depth.saturating_add(1);
                }
            }
        }
    }

    /// Turns elements into bytes, and counts the runs; `None` where a piece would begin or end inside a byte.
    fn finish(&mut self, dtype: Dtype) -> Option<()> {
        let levels = self.levels.get_mut(..self.depth)?;
        self.elements = num::product(levels.iter().map(|level| level.count))?;
        self.piece = 1;
        let levels = match levels.split_last_mut() {
            Some((last, outer)) if last.stride == 1 => {
                self.piece = last.count;
                self.depth = outer.len();
                outer
            }
            _ => levels,
        };
        // Whole pieces are enough, though a run may be two pieces that meet: the first piece never meets the second (the
        // innermost level would be part of the piece), so it is a run, and any two that meet do so on a byte.
        self.at = dtype.bytes_for(self.at)?;
        self.piece = dtype.bytes_for(self.piece)?;
        for level in levels.iter_mut() {
            level.stride = dtype.bytes_for(level.stride)?;
        }
        // A step of a level leads from the last position of those inside it to their first one; where that is just
        // the length of a piece, two pieces meet.
        let pieces = num::product(levels.iter().map(|level| level.count))?;
        self.left = pieces;
        let (mut outside, mut inside) = (pieces, 0_u64);
        for level in levels.iter().rev() {
            let steps = num::sub(level.count, 1)?;
            outside = outside.checked_div(level.count)?;
            if num::sub(level.stride, inside)? == self.piece {
                self.left = num::sub(self.left, num::mul(outside, steps)?)?;
            }
            inside = num::add(inside, num::mul(steps, level.stride)?)?;
        }
        Some(())
    }

    /// Goes to the next piece; `false` after the last.
    #[inline]
    fn advance(&mut self) -> bool {
        let levels = self.levels.get_mut(..self.depth).unwrap_or_default();
        for level in levels.iter_mut().rev() {
            // Positions stay inside the tensor, so nothing wraps.
            let next = level.index.wrapping_add(1);
            if next < level.count {
                level.index = next;
                self.at = self.at.wrapping_add(level.stride);
                return true;
            }
            self.at = self.at.wrapping_sub(level.index.wrapping_mul(level.stride));
            level.index = 0;
        }
        false
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let start = self.at;
        let mut end = num::add(start, self.piece)?;
        while self.advance() && self.at == end {
            end = num::add(end, self.piece)?;
        }
        self.bytes.get(num::narrow(start)?..num::narrow(end)?)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        // Runs are not empty and do not overlap, so there are no more of them than bytes in memory.
        let left = num::narrow(self.left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Runs<'_> {}

impl FusedIterator for Runs<'_> {}

impl fmt::Debug for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runs({} left, in pieces of {} bytes)", self.left, self.piece)
    }
}
