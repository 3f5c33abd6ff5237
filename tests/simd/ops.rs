//! Vector operations at every level against double precision.

use tensorgate::simd::{
    Gelu, Level, WeightType, add, add_scaled, argmax, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, gelu,
    layer_norm, max, relu, softmax,
};

use crate::blocks::Random;

/// The error function by its series and continued fraction: slow and exact.
fn erf(x: f64) -> f64 {
    if x.abs() < 3.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > 1e-18 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
            if n > 200.0 {
                break;
            }
        }
        return sum * 2.0 / std::f64::consts::PI.sqrt();
    }
    let mut fraction = 0.0;
    for n in (1..80).rev() {
        fraction = f64::from(n) / 2.0 / (x.abs() + fraction);
    }
    x.signum() * (1.0 - (-x * x).exp() / std::f64::consts::PI.sqrt() / (x.abs() + fraction))
}

#[test]
fn gelu_in_both_forms() {
    let mut x: Vec<f32> = (-3000..3000).map(|at| at as f32 * 0.005).collect();
    x.extend([0.0, -0.0, 1e-30, -1e-30, 50.0, -50.0, 1e4, -1e4, 1e30, -1e30, f32::MAX, f32::MIN]);
    for level in Level::all() {
        for which in [Gelu::Tanh, Gelu::Erf] {
            let mut out = x.clone();
            gelu(level, &mut out, which);
            for (x, out) in x.iter().zip(out) {
                let v = f64::from(*x);
                let factor = match which {
                    Gelu::Tanh => 1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (v + 0.044_715 * v.powi(3))).tanh(),
                    Gelu::Erf => 1.0 + erf(v / 2.0_f64.sqrt()),
                };
                let want = v / 2.0 * factor;
                let bound = if v < 0.0 { 1e-6 } else { 1e-6 + 4e-7 * v };
                let far = v < -1e4 && out.abs() <= 1e-6 * v.abs() as f32;
                assert!((f64::from(out) - want).abs() <= bound || far, "{level} {which:?} {x}: {out}, not {want}");
            }
            let mut odd = [1.0, f32::NAN, 2.0];
            gelu(level, &mut odd, which);
            assert!(odd[1].is_nan() && odd[0].is_finite() && odd[2].is_finite(), "{level}");
        }
    }
}

#[test]
fn norms_and_softmax_of_every_length() {
    let mut random = Random(11);
    for level in Level::all() {
        for len in (1..140).chain([768, 1600, 4097]) {
            let mut values = || (0..len).map(|_| random.value() * 3.0 + 1.0).collect::<Vec<f32>>();
            let (x, weight, bias) = (values(), values(), values());
            let mut out = vec![f32::NAN; len];
            layer_norm(level, &x, &weight, &bias, 1e-5, &mut out).unwrap();
            let n = len as f64;
            let mean = x.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
            let variance = x.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n;
            for at in 0..len {
                let unit = (f64::from(x[at]) - mean) / (variance + 1e-5).sqrt();
                let want = unit * f64::from(weight[at]) + f64::from(bias[at]);
                let size = (unit.abs() + 2.0) * f64::from(weight[at].abs()) + f64::from(bias[at].abs());
                let bound = if len == 1 { 1e-3 } else { 2e-6 * size };
                assert!((f64::from(out[at]) - want).abs() <= bound, "{level} {len}: {} not {want}", out[at]);
            }
            let mut out = x.clone();
            softmax(level, &mut out, 0.125);
            let top = x.iter().fold(f32::MIN, |top, v| top.max(*v));
            let e: Vec<f64> = x.iter().map(|v| (0.125 * (f64::from(*v) - f64::from(top))).exp()).collect();
            let total: f64 = e.iter().sum();
            for (e, out) in e.iter().zip(&out) {
                assert!(
                    (e / total - f64::from(*out)).abs() <= (1e-6 + n * 2.0_f64.powi(-24)) * e / total,
                    "{level} {len}"
                );
            }
        }
    }
}

#[test]
fn softmax_of_the_odd() {
    for level in Level::all() {
        softmax(level, &mut [], 1.0);
        let mut wide = [0.0, -1e30, f32::NEG_INFINITY, 0.0];
        softmax(level, &mut wide, 1.0);
        assert!((wide[0] - 0.5).abs() < 1e-6 && wide[1] < 1e-37 && wide[2] < 1e-37, "{level} {wide:?}");
        for odd in [f32::NAN, f32::INFINITY] {
            for len in [1, 3, 40] {
                let mut x = vec![1.0; len];
                x[len / 2] = odd;
                softmax(level, &mut x, 1.0);
                assert!(x.iter().all(|v| v.is_nan()), "{level} {odd} {x:?}");
            }
        }
    }
}

#[test]
fn argmax_finds_the_first() {
    let mut random = Random(12);
    for level in Level::all() {
        assert_eq!(argmax(level, &[]), None);
        for len in (1..100).chain([50_257]) {
            let mut x: Vec<f32> = (0..len).map(|_| random.value()).collect();
            let at = random.below(len);
            let again = at + random.below(len - at);
            (x[at], x[again]) = (100.0, 100.0);
            assert_eq!(argmax(level, &x), Some(at), "{level} {len}");
            assert_eq!(max(level, &x), 100.0, "{level} {len}");
            x[again] = f32::NAN;
            assert!(max(level, &x).is_nan(), "{level} {len}");
            assert_eq!(argmax(level, &x), Some(again), "{level} {len}");
            assert_eq!(argmax(level, &vec![f32::NEG_INFINITY; len]), Some(0), "{level} {len}");
            x[again] = f32::INFINITY;
            assert_eq!(argmax(level, &x), Some(again), "{level} {len}");
        }
    }
}

#[test]
fn halves_of_every_value() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let mut plain = vec![0.0; all.len()];
    f16_to_f32(Level::SCALAR, &all, &mut plain);
    // Known values: IEEE 754-2019, table 3.5's parameters for binary16.
    for (bits, value) in
        [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 5.960_464_5e-8), (0x0400, 6.103_515_6e-5)]
    {
        assert_eq!(plain[bits], value);
    }
    for level in Level::all() {
        let (mut wide, mut back) = (vec![0.0; all.len()], vec![0; all.len()]);
        f16_to_f32(level, &all, &mut wide);
        f32_to_f16(level, &wide, &mut back);
        for (at, bits) in all.iter().enumerate() {
            if plain[at].is_nan() {
                assert!(wide[at].is_nan() && back[at] & 0x7fff > 0x7c00, "{level} {bits:#x}");
            } else {
                assert_eq!((plain[at].to_bits(), back[at]), (wide[at].to_bits(), *bits), "{level} {bits:#x}");
            }
        }
        bf16_to_f32(level, &all, &mut wide);
        f32_to_bf16(level, &wide, &mut back);
        for (at, bits) in all.iter().enumerate() {
            assert_eq!(wide[at].to_bits(), u32::from(*bits) << 16, "{level}");
            assert!(back[at] == *bits || wide[at].is_nan() && back[at] & 0x7fff > 0x7f80, "{level} {bits:#x}");
        }
    }
}

#[test]
fn halves_are_rounded_to_the_nearest() {
    let mut random = Random(13);
    let mut x: Vec<f32> =
        (0..100_000).map(|_| f32::from_bits(random.next() as u32 & 0x8fff_ffff | 0x3000_0000)).collect();
    // Halfway cases, and the ends of the range.
    x.extend((0..2048).map(|at| 1.0 + (at as f32 + 0.5) / 1024.0));
    x.extend([65519.9, 65520.0, 1e-8, 2.980_232_2e-8, 2.980_233e-8, 8.9e-8, -0.0]);
    let mut plain = vec![0; x.len()];
    f32_to_f16(Level::SCALAR, &x, &mut plain);
    let mut ends = [0; 4];
    f32_to_f16(Level::SCALAR, &[65519.9, 65520.0, 2.980_232_2e-8, 2.980_233e-8], &mut ends);
    assert_eq!(ends, [0x7bff, 0x7c00, 0, 1]);
    for level in Level::all() {
        let mut out = vec![0; x.len()];
        f32_to_f16(level, &x, &mut out);
        assert_eq!(out, plain, "{level}");
    }
    // The nearest of the neighbours, seen in double precision.
    let mut wide = vec![0.0; x.len()];
    f16_to_f32(Level::SCALAR, &plain, &mut wide);
    for ((x, bits), near) in x.iter().zip(&plain).zip(wide).filter(|((x, _), _)| x.abs() < 65504.0) {
        let off = (f64::from(*x) - f64::from(near)).abs();
        for other in
            [bits.wrapping_add(1), bits.wrapping_sub(1)].into_iter().filter(|other| other & 0x7fff <= 0x7bff)
        {
            let mut out = [0.0];
            f16_to_f32(Level::SCALAR, &[other], &mut out);
            let farther = (f64::from(*x) - f64::from(out[0])).abs();
            assert!(off < farther || off == farther && bits & 1 == 0 || x.abs() < 1e-7, "{x}");
        }
    }
}

#[test]
fn sums_and_thresholds() {
    let mut random = Random(14);
    for level in Level::all() {
        for len in 0..70 {
            let x: Vec<f32> = (0..len).map(|_| random.value()).collect();
            let y: Vec<f32> = (0..len).map(|_| random.value()).collect();
            let mut out = x.clone();
            add(level, &mut out, &y);
            assert!(out.iter().zip(x.iter().zip(&y)).all(|(out, (x, y))| *out == x + y), "{level}");
            relu(level, &mut out);
            assert!(out.iter().zip(x.iter().zip(&y)).all(|(out, (x, y))| *out == (x + y).max(0.0)), "{level}");
            let rows: Vec<u8> = x.iter().chain(&y).flat_map(|v| v.to_le_bytes()).collect();
            let mut out = vec![1.0; len];
            add_scaled(level, WeightType::F32, &rows, 4 * len, &[2.0, -3.0], &mut out).unwrap();
            for at in 0..len {
                let want = 1.0 + 2.0 * f64::from(x[at]) - 3.0 * f64::from(y[at]);
                assert!((f64::from(out[at]) - want).abs() < 2e-6, "{level}");
            }
            if len > 0 {
                let short = &rows[..rows.len() - 1];
                assert!(add_scaled(level, WeightType::F32, short, 4 * len, &[2.0, -3.0], &mut out).is_err());
                assert!(add_scaled(level, WeightType::Q8_0, &rows, 34, &[2.0], &mut out).is_err());
            }
        }
        let mut odd = [f32::NAN, -1.0];
        relu(level, &mut odd);
        assert!(odd[0].is_nan() && odd[1] == 0.0, "{level}");
    }
}
