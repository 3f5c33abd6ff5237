//! Files of others, read and written again.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tensorgate::safetensors::serialize;
use tensorgate::{Dtype, SafeTensors};

use crate::common::{bytes, cases, shared};
use crate::reference::{Pairs, serialize_sorted, shown, sorted, split};

/// Writes again what a file shows. The outcome must be what the reference writer makes of the same tensors, and must
/// show the same.
fn rewritten(label: &str, opened: &SafeTensors<'_>) -> Vec<u8> {
    let again = serialize(opened.tensors(), opened.metadata()).unwrap();
    let (tensors, metadata) = shown(opened);
    let empty_without_tensors = tensors.is_empty() && metadata.as_ref().is_some_and(Pairs::is_empty);
    // The reference's dimensions are of the machine's width.
    let fits = tensors.iter().flat_map(|tensor| &tensor.shape).all(|dim| usize::try_from(*dim).is_ok());
    if fits && !empty_without_tensors {
        assert_eq!(again, serialize_sorted(&tensors, metadata.as_ref()), "{label}");
    }
    let (tensors_again, metadata_again) = shown(&SafeTensors::open(&again).unwrap());
    assert_eq!(sorted(tensors_again), sorted(tensors), "{label}");
    assert_eq!(metadata_again, metadata, "{label}");
    again
}

/// In what a file differs from what the reference writer makes, found without any writer.
fn differences(file: &[u8]) -> Vec<&'static str> {
    let (text, _) = split(file);
    let header: Value = serde_json::from_str(text).unwrap();
    let header = header.as_object().unwrap();
    let compact = serde_json::to_string(&header).unwrap();
    let mut found = Vec::new();
    if text.len() % 8 != 0 {
        found.push("header not padded to 8");
    } else if text.trim_end_matches(' ').len() + 8 <= text.len() || text.ends_with(['\t', '\n', '\r']) {
        found.push("other padding");
    }
    if text.trim_end() != compact {
        found.push("white space, or escapes that are not needed");
    }
    match header.keys().position(|key| key == "__metadata__") {
        Some(place) if place > 0 => found.push("metadata not first"),
        _ => {}
    }
    match header.get("__metadata__") {
        Some(Value::Null) => found.push("metadata null"),
        Some(pairs) if !pairs.as_object().unwrap().keys().is_sorted() => found.push("metadata not sorted"),
        _ => {}
    }
    let tensors: Vec<_> = header.iter().filter(|(name, _)| *name != "__metadata__").collect();
    if tensors.iter().any(|(_, entry)| !entry.as_object().unwrap().keys().eq(["dtype", "shape", "data_offsets"])) {
        found.push("fields in another order");
    }
    let place = |entry: &Value| (entry["data_offsets"][0].as_u64(), entry["data_offsets"][1].as_u64());
    if !tensors.is_sorted_by_key(|(_, entry)| place(entry)) {
        found.push("entries not in the order of the data");
    }
    let key = |name: &String, entry: &Value| {
        let dtype = Dtype::from_tag(entry["dtype"].as_str().unwrap().as_bytes()).unwrap();
        (std::cmp::Reverse(dtype), name.clone())
    };
    if !tensors.is_sorted_by_key(|(name, entry)| key(name, entry)) {
        found.push("tensors not by dtype and name");
    }
    found
}

/// Rewrites each accepted file; says how many come out as they were, and why the others do not.
fn rewrite_all(files: &[(String, Vec<u8>)]) -> (usize, usize) {
    let (mut accepted, mut identical) = (0, 0);
    for (label, file) in files {
        let Ok(opened) = SafeTensors::open(file) else { continue };
        accepted += 1;
        let again = rewritten(label, &opened);
        let why = differences(file);
        assert_eq!(again == *file, why.is_empty(), "{label}: {why:?}");
        if again == *file {
            identical += 1;
        } else {
            println!("written by another writer: {label}: {}", why.join("; "));
        }
    }
    println!("{identical} of {accepted} accepted files are the same bytes when written again");
    (accepted, identical)
}

#[test]
fn every_accepted_case_again() {
    let files: Vec<_> = cases("safetensors.json")
        .iter()
        .map(|case| (case["name"].as_str().unwrap().to_owned(), bytes(case)))
        .collect();
    let (accepted, identical) = rewrite_all(&files);
    assert!(accepted > 0 && identical > 0);
}

/// The reference writer made these: each that is accepted must come out as it was.
#[test]
fn what_the_reference_wrote_is_written_again() {
    let mut count = 0;
    for case in cases("safetensors.json") {
        let name = case["name"].as_str().unwrap();
        let file = bytes(&case);
        let (true, Ok(opened)) = (name.starts_with("W-writer/"), SafeTensors::open(&file)) else { continue };
        assert_eq!(rewritten(name, &opened), file, "{name}");
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn real_files_again() {
    let Some(folder) = shared("real/safetensors") else { return };
    let mut paths = Vec::new();
    collect(&folder, &mut paths);
    paths.sort();
    let label = |path: &Path| path.strip_prefix(&folder).unwrap().display().to_string();
    let files: Vec<_> = paths.iter().map(|path| (label(path), std::fs::read(path).unwrap())).collect();
    let (accepted, identical) = rewrite_all(&files);
    assert!(accepted > 0 && identical > 0);
}
