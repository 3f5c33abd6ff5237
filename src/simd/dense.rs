//! Products with rows of F32, F16 and BF16, written once for all levels.

use super::WeightType;
use super::dispatch::dispatch;
use super::lanes::{BrainSource, HalfSource, Lanes, SingleSource, Source};

/// The dot product of a row with `x`, in four sums. What remains after whole steps is padded with zeros.
#[inline(always)]
fn dot_row<L: Lanes, S: Source>(l: L, row: &[u8], x: &[f32]) -> f32 {
    let (mut a, mut b, mut c, mut d) = (l.zero(), l.zero(), l.zero(), l.zero());
    let (width, bytes) = (L::N, L::N * S::BYTES);
    let (mut parts, mut inputs) = (row.chunks_exact(4 * bytes), x.chunks_exact(4 * width));
    for (part, input) in parts.by_ref().zip(inputs.by_ref()) {
        // Written out, so that the sums stay in registers.
        a = l.fma(S::load(l, &part[..bytes]), l.load(&input[..width]), a);
        b = l.fma(S::load(l, &part[bytes..2 * bytes]), l.load(&input[width..2 * width]), b);
        c = l.fma(S::load(l, &part[2 * bytes..3 * bytes]), l.load(&input[2 * width..3 * width]), c);
        d = l.fma(S::load(l, &part[3 * bytes..]), l.load(&input[3 * width..]), d);
    }
    for (part, input) in rest_of::<S>(row, x, 4 * width).chunks(bytes).zip(inputs.remainder().chunks(width)) {
        a = l.fma(S::load(l, part), l.load(input), a);
    }
    l.sum(l.add(l.add(a, b), l.add(c, d)))
}

/// What of a row faces the inputs after the last whole step: a row may be followed by others.
#[inline(always)]
fn rest_of<'a, S: Source>(row: &'a [u8], x: &[f32], step: usize) -> &'a [u8] {
    let done = x.len() / step * step;
    row.get(done * S::BYTES..x.len() * S::BYTES).unwrap_or_default()
}

/// The dot products of four rows with `x`, in two sums each.
#[inline(always)]
fn dot_four<L: Lanes, S: Source>(l: L, rows: [&[u8]; 4], x: &[f32]) -> [f32; 4] {
    let (width, bytes) = (L::N, L::N * S::BYTES);
    let (step, zero) = (2 * width, l.zero());
    let [mut a, mut b, mut c, mut d] = [zero; 4];
    let [mut e, mut f, mut g, mut h] = [zero; 4];
    let [first, second, third, fourth] = rows.map(|row| row.chunks_exact(2 * bytes));
    let mut inputs = x.chunks_exact(step);
    for ((((first, second), third), fourth), input) in first.zip(second).zip(third).zip(fourth).zip(inputs.by_ref())
    {
        let (low, high) = (l.load(&input[..width]), l.load(&input[width..]));
        a = l.fma(S::load(l, &first[..bytes]), low, a);
        e = l.fma(S::load(l, &first[bytes..]), high, e);
        b = l.fma(S::load(l, &second[..bytes]), low, b);
        f = l.fma(S::load(l, &second[bytes..]), high, f);
        c = l.fma(S::load(l, &third[..bytes]), low, c);
        g = l.fma(S::load(l, &third[bytes..]), high, g);
        d = l.fma(S::load(l, &fourth[..bytes]), low, d);
        h = l.fma(S::load(l, &fourth[bytes..]), high, h);
    }
    let mut sums = [l.add(a, e), l.add(b, f), l.add(c, g), l.add(d, h)];
    for (sum, row) in sums.iter_mut().zip(rows) {
        for (part, input) in rest_of::<S>(row, x, step).chunks(bytes).zip(inputs.remainder().chunks(width)) {
            *sum = l.fma(S::load(l, part), l.load(input), *sum);
        }
    }
    sums.map(|sum| l.sum(sum))
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
            *out = dot_row::<L, S>(l, one, x);
        }
        return;
    }
    let mut fours = bytes.chunks_exact(4 * row);
    let (outs, last) = out.as_chunks_mut::<4>();
    for (out, four) in outs.iter_mut().zip(fours.by_ref()) {
        let (a, b) = four.split_at(2 * row);
        let ((a, b), (c, d)) = (a.split_at(row), b.split_at(row));
        *out = dot_four::<L, S>(l, [a, b, c, d], x);
    }
    for (out, one) in last.iter_mut().zip(fours.remainder().chunks_exact(row)) {
        *out = dot_row::<L, S>(l, one, x);
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
