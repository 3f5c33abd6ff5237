//! Encoding: ggml's own blocks byte for byte, errors bounded by what the format can hold, and nothing that panics.

mod common;

use proptest::prelude::*;
use serde_json::Value as Json;
use tensorgate::gguf::GgmlType;
use tensorgate::quant::{
    NonFinite, QuantError, check_row, decode, encode, encode_with, is_decodable, is_encodable, swap_order,
};

fn hex(text: &Json) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn encodable() -> impl Iterator<Item = GgmlType> {
    GgmlType::ALL.iter().copied().filter(|kind| is_encodable(*kind))
}

fn sizes(kind: GgmlType) -> (usize, usize) {
    (kind.block_elements().unwrap() as usize, kind.block_bytes().unwrap() as usize)
}

/// Values encoded, and decoded again.
fn there_and_back(kind: GgmlType, values: &[f32]) -> (Vec<u8>, Vec<f32>) {
    let mut blocks = vec![0; usize::try_from(kind.bytes_for(values.len() as u64).unwrap()).unwrap()];
    encode(kind, values, &mut blocks).unwrap();
    let mut back = vec![f32::NAN; values.len()];
    decode(kind, &blocks, &mut back).unwrap();
    (blocks, back)
}

/// The blocks of `tests/data/encode.json`, which `scripts/encode_vectors.py` has made with ggml 0.25.3.
#[test]
fn every_vector_byte_for_byte() {
    let rows: Vec<Json> = serde_json::from_str(include_str!("data/encode.json")).unwrap();
    let mut compared = 0;
    for row in &rows {
        let values: Vec<f32> =
            hex(&row["values"]).as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        for (name, blocks) in row["blocks"].as_object().unwrap() {
            let kind = encodable().find(|kind| kind.name() == Some(name)).unwrap();
            let want = hex(blocks);
            let mut ours = vec![0xA5; want.len()];
            // Some of the large values become infinite halves, there as here.
            encode_with(kind, NonFinite::Keep, &values, &mut ours).unwrap();
            let at = ours.iter().zip(&want).position(|(ours, want)| ours != want);
            assert_eq!(at, None, "{}, {kind}: {ours:02x?} instead of {want:02x?}", row["name"]);
            compared += 1;
        }
    }
    assert!(rows.len() >= 17 && compared == 12 * rows.len());
}

/// Half a step of a block's scale is the most that an element is off, and what rounding the scale to a half adds.
#[test]
fn errors_are_bounded() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(i16::from_be_bytes([state.to_be_bytes()[0], state.to_be_bytes()[1]])) / 32_768.0
    };
    for _ in 0..60 {
        let values: Vec<f32> = (0..256).map(|_| random() * 3.0).collect();
        for kind in encodable() {
            let (blocks, back) = there_and_back(kind, &values);
            assert_eq!(check_row(kind, &blocks), Ok(()));
            let elements = sizes(kind).0.clamp(32, 256);
            for (values, back) in values.chunks(elements).zip(back.chunks(elements)) {
                let most = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                let low = values.iter().fold(f32::MAX, |low, value| low.min(*value));
                let high = values.iter().fold(f32::MIN, |high, value| high.max(*value));
                let steps = match kind {
                    GgmlType::F32 => 0.0,
                    GgmlType::F16 => most / 2048.0,
                    GgmlType::BF16 => most / 256.0,
                    GgmlType::Q8_0 => most / 127.0 / 2.0 + most / 2048.0,
                    // The largest value to the other side of the extreme one is a whole step off.
                    GgmlType::Q4_0 => most / 8.0 + most / 2048.0,
                    GgmlType::Q5_0 => most / 16.0 + most / 2048.0,
                    GgmlType::Q4_1 => (high - low) / 15.0 / 2.0 + (high - low + most) / 1024.0,
                    GgmlType::Q5_1 => (high - low) / 31.0 / 2.0 + (high - low + most) / 1024.0,
                    // Scales of 6 bits: half a step of those on top.
                    GgmlType::Q4_K => (high - low) / 15.0 + most / 16.0,
                    GgmlType::Q5_K => (high - low) / 31.0 + most / 16.0,
                    GgmlType::Q6_K => most / 32.0 + most / 64.0,
                    // The widest gap of the table is 24 of 113.
                    GgmlType::IQ4_NL => most * 24.0 / 113.0,
                    // 6 is followed by 8, which the next power of two up begins with.
                    GgmlType::MXFP4 => most / 4.0,
                    other => panic!("{other} has no bound"),
                };
                for (value, back) in values.iter().zip(back) {
                    assert!(
                        (value - back).abs() <= steps,
                        "{kind}: {value} comes back as {back}, not within {steps}"
                    );
                }
            }
        }
    }
}

/// What is on the grid of a format stays there: what was decoded is encoded to the same values.
#[test]
fn encoding_again_changes_nothing() {
    let values: Vec<f32> = (0..1024_i16).map(|at| f32::from(at % 255 - 127) / 64.0).collect();
    for kind in [
        GgmlType::F32,
        GgmlType::F16,
        GgmlType::BF16,
        GgmlType::Q8_0,
        GgmlType::Q4_0,
        GgmlType::Q5_0,
        GgmlType::MXFP4,
    ] {
        let (_, once) = there_and_back(kind, &values);
        let (_, twice) = there_and_back(kind, &once);
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= a.abs() / 1000.0;
        assert!(once.iter().zip(&twice).all(close), "{kind}");
    }
}

#[test]
fn what_is_not_finite_is_refused_and_named() {
    for kind in encodable() {
        let (elements, bytes) = sizes(kind);
        let count = elements.max(1) * 5;
        for (spoilt, is_nan) in [(f32::NAN, true), (-f32::INFINITY, false)] {
            for at in [0, 1, count / 2, count - 1] {
                let mut values = vec![0.5; count];
                values[at] = spoilt;
                values[count - 1] = spoilt;
                let mut out = vec![0x5A; 5 * bytes];
                let error = encode(kind, &values, &mut out);
                assert_eq!(error, Err(QuantError::NotFinite { index: at as u64, is_nan }), "{kind}");
                assert!(out.iter().all(|byte| *byte == 0x5A), "{kind}: nothing is written");
                assert_eq!(encode_with(kind, NonFinite::Keep, &values, &mut out), Ok(()));
            }
        }
    }
    // Far along, in the second thousand.
    let mut values = vec![0.5; 2048];
    values[1500] = f32::NAN;
    let error = encode(GgmlType::F16, &values, &mut [0; 4096]);
    assert_eq!(error, Err(QuantError::NotFinite { index: 1500, is_nan: true }));
}

#[test]
fn what_is_too_large_is_refused_and_named() {
    let mut values = [1.0; 64];
    values[40] = 65_519.9;
    assert_eq!(encode(GgmlType::F16, &values, &mut [0; 128]), Ok(()));
    values[40] = 65_520.0;
    assert_eq!(encode(GgmlType::F16, &values, &mut [0; 128]), Err(QuantError::Overflow { index: 40 }));
    values[40] = 1e9;
    assert_eq!(encode(GgmlType::Q8_0, &values, &mut [0; 68]), Err(QuantError::Overflow { index: 32 }));
    assert_eq!(encode(GgmlType::Q4_1, &values, &mut [0; 40]), Err(QuantError::Overflow { index: 32 }));
    assert_eq!(encode(GgmlType::MXFP4, &values, &mut [0; 34]), Ok(()));
    assert_eq!(encode(GgmlType::BF16, &values, &mut [0; 128]), Ok(()));
    assert_eq!(encode_with(GgmlType::Q8_0, NonFinite::Keep, &values, &mut [0; 68]), Ok(()));
    // Where the reference's sums overflow it writes a block of zeros.
    let mut values = [1.0; 512];
    values[300] = 3e38;
    for kind in [GgmlType::Q4_K, GgmlType::Q5_K, GgmlType::Q6_K, GgmlType::IQ4_NL] {
        let mut out = vec![0; usize::try_from(kind.bytes_for(512).unwrap()).unwrap()];
        assert_eq!(encode(kind, &values, &mut out), Err(QuantError::Overflow { index: 300 }), "{kind}");
        assert_eq!(encode_with(kind, NonFinite::Keep, &values, &mut out), Ok(()));
    }
}

#[test]
fn lengths_and_types_are_checked() {
    for kind in GgmlType::ALL.iter().copied().filter(|kind| !is_encodable(*kind)) {
        assert_eq!(encode(kind, &[], &mut []), Err(QuantError::NoEncoder(kind)));
    }
    let stranger = GgmlType::from_id(36);
    assert_eq!(encode(stranger, &[], &mut []), Err(QuantError::UnknownType(stranger)));
    for kind in encodable() {
        let (elements, bytes) = sizes(kind);
        assert_eq!(encode(kind, &[], &mut []), Ok(()));
        let (expected, found) = (bytes as u64, bytes as u64 + 1);
        let values = vec![0.0; elements];
        assert_eq!(encode(kind, &values, &mut vec![0; bytes + 1]), Err(QuantError::Bytes { expected, found }));
        if elements > 1 {
            let error = Err(QuantError::Blocks { kind, elements: elements as u64 - 1 });
            assert_eq!(encode(kind, &values[1..], &mut vec![0; bytes]), error);
        }
    }
}

fn any_kind() -> impl Strategy<Value = GgmlType> {
    prop_oneof![8 => proptest::sample::select(GgmlType::ALL), 1 => any::<u32>().prop_map(GgmlType::from_id)]
}

proptest! {
    /// Any bytes of any length as any type: decoded or refused, and the checks agree with what comes out.
    #[test]
    fn any_bytes_as_any_type(
        kind in any_kind(),
        mut bytes in proptest::collection::vec(any::<u8>(), 0..700),
        whole in any::<bool>(),
        elements in 0..600_usize,
    ) {
        let (count, size) = match kind.block() {
            Some(block) => (block.elements() as usize, block.bytes() as usize),
            None => (1, 1),
        };
        let blocks = bytes.len() / size;
        if whole {
            bytes.truncate(blocks * size);
        }
        let elements = if whole { blocks * count } else { elements };
        let mut out = vec![0.0; elements];
        let fits = elements.is_multiple_of(count) && elements / count * size == bytes.len();
        prop_assert_eq!(decode(kind, &bytes, &mut out).is_ok(), fits && is_decodable(kind));
        let checked = check_row(kind, &bytes);
        prop_assert_eq!(matches!(checked, Ok(()) | Err(QuantError::Fault(_))), kind.is_known() && bytes.len().is_multiple_of(size));
        // A finite scale of these, times an element, may be infinite.
        let is_wide = kind == GgmlType::Q8_K || kind == GgmlType::MXFP4;
        if fits && is_decodable(kind) && !is_wide && checked.is_ok() {
            prop_assert!(out.iter().all(|value| value.is_finite()));
        }
        let mut turned = bytes.clone();
        if swap_order(kind, &mut turned).is_ok() {
            prop_assert!(swap_order(kind, &mut turned).is_ok());
        }
        prop_assert_eq!(turned, bytes);
    }

    /// Any values, also those that are not finite, as any type: never a panic, and finite blocks come back finite.
    #[test]
    fn any_values_as_any_type(
        kind in any_kind(),
        bits in proptest::collection::vec(prop_oneof![any::<u32>(), 0x3000_0000..0x4700_0000_u32, Just(0x8000_0000)], 256),
    ) {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        let Some(size) = kind.bytes_for(256) else { return Ok(()) };
        let mut out = vec![0; usize::try_from(size).unwrap()];
        let kept = encode_with(kind, NonFinite::Keep, &values, &mut out);
        prop_assert_eq!(kept.is_ok(), is_encodable(kind));
        let is_finite = values.iter().all(|value| value.is_finite());
        if encode(kind, &values, &mut out).is_ok() {
            prop_assert!(is_finite);
            let mut back = vec![f32::NAN; 256];
            decode(kind, &out, &mut back).unwrap();
            prop_assert!(back.iter().all(|value| value.is_finite()));
        }
    }
}
