//! GGUF files, as files and as streams.

use std::fs;

use serde_json::Value;

use crate::common::{bytes, cases, shared};
use crate::{pipe, run};

/// A file of version 3 with these pairs and tensor infos, each already encoded, and what follows them.
fn gguf(pairs: &[Vec<u8>], infos: &[Vec<u8>], rest: &[u8]) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend_from_slice(&u64::try_from(infos.len()).unwrap().to_le_bytes());
    file.extend_from_slice(&u64::try_from(pairs.len()).unwrap().to_le_bytes());
    pairs.iter().chain(infos).for_each(|part| file.extend_from_slice(part));
    if !infos.is_empty() {
        file.resize(file.len().next_multiple_of(32), 0);
    }
    file.extend_from_slice(rest);
    file
}

fn string(text: &[u8]) -> Vec<u8> {
    [&u64::try_from(text.len()).unwrap().to_le_bytes()[..], text].concat()
}

fn text(key: &str, value: &str) -> Vec<u8> {
    [&string(key.as_bytes())[..], &8_u32.to_le_bytes(), &string(value.as_bytes())].concat()
}

fn u32(key: &str, value: u32) -> Vec<u8> {
    [&string(key.as_bytes())[..], &4_u32.to_le_bytes(), &value.to_le_bytes()].concat()
}

/// A tensor info: dimensions innermost first, the type's number, the offset.
fn info(name: &str, dims: &[u64], kind: u32, offset: u64) -> Vec<u8> {
    let mut info = string(name.as_bytes());
    info.extend_from_slice(&u32::try_from(dims.len()).unwrap().to_le_bytes());
    for dim in dims {
        info.extend_from_slice(&dim.to_le_bytes());
    }
    info.extend_from_slice(&kind.to_le_bytes());
    info.extend_from_slice(&offset.to_le_bytes());
    info
}

/// Two blocks of Q4_0, padded to 64 bytes, then three of F32.
fn model() -> Vec<u8> {
    let pairs = [
        text("general.architecture", "llama"),
        text("general.name", "Tiny"),
        u32("llama.block_count", 2),
        u32("llama.context_length", 2048),
        u32("llama.embedding_length", 64),
        u32("llama.attention.head_count", 4),
        text("llama.attention.head_count_kv", "of the wrong type"),
        text("tokenizer.chat_template", &"{% for m in messages %}\n".repeat(50)),
    ];
    let infos = [info("blk.0.attn_q.weight", &[32, 2], 2, 0), info("output.weight", &[3], 0, 64)];
    let mut data = vec![7; 36];
    data.resize(64, 0);
    data.extend_from_slice(&[1; 12]);
    data.resize(96, 0);
    gguf(&pairs, &infos, &data)
}

fn line(file: &[u8]) -> Value {
    pipe(file, &["check", "-", "--format=jsonl"]).lines()[0].clone()
}

#[test]
fn every_case_has_its_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let all = cases("gguf.json");
    for (number, case) in all.iter().enumerate() {
        fs::write(folder.path().join(format!("{number:04}.gguf")), bytes(case)).unwrap();
    }
    let lines = run(folder.path(), &["check", ".", "--format=jsonl"]).lines();
    assert_eq!(lines.len(), all.len());
    for (number, (line, case)) in lines.iter().zip(&all).enumerate() {
        let accepted = case["strict_expected"] == "ok";
        assert_eq!(line["verdict"], if accepted { "accepted" } else { "rejected" }, "{}: {line}", case["name"]);
        assert_eq!(line["code"].is_null(), accepted);
        if let Some(excerpt) = line["excerpt"].as_object() {
            let (text, column) = (excerpt["text"].as_str().unwrap(), excerpt["column"].as_u64().unwrap());
            let shown = text.get(usize::try_from(column).unwrap()..).unwrap_or_default();
            let at = usize::try_from(line["offset"].as_u64().unwrap()).unwrap();
            if let Some(byte) = bytes(case).get(at) {
                assert!(shown.starts_with(&format!("{byte:02x}")), "{}: {line}", case["name"]);
            }
            assert!(text.len() <= 94, "{text}");
        }
        if number % 7 == 0 {
            let piped = pipe(&bytes(case), &["check", "-", "--format=jsonl"]);
            assert_eq!(piped.lines()[0]["verdict"], line["verdict"], "{}", case["name"]);
            if line["format"] == "gguf" && line["code"] != "GG-MAGIC" {
                for key in ["code", "offset"] {
                    assert_eq!(piped.lines()[0][key], line[key], "{}", case["name"]);
                }
            }
        }
    }
}

#[test]
fn padding_is_looked_at_in_files_and_streams() {
    let sound = model();
    let end = sound.len();
    assert_eq!(line(&sound)["verdict"], "accepted");
    let folder = tempfile::tempdir().unwrap();
    // The padding of the first tensor, its last byte, that of the second; then tensors' bytes, where all is allowed.
    for (at, bad) in
        [(end - 96 + 36, true), (end - 33, true), (end - 1, true), (end - 96, false), (end - 21, false)]
    {
        let mut file = sound.clone();
        file[at] = 0x5a;
        fs::write(folder.path().join("x.gguf"), &file).unwrap();
        let checked = run(folder.path(), &["check", "x.gguf", "--format=jsonl"]).lines()[0].clone();
        for line in [checked, line(&file)] {
            let want = bad.then_some("GG-PADDING-NONZERO");
            assert_eq!(
                (line["code"].as_str(), line["offset"].as_u64()),
                (want, bad.then_some(at as u64)),
                "{line}"
            );
        }
    }
    for (len, code) in [(end + 1, "GG-DATA-TRAILING"), (end - 21, "GG-DATA-SHORT")] {
        let mut file = sound.clone();
        file.resize(len, 0);
        assert_eq!(line(&file)["code"], code);
    }
}

#[test]
fn a_huge_sparse_file_of_padding_is_not_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    let file = gguf(&[u32("general.alignment", 1 << 30)], &[info("w", &[1], 0, 0)], &[]);
    fs::write(&path, file).unwrap();
    // One tensor of four bytes, padded to 1 GiB on both sides.
    if let Err(error) = fs::File::options().write(true).open(&path).unwrap().set_len(1 << 31) {
        eprintln!("skipped: this file system has no sparse file of 2 GiB: {error}");
        return;
    }
    let checked = run(folder.path(), &["check", "x.gguf", "--format=jsonl"]);
    let line = &checked.lines()[0];
    assert_eq!((line["verdict"].as_str(), checked.code), (Some("accepted"), 0), "{line}");
    assert!(line["findings"].to_string().contains("GG-NOTE-PADDING-UNSEEN"), "{line}");
}

#[test]
fn rules_are_relaxed_one_by_one_and_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let nested = [&string(b"k")[..], &9_u32.to_le_bytes(), &9_u32.to_le_bytes(), &0_u64.to_le_bytes()].concat();
    let latin = [&string(b"k")[..], &8_u32.to_le_bytes(), &string(b"caf\xe9")].concat();
    let one = |name: &str, kind| gguf(&[], &[info(name, &[8], kind, 0)], &[0; 32]);
    for (rule, code, note, file) in [
        ("long-names", "GG-LIMIT-NAME", "GG-NOTE-NAME-LONG", one(&"n".repeat(80), 0)),
        ("nested-arrays", "GG-ARRAY-NESTED", "GG-NOTE-ARRAY-NESTED", gguf(&[nested], &[], b"")),
        ("invalid-utf8", "GG-STRING-UTF8", "GG-NOTE-STRING-UTF8", gguf(&[latin], &[], b"")),
        ("unknown-types", "GG-TYPE-UNKNOWN", "GG-NOTE-TYPE-UNKNOWN", one("t", 137)),
        ("trailing", "GG-DATA-TRAILING", "GG-NOTE-TRAILING", gguf(&[], &[info("t", &[8], 0, 0)], &[0; 99])),
    ] {
        fs::write(folder.path().join("x.gguf"), file).unwrap();
        let strict = run(folder.path(), &["check", "x.gguf", "--format=jsonl"]);
        assert_eq!((strict.code, &strict.lines()[0]["code"]), (1, &Value::from(code)), "{rule}");
        let relaxed = run(folder.path(), &["check", "x.gguf", "--allow", rule]);
        assert_eq!(relaxed.code, 0, "{rule}: {}", relaxed.out);
        assert!(relaxed.out.contains(&format!("    warning {note} at byte ")), "{rule}: {}", relaxed.out);
    }
}

#[test]
fn a_few_bytes_cannot_claim_all_memory() {
    // An array of 2^29 strings in a sparse file of 1 TiB: every string is empty, and the array takes 4 GiB.
    let folder = tempfile::tempdir().unwrap();
    let head =
        [&string(b"x")[..], &9_u32.to_le_bytes(), &8_u32.to_le_bytes(), &(1_u64 << 29).to_le_bytes()].concat();
    let path = folder.path().join("x.gguf");
    fs::write(&path, gguf(&[head], &[], b"")).unwrap();
    if fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).is_err() {
        eprintln!("skipped: no sparse file of 1 TiB can be made here");
        return;
    }
    let checked = run(folder.path(), &["check", "x.gguf", "--max-gguf-header", "1000000", "--format=jsonl"]);
    assert_eq!((checked.code, &checked.lines()[0]["code"]), (1, &Value::from("GG-LIMIT-METADATA")));
}

/// One shard of a model that is split in two, with one tensor.
pub(crate) fn split_shard(number: u16, tensor: &str, architecture: &str) -> Vec<u8> {
    let u16 =
        |key: &str, value: u16| [&string(key.as_bytes())[..], &2_u32.to_le_bytes(), &value.to_le_bytes()].concat();
    let total = [&string(b"split.tensors.count")[..], &5_u32.to_le_bytes(), &2_i32.to_le_bytes()].concat();
    let pairs = [text("general.architecture", architecture), u16("split.no", number), u16("split.count", 2), total];
    gguf(&pairs, &[info(tensor, &[8], 0, 0)], &[0; 32])
}

#[test]
fn the_shards_of_a_split_model_are_held_against_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf");
    let verdict = |file: Option<Vec<u8>>| {
        fs::write(folder.path().join(first), split_shard(0, "a", "llama")).unwrap();
        match file {
            Some(bytes) => fs::write(folder.path().join(second), bytes).unwrap(),
            None => drop(fs::remove_file(folder.path().join(second))),
        }
        let line = run(folder.path(), &["check", first, "--format=jsonl"]).lines()[0].clone();
        let found = line["findings"].as_array().unwrap().iter().any(|note| note["code"] == "GG-SPLIT-MISSING");
        (line["verdict"].as_str().unwrap().to_owned(), line["code"].as_str().unwrap_or("").to_owned(), found)
    };
    let rejected = |code: &str| ("rejected".to_owned(), code.to_owned(), false);
    assert_eq!(verdict(Some(split_shard(1, "b", "llama"))), ("accepted".to_owned(), String::new(), false));
    assert_eq!(verdict(None), ("accepted".to_owned(), String::new(), true));
    assert_eq!(verdict(Some(split_shard(1, "a", "llama"))), rejected("GG-SPLIT-NAME-DUP"));
    assert_eq!(verdict(Some(split_shard(0, "b", "llama"))), rejected("GG-SPLIT-NUMBER"));
    assert_eq!(verdict(Some(split_shard(1, "b", "gpt2"))), rejected("GG-SPLIT-ARCHITECTURE"));
    assert_eq!(verdict(Some(model())), rejected("GG-SPLIT-KEY-MISSING"));
    assert_eq!(verdict(Some(b"GGUF".to_vec())), rejected("GG-SPLIT-SHARD-REJECTED"));
}

#[test]
fn of_a_split_model_all_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf");
    let save = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    let has = |text: &str, line: &str| assert!(text.lines().any(|have| have == line), "{line:?} in {text}");
    save(first, split_shard(0, "a", "llama"));
    save(second, split_shard(1, "b", "llama"));
    let shown = run(folder.path(), &["inspect", first]).out;
    for line in [
        "format      GGUF version 3, little-endian, the first of 2 files",
        "total       2 tensors, 16 parameters, 64 bytes, 32.00 bits each",
        "shards      2, 2 there with 64 bytes",
        "  m-00001-of-00002.gguf  1 tensor, 32 bytes",
        "  m-00002-of-00002.gguf  1 tensor, 32 bytes",
    ] {
        has(&shown, line);
    }
    assert!(shown.contains(" of m-00002-of-00002.gguf, 32 bytes") && !shown.contains("\nlayout"), "{shown}");
    // A folder is its model, and a tensor is found in whatever file it is.
    assert_eq!(run(folder.path(), &["inspect", "."]).out.replace("./", ""), shown);
    has(&run(folder.path(), &["inspect", first, "--tensor", "b"]).out, "  file    m-00002-of-00002.gguf");
    let document = |args: &[&str]| -> Value {
        serde_json::from_str(&run(folder.path(), &[&["inspect", first, "--json"], args].concat()).out).unwrap()
    };
    let all = document(&["--deep"]);
    assert_eq!((&all["parameters"], &all["data_bytes"]), (&Value::from(16), &Value::from(64)));
    let shards = serde_json::json!([
        {"name": first, "tensors": 1, "bytes": 32},
        {"name": second, "tensors": 1, "bytes": 32},
    ]);
    assert_eq!(all["shards"], shards);
    assert_eq!((&all["tensors"][1]["name"], &all["tensors"][1]["shard"]), (&"b".into(), &second.into()));
    assert_eq!((all["values"].as_array().unwrap().len(), &all["values"][1]["zeros"]), (2, &Value::from(8)));
    // A file of it that is named is shown by itself.
    has(
        &run(folder.path(), &["inspect", second]).out,
        "total       1 tensor, 8 parameters, 32 bytes, 32.00 bits each",
    );
    fs::remove_file(folder.path().join(second)).unwrap();
    let shown = run(folder.path(), &["inspect", first]).out;
    has(&shown, "shards      2, 1 there with 32 bytes");
    has(&shown, "  m-00002-of-00002.gguf  not there");
    assert!(shown.contains("GG-SPLIT-MISSING"), "{shown}");
    assert_eq!(document(&[])["shards"][1], serde_json::json!({"name": second, "tensors": null, "bytes": null}));
    // Files that are not of one model are none.
    save(second, split_shard(1, "a", "llama"));
    let shown = run(folder.path(), &["inspect", first]);
    assert!(shown.code == 1 && shown.out.starts_with("rejected") && shown.out.contains("GG-SPLIT-NAME-DUP"));
}

#[test]
fn people_see_the_model() {
    let shown = pipe(&model(), &["inspect", "-"]);
    let lines: Vec<&str> = shown.out.lines().collect();
    for line in [
        "format      GGUF version 3, little-endian",
        "name        Tiny",
        "model       llama (blocks 2, context length 2048, embedding length 64, heads 4)",
        "total       2 tensors, 67 parameters, 48 bytes, 5.73 bits each",
        "F32         1 tensor, 3 parameters, 12 bytes, 32.00 bits each",
        "Q4_0        1 tensor, 64 parameters, 36 bytes, 4.50 bits each",
        "metadata    8 keys",
        "blk.0  1 tensor, 64 parameters, 36 bytes",
        "output  1 tensor, 3 parameters, 12 bytes",
    ] {
        let found = lines.iter().any(|have| have.eq_ignore_ascii_case(line));
        assert!(found, "{line:?} in {}", shown.out);
    }
    let template = lines.iter().find(|line| line.contains("chat_template")).unwrap();
    assert!(template.contains("{% for m in messages %}\\n{% for") && template.ends_with("... (1200 bytes)\""));
    assert!(shown.out.lines().all(|line| line.len() < 200));
    let all = pipe(&model(), &["inspect", "-", "--all"]);
    assert!(all.out.contains(&"{% for m in messages %}\\n".repeat(50)));
}

#[test]
fn json_shows_what_the_cases_say() {
    let mut seen = 0;
    for case in cases("gguf.json").iter().filter(|case| case["strict_expected"] == "ok").step_by(5) {
        let shown = pipe(&bytes(case), &["inspect", "-", "--json"]);
        let document: Value = serde_json::from_str(&shown.out).unwrap();
        let want = &case["expect"];
        if !want.is_object() {
            continue;
        }
        for (ours, theirs) in [("version", "version"), ("alignment", "alignment"), ("data_start", "data_offset")] {
            assert_eq!(document[ours], want[theirs], "{}", case["name"]);
        }
        let tensors = document["tensors"].as_array().unwrap();
        assert_eq!(Some(tensors.len() as u64), want["n_tensors"].as_u64());
        for (ours, theirs) in tensors.iter().zip(want["tensors"].as_array().unwrap()) {
            assert_eq!(ours["bytes"], theirs["nbytes"], "{}", case["name"]);
            let offset = ours["offset"].as_u64().unwrap() - document["data_start"].as_u64().unwrap();
            assert_eq!(Some(offset), theirs["offset"].as_u64());
        }
        let pairs = document["metadata"].as_array().unwrap();
        assert_eq!(Some(pairs.len() as u64), want["n_kv"].as_u64());
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn nothing_of_a_file_reaches_the_terminal() {
    let hostile = "\u{1b}[2J\u{9b}\u{202e}\u{7f}\n\r\0\u{e9}\"";
    let array = [
        &string(b"list")[..],
        &9_u32.to_le_bytes(),
        &8_u32.to_le_bytes(),
        &1_u64.to_le_bytes(),
        &string(hostile.as_bytes()),
    ]
    .concat();
    let name = "blk.0.\u{202e}\u{e9}\u{feff}";
    let sound = gguf(
        &[text("general.architecture", hostile), text("general.name", hostile), array],
        &[info(name, &[8], 0, 0)],
        &[1; 32],
    );
    let bad_key = gguf(&[u32("a\u{1b}[2J", 1)], &[], &[]);
    let bad_text = gguf(&[[&string(b"k")[..], &8_u32.to_le_bytes(), &string(b"\xff\x1b[2J")].concat()], &[], &[]);
    // `Run` asserts that all output is printable ASCII.
    for (file, code) in [(&sound, None), (&bad_key, Some("GG-KEY-CHARSET")), (&bad_text, Some("GG-STRING-UTF8"))] {
        assert_eq!(line(file)["code"].as_str(), code);
        for args in
            [&["check", "-", "-v"][..], &["inspect", "-"], &["inspect", "-", "--all"], &["inspect", "-", "--json"]]
        {
            assert_eq!(pipe(file, args).code, i32::from(code.is_some()));
        }
    }
    let document: Value = serde_json::from_str(&pipe(&sound, &["inspect", "-", "--json"]).out).unwrap();
    assert_eq!(document["metadata"][2]["value"][0], hostile);
    assert_eq!(document["tensors"][0]["name"], name);
}

#[test]
fn real_files_are_shown_and_streamed() {
    let Some(real) = shared("real") else { return };
    for entry in fs::read_dir(real.join("vocab")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "gguf") {
            continue;
        }
        let file = fs::read(&path).unwrap();
        assert_eq!(line(&file)["verdict"], "accepted", "{}", path.display());
        let document: Value = serde_json::from_str(&pipe(&file, &["inspect", "-", "--json"]).out).unwrap();
        let tokens =
            document["metadata"].as_array().unwrap().iter().find(|pair| pair["key"] == "tokenizer.ggml.tokens");
        assert!(tokens.unwrap()["value"].as_array().unwrap().len() > 10_000);
        assert!(document["architecture"].is_string());
    }
}
