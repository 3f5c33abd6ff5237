//! Sharded indexes and what lies beside them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{file, shared};
use crate::{Run, pipe, run};

/// A shard of tensors of one byte each.
fn shard(names: &[&str]) -> Vec<u8> {
    let entries: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            format!("{}:{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}", json!(name), at + 1)
        })
        .collect();
    file(&format!("{{{}}}", entries.join(",")), &vec![0; names.len()])
}

/// The index of two shards with three tensors: `a` and `b` in the first, `c` in the second.
const INDEX: &str = r#"{"metadata":{"total_size":3},"weight_map":{"a":"m-1.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"}}"#;

fn write(folder: &Path, index: &str, shards: &[(&str, Vec<u8>)]) {
    fs::write(folder.join("m.safetensors.index.json"), index).unwrap();
    for (name, bytes) in shards {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// The report on the index alone, with the codes of its findings.
fn report(index: &str, shards: &[(&str, Vec<u8>)]) -> (Value, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), index, shards);
    let checked = run(folder.path(), &["check", "m.safetensors.index.json", "--format=jsonl"]);
    let line = checked.lines()[0].clone();
    assert_eq!(line["format"], "index");
    assert_eq!(checked.code, i32::from(line["verdict"] != "accepted"));
    let codes = line["findings"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap().to_owned());
    (line.clone(), codes.collect())
}

#[test]
fn a_whole_model_is_accepted() {
    let (line, codes) =
        report(INDEX, &[("m-1.safetensors", shard(&["a", "b"])), ("m-2.safetensors", shard(&["c"]))]);
    assert_eq!(
        (line["verdict"].as_str(), line["tensors"].as_u64(), codes.len()),
        (Some("accepted"), Some(3), 0),
        "{line}"
    );
}

#[test]
fn what_is_missing_or_odd_is_a_warning() {
    let first = ("m-1.safetensors", shard(&["a", "b"]));
    let second = ("m-2.safetensors", shard(&["c"]));
    let wrong = INDEX.replace(":3}", ":4}");
    let no_total = INDEX.replace("\"total_size\":3", "");
    for (index, shards, want) in [
        (INDEX, vec![], vec!["IX-SHARD-MISSING", "IX-SHARD-MISSING"]),
        (INDEX, vec![first.clone()], vec!["IX-SHARD-MISSING"]),
        // Where no shard is there, other files are none of its business; and the sum is not known without all of them.
        (INDEX, vec![("other.safetensors", shard(&["z"]))], vec!["IX-SHARD-MISSING", "IX-SHARD-MISSING"]),
        (
            INDEX,
            vec![first.clone(), second.clone(), ("other.safetensors", shard(&["z"]))],
            vec!["IX-SHARD-UNNAMED"],
        ),
        (&wrong, vec![first.clone(), second.clone()], vec!["IX-TOTAL-SIZE"]),
        (&wrong, vec![first.clone()], vec!["IX-SHARD-MISSING"]),
        (&no_total, vec![first, second], vec!["IX-TOTAL-SIZE-FORM"]),
    ] {
        let (line, codes) = report(index, &shards);
        assert_eq!(
            (line["verdict"].as_str(), codes),
            (Some("accepted"), want.iter().map(|code| (*code).to_owned()).collect()),
            "{line}"
        );
        assert!(line["findings"].as_array().unwrap().iter().all(|note| note["severity"] == "warning"));
    }
}

#[test]
fn a_disagreement_is_an_error() {
    let second = || ("m-2.safetensors", shard(&["c"]));
    for (first, others, code, names) in [
        (shard(&["a"]), vec![second()], "IX-TENSOR-MISSING", ["\"b\"", "\"m-1.safetensors\""]),
        (shard(&["a", "b", "x"]), vec![second()], "IX-TENSOR-UNLISTED", ["\"x\"", "\"m-1.safetensors\""]),
        (shard(&["a", "b", "c"]), vec![second()], "IX-TENSOR-ELSEWHERE", ["\"c\"", "\"m-2.safetensors\""]),
        (shard(&["a", "a"]), vec![second()], "IX-SHARD-REJECTED", ["ST-DUP-NAME", "\"m-1.safetensors\""]),
        (b"PK\x03\x04".to_vec(), vec![], "IX-SHARD-REJECTED", ["FT-ZIP", "\"m-1.safetensors\""]),
    ] {
        let shards = [vec![("m-1.safetensors", first)], others].concat();
        let (line, _) = report(INDEX, &shards);
        assert_eq!((line["verdict"].as_str(), line["code"].as_str()), (Some("rejected"), Some(code)), "{line}");
        let message = line["message"].as_str().unwrap();
        assert!(names.iter().all(|name| message.contains(name)), "{message}");
        let at = usize::try_from(line["offset"].as_u64().unwrap()).unwrap();
        assert!(INDEX[at..].starts_with(['"', '{']) && line["excerpt"].is_object(), "{line}");
    }
}

#[test]
fn findings_are_few_whatever_their_number() {
    let names: Vec<String> = (0..500).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (line, codes) = report(INDEX, &[("m-1.safetensors", shard(&names))]);
    assert_eq!(line["code"], "IX-TENSOR-MISSING");
    assert!(codes.len() <= 12, "{codes:?}");
    // 502 disagreements, of which ten are shown.
    assert!(line["findings"].to_string().contains("492 more are not shown"), "{line}");
}

#[test]
fn no_path_is_followed_out_of_the_folder() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("inner");
    fs::create_dir(&folder).unwrap();
    fs::write(outer.path().join("x.safetensors"), b"never opened").unwrap();
    for name in ["../x.safetensors", "/etc/passwd", "inner/x.safetensors", "..", ""] {
        let index = json!({"weight_map": {"a": name}}).to_string();
        write(&folder, &index, &[]);
        let checked = run(&folder, &["check", "m.safetensors.index.json", "--format=jsonl"]);
        assert_eq!((checked.code, checked.lines()[0]["code"].as_str()), (1, Some("IX-SHARD-NAME")), "{name}");
    }
    // A folder is no shard.
    fs::create_dir(folder.join("m-1.safetensors")).unwrap();
    write(&folder, INDEX, &[]);
    let checked = run(&folder, &["check", "m.safetensors.index.json"]);
    assert!(checked.code == 1 && checked.out.contains("IX-SHARD-REJECTED"), "{}", checked.out);
    assert!(checked.out.contains("is there, but is no regular file"), "{}", checked.out);
}

#[test]
fn a_stream_has_nothing_beside_it() {
    let piped = pipe(INDEX.as_bytes(), &["check", "-", "--format=jsonl"]);
    let line = &piped.lines()[0];
    assert_eq!(
        (piped.code, line["format"].as_str(), line["findings"].as_array().unwrap().len()),
        (0, Some("index"), 0)
    );
    let shown = pipe(INDEX.as_bytes(), &["inspect", "-"]);
    assert!(shown.code == 0 && shown.out.contains("  m-1.safetensors  2 tensors\n"), "{}", shown.out);
}

#[test]
fn inspect_shows_shards_and_metadata() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), INDEX, &[("m-1.safetensors", shard(&["a", "b"]))]);
    let shown = run(folder.path(), &["inspect", "m.safetensors.index.json"]);
    for line in [
        "format      sharded index",
        "tensors     3",
        "total_size  3 bytes",
        "metadata    1 key",
        "  total_size: 3",
        "shards      2, 1 there with 2 bytes",
        "  m-1.safetensors  2 tensors, 2 bytes",
        "  m-2.safetensors  1 tensor, not there",
    ] {
        assert!(shown.out.lines().any(|have| have == line), "{line:?} in {}", shown.out);
    }
    let document: Value =
        serde_json::from_str(&run(folder.path(), &["inspect", "m.safetensors.index.json", "--json"]).out).unwrap();
    assert_eq!(document["shards"][0], json!({"name": "m-1.safetensors", "tensors": 2, "bytes": 2}));
    assert_eq!(document["shards"][1]["bytes"], Value::Null);
    assert_eq!(document["tensors"][2], json!({"name": "c", "shard": "m-2.safetensors"}));
}

#[test]
fn inspect_shows_what_is_in_the_shards_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), INDEX, &[("m-1.safetensors", shard(&["a", "b"]))]);
    let index = "m.safetensors.index.json";
    let shown = run(folder.path(), &["inspect", index]);
    for line in ["total       2 tensors, 2 parameters, 2 bytes", "U8          2 tensors, 2 parameters, 2 bytes"] {
        assert!(shown.out.lines().any(|have| have == line), "{line:?} in {}", shown.out);
    }
    let header = fs::metadata(folder.path().join("m-1.safetensors")).unwrap().len() - 2;
    let row = format!("  b  U8     [1]  at {} of m-1.safetensors, 1 byte", header + 1);
    assert!(shown.out.lines().any(|have| have == row), "{row:?} in {}", shown.out);
    let one = run(folder.path(), &["inspect", index, "--tensor", "b"]);
    assert!(one.code == 0 && one.out.contains("  file    m-1.safetensors\n"), "{}", one.out);
    let document: Value =
        serde_json::from_str(&run(folder.path(), &["inspect", index, "--json", "--deep"]).out).unwrap();
    let b = json!({"name": "b", "shard": "m-1.safetensors", "dtype": "U8", "shape": [1], "parameters": 1, "bytes": 1, "offset": header + 1});
    assert_eq!(document["tensors"][1], b);
    assert_eq!((&document["parameters"], &document["data_bytes"]), (&json!(2), &json!(2)));
    assert_eq!(document["dtypes"], json!([{"dtype": "U8", "tensors": 2, "parameters": 2, "bytes": 2}]));
    assert_eq!(document["values"].as_array().map(Vec::len), Some(3));
    assert_eq!(document["values"][2], Value::Null);
}

#[test]
fn of_a_folder_the_model_in_it_is_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let inspect = |what: &[&str]| run(folder.path(), &[&["inspect", "d"], what].concat());
    fs::create_dir(folder.path().join("d")).unwrap();
    let none = inspect(&[]);
    assert!(none.code == 2 && none.out.contains("MO-NOTHING-FOUND"), "{}", none.out);
    for name in ["a.gguf", "b.gguf"] {
        fs::write(folder.path().join("d").join(name), b"GGUF").unwrap();
    }
    let two = inspect(&["--json"]);
    let told: Value = serde_json::from_str(&two.out).unwrap();
    assert_eq!((two.code, told["code"].as_str()), (2, Some("MO-AMBIGUOUS")));
    assert!(told["message"].as_str().unwrap().contains("\"a.gguf\", \"b.gguf\""), "{}", two.out);
    let alone = shard(&["w"]);
    fs::write(folder.path().join("d/model.safetensors"), &alone).unwrap();
    assert!(inspect(&[]).out.starts_with("d/model.safetensors\nformat      safetensors\n"));
    write(&folder.path().join("d"), INDEX, &[("m-1.safetensors", shard(&["a", "b"]))]);
    fs::rename(
        folder.path().join("d/m.safetensors.index.json"),
        folder.path().join("d/model.safetensors.index.json"),
    )
    .unwrap();
    assert!(inspect(&[]).out.starts_with("d/model.safetensors.index.json\nformat      sharded index\n"));
}

#[test]
fn hostile_names_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let name = "\u{1b}[2J\u{202e}\u{9b}";
    let index = json!({"metadata": {name: name}, "weight_map": {name: "m-1.safetensors"}}).to_string();
    write(folder.path(), &index, &[("m-1.safetensors", shard(&["\u{7f}\u{1b}]0;x\u{7}"]))]);
    // `Run` asserts that all output is printable ASCII.
    let seen = |args: &[&str]| -> Run { run(folder.path(), args) };
    for format in ["human", "json", "jsonl"] {
        assert_eq!(seen(&["check", ".", "--format", format]).code, 1);
    }
    fs::remove_file(folder.path().join("m-1.safetensors")).unwrap();
    for option in [&[][..], &["--all"], &["--json"]] {
        assert_eq!(seen(&[&["inspect", "m.safetensors.index.json"], option].concat()).code, 0);
    }
}

#[test]
fn real_indexes_are_accepted() {
    let Some(real) = shared("real") else { return };
    let checked = run(&real, &["check", "index", "--format=jsonl"]);
    let lines = checked.lines();
    assert_eq!((checked.code, lines.len()), (0, 2));
    assert!(lines.iter().all(|line| line["verdict"] == "accepted" && line["format"] == "index"));
}
