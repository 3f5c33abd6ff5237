//! A file that was read is written again: the same bytes, wherever its writer did as the reference's does.

use std::collections::BTreeMap;
use std::path::Path;

use tensorgate::Gguf;
use tensorgate::gguf::{WriteOptions, serialize};

use crate::common::corpus::files;
use crate::common::{bytes, cases, shared};

/// Why a file may come out otherwise; `None` where it comes out the same.
fn difference(file: &[u8], label: &str) -> Option<&'static str> {
    let read = Gguf::open(file).unwrap();
    let options = WriteOptions::default().with_endian(read.endian());
    let written = serialize(read.pairs(), read.tensors(), &options).unwrap_or_else(|e| panic!("{label}: {e}"));
    let again = Gguf::open(&written).unwrap_or_else(|error| panic!("{label}: {error}"));
    // Bytes and not values: a NaN is not equal to itself.
    let shown = |file: &Gguf<'_>| format!("{:?}", file.pairs().collect::<Vec<_>>());
    assert_eq!(shown(&again), shown(&read), "{label}");
    assert!(again.tensors().map(|t| t.bytes()).eq(read.tensors().map(|t| t.bytes())), "{label}");
    if written == file {
        return None;
    }
    let rest = |file: &[u8]| file[8..].to_vec();
    if read.version() == 2 {
        assert_eq!(rest(&written), rest(file), "{label}");
        return Some("version 2");
    }
    if written.starts_with(file) {
        assert!(!read.is_empty() && written[file.len()..].iter().all(|byte| *byte == 0), "{label}");
        return Some("no padding behind the last tensor");
    }
    assert!(read.is_empty() && file.starts_with(&written), "{label}");
    Some("zeros behind the metadata of a file without tensors")
}

/// Rewrites files, and prints how many came out the same and why the others did not; these are named.
fn rewrite(what: &str, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> (usize, Vec<String>) {
    let (mut same, mut others) = (0, Vec::new());
    let mut reasons = BTreeMap::<_, usize>::new();
    for (label, file) in files {
        if Gguf::open(&file).is_err() {
            *reasons.entry("not accepted").or_default() += 1;
            continue;
        }
        match difference(&file, &label) {
            None => same += 1,
            Some(reason) => {
                *reasons.entry(reason).or_default() += 1;
                others.push(label);
            }
        }
    }
    println!("{what}: {same} the same, others: {reasons:?}");
    (same, others)
}

fn folder(path: &Path) -> impl Iterator<Item = (String, Vec<u8>)> {
    let ours = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "gguf");
    files(path).into_iter().filter(ours).map(|path| {
        let file = std::fs::read(&path).unwrap();
        (path.display().to_string(), file)
    })
}

#[test]
fn every_accepted_case() {
    let all = cases("gguf.json").into_iter();
    let (same, others) =
        rewrite("cases", all.map(|case| (case["name"].as_str().unwrap().to_owned(), bytes(&case))));
    assert!(same > 80, "{same}");
    for name in &others {
        println!("  {name}");
    }
    // Files in which the last padding is what the case is about, and files of version 2.
    assert!(others.len() < 20, "{others:?}");
}

#[test]
fn vocabularies_of_real_writers() {
    let Some(path) = shared("real/vocab") else { return };
    let (same, others) = rewrite("real/vocab", folder(&path));
    assert!(same > 0);
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn tiny_models_of_real_writers() {
    let Some(path) = shared("tiny-gpt2-gguf") else { return };
    let (same, others) = rewrite("tiny-gpt2-gguf", folder(&path));
    assert!(same > 0);
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn files_found_in_the_wild() {
    let Some(path) = shared("real/gguf") else { return };
    let (same, others) = rewrite("real/gguf", folder(&path));
    assert!(same > 0);
    println!("{others:#?}");
}
