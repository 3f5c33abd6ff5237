//! Products at every level, in every form and layout, against sums in double precision.

use tensorgate::simd::{Act, Form, Level, MatMut, Matrix, Scratch, Then, WeightType, dot};

use crate::blocks::{Kind, Random, decoded, row};

/// What the rules of the form make of activations.
fn as_seen(form: Form, x: &[f32]) -> Vec<f64> {
    match form {
        Form::Q8 => {
            let mut all = Vec::new();
            for block in x.chunks(32) {
                let top = block.iter().fold(0.0_f32, |top, v| top.max(v.abs()));
                let inverse = if top > 0.0 { 127.0 / top } else { 0.0 };
                let scale = f64::from(top / 127.0);
                all.extend(block.iter().map(|v| f64::from((v * inverse).round_ties_even()) * scale));
            }
            all
        }
        Form::Bf16 => x
            .iter()
            .map(|v| {
                let (bits, half) = (v.to_bits(), 0x7fff + (v.to_bits() >> 16 & 1));
                f64::from(f32::from_bits((bits + half) & 0xffff_0000))
            })
            .collect(),
        _ => x.iter().map(|v| f64::from(*v)).collect(),
    }
}

fn half(bytes: &[u8], at: usize) -> f64 {
    let mut out = [0.0];
    tensorgate::simd::f16_to_f32(Level::SCALAR, &[u16::from_le_bytes([bytes[at], bytes[at + 1]])], &mut out);
    f64::from(out[0].abs())
}

/// How far from zero the parts of each weight's product may lie: what rounding errors are measured by.
fn reach(ty: WeightType, bytes: &[u8], weights: &[f32]) -> Vec<f64> {
    let blocks = bytes.chunks(ty.block_bytes()).zip(weights.chunks(ty.block_elements()));
    let each = |(block, weights): (&[u8], &[f32])| -> Vec<f64> {
        let all = match ty {
            WeightType::Q8_0 => half(block, 0) * 256.0,
            WeightType::Q4_0 | WeightType::Q5_0 => half(block, 0) * 32.0,
            WeightType::Q4_1 | WeightType::Q5_1 => half(block, 0) * 32.0 + half(block, 2),
            WeightType::Q4_K | WeightType::Q5_K => half(block, 0) * 63.0 * 31.0 + half(block, 2) * 63.0,
            WeightType::Q6_K => half(block, 208) * 128.0 * 63.0,
            _ => f64::from(weights[0].abs()),
        };
        vec![all; weights.len()]
    };
    blocks.flat_map(each).collect()
}

struct Case {
    ty: WeightType,
    form: Form,
    input_major: bool,
    inputs: usize,
    outputs: usize,
    tokens: usize,
    kind: Kind,
    /// Bytes before the weights, so that they stand at any alignment.
    shift: usize,
}

/// What a case's product must be, and by how much it may be off.
struct Expected {
    weights: Vec<u8>,
    x: Vec<f32>,
    values: Vec<f64>,
    bounds: Vec<f64>,
}

fn expected(random: &mut Random, case: &Case) -> Expected {
    let Case { ty, form, inputs, outputs, tokens, .. } = *case;
    let (rows, len) = if case.input_major { (inputs, outputs) } else { (outputs, inputs) };
    let mut weights = vec![0; case.shift];
    let (mut matrix, mut far) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let bytes = row(random, ty, len, case.kind);
        let values = decoded(ty, &bytes, len);
        far.extend(reach(ty, &bytes, &values));
        matrix.extend(values);
        weights.extend(bytes);
    }
    let x: Vec<f32> = (0..tokens * inputs).map(|_| random.value()).collect();
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for token in x.chunks(inputs.max(1)).take(tokens) {
        let seen = as_seen(form, token);
        for output in 0..outputs {
            let at =
                |input: usize| if case.input_major { input * outputs + output } else { output * inputs + input };
            let sum: f64 = seen.iter().enumerate().map(|(i, v)| v * f64::from(matrix[at(i)])).sum();
            let size: f64 = seen.iter().enumerate().map(|(i, v)| v.abs() * far[at(i)]).sum();
            values.push(sum);
            bounds.push(size * 2.0_f64.powi(-20) + 1e-30);
        }
    }
    Expected { weights, x, values, bounds }
}

/// Runs a case at one level, whole and in two parts, and compares.
fn check(level: Level, case: &Case, expected: &Expected, random: &mut Random) {
    let Case { ty, inputs, outputs, tokens, .. } = *case;
    let bytes = &expected.weights[case.shift..];
    let matrix = if case.input_major {
        Matrix::input_major(ty, bytes, inputs, outputs)
    } else {
        Matrix::new(ty, bytes, outputs, inputs)
    };
    let matrix = matrix.unwrap();
    let (mut act, mut scratch) = (Act::new(), Scratch::new());
    act.set(level, case.form, &expected.x, inputs).unwrap();
    let bias: Vec<f32> = (0..outputs).map(|_| random.value()).collect();
    for (bias, add) in [(None, false), (Some(bias.as_slice()), false), (None, true), (Some(&bias), true)] {
        let cut = random.below(outputs + 1);
        let mut out = vec![if add { 0.5_f32 } else { f32::NAN }; tokens * outputs];
        let (left, right) = MatMut::new(&mut out, outputs).unwrap().split_at(cut);
        for (range, part) in [(0..cut, left), (cut..outputs, right)] {
            let then = Then { bias: bias.map(|bias| &bias[range.clone()]), add };
            let matrix = matrix.outputs_at(range).unwrap();
            matrix.multiply(level, &act, part, then, &mut scratch).unwrap();
        }
        for (at, out) in out.iter().enumerate() {
            let more = bias.map_or(0.0, |bias| f64::from(bias[at % outputs])) + if add { 0.5 } else { 0.0 };
            let (value, bound) = (expected.values[at] + more, expected.bounds[at] + more.abs() * 1e-6);
            assert!(
                (f64::from(*out) - value).abs() <= bound,
                "{level} {ty:?} {:?} {:?} input-major {} at {at}, {tokens} × {inputs} → {outputs}, cut {cut}: {out} is not {value} ± {bound}",
                case.form,
                case.kind,
                case.input_major,
            );
        }
    }
}

fn run(seed: u64, cases: impl IntoIterator<Item = Case>) {
    let mut random = Random(seed);
    for case in cases {
        let expected = expected(&mut random, &case);
        for level in Level::all() {
            check(level, &case, &expected, &mut random);
        }
    }
}

#[test]
fn block_formats_with_8_bits() {
    let mut cases = Vec::new();
    for ty in WeightType::ALL.into_iter().filter(|ty| !ty.is_float()) {
        let step = ty.block_elements().max(32);
        for (blocks, outputs, tokens) in
            [(1, 1, 1), (2, 5, 2), (3, 33, 4), (4, 70, 1), (9, 40, 7), (5, 16, 13), (8, 3, 25)]
        {
            let inputs = if step == 256 { 256 * blocks.min(3) } else { step * blocks };
            for kind in [Kind::Random, Kind::Extreme] {
                let shift = cases.len() % 5;
                cases.push(Case { ty, form: Form::Q8, input_major: false, inputs, outputs, tokens, kind, shift });
            }
        }
    }
    run(1, cases);
}

#[test]
fn block_formats_exactly() {
    let mut cases = Vec::new();
    for ty in WeightType::ALL.into_iter().filter(|ty| !ty.is_float()) {
        for (outputs, tokens) in [(3, 1), (35, 2), (17, 5)] {
            for kind in [Kind::Random, Kind::Extreme] {
                let inputs = if ty.block_elements() == 256 { 512 } else { 96 };
                cases.push(Case {
                    ty,
                    form: Form::F32,
                    input_major: false,
                    inputs,
                    outputs,
                    tokens,
                    kind,
                    shift: 1,
                });
            }
        }
    }
    run(2, cases);
}

#[test]
fn floats_in_both_layouts() {
    let mut cases = Vec::new();
    let shapes =
        [(1, 1, 1), (7, 9, 1), (64, 64, 1), (100, 67, 2), (33, 130, 3), (48, 32, 4), (65, 47, 12), (19, 70, 31)];
    for ty in [WeightType::F32, WeightType::F16, WeightType::BF16] {
        for input_major in [false, true] {
            for (inputs, outputs, tokens) in shapes {
                for form in [Form::F32, Form::Bf16] {
                    if form == Form::Bf16 && ty != WeightType::BF16 {
                        continue;
                    }
                    let kind = if tokens % 2 == 0 { Kind::Extreme } else { Kind::Random };
                    let shift = cases.len() % 4;
                    cases.push(Case { ty, form, input_major, inputs, outputs, tokens, kind, shift });
                }
            }
        }
    }
    run(3, cases);
}

#[test]
fn rows_and_activations_at_64_alignments() {
    let mut random = Random(4);
    for ty in WeightType::ALL {
        let inputs = if ty.is_float() { 83 } else { 512 };
        let form = ty.form();
        let plain =
            Case { ty, form, input_major: false, inputs, outputs: 1, tokens: 1, kind: Kind::Random, shift: 0 };
        let expected = expected(&mut random, &plain);
        // A buffer of words, so that its own alignment is known to be 4 at least.
        let mut words = vec![0.0_f32; inputs + 64];
        for shift in 0..64 {
            let mut bytes = vec![0_u8; shift];
            bytes.extend(&expected.weights);
            words[shift % 16..][..inputs].copy_from_slice(&expected.x);
            let x = &words[shift % 16..][..inputs];
            for level in Level::all() {
                let off = |value: f32| (f64::from(value) - expected.values[0]).abs() <= expected.bounds[0];
                let matrix = Matrix::new(ty, &bytes[shift..], 1, inputs).unwrap();
                let (mut act, mut out) = (Act::new(), [0.0]);
                act.set(level, form, x, inputs).unwrap();
                let into = MatMut::new(&mut out, 1).unwrap();
                matrix.multiply(level, &act, into, Then::default(), &mut Scratch::new()).unwrap();
                assert!(off(out[0]), "{level} {ty:?} at {shift}");
                if ty.is_float() {
                    assert!(off(dot(level, ty, &bytes[shift..], x).unwrap()), "{level} {ty:?} at {shift}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_seen() {
    for level in Level::all() {
        for ty in WeightType::ALL {
            for tokens in [1, 5] {
                let inputs = 256;
                let clean = row(&mut Random(5), ty, inputs, Kind::Random);
                let mut x = vec![1.0_f32; inputs * tokens];
                x[77] = f32::NAN;
                let out = product(level, ty, &clean, &x, inputs);
                assert!(!out[0].is_finite(), "{level} {ty:?}: {out:?}");
                assert!(out[1..].iter().all(|v| v.is_finite()), "{level} {ty:?}: {out:?}");
                x[77] = f32::INFINITY;
                assert!(!product(level, ty, &clean, &x, inputs)[0].is_finite(), "{level} {ty:?}");
            }
        }
    }
}

fn product(level: Level, ty: WeightType, row: &[u8], x: &[f32], inputs: usize) -> Vec<f32> {
    let (mut act, mut out) = (Act::new(), vec![0.0; x.len() / inputs]);
    act.set(level, ty.form(), x, inputs).unwrap();
    let into = MatMut::new(&mut out, 1).unwrap();
    let matrix = Matrix::new(ty, row, 1, inputs).unwrap();
    matrix.multiply(level, &act, into, Then::default(), &mut Scratch::new()).unwrap();
    out
}

#[test]
fn wrong_lengths_are_errors() {
    let level = Level::best();
    let bytes = vec![0_u8; 34 * 6];
    let matrix = Matrix::new(WeightType::Q8_0, &bytes, 3, 64).unwrap();
    assert_eq!(matrix.decode_row(3, &mut [0.0; 64]).unwrap_err().expected(), 3);
    assert!(matrix.decode_row(0, &mut [0.0; 63]).is_err());
    assert!(Matrix::new(WeightType::Q8_0, &bytes, 3, 65).is_err());
    assert!(Matrix::new(WeightType::Q8_0, &bytes, 4, 64).is_err());
    assert!(Matrix::new(WeightType::F32, &bytes, usize::MAX, usize::MAX / 2).is_err());
    assert!(Matrix::input_major(WeightType::Q8_0, &bytes, 3, 64).is_err());
    assert!(matrix.outputs_at(2..4).is_none());
    #[expect(clippy::reversed_empty_ranges, reason = "that it is refused is the point")]
    let reversed = matrix.outputs_at(2..1);
    assert!(reversed.is_none());
    let mut act = Act::new();
    assert!(act.set(level, Form::Q8, &[0.0; 100], 50).is_err());
    assert!(act.set(level, Form::F32, &[0.0; 100], 64).is_err());
    assert!(act.set(level, Form::F32, &[0.0; 1], 0).is_err());
    act.set(level, Form::Q8, &[0.0; 128], 64).unwrap();
    let mut scratch = Scratch::new();
    let mut try_shape = |len: usize, columns: usize, bias: Option<&[f32]>| {
        let mut out = vec![0.0; len];
        let out = MatMut::new(&mut out, columns).unwrap();
        matrix.multiply(level, &act, out, Then { bias, add: false }, &mut scratch)
    };
    assert!(try_shape(6, 3, None).is_ok());
    assert!(try_shape(3, 3, None).is_err());
    assert!(try_shape(8, 4, None).is_err());
    assert!(try_shape(6, 3, Some(&[0.0; 2])).is_err());
    let single = [0_u8; 4 * 64];
    let float = Matrix::new(WeightType::F32, &single, 1, 64).unwrap();
    let mut out = [0.0; 2];
    let refused = float.multiply(level, &act, MatMut::new(&mut out, 1).unwrap(), Then::default(), &mut scratch);
    assert!(refused.is_err());
    assert!(dot(level, WeightType::F32, &single, &[0.0; 63]).is_err());
    assert!(dot(level, WeightType::Q8_0, &bytes, &[0.0; 64]).is_err());
}
