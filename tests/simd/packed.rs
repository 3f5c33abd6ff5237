//! Packed copies at every level, against sums in double precision and against the matrices they are copies of.

use tensorgate::simd::{Act, Form, Level, MatMut, Matrix, Packed, Scratch, Then, WeightType};

use crate::blocks::{Kind, Random, decoded, row};

const TYPES: [WeightType; 4] = [WeightType::Q8_0, WeightType::Q4_0, WeightType::Q4_K, WeightType::Q6_K];

fn rows(random: &mut Random, ty: WeightType, outputs: usize, inputs: usize, kind: Kind) -> Vec<u8> {
    (0..outputs).flat_map(|_| row(random, ty, inputs, kind)).collect()
}

fn multiply(matrix: &Matrix<'_>, level: Level, form: Form, x: &[f32], then: Then<'_>, out: &mut [f32]) {
    let mut act = Act::new();
    act.set(level, form, x, matrix.inputs()).unwrap();
    let into = MatMut::new(out, matrix.outputs()).unwrap();
    matrix.multiply(level, &act, into, then, &mut Scratch::new()).unwrap();
}

/// How far the parts of a row's products may lie from zero, all together: what rounding errors are measured by.
fn reach(ty: WeightType, row: &[u8], x: &[f32]) -> f64 {
    let at = if ty == WeightType::Q6_K { 208 } else { 0 };
    let blocks = row.chunks(ty.block_bytes()).zip(x.chunks(ty.block_elements()));
    let each = blocks.map(|(block, x)| {
        let half = |at: usize| {
            let mut out = [0.0];
            tensorgate::simd::f16_to_f32(
                Level::SCALAR,
                &[u16::from_le_bytes([block[at], block[at + 1]])],
                &mut out,
            );
            f64::from(out[0].abs())
        };
        let most = match ty {
            WeightType::Q8_0 => 256.0,
            WeightType::Q4_0 => 32.0,
            WeightType::Q4_K => 63.0 * 16.0,
            _ => 128.0 * 64.0,
        };
        let least = if ty == WeightType::Q4_K { half(2) * 63.0 } else { 0.0 };
        let top = x.iter().fold(0.0_f64, |top, x| top.max(f64::from(x.abs())));
        // Activations are off by half a scale, the same for all that are compared.
        (half(at) * most + least) * top * x.len() as f64
    });
    each.sum()
}

#[test]
fn every_row_is_the_one_it_was() {
    let mut random = Random(11);
    for ty in TYPES {
        for (outputs, inputs) in [(1, 256), (16, 512), (17, 256), (31, 768), (50, 256)] {
            let stored = rows(&mut random, ty, outputs, inputs, Kind::Random);
            let matrix = Matrix::new(ty, &stored, outputs, inputs).unwrap();
            let packed = Packed::new(&matrix).unwrap();
            assert_eq!((packed.ty(), packed.matrix().outputs(), packed.matrix().inputs()), (ty, outputs, inputs));
            let (mut found, mut expected) = (vec![f32::NAN; inputs], vec![0.0; inputs]);
            for index in 0..outputs {
                packed.matrix().decode_row(index, &mut found).unwrap();
                matrix.decode_row(index, &mut expected).unwrap();
                assert!(found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{ty:?} row {index}");
            }
            assert!(packed.matrix().decode_row(outputs, &mut found).is_err());
        }
    }
}

#[test]
fn products_are_those_of_the_matrix() {
    let mut random = Random(12);
    let mut shapes = vec![(1, 1, 1), (5, 1, 2), (16, 3, 3), (33, 2, 4), (50, 1, 1), (64, 2, 17), (47, 3, 29)];
    if !cfg!(debug_assertions) {
        shapes.extend([(100, 3, 130), (160, 12, 1)]);
    }
    for ty in TYPES {
        for (outputs, blocks, tokens) in &shapes {
            // Blocks of 32 also in numbers that are no whole number of 256.
            let inputs = ty.block_elements().max(32) * blocks;
            for kind in [Kind::Random, Kind::Extreme] {
                let stored = rows(&mut random, ty, *outputs, inputs, kind);
                let x: Vec<f32> = (0..tokens * inputs).map(|_| random.value()).collect();
                hold(&mut random, (ty, *outputs, inputs), &stored, &x, kind);
            }
        }
    }
}

/// Holds the products of a packed copy at every level and in parts against those of the scalar kernel of the matrix.
fn hold(
    random: &mut Random,
    (ty, outputs, inputs): (WeightType, usize, usize),
    stored: &[u8],
    x: &[f32],
    kind: Kind,
) {
    let (matrix, tokens) = (Matrix::new(ty, stored, outputs, inputs).unwrap(), x.len() / inputs);
    let packed = Packed::new(&matrix).unwrap();
    let bias: Vec<f32> = (0..outputs).map(|_| random.value()).collect();
    let then = Then { bias: Some(&bias), add: false };
    let mut expected = vec![f32::NAN; tokens * outputs];
    multiply(&matrix, Level::SCALAR, Form::Q8, x, then, &mut expected);
    for level in Level::all() {
        let mut out = vec![f32::NAN; tokens * outputs];
        let cut = random.below(outputs + 1);
        let (left, right) = MatMut::new(&mut out, outputs).unwrap().split_at(cut);
        let (mut act, mut scratch) = (Act::new(), Scratch::new());
        act.set(level, Form::Q8, x, inputs).unwrap();
        for (range, part) in [(0..cut, left), (cut..outputs, right)] {
            let then = Then { bias: Some(&bias[range.clone()]), add: false };
            let view = packed.matrix().outputs_at(range).unwrap();
            view.multiply(level, &act, part, then, &mut scratch).unwrap();
        }
        for (at, (out, expected)) in out.iter().zip(&expected).enumerate() {
            let (token, output) = (at / outputs, at % outputs);
            let row = &stored[output * stored.len() / outputs..][..stored.len() / outputs];
            let bound = reach(ty, row, &x[token * inputs..][..inputs]) * 2.0_f64.powi(-20) + 1e-5;
            let off = (f64::from(*out) - f64::from(*expected)).abs();
            assert!(
                off <= bound,
                "{level} {ty:?} {kind:?} {tokens} × {inputs} → {outputs}, cut {cut}, at {at}: {out} is not {expected} ± {bound}"
            );
        }
    }
}

/// With scales that are powers of two, activations that are whole and sums below 2²⁴ nothing is rounded: what differs would be
/// a whole number.
#[test]
fn whole_numbers_are_exactly_the_same() {
    let mut random = Random(13);
    for ty in TYPES {
        for (outputs, tokens) in [(16, 1), (19, 3), (37, 4), (40, 23)] {
            let inputs = ty.block_elements().max(32);
            let mut stored = rows(&mut random, ty, outputs, inputs, Kind::Extreme);
            for block in stored.chunks_mut(ty.block_bytes()) {
                let at = if ty == WeightType::Q6_K { 208 } else { 0 };
                block[at..at + 2].copy_from_slice(&0x3c00_u16.to_le_bytes());
                if ty == WeightType::Q4_K {
                    block[2..4].copy_from_slice(&0x3c00_u16.to_le_bytes());
                }
                if ty == WeightType::Q6_K {
                    // Eight groups in turn have the greatest and the least scale; more would not fit 24 bits.
                    block[192..208].fill(0);
                    block[192 + random.below(16)] = 0x80;
                    block[192 + random.below(16)] = 0x7f;
                }
                if ty == WeightType::Q4_K {
                    block[4..16].fill(0);
                    block[4 + random.below(4)] = 0x3f;
                    block[8 + random.below(4)] = 0x3f;
                    block[12] = 0xff;
                }
            }
            let matrix = Matrix::new(ty, &stored, outputs, inputs).unwrap();
            let packed = Packed::new(&matrix).unwrap();
            // The greatest of each 32 is 127, so that the scale is one.
            let x: Vec<f32> = (0..tokens * inputs)
                .map(|at| match at % 32 {
                    7 => 127.0,
                    _ => (random.below(255) as f32) - 127.0,
                })
                .collect();
            for (token, x) in x.chunks(inputs).enumerate() {
                for output in 0..outputs {
                    let len = stored.len() / outputs;
                    let weights = decoded(ty, &stored[output * len..][..len], inputs);
                    let sum: f64 = weights.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
                    assert!(sum.abs() < 16_777_216.0, "{ty:?} {token}");
                }
            }
            let mut expected = vec![0.0; tokens * outputs];
            multiply(&matrix, Level::SCALAR, Form::F32, &x, Then::default(), &mut expected);
            for level in Level::all() {
                let mut out = vec![0.0; tokens * outputs];
                multiply(&packed.matrix(), level, Form::Q8, &x, Then::default(), &mut out);
                assert_eq!(out, expected, "{level} {ty:?}");
            }
        }
    }
}

#[test]
fn activations_as_they_are_are_multiplied_too() {
    let mut random = Random(14);
    for ty in TYPES {
        let (outputs, inputs) = (37, 512);
        let stored = rows(&mut random, ty, outputs, inputs, Kind::Random);
        let matrix = Matrix::new(ty, &stored, outputs, inputs).unwrap();
        let packed = Packed::new(&matrix).unwrap();
        for tokens in [1, 6] {
            let x: Vec<f32> = (0..tokens * inputs).map(|_| random.value()).collect();
            for level in Level::all() {
                let (mut out, mut expected) = (vec![1.0; tokens * outputs], vec![1.0; tokens * outputs]);
                let then = Then { bias: None, add: true };
                multiply(&packed.matrix(), level, Form::F32, &x, then, &mut out);
                multiply(&matrix, level, Form::F32, &x, then, &mut expected);
                assert_eq!(out, expected, "{level} {ty:?}");
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_seen() {
    let mut random = Random(15);
    for ty in TYPES {
        let stored = rows(&mut random, ty, 20, 256, Kind::Random);
        let packed = Packed::new(&Matrix::new(ty, &stored, 20, 256).unwrap()).unwrap();
        for level in Level::all() {
            for (tokens, odd) in [(1, f32::NAN), (5, f32::NAN), (1, f32::INFINITY), (5, f32::NEG_INFINITY)] {
                let mut x = vec![1.0_f32; 256 * tokens];
                x[77] = odd;
                let mut out = vec![0.0; 20 * tokens];
                multiply(&packed.matrix(), level, Form::Q8, &x, Then::default(), &mut out);
                assert!(out[..20].iter().all(|v| !v.is_finite()), "{level} {ty:?}");
                assert!(out[20..].iter().all(|v| v.is_finite()), "{level} {ty:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_packed_is_refused() {
    assert_eq!(Packed::size(WeightType::Q5_0, 16, 256), None);
    assert_eq!(Packed::size(WeightType::F32, 16, 256), None);
    assert_eq!(Packed::size(WeightType::Q4_K, 16, 128), None);
    assert_eq!(Packed::size(WeightType::Q8_0, usize::MAX, 1 << 40), None);
    // The bytes of 32 rows, where 17 are asked for, and nothing more where scales fill lines of the cache.
    assert_eq!(Packed::size(WeightType::Q8_0, 17, 256), Some(32 * 8 * 34));
    assert_eq!(Packed::size(WeightType::Q4_0, 16, 32), Some(16 * 18 + 32));
    assert_eq!(Packed::size(WeightType::Q4_K, 16, 256), Some(16 * 144));
    assert_eq!(Packed::size(WeightType::Q6_K, 16, 512), Some(16 * 2 * 210));
    let bytes = [0_u8; 4 * 8];
    assert!(Packed::new(&Matrix::new(WeightType::F32, &bytes, 2, 4).unwrap()).is_err());
    assert!(Packed::new(&Matrix::input_major(WeightType::F32, &bytes, 2, 4).unwrap()).is_err());
    let stored = [0_u8; 34];
    let packed = Packed::new(&Matrix::new(WeightType::Q8_0, &stored, 1, 32).unwrap()).unwrap();
    // A copy of a copy is none.
    assert!(Packed::new(&packed.matrix()).is_err());
    let empty = Packed::new(&Matrix::new(WeightType::Q8_0, &[], 0, 32).unwrap()).unwrap();
    assert_eq!(empty.matrix().outputs(), 0);
}
