//! What becomes of metadata.

use tensorgate::Gguf;
use tensorgate::gguf::ValueType;
use tensorgate::model::convert::Draft;

use super::*;

fn shown(bytes: &[u8]) -> Vec<(String, ValueType, String)> {
    let file = Gguf::open(bytes).unwrap();
    file.pairs().map(|pair| (pair.key().to_owned(), pair.value().kind(), format!("{:?}", pair.value()))).collect()
}

/// The number of most tensors' type is llama.cpp's; of a mixture none is said rather than a wrong one.
#[test]
fn the_type_of_the_file_goes_with_its_tensors() {
    let place = Place::new();
    let (matrix, vector) = (f32s(&[0.5; 64]), f32s(&[1.0; 32]));
    let pairs = [PairSpec::new("general.file_type", 0_u32), PairSpec::new("z", 1_u8)];
    let source = place.gguf(
        "a.gguf",
        &pairs,
        &[("m", GgmlType::F32, &[2, 32], &matrix), ("v", GgmlType::F32, &[32], &vector)],
    );
    let number = |of_matrix: GgmlType, of_vector: GgmlType| {
        let choose = move |draft: Draft<'_>| Some(if draft.name == "m" { of_matrix } else { of_vector }.into());
        place.convert(&source, &to_gguf().with_types(&choose), "b.gguf").unwrap();
        let bytes = fs::read(place.at("b.gguf")).unwrap();
        let file = Gguf::open(&bytes).unwrap();
        assert_eq!(file.u64("z"), Ok(1));
        file.u64("general.file_type").ok()
    };
    let matrices = |kind: GgmlType| number(kind, GgmlType::F32);
    assert_eq!(matrices(GgmlType::F32), Some(0));
    assert_eq!(matrices(GgmlType::F16), Some(1));
    assert_eq!(matrices(GgmlType::Q8_0), Some(7));
    assert_eq!(matrices(GgmlType::Q4_0), Some(2));
    assert_eq!(matrices(GgmlType::BF16), Some(32));
    assert_eq!(number(GgmlType::Q8_0, GgmlType::F16), None);
}

/// Numbers become text in safetensors and numbers again; arrays are told of, since they are left out.
#[test]
fn pairs_through_safetensors_and_back() {
    let place = Place::new();
    let tokens = ["a", "b"];
    let pairs = [
        PairSpec::new("general.architecture", "llama"),
        PairSpec::new("general.name", "7"),
        PairSpec::new("general.alignment", 64_u32),
        PairSpec::new("general.file_type", 1_u32),
        PairSpec::new("general.quantization_version", 2_u32),
        PairSpec::new("llama.block_count", 22_u32),
        PairSpec::new("llama.rope.freq_base", 0.1_f32),
        PairSpec::new("llama.rope.scaling.type", "yarn"),
        PairSpec::new("llama.offset", -3_i32),
        PairSpec::new("tokenizer.ggml.tokens", &tokens),
        PairSpec::new("tokenizer.ggml.model", "gpt2"),
        PairSpec::new("tokenizer.ggml.add_bos_token", false),
        PairSpec::new("tokenizer.ggml.eos_token_id", 50_256_u32),
        PairSpec::new("split.count", 0_u16),
    ];
    let source = place.gguf("a.gguf", &pairs, &[("w", GgmlType::F16, &[2], &[0, 60, 0, 64])]);
    let report = place.convert(&source, &to_safetensors(), "b.safetensors").unwrap();
    assert_eq!(report.dropped(), ["tokenizer.ggml.tokens"]);
    let middle = Model::open(place.at("b.safetensors")).unwrap();
    let text = |key: &str| middle.metadata().get(key).map(|value| value.as_str().unwrap().to_owned());
    assert_eq!(text("format").as_deref(), Some("pt"));
    assert_eq!(text("llama.block_count").as_deref(), Some("22"));
    assert_eq!(text("llama.rope.freq_base").as_deref(), Some("0.1"));
    assert_eq!(text("tokenizer.ggml.add_bos_token").as_deref(), Some("false"));
    assert_eq!((text("general.alignment"), text("split.count"), text("tokenizer.ggml.tokens")), (None, None, None));
    let choose = |_: Draft<'_>| Some(GgmlType::F32.into());
    let report = place.convert(&middle, &to_gguf().with_types(&choose), "c.gguf").unwrap();
    assert!(report.dropped().is_empty());
    let mut got = shown(&fs::read(place.at("c.gguf")).unwrap());
    got.sort_by(|a, b| a.0.cmp(&b.0));
    let before = shown(&fs::read(place.at("a.gguf")).unwrap());
    let mut wanted: Vec<_> = before
        .into_iter()
        .filter(|(key, ..)| {
            !["tokenizer.ggml.tokens", "general.alignment", "split.count", "general.file_type"]
                .contains(&key.as_str())
        })
        .collect();
    let number = shown(
        &gguf::serialize(
            [PairSpec::new("general.file_type", 0_u32), PairSpec::new("format", "pt")],
            [] as [gguf::TensorData<'_>; 0],
            &WriteOptions::default(),
        )
        .unwrap(),
    );
    wanted.extend(number);
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(got, wanted);
}

/// Keys that GGUF cannot have are told of; the caller's pairs go before the source's.
#[test]
fn keys_that_one_format_has_only() {
    let place = Place::new();
    let long = "k".repeat(70_000);
    let texts =
        [("", "a"), ("é", "b"), (long.as_str(), "c"), ("new\nline", "d"), ("mine", "theirs"), ("plain", "é\0")];
    let spec = safetensors::TensorSpec::new("w", Dtype::U8, &[1]).with_bytes(&[1]);
    fs::write(place.at("a.safetensors"), safetensors::serialize([spec], Some(texts)).unwrap()).unwrap();
    let source = Model::open(place.at("a.safetensors")).unwrap();
    let copy = place.converted(&source, &to_safetensors(), "b.safetensors");
    assert_eq!(copy.metadata().iter().count(), texts.len());
    let spec = safetensors::TensorSpec::new("w", Dtype::I8, &[1]).with_bytes(&[1]);
    fs::write(place.at("a.safetensors"), safetensors::serialize([spec], Some(texts)).unwrap()).unwrap();
    let source = Model::open(place.at("a.safetensors")).unwrap();
    let mine = [PairSpec::new("mine", 7_u8)];
    let report = place.convert(&source, &to_gguf().with_pairs(&mine), "c.gguf").unwrap();
    let mut dropped = report.dropped().to_vec();
    dropped.sort();
    assert_eq!(dropped, ["", long.as_str(), "new\nline", "é"]);
    let bytes = fs::read(place.at("c.gguf")).unwrap();
    let file = Gguf::open(&bytes).unwrap();
    assert_eq!((file.u64("mine"), file.str("plain"), file.pairs().count()), (Ok(7), Ok("é\0"), 2));
}
