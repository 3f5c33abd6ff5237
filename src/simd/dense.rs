//! Products with rows of F32, F16 and BF16, written once for all levels.

use super::dispatch::dispatch;
use super::lanes::{BrainSource, HalfSource, Lanes, SingleSource, Source, in_step};
use super::{MatMut, WeightType};
use super::{ahead, stripes};

/// Activations as they are, token by token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'a> {
    pub(super) all: &'a [f32],
    /// Values of a token.
    pub(super) len: usize,
}

impl<'a> Tokens<'a> {
    /// One token.
    pub(super) const fn one(x: &'a [f32]) -> Self {
        Self { all: x, len: x.len() }
    }

    #[inline(always)]
    fn row(self, token: usize) -> &'a [f32] {
        self.all.get(token * self.len..).and_then(|rest| rest.get(..self.len)).unwrap_or_default()
    }
}

/// The dot product of a row with `x`, its parts not yet added up, in four sums. What remains after whole steps is padded
/// with zeros.
#[inline(always)]
fn dot_row<L: Lanes, S: Source>(l: L, row: &[u8], x: &[f32]) -> L::V {
    let (mut a, mut b, mut c, mut d) = (l.zero(), l.zero(), l.zero(), l.zero());
    let (width, bytes) = (L::N, L::N * S::BYTES);
    let (parts, inputs) = (row.chunks_exact(4 * bytes), x.chunks_exact(4 * width));
    let rest = rest_of::<S>(row, x, 4 * width).chunks(bytes).zip(inputs.remainder().chunks(width));
    for (part, input) in in_step(parts, inputs) {
        // Written out, so that the sums stay in registers.
        a = l.fma(S::load(l, &part[..bytes]), l.load(&input[..width]), a);
        b = l.fma(S::load(l, &part[bytes..2 * bytes]), l.load(&input[width..2 * width]), b);
        c = l.fma(S::load(l, &part[2 * bytes..3 * bytes]), l.load(&input[2 * width..3 * width]), c);
        d = l.fma(S::load(l, &part[3 * bytes..]), l.load(&input[3 * width..]), d);
    }
    for (part, input) in rest {
        a = l.fma(S::load(l, part), l.load(input), a);
    }
    l.add(l.add(a, b), l.add(c, d))
}

/// What of a row faces the inputs after the last whole step: a row may be followed by others.
#[inline(always)]
fn rest_of<'a, S: Source>(row: &'a [u8], x: &[f32], step: usize) -> &'a [u8] {
    let done = x.len() / step * step;
    row.get(done * S::BYTES..x.len() * S::BYTES).unwrap_or_default()
}

/// Rows of fewer bytes are taken sixteen at once: for them the adding up of vectors costs as much as the rest.
const SHORT: usize = 1024;
/// How many.
const TOGETHER: usize = 16;

/// Adds `rows[i] · x` to the output `i` of each token. A row serves all tokens while it is in the cache.
#[inline(always)]
fn rows<L: Lanes, S: Source>(l: L, bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) {
    if ahead::is_wanted() {
        all_rows::<L, S, true>(l, bytes, x, out);
    } else {
        all_rows::<L, S, false>(l, bytes, x, out);
    }
}

#[inline(always)]
fn all_rows<L: Lanes, S: Source, const AHEAD: bool>(l: L, bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) {
    let row = x.len * S::BYTES;
    let done = if row < SHORT {
        short_rows::<L, S>(l, bytes, x, out)
    } else {
        let half = stripes::height(out.columns(), 2, row);
        for at in 0..half {
            let (near, far) = (bytes.get(at * row..), bytes.get((at + half) * row..));
            let (near, far) = (near.unwrap_or_default(), far.unwrap_or_default());
            if !AHEAD {
                ahead::next_page(near.get(..row).unwrap_or_default());
                ahead::next_page(far.get(..row).unwrap_or_default());
            }
            for token in 0..out.rows() {
                let sums = dot_two::<L, S, AHEAD>(l, near, far, x.row(token));
                for (to, sum) in [at, at + half].into_iter().zip(sums) {
                    if let Some(out) = out.row(token).get_mut(to) {
                        *out += l.sum(sum);
                    }
                }
            }
        }
        2 * half
    };
    for at in done..out.columns() {
        for token in 0..out.rows() {
            let part = bytes.get(at * row..).unwrap_or_default();
            single_row::<L, S>(l, part, x.row(token), out.row(token).get_mut(at..).unwrap_or_default());
        }
    }
}

/// The same for short rows, sixteen at a time, as far as those go.
#[inline(always)]
fn short_rows<L: Lanes, S: Source>(l: L, bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) -> usize {
    let groups = out.columns() / TOGETHER;
    for group in 0..groups {
        let first = group * TOGETHER;
        let part = bytes.get(first * x.len * S::BYTES..).unwrap_or_default();
        for token in 0..out.rows() {
            let x = x.row(token);
            sixteen_rows::<L, S>(l, part, x, out.row(token).get_mut(first..).unwrap_or_default());
        }
    }
    groups * TOGETHER
}

/// [`dot_row`] of two rows far from one another, in step: while one waits for memory the other goes on.
#[inline(always)]
fn dot_two<L: Lanes, S: Source, const AHEAD: bool>(l: L, near: &[u8], far: &[u8], x: &[f32]) -> [L::V; 2] {
    let (width, bytes) = (L::N, L::N * S::BYTES);
    let (near, far) = (near.get(..x.len() * S::BYTES), far.get(..x.len() * S::BYTES));
    let (near, far) = (near.unwrap_or_default(), far.unwrap_or_default());
    let (mut a, mut b, mut c, mut d) = (l.zero(), l.zero(), l.zero(), l.zero());
    let (mut e, mut f, mut g, mut h) = (l.zero(), l.zero(), l.zero(), l.zero());
    let (nears, fars) = (near.chunks_exact(4 * bytes), far.chunks_exact(4 * bytes));
    let inputs = x.chunks_exact(4 * width);
    let rest = nears.remainder().chunks(bytes).zip(fars.remainder().chunks(bytes));
    let rest = rest.zip(inputs.remainder().chunks(width));
    for ((near, far), input) in in_step(in_step(nears, fars), inputs) {
        ahead::lines::<AHEAD>(near);
        ahead::lines::<AHEAD>(far);
        let input = |at: usize| l.load(&input[at * width..(at + 1) * width]);
        let load = |row: &[u8], at: usize| S::load(l, &row[at * bytes..(at + 1) * bytes]);
        // Written out, so that the sums stay in registers.
        let x = input(0);
        (a, e) = (l.fma(load(near, 0), x, a), l.fma(load(far, 0), x, e));
        let x = input(1);
        (b, f) = (l.fma(load(near, 1), x, b), l.fma(load(far, 1), x, f));
        let x = input(2);
        (c, g) = (l.fma(load(near, 2), x, c), l.fma(load(far, 2), x, g));
        let x = input(3);
        (d, h) = (l.fma(load(near, 3), x, d), l.fma(load(far, 3), x, h));
    }
    for ((near, far), input) in rest {
        let x = l.load(input);
        (a, e) = (l.fma(S::load(l, near), x, a), l.fma(S::load(l, far), x, e));
    }
    [l.add(l.add(a, b), l.add(c, d)), l.add(l.add(e, f), l.add(g, h))]
}

/// Adds the product of the first row to the first output.
#[inline(always)]
fn single_row<L: Lanes, S: Source>(l: L, rows: &[u8], x: &[f32], out: &mut [f32]) {
    let row = rows.get(..x.len() * S::BYTES).unwrap_or_default();
    if let Some(out) = out.first_mut() {
        *out += l.sum(dot_row::<L, S>(l, row, x));
    }
}

/// Adds the products of the first sixteen rows to as many outputs.
#[inline(always)]
fn sixteen_rows<L: Lanes, S: Source>(l: L, rows: &[u8], x: &[f32], out: &mut [f32]) {
    let row = x.len() * S::BYTES;
    let mut all = [l.zero(); TOGETHER];
    for (at, one) in all.iter_mut().enumerate() {
        let row = rows.get(at * row..).and_then(|rest| rest.get(..row)).unwrap_or_default();
        *one = dot_row::<L, S>(l, row, x);
    }
    let sums = l.sums(all);
    for (out, sum) in out.iter_mut().zip(&sums) {
        *out += sum;
    }
}

#[inline(always)]
fn rows_single<L: Lanes>(l: L, bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) {
    rows::<L, SingleSource>(l, bytes, x, out);
}
#[inline(always)]
fn rows_half<L: Lanes>(l: L, bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) {
    rows::<L, HalfSource>(l, bytes, x, out);
}
#[inline(always)]
fn rows_brain<L: Lanes>(l: L, bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) {
    rows::<L, BrainSource>(l, bytes, x, out);
}
dispatch! { fn run_single(bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) = rows_single; }
dispatch! { fn run_half(bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) = rows_half; }
dispatch! { fn run_brain(bytes: &[u8], x: Tokens<'_>, out: &mut MatMut<'_>) = rows_brain; }

/// Adds `rows[i] · x` to the output `i` of each token, for rows of `x.len` elements that follow one another. False for
/// block formats.
#[inline]
pub(super) fn matvec(
    level: super::Level,
    ty: WeightType,
    bytes: &[u8],
    x: Tokens<'_>,
    out: &mut MatMut<'_>,
) -> bool {
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

/// Adds `Σ x[i] · rows[i]` to the outputs of each token. `stride` is the distance of the rows in bytes.
#[inline(always)]
fn axpy<L: Lanes, S: Source>(l: L, bytes: &[u8], stride: usize, x: Tokens<'_>, out: &mut MatMut<'_>) {
    let width = out.columns() * S::BYTES;
    let row = |at: usize| bytes.get(at * stride..).and_then(|rest| rest.get(..width)).unwrap_or_default();
    if L::N > 1 && width == 4 * L::N * S::BYTES && x.len >= 4 {
        for token in 0..out.rows() {
            narrow::<L, S>(l, bytes, stride, x.row(token), out.row(token));
        }
        return;
    }
    // Far from one another; then those that are left.
    let height = stripes::height(x.len, STREAMS, stride);
    let left = x.len - height * STREAMS;
    let starts = (0..height)
        .map(|at| (at, height))
        .chain((0..left / STREAMS).map(|at| (height * STREAMS + at * STREAMS, 1)));
    for (start, step) in starts {
        let rows = core::array::from_fn(|lane| {
            let row = row(start + lane * step);
            ahead::next_page(row);
            row
        });
        for token in 0..out.rows() {
            let x = x.row(token);
            let x = core::array::from_fn(|lane| x.get(start + lane * step).copied().unwrap_or_default());
            axpy_eight::<L, S>(l, rows, x, out.row(token));
        }
    }
    for at in x.len - left % STREAMS..x.len {
        let row = row(at);
        for token in 0..out.rows() {
            let factor = l.splat(x.row(token).get(at).copied().unwrap_or_default());
            for (part, out) in row.chunks(L::N * S::BYTES).zip(out.row(token).chunks_mut(L::N)) {
                let sum = l.fma(S::load(l, part), factor, l.load(out));
                l.store(out, sum);
            }
        }
    }
}

/// The same for rows of four vectors, a head's values for instance: the sums stay in registers. Two rows at a time, half of
/// all apart.
#[inline(always)]
fn narrow<L: Lanes, S: Source>(l: L, bytes: &[u8], stride: usize, x: &[f32], out: &mut [f32]) {
    let (part, width) = (L::N * S::BYTES, 4 * L::N * S::BYTES);
    let (near, far) = x.split_at(x.len().div_ceil(2));
    let row_at = |at: usize| bytes.get(at * stride..).and_then(|rest| rest.get(..width)).unwrap_or_default();
    let load = |row: &[u8], at: usize| S::load(l, row.get(at * part..(at + 1) * part).unwrap_or_default());
    let [mut a, mut b, mut c, mut d] = [l.zero(); 4];
    let [mut e, mut f, mut g, mut h] = [l.zero(); 4];
    for (at, factor) in near.iter().enumerate() {
        let (row, factor) = (row_at(at), l.splat(*factor));
        a = l.fma(load(row, 0), factor, a);
        b = l.fma(load(row, 1), factor, b);
        c = l.fma(load(row, 2), factor, c);
        d = l.fma(load(row, 3), factor, d);
        if let Some(factor) = far.get(at) {
            let (row, factor) = (row_at(near.len() + at), l.splat(*factor));
            e = l.fma(load(row, 0), factor, e);
            f = l.fma(load(row, 1), factor, f);
            g = l.fma(load(row, 2), factor, g);
            h = l.fma(load(row, 3), factor, h);
        }
    }
    let sums = [l.add(a, e), l.add(b, f), l.add(c, g), l.add(d, h)];
    for (out, sum) in out.chunks_exact_mut(L::N).zip(sums) {
        l.store(out, l.add(l.load(out), sum));
    }
}

/// The rows are walked in step by one counter, which arrays of iterators would not be.
#[inline(always)]
fn axpy_eight<L: Lanes, S: Source>(l: L, rows: [&[u8]; STREAMS], x: [f32; STREAMS], out: &mut [f32]) {
    let bytes = L::N * S::BYTES;
    let (f0, f1, f2, f3) = (l.splat(x[0]), l.splat(x[1]), l.splat(x[2]), l.splat(x[3]));
    let (f4, f5, f6, f7) = (l.splat(x[4]), l.splat(x[5]), l.splat(x[6]), l.splat(x[7]));
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
        for (tail, factor) in tails.into_iter().zip([f0, f1, f2, f3, f4, f5, f6, f7]) {
            sum = l.fma(S::load(l, tail), factor, sum);
        }
        l.store(out, sum);
    }
}

#[inline(always)]
fn axpy_single<L: Lanes>(l: L, bytes: &[u8], stride: usize, x: Tokens<'_>, out: &mut MatMut<'_>) {
    axpy::<L, SingleSource>(l, bytes, stride, x, out);
}
#[inline(always)]
fn axpy_half<L: Lanes>(l: L, bytes: &[u8], stride: usize, x: Tokens<'_>, out: &mut MatMut<'_>) {
    axpy::<L, HalfSource>(l, bytes, stride, x, out);
}
#[inline(always)]
fn axpy_brain<L: Lanes>(l: L, bytes: &[u8], stride: usize, x: Tokens<'_>, out: &mut MatMut<'_>) {
    axpy::<L, BrainSource>(l, bytes, stride, x, out);
}
dispatch! { fn add_single(bytes: &[u8], stride: usize, x: Tokens<'_>, out: &mut MatMut<'_>) = axpy_single; }
dispatch! { fn add_half(bytes: &[u8], stride: usize, x: Tokens<'_>, out: &mut MatMut<'_>) = axpy_half; }
dispatch! { fn add_brain(bytes: &[u8], stride: usize, x: Tokens<'_>, out: &mut MatMut<'_>) = axpy_brain; }

/// Adds `Σ x[i] · rows[i]` to the outputs of each token, for rows of as many elements that begin `stride` bytes apart.
/// False for block formats.
#[inline]
pub(super) fn axpy_all(
    level: super::Level,
    ty: WeightType,
    bytes: &[u8],
    stride: usize,
    x: Tokens<'_>,
    out: &mut MatMut<'_>,
) -> bool {
    match ty {
        WeightType::F32 => add_single(level, bytes, stride, x, out),
        WeightType::F16 => add_half(level, bytes, stride, x, out),
        WeightType::BF16 => add_brain(level, bytes, stride, x, out),
        _ => return false,
    }
    true
}
