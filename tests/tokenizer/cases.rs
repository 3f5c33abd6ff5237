//! Published cases: tiktoken's and llama.cpp's.

use serde_json::Value;
use tensorgate::tokenizer::{Encoder, Tokenizer};

use crate::{common, gpt2};

fn ids(value: &Value) -> Option<Vec<u32>> {
    value.as_array()?.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect()
}

#[test]
fn gpt2_as_tiktoken_has_it() {
    let Some(tokenizer) = gpt2() else { return };
    assert_eq!((tokenizer.vocab_size(), tokenizer.merges()), (50_257, 50_000));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/gpt2_tokens.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut encoder = Encoder::new(&tokenizer);
    let (mut texts, mut bytes) = (0, 0);
    for case in file["cases"].as_array().unwrap() {
        if let Some(text) = case["text"].as_str() {
            texts += 1;
            let want = ids(&case["ids"]).unwrap();
            assert_eq!(tokenizer.encode(text.as_bytes()), want, "{text:?}");
            let mut warm = Vec::new();
            encoder.encode_into(text.as_bytes(), &mut warm).unwrap();
            assert_eq!(warm, want, "{text:?}");
            assert_eq!(tokenizer.decode(&want).unwrap(), text.as_bytes());
            if let Some(want) = ids(&case["ids_with_special"]) {
                assert_eq!(tokenizer.encode_with_special(text.as_bytes()), want, "{text:?}");
            }
        } else {
            bytes += 1;
            let hex = case["bytes_hex"].as_str().unwrap();
            let text: Vec<u8> =
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
            let found = tokenizer.encode(&text);
            assert_eq!(tokenizer.decode(&found).unwrap(), text);
            // How tiktoken splits bytes that are no text is its own private way; where nothing is left to it, it is ours.
            let replaced = String::from_utf8_lossy(&text).into_owned();
            assert_eq!(tokenizer.encode(replaced.as_bytes()), ids(&case["ids_replace"]).unwrap());
        }
    }
    assert_eq!((texts, bytes), (191, 16));
}

#[test]
fn gpt2_as_llama_cpp_has_it() {
    let Some(folder) = common::shared("real/vocab") else { return };
    let file = std::fs::read(folder.join("ggml-vocab-gpt-2.gguf")).unwrap();
    let model = tensorgate::Gguf::open(&file).unwrap();
    let tokenizer = Tokenizer::from_gguf(model.header()).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (inputs, outputs) = (read("ggml-vocab-gpt-2.gguf.inp"), read("ggml-vocab-gpt-2.gguf.out"));
    let inputs: Vec<&str> = inputs.split("\n__ggml_vocab_test__\n").collect();
    let outputs: Vec<&str> = outputs.lines().collect();
    assert!(inputs.len() >= outputs.len() && outputs.len() > 40, "{} {}", inputs.len(), outputs.len());
    for (text, want) in inputs.iter().zip(&outputs) {
        let want: Vec<u32> = want.split_whitespace().map(|id| id.parse().unwrap()).collect();
        assert_eq!(tokenizer.encode(text.as_bytes()), want, "{text:?}");
    }
    if let Some(other) = gpt2() {
        assert_eq!(other.vocab_size(), tokenizer.vocab_size());
        for id in 0..50_257 {
            assert_eq!(other.token_bytes(id), tokenizer.token_bytes(id));
            assert_eq!(other.is_special(id), tokenizer.is_special(id));
        }
    }
}

#[test]
fn austen_as_hugging_face_has_it() {
    let (vocab, merges) = crate::small("austen");
    let tokenizer = Tokenizer::from_files(&vocab, &merges).unwrap();
    let Some(folder) = common::shared("austen") else { return };
    let file: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("reference.json")).unwrap()).unwrap();
    let mut count = 0;
    each_text(&file, &mut |text, want| {
        count += 1;
        assert_eq!(tokenizer.encode(text.as_bytes()), want);
    });
    assert!(count > 0);
}

/// Every object with a text and its ids.
fn each_text(value: &Value, check: &mut impl FnMut(&str, Vec<u32>)) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| each_text(value, check)),
        Value::Object(all) => {
            let text = ["text", "prompt"].iter().find_map(|key| all.get(*key)?.as_str());
            let found = ["ids", "prompt_ids", "tokens"].iter().find_map(|key| ids(all.get(*key)?));
            if let (Some(text), Some(ids)) = (text, found) {
                check(text, ids);
            }
            all.values().for_each(|value| each_text(value, check));
        }
        _ => {}
    }
}
