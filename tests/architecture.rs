//! The arrows between modules go one way, and the rules that the compiler does not know are kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The modules from the ground up; each may name those on its own line and on the lines before.
const HOUSE: &[&[&str]] = &[
    &["error"],
    &["num", "limits", "steps"],
    &["cursor", "span", "store", "sink", "stream"],
    &["dtype", "shape", "name", "json", "unique"],
    &["view", "typed", "slice"],
    &["safetensors", "shards", "gguf", "quant"],
    &["detect", "scan", "audit"],
    &["file"],
    &["model"],
    &["simd", "tokenizer"],
    &["gpt2"],
    // What only documentation and fuzzers see.
    &["guide", "arbitrary"],
];

/// The line of the house on which a module stands.
fn level(module: &str) -> usize {
    HOUSE.iter().position(|line| line.contains(&module)).unwrap_or_else(|| panic!("{module} has no place in HOUSE"))
}

fn source(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code: Vec<&str> = text.split("\nmod tests {").collect();
    code[0].lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The files of the library with the module each belongs to.
fn library() -> Vec<(String, PathBuf)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let mut all = Vec::new();
    for path in files {
        let inside = path.strip_prefix(&src).unwrap();
        let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        if first != "bin" && first != "lib.rs" && first != "proofs.rs" && !path.ends_with("tests.rs") {
            all.push((first.trim_end_matches(".rs").to_owned(), path));
        }
    }
    assert!(all.len() > 10);
    all
}

/// What the crate's root re-exports, with the module each name comes from.
fn re_exports() -> BTreeMap<String, String> {
    let lib = source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    let mut names = BTreeMap::new();
    for part in lib.split("pub use ").skip(1) {
        let statement = part.split(';').next().unwrap();
        let (path, list) = statement.rsplit_once("::").unwrap();
        let module = path.split("::").next().unwrap().trim().to_owned();
        for name in list.trim_matches(['{', '}']).split(',') {
            names.insert(name.trim().trim_matches(['{', '}']).to_owned(), module.clone());
        }
    }
    names
}

/// The first names behind every `crate::` of a text, groups taken apart.
fn named(text: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut all = Vec::new();
    for part in text.split("crate::").skip(1) {
        if let Some(group) = part.strip_prefix('{') {
            let mut depth = 0_usize;
            let mut start = true;
            for (at, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => start = true,
                    c if start && !c.is_whitespace() => {
                        all.push(word(&group[at..]));
                        start = false;
                    }
                    _ => {}
                }
            }
        } else {
            all.push(word(part));
        }
    }
    all
}

#[test]
fn arrows_go_one_way() {
    let exports = re_exports();
    let mut wrong = Vec::new();
    for (module, path) in library() {
        for name in named(&source(&path)) {
            let target = exports.get(&name).cloned().unwrap_or(name);
            if level(&target) > level(&module) {
                wrong.push(format!("{} names {target}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn groups_are_taken_apart() {
    assert_eq!(named("use crate::{a, b::{c, d}, e};\nuse crate::f::g;"), ["a", "b", "e", "f"]);
}

#[test]
fn files_stay_small_and_safe() {
    for (module, path) in library() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() <= 550, "{} is too long", path.display());
        if !["simd", "file", "quant"].contains(&module.as_str()) {
            assert!(!source(&path).contains("unsafe "), "{} has unsafe code", path.display());
        }
    }
}

#[test]
fn the_core_does_not_name_std() {
    for (module, path) in library() {
        if level(&module) <= level("audit") {
            assert!(!source(&path).contains(" std::"), "{} names std", path.display());
        }
    }
}
