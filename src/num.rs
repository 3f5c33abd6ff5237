//! The only arithmetic on numbers from a file: widen, narrow, add, multiply, align; each answers `None` when the true
//! result does not fit.

/// `value` as an index of this machine, or `None` where it does not fit (32-bit targets).
#[inline]
pub(crate) const fn narrow(value: u64) -> Option<usize> {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the comparison proves it lossless"
    )]
    let small = value as usize;
    if widen(small) == value { Some(small) } else { None }
}

/// A length of this machine as a `u64`: lossless, since no supported target has wider pointers.
#[inline]
pub(crate) const fn widen(value: usize) -> u64 {
    const { assert!(usize::BITS <= u64::BITS) };
    #[expect(clippy::as_conversions, reason = "usize is at most 64 bits, asserted above")]
    let wide = value as u64;
    wide
}

/// `a + b` where it fits.
#[inline]
pub(crate) const fn add(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b)
}

/// `a - b` where it is not negative.
#[inline]
pub(crate) const fn sub(a: u64, b: u64) -> Option<u64> {
    a.checked_sub(b)
}

/// `a * b` where it fits.
#[inline]
pub(crate) const fn mul(a: u64, b: u64) -> Option<u64> {
    a.checked_mul(b)
}

/// The product of all factors, left to right, as the reference folds it: a zero saves only what comes after it.
#[inline]
pub(crate) fn product(factors: impl IntoIterator<Item = u64>) -> Option<u64> {
    factors.into_iter().try_fold(1, mul)
}

/// `value` rounded up to a multiple of `alignment`, a power of two, where that fits.
#[inline]
pub(crate) const fn align_up(value: u64, alignment: u64) -> Option<u64> {
    let mask = alignment.wrapping_sub(1);
    match value.checked_add(mask) {
        Some(past) => Some(past & !mask),
        None => None,
    }
}

/// The lower 32 bits of a position that is known to be below 2^32, or `None`.
#[inline]
pub(crate) const fn narrow32(value: usize) -> Option<u32> {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the comparison proves it lossless"
    )]
    let small = value as u32;
    if widen32(small) == value { Some(small) } else { None }
}

/// A stored 32-bit position as an index. Lossless wherever `usize` has 32 bits or more.
#[inline]
pub(crate) const fn widen32(value: u32) -> usize {
    const { assert!(usize::BITS >= u32::BITS) };
    #[expect(clippy::as_conversions, reason = "usize is at least 32 bits, asserted above")]
    let wide = value as usize;
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_refuses_what_does_not_fit() {
        assert_eq!(narrow(7), Some(7));
        assert_eq!(narrow(u64::from(u32::MAX)), Some(4_294_967_295));
        assert_eq!(narrow(u64::MAX), usize::try_from(u64::MAX).ok());
        assert_eq!(narrow32(usize::MAX), u32::try_from(usize::MAX).ok());
    }

    #[test]
    fn alignment_rounds_up_or_says_no() {
        for shift in 0..32 {
            let alignment = 1_u64 << shift;
            for value in
                [0, 1, 31, 32, 33, alignment - 1, alignment, alignment + 1, u64::MAX - 40, u64::MAX - 31, u64::MAX]
            {
                let want = u128::from(value).next_multiple_of(u128::from(alignment));
                assert_eq!(align_up(value, alignment), u64::try_from(want).ok(), "{value} {alignment}");
            }
        }
    }

    /// Every offset, size and alignment up to a bound, and the same that far below the largest number.
    #[test]
    fn every_small_offset_size_and_alignment() {
        const BOUND: u64 = 72;
        let near = |edge: u64| (0..=BOUND).map(move |step| if edge == 0 { step } else { edge - step });
        for offset in near(0).chain(near(u64::MAX)) {
            for size in near(0).chain(near(u64::MAX)) {
                let end = u128::from(offset) + u128::from(size);
                assert_eq!(add(offset, size), u64::try_from(end).ok());
                assert_eq!(mul(offset, size), u64::try_from(u128::from(offset) * u128::from(size)).ok());
                for shift in 0..=6 {
                    // Found by counting up, not by a formula.
                    let aligned = (end..end + 64).find(|next| next % (1 << shift) == 0).unwrap();
                    let ours = add(offset, size).and_then(|end| align_up(end, 1 << shift));
                    let theirs = u64::try_from(end).is_ok().then(|| u64::try_from(aligned).ok()).flatten();
                    assert_eq!(ours, theirs, "{offset} {size} {shift}");
                }
            }
        }
    }

    #[test]
    fn the_fold_is_left_to_right() {
        let huge = 1 << 40;
        assert_eq!(product([0, huge, huge]), Some(0));
        assert_eq!(product([huge, huge, 0]), None);
        assert_eq!(product([]), Some(1));
        assert_eq!(product([u64::MAX, 1]), Some(u64::MAX));
        assert_eq!(product([1 << 32, 1 << 32]), None);
    }

    #[test]
    fn small_scope_against_128_bits() {
        let edges = [0, 1, 2, 3, 7, 8, 255, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 63, u64::MAX - 1, u64::MAX];
        for a in edges {
            for b in edges {
                let (wide_a, wide_b) = (u128::from(a), u128::from(b));
                assert_eq!(add(a, b), u64::try_from(wide_a + wide_b).ok());
                assert_eq!(mul(a, b), u64::try_from(wide_a * wide_b).ok());
                assert_eq!(sub(a, b), wide_a.checked_sub(wide_b).map(|d| u64::try_from(d).unwrap()));
            }
        }
    }
}
