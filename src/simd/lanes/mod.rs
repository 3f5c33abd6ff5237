//! Vectors of F32 as each level has them: what the generic kernels are written in.
//!
//! A value of an implementing type is the proof that its instructions may be used; it is made only where a function
//! that enables them was entered.

pub(super) mod scalar;
pub(super) mod wide;

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;

/// A vector of `N` values and what can be done with it. Loads take what the slice has and zeros for the rest; stores
/// write what fits.
pub(super) trait Lanes: Copy {
    /// Values in a vector.
    const N: usize;
    /// The vector.
    type V: Copy;

    fn splat(self, value: f32) -> Self::V;
    fn load(self, from: &[f32]) -> Self::V;
    fn store(self, to: &mut [f32], v: Self::V);
    /// Little-endian F32, F16, BF16 at any alignment.
    fn load_f32(self, from: &[u8]) -> Self::V;
    fn load_f16(self, from: &[u8]) -> Self::V;
    fn load_bf16(self, from: &[u8]) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a × b + c`, rounded once or twice as the level has it.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The greater; `b` where one is NaN.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The lesser; `b` where one is NaN.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// 2ⁿ for `t` = n + 1.5·2²³ with n in −126..=127.
    fn pow2(self, t: Self::V) -> Self::V;
    fn sum(self, v: Self::V) -> f32;

    /// The sums of sixteen vectors.
    #[inline(always)]
    fn sums(self, all: [Self::V; 16]) -> [f32; 16] {
        let mut out = [0.0; 16];
        for (to, v) in out.iter_mut().zip(&all) {
            *to = self.sum(*v);
        }
        out
    }

    /// Turns the square of the first `N` vectors: rows become columns.
    #[inline(always)]
    fn turn(self, square: &mut [Self::V; 16]) {
        let mut all = [[0.0_f32; 16]; 16];
        for (to, v) in all.iter_mut().zip(square.iter()).take(Self::N) {
            self.store(to, *v);
        }
        for (at, v) in square.iter_mut().enumerate().take(Self::N) {
            let mut column = [0.0_f32; 16];
            for (to, row) in column.iter_mut().zip(&all) {
                *to = row[at];
            }
            *v = self.load(&column);
        }
    }

    /// Stores as F16, rounded to nearest, ties to even.
    fn store_f16(self, to: &mut [u16], v: Self::V);

    #[inline(always)]
    fn zero(self) -> Self::V {
        self.splat(0.0)
    }
}

/// How a float type's bytes become vectors.
pub(super) trait Source {
    /// Bytes of an element.
    const BYTES: usize;
    fn load<L: Lanes>(l: L, from: &[u8]) -> L::V;
}

/// IEEE single.
pub(super) struct SingleSource;
/// IEEE half.
pub(super) struct HalfSource;
/// The upper half of an IEEE single.
pub(super) struct BrainSource;

impl Source for SingleSource {
    const BYTES: usize = 4;
    #[inline(always)]
    fn load<L: Lanes>(l: L, from: &[u8]) -> L::V {
        l.load_f32(from)
    }
}

impl Source for HalfSource {
    const BYTES: usize = 2;
    #[inline(always)]
    fn load<L: Lanes>(l: L, from: &[u8]) -> L::V {
        l.load_f16(from)
    }
}

impl Source for BrainSource {
    const BYTES: usize = 2;
    #[inline(always)]
    fn load<L: Lanes>(l: L, from: &[u8]) -> L::V {
        l.load_bf16(from)
    }
}

/// Two iterators in step, as `zip` gives them. Compiled in several units without link-time optimisation, `zip` is a call: the
/// lengths of parts are no longer known behind it, and sums leave their registers.
#[derive(Clone, Debug)]
pub(super) struct InStep<A, B>(A, B);

/// What [`InStep`] goes through.
#[inline(always)]
pub(super) fn in_step<A: IntoIterator, B: IntoIterator>(a: A, b: B) -> InStep<A::IntoIter, B::IntoIter> {
    InStep(a.into_iter(), b.into_iter())
}

impl<A: Iterator, B: Iterator> Iterator for InStep<A, B> {
    type Item = (A::Item, B::Item);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.1.next()?))
    }
}

/// The first `N` items of a slice, or all that it has and zeros.
#[inline(always)]
pub(super) fn padded<T: Copy + Default, const N: usize>(from: &[T]) -> [T; N] {
    if let Some(whole) = from.first_chunk::<N>() {
        return *whole;
    }
    let mut all = [T::default(); N];
    for (to, item) in in_step(&mut all, from) {
        *to = *item;
    }
    all
}

/// Writes as many items as fit.
#[inline(always)]
pub(super) fn put<T: Copy, const N: usize>(to: &mut [T], all: [T; N]) {
    if let Some(whole) = to.first_chunk_mut::<N>() {
        *whole = all;
        return;
    }
    for (to, item) in in_step(to, &all) {
        *to = *item;
    }
}
