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

/// How many rows an axpy takes at once: so many streams from memory, and so many times fewer passes over the sums.
const STREAMS: usize = 8;

/// Adds `Σ x[i] · rows[i]` to `out`. `stride` is the distance of the rows in bytes.
#[inline(always)]
fn axpy<L: Lanes, S: Source>(l: L, bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) {
    let width = out.len() * S::BYTES;
    let row = |at: usize| bytes.get(at * stride..).and_then(|rest| rest.get(..width)).unwrap_or_default();
    let (eights, last) = x.as_chunks::<STREAMS>();
    for (at, eight) in eights.iter().enumerate() {
        axpy_eight::<L, S>(l, core::array::from_fn(|lane| row(STREAMS * at + lane)), *eight, out);
    }
    for (at, one) in last.iter().enumerate() {
        let (row, factor) = (row(STREAMS * eights.len() + at), l.splat(*one));
        for (part, out) in row.chunks(L::N * S::BYTES).zip(out.chunks_mut(L::N)) {
            let sum = l.fma(S::load(l, part), factor, l.load(out));
            l.store(out, sum);
        }
    }
}

/// The rows are walked in step by one counter, which arrays of iterators would not be.
#[inline(always)]
fn axpy_eight<L: Lanes, S: Source>(l: L, rows: [&[u8]; STREAMS], x: [f32; STREAMS], out: &mut [f32]) {
    let bytes = L::N * S::BYTES;
    let factors = x.map(|x| l.splat(x));
    let [f0, f1, f2, f3, f4, f5, f6, f7] = factors;
    let parts = rows.map(|row| row.chunks_exact(bytes));
    let tails = parts.each_ref().map(core::slice::ChunksExact::remainder);
    let [r0, r1, r2, r3, r4, r5, r6, r7] = parts;
    let (low, high) = (r0.zip(r1).zip(r2.zip(r3)), r4.zip(r5).zip(r6.zip(r7)));
    let mut outs = out.chunks_exact_mut(L::N);
    for ((((r0, r1), (r2, r3)), ((r4, r5), (r6, r7))), out) in low.zip(high).zip(outs.by_ref()) {
        let first = l.fma(S::load(l, r1), f1, l.fma(S::load(l, r0), f0, l.load(out)));
        let second = l.fma(S::load(l, r3), f3, l.mul(S::load(l, r2), f2));
        let third = l.fma(S::load(l, r5), f5, l.mul(S::load(l, r4), f4));
        let fourth = l.fma(S::load(l, r7), f7, l.mul(S::load(l, r6), f6));
        l.store(out, l.add(l.add(first, second), l.add(third, fourth)));
    }
    let out = outs.into_remainder();
    if !out.is_empty() {
        let mut sum = l.load(out);
        for (tail, factor) in tails.into_iter().zip(factors) {
            sum = l.fma(S::load(l, tail), factor, sum);
        }
        l.store(out, sum);
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
