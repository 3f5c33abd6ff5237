//! Any text with a real vocabulary: it comes back, and pieces are those of a naive twin that merges one pair at a time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use tensorgate::tokenizer::{Encoder, Tokenizer};

use super::promises_tokenizer::round_trip;

const VOCAB: &[u8] = include_bytes!("../../../tests/data/austen/vocab.json");
const MERGES: &str = include_str!("../../../tests/data/austen/merges.txt");

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::from_files(VOCAB, MERGES.as_bytes()).unwrap());

thread_local! {
    /// One for all inputs: its tables are megabytes.
    static ENCODER: RefCell<Encoder<'static>> = RefCell::new(Encoder::new(&TOKENIZER));
}

/// Ranks of pairs of letters; the vocabulary spells letters as they are.
static RANKS: LazyLock<HashMap<(&str, &str), usize>> =
    LazyLock::new(|| MERGES.lines().skip(1).filter_map(|line| line.split_once(' ')).zip(0..).collect());

fn merge(word: &str) -> Vec<&str> {
    let mut ends: Vec<usize> = (0..=word.len()).collect();
    loop {
        let rank = |at: usize| RANKS.get(&(&word[ends[at]..ends[at + 1]], &word[ends[at + 1]..ends[at + 2]]));
        let least = (0..ends.len().saturating_sub(2)).filter_map(|at| rank(at).map(|rank| (*rank, at))).min();
        let Some((_, at)) = least else { break };
        ends.remove(at + 1);
    }
    ends.windows(2).map(|ends| &word[ends[0]..ends[1]]).collect()
}

/// The text comes back; its letters, as one word, are merged as the twin does.
pub fn check(data: &[u8]) {
    round_trip(&TOKENIZER, data);
    let cold = TOKENIZER.encode(data);
    ENCODER.with_borrow_mut(|encoder| {
        // What the inputs before have left in its tables changes nothing.
        let mut warm = Vec::new();
        encoder.encode_into(data, &mut warm).unwrap();
        assert_eq!(warm, cold);
    });
    let word: String = data.iter().map(|byte| char::from(b'a' + byte % 26)).take(300).collect();
    let ids = TOKENIZER.encode(word.as_bytes());
    let found: Vec<&[u8]> = ids.iter().map(|id| TOKENIZER.token_bytes(*id).unwrap()).collect();
    let want: Vec<&[u8]> = merge(&word).into_iter().map(str::as_bytes).collect();
    assert_eq!(found, want, "{word}");
}

/// Any file is a text.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    Some(file.get(..4096).unwrap_or(file).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twin_merges_as_it_should() {
        assert_eq!(merge("he"), ["he"]);
        assert_eq!(merge("").len(), 0);
        assert_eq!(merge("hehqzx").concat(), "hehqzx");
        assert!(merge("hehqzx").len() < 6);
    }

    #[test]
    fn smoke() {
        crate::smoke::noise(check, 50, 300);
        crate::smoke::mutants(check, 51, 2, &crate::corpus::cases("safetensors.json"));
    }
}
