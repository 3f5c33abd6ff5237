//! Between the formats: types that both have, types that one has only, and tensors that fit into one only.

use tensorgate::model::ElementType;
use tensorgate::model::convert::{ConvertError, ProblemKind};
use tensorgate::quant::NonFinite;
use tensorgate::{Dtype, Limits};

use super::*;

/// What both formats have, by GGUF's documentation of `ggml_type` and safetensors' of `Dtype`.
const BOTH: [(Dtype, GgmlType); 8] = [
    (Dtype::F64, GgmlType::F64),
    (Dtype::F32, GgmlType::F32),
    (Dtype::F16, GgmlType::F16),
    (Dtype::BF16, GgmlType::BF16),
    (Dtype::I64, GgmlType::I64),
    (Dtype::I32, GgmlType::I32),
    (Dtype::I16, GgmlType::I16),
    (Dtype::I8, GgmlType::I8),
];

#[test]
fn types_of_both_formats_go_there_and_back_bit_for_bit() {
    let place = Place::new();
    // Bits of NaNs and infinities among them.
    let bytes: Vec<u8> = (0..48_u8).map(|byte| byte.wrapping_mul(85) | 0xF0).collect();
    let specs: Vec<(String, Dtype, [u64; 2])> =
        BOTH.iter().map(|(dtype, _)| (format!("t.{dtype}"), *dtype, [2, 3])).collect();
    let list: Vec<(&str, Dtype, &[u64], &[u8])> = specs
        .iter()
        .map(|(name, dtype, shape)| {
            let len = usize::try_from(dtype.bits() / 8 * 6).unwrap();
            (name.as_str(), *dtype, shape.as_slice(), &bytes[..len])
        })
        .collect();
    let source = place.safetensors("a.safetensors", &list);
    let keep = |conversion: Conversion<'static>| conversion.with_non_finite(NonFinite::Keep);
    let there = place.converted(&source, &keep(to_gguf()), "a.gguf");
    for (dtype, kind) in BOTH {
        let (old, new) =
            (source.tensor(&format!("t.{dtype}")).unwrap(), there.tensor(&format!("t.{dtype}")).unwrap());
        assert_eq!((new.element(), new.shape(), new.bytes()), (kind.into(), old.shape(), old.bytes()));
    }
    let back = place.converted(&there, &keep(to_safetensors()), "b.safetensors");
    assert_eq!(tensors(&back), tensors(&source));
}

#[test]
fn everything_that_cannot_be_is_listed_at_once() {
    let place = Place::new();
    let (bytes, long) = ([0_u8; 64], "n".repeat(64));
    let others: Vec<(String, Dtype)> = Dtype::ALL
        .iter()
        .filter(|dtype| BOTH.iter().all(|(both, _)| both != *dtype))
        .map(|dtype| (format!("no.{dtype}"), *dtype))
        .collect();
    assert_eq!(others.len(), 22 - 8);
    let mut list: Vec<(&str, Dtype, &[u64], &[u8])> = others
        .iter()
        .map(|(name, dtype)| {
            (name.as_str(), *dtype, &[4_u64][..], &bytes[..usize::try_from(dtype.bits() / 2).unwrap()])
        })
        .collect();
    list.push(("fine", Dtype::F32, &[2], &bytes[..8]));
    list.push(("deep", Dtype::I8, &[1, 1, 1, 1, 1], &bytes[..1]));
    list.push((&long, Dtype::I8, &[1], &bytes[..1]));
    list.push(("", Dtype::I8, &[1], &bytes[..1]));
    list.push(("bell\u{7}", Dtype::I8, &[1], &bytes[..1]));
    let source = place.safetensors("a.safetensors", &list);
    let mut found = problems(to_gguf().plan(&source));
    found.sort_by(|a, b| a.tensor.cmp(&b.tensor));
    let mut wanted: Vec<Problem> = others
        .iter()
        .map(|(name, dtype)| Problem { tensor: name.clone(), kind: ProblemKind::NoType((*dtype).into()) })
        .collect();
    wanted.push(Problem { tensor: "deep".to_owned(), kind: ProblemKind::Rank { rank: 5, most: 4 } });
    wanted.push(Problem { tensor: long.clone(), kind: ProblemKind::Name { len: 64, most: 63 } });
    wanted.push(Problem { tensor: String::new(), kind: ProblemKind::NameText });
    wanted.push(Problem { tensor: "bell\u{7}".to_owned(), kind: ProblemKind::NameText });
    wanted.sort_by(|a, b| a.tensor.cmp(&b.tensor));
    assert_eq!(found, wanted);
    let text = to_gguf().plan(&source).unwrap_err().to_string();
    assert!(text.starts_with("18 of the tensors cannot be converted:\n"), "{text}");
    assert!(text.contains("\n  \"no.BOOL\": the format has no type BOOL"), "{text}");
    assert!(text.contains("\n  \"deep\": 5 dimensions, and the format allows 4"), "{text}");
    // In its own format all of it can be.
    let copy = place.converted(&source, &to_safetensors(), "b.safetensors");
    assert_eq!(tensors(&copy), tensors(&source));
}

#[test]
fn names_of_63_bytes_four_dimensions_scalars_and_empty_tensors_are_in_both() {
    let place = Place::new();
    let name = "é".repeat(31) + "n";
    let source = place.safetensors(
        "a.safetensors",
        &[
            (&name, Dtype::I8, &[1, 2, 1, 2], &[1, 2, 3, 4]),
            ("scalar", Dtype::F32, &[], &[0, 0, 128, 63]),
            ("none", Dtype::F16, &[0], &[]),
            ("none.2", Dtype::F32, &[3, 0], &[]),
        ],
    );
    let there = place.converted(&source, &to_gguf(), "a.gguf");
    assert_eq!(there.tensor(&name).unwrap().shape(), [1, 2, 1, 2]);
    let back = place.converted(&there, &to_safetensors(), "b.safetensors");
    assert_eq!(tensors(&back), tensors(&source));
    // Casts of them too.
    let halves = |_: Draft<'_>| Some(Dtype::F16.into());
    let cast = place.converted(&source, &to_gguf().with_types(&halves), "c.gguf");
    assert_eq!(cast.tensor("scalar").unwrap().bytes(), [0, 0x3C]);
    assert_eq!(cast.tensor("none.2").unwrap().shape(), [3, 0]);
    // And a model of none.
    let empty = place.safetensors("empty.safetensors", &[]);
    assert!(place.converted(&empty, &to_gguf(), "empty.gguf").is_empty());
    let split =
        to_gguf().plan(&empty).unwrap().save(Target::Shards(&place.at("s.gguf"), 1), &Saver::new()).unwrap();
    assert!(Model::open(&split.files()[0]).unwrap().is_empty());
    assert!(place.converted(&empty, &to_safetensors(), "empty2.safetensors").is_empty());
}

use tensorgate::model::convert::Draft;

/// Blocks become F32, or another type of numbers, and are what decoding says.
#[test]
fn blocks_become_numbers() {
    let place = Place::new();
    for kind in GgmlType::ALL.iter().copied().filter(|kind| kind.block_elements().unwrap() > 1) {
        let (block, elements) = (kind.block_bytes().unwrap(), kind.block_elements().unwrap());
        // Scales of a quarter at the most wherever they are: 0x31 and less is small as F16's high byte.
        let len = usize::try_from(block).unwrap() * 6;
        let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at * 7 % 0x32).unwrap()).collect();
        let shape = [2_u64, u64::from(elements) * 3];
        let source = place.gguf("a.gguf", &[], &[("w", kind, &shape, &bytes)]);
        let mut values = vec![0.0_f32; usize::try_from(elements).unwrap() * 6];
        tensorgate::quant::decode(kind, &bytes, &mut values).unwrap();
        assert!(values.iter().all(|value| value.is_finite()), "{kind}");
        assert!(values.iter().any(|value| value.abs() > 0.0), "{kind}");
        let full = place.converted(&source, &to_safetensors(), "b.safetensors");
        let w = full.tensor("w").unwrap();
        assert_eq!((w.element(), w.shape()), (Dtype::F32.into(), &shape[..]));
        assert_eq!(w.bytes(), f32s(&values), "{kind}");
        for dtype in [Dtype::F16, Dtype::BF16] {
            let choose = move |_: Draft<'_>| Some(dtype.into());
            let half = place.converted(&source, &to_safetensors().with_types(&choose), "c.safetensors");
            let mut wanted = vec![0; values.len() * 2];
            let to = if dtype == Dtype::F16 { GgmlType::F16 } else { GgmlType::BF16 };
            let keep = tensorgate::quant::NonFinite::Keep;
            tensorgate::quant::encode_with(to, keep, &values, &mut wanted).unwrap();
            assert_eq!(half.tensor("w").unwrap().bytes(), wanted, "{kind} {dtype}");
        }
    }
}

#[test]
fn rows_that_are_no_whole_blocks_and_types_that_nobody_writes() {
    let place = Place::new();
    let bytes = [0_u8; 4 * 96];
    let source = place
        .safetensors("a.safetensors", &[("a", Dtype::F32, &[3, 32], &bytes), ("b", Dtype::F32, &[32, 3], &bytes)]);
    let q8 = |_: Draft<'_>| Some(GgmlType::Q8_0.into());
    let found = problems(to_gguf().with_types(&q8).plan(&source));
    assert_eq!(found, [Problem { tensor: "b".to_owned(), kind: ProblemKind::Rows { row: 3, block: 32 } }]);
    // Found before anything is written, not in the middle.
    for kind in [GgmlType::Q2_K, GgmlType::I32, GgmlType::from_id(99)] {
        let choose = move |draft: Draft<'_>| (draft.name == "a").then(|| ElementType::from(kind));
        let found = problems(to_gguf().with_types(&choose).plan(&source));
        assert_eq!(found, [Problem { tensor: "a".to_owned(), kind: ProblemKind::NotEncodable(kind.into()) }]);
    }
}

/// Listed with the others, as far as the limits let such a file in at all.
#[test]
fn unknown_types_are_refused() {
    let place = Place::new();
    let mut file = crate::common::gguf::Writer::new(2, 0);
    file.tensor("known", &[4], 0, 0).tensor("unknown", &[4], 99, 32).data(64);
    fs::write(place.at("a.gguf"), &file.0).unwrap();
    assert!(Model::open(place.at("a.gguf")).is_err());
    let limits = Limits::default().with_gguf_unknown_types(true);
    let options = tensorgate::model::Options::default().with_limits(limits);
    let model = Model::open_with(place.at("a.gguf"), &options).unwrap();
    for conversion in [to_gguf(), to_safetensors()] {
        let found = problems(conversion.plan(&model));
        assert_eq!(found, [Problem { tensor: "unknown".to_owned(), kind: ProblemKind::NoSize }]);
    }
}

#[test]
fn two_tensors_of_one_name() {
    let place = Place::new();
    let one: &[u8] = &[0, 0, 128, 63];
    let source = place.safetensors(
        "a.safetensors",
        &[("wte.weight", Dtype::F32, &[1], one), ("transformer.wte.weight", Dtype::F32, &[1], one)],
    );
    let outcome = to_gguf().with_naming(Naming::Gpt2).plan(&source);
    assert!(matches!(&outcome, Err(ConvertError::SameName { name }) if name == "token_embd.weight"), "{outcome:?}");
    assert_eq!(outcome.unwrap_err().to_string(), "two tensors would be called \"token_embd.weight\"");
    assert!(to_gguf().plan(&source).is_ok());
}

use tensorgate::model::convert::Naming;
