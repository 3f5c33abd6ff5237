//! K-quants: a scale (and a minimum) is sought for each 16 or 32 values, then those are made codes themselves.
//!
//! The groups of a block are worked on side by side, one a lane: each lane goes through the reference's steps in the
//! reference's order, so that every sum is rounded as it is there, and the compiler has whole vectors to work with.
#![expect(
    clippy::indexing_slicing,
    reason = "lanes below W of arrays of W: the compiler sees that none is past the end"
)]

use super::round::{nearest, nearest_byte, sqrt};
use crate::quant::half::{f16, to_f16};
use crate::quant::k::k4_scales;

/// Groups below this are stored as zeros.
const NOTHING: f32 = 1e-15;

/// The values of `W` groups of `N`, the first value of each group first.
fn side_by_side<const W: usize, const N: usize>(values: &[f32; 256]) -> [[f32; W]; N] {
    let mut rows = [[0.0; W]; N];
    let groups = values.as_chunks::<N>().0;
    for lane in 0..W {
        let Some(group) = groups.get(lane) else { break };
        for (row, value) in rows.iter_mut().zip(group) {
            row[lane] = *value;
        }
    }
    rows
}

/// A number kept between two.
#[inline]
fn between(value: f32, least: f32, most: f32) -> f32 {
    let value = if value > most { most } else { value };
    if value < least { least } else { value }
}

/// How Q4_K and Q5_K seek a group's scale.
struct Search {
    /// The largest code.
    most: f32,
    /// What is added to it in the first try, and in each later one.
    first: f32,
    step: f32,
    tries: u8,
}

/// What was found for each group: a value is about `scale * code - min`.
struct Fit<const W: usize> {
    scale: [f32; W],
    min: [f32; W],
    /// The codes are `(value - base) * inverse`, rounded.
    inverse: [f32; W],
    base: [f32; W],
}

/// Smallest, largest and sums of each group.
struct Shape<const W: usize> {
    min: [f32; W],
    max: [f32; W],
    weights: [f32; W],
    products: [f32; W],
}

fn shape<const W: usize>(x: &[[f32; W]; 32], weights: &[[f32; W]; 32]) -> Shape<W> {
    let [first, rest @ ..] = x;
    let [first_weights, rest_weights @ ..] = weights;
    let mut shape = Shape { min: *first, max: *first, weights: *first_weights, products: [0.0; W] };
    for lane in 0..W {
        shape.products[lane] = first_weights[lane] * first[lane];
    }
    for (x, weights) in rest.iter().zip(rest_weights) {
        for lane in 0..W {
            let (x, weight) = (x[lane], weights[lane]);
            shape.min[lane] = if x < shape.min[lane] { x } else { shape.min[lane] };
            shape.max[lane] = if x > shape.max[lane] { x } else { shape.max[lane] };
            shape.weights[lane] += weight;
            shape.products[lane] += weight * x;
        }
    }
    for min in &mut shape.min {
        *min = if *min > 0.0 { 0.0 } else { *min };
    }
    shape
}

/// The weighted squared error of each group for a scale and a minimum.
fn errors<const W: usize>(x: &[[f32; W]; 32], weights: &[[f32; W]; 32], fit: &Fit<W>, most: f32) -> [f32; W] {
    let mut errors = [0.0; W];
    for (x, weights) in x.iter().zip(weights) {
        for lane in 0..W {
            let code = between(nearest(fit.inverse[lane] * (x[lane] - fit.base[lane])), 0.0, most);
            let error = fit.scale[lane] * code + fit.min[lane] - x[lane];
            errors[lane] += weights[lane] * (error * error);
        }
    }
    errors
}

/// The scale and the minimum of least weighted squared error for given codes, and the codes' own factors.
fn solve<const W: usize>(
    x: &[[f32; W]; 32],
    weights: &[[f32; W]; 32],
    shape: &Shape<W>,
    codes: (&[f32; W], &[f32; W]),
    most: f32,
) -> (Fit<W>, [bool; W]) {
    let (inverse, base) = codes;
    let (mut l, mut l2, mut xl) = ([0.0; W], [0.0; W], [0.0; W]);
    for (x, weights) in x.iter().zip(weights) {
        for lane in 0..W {
            let code = between(nearest(inverse[lane] * (x[lane] - base[lane])), 0.0, most);
            let product = weights[lane] * code;
            l[lane] += product;
            l2[lane] += product * code;
            xl[lane] += product * x[lane];
        }
    }
    let mut fit = Fit { scale: [0.0; W], min: [0.0; W], inverse: *inverse, base: *base };
    let mut solved = [false; W];
    for lane in 0..W {
        let (l, l2, xl) = (l[lane], l2[lane], xl[lane]);
        let (w, wx) = (shape.weights[lane], shape.products[lane]);
        let determinant = w * l2 - l * l;
        let scale = (w * xl - wx * l) / determinant;
        let min = (l2 * wx - l * xl) / determinant;
        let above = min > 0.0;
        fit.scale[lane] = if above { xl / l2 } else { scale };
        fit.min[lane] = if above { 0.0 } else { min };
        solved[lane] = determinant > 0.0;
    }
    (fit, solved)
}

/// A scale and a minimum for each group. A try depends on the minimum that the tries before it have left.
fn search<const W: usize>(x: &[[f32; W]; 32], weights: &[[f32; W]; 32], search: &Search) -> Fit<W> {
    let Search { most, first, step, tries } = *search;
    let shape = shape(x, weights);
    let mut best = Fit { scale: [0.0; W], min: shape.min, inverse: [0.0; W], base: shape.min };
    for lane in 0..W {
        best.inverse[lane] = most / (shape.max[lane] - shape.min[lane]);
        best.scale[lane] = 1.0 / best.inverse[lane];
    }
    let mut least = errors(x, weights, &best, most);
    for attempt in 0..=tries {
        let numerator = first + step * f32::from(attempt) + most;
        let mut inverse = shape.max;
        for (inverse, min) in inverse.iter_mut().zip(&best.min) {
            *inverse = numerator / (*inverse - min);
        }
        let (fit, solved) = solve(x, weights, &shape, (&inverse, &best.min), most);
        let errors = errors(x, weights, &fit, most);
        for lane in 0..W {
            if solved[lane] && errors[lane] < least[lane] {
                least[lane] = errors[lane];
                best.scale[lane] = fit.scale[lane];
                best.inverse[lane] = fit.inverse[lane];
                best.base[lane] = fit.base[lane];
                best.min[lane] = fit.min[lane];
            }
        }
    }
    for lane in 0..W {
        // All the same; of what is not finite neither is less.
        if shape.max[lane] <= shape.min[lane] {
            (best.scale[lane], best.min[lane]) = (0.0, shape.min[lane]);
            (best.inverse[lane], best.base[lane]) = (0.0, 0.0);
        }
        best.min[lane] = -best.min[lane];
    }
    best
}

/// A weight for each value: its magnitude, and the root mean square of its group.
fn weights<const W: usize>(x: &[[f32; W]; 32]) -> [[f32; W]; 32] {
    let mut squares = [0.0; W];
    for x in x {
        for lane in 0..W {
            squares[lane] += x[lane] * x[lane];
        }
    }
    let roots = squares.map(|sum| sqrt(sum / 32.0));
    let mut weights = *x;
    for row in &mut weights {
        for lane in 0..W {
            row[lane] = roots[lane] + row[lane].abs();
        }
    }
    weights
}

/// The largest of some numbers, none below zero.
fn largest(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0.0, |most, number| if *number > most { *number } else { most })
}

/// Eight scales and eight minima as codes of 6 bits; what they are multiples of.
fn pack_scales(fit: &Fit<8>) -> ([u8; 4], [u8; 12]) {
    let codes = |numbers: &[f32; 8], most: f32| {
        let inverse = if most > 0.0 { 63.0 / most } else { 0.0 };
        numbers.map(|number| nearest_byte(inverse * number).min(63))
    };
    let (scale, min) = (largest(&fit.scale), largest(&fit.min));
    let [s0, s1, s2, s3, s4, s5, s6, s7] = codes(&fit.scale, scale);
    let [m0, m1, m2, m3, m4, m5, m6, m7] = codes(&fit.min, min);
    let above = |low: u8, high: u8| low | ((high >> 4) << 6);
    let nibbles = |scale: u8, min: u8| (scale & 0x0F) | (min << 4);
    let packed = [
        above(s0, s4),
        above(s1, s5),
        above(s2, s6),
        above(s3, s7),
        above(m0, m4),
        above(m1, m5),
        above(m2, m6),
        above(m3, m7),
        nibbles(s4, m4),
        nibbles(s5, m5),
        nibbles(s6, m6),
        nibbles(s7, m7),
    ];
    let ([d0, d1], [n0, n1]) = (to_f16(scale / 63.0), to_f16(min / 63.0));
    ([d0, d1, n0, n1], packed)
}

/// The block's head and the codes of its values, which go by the scales as they will be read.
fn k4(values: &[f32; 256], plan: &Search) -> ([u8; 4], [u8; 12], [u8; 256]) {
    let x = side_by_side::<8, 32>(values);
    let fit = search(&x, &weights(&x), plan);
    let (head, packed) = pack_scales(&fit);
    let [d0, d1, m0, m1] = head;
    let (d, dmin) = (f16([d0, d1]), f16([m0, m1]));
    let (scales, mins) = k4_scales(&packed);
    let mut codes = [0; 256];
    let groups = codes.as_chunks_mut::<32>().0.iter_mut().zip(values.as_chunks::<32>().0);
    let groups = groups.zip(scales.iter().zip(&mins)).zip(fit.inverse.iter().zip(&fit.base));
    for (((codes, values), (scale, min)), (inverse, base)) in groups {
        let (d, dm) = (d * f32::from(*scale), dmin * f32::from(*min));
        for (code, value) in codes.iter_mut().zip(values) {
            let level = if d == 0.0 { inverse * (value - base) } else { (value + dm) / d };
            *code = nearest_byte(between(nearest(level), 0.0, plan.most));
        }
    }
    (head, packed, codes)
}

/// Puts the low four bits of codes into nibbles: of each 64, the first 32 low.
fn pack_nibbles(codes: &[u8; 256], qs: &mut [u8]) {
    for (qs, codes) in qs.as_chunks_mut::<32>().0.iter_mut().zip(codes.as_chunks::<64>().0) {
        let [low, high] = codes.as_chunks::<32>().0 else { return };
        for ((q, low), high) in qs.iter_mut().zip(low).zip(high) {
            *q = (low & 0x0F) | (high << 4);
        }
    }
}

pub(super) fn q4_k(values: &[f32; 256], out: &mut [u8; 144]) {
    let (head, packed, codes) = k4(values, &Search { most: 15.0, first: -1.0, step: 0.1, tries: 20 });
    let Some((head_out, rest)) = out.split_first_chunk_mut() else { return };
    let Some((scales_out, qs)) = rest.split_first_chunk_mut() else { return };
    (*head_out, *scales_out) = (head, packed);
    pack_nibbles(&codes, qs);
}

pub(super) fn q5_k(values: &[f32; 256], out: &mut [u8; 176]) {
    let (head, packed, codes) = k4(values, &Search { most: 31.0, first: -0.5, step: 0.1, tries: 15 });
    let Some((head_out, rest)) = out.split_first_chunk_mut() else { return };
    let Some((scales_out, rest)) = rest.split_first_chunk_mut() else { return };
    let Some((above, qs)) = rest.split_first_chunk_mut::<32>() else { return };
    (*head_out, *scales_out, *above) = (head, packed, [0; 32]);
    for (codes, bit) in codes.as_chunks::<32>().0.iter().zip([1, 2, 4, 8, 16, 32, 64, 128]) {
        for (above, code) in above.iter_mut().zip(codes) {
            *above |= if code & 0x10 == 0 { 0 } else { bit };
        }
    }
    pack_nibbles(&codes, qs);
}

/// The scales of sixteen groups, and what the codes of each are multiples of: the best of nineteen, each error weighted by
/// the square of its value.
fn scales6(x: &[[f32; 16]; 16]) -> ([f32; 16], [f32; 16]) {
    let (mut most, mut extreme) = ([0.0_f32; 16], [0.0_f32; 16]);
    for x in x {
        for lane in 0..16 {
            let larger = x[lane].abs() > most[lane];
            extreme[lane] = if larger { x[lane] } else { extreme[lane] };
            most[lane] = if larger { x[lane].abs() } else { most[lane] };
        }
    }
    let (mut scales, mut bests, mut inverses) = ([0.0; 16], [0.0; 16], [0.0; 16]);
    for attempt in [0_i8, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
        let numerator = -(32.0 + 0.1 * f32::from(attempt));
        let inverse = extreme.map(|extreme| numerator / extreme);
        let (mut products, mut squares) = ([0.0; 16], [0.0; 16]);
        for x in x {
            for lane in 0..16 {
                let value = x[lane];
                let code = between(nearest(inverse[lane] * value), -32.0, 31.0);
                let weight = value * value;
                products[lane] += weight * value * code;
                squares[lane] += weight * code * code;
            }
        }
        for lane in 0..16 {
            let (product, square) = (products[lane], squares[lane]);
            let better = square > 0.0 && product * product > bests[lane] * square;
            if attempt == 0 || better {
                scales[lane] = if square == 0.0 { 0.0 } else { product / square };
                bests[lane] = scales[lane] * product;
                inverses[lane] = inverse[lane];
            }
        }
    }
    for lane in 0..16 {
        if most[lane] < NOTHING {
            (scales[lane], inverses[lane]) = (0.0, f32::NAN);
        }
    }
    (scales, inverses)
}

pub(super) fn q6_k(values: &[f32; 256], out: &mut [u8; 210]) {
    let (scales, inverses) = scales6(&side_by_side::<16, 16>(values));
    let extreme =
        scales.iter().fold(0.0_f32, |extreme, scale| if scale.abs() > extreme.abs() { *scale } else { extreme });
    *out = [0; 210];
    if extreme.abs() < NOTHING {
        return;
    }
    let inverse = -128.0 / extreme;
    let d = to_f16(1.0 / inverse);
    // -128 to 127, as bytes.
    let levels = scales.map(|scale| nearest_byte(between(nearest(inverse * scale), f32::MIN, 127.0)).cast_signed());
    let mut codes = [0; 256];
    let groups = codes.as_chunks_mut::<16>().0.iter_mut().zip(values.as_chunks::<16>().0);
    for (((codes, values), level), inverse) in groups.zip(&levels).zip(&inverses) {
        let d = f16(d) * f32::from(*level);
        for (code, value) in codes.iter_mut().zip(values) {
            let level = if d == 0.0 { value * inverse } else { value / d };
            let level = between(nearest(level), -32.0, 31.0) + 32.0;
            // A group of zeros has the code zero, whatever it is then worth.
            *code = if d == 0.0 && inverse.is_nan() { 0 } else { nearest_byte(level) };
        }
    }
    pack6(&codes, levels, d, out);
}

/// Writes a block of Q6_K.
fn pack6(codes: &[u8; 256], levels: [i8; 16], d: [u8; 2], out: &mut [u8; 210]) {
    let Some((low, rest)) = out.split_first_chunk_mut::<128>() else { return };
    let Some((high, rest)) = rest.split_first_chunk_mut::<64>() else { return };
    let Some((scales, rest)) = rest.split_first_chunk_mut::<16>() else { return };
    let halves = low.as_chunks_mut::<64>().0.iter_mut().zip(high.as_chunks_mut::<32>().0);
    for ((low, high), codes) in halves.zip(codes.as_chunks::<128>().0) {
        let [first, second, third, fourth] = codes.as_chunks::<32>().0 else { return };
        let [low, low_next] = low.as_chunks_mut::<32>().0 else { return };
        for at in 0..32 {
            let (a, b, c, d) = (first[at], second[at], third[at], fourth[at]);
            low[at] = (a & 0x0F) | (c << 4);
            low_next[at] = (b & 0x0F) | (d << 4);
            high[at] = (a >> 4) | ((b >> 4) << 2) | ((c >> 4) << 4) | ((d >> 4) << 6);
        }
    }
    *scales = levels.map(i8::cast_unsigned);
    if let Some(end) = rest.first_chunk_mut::<2>() {
        *end = d;
    }
}
