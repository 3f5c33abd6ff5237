//! Decoding at every level: the reference's vectors, and the plain decoder on random and extreme blocks.

use tensorgate::gguf::GgmlType;
use tensorgate::quant::{self, QuantError};
use tensorgate::simd::{Level, decode};

use crate::blocks::Random;
use crate::common::cases;

/// Bit for bit, but that of a NaN only that it is one is compared.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn the_references_vectors_at_every_level() {
    let mut seen = 0;
    for case in cases("dequant.json") {
        let kind = GgmlType::from_id(u32::try_from(case["id"].as_u64().unwrap()).unwrap());
        let (block, expected) = (unhex(case["block"].as_str().unwrap()), unhex(case["f32"].as_str().unwrap()));
        let expected: Vec<f32> =
            expected.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        for level in Level::all() {
            let mut out = vec![0.0; expected.len()];
            decode(level, kind, &block, &mut out).unwrap();
            assert!(out.iter().zip(&expected).all(|(a, b)| same(*a, *b)), "{kind} {level}");
            seen += 1;
        }
    }
    assert!(seen >= 200, "{seen}");
}

/// Blocks of a type: random bytes, all bytes alike, or random with bytes of an extreme in places.
fn blocks(random: &mut Random, size: usize, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..count {
        let style = random.below(8);
        let fill = [0x00, 0xFF, 0x80, 0x7F, 0x55][random.below(5)];
        all.extend((0..size).map(|_| match style {
            0 => fill,
            1 if random.below(3) > 0 => fill,
            _ => random.byte(),
        }));
    }
    all
}

#[test]
fn every_type_is_the_plain_decoder_at_every_level_and_alignment() {
    let mut random = Random(0x5eed_0dec_0de0);
    for kind in GgmlType::ALL.iter().copied() {
        let size = kind.block().unwrap();
        let (bytes, elements) = (size.bytes() as usize, size.elements() as usize);
        for offset in 0..64 {
            let count = if elements == 1 { 300 } else { 5 + random.below(3) };
            let data = blocks(&mut random, bytes, count);
            let mut expected = vec![0.0; count * elements];
            quant::decode(kind, &data, &mut expected).unwrap();
            let mut moved = vec![0xA5; offset];
            moved.extend_from_slice(&data);
            for level in Level::all() {
                // What stands around the elements stays as it was.
                let mut room = vec![7.0; expected.len() + 17];
                let out = &mut room[offset % 16..][..expected.len()];
                decode(level, kind, &moved[offset..], out).unwrap();
                for (at, (a, b)) in out.iter().zip(&expected).enumerate() {
                    assert!(same(*a, *b), "{kind} {level}: element {at} is {a:e}, not {b:e}");
                }
                let around = room[..offset % 16].iter().chain(&room[offset % 16 + expected.len()..]);
                assert!(around.copied().all(|value| value == 7.0), "{kind} {level}");
            }
        }
    }
}

#[test]
fn all_scales_of_a_half_give_the_same() {
    // Every code of the first half, over quants of all values: subnormals, infinities and NaN among them.
    let mut random = Random(77);
    for (kind, at) in [
        (GgmlType::Q4_0, 0),
        (GgmlType::Q4_1, 0),
        (GgmlType::Q5_0, 0),
        (GgmlType::Q5_1, 2),
        (GgmlType::Q8_0, 0),
        (GgmlType::Q2_K, 80),
        (GgmlType::Q3_K, 108),
        (GgmlType::Q4_K, 0),
        (GgmlType::Q5_K, 2),
        (GgmlType::Q6_K, 208),
        (GgmlType::IQ4_NL, 0),
    ] {
        let size = kind.block().unwrap();
        let (bytes, elements) = (size.bytes() as usize, size.elements() as usize);
        let step = if elements == 32 { 1 } else { 7 };
        let mut data: Vec<u8> = Vec::new();
        for code in (0..=u16::MAX).step_by(step) {
            let mut block: Vec<u8> = (0..bytes).map(|_| random.byte()).collect();
            block[at..at + 2].copy_from_slice(&code.to_le_bytes());
            data.extend(block);
        }
        let mut expected = vec![0.0; data.len() / bytes * elements];
        quant::decode(kind, &data, &mut expected).unwrap();
        for level in Level::all() {
            let mut out = vec![0.0; expected.len()];
            decode(level, kind, &data, &mut out).unwrap();
            let wrong = out.iter().zip(&expected).position(|(a, b)| !same(*a, *b));
            assert_eq!(wrong, None, "{kind} {level}");
        }
    }
}

#[test]
fn errors_are_those_of_the_plain_decoder() {
    for level in Level::all() {
        let mut out = [7.0; 64];
        for (kind, bytes, elements) in [
            (GgmlType::Q4_0, 18, 64),
            (GgmlType::Q4_0, 37, 64),
            (GgmlType::Q4_0, 18, 31),
            (GgmlType::from_id(36), 18, 32),
        ] {
            let data = vec![0; bytes];
            let plain = quant::decode(kind, &data, &mut out[..elements]).unwrap_err();
            assert_eq!(decode(level, kind, &data, &mut out[..elements]), Err(plain));
        }
        assert_eq!(out, [7.0; 64]);
        assert_eq!(decode(level, GgmlType::Q6_K, &[], &mut []), Ok(()));
        let short = decode(level, GgmlType::Q8_0, &[0; 33], &mut out[..32]);
        assert_eq!(short, Err(QuantError::Bytes { expected: 34, found: 33 }));
    }
}
