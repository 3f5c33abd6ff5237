//! The Python package `tiktoken` gives the same tokens. Skipped, with a line that says so, where it or GPT-2's vocabulary
//! is missing.

#![cfg(feature = "alloc")]

#[path = "common/mod.rs"]
mod common;
#[path = "common/python.rs"]
mod python;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest::{collection, prelude::any, sample};
use serde_json::json;
use tensorgate::tokenizer::{Encoder, Tokenizer};

/// Parts of texts: characters of all kinds, white space, contractions, runs.
fn part() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "'s",
        "'re",
        "'LL",
        "''ve",
        " 'd",
        "  ",
        "\n\n",
        " \n",
        "\t\t",
        "\r\n",
        "\u{a0}",
        "\u{3000}",
        "\u{2028}",
        "the",
        " The",
        " tokens",
        "1234567",
        " 42",
        "½",
        "²",
        "...",
        " ---",
        "<|endoftext|>",
        "é",
        "e\u{301}",
        "ß",
        " слово",
        "Привет",
        "中文",
        "日本語",
        "한국어",
        "हिन्दी",
        "العربية",
        "ไทย",
        "😀",
        "👩\u{200d}👩",
        "\u{feff}",
        "\0",
    ];
    proptest::prop_oneof![
        3 => any::<char>().prop_map(String::from),
        3 => proptest::char::range(' ', '~').prop_map(String::from),
        2 => proptest::char::range('\0', '\u{2fff}').prop_map(String::from),
        4 => sample::select(WORDS).prop_map(str::to_owned),
        1 => (sample::select(WORDS), 1..40_usize).prop_map(|(word, count)| word.repeat(count)),
    ]
}

#[test]
fn ten_thousand_random_texts() {
    let Some(folder) = common::shared("gpt2") else { return };
    if !python::available("tokens.py") {
        return;
    }
    let read = |name| std::fs::read(folder.join(name)).unwrap();
    let tokenizer = Tokenizer::from_files(&read("vocab.json"), &read("merges.txt")).unwrap();
    let mut encoder = Encoder::new(&tokenizer);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let texts = collection::vec(part(), 0..40).prop_map(|parts| parts.concat());
    let mut cases = Vec::new();
    for _ in 0..10_000 {
        let text = texts.new_tree(&mut runner).unwrap().current();
        let mut ids = Vec::new();
        encoder.encode_into(text.as_bytes(), &mut ids).unwrap();
        assert_eq!(ids, tokenizer.encode(text.as_bytes()), "{text:?}");
        cases.push(json!({"text": text, "ids": ids}));
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let expected = json!({"vocab": folder.join("vocab.json"), "cases": cases});
    std::fs::write(file.path(), expected.to_string()).unwrap();
    python::run("tokens.py", file.path());
}
