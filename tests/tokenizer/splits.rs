//! Which pre-tokenizers are taken for GPT-2's, and that no other is.

use serde_json::{Value, json};
use tensorgate::gguf::{self, Gguf, PairSpec, TensorData, WriteOptions};
use tensorgate::tokenizer::{Tokenizer, TokenizerError, TokenizerErrorKind as Kind};

use crate::spelt;

/// That of `encoder.py` and of `ByteLevel`.
const PUBLISHED: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// Those of tiktoken's `r50k_base`, 0.7 and 0.14.
const TIKTOKEN: [&str; 2] = [
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
];

/// The 256 bytes and `ab`.
fn tokens() -> Vec<String> {
    (0..=255_u8).map(|byte| spelt(&[byte])).chain([spelt(b"ab")]).collect()
}

fn from_json(pre_tokenizer: &Value) -> Result<Tokenizer, TokenizerError> {
    let vocab: serde_json::Map<String, Value> =
        tokens().into_iter().enumerate().map(|(id, token)| (token, id.into())).collect();
    let file = json!({"pre_tokenizer": pre_tokenizer, "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]}});
    Tokenizer::from_json(file.to_string().as_bytes())
}

fn split(pattern: &Value, behavior: &str, invert: bool) -> Value {
    json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert})
}

fn bytes(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex})
}

fn sequence(all: &[Value]) -> Value {
    json!({"type": "Sequence", "pretokenizers": all})
}

#[test]
fn the_same_pattern_in_other_words() {
    let regex = |pattern: &str| json!({"Regex": pattern});
    for pattern in [PUBLISHED, TIKTOKEN[0], TIKTOKEN[1]] {
        for (behavior, invert) in [("Isolated", false), ("Removed", true)] {
            for last in [false, true] {
                let all = sequence(&[split(&regex(pattern), behavior, invert), bytes(last)]);
                let ids = from_json(&all).unwrap().encode(b"ab a");
                assert_eq!(ids, [256, 32, 97], "{all}");
            }
        }
    }
    assert!(from_json(&bytes(true)).is_ok());
    assert!(from_json(&sequence(&[bytes(true)])).is_ok());
}

#[test]
fn other_patterns() {
    let good = || split(&json!({"Regex": PUBLISHED}), "Isolated", false);
    let by = |pattern: Value| sequence(&[split(&pattern, "Isolated", false), bytes(false)]);
    let pattern = Kind::Unsupported("a pattern other than GPT-2's");
    let ending = Kind::Unsupported("a pre-tokenizer that does not end with ByteLevel");
    let joined = Kind::Unsupported("pieces that are joined or removed");
    let other = Kind::Unsupported("a pre-tokenizer other than ByteLevel");
    let cl100k = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    for (pre_tokenizer, kind) in [
        (by(json!({"Regex": cl100k})), pattern),
        (by(json!({"Regex": &PUBLISHED[1..]})), pattern),
        (by(json!({"Regex": format!("{PUBLISHED} ")})), pattern),
        // As a text to be found, not as a pattern.
        (by(json!({"String": PUBLISHED})), pattern),
        (by(json!({"Regex": null})), pattern),
        (by(json!(PUBLISHED)), Kind::Field("pattern")),
        (sequence(&[]), ending),
        (sequence(&[good()]), ending),
        (good(), ending),
        (sequence(&[bytes(false)]), Kind::Unsupported("ByteLevel without GPT-2's pattern")),
        (sequence(&[bytes(false), good()]), Kind::Unsupported("a pre-tokenizer behind ByteLevel")),
        (sequence(&[bytes(true), bytes(true)]), Kind::Unsupported("a pre-tokenizer behind ByteLevel")),
        (sequence(&[json!({"type": "Digits", "individual_digits": true}), bytes(true)]), other),
        (sequence(&[sequence(&[bytes(true)])]), other),
        (sequence(&[split(&json!({"Regex": PUBLISHED}), "Isolated", true), bytes(false)]), joined),
        (sequence(&[split(&json!({"Regex": PUBLISHED}), "Removed", false), bytes(false)]), joined),
        (sequence(&[split(&json!({"Regex": PUBLISHED}), "Contiguous", false), bytes(false)]), joined),
        (
            sequence(&[json!({"type": "Split", "behavior": "Isolated"}), bytes(false)]),
            Kind::FieldMissing("pattern"),
        ),
        (sequence(&[json!({"type": "Split", "pattern": {"Regex": PUBLISHED}})]), Kind::FieldMissing("behavior")),
        (json!({"type": "Sequence"}), Kind::FieldMissing("pretokenizers")),
        (json!({"type": "Sequence", "pretokenizers": {}}), Kind::Field("pretokenizers")),
        (json!({"add_prefix_space": false}), Kind::FieldMissing("pre_tokenizer.type")),
    ] {
        assert_eq!(from_json(&pre_tokenizer).unwrap_err().kind(), kind, "{pre_tokenizer}");
    }
}

/// A GGUF file of that architecture whose vocabulary names that pre-tokenizer.
fn from_gguf(architecture: &str, pre: Option<&str>) -> Result<Tokenizer, TokenizerError> {
    let (tokens, merges) = (tokens(), ["a b"]);
    let mut pairs = vec![
        PairSpec::new("general.architecture", architecture),
        PairSpec::new("tokenizer.ggml.model", "gpt2"),
        PairSpec::new("tokenizer.ggml.tokens", tokens.as_slice()),
        PairSpec::new("tokenizer.ggml.merges", merges.as_slice()),
    ];
    pairs.extend(pre.map(|pre| PairSpec::new("tokenizer.ggml.pre", pre)));
    let file = gguf::serialize(&pairs, std::iter::empty::<TensorData<'_>>(), &WriteOptions::default()).unwrap();
    Tokenizer::from_gguf(Gguf::open(&file).unwrap().header())
}

#[test]
fn names_of_llama_cpp() {
    // src/llama-vocab.cpp at 00ad355: LLAMA_VOCAB_PRE_TYPE_GPT2 and the types that share its pattern.
    for name in ["gpt-2", "phi-2", "jina-v2-code", "roberta-bpe", "exaone4", "mpt", "olmo", "trillion", "jais"] {
        assert_eq!(from_gguf("other", Some(name)).unwrap().encode(b"ab a"), [256, 32, 97], "{name}");
    }
    assert!(from_gguf("gpt2", None).is_ok());
    let other = Kind::Unsupported("a pre-tokenizer other than GPT-2's");
    // Numbers by digit, numbers by three, letters with what is in front of them, other contractions, a name that is none.
    for name in
        ["starcoder", "smollm", "refact", "falcon", "llama-bpe", "qwen2", "gpt-4o", "jais-2", "exaone", "GPT-2", ""]
    {
        assert_eq!(from_gguf("gpt2", Some(name)).unwrap_err().kind(), other, "{name}");
    }
    let unnamed = Kind::Unsupported("the pre-tokenizer `default`, which no model was trained with");
    assert_eq!(from_gguf("gpt2", Some("default")).unwrap_err().kind(), unnamed);
    let error = from_gguf("starcoder", None).unwrap_err();
    assert_eq!(error.kind(), Kind::Gguf(gguf::ValueError::Missing));
}
