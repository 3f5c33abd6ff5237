//! Files that are none of the formats are named for what they are.

use std::fs;

use serde_json::Value;

use crate::common::file;
use crate::{pipe, run, sound};

const LFS: &[u8] = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
const HTML: &[u8] = b"<!DOCTYPE html><html><head><title>404</title></head></html>";
const JSON: &[u8] = b"{\"model_type\": \"gpt2\", \"n_layer\": 12}";
const INDEX: &[u8] = b"{\"metadata\":{},\"weight_map\":{\"a\":\"x.safetensors\"}}";
const PICKLE: &[u8] = b"\x80\x04\x95\x0b\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.";
/// Its first eight bytes are a length within the limit.
const SHORT_PICKLE: &[u8] = b"\x80\x04\x95\x05\0\0\0\0\0\0\0\x8c\x01a\x94.";
const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.txt";

fn line(name: &str, bytes: &[u8]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let checked = run(folder.path(), &["check", name, "--format=jsonl"]);
    assert_eq!(checked.code, i32::from(checked.lines()[0]["verdict"] != "accepted"), "{}", checked.out);
    checked.lines()[0].clone()
}

#[test]
fn strangers_under_a_models_name() {
    for (bytes, code, advice) in [
        (LFS, "FT-LFS-POINTER", "git lfs pull"),
        (HTML, "FT-HTML", "download it again"),
        (JSON, "FT-JSON", "look for the model file"),
        (PICKLE, "FT-PICKLE", "do not load it"),
        (SHORT_PICKLE, "FT-PICKLE", "do not load it"),
        (ZIP, "FT-ZIP", "unpack it"),
        (b"", "FT-EMPTY", "download it again"),
        (&[0; 8], "FT-ZEROS", "download it again"),
        (&[0; 5000], "FT-ZEROS", "download it again"),
        (INDEX, "FT-INDEX", "open it as an index"),
    ] {
        let mut names = vec!["x.safetensors", "x.SafeTensors"];
        // An index is one, whatever it is called, unless its name says safetensors.
        if code != "FT-INDEX" {
            names.push("x.gguf");
        }
        for name in names {
            let line = line(name, bytes);
            let seen = (line["code"].as_str(), line["format"].as_str(), line["verdict"].as_str());
            assert_eq!(seen, (Some(code), Some("unknown"), Some("rejected")), "{name}");
            assert!(line["offset"] == 0 && line["advice"].as_str().unwrap().contains(advice), "{line}");
            assert_eq!(line["size"], bytes.len());
        }
    }
    for (bytes, code) in [(LFS, "FT-LFS-POINTER"), (HTML, "FT-HTML"), (b"", "FT-EMPTY"), (PICKLE, "FT-PICKLE")] {
        assert_eq!(line("model.safetensors.index.json", bytes)["code"], code);
        assert_eq!(line("model", bytes)["code"], code);
        assert_eq!(pipe(bytes, &["check", "-", "--format=jsonl"]).lines()[0]["code"], code);
        assert_eq!(pipe(bytes, &["inspect", "-", "--json"]).lines()[0]["code"], code);
    }
}

#[test]
fn a_readers_own_word_is_kept_where_it_is_more_exact() {
    // A cut header is no stranger, and neither is a length that reads as a pickle's mark with nothing behind it.
    let whole = file(&format!("{{\"a\":{}", " ".repeat(700)), b"");
    assert_eq!(line("x.safetensors", &whole[..100])["code"], "ST-HEADER-PAST-END");
    assert_eq!(line("x.safetensors", b"\x80\x04\x95\0\0\0\0\0")["code"], "ST-HEADER-PAST-END");
    assert_eq!(line("x.gguf", b"GG")["code"], "GG-TOO-SHORT");
    assert_eq!(line("x", b"GG")["code"], "GG-TOO-SHORT");
    assert_eq!(line("x.gguf", b"FUGG\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")["code"], "GG-MAGIC-REVERSED");
    assert_eq!(line("x.gguf", b"\xff\xfeG\0G\0U\0F\0")["code"], "GG-MAGIC-UTF16");
    assert_eq!(line("x.gguf", b"GGUF\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")["code"], "GG-VERSION-1");
    assert_eq!(line("x.index.json", b"[]")["code"], "JS-NOT-OBJECT");
    assert_eq!(line("x.index.json", b"{\"a\":1}")["code"], "IX-FIELD-UNKNOWN");
}

#[test]
fn content_counts_more_than_the_name_and_the_name_is_warned_of() {
    let gguf = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    for (name, bytes, format) in
        [("x.gguf", &sound()[..], "safetensors"), ("x.safetensors", &gguf[..], "gguf"), ("x.bin", gguf, "gguf")]
    {
        let line = line(name, bytes);
        assert_eq!((line["verdict"].as_str(), line["format"].as_str()), (Some("accepted"), Some(format)));
        let warned = line["findings"].to_string().contains("TG-NOTE-NAME");
        assert_eq!(warned, name != "x.bin", "{line}");
    }
    // Whatever a JSON text is called, with a weight_map it is an index, even behind long metadata.
    let long =
        format!("{{\"metadata\":{{\"a\":\"{}\"}},\"weight_map\":{{\"a\":\"b.safetensors\"}}}}", "x".repeat(5000));
    for text in [INDEX, long.as_bytes()] {
        let line = line("index.txt", text);
        assert_eq!(
            (line["verdict"].as_str(), line["format"].as_str()),
            (Some("accepted"), Some("index")),
            "{line}"
        );
    }
}
