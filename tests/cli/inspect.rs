//! `tensorgate inspect`.

use std::fs;

use serde_json::{Value, json};

use crate::common::{bytes, cases, file};
use crate::{pipe, run, sound};

#[test]
fn json_shows_what_the_reference_shows() {
    for case in cases("safetensors.json").iter().filter(|case| case["strict_expected"] == "ok").step_by(3) {
        let shown = pipe(&bytes(case), &["inspect", "-", "--json"]);
        assert_eq!(shown.code, 0);
        let document: Value = serde_json::from_str(&shown.out).unwrap();
        let rows = |tensors: &Value, keys: [&str; 5]| {
            let mut rows: Vec<Value> =
                tensors.as_array().unwrap().iter().map(|t| json!(keys.map(|key| get(t, key)))).collect();
            rows.sort_by_key(|row| (row[4].as_u64(), row[3].as_u64(), row[0].as_str().map(str::to_owned)));
            rows
        };
        let ours = rows(&document["tensors"], ["name", "dtype", "shape", "bytes", "offset"]);
        let theirs = rows(&case["reference_view"]["tensors"], ["0", "1", "2", "3", "4"]);
        assert_eq!(ours, theirs, "{}", case["name"]);
        let metadata = document["metadata"].as_object().map(|map| {
            let mut pairs: Vec<(&String, &str)> = map.iter().map(|(k, v)| (k, v.as_str().unwrap())).collect();
            pairs.sort_unstable();
            json!(pairs)
        });
        assert_eq!(json!(metadata), case["reference_view"]["metadata"], "{}", case["name"]);
    }
}

/// A member of an object, or an element of an array.
fn get(value: &Value, key: &str) -> Value {
    key.parse::<usize>().map_or_else(|_| value[key].clone(), |index| value[index].clone())
}

#[test]
fn people_see_modules_in_order_with_totals() {
    let shown = pipe(&sound(), &["inspect", "-"]);
    let lines: Vec<&str> = shown.out.lines().collect();
    for line in [
        "format      safetensors",
        "data        begins at byte 128, aligned to 128 bytes",
        "total       2 tensors, 10 parameters, 28 bytes",
        "F32         1 tensor, 6 parameters, 24 bytes",
        "U8          1 tensor, 4 parameters, 4 bytes",
        "metadata    none",
        "h.2  1 tensor, 4 parameters, 4 bytes",
        "  w  U8     [4]  at 152, 4 bytes",
        "h.10  1 tensor, 6 parameters, 24 bytes",
        "  w  F32    [2, 3]  at 128, 24 bytes",
    ] {
        assert!(lines.contains(&line), "{line:?} in {}", shown.out);
    }
    let place = |head: &str| lines.iter().position(|line| line.starts_with(head)).unwrap();
    assert!(place("h.2  ") < place("h.10  "));
}

#[test]
fn long_values_are_cut_unless_all_is_asked_for() {
    let long = "v".repeat(5000);
    let name = "n".repeat(300);
    let dims = ["1"; 70].join(",");
    let header = format!(
        "{{\"__metadata__\":{{\"k\":\"{long}\"}},\"{name}.{name}\":{{\"dtype\":\"U8\",\"shape\":[{dims}],\"data_offsets\":[0,1]}}}}"
    );
    let file = file(&header, &[1]);
    let cut = pipe(&file, &["inspect", "-"]);
    assert!(cut.out.lines().all(|line| line.len() < 250), "{}", cut.out);
    assert!(cut.out.contains("... (5000 bytes)") && cut.out.contains("(70 dimensions)"));
    let all = pipe(&file, &["inspect", "-", "--all"]);
    assert!(all.out.contains(&long) && all.out.contains(&name) && all.out.contains(&dims.replace(',', ", ")));
}

#[test]
fn a_rejected_file_is_reported_as_by_check() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.safetensors"), file("[]", b"")).unwrap();
    let (inspected, checked) =
        (run(folder.path(), &["inspect", "x.safetensors"]), run(folder.path(), &["check", "x.safetensors"]));
    assert_eq!(inspected.code, 1);
    assert!(checked.out.starts_with(&inspected.out) && inspected.out.contains("JS-NOT-OBJECT at byte 8"));
    let inspected = run(folder.path(), &["inspect", "x.safetensors", "--json"]);
    let checked = run(folder.path(), &["check", "x.safetensors", "--format=jsonl"]);
    assert_eq!((inspected.lines(), inspected.code), (checked.lines(), 1));
}

#[test]
fn the_eye_sees_shares_memory_and_where_things_lie() {
    let shown = pipe(&sound(), &["inspect", "-", "--summary"]);
    let lines: Vec<&str> = shown.out.lines().collect();
    for line in [
        "memory      28 bytes as it is; 40 bytes as F32, 20 bytes as F16 or BF16, 10 bytes as Q8_0, 5 bytes as Q4_K",
        "types  by size",
        "  F32          85.7%  #####################",
        "  U8           14.3%  ###",
        "modules  by size; numbers are counted as one, *",
        "  h        28 bytes  100.0%  ########################",
        "    * (2)  28 bytes  100.0%  ########################",
        "layout  from the first byte to the last, 2 bytes a letter",
    ] {
        assert!(lines.contains(&line), "{line:?} in {}", shown.out);
    }
    // 128 bytes of header and 28 of data, of 156, on 128 letters; the one between is of a byte of each.
    let map: String =
        lines.iter().filter(|line| line.starts_with("  |")).map(|line| line.trim_matches([' ', '|'])).collect();
    assert_eq!((map.len(), map.matches('H').count(), map.matches('a').count()), (128, 106, 22));
    assert!(!shown.out.contains("  w  F32"), "{}", shown.out);
    let flat = pipe(&sound(), &["inspect", "-", "--summary", "--depth=1"]);
    assert!(flat.out.contains("  h  28 bytes") && !flat.out.contains("* (2)"), "{}", flat.out);
    assert_eq!(pipe(&sound(), &["inspect", "-", "--depth=17"]).code, 2);
}

#[test]
fn tensors_are_shown_by_name_or_pattern() {
    let one = pipe(&sound(), &["inspect", "-", "--tensor=h.10.w"]);
    let want = "h.10.w\n  type    F32\n  shape   [2, 3], 6 elements\n  bytes   128 to 152, 24 bytes\n";
    assert_eq!((one.code, one.out.as_str()), (0, want));
    let all = pipe(&sound(), &["inspect", "-", "--tensor=h.*.w"]);
    assert_eq!(all.out.matches("  type    ").count(), 2, "{}", all.out);
    assert_eq!(pipe(&sound(), &["inspect", "-", "--tensor=x"]).code, 2);
}

#[test]
fn memory_of_a_known_model_counts_its_cache() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/models/austen");
    let folder = tempfile::tempdir().unwrap();
    let config: Value = serde_json::from_slice(&fs::read(format!("{model}/config.json")).unwrap()).unwrap();
    let number = |key: &str| config[key].as_u64().unwrap();
    let path = format!("{model}/model.safetensors");
    let shown = run(folder.path(), &["inspect", &path, "--json"]);
    let memory = serde_json::from_str::<Value>(&shown.out).unwrap()["memory"].clone();
    // Keys and values of all layers, two bytes each.
    let token = number("n_layer") * number("n_embd") * 2 * 2;
    let context = number("n_positions");
    let cache = json!({"token": token, "context": context, "whole": token * context, "at_most": false});
    assert_eq!(memory["kv_cache_f16"], cache);
    assert_eq!(run(folder.path(), &["convert", model, "a.gguf", "-q"]).code, 0);
    let gguf = run(folder.path(), &["inspect", "a.gguf", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&gguf.out).unwrap()["memory"]["kv_cache_f16"], cache);
    let human = run(folder.path(), &["inspect", "a.gguf", "--summary"]);
    assert!(human.out.contains("KV cache    ") && human.out.contains(&format!("for all {context} tokens")));
}

#[test]
fn hostile_names_make_no_large_tree() {
    // Modules without end, below each other and beside each other, and a name that says nothing.
    let mut names = vec!["a.".repeat(20_000), ".".repeat(20_000), String::new()];
    names.extend((0..6_000).map(|number| format!("x{number}.w")));
    let entries: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}", at + 1)
        })
        .collect();
    let bytes = file(&format!("{{{}}}", entries.join(",")), &vec![1; names.len()]);
    let shown = pipe(&bytes, &["inspect", "-", "--summary", "--depth=16"]);
    assert_eq!(shown.code, 0);
    assert!(shown.out.lines().count() < 100 && shown.out.lines().all(|line| line.len() < 130), "{}", shown.out);
}
