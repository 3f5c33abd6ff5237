//! What a reader does is linear in its input. The core counts its steps under a fuzzer only; elsewhere nothing is asserted.

/// The most steps that a reader may take for each byte of its input, and besides.
#[cfg(any(fuzzing, test))]
const MOST: (usize, usize) = (24, 1024);

/// Runs `body`, which reads an input of `len` bytes once.
///
/// Not to be called inside itself, nor by several threads.
pub fn linear<R>(len: usize, body: impl FnOnce() -> R) -> R {
    counted(len, 0, body)
}

/// The same for a reader that may have to sort the names in its input: two comparisons for each name and each doubling of
/// their number, of some steps each, and a name takes at least seven bytes.
pub fn sorting<R>(len: usize, body: impl FnOnce() -> R) -> R {
    counted(len, sort(len), body)
}

/// Runs `body`, which may take `besides` more steps for each byte.
fn counted<R>(len: usize, besides: usize, body: impl FnOnce() -> R) -> R {
    #[cfg(fuzzing)]
    {
        let before = tensorgate::steps::taken();
        let result = body();
        within(tensorgate::steps::taken() - before, len, besides);
        result
    }
    #[cfg(not(fuzzing))]
    {
        let _ = (len, besides);
        body()
    }
}

/// Steps for each byte that a sort may take besides.
fn sort(len: usize) -> usize {
    2 * usize::try_from(len.max(1).ilog2()).unwrap_or(64)
}

#[cfg(any(fuzzing, test))]
fn within(taken: usize, len: usize, besides: usize) {
    assert!(taken <= (MOST.0 + besides) * len + MOST.1, "{taken} steps for {len} bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "steps for 100 bytes")]
    fn a_step_too_many_is_noticed() {
        assert_eq!(linear(7, || 8), 8);
        within(2400 + 1024, 100, 0);
        within(2400 + 1025, 100, 0);
    }

    #[test]
    #[should_panic(expected = "steps for 1024 bytes")]
    fn a_sort_has_an_end_too() {
        assert_eq!((sort(0), sort(1024), sorting(7, || 8)), (0, 20, 8));
        within(45_056 + 1024, 1024, sort(1024));
        within(45_056 + 1025, 1024, sort(1024));
    }
}
