//! Time that is linear in the text, whatever it is. A quadratic step would take minutes here.

use std::time::{Duration, Instant};

use tensorgate::tokenizer::Tokenizer;

use crate::{gpt2, small};

/// In seconds what takes milliseconds when it is compiled for speed, and less than a second in any case.
const MOST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });

fn texts(len: usize) -> Vec<(&'static str, Vec<u8>)> {
    let repeated =
        |unit: &str| unit.as_bytes().iter().copied().cycle().take(len / unit.len() * unit.len()).collect();
    let mut state = 1_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u8::try_from(state >> 56).unwrap()
    };
    let mut all: Vec<(&'static str, Vec<u8>)> =
        ["a", "=", " ", "\n", "\t", "7", "😀", "中", "я", "abc", "\u{3000}", "'", "\u{301}"]
            .map(|unit| (unit, repeated(unit)))
            .into();
    all.push(("random", (0..len).map(|_| random()).collect()));
    all.push(("random letters", (0..len).map(|_| b'a' + random() % 26).collect()));
    all
}

fn check(tokenizer: &Tokenizer, len: usize) {
    for (name, text) in texts(len) {
        let start = Instant::now();
        let ids = tokenizer.encode(&text);
        let took = start.elapsed();
        assert!(took < MOST, "{name:?} took {took:?}");
        assert_eq!(tokenizer.decode(&ids).unwrap(), text, "{name:?}");
    }
}

#[test]
fn a_megabyte_of_anything() {
    let (vocab, merges) = small("austen");
    check(&Tokenizer::from_files(&vocab, &merges).unwrap(), 1_000_000);
    if let Some(tokenizer) = gpt2() {
        check(&tokenizer, 1_000_000);
    }
}

#[test]
fn a_megabyte_where_merges_are_in_no_order() {
    let (vocab, merges) = small("austen");
    let text = String::from_utf8(merges).unwrap();
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.reverse();
    let tokenizer = Tokenizer::from_files(&vocab, lines.join("\n").as_bytes()).unwrap();
    check(&tokenizer, 300_000);
}
