//! What a reader does is linear in its input. The core counts its steps under a fuzzer only; elsewhere nothing is asserted.

/// The most steps that a reader may take for each byte of its input, and besides.
#[cfg(any(fuzzing, test))]
const MOST: (usize, usize) = (24, 1024);

/// Runs `body`, which reads an input of `len` bytes once.
///
/// Not to be called inside itself, nor by several threads.
pub fn linear<R>(len: usize, body: impl FnOnce() -> R) -> R {
    #[cfg(fuzzing)]
    {
        let before = tensorgate::steps::taken();
        let result = body();
        within(tensorgate::steps::taken() - before, len);
        result
    }
    #[cfg(not(fuzzing))]
    {
        let _ = len;
        body()
    }
}

#[cfg(any(fuzzing, test))]
fn within(taken: usize, len: usize) {
    assert!(taken <= MOST.0 * len + MOST.1, "{taken} steps for {len} bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "steps for 100 bytes")]
    fn a_step_too_many_is_noticed() {
        assert_eq!(linear(7, || 8), 8);
        within(2400 + 1024, 100);
        within(2400 + 1025, 100);
    }
}
