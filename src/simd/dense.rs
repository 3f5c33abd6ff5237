//! Products with rows of F32, F16 and BF16, written once for all levels.

use super::WeightType;
use super::dispatch::dispatch;
use super::lanes::{BrainSource, HalfSource, Lanes, SingleSource, Source};

/// The dot products of `R` rows with `x`, in `A` sums each. What remains after whole steps is padded with zeros.
#[inline(always)]
fn dot_rows<L: Lanes, S: Source, const R: usize, const A: usize>(l: L, rows: [&[u8]; R], x: &[f32]) -> [f32; R] {
    let step = A * L::N;
    let mut sums = [[l.zero(); A]; R];
    let mut parts = rows.map(|row| row.chunks_exact(step * S::BYTES));
    let mut inputs = x.chunks_exact(step);
    for input in inputs.by_ref() {
        let mut values = [l.zero(); A];
        for (value, input) in values.iter_mut().zip(input.chunks_exact(L::N)) {
            *value = l.load(input);
        }
        for (sums, part) in sums.iter_mut().zip(parts.iter_mut()) {
            let Some(part) = part.next() else { continue };
            for ((sum, value), part) in sums.iter_mut().zip(values).zip(part.chunks_exact(L::N * S::BYTES)) {
                *sum = l.fma(S::load(l, part), value, *sum);
            }
        }
    }
    let rest = inputs.remainder();
    let done = x.len() - rest.len();
    for (at, input) in rest.chunks(L::N).enumerate() {
        let input = l.load(input);
        for (sum, row) in sums.iter_mut().zip(rows) {
            let part = row.get((done + at * L::N) * S::BYTES..).unwrap_or_default();
            // Only what faces an input: a row may be followed by others.
            let part = part.get(..(rest.len() - at * L::N) * S::BYTES).unwrap_or(part);
            sum[0] = l.fma(S::load(l, part), input, sum[0]);
        }
    }
    sums.map(|sums| l.sum(sums.into_iter().fold(l.zero(), |all, sum| l.add(all, sum))))
}

/// `out[i] = rows[i] · x`: four rows at once of F32, which keeps the memory busier; one of the others, which four streams
/// would slow down.
#[inline(always)]
fn rows<L: Lanes, S: Source>(l: L, bytes: &[u8], x: &[f32], out: &mut [f32]) {
    let row = x.len() * S::BYTES;
    if row == 0 {
        out.fill(0.0);
        return;
    }
    if S::BYTES < 4 {
        for (out, one) in out.iter_mut().zip(bytes.chunks_exact(row)) {
            [*out] = dot_rows::<L, S, 1, 4>(l, [one], x);
        }
        return;
    }
    let mut fours = bytes.chunks_exact(4 * row);
    let (outs, last) = out.as_chunks_mut::<4>();
    for (out, four) in outs.iter_mut().zip(fours.by_ref()) {
        let (a, b) = four.split_at(2 * row);
        let ((a, b), (c, d)) = (a.split_at(row), b.split_at(row));
        *out = dot_rows::<L, S, 4, 2>(l, [a, b, c, d], x);
    }
    for (out, one) in last.iter_mut().zip(fours.remainder().chunks_exact(row)) {
        [*out] = dot_rows::<L, S, 1, 4>(l, [one], x);
    }
}

#[inline(always)]
fn rows_single<L: Lanes>(l: L, bytes: &[u8], x: &[f32], out: &mut [f32]) {
    rows::<L, SingleSource>(l, bytes, x, out);
}
#[inline(always)]
fn rows_half<L: Lanes>(l: L, bytes: &[u8], x: &[f32], out: &mut [f32]) {
    rows::<L, HalfSource>(l, bytes, x, out);
}
#[inline(always)]
fn rows_brain<L: Lanes>(l: L, bytes: &[u8], x: &[f32], out: &mut [f32]) {
    rows::<L, BrainSource>(l, bytes, x, out);
}
dispatch! { fn run_single(bytes: &[u8], x: &[f32], out: &mut [f32]) = rows_single; }
dispatch! { fn run_half(bytes: &[u8], x: &[f32], out: &mut [f32]) = rows_half; }
dispatch! { fn run_brain(bytes: &[u8], x: &[f32], out: &mut [f32]) = rows_brain; }

/// `out[i] = rows[i] · x` for rows of `x.len()` elements that follow one another. False for block formats.
#[inline]
pub(super) fn matvec(level: super::Level, ty: WeightType, bytes: &[u8], x: &[f32], out: &mut [f32]) -> bool {
    match ty {
        WeightType::F32 => run_single(level, bytes, x, out),
        WeightType::F16 => run_half(level, bytes, x, out),
        WeightType::BF16 => run_brain(level, bytes, x, out),
        _ => return false,
    }
    true
}

/// How many rows an axpy takes at once: so many streams, and as many fewer passes over the sums.
const STREAMS: usize = 8;

/// Adds `Σ x[i] · rows[i]` to `out`. `stride` is the distance of the rows in bytes.
#[inline(always)]
fn axpy<L: Lanes, S: Source>(l: L, bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) {
    let mut at = 0;
    let (eights, last) = x.as_chunks::<STREAMS>();
    for eight in eights {
        axpy_rows::<L, S, STREAMS>(l, bytes.get(at..).unwrap_or_default(), stride, *eight, out);
        at += STREAMS * stride;
    }
    for one in last {
        axpy_rows::<L, S, 1>(l, bytes.get(at..).unwrap_or_default(), stride, [*one], out);
        at += stride;
    }
}

#[inline(always)]
fn axpy_rows<L: Lanes, S: Source, const R: usize>(l: L, bytes: &[u8], stride: usize, x: [f32; R], out: &mut [f32]) {
    let width = out.len() * S::BYTES;
    let factors = x.map(|x| l.splat(x));
    let mut rows: [&[u8]; R] = [&[]; R];
    for (at, row) in rows.iter_mut().enumerate() {
        *row = bytes.get(at * stride..).and_then(|rest| rest.get(..width)).unwrap_or_default();
    }
    let mut parts = rows.map(|row| row.chunks(L::N * S::BYTES));
    for out in out.chunks_mut(L::N) {
        let mut sum = l.load(out);
        let mut other = l.zero();
        for (at, (part, factor)) in parts.iter_mut().zip(factors).enumerate() {
            let row = S::load(l, part.next().unwrap_or_default());
            if at % 2 == 0 {
                sum = l.fma(row, factor, sum);
            } else {
                other = l.fma(row, factor, other);
            }
        }
        l.store(out, l.add(sum, other));
    }
}

#[inline(always)]
fn axpy_single<L: Lanes>(l: L, bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) {
    axpy::<L, SingleSource>(l, bytes, stride, x, out);
}
#[inline(always)]
fn axpy_half<L: Lanes>(l: L, bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) {
    axpy::<L, HalfSource>(l, bytes, stride, x, out);
}
#[inline(always)]
fn axpy_brain<L: Lanes>(l: L, bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) {
    axpy::<L, BrainSource>(l, bytes, stride, x, out);
}
dispatch! { fn add_single(bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) = axpy_single; }
dispatch! { fn add_half(bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) = axpy_half; }
dispatch! { fn add_brain(bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) = axpy_brain; }

/// Adds `Σ x[i] · rows[i]` to `out`, for rows of `out.len()` elements that begin `stride` bytes apart. False for block
/// formats.
#[inline]
pub(super) fn axpy_all(
    level: super::Level,
    ty: WeightType,
    bytes: &[u8],
    stride: usize,
    x: &[f32],
    out: &mut [f32],
) -> bool {
    match ty {
        WeightType::F32 => add_single(level, bytes, stride, x, out),
        WeightType::F16 => add_half(level, bytes, stride, x, out),
        WeightType::BF16 => add_brain(level, bytes, stride, x, out),
        _ => return false,
    }
    true
}
