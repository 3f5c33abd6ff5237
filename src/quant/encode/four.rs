//! Codes that choose one of sixteen values: IQ4_NL and MXFP4.

use super::legacy::{extreme, inverse};
use super::round::floor_log2;
use crate::quant::four::{E2M1, NON_LINEAR};
use crate::quant::half::{e8m0_half, to_f16};

/// Blocks below this are stored as zeros.
const NOTHING: f32 = 1e-15;

/// The first value of [`NON_LINEAR`], which the value of largest magnitude is mapped to, or near.
const FIRST: f32 = -127.0;

/// How often the scale is moved to each side.
const TRIES: f32 = 7.0;

/// Half way between each value and the next.
const MIDDLES: [f32; 15] =
    [-115.5, -93.5, -74., -57., -42., -28.5, -16., -4.5, 7., 19., 31.5, 45.5, 61., 79., 101.];

/// The code whose value is closest, the upper one of two: how many middles are not above the value.
#[inline]
fn closest_code(value: f32) -> u8 {
    MIDDLES.iter().fold(0_u8, |code, middle| code.wrapping_add(u8::from(value >= *middle)))
}

/// The closest of the values. Steps between neighbours are added up: whole numbers, so nothing is rounded.
#[inline]
fn closest(value: f32) -> f32 {
    let steps = NON_LINEAR.iter().zip(NON_LINEAR.iter().skip(1));
    MIDDLES
        .iter()
        .zip(steps)
        .fold(FIRST, |sum, (middle, (low, high))| sum + if value >= *middle { high - low } else { 0.0 })
}

/// The scale that fits best, each error weighted by the square of its value: the best of sixteen.
#[inline]
fn best_scale(values: &[f32; 32], extreme: f32) -> f32 {
    // The first is the plain one; the others move the value of largest magnitude around the first of the table.
    let mut inverses = [0.0; 16];
    let mut moved = -TRIES;
    for inverse in inverses.iter_mut().skip(1) {
        *inverse = (moved + FIRST) / extreme;
        moved += 1.0;
    }
    if let Some(first) = inverses.first_mut() {
        *first = 1.0 / (-extreme / FIRST);
    }
    let (mut products, mut squares) = ([0.0; 16], [0.0; 16]);
    for value in values {
        let weight = value * value;
        for ((inverse, product), square) in inverses.iter().zip(&mut products).zip(&mut squares) {
            let q = closest(inverse * value);
            *product += weight * q * value;
            *square += weight * q * q;
        }
    }
    let (mut scale, mut best) = (0.0, 0.0);
    for (at, (product, square)) in products.into_iter().zip(squares).enumerate() {
        if at == 0 {
            scale = if square > 0.0 { product / square } else { 0.0 };
            best = scale * product;
        } else if square > 0.0 && product * product > best * square {
            scale = product / square;
            best = scale * product;
        }
    }
    scale
}

#[inline]
pub(super) fn iq4_nl(values: &[f32; 32], [d0, d1, qs @ ..]: &mut [u8; 18]) {
    let extreme = extreme(values);
    let scale = if extreme.abs() < NOTHING { 0.0 } else { best_scale(values, extreme) };
    [*d0, *d1] = to_f16(scale);
    let inverse = inverse(scale);
    let [low, high] = values.as_chunks::<16>().0 else { return };
    for ((q, low), high) in qs.iter_mut().zip(low).zip(high) {
        *q = closest_code(low * inverse) | (closest_code(high * inverse) << 4);
    }
}

/// The code of E2M1 whose value times `d` is closest, the smaller magnitude of two.
#[inline]
fn closest_float(value: f32, d: f32) -> u8 {
    let magnitude = value.abs();
    let mut code = 0_u8;
    let mut least = magnitude;
    for (candidate, unit) in (0..8_u8).zip(E2M1) {
        let error = (unit * d - magnitude).abs();
        let is_less = error < least;
        code = if is_less { candidate } else { code };
        least = if is_less { error } else { least };
    }
    // There is no negative zero.
    if value < 0.0 && code > 0 { code | 8 } else { code }
}

#[inline]
pub(super) fn mxfp4(values: &[f32; 32], [e, qs @ ..]: &mut [u8; 17]) {
    let most = extreme(values).abs();
    // In C an exponent below zero is undefined: blocks below 2^-125.
    let exponent = if most > 0.0 && most.is_finite() { floor_log2(most).saturating_add(125) } else { 0 };
    *e = u8::try_from(exponent.max(0)).unwrap_or(u8::MAX);
    let d = e8m0_half(*e);
    let [low, high] = values.as_chunks::<16>().0 else { return };
    for ((q, low), high) in qs.iter_mut().zip(low).zip(high) {
        *q = closest_float(*low, d) | (closest_float(*high, d) << 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_value_is_the_closest() {
        for pair in NON_LINEAR.windows(2).zip(MIDDLES) {
            let ([low, high], middle) = (pair.0, pair.1) else { panic!() };
            assert!((high - middle).to_bits() == (middle - low).to_bits());
        }
        // As the reference decides: between the two neighbours, by the rounded distances.
        let nearby = |value: f32| [value.next_down(), value, value.next_up()];
        let all = MIDDLES.into_iter().chain(NON_LINEAR).chain((-300..300_i16).map(|at| f32::from(at) / 2.0));
        for value in all.flat_map(nearby) {
            let above = NON_LINEAR.iter().position(|candidate| value < *candidate);
            let want = match above {
                Some(0) => 0,
                None => 15,
                Some(above) if value - NON_LINEAR[above - 1] < NON_LINEAR[above] - value => above - 1,
                Some(above) => above,
            };
            assert_eq!(usize::from(closest_code(value)), want, "{value:e}");
            assert_eq!(closest(value).to_bits(), NON_LINEAR[want].to_bits());
        }
    }
}
