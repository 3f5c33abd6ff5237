//! A naive twin: split by a loop over characters, merged by looking for the lowest rank again and again.

use std::collections::HashMap;

use proptest::prelude::*;
use tensorgate::tokenizer::{Encoder, Tokenizer};

use crate::files;

type Token = Vec<u8>;

/// Merges a piece, always the lowest rank and of equals the leftmost.
fn merge(piece: &[u8], ranks: &HashMap<(Vec<u8>, Vec<u8>), usize>) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = piece.iter().map(|byte| vec![*byte]).collect();
    loop {
        let rank = |at: usize| ranks.get(&(parts[at].clone(), parts[at + 1].clone())).map(|rank| (*rank, at));
        let Some((_, at)) = (0..parts.len().saturating_sub(1)).filter_map(rank).min() else { return parts };
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
}

/// A vocabulary of all bytes and of merges of what is there already; `mixed` puts them in another order.
fn vocabulary(picks: &[(usize, usize)], mixed: &[usize]) -> (Vec<Token>, Vec<(Token, Token)>) {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut pool: Vec<Vec<u8>> = b"ab ".iter().map(|byte| vec![*byte]).collect();
    let mut merges: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (left, right) in picks {
        let (left, right) = (pool[left % pool.len()].clone(), pool[right % pool.len()].clone());
        let product = [left.clone(), right.clone()].concat();
        if product.len() > 40 || merges.contains(&(left.clone(), right.clone())) {
            continue;
        }
        if !tokens.contains(&product) {
            tokens.push(product.clone());
            pool.push(product);
        }
        merges.push((left, right));
    }
    let count = merges.len();
    for (at, other) in mixed.iter().enumerate().take(count) {
        merges.swap(at, other % count);
    }
    (tokens, merges)
}

fn check(tokens: &[Vec<u8>], merges: &[(Vec<u8>, Vec<u8>)], texts: &[Vec<u8>]) {
    let (vocab, lines) = files(tokens, merges);
    if merges.is_empty() {
        return;
    }
    let tokenizer = Tokenizer::from_files(vocab.as_bytes(), lines.as_bytes()).unwrap();
    let ranks = merges.iter().cloned().zip(0..).collect();
    let mut encoder = Encoder::new(&tokenizer);
    for text in texts {
        // Letters alone are one piece.
        let want = merge(text, &ranks);
        for _ in 0..2 {
            let mut ids = Vec::new();
            encoder.encode_into(text, &mut ids).unwrap();
            let found: Vec<Vec<u8>> = ids.iter().map(|id| tokenizer.token_bytes(*id).unwrap().to_vec()).collect();
            assert_eq!(found, want, "{} with {merges:?}", text.escape_ascii());
        }
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let letters = proptest::sample::select(&b"aaab"[..]);
    prop_oneof![
        8 => proptest::collection::vec(letters.clone(), 1..24),
        3 => proptest::collection::vec(letters.clone(), 24..70),
        2 => proptest::collection::vec(letters, 70..300),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn trained_vocabularies(
        picks in proptest::collection::vec((0..40_usize, 0..40_usize), 1..40),
        texts in proptest::collection::vec(text(), 1..20),
    ) {
        let (tokens, merges) = vocabulary(&picks, &[]);
        let mut texts = texts;
        texts.extend(tokens.iter().skip(256).filter(|token| !token.contains(&b' ')).cloned());
        check(&tokens, &merges, &texts);
    }

    #[test]
    fn vocabularies_whose_merges_are_in_any_order(
        picks in proptest::collection::vec((0..40_usize, 0..40_usize), 1..40),
        mixed in proptest::collection::vec(0..40_usize, 0..40),
        texts in proptest::collection::vec(text(), 1..20),
    ) {
        let (tokens, merges) = vocabulary(&picks, &mixed);
        let mut texts = texts;
        texts.extend(tokens.iter().skip(256).filter(|token| !token.contains(&b' ')).cloned());
        check(&tokens, &merges, &texts);
    }

    #[test]
    fn any_bytes_come_back(text in proptest::collection::vec(any::<u8>(), 0..400), joined in any::<bool>()) {
        let (vocab, merges) = crate::small("austen");
        let tokenizer = Tokenizer::from_files(&vocab, &merges).unwrap();
        let ids = if joined { tokenizer.encode(&text) } else { tokenizer.encode_with_special(&text) };
        prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
}

/// Each word of real vocabularies, alone, doubled, and joined with the next.
#[test]
fn tokens_of_real_vocabularies() {
    for name in ["austen", "tiny-gpt2"] {
        let (vocab, lines) = crate::small(name);
        let tokenizer = Tokenizer::from_files(&vocab, &lines).unwrap();
        let tokens: Vec<Vec<u8>> = (0..u32::try_from(tokenizer.vocab_size()).unwrap())
            .map(|id| tokenizer.token_bytes(id).unwrap().to_vec())
            .collect();
        let mut bytes = HashMap::new();
        for token in &tokens {
            bytes.insert(crate::spelt(token), token.clone());
        }
        let text = String::from_utf8(lines).unwrap();
        let ranks = text.lines().skip(1).map(|line| line.split_once(' ').unwrap());
        let ranks = ranks.map(|(left, right)| (bytes[left].clone(), bytes[right].clone())).zip(0..).collect();
        let letters = |token: &[u8]| token.iter().all(u8::is_ascii_alphabetic);
        let words: Vec<&Vec<u8>> = tokens.iter().filter(|token| letters(token)).collect();
        assert!(words.len() > 100);
        for pair in words.windows(2).step_by(3) {
            for text in [pair[0].clone(), pair[0].repeat(2), [pair[0].as_slice(), pair[1]].concat()] {
                let want = merge(&text, &ranks);
                let ids = tokenizer.encode(&text);
                let found: Vec<&[u8]> = ids.iter().map(|id| tokenizer.token_bytes(*id).unwrap()).collect();
                assert_eq!(found, want, "{}", text.escape_ascii());
            }
        }
    }
}
