//! What values lose: counts on values made by hand.

use tensorgate::gguf::Endian;
use tensorgate::model::convert::{ConvertError, Draft, Loss};
use tensorgate::quant::NonFinite;

use super::*;

fn cast(place: &Place, values: &[u8], from: Dtype, to: Dtype) -> (Loss, Vec<u8>) {
    let count = values.len() as u64 * 8 / from.bits();
    let source = place.safetensors("a.safetensors", &[("w", from, &[count], values)]);
    let choose = move |_: Draft<'_>| Some(to.into());
    let conversion = to_safetensors().with_types(&choose);
    let report = place.convert(&source, &conversion, "b.safetensors").unwrap();
    let bytes = Model::open(place.at("b.safetensors")).unwrap().tensor("w").unwrap().bytes().to_vec();
    (report.losses()[0].unwrap(), bytes)
}

fn halves(bits: &[u16]) -> Vec<u8> {
    bits.iter().flat_map(|bits| bits.to_le_bytes()).collect()
}

#[test]
fn f32_to_f16() {
    let place = Place::new();
    // IEEE 754: the largest half is 65504, and 65520 rounds to infinity; the smallest normal one is 2^-14, the smallest
    // subnormal one 2^-24, half of which rounds to zero.
    let p = |power: i32| 2.0_f32.powi(power);
    let values = [1.0, 65_504.0, 65_519.0, 65_520.0, -1e38, p(-14), -p(-15), p(-24), p(-25), -p(-26), 0.0, -0.0];
    let (loss, bytes) = cast(&place, &f32s(&values), Dtype::F32, Dtype::F16);
    let wanted = [0x3C00, 0x7BFF, 0x7BFF, 0x7C00, 0xFC00, 0x0400, 0x8200, 0x0001, 0, 0x8000, 0, 0x8000];
    assert_eq!(bytes, halves(&wanted));
    assert_eq!((loss.values, loss.not_finite, loss.overflowed, loss.subnormal, loss.vanished), (12, 0, 2, 2, 2));
    assert_eq!(loss.max_error.to_bits(), 15.0_f64.to_bits());
    assert!(!loss.is_exact());
}

#[test]
fn f32_to_bf16_and_back() {
    let place = Place::new();
    let least = f32::MIN_POSITIVE;
    // Halfway between the largest BF16 and infinity; between zero and the smallest subnormal one, 2^-133.
    let values =
        [f32::MAX, f32::from_bits(0x7F7F_7FFF), least, least / 2.0, f32::from_bits(1 << 15), f32::from_bits(1)];
    let (loss, bytes) = cast(&place, &f32s(&values), Dtype::F32, Dtype::BF16);
    assert_eq!(bytes, halves(&[0x7F80, 0x7F7F, 0x0080, 0x0040, 0, 0]));
    // What was subnormal in F32 did not become so.
    assert_eq!((loss.overflowed, loss.subnormal, loss.vanished), (1, 0, 2));
    let (loss, bytes) = cast(&place, &halves(&[0x7F7F, 0x0080, 0x0040, 0x8001, 0]), Dtype::BF16, Dtype::F32);
    assert_eq!(bytes, f32s(&[0x7F7F_0000, 0x0080_0000, 0x0040_0000, 0x8001_0000, 0].map(f32::from_bits)));
    assert!(loss.is_exact() && loss.subnormal == 0, "{loss:?}");
    // F16 has what BF16 cannot tell apart, BF16 has what F16 cannot reach.
    let (loss, bytes) = cast(&place, &halves(&[0x3C01, 0x7BFF]), Dtype::F16, Dtype::BF16);
    assert_eq!((bytes, loss.overflowed), (halves(&[0x3F80, 0x4780]), 0));
    assert_eq!(loss.max_error.to_bits(), 32.0_f64.to_bits());
    let (loss, _) = cast(&place, &halves(&[0x4780, 0x3F80, 0x0080]), Dtype::BF16, Dtype::F16);
    assert_eq!((loss.overflowed, loss.vanished), (1, 1));
}

/// Doubles are finite where they are, whatever they become, and are rounded once.
#[test]
fn f64_to_others() {
    let place = Place::new();
    let values = [1e300, -1e-300, 1e-310, 1e-40, 1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-40), 0.1];
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (loss, out) = cast(&place, &bytes, Dtype::F64, Dtype::F32);
    assert_eq!((loss.not_finite, loss.overflowed, loss.subnormal, loss.vanished), (0, 1, 1, 2));
    assert_eq!(out[20..], f32s(&[0.1])[..]);
    let (loss, out) = cast(&place, &bytes, Dtype::F64, Dtype::F16);
    assert_eq!((loss.overflowed, loss.subnormal, loss.vanished), (1, 0, 3));
    // Through F32 it would be 0x3C00.
    assert_eq!(out[8..10], [0x01, 0x3C]);
}

#[test]
fn what_is_no_number_is_refused_by_name_and_place() {
    let place = Place::new();
    // In the second piece, so that places are counted on.
    let mut values = vec![1.0_f32; (1 << 20) + 1000];
    values[(1 << 20) + 77] = f32::NEG_INFINITY;
    values[(1 << 20) + 900] = f32::NAN;
    let shape = [values.len() as u64];
    let source = place.safetensors("a.safetensors", &[("w\u{e9}", Dtype::F32, &shape, &f32s(&values))]);
    let choose = |_: Draft<'_>| Some(Dtype::F16.into());
    for threads in [1, 2, 5] {
        let conversion = to_gguf().with_types(&choose).with_threads(threads);
        let error = place.convert(&source, &conversion, "a.gguf").unwrap_err();
        assert!(
            matches!(&error, ConvertError::NotFinite { tensor, element: 1_048_653, is_nan: false } if tensor == "w\u{e9}"),
            "{error:?}"
        );
        assert_eq!(error.to_string(), "element 1048653 of \"w\\u{e9}\" is infinite");
        assert_eq!(place.names(), ["a.safetensors"]);
    }
    // Kept where that is said.
    let keep = to_gguf().with_types(&choose).with_non_finite(NonFinite::Keep);
    let report = place.convert(&source, &keep, "a.gguf").unwrap();
    let loss = report.losses()[0].unwrap();
    assert_eq!((loss.values, loss.not_finite, loss.overflowed), (shape[0], 2, 0));
    let bytes = Model::open(place.at("a.gguf")).unwrap().tensor("w\u{e9}").unwrap().bytes().to_vec();
    assert_eq!(bytes[(1_048_653 * 2)..][..2], [0x00, 0xFC]);
    // Where the type stays it is the same.
    let error = place.convert(&source, &to_gguf(), "b.gguf").unwrap_err();
    assert!(matches!(error, ConvertError::NotFinite { element: 1_048_653, is_nan: false, .. }), "{error:?}");
    let keep = to_gguf().with_non_finite(NonFinite::Keep);
    assert!(place.convert(&source, &keep, "b.gguf").unwrap().losses()[0].is_none());
}

/// A scale that spoils a block is found whether the block is decoded or copied, and named by the block's first element.
#[test]
fn a_scale_that_is_no_number() {
    let place = Place::new();
    for (scale, nan) in [([0x00, 0x7E], true), ([0x00, 0xFC], false)] {
        let mut blocks = [1_u8; 3 * 34];
        blocks[34..36].copy_from_slice(&scale);
        let spec = tensorgate::gguf::TensorSpec::new("w", GgmlType::Q8_0, &[3, 32]).with_bytes(&blocks);
        let file = tensorgate::gguf::serialize(
            tensorgate::gguf::NO_PAIRS,
            [spec],
            &tensorgate::gguf::WriteOptions::default(),
        )
        .unwrap();
        std::fs::write(place.at("a.gguf"), file).unwrap();
        let source = Model::open(place.at("a.gguf")).unwrap();
        for conversion in [to_gguf(), to_safetensors()] {
            let error = place.convert(&source, &conversion, "b").unwrap_err();
            let ConvertError::NotFinite { element: 32, is_nan, .. } = error else { panic!("{error:?}") };
            assert_eq!(is_nan, nan);
        }
        let keep = to_gguf().with_non_finite(NonFinite::Keep);
        assert_eq!(place.converted(&source, &keep, "b.gguf").tensor("w").unwrap().bytes(), blocks);
    }
}

/// In a transposed tensor the element is the source's.
#[test]
fn the_place_in_a_transposed_tensor() {
    let place = Place::new();
    for (dtype, bytes) in [
        (Dtype::F32, f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, f32::NAN])),
        (Dtype::F64, [1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN].iter().flat_map(|value| value.to_le_bytes()).collect()),
    ] {
        let source = place.safetensors("a.safetensors", &[("h.0.attn.c_attn.weight", dtype, &[2, 3], &bytes)]);
        let choose = |_: Draft<'_>| Some(GgmlType::F16.into());
        let conversion = to_gguf().with_types(&choose).with_naming(tensorgate::model::convert::Naming::Gpt2);
        let error = place.convert(&source, &conversion, "a.gguf").unwrap_err();
        assert!(matches!(error, ConvertError::NotFinite { element: 5, is_nan: true, .. }), "{error:?}");
        let keep = conversion.with_non_finite(NonFinite::Keep);
        let turned = place.converted(&source, &keep, "a.gguf");
        let w = turned.tensor("blk.0.attn_qkv.weight").unwrap();
        assert_eq!(w.shape(), [3, 2]);
        assert_eq!(w.bytes()[..10], halves(&[0x3C00, 0x4400, 0x4000, 0x4500, 0x4200]));
    }
}

/// The result does not depend on how many threads there are, nor on where pieces end, in either byte order.
#[test]
fn threads_and_pieces() {
    let place = Place::new();
    let values: Vec<f32> = (0..(1_u32 << 21) + 33).map(|at| f32::from_bits(0x3F00_0000 + at * 3)).collect();
    let shape = [values.len() as u64];
    let source = place.safetensors("a.safetensors", &[("w", Dtype::F32, &shape, &f32s(&values))]);
    let choose = |_: Draft<'_>| Some(Dtype::BF16.into());
    let mut wanted = vec![0; values.len() * 2];
    tensorgate::quant::encode(GgmlType::BF16, &values, &mut wanted).unwrap();
    let mut losses = Vec::new();
    for threads in [1, 2, 3] {
        let conversion = to_gguf().with_types(&choose).with_threads(threads);
        losses.push(place.convert(&source, &conversion, "a.gguf").unwrap().losses()[0].unwrap());
        assert!(Model::open(place.at("a.gguf")).unwrap().tensor("w").unwrap().bytes() == wanted);
    }
    assert!(
        losses
            .iter()
            .all(|loss| loss.max_error.to_bits() == losses[0].max_error.to_bits() && loss.values == shape[0])
    );
    let big = place.converted(&source, &to_gguf().with_types(&choose).with_endian(Endian::Big), "b.gguf");
    let swapped: Vec<u8> = wanted.as_chunks::<2>().0.iter().flat_map(|[a, b]| [*b, *a]).collect();
    assert!(big.tensor("w").unwrap().bytes() == swapped);
}
