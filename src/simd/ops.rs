//! What a transformer needs beside products, on vectors of F32.

use super::dense::Tokens;
use super::dispatch::dispatch;
use super::half;
use super::lanes::Lanes;
use super::{Level, MatMut, ShapeError, WeightType, dense};

/// log₂ e, and ln 2 in two parts of which the first has few bits (Cody and Waite).
const LOG2_E: f32 = core::f32::consts::LOG2_E;
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// 1.5 × 2²³: a number added to it is rounded to a whole one, which the low bits then hold.
const MAGIC: f32 = 12_582_912.0;

/// eˣ for x in −87.3..=88.0; beyond, the value at the nearer end. NaN stays NaN. Relative error under 2⁻²².
#[inline(always)]
pub(super) fn exp<L: Lanes>(l: L, x: L::V) -> L::V {
    let x = l.min(l.splat(88.0), l.max(l.splat(-87.3), x));
    let t = l.fma(x, l.splat(LOG2_E), l.splat(MAGIC));
    let n = l.sub(t, l.splat(MAGIC));
    let r = l.fma(n, l.splat(-LN_2_HIGH), x);
    let r = l.fma(n, l.splat(-LN_2_LOW), r);
    // Taylor's series to the seventh power: |r| ≤ 0.35, so what is left out is under 6e-9.
    let mut p = l.splat(1.0 / 5040.0);
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = l.fma(p, r, l.splat(c));
    }
    l.mul(p, l.pow2(t))
}

/// Applies `f` to each vector.
#[inline(always)]
fn map<L: Lanes>(l: L, x: &mut [f32], f: impl Fn(L::V) -> L::V) {
    let mut parts = x.chunks_exact_mut(L::N);
    for part in parts.by_ref() {
        let v = f(l.load(part));
        l.store(part, v);
    }
    let rest = parts.into_remainder();
    if !rest.is_empty() {
        let v = f(l.load(rest));
        l.store(rest, v);
    }
}

/// Applies `f` to each vector of `x` and what faces it in `y`.
#[inline(always)]
fn map2<L: Lanes>(l: L, x: &mut [f32], y: &[f32], f: impl Fn(L::V, L::V) -> L::V) {
    for (x, y) in x.chunks_mut(L::N).zip(y.chunks(L::N)) {
        let v = f(l.load(x), l.load(y));
        l.store(x, v);
    }
}

/// Which of the two formulas of GELU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`: GPT-2's (`gelu_new`).
    Tanh,
    /// `x/2 · (1 + erf(x/√2))`: the definition (`gelu`).
    Erf,
}

// Loops over functions by name, and not over closures: a closure of this size is a function of its own, which enables no
// instructions, so that each of its steps is a call (measured: a sixth of a whole prompt in F32).
#[inline(always)]
fn gelu_all<L: Lanes>(l: L, x: &mut [f32], which: Gelu) {
    let mut parts = x.chunks_exact_mut(L::N);
    match which {
        Gelu::Tanh => {
            for part in parts.by_ref() {
                let v = gelu_tanh(l, l.load(part));
                l.store(part, v);
            }
        }
        Gelu::Erf => {
            for part in parts.by_ref() {
                let v = gelu_erf(l, l.load(part));
                l.store(part, v);
            }
        }
    }
    let rest = parts.into_remainder();
    if !rest.is_empty() {
        let v = l.load(rest);
        let v = if which == Gelu::Tanh { gelu_tanh(l, v) } else { gelu_erf(l, v) };
        l.store(rest, v);
    }
}

/// x/2 · (1 + tanh u) is x / (1 + e^(-2u)).
#[inline(always)]
fn gelu_tanh<L: Lanes>(l: L, x: L::V) -> L::V {
    let u = l.fma(l.mul(x, x), l.splat(-2.0 * 0.797_884_6 * 0.044_715), l.splat(-2.0 * 0.797_884_6));
    let e = exp(l, l.mul(u, x));
    l.div(x, l.add(e, l.splat(1.0)))
}

/// max(x, 0) - |x| · h, where h is half the complement of erf at |x|/√2: Abramowitz and Stegun, 7.1.26.
#[inline(always)]
fn gelu_erf<L: Lanes>(l: L, x: L::V) -> L::V {
    let size = l.max(x, l.sub(l.zero(), x));
    let z = l.mul(size, l.splat(core::f32::consts::FRAC_1_SQRT_2));
    let t = l.div(l.splat(1.0), l.fma(z, l.splat(0.327_591_1), l.splat(1.0)));
    let mut p = l.splat(1.061_405_4);
    for c in [-1.453_152, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
        p = l.fma(p, t, l.splat(c));
    }
    let e = exp(l, l.sub(l.zero(), l.mul(z, z)));
    let h = l.mul(l.mul(p, t), l.mul(e, l.splat(0.5)));
    l.sub(l.max(l.zero(), x), l.mul(size, h))
}

dispatch! {
    /// The Gaussian error linear unit, in place. Off by at most 1e-6 + 4e-7·|x|; NaN stays NaN.
    pub fn gelu(x: &mut [f32], which: Gelu) = gelu_all;
}

#[inline(always)]
fn relu_all<L: Lanes>(l: L, x: &mut [f32]) {
    map(l, x, |x| l.max(l.zero(), x));
}

dispatch! {
    /// `max(x, 0)`, in place. NaN stays NaN.
    pub fn relu(x: &mut [f32]) = relu_all;
}

/// The sum of `f` of each vector.
#[inline(always)]
fn sum<L: Lanes>(l: L, x: &[f32], f: impl Fn(L::V) -> L::V) -> f32 {
    let mut sums = [l.zero(); 4];
    let mut parts = x.chunks_exact(4 * L::N);
    for part in parts.by_ref() {
        for (sum, part) in sums.iter_mut().zip(part.chunks_exact(L::N)) {
            *sum = l.add(*sum, f(l.load(part)));
        }
    }
    let rest = parts.remainder();
    let whole = rest.len() / L::N * L::N;
    for part in rest[..whole].chunks_exact(L::N) {
        sums[0] = l.add(sums[0], f(l.load(part)));
    }
    let mut total = l.sum(l.add(l.add(sums[0], sums[1]), l.add(sums[2], sums[3])));
    for value in &rest[whole..] {
        // One at a time, so that `f` of the padding does not count.
        let mut one = [0.0_f32; 16];
        l.store(&mut one, f(l.splat(*value)));
        total += one[0];
    }
    total
}

#[inline(always)]
fn norm<L: Lanes>(l: L, x: &[f32], weight: &[f32], bias: &[f32], epsilon: f32, out: &mut [f32]) {
    let count = x.len().max(1) as f32;
    let mean = sum(l, x, |x| x) / count;
    let middle = l.splat(mean);
    let variance = sum(l, x, |x| {
        let off = l.sub(x, middle);
        l.mul(off, off)
    }) / count;
    let scale = l.splat(1.0 / (variance + epsilon).sqrt());
    let parts = x.chunks(L::N).zip(weight.chunks(L::N)).zip(bias.chunks(L::N));
    for (out, ((x, weight), bias)) in out.chunks_mut(L::N).zip(parts) {
        let v = l.mul(l.sub(l.load(x), middle), scale);
        l.store(out, l.fma(v, l.load(weight), l.load(bias)));
    }
}

dispatch! { fn run_norm(x: &[f32], weight: &[f32], bias: &[f32], epsilon: f32, out: &mut [f32]) = norm; }

/// Layer norm: `(x − mean) / √(variance + epsilon) × weight + bias`, in two passes. Off by at most about 1e-6 of the
/// largest part.
///
/// # Errors
///
/// Where the lengths are not all the same.
pub fn layer_norm(
    level: Level,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    epsilon: f32,
    out: &mut [f32],
) -> Result<(), ShapeError> {
    for found in [weight.len(), bias.len(), out.len()] {
        ShapeError::unless("values of a layer norm", x.len(), found)?;
    }
    run_norm(level, x, weight, bias, epsilon, out);
    Ok(())
}

/// The greatest value; −∞ where there is none, NaN where one is NaN.
#[inline(always)]
fn greatest<L: Lanes>(l: L, x: &[f32]) -> f32 {
    let mut tops = [l.splat(f32::NEG_INFINITY); 2];
    let mut parts = x.chunks_exact(2 * L::N);
    // `max` gives its second argument where one is NaN: the value seen last wins, so NaN is summed up beside.
    let mut odd = l.zero();
    for part in parts.by_ref() {
        let (a, b) = part.split_at(L::N);
        let (a, b) = (l.load(a), l.load(b));
        tops = [l.max(a, tops[0]), l.max(b, tops[1])];
        odd = l.add(odd, l.add(l.sub(a, a), l.sub(b, b)));
    }
    let mut all = [0.0_f32; 16];
    let n = L::N.min(16);
    l.store(&mut all, l.max(tops[0], tops[1]));
    let top = all[..n].iter().fold(f32::NEG_INFINITY, |top, v| if *v > top { *v } else { top });
    let rest = parts.remainder();
    let top = rest.iter().fold(top, |top, v| if *v > top { *v } else { top });
    if l.sum(odd) == 0.0 && rest.iter().all(|v| !v.is_nan()) {
        return top;
    }
    // Infinities make `odd` NaN as well: look again, one at a time.
    if x.iter().any(|v| v.is_nan()) { f32::NAN } else { top }
}

#[inline(always)]
fn exponents_all<L: Lanes>(l: L, x: &mut [f32], scale: f32) -> f32 {
    let top = greatest(l, x);
    if x.is_empty() {
        return 0.0;
    }
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let (factor, less) = (l.splat(scale), l.splat(top));
    let mut sums = l.zero();
    let mut parts = x.chunks_exact_mut(L::N);
    for part in parts.by_ref() {
        let e = exp(l, l.mul(l.sub(l.load(part), less), factor));
        sums = l.add(sums, e);
        l.store(part, e);
    }
    let total = l.sum(sums);
    let rest = parts.into_remainder();
    let e = exp(l, l.mul(l.sub(l.load(rest), less), factor));
    l.store(rest, e);
    total + rest.iter().sum::<f32>()
}

dispatch! {
    /// [`softmax`] without the division by the sum, which it gives.
    pub(crate) fn exponents(x: &mut [f32], scale: f32) -> f32 = exponents_all;
}

#[inline(always)]
fn softmax_all<L: Lanes>(l: L, x: &mut [f32], scale: f32) {
    let inverse = l.splat(1.0 / exponents_all(l, x, scale));
    map(l, x, |x| l.mul(x, inverse));
}

dispatch! {
    /// `e^(scale · x) / Σ e^(scale · x)`, in place, with the greatest value taken off first. A scale that is not above
    /// zero counts as 1. Relative error under 1e-6 and n·2⁻²⁴ for n values; what lies more than 87 under the greatest counts as 87 under it.
    /// NaN, or +∞, makes all NaN.
    pub fn softmax(x: &mut [f32], scale: f32) = softmax_all;
}

#[inline(always)]
fn argmax_all<L: Lanes>(l: L, x: &[f32]) -> Option<usize> {
    let top = greatest(l, x);
    if top.is_nan() { x.iter().position(|v| v.is_nan()) } else { x.iter().position(|v| *v == top) }
}

dispatch! {
    /// The greatest value: −∞ without values, NaN where one is NaN.
    pub fn max(x: &[f32]) -> f32 = greatest;
}

dispatch! {
    /// Where the greatest value stands, the first of equals; the first NaN where there is one; `None` without values.
    pub fn argmax(x: &[f32]) -> Option<usize> = argmax_all;
}

#[inline(always)]
fn add_all<L: Lanes>(l: L, x: &mut [f32], y: &[f32]) {
    map2(l, x, y, |x, y| l.add(x, y));
}

dispatch! {
    /// `x += y`, as far as both go: a bias, a residual.
    pub fn add(x: &mut [f32], y: &[f32]) = add_all;
}

#[inline(always)]
fn to_half<L: Lanes>(l: L, x: &[f32], out: &mut [u16]) {
    for (out, x) in out.chunks_mut(L::N).zip(x.chunks(L::N)) {
        l.store_f16(out, l.load(x));
    }
}

dispatch! {
    /// F32 to F16, to nearest, ties to even, as far as both go. NaN stays NaN.
    pub fn f32_to_f16(x: &[f32], out: &mut [u16]) = to_half;
}

#[inline(always)]
fn of_half<L: Lanes>(l: L, x: &[u16], out: &mut [f32]) {
    if cfg!(target_endian = "big") {
        for (out, x) in out.iter_mut().zip(x) {
            *out = half::f16_to_f32(*x);
        }
        return;
    }
    for (out, x) in out.chunks_mut(L::N).zip(x.chunks(L::N)) {
        l.store(out, l.load_f16(bytemuck::cast_slice::<u16, u8>(x)));
    }
}

#[inline(always)]
fn to_brain<L: Lanes>(_: L, x: &[f32], out: &mut [u16]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = half::f32_to_bf16(*x);
    }
}

dispatch! {
    /// F32 to BF16, to nearest, ties to even, as far as both go. NaN stays NaN.
    pub fn f32_to_bf16(x: &[f32], out: &mut [u16]) = to_brain;
}

#[inline(always)]
fn of_brain<L: Lanes>(_: L, x: &[u16], out: &mut [f32]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = half::bf16_to_f32(*x);
    }
}

dispatch! {
    /// BF16 to F32, exactly, as far as both go.
    pub fn bf16_to_f32(x: &[u16], out: &mut [f32]) = of_brain;
}

dispatch! {
    /// F16 to F32, exactly, as far as both go.
    pub fn f16_to_f32(x: &[u16], out: &mut [f32]) = of_half;
}

/// The dot product of a row of F32, F16 or BF16 (as bytes, at any alignment) with `x`: attention's keys, for instance.
///
/// # Errors
///
/// Where the row is not as long as `x`, or `ty` is a block format.
pub fn dot(level: Level, ty: WeightType, row: &[u8], x: &[f32]) -> Result<f32, ShapeError> {
    check_row(ty, row.len(), x.len())?;
    let mut out = [0.0];
    if let Some(mut out) = MatMut::new(&mut out, 1) {
        dense::matvec(level, ty, row, Tokens::one(x), &mut out);
    }
    Ok(out[0])
}

/// `out += Σ factors[i] × rows[i]` for rows of `out.len()` elements of F32, F16 or BF16 (as bytes, at any alignment) that
/// begin `stride` bytes apart: attention's values, for instance.
///
/// # Errors
///
/// Where `rows` ends before the last row does, or `ty` is a block format.
pub fn add_scaled(
    level: Level,
    ty: WeightType,
    rows: &[u8],
    stride: usize,
    factors: &[f32],
    out: &mut [f32],
) -> Result<(), ShapeError> {
    let Some(last) = factors.len().checked_sub(1) else { return Ok(()) };
    let row = ty.row_bytes(out.len()).filter(|_| ty.is_float());
    let row = row.ok_or(ShapeError::new("rows of a sum are of F32, F16 or BF16", 1, ty.block_elements()))?;
    let needed = last.checked_mul(stride).and_then(|at| at.checked_add(row)).unwrap_or(usize::MAX);
    if rows.len() < needed {
        return Err(ShapeError::new("bytes of the rows of a sum", needed, rows.len()));
    }
    let width = out.len();
    if let Some(mut out) = MatMut::new(out, width) {
        dense::axpy_all(level, ty, rows, stride, Tokens::one(factors), &mut out);
    }
    Ok(())
}

fn check_row(ty: WeightType, found: usize, len: usize) -> Result<(), ShapeError> {
    if !ty.is_float() {
        return Err(ShapeError::new("a row is of F32, F16 or BF16", 1, ty.block_elements()));
    }
    ShapeError::unless("bytes of a row", ty.row_bytes(len).unwrap_or(usize::MAX), found)
}
