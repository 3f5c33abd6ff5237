//! Every refusal, with its place.

use tensorgate::tokenizer::{Source, Tokenizer, TokenizerError, TokenizerErrorKind as Kind};
use tensorgate::{ErrorKind, Limits};

use crate::spelt;

/// The 256 bytes, then `extra`, as members of a JSON object without its end.
fn bytes(extra: &str) -> String {
    let members: Vec<String> =
        (0..=255_u8).map(|byte| format!("{}:{byte}", serde_json::to_string(&spelt(&[byte])).unwrap())).collect();
    format!("{{{}{extra}}}", members.join(","))
}

fn refused(vocab: &str, merges: &str) -> TokenizerError {
    Tokenizer::from_files(vocab.as_bytes(), merges.as_bytes()).unwrap_err()
}

#[test]
fn vocabularies() {
    let before = u64::try_from(bytes("").len() - 1).unwrap();
    for (extra, kind, inside) in [
        (r#","ab":-1"#, Kind::Json(ErrorKind::JsonInteger), 6),
        (r#","ab":256.0"#, Kind::Json(ErrorKind::JsonInteger), 6),
        (r#","ab":"256""#, Kind::Json(ErrorKind::JsonInteger), 6),
        (r#","ab":null"#, Kind::Json(ErrorKind::JsonInteger), 6),
        (r#","ab":18446744073709551616"#, Kind::Json(ErrorKind::JsonRange), 6),
        (r#","ab":4294967295"#, Kind::TooManyTokens(1 << 21), 1),
        (r#","ab":2097152"#, Kind::TooManyTokens(1 << 21), 1),
        (r#","ab":7"#, Kind::IdTwice, 1),
        (r#","ab":256,"a\u0062":257"#, Kind::TokenTwice, 10),
        (r#","":256"#, Kind::TokenEmpty, 1),
        (r#","a b":256"#, Kind::TokenSymbol, 1),
        (r#","ab":256,"日":257"#, Kind::TokenSymbol, 10),
        (r#","a\u007f":256"#, Kind::TokenSymbol, 1),
        (r#","ab":256"c""#, Kind::Json(ErrorKind::JsonComma), 9),
        (r#","ab":{}"#, Kind::Json(ErrorKind::JsonInteger), 6),
    ] {
        let error = refused(&bytes(extra), "a b\n");
        assert_eq!(
            (error.kind(), error.source_file(), error.at()),
            (kind, Source::Vocab, before + inside),
            "{extra}"
        );
        assert!(error.to_string().contains(kind.code()) && error.line().is_none());
    }
    let gap = bytes(r#","ab":300"#);
    assert_eq!(
        (refused(&gap, "a b\n").kind(), refused(&gap, "a b\n").at()),
        (Kind::IdMissing(256), gap.len() as u64)
    );
    for text in ["[]", "", "{", "null", "{\"a\":0}}"] {
        assert!(matches!(refused(text, "").kind(), Kind::Json(_)), "{text}");
    }
    assert_eq!(refused("{\"a\":0}", "").kind(), Kind::ByteMissing(0));
    let error = Tokenizer::from_files(b"{\"\xFF\":0}", b"").unwrap_err();
    assert_eq!((error.kind(), error.at()), (Kind::Json(ErrorKind::JsonUtf8), 2));
}

/// A mark that no editor shows is called what it is, in every text.
#[test]
fn byte_order_marks() {
    let (vocab, mark) = (bytes(r#","ab":256"#), "\u{feff}");
    for (error, source) in [
        (refused(&format!("{mark}{vocab}"), "a b\n"), Source::Vocab),
        (refused(&vocab, &format!("{mark}#version: 0.2\na b\n")), Source::Merges),
        (refused(&vocab, &format!("{mark}a b\n")), Source::Merges),
        (Tokenizer::from_json(format!("{mark}{{}}").as_bytes()).unwrap_err(), Source::TokenizerJson),
    ] {
        assert_eq!((error.kind(), error.source_file(), error.at()), (Kind::Bom, source, 0));
        assert!(error.to_string().contains("byte order mark (BOM)"), "{error}");
    }
}

#[test]
fn merges() {
    let vocab = bytes(r#","ab":256,"abc":257,"#.trim_end_matches(','));
    for (text, kind, line, at) in [
        ("a b\r\nab c\r\n", Kind::MergeCrLf, 1, 3),
        ("a b\nab c\r", Kind::MergeCrLf, 2, 8),
        ("a b\n#version: 0.2\nab c\n", Kind::MergeVersion, 2, 4),
        ("#version: 0.2\n#version: 0.2\n", Kind::MergeVersion, 2, 14),
        ("a b\n\nab c\n", Kind::MergeForm, 2, 4),
        ("a b\nabc\n", Kind::MergeForm, 2, 4),
        ("a  b\n", Kind::MergeForm, 1, 0),
        ("a b c\n", Kind::MergeForm, 1, 0),
        (" b\n", Kind::MergeForm, 1, 0),
        ("a \n", Kind::MergeForm, 1, 0),
        ("a b\nabcd e\n", Kind::MergeSymbol, 2, 4),
        ("a b\n日 e\n", Kind::MergeSymbol, 2, 4),
        ("a b\nb c\n", Kind::MergeProduct, 2, 4),
        ("#version: 0.2\na b\nab c\na b\n", Kind::MergeTwice, 4, 23),
        ("", Kind::NoMerges, 0, 0),
        ("#version: 0.2\n", Kind::NoMerges, 0, 14),
    ] {
        let error = refused(&vocab, text);
        let place = (error.kind(), error.line().unwrap_or(0), error.at());
        assert_eq!((place, error.source_file()), ((kind, line, at), Source::Merges), "{text:?}");
    }
    let error = Tokenizer::from_files(vocab.as_bytes(), b"a b\n\xFF c\n").unwrap_err();
    assert_eq!((error.kind(), error.line(), error.at()), (Kind::MergeUtf8, Some(2), 4));
    // A last line without its end, and no version, are no fault.
    assert!(Tokenizer::from_files(vocab.as_bytes(), b"a b\nab c").is_ok());
}

#[test]
fn limits() {
    let vocab = bytes(r#","ab":256"#);
    let with =
        |limits: Limits, merges: &str| Tokenizer::from_files_with(vocab.as_bytes(), merges.as_bytes(), &limits);
    let len = vocab.len() as u64;
    assert!(with(Limits::DEFAULT.with_vocab_len(len), "a b").is_ok());
    let error = with(Limits::DEFAULT.with_vocab_len(len - 1), "a b").unwrap_err();
    assert_eq!((error.kind(), error.source_file(), error.at()), (Kind::TooLong(len - 1), Source::Vocab, len - 1));
    let long = "a b\n".repeat(vocab.len());
    assert_eq!(with(Limits::DEFAULT.with_vocab_len(len), &long).unwrap_err().source_file(), Source::Merges);
    assert!(with(Limits::DEFAULT.with_vocab_tokens(257), "a b").is_ok());
    assert_eq!(with(Limits::DEFAULT.with_vocab_tokens(256), "a b").unwrap_err().kind(), Kind::TooManyTokens(256));
}

/// A `tokenizer.json` with parts of it replaced.
fn json(from: &str, to: &str) -> String {
    let whole = format!(
        r#"{{"added_tokens":[{{"id":257,"content":"<s>","lstrip":false}}],"normalizer":null,"pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false}},"model":{{"type":"BPE","dropout":null,"byte_fallback":false,"merges":["a b"],"vocab":{}}}}}"#,
        bytes(r#","ab":256"#)
    );
    assert_eq!(whole.matches(from).count(), 1, "{from}");
    whole.replace(from, to)
}

#[test]
fn tokenizer_json() {
    assert!(Tokenizer::from_json(json("null,\"pre", "null,\"pre").as_bytes()).is_ok());
    for (from, to, kind) in [
        (r#""normalizer":null"#, r#""normalizer":{"type":"NFC"}"#, Kind::Unsupported("a normalizer")),
        ("ByteLevel", "Whitespace", Kind::Unsupported("a pre-tokenizer other than ByteLevel")),
        (
            r#"{"type":"ByteLevel","add_prefix_space":false}"#,
            "null",
            Kind::Unsupported("a tokenizer without a pre-tokenizer"),
        ),
        (r#"prefix_space":false"#, r#"prefix_space":true"#, Kind::Unsupported("add_prefix_space")),
        (r#"prefix_space":false"#, r#"prefix_space":1"#, Kind::Field("add_prefix_space")),
        (
            r#"prefix_space":false"#,
            r#"prefix_space":false,"use_regex":false"#,
            Kind::Unsupported("ByteLevel without GPT-2's pattern"),
        ),
        (r#""type":"BPE""#, r#""type":"Unigram""#, Kind::Unsupported("a model other than BPE")),
        (r#""dropout":null"#, r#""dropout":0.1"#, Kind::Unsupported("dropout")),
        (r#""byte_fallback":false"#, r#""byte_fallback":true"#, Kind::Unsupported("byte_fallback")),
        (
            r#""dropout":null"#,
            r#""end_of_word_suffix":"</w>""#,
            Kind::Unsupported("symbols with a prefix or suffix"),
        ),
        (r#""dropout":null"#, r#""type":"BPE""#, Kind::FieldTwice),
        (r#""merges":["a b"],"#, "", Kind::FieldMissing("model.merges")),
        (r#"["a b"]"#, r#"["a b",["a","b"]]"#, Kind::MergeTwice),
        (r#"["a b"]"#, r#"[["a"]]"#, Kind::MergeForm),
        (r#"["a b"]"#, r#"[["a","b","c"]]"#, Kind::MergeForm),
        (r#"["a b"]"#, r#"[["a "," b"]]"#, Kind::MergeForm),
        (r#"["a b"]"#, "{}", Kind::Field("model.merges")),
        (r#"["a b"]"#, "[]", Kind::NoMerges),
        (
            r#""lstrip":false"#,
            r#""lstrip":true"#,
            Kind::Unsupported("added tokens that take in what is around them"),
        ),
        (r#""id":257,"#, "", Kind::FieldMissing("id")),
        (r#""id":257"#, r#""id":258"#, Kind::IdMissing(257)),
        (r#""id":257"#, r#""id":256"#, Kind::IdTwice),
        (r#""content":"<s>""#, r#""content":"ab""#, Kind::SpecialId),
        (r#""content":"<s>""#, r#""content":"""#, Kind::TokenEmpty),
    ] {
        let text = json(from, to);
        let error = Tokenizer::from_json(text.as_bytes()).unwrap_err();
        assert_eq!((error.kind(), error.source_file()), (kind, Source::TokenizerJson), "{to}");
        assert!(error.at() <= text.len() as u64);
    }
    let long = "x".repeat(257);
    let error = Tokenizer::from_json(json("<s>", &long).as_bytes()).unwrap_err();
    assert_eq!((error.kind(), error.at()), (Kind::SpecialLong, 37));
    let deep = json(r#""normalizer":null"#, &format!(r#""x":{}"#, "[".repeat(5000)));
    assert!(matches!(Tokenizer::from_json(deep.as_bytes()).unwrap_err().kind(), Kind::Json(_)));
}
