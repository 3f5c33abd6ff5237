//! `tensorgate hash`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tensorgate::gguf::ValueType;

use crate::common::gguf::Writer;
use crate::common::{corpus, file};
use crate::{Run, pipe, run};

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

const A: [u8; 8] = [0, 0, 128, 63, 0, 0, 0, 64];
const B: [u8; 3] = [7, 8, 9];

/// Two tensors in one file; the second name holds a line feed, a backslash and a space in front.
fn whole() -> Vec<u8> {
    let header = r#"{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}," \nb\\":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}"#;
    file(header, &[&A[..], &B].concat())
}

/// The same tensors in two files.
fn shards(folder: &Path) {
    let one = r#"{" \nb\\":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#;
    let two = r#"{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}"#;
    fs::write(folder.join("m-1.safetensors"), file(one, &B)).unwrap();
    fs::write(folder.join("m-2.safetensors"), file(two, &A)).unwrap();
    let index = r#"{"metadata":{"total_size":11},"weight_map":{"a":"m-2.safetensors"," \nb\\":"m-1.safetensors"}}"#;
    fs::write(folder.join("m.safetensors.index.json"), index).unwrap();
}

fn lines() -> String {
    format!("{}  U8  [3]  \\u{{20}}\\u{{a}}b\\\\\n{}  F32  [2,1]  a\n", digest(&B), digest(&A))
}

fn hash(folder: &Path, args: &[&str]) -> Run {
    run(folder, &[&["hash"], args].concat())
}

#[test]
fn a_manifest_has_the_digests_of_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.safetensors"), whole()).unwrap();
    let (lines, bytes) = (lines(), whole());
    let want = format!(
        "tensorgate-manifest 1\nmodel  {}  2\n{lines}files  1\nfile  {}  {}  m.safetensors\n",
        digest(lines.as_bytes()),
        digest(&bytes),
        bytes.len()
    );
    for jobs in ["--jobs=1", "--jobs=2", "--jobs=9"] {
        let made = hash(folder.path(), &["m.safetensors", jobs]);
        assert_eq!((made.code, made.out.as_str(), made.err.as_str()), (0, want.as_str(), ""));
    }
    let document: Value = serde_json::from_str(&hash(folder.path(), &["m.safetensors", "--json"]).out).unwrap();
    assert_eq!(
        document,
        json!({
            "path": "m.safetensors",
            "model": digest(lines.as_bytes()),
            "tensors": [
                {"name": " \nb\\", "dtype": "U8", "shape": [3], "digest": digest(&B)},
                {"name": "a", "dtype": "F32", "shape": [2, 1], "digest": digest(&A)},
            ],
            "files": [{"name": "m.safetensors", "size": bytes.len(), "digest": digest(&bytes)}],
        })
    );
}

#[test]
fn one_file_and_its_shards_have_the_same_tensors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.safetensors"), whole()).unwrap();
    let single = hash(folder.path(), &["m.safetensors", "--tensors"]);
    fs::remove_file(folder.path().join("m.safetensors")).unwrap();
    shards(folder.path());
    let sharded = hash(folder.path(), &["m.safetensors.index.json", "--tensors"]);
    assert_eq!((sharded.code, &sharded.out), (0, &single.out));
    let files = hash(folder.path(), &["m.safetensors.index.json"]);
    let named: Vec<&str> = files.out.lines().filter(|line| line.starts_with("file  ")).collect();
    assert!(named.len() == 2 && named[0].ends_with("  m-1.safetensors") && named[1].ends_with("  m-2.safetensors"));
    assert!(named[0].contains(&digest(&fs::read(folder.path().join("m-1.safetensors")).unwrap())));
    fs::remove_file(folder.path().join("m-2.safetensors")).unwrap();
    let partial = hash(folder.path(), &["m.safetensors.index.json"]);
    assert_eq!((partial.code, partial.out.as_str()), (2, ""));
    assert!(partial.err.contains("a shard is not there: m-2.safetensors"), "{}", partial.err);
}

#[test]
fn gguf_has_the_lines_of_safetensors_and_its_shards_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for number in 0..2_u16 {
        let mut writer = Writer::new(1, 3);
        for (key, value) in [("split.no", number), ("split.count", 2)] {
            writer.key(key, ValueType::U16).raw(&value.to_le_bytes());
        }
        writer.key("split.tensors.count", ValueType::I32).u32(2);
        match number {
            0 => writer.tensor("q", &[32], 8, 0).data(0).raw(&[5; 34]),
            // Dimensions are the other way round there.
            _ => writer.tensor("a", &[1, 2], 0, 0).data(0).raw(&A),
        };
        fs::write(at(&format!("m-{:05}-of-00002.gguf", number + 1)), &writer.0).unwrap();
    }
    let made = hash(folder.path(), &["m-00001-of-00002.gguf", "--tensors"]);
    let lines = format!("{}  F32  [2,1]  a\n{}  Q8_0  [32]  q\n", digest(&A), digest(&[5; 34]));
    let want = format!("tensorgate-manifest 1\nmodel  {}  2\n{lines}files  0\n", digest(lines.as_bytes()));
    assert_eq!((made.code, made.out), (0, want));
    fs::remove_file(at("m-00002-of-00002.gguf")).unwrap();
    assert_eq!(hash(folder.path(), &["m-00001-of-00002.gguf"]).code, 2);
    // Numbers in the other order are other bytes of another type.
    let big = corpus::folder().join("accept/gguf-big-endian-alignment-64.gguf");
    let made = hash(folder.path(), &[big.to_str().unwrap(), "--tensors"]);
    assert!(made.out.contains("  F16-BE  [2,2]  a\n") && made.out.contains("  Q8_0-BE  [32]  b\n"), "{}", made.out);
    // Of a type that nobody knows there is no digest.
    let mut writer = Writer::new(1, 0);
    writer.tensor("w", &[32], 99, 0).data(64);
    fs::write(at("odd.gguf"), &writer.0).unwrap();
    let odd = hash(folder.path(), &["odd.gguf", "--allow=unknown-types"]);
    assert!(odd.code == 2 && odd.err.contains("type is not known"), "{}", odd.err);
}

#[test]
fn verifying_lists_what_is_missing_unexpected_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let model = |tensors: &[(&str, &str, &str, &[u8])]| {
        let (mut entries, mut data) = (Vec::new(), Vec::new());
        for (name, dtype, shape, own) in tensors {
            let (begin, end) = (data.len(), data.len() + own.len());
            entries
                .push(format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#));
            data.extend_from_slice(own);
        }
        file(&format!("{{{}}}", entries.join(",")), &data)
    };
    let old = model(&[
        ("bytes", "U8", "[2]", &[1, 2]),
        ("dtype", "I8", "[2]", &[1, 2]),
        ("gone", "U8", "[1]", &[1]),
        ("same", "U8", "[1]", &[1]),
        ("shape", "U8", "[2]", &[1, 2]),
    ]);
    fs::write(at("m.safetensors"), old).unwrap();
    fs::write(at("manifest"), hash(folder.path(), &["m.safetensors"]).out).unwrap();
    let verify = |args: &[&str]| hash(folder.path(), &[&["m.safetensors", "--verify", "manifest"], args].concat());
    let same = verify(&[]);
    assert_eq!((same.code, same.out.as_str()), (0, "verified    5 tensors and 1 file as the manifest says\n"));
    assert_eq!((verify(&["--quiet"]).out, verify(&["--quiet"]).code), (String::new(), 0));
    let new = model(&[
        ("bytes", "U8", "[2]", &[1, 3]),
        ("dtype", "U8", "[2]", &[1, 2]),
        ("new\\u001b", "U8", "[1]", &[1]),
        ("same", "U8", "[1]", &[1]),
        ("shape", "U8", "[1,2]", &[1, 2]),
    ]);
    fs::write(at("m.safetensors"), new).unwrap();
    let differs = verify(&[]);
    assert_eq!(differs.code, 1);
    let lines: Vec<&str> = differs.out.lines().collect();
    let bytes = format!("changed     tensor bytes: {}, now {}", digest(&[1, 2]), digest(&[1, 3]));
    assert_eq!(
        lines[..5],
        [
            bytes.as_str(),
            "changed     tensor dtype: type I8, now U8",
            "missing     tensor gone",
            "unexpected  tensor new\\u{1b}",
            "changed     tensor shape: shape [2], now [1,2]",
        ]
    );
    assert!(lines.len() == 6 && lines[5].starts_with("changed     file m.safetensors: "), "{}", differs.out);
    assert!(!verify(&["--tensors"]).out.contains("file"));
    let document: Value = serde_json::from_str(&verify(&["--json"]).out).unwrap();
    assert_eq!(document["verified"], false);
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&document["tensors"]["missing"]), ["gone"]);
    assert_eq!(names(&document["tensors"]["unexpected"]), ["new\u{1b}"]);
    assert_eq!(names(&document["tensors"]["changed"]), ["bytes", "dtype", "shape"]);
    assert_eq!(document["tensors"]["changed"][1]["found"]["dtype"], "U8");
    assert_eq!(names(&document["files"]["changed"]), ["m.safetensors"]);
}

#[test]
fn a_manifest_of_tensors_holds_however_they_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.safetensors"), whole()).unwrap();
    fs::write(folder.path().join("tensors"), hash(folder.path(), &["m.safetensors", "--tensors"]).out).unwrap();
    fs::write(folder.path().join("files"), hash(folder.path(), &["m.safetensors"]).out).unwrap();
    fs::remove_file(folder.path().join("m.safetensors")).unwrap();
    shards(folder.path());
    let verify = |args: &[&str]| hash(folder.path(), &[&["m.safetensors.index.json", "--verify"], args].concat());
    assert_eq!(verify(&["tensors"]).code, 0);
    assert_eq!(verify(&["files"]).code, 1);
    assert_eq!(verify(&["files", "--tensors"]).code, 0);
}

#[test]
fn hostile_manifests_and_models_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("m.safetensors"), whole()).unwrap();
    let sound = hash(folder.path(), &["m.safetensors"]).out;
    let first = sound.lines().nth(2).unwrap();
    for (bad, line) in [
        (String::new(), 1),
        ("\u{1b}[2J\n".to_owned(), 1),
        (sound.replace("manifest 1", "manifest 2"), 1),
        (sound.replace("  2\n", "  3\n"), 5),
        (sound.replace("  2\n", "  1\n"), 2),
        (sound.replace("files  1", "files  2"), 5),
        (sound.replace("files  1", "files  0"), 6),
        (sound.replace("files  1", "files  01"), 5),
        (sound.replace("  2\n", "  99999999999999\n"), 5),
        (sound.replacen(&digest(lines().as_bytes()), &digest(b""), 1), 2),
        (sound.replace("F32", "F16"), 2),
        (sound.replace(first, &format!("{first}\n{first}")), 4),
        (sound.replace("[3]", "[03]"), 3),
        (sound.replace("[3]", "[ 3]"), 3),
        (sound.replace("[3]", "[18446744073709551616]"), 3),
        (sound.replace("  a\n", "  a\u{1b}\n"), 4),
        (sound.replace("  a\n", "  a\r\n"), 4),
        (sound.trim_end().to_owned(), 6),
        (format!("{sound}\n"), 7),
    ] {
        fs::write(at("bad"), &bad).unwrap();
        let refused = hash(folder.path(), &["m.safetensors", "--verify", "bad"]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{bad}");
        assert!(refused.err.contains(&format!("line {line} of the manifest")), "{bad}: {}", refused.err);
    }
    assert_eq!(hash(folder.path(), &["m.safetensors", "--verify", "there is none"]).code, 2);
    assert_eq!(hash(folder.path(), &["m.safetensors", "--verify", "."]).code, 2);
    for (path, code) in [("bad", 1), ("missing.safetensors", 2), (".", 2)] {
        assert_eq!(hash(folder.path(), &[path]).code, code, "{path}");
    }
    let piped = pipe(&whole(), &["hash", "-"]);
    assert!(piped.code == 2 && piped.out.contains("IO-NOT-REGULAR"), "{}", piped.out);
    fs::write(at("cut.safetensors"), &whole()[..40]).unwrap();
    let refused = hash(folder.path(), &["cut.safetensors", "--json"]);
    assert_eq!((refused.code, refused.lines()[0]["code"].as_str()), (1, Some("ST-HEADER-PAST-END")));
}
