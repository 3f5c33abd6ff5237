//! `tensorgate check`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use tensorgate::ErrorKind;
use tensorgate::detect::Guess;

use crate::common::{bytes, cases, file, shared};
use crate::{pipe, run, sound};

const KEYS: [&str; 15] = [
    "path", "format", "verdict", "known", "code", "offset", "message", "expected", "advice", "excerpt", "size",
    "tensors", "findings", "data", "readers",
];

/// A folder of every case, named by its number.
fn case_folder() -> (tempfile::TempDir, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let all = cases("safetensors.json");
    for (number, case) in all.iter().enumerate() {
        fs::write(folder.path().join(format!("{number:04}.safetensors")), bytes(case)).unwrap();
    }
    (folder, all)
}

/// The fault's picture shows the byte at its offset.
fn check_excerpt(line: &Value, file: &[u8]) {
    let (Some(offset), Some(excerpt)) = (line["offset"].as_u64(), line["excerpt"].as_object()) else { return };
    let column = usize::try_from(excerpt["column"].as_u64().unwrap()).unwrap();
    let width = usize::try_from(excerpt["width"].as_u64().unwrap()).unwrap();
    let text = excerpt["text"].as_str().unwrap();
    assert!(text.len() <= 94 && column <= text.len() + 1 && width >= 1, "{line}");
    let byte = file.get(usize::try_from(offset).unwrap()).copied();
    let shown = text.get(column..).unwrap_or_default();
    match byte {
        _ if file.starts_with(&[0; 8]) => assert_eq!(column, 0, "{line}"),
        Some(byte) if offset < 8 => assert!(shown.starts_with(&format!("{byte:02x}")), "{line}"),
        Some(byte @ b' '..=b'~') if !shown.is_empty() => assert!(shown.starts_with(char::from(byte)), "{line}"),
        _ => {}
    }
}

#[test]
fn every_case_has_its_verdict() {
    let (folder, all) = case_folder();
    let whole = run(folder.path(), &["check", "--format", "jsonl", "."]);
    assert_eq!((whole.code, whole.err.as_str()), (1, ""));
    let lines = whole.lines();
    assert_eq!(lines.len(), all.len());
    for (number, (line, case)) in lines.iter().zip(&all).enumerate() {
        let name = &case["name"];
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, KEYS, "{name}");
        assert!(line["path"].as_str().unwrap().ends_with(&format!("{number:04}.safetensors")));
        let file = bytes(case);
        let accepted = case["strict_expected"] == "ok";
        assert_eq!(line["verdict"], if accepted { "accepted" } else { "rejected" }, "{name}: {line}");
        let foreign = Guess::ALL.iter().any(|guess| line["code"] == guess.code());
        assert_eq!(
            (line["format"].as_str(), line["size"].as_u64()),
            (Some(if foreign { "unknown" } else { "safetensors" }), Some(file.len() as u64))
        );
        assert_eq!(line["code"].is_null(), accepted);
        if !accepted {
            assert!(foreign || ErrorKind::ALL.iter().any(|kind| line["code"] == kind.code()));
            assert!(line["offset"].as_u64().unwrap() <= file.len() as u64, "{name}");
            assert!(line["message"].is_string() && line["advice"].is_string());
            check_excerpt(line, &file);
        }
        for finding in line["findings"].as_array().unwrap() {
            assert!(accepted && finding["offset"].as_u64().unwrap() < file.len() as u64);
            assert!(["note", "warning", "error"].contains(&finding["severity"].as_str().unwrap()));
            assert!(finding["code"].is_string() && finding["message"].is_string());
        }
    }
}

#[test]
fn the_three_formats_say_the_same() {
    let (folder, all) = case_folder();
    let lines = run(folder.path(), &["check", "--format", "jsonl", "."]);
    let document = run(folder.path(), &["check", "--format=json", "."]);
    let human = run(folder.path(), &["check", "-v", "."]);
    assert_eq!((lines.code, document.code, human.code), (1, 1, 1));
    let document: Value = serde_json::from_str(&document.out).unwrap();
    assert_eq!(document["files"], json!(lines.lines()));
    let accepted = all.iter().filter(|case| case["strict_expected"] == "ok").count();
    let rejected = all.len() - accepted;
    assert_eq!(
        document["summary"],
        json!({"accepted": accepted, "rejected": rejected, "unreadable": 0, "skipped": 0, "known": 0, "unchecked": 0})
    );
    let summary = format!("{accepted} accepted, {rejected} rejected, 0 unreadable, 0 skipped");
    assert_eq!(human.out.lines().last(), Some(summary.as_str()));
    let heads = |verdict: &str| human.out.lines().filter(|line| line.starts_with(verdict)).count();
    assert_eq!((heads("accepted  "), heads("rejected  ")), (accepted, rejected));
    assert!(human.out.lines().filter(|line| line.starts_with("    | ")).all(|line| line.len() <= 100));
}

#[test]
fn standard_input_has_the_verdict_of_the_file() {
    for case in cases("safetensors.json").iter().step_by(9) {
        let file = bytes(case);
        let piped = pipe(&file, &["check", "-", "--format", "jsonl"]);
        let line = &piped.lines()[0];
        let accepted = case["strict_expected"] == "ok";
        assert_eq!((line["path"].as_str(), piped.code), (Some("-"), i32::from(!accepted)), "{}", case["name"]);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.safetensors"), &file).unwrap();
        let named = run(folder.path(), &["check", "x.safetensors", "--format", "jsonl"]);
        for key in ["verdict", "code", "offset", "findings"] {
            assert_eq!(line[key], named.lines()[0][key], "{}", case["name"]);
        }
    }
}

#[test]
fn a_rejected_file_is_shown_with_a_caret_and_advice() {
    let folder = tempfile::tempdir().unwrap();
    let header = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}"#;
    fs::write(folder.path().join("x.safetensors"), file(header, &[0; 5])).unwrap();
    let shown = run(folder.path(), &["check", "x.safetensors"]);
    let lines: Vec<&str> = shown.out.lines().collect();
    let at = 8 + header.find("[3,5]").unwrap();
    assert_eq!(
        lines[0],
        format!("rejected    x.safetensors: ST-GAP at byte {at}: bytes before this tensor belong to no tensor")
    );
    let column = lines[1].find("[3,5]").unwrap();
    assert_eq!(lines[2], format!("    |{:width$}^~~~~", "", width = column - 5));
    assert_eq!(lines[3], "    expected to begin at 2");
    assert!(lines[4].contains("without gap or overlap"));
    assert_eq!((lines.len(), lines[5]), (6, "0 accepted, 1 rejected, 0 unreadable, 0 skipped"));
}

#[test]
fn a_stranger_is_shown_in_hexadecimal() {
    let shown = pipe(b"<!DOCTYPE html><html>", &["check", "-"]);
    assert!(
        shown.out.contains("    | 3c 21 44 4f 43 54 59 50 45 20 68 74 6d 6c 3e 3c  <!DOCTYPE html><\n"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("    | ^~~~~~~~~~~~~~~~~~~~~~~\n"));
    let line = &pipe(b"<!DOCTYPE html><html>", &["check", "-", "--format", "jsonl"]).lines()[0];
    assert_eq!((line["format"].as_str(), line["verdict"].as_str()), (Some("unknown"), Some("rejected")));
}

#[test]
fn exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.safetensors"), sound()).unwrap();
    fs::write(folder.path().join("bad.safetensors"), b"short").unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for (args, code) in [
        (&["check", "good.safetensors"][..], 0),
        (&["check", "bad.safetensors"], 1),
        (&["check", "missing.safetensors"], 2),
        (&["check", "good.safetensors", "missing.safetensors"], 2),
        (&["check", "bad.safetensors", "missing.safetensors"], 1),
        (&["check", "empty"], 2),
        (&["check"], 2),
        (&["check", "--no-such-option", "good.safetensors"], 2),
        (&["inspect", "good.safetensors"], 0),
        (&["inspect", "bad.safetensors"], 1),
        (&["inspect", "missing.safetensors"], 2),
        (&["inspect", "empty"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
    ] {
        assert_eq!(run(folder.path(), args).code, code, "{args:?}");
    }
    let missing = run(folder.path(), &["check", "missing.safetensors", "--format=jsonl"]);
    assert_eq!(
        (missing.lines()[0]["verdict"].as_str(), missing.lines()[0]["code"].as_str()),
        (Some("unreadable"), Some("IO-NOT-FOUND"))
    );
    assert!(run(folder.path(), &["check", "empty"]).err.contains("no model files"));
    assert!(run(folder.path(), &["check", "--formt", "json", "x"]).err.contains("'--format'"));
    let quiet = run(folder.path(), &["check", "--quiet", "."]);
    assert!(quiet.out.starts_with("rejected ") && !quiet.out.contains("good") && !quiet.out.contains("accepted,"));
}

#[test]
fn directories_are_searched_and_sorted() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("b/c.safetensors")).unwrap();
    for name in ["z.safetensors", "b/A.SafeTensors", "b/c.safetensors/x.SAFETENSORS", "a.safetensors"] {
        fs::write(folder.path().join(name), sound()).unwrap();
    }
    for name in ["readme.md", "b/safetensors", "b/x.safetensors.bak"] {
        fs::write(folder.path().join(name), b"text").unwrap();
    }
    let found =
        run(folder.path(), &["check", "z.safetensors", "b", "a.safetensors", "b/A.SafeTensors", "--format=json"]);
    let document: Value = serde_json::from_str(&found.out).unwrap();
    let paths: Vec<String> = document["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap().replace('\\', "/"))
        .collect();
    assert_eq!(paths, ["a.safetensors", "b/A.SafeTensors", "b/c.safetensors/x.SAFETENSORS", "z.safetensors"]);
    assert_eq!((found.code, &document["summary"]["skipped"]), (0, &json!(2)));
}

#[test]
fn relaxations_and_limits() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.safetensors"), file("  {}    ", b"")).unwrap();
    let code = |args: &[&str]| {
        let run = run(folder.path(), &[&["check", "x.safetensors", "--format=jsonl"], args].concat());
        (run.code, run.lines()[0]["code"].as_str().map(str::to_owned))
    };
    assert_eq!(code(&[]), (1, Some("ST-LEADING-SPACE".into())));
    assert_eq!(code(&["--allow-leading-space"]), (0, None));
    assert_eq!(code(&["--allow-leading-space", "--max-header", "8"]), (0, None));
    assert_eq!(code(&["--allow-leading-space", "--max-header", "7"]), (1, Some("ST-HEADER-LIMIT".into())));
    let human = run(folder.path(), &["check", "x.safetensors", "--allow-leading-space"]);
    assert!(human.out.contains("    warning ST-NOTE-LEADING-SPACE at byte 8: "), "{}", human.out);
    assert!(!human.out.contains("ST-NOTE-NO-TENSORS"), "notes need --verbose");
    assert!(
        run(folder.path(), &["check", "-v", "x.safetensors", "--allow-leading-space"])
            .out
            .contains("ST-NOTE-NO-TENSORS")
    );
}

#[test]
fn real_files_have_the_verdict_of_the_manifest() {
    let Some(real) = shared("real") else { return };
    let manifest: Vec<Value> = serde_json::from_slice(&fs::read(real.join("manifest.json")).unwrap()).unwrap();
    let checked = run(&real, &["check", "--format", "jsonl", "gguf", "index", "lfs", "safetensors", "vocab"]);
    let verdicts: BTreeMap<String, Value> =
        checked.lines().into_iter().map(|line| (line["path"].as_str().unwrap().to_owned(), line)).collect();
    let mut count = 0;
    for entry in &manifest {
        let line = &verdicts[entry["file"].as_str().unwrap()];
        let want = match entry["expect"]["verdict"].as_str() {
            Some("accept" | "OK") => "accepted",
            Some("reject" | "truncated" | "duplicate_key") => "rejected",
            // An index has no verdict of its own there.
            None if entry["kind"] == "index" => "accepted",
            other => panic!("{other:?}: {entry}"),
        };
        assert_eq!(line["verdict"], want, "{line}");
        match entry["kind"].as_str().unwrap() {
            "safetensors" => check_warnings(line, &entry["expect"]["warnings"]),
            "lfs" => assert_eq!(line["code"], "FT-LFS-POINTER"),
            kind => assert_eq!(line["format"], kind),
        }
        assert!(!line["findings"].to_string().contains("ST-NOTE-POLYGLOT"), "{line}");
        count += 1;
    }
    assert_eq!(count, verdicts.len());
}

/// What the manifest warns of in an accepted file is found too, with the same count.
fn check_warnings(line: &Value, warnings: &Value) {
    if line["verdict"] != "accepted" {
        return;
    }
    let found =
        |code: &str| line["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == code).cloned();
    let mut wanted = Vec::new();
    for warning in warnings.as_array().into_iter().flatten().map(|warning| warning.as_str().unwrap()) {
        let count = warning.split(' ').next().unwrap();
        let (code, count) = match warning {
            "__metadata__ null" => ("ST-NOTE-META-NULL", None),
            "header keys not in offset order" => ("ST-NOTE-ORDER", None),
            "header JSON has spaces (not compact)" => ("ST-NOTE-SPACE", None),
            _ if warning.ends_with("(not 8-aligned)") => ("ST-NOTE-DATA-ALIGN", None),
            _ if warning.ends_with("scalar tensors") => ("ST-NOTE-SCALAR", Some(count)),
            _ if warning.contains("misaligned") => ("ST-NOTE-TENSOR-ALIGN", Some(count)),
            // Of no consequence.
            _ if warning.ends_with("metadata keys") => continue,
            other => panic!("{other}"),
        };
        let finding = found(code).unwrap_or_else(|| panic!("{code}: {line}"));
        if let Some(count) = count {
            assert!(finding["message"].as_str().unwrap().contains(&format!(": {count} (first")), "{finding}");
        }
        wanted.push(code);
    }
    let ours = ["META-NULL", "ORDER", "SPACE", "DATA-ALIGN", "SCALAR", "TENSOR-ALIGN"];
    for code in ours.map(|code| format!("ST-NOTE-{code}")) {
        assert_eq!(found(&code).is_some(), wanted.contains(&code.as_str()), "{code}: {line}");
    }
}
