//! Generators on public types, for fuzzing and property tests: every value that there is, each as likely as the other.

use core::ops::Bound;

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::gguf::{Endian, GgmlType};
use crate::{Axis, Dtype, ErrorKind};

macro_rules! one_of {
    ($($kind:ty: $all:expr;)*) => {
        $(impl<'a> Arbitrary<'a> for $kind {
            fn arbitrary(random: &mut Unstructured<'a>) -> Result<Self> {
                random.choose($all).copied()
            }
        })*
    };
}

one_of! {
    Dtype: Self::ALL;
    GgmlType: Self::ALL;
    ErrorKind: Self::ALL;
    Endian: &[Self::Little, Self::Big];
}

impl<'a> Arbitrary<'a> for Axis {
    fn arbitrary(random: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match random.int_in_range(0..=2_u8)? {
            0 => Self::Full,
            1 => Self::Select(random.arbitrary()?),
            _ => Self::Range { start: bound(random)?, stop: bound(random)?, step: random.arbitrary()? },
        })
    }
}

fn bound(random: &mut Unstructured<'_>) -> Result<Bound<u64>> {
    Ok(match random.int_in_range(0..=2_u8)? {
        0 => Bound::Unbounded,
        1 => Bound::Included(random.arbitrary()?),
        _ => Bound::Excluded(random.arbitrary()?),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::vec::Vec;

    use super::*;

    /// Bytes of a plain generator of random numbers.
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        (0..count).map(|_| next()).collect()
    }

    /// Different values of a type that random bytes give.
    fn seen<T: for<'a> Arbitrary<'a> + Ord>() -> usize {
        let bytes = noise(100_000);
        let mut random = Unstructured::new(&bytes);
        (0..5_000).map(|_| random.arbitrary::<T>().unwrap()).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn every_value_comes_up() {
        assert_eq!(seen::<Dtype>(), 22);
        assert_eq!(seen::<GgmlType>(), GgmlType::ALL.len());
        assert_eq!(seen::<ErrorKind>(), ErrorKind::ALL.len());
    }

    #[test]
    fn axes_of_all_three_kinds_come_up() {
        let bytes = noise(20_000);
        let mut random = Unstructured::new(&bytes);
        let axes: Vec<Axis> = (0..300).map(|_| random.arbitrary().unwrap()).collect();
        assert!(axes.iter().any(|axis| matches!(axis, Axis::Full)));
        assert!(axes.iter().any(|axis| matches!(axis, Axis::Select(_))));
        assert!(axes.iter().any(|axis| matches!(axis, Axis::Range { start: Bound::Included(_), .. })));
        assert!(axes.iter().any(|axis| matches!(axis, Axis::Range { stop: Bound::Unbounded, .. })));
    }
}
