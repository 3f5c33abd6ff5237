//! Special tokens, looking tokens up, and decoding.

use tensorgate::tokenizer::{StreamDecoder, Tokenizer};

use crate::{small, spelt};

#[test]
fn special_tokens_are_text_unless_asked_for() {
    let (vocab, merges) = small("tiny-gpt2");
    let tokenizer = Tokenizer::from_files(&vocab, &merges).unwrap();
    assert_eq!(tokenizer.vocab_size(), 512);
    let end = tokenizer.id_of(b"<|endoftext|>").unwrap();
    assert_eq!(
        (end, tokenizer.is_special(end), tokenizer.special_ids().collect::<Vec<_>>()),
        (511, true, vec![511])
    );
    let text = b"a<|endoftext|><|endoftext|>b<|endoftext";
    assert!(!tokenizer.encode(text).contains(&end));
    let ids = tokenizer.encode_with_special(text);
    assert_eq!(ids.iter().filter(|id| **id == end).count(), 2);
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    let error = tokenizer.decode(&[1, 512]).unwrap_err();
    assert_eq!((error.id, error.index), (512, 1));
    assert_eq!((tokenizer.token_bytes(512), tokenizer.id_of(b"no such token")), (None, None));
}

/// A `tokenizer.json` around a vocabulary, with added tokens.
fn json(added: &str) -> String {
    let (vocab, merges) = small("tiny-gpt2");
    let merges = String::from_utf8(merges).unwrap();
    let merges: Vec<&str> = merges.lines().skip(1).collect();
    let vocab = String::from_utf8(vocab).unwrap();
    format!(
        r#"{{"version":"1.0","added_tokens":[{added}],"normalizer":null,"pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false}},"model":{{"type":"BPE","dropout":null,"vocab":{vocab},"merges":{}}}}}"#,
        serde_json::to_string(&merges).unwrap()
    )
}

#[test]
fn the_leftmost_and_then_the_longest() {
    let added = r#"{"id":511,"content":"<|endoftext|>","special":true},{"id":512,"content":"<|e","special":false},{"id":513,"content":"é \n","lstrip":false}"#;
    let tokenizer = Tokenizer::from_json(json(added).as_bytes()).unwrap();
    assert_eq!(tokenizer.vocab_size(), 514);
    let text = "<|endoftext|><|ex<|é \n".as_bytes();
    let ids = tokenizer.encode_with_special(text);
    let special: Vec<u32> = ids.iter().copied().filter(|id| tokenizer.is_special(*id)).collect();
    assert_eq!(special, [511, 512, 513]);
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    assert_eq!(tokenizer.token_bytes(513), Some("é \n".as_bytes()));
    assert!(!tokenizer.encode(text).iter().any(|id| tokenizer.is_special(*id)));
}

#[test]
fn merges_may_be_pairs_and_all_files_say_the_same() {
    let (vocab, merges) = small("tiny-gpt2");
    let files = Tokenizer::from_files(&vocab, &merges).unwrap();
    let strings = json(r#"{"id":511,"content":"<|endoftext|>"}"#);
    let mut value: serde_json::Value = serde_json::from_str(&strings).unwrap();
    for merge in value["model"]["merges"].as_array_mut().unwrap() {
        let (left, right) = merge.as_str().unwrap().split_once(' ').unwrap();
        *merge = serde_json::json!([left, right]);
    }
    let pairs = Tokenizer::from_json(value.to_string().as_bytes()).unwrap();
    let strings = Tokenizer::from_json(strings.as_bytes()).unwrap();
    let text = "It's the ÄÖ of 12 things,\n\n  and more; ".repeat(20);
    for other in [&pairs, &strings] {
        assert_eq!(other.encode(text.as_bytes()), files.encode(text.as_bytes()));
        assert_eq!(other.special_ids().collect::<Vec<_>>(), [511]);
    }
}

#[test]
fn a_stream_never_shows_half_a_character() {
    let (vocab, merges) = small("austen");
    let tokenizer = Tokenizer::from_files(&vocab, &merges).unwrap();
    let text = "Miss Bennet’s 😀 – naïve.";
    let mut decoder = StreamDecoder::new();
    let mut shown = String::new();
    for id in tokenizer.encode(text.as_bytes()) {
        let part = decoder.push(tokenizer.token_bytes(id).unwrap());
        assert!(!part.contains('\u{fffd}'));
        shown.push_str(part);
    }
    assert_eq!((shown.as_str(), decoder.finish()), (text, ""));
}

#[test]
fn a_token_that_merges_do_not_lead_to_is_given_only_where_the_file_says_so() {
    let mut ids: serde_json::Map<String, serde_json::Value> =
        (0..=255_u8).map(|byte| (spelt(&[byte]), byte.into())).collect();
    for (token, id) in [("ab", 256), ("bc", 257), ("abc", 258)] {
        ids.insert(token.to_owned(), id.into());
    }
    // `bc` comes first, and then no merge makes `abc` of `a` and `bc`.
    let file = |ignore: bool| {
        serde_json::json!({
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
            "model": {"vocab": ids.clone(), "merges": ["b c", "a b", "ab c"], "ignore_merges": ignore},
        })
        .to_string()
    };
    let encode = |ignore| Tokenizer::from_json(file(ignore).as_bytes()).unwrap().encode(b"abc");
    assert_eq!(encode(false), [97, 257]);
    assert_eq!(encode(true), [258]);
}
