//! Block rows: made at random and at their extremes, decoded, and compared with the reference's values.

use serde_json::Value;
use tensorgate::gguf::GgmlType;
use tensorgate::simd::{Matrix, WeightType};

/// A small generator (xorshift64*), so that a failure can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        (self.next() >> 56) as u8
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    /// About a normal distribution: the sum of twelve.
    pub(crate) fn value(&mut self) -> f32 {
        (0..12).map(|_| (self.next() >> 40) as f32 / 16_777_216.0).sum::<f32>() - 6.0
    }
}

/// Where F16 scales stand in a block.
fn scales(ty: WeightType) -> &'static [usize] {
    match ty {
        WeightType::Q8_0 | WeightType::Q4_0 | WeightType::Q5_0 => &[0],
        WeightType::Q4_1 | WeightType::Q5_1 | WeightType::Q4_K | WeightType::Q5_K => &[0, 2],
        WeightType::Q6_K => &[208],
        _ => &[],
    }
}

/// How a row's bytes are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Random,
    /// All quants at their greatest, at their least, scales huge, subnormal, zero, negative.
    Extreme,
}

/// A row of `len` elements.
pub(crate) fn row(random: &mut Random, ty: WeightType, len: usize, kind: Kind) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    match ty {
        WeightType::F32 => (0..len).for_each(|_| bytes.extend(random.value().to_le_bytes())),
        WeightType::BF16 => {
            (0..len).for_each(|_| bytes.extend(((random.value().to_bits() >> 16) as u16).to_le_bytes()));
        }
        WeightType::F16 => (0..len).for_each(|_| {
            // Any finite bits, subnormals among them, or values around one.
            let bits = if kind == Kind::Extreme {
                random.next() as u16 & 0xbbff
            } else {
                random.next() as u16 & 0x83ff | 0x3800
            };
            bytes.extend(bits.to_le_bytes());
        }),
        _ => {
            for _ in 0..len / ty.block_elements() {
                let fill = match (kind, random.below(4)) {
                    (Kind::Extreme, 0) => Some(0xff),
                    (Kind::Extreme, 1) => Some(0),
                    (Kind::Extreme, 2) => Some(0x80),
                    _ => None,
                };
                let mut block: Vec<u8> =
                    (0..ty.block_bytes()).map(|_| fill.unwrap_or_else(|| random.byte())).collect();
                for at in scales(ty) {
                    let scale: u16 = match (kind, random.below(6)) {
                        (Kind::Extreme, 0) => 0x7bff,
                        (Kind::Extreme, 1) => 0x0001,
                        (Kind::Extreme, 2) => 0x8000,
                        (Kind::Extreme, 3) => 0xfbff,
                        _ => random.next() as u16 & 0x83ff | 0x2000,
                    };
                    block[*at..at + 2].copy_from_slice(&scale.to_le_bytes());
                }
                bytes.extend(block);
            }
        }
    }
    bytes
}

/// A row decoded to F32.
pub(crate) fn decoded(ty: WeightType, bytes: &[u8], len: usize) -> Vec<f32> {
    let mut out = vec![f32::NAN; len];
    Matrix::new(ty, bytes, 1, len).unwrap().decode_row(0, &mut out).unwrap();
    out
}

#[test]
fn decoding_is_the_references_bit_for_bit() {
    let Some(text) = crate::common::shared("cases/dequant.json") else { return };
    let cases: Value = serde_json::from_slice(&std::fs::read(text).unwrap()).unwrap();
    let mut seen = 0;
    let cases = cases.as_array().cloned().unwrap_or_else(|| cases["cases"].as_array().unwrap().clone());
    for case in cases {
        let id = case["id"].as_u64().unwrap() as u32;
        let Some(ty) = WeightType::from_ggml(GgmlType::from_id(id)) else { continue };
        let hex = |key: &str| -> Vec<u8> {
            let text = case[key].as_str().unwrap();
            (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
        };
        let (block, expected) = (hex("block"), hex("f32"));
        let ours: Vec<u8> =
            decoded(ty, &block, expected.len() / 4).iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(ours, expected, "{ty:?}");
        seen += 1;
    }
    assert!(seen >= 40, "{seen} cases");
}
