//! Sub-tensors against nested loops over every position: the same verdict, shape, bytes and runs; and what both take,
//! against ndarray: the same shape and the same elements.

use std::ops::Bound;

use arbitrary::{Arbitrary, Result, Unstructured};
use ndarray::{ArrayD, SliceInfoElem};
use tensorgate::{Axis, Dtype, SafeTensors, SliceError};

use crate::heap;

/// A tensor and what to take of it.
#[derive(Debug)]
struct Input {
    dtype: Dtype,
    dims: Vec<u64>,
    axes: Vec<Axis>,
}

/// No tensor has more elements than this.
const MOST: u64 = 2000;

fn bound(u: &mut Unstructured<'_>, dim: u64) -> Result<Bound<u64>> {
    // A little past the end too, and rarely far past it.
    let place = if u.int_in_range(0..=30)? == 0 { u64::arbitrary(u)? } else { u.int_in_range(0..=dim + 1)? };
    Ok(match u.int_in_range(0..=2)? {
        0 => Bound::Unbounded,
        1 => Bound::Included(place),
        _ => Bound::Excluded(place),
    })
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let dtype = *u.choose(Dtype::ALL)?;
        let mut dims: Vec<u64> = Vec::new();
        let mut elements = 1;
        for _ in 0..u.int_in_range(0..=5)? {
            let dim = if u.int_in_range(0..=40)? == 0 { 0 } else { u.int_in_range(1..=6)? };
            let dim = if elements * dim > MOST { 1 } else { dim };
            elements *= dim;
            dims.push(dim);
        }
        // Below a byte an element, a whole number of bytes takes two or four of them.
        if dtype.bytes_for(elements).is_none() {
            dims.push(4);
        }
        let given = if u.int_in_range(0..=20)? == 0 { dims.len() + 1 } else { u.int_in_range(0..=dims.len())? };
        let mut axes = Vec::new();
        for axis in 0..given {
            let dim = dims.get(axis).copied().unwrap_or(1);
            axes.push(match u.int_in_range(0..=3)? {
                0 => Axis::Full,
                1 => Axis::Select(u.int_in_range(0..=dim)?),
                _ => {
                    let (start, end) = (bound(u, dim)?, bound(u, dim)?);
                    let step =
                        if u.int_in_range(0..=30)? == 0 { u64::arbitrary(u)? } else { u.int_in_range(1..=3)? };
                    Axis::Range { start, stop: end, step }
                }
            });
        }
        Ok(Self { dtype, dims, axes })
    }
}

/// Cuts a tensor in both ways.
pub fn check(data: &[u8]) {
    let Ok(input) = Input::arbitrary(&mut Unstructured::new(data)) else { return };
    let elements: u64 = input.dims.iter().product();
    let len = input.dtype.bytes_for(elements).expect("whole bytes");
    let json =
        format!(r#"{{"w":{{"dtype":"{}","shape":{:?},"data_offsets":[0,{len}]}}}}"#, input.dtype, input.dims);
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.extend((0..len).map(|at| u8::try_from(at * 73 % 251).expect("small")));
    let opened = SafeTensors::open(&file).expect("it is plain");
    let view = opened.tensor("w").expect("it is there");
    let part = heap::none(|| view.slice(&input.axes[..]));
    let (shape, pieces) = match (part.as_ref().map(drop), expected(&input)) {
        (Ok(()), Ok(expected)) => expected,
        (ours, theirs) => return assert_eq!(ours.err().copied(), theirs.err(), "{input:?}"),
    };
    let part = part.expect("accepted above");
    against_ndarray(&input, &shape, &pieces);
    let all = view.bytes();
    let runs: Vec<&[u8]> = pieces.iter().map(|(start, end)| &all[*start..*end]).collect();
    let bytes = runs.concat();
    heap::none(|| {
        assert!(part.shape().eq(shape.iter().copied()), "{input:?}");
        assert_eq!((part.elements(), part.bytes_len()), (shape.iter().product(), bytes.len() as u64));
        assert!(part.runs().zip(&runs).all(|(ours, theirs)| std::ptr::eq(ours, *theirs)), "{input:?}");
        assert_eq!((part.runs().len(), part.runs().fold(0, |count, _| count + 1)), (runs.len(), runs.len()));
        assert_eq!(
            part.contiguous().map(<[u8]>::as_ptr_range).filter(|_| !runs.is_empty()),
            match &runs[..] {
                [one] => Some(one.as_ptr_range()),
                _ => None,
            }
        );
        assert_eq!(part.contiguous().is_some(), runs.len() < 2);
    });
    assert_eq!(part.to_vec().as_ref(), Ok(&bytes));
    let mut copy = vec![0; bytes.len()];
    assert_eq!(part.copy_to(&mut copy), Ok(()));
    assert_eq!(copy, bytes);
    copy.push(0);
    let (expected, found) = (bytes.len() as u64, copy.len() as u64);
    assert_eq!(part.copy_to(&mut copy), Err(SliceError::Size { expected, found }));
}

/// The same cut of an array of the elements' numbers, by ndarray.
fn against_ndarray(input: &Input, shape: &[u64], pieces: &[(usize, usize)]) {
    let small = |number: u64| usize::try_from(number).expect("a tensor is small");
    let dims: Vec<usize> = input.dims.iter().map(|dim| small(*dim)).collect();
    let all = ArrayD::from_shape_vec(dims.clone(), (0..input.dims.iter().product()).collect::<Vec<u64>>());
    let all = all.expect("as many as the shape says");
    let axes = input.axes.iter().copied().chain(std::iter::repeat(Axis::Full));
    let cuts: Vec<SliceInfoElem> = axes.zip(&input.dims).map(|(axis, dim)| cut(axis, *dim)).collect();
    let part = all.slice(&cuts[..]);
    assert!(part.shape().iter().map(|dim| *dim as u64).eq(shape.iter().copied()), "{input:?}");
    // Elements of whole bytes only: those of parts of a byte are compared with the loops.
    let bytes = small(input.dtype.bits() / 8);
    if input.dtype.bits().is_multiple_of(8) {
        let ours =
            pieces.iter().flat_map(|(start, end)| (*start..*end).step_by(bytes)).map(|at| (at / bytes) as u64);
        assert!(ours.eq(part.iter().copied()), "{input:?}");
    }
}

/// One axis of a cut that was accepted, as ndarray has it.
fn cut(axis: Axis, dim: u64) -> SliceInfoElem {
    let place = |number: u64| isize::try_from(number.min(dim)).expect("a tensor is small");
    match axis {
        Axis::Select(index) => SliceInfoElem::Index(place(index)),
        Axis::Range { start, stop: until, step } => {
            let start = match start {
                Bound::Unbounded => 0,
                Bound::Included(first) => first,
                Bound::Excluded(before) => before + 1,
            };
            let end = match until {
                Bound::Unbounded => dim,
                Bound::Included(last) => last + 1,
                Bound::Excluded(end) => end,
            };
            // ndarray has no empty range that ends before it begins.
            let end = end.max(start);
            let step = isize::try_from(step).unwrap_or(isize::MAX);
            SliceInfoElem::Slice { start: place(start), end: Some(place(end)), step }
        }
        _ => SliceInfoElem::Slice { start: 0, end: None, step: 1 },
    }
}

/// The positions that an axis takes, and whether it stays an axis.
fn positions(axis: u64, cut: Axis, dim: u64) -> std::result::Result<(Vec<u64>, bool), SliceError> {
    let outside = |asked| SliceError::OutOfRange { axis, asked, dim };
    let (start, until, step) = match cut {
        Axis::Select(index) if index < dim => return Ok((vec![index], false)),
        Axis::Select(index) => return Err(outside(index)),
        Axis::Range { step: 0, .. } => return Err(SliceError::ZeroStep { axis }),
        Axis::Range { start, stop: until, step } => (start, until, step),
        _ => (Bound::Unbounded, Bound::Unbounded, 1),
    };
    let (dim, wide) = (u128::from(dim), u128::from);
    let end = match until {
        Bound::Unbounded => dim,
        Bound::Excluded(asked) if wide(asked) > dim => return Err(outside(asked)),
        Bound::Excluded(end) => wide(end),
        Bound::Included(asked) if wide(asked) >= dim => return Err(outside(asked)),
        Bound::Included(last) => wide(last) + 1,
    };
    let first = match start {
        Bound::Unbounded => 0,
        Bound::Included(first) => wide(first),
        Bound::Excluded(before) => wide(before) + 1,
    };
    // A start at the end of the axis takes nothing, and is right only where the range ends there too.
    if first > dim || (first == dim && end != dim) {
        return Err(outside(u64::try_from(first).unwrap_or(u64::MAX)));
    }
    let mut taken = Vec::new();
    let mut at = first;
    while at < end {
        taken.push(u64::try_from(at).expect("inside the axis"));
        at += wide(step);
    }
    Ok((taken, true))
}

/// The shape that is left, and the runs as ranges of the tensor's bytes.
type Part = (Vec<u64>, Vec<(usize, usize)>);

fn expected(input: &Input) -> std::result::Result<Part, SliceError> {
    let rank = input.dims.len();
    if input.axes.len() > rank {
        return Err(SliceError::TooManyAxes { given: input.axes.len() as u64, rank: rank as u64 });
    }
    let mut shape = Vec::new();
    // The indices of the elements taken so far, in row-major order.
    let mut taken = vec![0_u64];
    for ((axis, dim), cut) in
        (0..).zip(&input.dims).zip(input.axes.iter().copied().chain(std::iter::repeat(Axis::Full)))
    {
        let (positions, kept) = positions(axis, cut, *dim)?;
        if kept {
            shape.push(positions.len() as u64);
        }
        taken = taken.iter().flat_map(|outer| positions.iter().map(move |inner| outer * dim + inner)).collect();
    }
    // Neighbours in the file belong together.
    let bits = input.dtype.bits();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for element in taken {
        let (start, end) = (element * bits, (element + 1) * bits);
        match runs.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => runs.push((start, end)),
        }
    }
    if runs.iter().any(|(start, end)| start % 8 != 0 || end % 8 != 0) {
        return Err(SliceError::SubByte { dtype: input.dtype });
    }
    let byte = |bit: u64| usize::try_from(bit / 8).expect("small");
    Ok((shape, runs.iter().map(|(start, end)| (byte(*start), byte(*end))).collect()))
}

/// Any bytes choose a cut: the cases' bytes are as good as others.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.len() > 40).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::Rng;

    #[test]
    fn smoke() {
        let mut rng = Rng::new(31);
        for _ in 0..30_000 {
            let len = rng.below(120);
            check(&rng.bytes(len));
        }
        crate::smoke::mutants(check, 32, 2, &crate::corpus::files());
    }
}
