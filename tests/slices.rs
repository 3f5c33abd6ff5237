//! Sub-tensors against a naive implementation that visits every element by itself.

#![cfg(feature = "alloc")]

mod common;

use std::ops::Bound;

use common::file;
use proptest::prelude::*;
use tensorgate::{Axis, Dtype, SafeTensors, SliceError, TensorView};

fn with<R>(dtype: Dtype, dims: &[u64], data: &[u8], check: impl FnOnce(TensorView<'_>) -> R) -> R {
    let entry = serde_json::json!({"dtype": dtype.tag(), "shape": dims, "data_offsets": [0, data.len()]});
    let bytes = file(&serde_json::json!({"w": entry}).to_string(), data);
    check(SafeTensors::open(&bytes).unwrap().tensor("w").unwrap())
}

fn bytes(len: u64) -> Vec<u8> {
    let mut state = 1_u32;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        })
        .collect()
}

/// The indices that an axis keeps, or `None` where the rule refuses it; by walking, not by dividing.
fn kept(axis: Axis, dim: u64) -> Option<Vec<u64>> {
    let (from, to, step) = match axis {
        Axis::Select(index) => return (index < dim).then(|| vec![index]),
        Axis::Range { start, stop, step } => (start, stop, i128::from(step)),
        _ => (Bound::Unbounded, Bound::Unbounded, 1),
    };
    let dim = i128::from(dim);
    let start = match from {
        Bound::Unbounded => 0,
        Bound::Included(first) => i128::from(first),
        Bound::Excluded(before) => i128::from(before) + 1,
    };
    let end = match to {
        Bound::Unbounded => dim,
        Bound::Included(last) => i128::from(last) + 1,
        Bound::Excluded(end) => i128::from(end),
    };
    let right = step > 0 && end <= dim && (start < dim || start == dim && end == dim);
    right
        .then(|| (0..dim).filter(|i| *i >= start && *i < end && (i - start) % step == 0).collect::<Vec<_>>())?
        .into_iter()
        .map(|index| u64::try_from(index).ok())
        .collect()
}

/// The shape and the element indices of a slice, row-major, or `None` where it is refused.
fn naive(dims: &[u64], axes: &[Axis]) -> Option<(Vec<u64>, Vec<u64>)> {
    if axes.len() > dims.len() {
        return None;
    }
    let mut shape = Vec::new();
    let mut elements = vec![0];
    for (index, dim) in dims.iter().enumerate() {
        let taken = axes.get(index).copied().unwrap_or_default();
        let kept = kept(taken, *dim)?;
        if !matches!(taken, Axis::Select(_)) {
            shape.push(kept.len() as u64);
        }
        elements = elements.iter().flat_map(|outer| kept.iter().map(move |inner| outer * dim + inner)).collect();
    }
    Some((shape, elements))
}

/// The longest ranges of neighbouring elements.
fn merged(elements: &[u64]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &element in elements {
        match runs.last_mut() {
            Some((_, end)) if *end == element => *end += 1,
            _ => runs.push((element, element + 1)),
        }
    }
    runs
}

/// Compares everything that a slice tells with the naive one.
fn compare(view: TensorView<'_>, dims: &[u64], axes: &[Axis]) {
    let part = view.slice(axes);
    let Some((shape, elements)) = naive(dims, axes) else {
        let error = part.expect_err("the rule refuses it");
        assert!(!matches!(error, SliceError::SubByte { .. }), "{error}");
        return;
    };
    let bits = view.dtype().bits();
    let runs = merged(&elements);
    if runs.iter().any(|(start, end)| start * bits % 8 != 0 || end * bits % 8 != 0) {
        assert_eq!(part.err(), Some(SliceError::SubByte { dtype: view.dtype() }));
        return;
    }
    let part = part.unwrap();
    assert_eq!((part.dtype(), part.tensor().bytes()), (view.dtype(), view.bytes()));
    assert_eq!(part.shape().collect::<Vec<_>>(), shape);
    assert_eq!(part.elements(), elements.len() as u64);
    assert_eq!(part.bytes_len(), elements.len() as u64 * bits / 8);

    let at = |element: u64| usize::try_from(element * bits / 8).unwrap();
    let want: Vec<&[u8]> = runs.iter().map(|(start, end)| &view.bytes()[at(*start)..at(*end)]).collect();
    let mut got = part.runs();
    for (index, run) in want.iter().enumerate() {
        assert_eq!(got.len(), want.len() - index);
        // The very bytes, not only equal ones.
        assert_eq!(got.next().unwrap().as_ptr_range(), run.as_ptr_range());
    }
    assert_eq!((got.len(), got.next(), got.next()), (0, None, None));
    let whole = want.concat();
    assert_eq!(part.contiguous(), (want.len() < 2).then_some(&*whole));

    let copy = part.to_vec().unwrap();
    assert_eq!(copy, whole);
    let mut out = vec![0; copy.len()];
    part.copy_to(&mut out).unwrap();
    assert_eq!(out, copy);
    let mut longer = vec![7; copy.len() + 1];
    let (expected, found) = (copy.len() as u64, copy.len() as u64 + 1);
    assert_eq!(part.copy_to(&mut longer), Err(SliceError::Size { expected, found }));
    assert_eq!(longer, vec![7; copy.len() + 1]);
}

/// A shape of the dtype that is a whole number of bytes.
fn whole(dtype: Dtype, mut dims: Vec<u64>) -> (Dtype, Vec<u64>) {
    let product = |dims: &[u64]| dtype.bytes_for(dims.iter().product());
    if product(&dims).is_none() {
        match dims.last_mut() {
            Some(last) => *last *= 4,
            None => dims.push(4),
        }
    }
    assert!(product(&dims).is_some());
    (dtype, dims)
}

fn bound(top: u64) -> impl Strategy<Value = Bound<u64>> {
    prop_oneof![Just(Bound::Unbounded), (0..=top).prop_map(Bound::Included), (0..=top).prop_map(Bound::Excluded)]
}

fn axis(dim: u64) -> impl Strategy<Value = Axis> {
    prop_oneof![
        1 => Just(Axis::Full),
        1 => (0..=dim).prop_map(Axis::Select),
        4 => (bound(dim + 1), bound(dim), 1..=4_u64).prop_map(|(start, stop, step)| Axis::Range { start, stop, step }),
        // Right more often than not, so that whole requests are.
        4 => (0..=dim, 0..=dim, 1..=4_u64)
            .prop_map(|(start, stop, step)| Axis::from(start.min(stop)..stop.max(start)).step_by(step)),
    ]
}

fn request() -> impl Strategy<Value = (Dtype, Vec<u64>, Vec<Axis>)> {
    (prop::sample::select(Dtype::ALL), prop::collection::vec(prop_oneof![1 => 0..=1_u64, 6 => 1..=5_u64], 0..=5))
        .prop_map(|(dtype, dims)| whole(dtype, dims))
        .prop_flat_map(|(dtype, dims)| {
            let axes: Vec<_> = dims.iter().map(|dim| axis(*dim).boxed()).collect();
            let given = 0..=dims.len();
            (Just(dtype), Just(dims), axes, given).prop_map(|(dtype, dims, mut axes, given)| {
                axes.truncate(given);
                (dtype, dims, axes)
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn slices_are_what_loops_give((dtype, dims, axes) in request()) {
        let len = dtype.bytes_for(dims.iter().product()).unwrap();
        with(dtype, &dims, &bytes(len), |view| compare(view, &dims, &axes));
    }
}

/// Every range of two small axes, with every step.
#[test]
fn small_scope_exhaustively() {
    let mut ranges = vec![Axis::Full];
    ranges.extend((0..=4).map(Axis::Select));
    for step in 0..=3 {
        for start in 0..=4 {
            ranges.extend((0..=4).map(|stop| Axis::from(start..stop).step_by(step)));
            ranges.push(Axis::from(start..).step_by(step));
            ranges.push(Axis::from(..=start).step_by(step));
            ranges.push(Axis::from((Bound::Excluded(start), Bound::Unbounded)).step_by(step));
        }
    }
    for dtype in [Dtype::F4, Dtype::U8, Dtype::U16] {
        for dims in [[0, 2], [1, 2], [2, 3], [3, 2], [2, 4], [3, 4]] {
            let Some(len) = dtype.bytes_for(dims[0] * dims[1]) else { continue };
            with(dtype, &dims, &bytes(len), |view| {
                for outer in &ranges {
                    compare(view, &dims, &[*outer]);
                    for inner in &ranges {
                        compare(view, &dims, &[*outer, *inner]);
                    }
                }
            });
        }
    }
}

#[test]
fn conversions_are_the_ranges_they_came_from() {
    let range = |start, stop| Axis::Range { start, stop, step: 1 };
    assert_eq!(Axis::from(2), Axis::Select(2));
    assert_eq!((Axis::from(..), Axis::default()), (Axis::Full, Axis::Full));
    assert_eq!(Axis::from(2..), range(Bound::Included(2), Bound::Unbounded));
    assert_eq!(Axis::from(..2), range(Bound::Unbounded, Bound::Excluded(2)));
    assert_eq!(Axis::from(..=2), range(Bound::Unbounded, Bound::Included(2)));
    assert_eq!(Axis::from(1..2), range(Bound::Included(1), Bound::Excluded(2)));
    assert_eq!(Axis::from(1..=2), range(Bound::Included(1), Bound::Included(2)));
    assert_eq!(Axis::Select(2).step_by(3), Axis::Select(2));
    let stepped = Axis::Range { start: Bound::Unbounded, stop: Bound::Unbounded, step: 3 };
    assert_eq!((Axis::Full.step_by(3), stepped.step_by(2).step_by(3)), (stepped, stepped));
}

#[test]
fn refusals_say_which_axis_and_what_was_asked() {
    with(Dtype::F32, &[2, 3], &bytes(24), |view| {
        let refused = |axes: &[Axis]| view.slice(axes).unwrap_err();
        let outside = |axis, asked, dim| SliceError::OutOfRange { axis, asked, dim };
        assert_eq!(refused(&[Axis::Full; 3]), SliceError::TooManyAxes { given: 3, rank: 2 });
        assert_eq!(refused(&[Axis::Full, Axis::from(3)]), outside(1, 3, 3));
        assert_eq!(refused(&[Axis::from(u64::MAX)]), outside(0, u64::MAX, 2));
        assert_eq!(refused(&[Axis::from(..=u64::MAX)]), outside(0, u64::MAX, 2));
        assert_eq!(refused(&[Axis::from(..3)]), outside(0, 3, 2));
        assert_eq!(refused(&[(Bound::Included(2), Bound::Excluded(1)).into()]), outside(0, 2, 2));
        assert_eq!(refused(&[Axis::from(3..)]), outside(0, 3, 2));
        assert_eq!(refused(&[(Bound::Excluded(u64::MAX), Bound::Unbounded).into()]), outside(0, u64::MAX, 2));
        assert_eq!(refused(&[Axis::Full, Axis::from(..).step_by(0)]), SliceError::ZeroStep { axis: 1 });
        let huge = view.slice([Axis::Full.step_by(u64::MAX), Axis::from(1..).step_by(u64::MAX)]).unwrap();
        assert!(huge.shape().eq([1, 1]) && huge.runs().eq([&view.bytes()[4..8]]));
    });
}

#[test]
fn errors_and_parts_say_what_they_are() {
    let texts = [
        (SliceError::TooManyAxes { given: 3, rank: 2 }, "3 axes were given, and the tensor has 2"),
        (
            SliceError::OutOfRange { axis: 1, asked: 9, dim: 3 },
            "position 9 is outside axis 1, which has 3 elements",
        ),
        (SliceError::ZeroStep { axis: 1 }, "the step of axis 1 is 0"),
        (SliceError::SubByte { dtype: Dtype::F4 }, "a piece of this F4 tensor would begin or end inside a byte"),
        (SliceError::Size { expected: 4, found: 5 }, "the sub-tensor has 4 bytes, not 5"),
        (SliceError::Alloc { bytes: 4 }, "there is no memory for a copy of 4 bytes"),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), text);
    }
    with(Dtype::U8, &[3], &bytes(3), |view| {
        let part = view.slice([1.into()]).unwrap();
        assert_eq!(format!("{part:?}"), format!("[Select(1)] of {view:?}"));
        assert_eq!(format!("{:?}", part.runs()), "Runs(1 left, in pieces of 1 bytes)");
    });
}

#[test]
fn rank_is_unlimited() {
    // 5,000 axes of one element around two of more.
    let mut dims = vec![1; 5000];
    dims[17] = 3;
    dims[4000] = 4;
    with(Dtype::U16, &dims, &bytes(24), |view| {
        let all = view.slice([]).unwrap();
        assert!(all.shape().eq(dims.iter().copied()));
        assert_eq!(all.contiguous(), Some(view.bytes()));

        let mut axes = vec![Axis::Select(0); 5000];
        axes[17] = Axis::from(1..);
        axes[4000] = Axis::from(..).step_by(2);
        axes[4999] = Axis::Full;
        let part = view.slice(&axes).unwrap();
        assert!(part.shape().eq([2, 2, 1]));
        let want: Vec<u8> =
            [8..10, 12..14, 16..18, 20..22].into_iter().flat_map(|at| &view.bytes()[at]).copied().collect();
        assert_eq!(part.to_vec().unwrap(), want);

        axes[100] = Axis::from(1..);
        let empty = view.slice(&axes).unwrap();
        assert!(empty.shape().eq([2, 0, 2, 1]) && empty.runs().next().is_none());
        axes.push(Axis::Full);
        assert_eq!(view.slice(&axes).unwrap_err(), SliceError::TooManyAxes { given: 5001, rank: 5000 });
    });
}

/// As many axes of two elements as bytes in memory allow a test, every second element of each: nothing merges but ends.
#[test]
fn many_levels() {
    let dims = [3; 11];
    let axes = [Axis::Full.step_by(2); 11];
    let len = 3_u64.pow(11);
    with(Dtype::U8, &dims, &bytes(len), |view| compare(view, &dims, &axes));
    // Huge dimensions that no memory holds, after one of none.
    let huge = [&[0][..], &[1 << 40; 100]].concat();
    with(Dtype::F64, &huge, &[], |view| {
        let part = view.slice(vec![Axis::Full, Axis::from(5..)]).unwrap();
        assert!(part.shape().eq([0, (1 << 40) - 5].into_iter().chain([1 << 40; 99])));
        assert_eq!((part.elements(), part.bytes_len(), part.contiguous()), (0, 0, Some(&[][..])));
    });
}
