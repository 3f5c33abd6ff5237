//! Reference blocks of every type with what the reference decodes them to, bit for bit.

mod common;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use tensorgate::gguf::{Endian, GgmlType};
use tensorgate::quant::{
    QuantError, check_row, decode, decode_block, decode_from, faults, is_decodable, swap_order,
};

fn hex(case: &Json, field: &str) -> Vec<u8> {
    let text = case[field].as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn kind_of(name: &str) -> GgmlType {
    let same = |kind: &&GgmlType| kind.name().unwrap().eq_ignore_ascii_case(name);
    *GgmlType::ALL.iter().find(same).unwrap_or_else(|| panic!("{name}"))
}

/// A case: its type, its block, and the elements that the reference makes of it.
fn cases() -> Vec<(GgmlType, Vec<u8>, Vec<f32>)> {
    let read = |case: &Json| {
        let values = hex(case, "f32").as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        (kind_of(case["type"].as_str().unwrap()), hex(case, "block"), values)
    };
    common::cases("dequant.json").iter().map(read).collect()
}

/// The same bits; of NaNs only that they are some. A block's NaN comes from multiplying its scale, and the sign and the
/// payload of a product are fixed neither by Rust nor by C.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn every_vector_bit_for_bit() {
    let mut seen = BTreeMap::new();
    for (kind, block, want) in cases() {
        let mut out = vec![f32::NAN; want.len()];
        let result = decode(kind, &block, &mut out);
        if !is_decodable(kind) {
            assert_eq!(result, Err(QuantError::Feature(kind)));
            continue;
        }
        assert_eq!(result, Ok(()));
        for (at, (out, want)) in out.iter().zip(&want).enumerate() {
            assert!(same(*out, *want), "{kind}, element {at}: {out:e}, not {want:e}");
        }
        // The same in a big-endian file.
        let mut turned = block.clone();
        swap_order(kind, &mut turned).unwrap();
        let mut again = vec![f32::NAN; want.len()];
        decode_from(kind, Endian::Big, &turned, &mut again).unwrap();
        assert!(again.iter().zip(&want).all(|(out, want)| same(*out, *want)), "{kind}, big-endian");
        // A scale that is not finite is what `check_row` finds.
        let is_finite = want.iter().all(|value| value.is_finite());
        assert_eq!(check_row(kind, &block).is_ok(), is_finite || kind == GgmlType::MXFP4, "{kind}");
        assert_eq!(
            faults(kind, Endian::Big, &turned).unwrap().next(),
            faults(kind, Endian::Little, &block).unwrap().next()
        );
        *seen.entry(kind).or_insert(0) += 1;
    }
    let iq = if cfg!(feature = "iq") { 28 } else { 21 };
    assert_eq!(seen.len(), iq);
    assert!(seen.values().all(|count| *count >= 5));
}

#[test]
fn q8_1_is_q8_0_with_a_sum() {
    for (_, block, want) in cases().into_iter().filter(|case| case.0 == GgmlType::Q8_0) {
        let mut longer = block.clone();
        longer.splice(2..2, [0x00, 0x7E]);
        let mut out = [0.0; 32];
        decode_block(GgmlType::Q8_1, &longer, &mut out).unwrap();
        assert!(out.iter().zip(&want).all(|(out, want)| same(*out, *want)));
    }
}

#[test]
fn plain_numbers_are_rounded_to_nearest() {
    fn one(kind: GgmlType, bytes: &[u8], want: f32) {
        let mut out = [f32::NAN];
        decode(kind, bytes, &mut out).unwrap();
        assert_eq!(out[0].to_bits(), want.to_bits(), "{kind}");
        let mut turned = bytes.to_vec();
        turned.reverse();
        decode_from(kind, Endian::Big, &turned, &mut out).unwrap();
        assert_eq!(out[0].to_bits(), want.to_bits(), "{kind}, big-endian");
    }
    one(GgmlType::F32, &1.1_f32.to_le_bytes(), 1.1);
    one(GgmlType::F64, &1.1_f64.to_le_bytes(), 1.1);
    one(GgmlType::F64, &1e300_f64.to_le_bytes(), f32::INFINITY);
    one(GgmlType::I8, &[0x80], -128.0);
    one(GgmlType::I16, &(-32_768_i16).to_le_bytes(), -32_768.0);
    one(GgmlType::I32, &16_777_217_i32.to_le_bytes(), 16_777_216.0);
    one(GgmlType::I32, &16_777_219_i32.to_le_bytes(), 16_777_220.0);
    one(GgmlType::I32, &i32::MIN.to_le_bytes(), -2_147_483_648.0);
    one(GgmlType::I64, &i64::MAX.to_le_bytes(), 9_223_372_036_854_775_808.0);
    one(GgmlType::BF16, &[0x80, 0x3F], 1.0);
    one(GgmlType::F16, &[0x01, 0x80], -1.0 / 16_777_216.0);
}

#[test]
fn lengths_are_checked() {
    for kind in GgmlType::ALL.iter().copied().filter(|kind| is_decodable(*kind)) {
        let (elements, bytes) = (kind.block_elements().unwrap() as usize, kind.block_bytes().unwrap() as usize);
        let mut out = vec![0.0; 3 * elements];
        let data = vec![0; 3 * bytes + 1];
        assert_eq!(decode(kind, &data[1..], &mut out), Ok(()));
        assert_eq!(decode(kind, &[], &mut []), Ok(()));
        let (expected, found) = (3 * bytes as u64, 3 * bytes as u64 + 1);
        assert_eq!(decode(kind, &data, &mut out), Err(QuantError::Bytes { expected, found }));
        let found = 2 * bytes as u64;
        assert_eq!(decode(kind, &data[..2 * bytes], &mut out), Err(QuantError::Bytes { expected, found }));
        assert_eq!(decode_block(kind, &data[..bytes], &mut out[..elements]), Ok(()));
        let elements = 3 * elements as u64;
        assert_eq!(decode_block(kind, &data[..3 * bytes], &mut out), Err(QuantError::Blocks { kind, elements }));
        if elements > 3 {
            let elements = elements - 1;
            let short = &mut out[1..];
            assert_eq!(decode(kind, &data[1..], short), Err(QuantError::Blocks { kind, elements }));
            assert!(matches!(check_row(kind, &data), Err(QuantError::Bytes { .. })));
        }
    }
    for id in [4, 5, 31, 36, 43, u32::MAX] {
        let kind = GgmlType::from_id(id);
        assert_eq!(decode(kind, &[], &mut []), Err(QuantError::UnknownType(kind)));
        assert_eq!(check_row(kind, &[]), Err(QuantError::UnknownType(kind)));
        assert_eq!(swap_order(kind, &mut []), Err(QuantError::UnknownType(kind)));
    }
}

#[cfg(feature = "alloc")]
mod tensors {
    use super::*;
    use tensorgate::Gguf;
    use tensorgate::gguf::{NO_PAIRS, TensorSpec, WriteOptions, serialize};
    use tensorgate::quant::{Rows, Values};

    /// The elements of a tensor in every lazy way, against decoding all at once.
    #[test]
    fn lazy_views_say_the_same() {
        let mut random = 1_u32;
        for kind in GgmlType::ALL.iter().copied().filter(|kind| is_decodable(*kind)) {
            let block = kind.block().unwrap();
            let row = 3 * u64::from(block.elements());
            let bytes: Vec<u8> = (0..7 * 3 * block.bytes())
                .map(|_| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    random.to_be_bytes()[0]
                })
                .collect();
            let dims = [7, row];
            let spec = TensorSpec::new("w", kind, &dims).with_bytes(&bytes);
            let file = serialize(NO_PAIRS, [spec], &WriteOptions::default()).unwrap();
            let file = Gguf::open(&file).unwrap();
            let tensor = file.tensor("w").unwrap();
            let mut want = vec![0.0; usize::try_from(tensor.elements()).unwrap()];
            decode(kind, &bytes, &mut want).unwrap();
            let all_same = |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, *b));

            let rows = Rows::of(&tensor).unwrap();
            assert_eq!((rows.len(), rows.row_elements() as u64), (7, row));
            let mut out = vec![0.0; rows.row_elements()];
            for (index, want) in want.chunks(rows.row_elements()).enumerate() {
                rows.decode(index, &mut out).unwrap();
                assert!(all_same(&out, want), "{kind}");
            }
            assert_eq!(rows.decode(7, &mut out), Err(QuantError::Row { index: 7, rows: 7 }));
            assert!(rows.bytes(usize::MAX).is_none());

            let values = Values::of(&tensor).unwrap();
            assert_eq!(values.len(), want.len());
            assert!(all_same(&values.clone().collect::<Vec<_>>(), &want), "{kind}");
            let folded = values.clone().fold(Vec::new(), |mut all, value| {
                all.push(value);
                all
            });
            assert!(all_same(&folded, &want), "{kind}");
            for skipped in [0, 1, 31, 200, 300, want.len() - 2, want.len() - 1, want.len(), usize::MAX] {
                let mut rest = values.clone();
                let first = rest.next().unwrap();
                assert!(same(first, want[0]));
                let got = rest.nth(skipped);
                let at = skipped.saturating_add(1);
                assert_eq!(got.is_some(), at < want.len(), "{kind} {skipped}");
                assert!(got.is_none_or(|got| same(got, want[at])), "{kind} {skipped}");
                assert_eq!(rest.len(), want.len().saturating_sub(at.saturating_add(1)));
                assert!(all_same(&rest.collect::<Vec<_>>(), want.get(at.saturating_add(1)..).unwrap_or_default()));
            }
        }
    }
}
