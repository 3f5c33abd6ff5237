//! `tensorgate check --readers`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::common::{bytes, cases, corpus, file};
use crate::{run, sound};

/// The outcome of each reader, by name and version.
fn outcomes(line: &Value) -> BTreeMap<String, String> {
    let answers = line["readers"]["answers"].as_array().unwrap();
    let text = |answer: &Value, key: &str| answer[key].as_str().unwrap().to_owned();
    answers
        .iter()
        .map(|answer| (format!("{} {}", text(answer, "reader"), text(answer, "version")), text(answer, "outcome")))
        .collect()
}

#[test]
fn nothing_is_told_unless_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.safetensors"), sound()).unwrap();
    assert!(!run(folder.path(), &["check", "a.safetensors"]).out.contains("other readers"));
    assert_eq!(run(folder.path(), &["check", "--format", "jsonl", "."]).lines()[0]["readers"], Value::Null);
}

#[test]
fn the_report_says_who_reads_what() {
    let folder = tempfile::tempdir().unwrap();
    let header = r#"{"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}  "#;
    fs::write(folder.path().join("a.safetensors"), file(header, &[0; 8])).unwrap();
    let text = run(folder.path(), &["check", "--readers", "a.safetensors"]);
    assert_eq!(text.code, 0);
    assert!(text.out.contains("what other readers do with this file:"), "{}", text.out);
    assert!(text.out.contains("      accepts   safetensors (Rust) 0.8.0\n"), "{}", text.out);
    assert!(text.out.contains("      refuses   mlx 0.32.4  [dtype F64]\n"), "{}", text.out);
    let twice = file(r#"{"__metadata__":{"a":"1","a":"2"}}"#, &[]);
    fs::write(folder.path().join("b.safetensors"), twice).unwrap();
    let text = run(folder.path(), &["check", "--readers", "b.safetensors"]);
    assert_eq!(text.code, 1);
    assert!(text.out.contains("what other readers do with this fault:"), "{}", text.out);
    assert!(
        text.out.contains("differs   mlx 0.32.4  [ST-DUP-META-KEY]  keeps the last of the two\n"),
        "{}",
        text.out
    );
}

/// The command's answer is the library's, for every case of both formats; `tests/dialects.rs` holds that to the measured one.
#[test]
fn no_case_is_told_otherwise_than_it_was_measured() {
    let mut checked = 0;
    for (name, ending, readers) in [
        ("safetensors.json", "safetensors", [("mlx 0.32.4", "mlx 0.32.4"), ("tinygrad 0.14.0", "tinygrad 0.14.0")]),
        ("gguf.json", "gguf", [("ggus 0.5.1", "ggus 0.5.1"), ("candle 2a13b0f3", "candle 2a13b0f3")]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let all = cases(name);
        for (number, case) in all.iter().enumerate() {
            fs::write(folder.path().join(format!("{number:04}.{ending}")), bytes(case)).unwrap();
        }
        let lines = run(folder.path(), &["check", "--readers", "--format", "jsonl", "."]).lines();
        assert_eq!(lines.len(), all.len());
        for (line, case) in lines.iter().zip(&all) {
            let outcomes = outcomes(line);
            for (reader, key) in &readers {
                let measured = case["peers"][key].as_str().unwrap();
                let fits = match outcomes[*reader].as_str() {
                    "accepts" | "differs" => measured.starts_with("ok"),
                    "refuses" => measured.starts_with("err"),
                    "crashes" => measured.starts_with("crash"),
                    "hangs" => measured.to_ascii_lowercase().starts_with("timeout"),
                    other => ["varies", "unknown"].contains(&other),
                };
                assert!(fits, "{} {reader}: {} but {measured}", case["name"], outcomes[*reader]);
                checked += 1;
            }
            let of = if case["strict_expected"] == "ok" { "file" } else { "fault" };
            assert_eq!(line["readers"]["of"], of, "{}", case["name"]);
        }
    }
    assert!(checked > 1000);
}

#[test]
fn an_index_has_no_such_answers() {
    let path = corpus::folder().join("accept");
    let lines = run(&path, &["check", "--readers", "--format", "jsonl", "."]).lines();
    assert!(lines.len() > 50);
    for line in lines {
        assert_eq!(line["readers"].is_null(), line["format"] == "index", "{}", line["path"]);
    }
}
