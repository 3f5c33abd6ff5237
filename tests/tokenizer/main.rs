//! The tokenizer against published cases, a naive twin, and files made to be wrong.
#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;

mod cases;
mod linear;
mod naive;
mod refusals;
mod special;
mod splits;

use tensorgate::tokenizer::Tokenizer;

/// GPT-2's own vocabulary, where it is there.
fn gpt2() -> Option<Tokenizer> {
    let folder = common::shared("gpt2")?;
    let read = |name| std::fs::read(folder.join(name)).unwrap();
    Some(Tokenizer::from_files(&read("vocab.json"), &read("merges.txt")).unwrap())
}

/// A vocabulary of `tests/data`.
fn small(name: &str) -> (Vec<u8>, Vec<u8>) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let read = |name| std::fs::read(folder.join(name)).unwrap();
    (read("vocab.json"), read("merges.txt"))
}

/// The character that stands for a byte in a vocabulary.
fn symbol(byte: u8) -> char {
    let printable = |byte: u8| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    if printable(byte) {
        return char::from(byte);
    }
    let before = u32::try_from((0..byte).filter(|byte| !printable(*byte)).count()).unwrap();
    char::from_u32(0x100 + before).unwrap()
}

/// A token in byte symbols.
fn spelt(token: &[u8]) -> String {
    token.iter().map(|byte| symbol(*byte)).collect()
}

/// `vocab.json` and `merges.txt` of these tokens, in the order of their ids, and merges.
fn files(tokens: &[Vec<u8>], merges: &[(Vec<u8>, Vec<u8>)]) -> (String, String) {
    let ids: serde_json::Map<String, serde_json::Value> =
        tokens.iter().enumerate().map(|(id, token)| (spelt(token), id.into())).collect();
    let mut lines = String::from("#version: 0.2\n");
    for (left, right) in merges {
        lines.extend([&spelt(left), " ", &spelt(right), "\n"]);
    }
    (serde_json::to_string(&ids).unwrap(), lines)
}
