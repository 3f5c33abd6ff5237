//! `tensorgate metadata`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tensorgate::gguf::{self, GgmlType, PairSpec, ValueType, WriteOptions};
use tensorgate::{Gguf, SafeTensors};

use crate::common::file;
use crate::{Run, run};

fn meta(folder: &Path, args: &[&str]) -> Run {
    run(folder, &[&["metadata"], args].concat())
}

const DATA: [u8; 5] = [9, 8, 7, 6, 5];

fn safetensors(folder: &Path) -> Vec<u8> {
    let header = r#"{"__metadata__":{"format":"pt","note":"a\u001b\n"},"w":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}}"#;
    let bytes = file(&format!("{header:<160}"), &DATA);
    fs::write(folder.join("m.safetensors"), &bytes).unwrap();
    bytes
}

fn ggufs(folder: &Path) -> Vec<u8> {
    let tokens = ["a", "\u{e9}"];
    let pairs = [
        PairSpec::new("general.architecture", "gpt2"),
        PairSpec::new("general.name", "old\n"),
        PairSpec::new("gpt2.context_length", 1024_u32),
        PairSpec::new("n", 7_u16),
        PairSpec::new("eps", 1e-5_f32),
        PairSpec::new("tokens", &tokens),
    ];
    let w = gguf::TensorSpec::new("w", GgmlType::I8, &[5]).with_bytes(&DATA);
    let v = gguf::TensorSpec::new("v", GgmlType::I8, &[5]).with_bytes(&DATA);
    let bytes = gguf::serialize(pairs, [w, v], &WriteOptions::default()).unwrap();
    fs::write(folder.join("m.gguf"), &bytes).unwrap();
    bytes
}

/// What stands behind the header is what stood there, where it stood, as long as the header fits.
#[test]
fn safetensors_texts_change_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let before = safetensors(folder.path());
    let path = folder.path().join("m.safetensors");
    let set = meta(folder.path(), &["set", "m.safetensors", "license=mit", "note=", "url=http://x/?a=b"]);
    assert_eq!((set.code, set.err.as_str()), (0, ""));
    assert_eq!(set.out, "m.safetensors: changed; the tensors stay where they were\n");
    let after = fs::read(&path).unwrap();
    assert_eq!((after.len(), &after[168..]), (before.len(), &DATA[..]));
    let list = meta(folder.path(), &["list", "m.safetensors", "--json"]);
    let wanted = json!({"format": "pt", "note": "", "license": "mit", "url": "http://x/?a=b"});
    assert_eq!(serde_json::from_str::<Value>(&list.out).unwrap(), wanted);
    // KEY and VALUE; the value may hold anything.
    assert_eq!(meta(folder.path(), &["set", "m.safetensors", "note", "x=y \u{e9}"]).code, 0);
    assert_eq!(meta(folder.path(), &["get", "m.safetensors", "note"]).out, "x=y \\u{e9}\n");
    assert_eq!(meta(folder.path(), &["get", "m.safetensors", "note", "--json"]).out, "\"x=y \\u00e9\"\n");
    assert_eq!(meta(folder.path(), &["remove", "m.safetensors", "note", "url", "license", "format"]).code, 0);
    assert!(SafeTensors::open(&fs::read(&path).unwrap()).unwrap().metadata().is_none());
    assert_eq!(meta(folder.path(), &["list", "m.safetensors"]).out, "metadata    none\n");
    assert_eq!(meta(folder.path(), &["list", "m.safetensors", "--json"]).out, "{}\n");
    // A header that does not fit moves the tensors, and they are the same.
    let long = "x".repeat(500);
    let moved = meta(folder.path(), &["set", "m.safetensors", "long", &long]);
    assert!(moved.out.contains("bytes before"), "{}", moved.out);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(SafeTensors::open(&bytes).unwrap().tensor("w").unwrap().bytes(), DATA);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn gguf_keys_keep_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let before = ggufs(folder.path());
    let path = folder.path().join("m.gguf");
    let set = ["set", "m.gguf", "gpt2.context_length=2048", "general.name=new", "eps=0.5", "n=65535", "more=-1"];
    let set = meta(folder.path(), &set);
    assert_eq!((set.code, set.err.as_str()), (0, ""));
    let after = fs::read(&path).unwrap();
    let (old, new) = (Gguf::open(&before).unwrap(), Gguf::open(&after).unwrap());
    let kind = |key: &str| new.get(key).unwrap().kind();
    assert_eq!((kind("gpt2.context_length"), new.u64("gpt2.context_length")), (ValueType::U32, Ok(2048)));
    assert_eq!((kind("n"), kind("eps"), kind("more")), (ValueType::U16, ValueType::F32, ValueType::String));
    assert_eq!((new.str("general.name"), new.get("tokens")), (Ok("new"), old.get("tokens")));
    assert_eq!(new.data(), old.data());
    // Another type where it is asked for, also in place of an array; the format's own for its own keys.
    for (args, key, kind) in [
        (&["set", "m.gguf", "n", "-7", "--type", "i8"][..], "n", ValueType::I8),
        (&["set", "m.gguf", "tokens=true", "--type=bool"], "tokens", ValueType::Bool),
        (&["set", "m.gguf", "general.file_type=1"], "general.file_type", ValueType::U32),
        (&["set", "m.gguf", "tokenizer.ggml.eos_token_id=50256"], "tokenizer.ggml.eos_token_id", ValueType::U32),
    ] {
        assert_eq!(meta(folder.path(), args).code, 0, "{args:?}");
        let bytes = fs::read(&path).unwrap();
        assert_eq!(Gguf::open(&bytes).unwrap().get(key).unwrap().kind(), kind, "{args:?}");
    }
    assert_eq!(meta(folder.path(), &["get", "m.gguf", "n"]).out, "-7\n");
    let shown: Value = serde_json::from_str(&meta(folder.path(), &["get", "m.gguf", "n", "--json"]).out).unwrap();
    assert_eq!(shown, json!({"key": "n", "type": "i8", "value": -7}));
    // Another alignment lays the tensors out anew.
    assert_eq!(meta(folder.path(), &["set", "m.gguf", "general.alignment", "128"]).code, 0);
    let bytes = fs::read(&path).unwrap();
    let file = Gguf::open(&bytes).unwrap();
    assert!(file.tensors().all(|tensor| tensor.span().start() % 128 == 0 && tensor.bytes() == DATA));
    // And back to the file that it was.
    let back = ["n=7", "--type=u16"];
    assert_eq!(meta(folder.path(), &[&["set", "m.gguf"], &back[..]].concat()).code, 0);
    assert_eq!(meta(folder.path(), &["remove", "m.gguf", "general.alignment", "more"]).code, 0);
    let list: Value = serde_json::from_str(&meta(folder.path(), &["list", "m.gguf", "--json"]).out).unwrap();
    let keys: Vec<&str> = list.as_array().unwrap().iter().map(|pair| pair["key"].as_str().unwrap()).collect();
    assert_eq!(keys[..5], ["general.architecture", "general.name", "gpt2.context_length", "n", "eps"]);
}

#[test]
fn text_is_shown_escaped() {
    let folder = tempfile::tempdir().unwrap();
    safetensors(folder.path());
    ggufs(folder.path());
    // `Run` asserts that nothing but printable ASCII is printed.
    assert_eq!(meta(folder.path(), &["get", "m.safetensors", "note"]).out, "a\\u{1b}\\n\n");
    assert_eq!(meta(folder.path(), &["get", "m.gguf", "general.name"]).out, "old\\n\n");
    assert_eq!(meta(folder.path(), &["get", "m.gguf", "tokens"]).out, "[\"a\", \"\\u{e9}\"]\n");
    let list = meta(folder.path(), &["list", "m.gguf"]);
    assert!(list.out.starts_with("metadata    6 keys\n") && list.out.contains("\"old\\n\""), "{}", list.out);
    let missing = meta(folder.path(), &["get", "m.gguf", "\u{1b}[2J"]);
    assert_eq!(missing.err, "tensorgate: m.gguf: there is no key \"\\u{1b}[2J\"\n");
}

#[test]
fn what_cannot_be_is_said_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (before, gguf) = (safetensors(folder.path()), ggufs(folder.path()));
    let refused = |args: &[&str], code: i32, said: &str| {
        let run = meta(folder.path(), args);
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{args:?}: {}", run.err);
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
    };
    refused(
        &["remove", "m.gguf", "general.nmae"],
        1,
        "there is no key \"general.nmae\"; did you mean \"general.name\"?",
    );
    refused(&["get", "m.gguf", "name"], 1, "did you mean \"general.name\"?");
    refused(&["remove", "m.safetensors", "note", "nonesuch"], 1, "there is no key \"nonesuch\"\n");
    refused(
        &["set", "m.gguf", "n", "65536"],
        2,
        "\"65536\" is no u16 for \"n\"; --type gives the key another type",
    );
    refused(&["set", "m.gguf", "eps=1e39"], 2, "is no f32");
    refused(&["set", "m.gguf", "x", "1", "--type=bool"], 2, "is no bool for \"x\": true or false");
    refused(&["set", "m.gguf", "tokens=x"], 2, "\"tokens\" is an array; with --type, one value takes its place");
    refused(&["set", "m.gguf", "k\u{e9}=x"], 2, "printable ASCII");
    refused(&["set", "m.gguf", "=x"], 2, "cannot be empty");
    refused(&["set", "m.gguf", "general.alignment=3"], 2, "a power of two");
    refused(&["set", "m.gguf", "general.alignment=64", "--type=u64"], 2, "a power of two");
    refused(&["set", "m.gguf", "split.count=2"], 2, "convert changes that");
    refused(&["remove", "m.gguf", "split.count"], 2, "convert changes that");
    refused(&["set", "m.gguf", "a=1", "b"], 2, "\"b\" is no KEY=VALUE");
    refused(&["set", "m.safetensors", "a=1", "--type=u8"], 2, "--type u8 is for GGUF");
    refused(&["set", "m.gguf", "a=1", "--type=u9"], 2, "invalid value");
    refused(&["set", "m.gguf"], 2, "required");
    refused(&["set", "none.gguf", "a=1"], 2, "none.gguf");
    assert_eq!(fs::read(folder.path().join("m.safetensors")).unwrap(), before);
    assert_eq!(fs::read(folder.path().join("m.gguf")).unwrap(), gguf);
    // Files that are none are rejected, as by check.
    fs::write(folder.path().join("bad.gguf"), b"GGUF\x03\0\0\0").unwrap();
    refused(&["set", "bad.gguf", "a=1"], 1, "bad.gguf");
    refused(&["list", "bad.gguf"], 1, "bad.gguf");
    let time = || folder.path().join("m.gguf").metadata().unwrap().modified().unwrap();
    let old = time();
    let same = meta(folder.path(), &["set", "m.gguf", "n=7"]);
    assert_eq!((same.code, same.out.as_str(), time()), (0, "m.gguf: nothing to change\n", old));
    assert_eq!(meta(folder.path(), &["set", "m.gguf", "n=8", "-q"]).out, "");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// An index names many files, of which one must be meant; a split model's first file says what there is to say.
#[test]
fn models_of_several_files() {
    let folder = tempfile::tempdir().unwrap();
    safetensors(folder.path());
    let index = r#"{"metadata":{},"weight_map":{"w":"m.safetensors"}}"#;
    fs::write(folder.path().join("m.safetensors.index.json"), index).unwrap();
    let refused = meta(folder.path(), &["set", "m.safetensors.index.json", "a=1"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("an index: name one of its shards, such as m.safetensors"), "{}", refused.err);
    ggufs(folder.path());
    assert_eq!(run(folder.path(), &["convert", "m.gguf", "s.gguf", "--max-shard-size=5"]).code, 0);
    assert_eq!(meta(folder.path(), &["set", "s-00001-of-00002.gguf", "general.name=x"]).code, 0);
    assert_eq!(run(folder.path(), &["convert", "s-00001-of-00002.gguf", "one.gguf"]).code, 0);
    assert_eq!(meta(folder.path(), &["get", "one.gguf", "general.name"]).out, "x\n");
}
