//! SECURITY.md holds what it says: every promise has a command that exists and that continuous integration runs, and a
//! figure; every attack names files or tests that are there, with the verdict of its row; every fuzz target has an oracle.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::corpus::{self, Role};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the table under a heading, without its head.
fn rows(document: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, section) = document.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| "));
    lines
        .skip(1)
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// What stands between back quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What is wrong with a command: nothing where all that it names is there and is run by continuous integration.
fn fault(command: &str, integration: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["cargo", "test", ..] => {
            let names = words.iter().zip(&words[1..]).filter(|(flag, _)| **flag == "--test").map(|(_, name)| *name);
            let names: Vec<&str> = names.collect();
            let there = |name: &&&str| {
                ["", "/main"].iter().any(|end| root().join(format!("tests/{name}{end}.rs")).exists())
            };
            let missing: Vec<_> = names.iter().filter(|name| !there(name)).collect();
            (names.is_empty() || !missing.is_empty()).then(|| format!("{command}: no such test: {missing:?}"))
        }
        ["fuzz/run.sh", _, ref targets @ ..] => {
            let missing =
                targets.iter().find(|target| !root().join(format!("fuzz/fuzz_targets/{target}.rs")).exists());
            missing.map(|target| format!("{command}: no such target: {target}"))
        }
        [".ci/run"] => None,
        // These take an hour, and are run by hand.
        ["scripts/mutants.sh" | "scripts/coverage.sh", ..] => {
            (!root().join(words[0]).exists()).then(|| format!("{command} is not there"))
        }
        ["python3", script, ..] | [script] => {
            let there = root().join(script).exists() && integration.contains(script);
            (!there).then(|| format!("{command} is not there, or is not run by .ci/run"))
        }
        _ => Some(format!("{command} is no command that is known here")),
    }
}

#[test]
fn every_promise_has_a_command_and_a_figure() {
    let (document, integration) = (text("SECURITY.md"), text(".ci/run"));
    let rows = rows(&document, "Promises");
    assert!(rows.len() > 15, "{}", rows.len());
    let mut wrong = Vec::new();
    for (row, number) in rows.iter().zip(1..) {
        let [index, promise, commands, figure] = &row[..] else { panic!("not four columns: {row:?}") };
        assert_eq!(index, &number.to_string(), "{promise}");
        if quoted(commands).next().is_none() {
            wrong.push(format!("{promise}: no command"));
        }
        if !figure.contains(|c: char| c.is_ascii_digit()) && !figure.contains("every") {
            wrong.push(format!("{promise}: nothing was measured"));
        }
        wrong.extend(quoted(commands).filter_map(|command| fault(command, &integration)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(integration.contains("fuzz/run.sh") && integration.contains("cargo test --features cli\n"));
}

#[test]
fn a_command_that_is_not_there_is_found() {
    let integration = "tests/proof/run";
    for wrong in ["cargo test", "cargo test --test none", "fuzz/run.sh 60 none", "examples/none/run", "make it so"]
    {
        assert!(fault(wrong, integration).is_some(), "{wrong}");
    }
    for right in ["cargo test --test security", "cargo test --test gpt2", "fuzz/run.sh 60", "tests/proof/run"] {
        assert_eq!(fault(right, integration), None);
    }
}

#[test]
fn every_attack_has_its_file() {
    let document = text("SECURITY.md");
    let manifest = corpus::all_rows();
    let rows = rows(&document, "Attacks considered");
    assert!(rows.len() > 20, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let [attack, here, proofs] = &row[..] else { panic!("not three columns: {row:?}") };
        let codes: Vec<&str> = quoted(here).collect();
        assert!(quoted(proofs).count() > 0, "{attack} is shown by nothing");
        let mut shown = Vec::new();
        for proof in quoted(proofs) {
            if let Some(path) = proof.strip_prefix("corpus/") {
                let row = manifest.iter().find(|row| row.path == path && row.role != Role::Part);
                match row.and_then(|row| row.rejected.as_ref()) {
                    Some((code, _)) if codes.contains(&code.as_str()) => shown.push(code.clone()),
                    Some((code, _)) => wrong.push(format!("{attack}: {proof} is {code}, which is not in the row")),
                    None => wrong.push(format!("{attack}: {proof} is not refused, or not there")),
                }
            } else {
                let (path, name) = proof.split_once(' ').unwrap_or_else(|| panic!("{proof} names no test"));
                assert!(text(path).contains(&format!("fn {name}(")), "{path} has no test {name}");
            }
        }
        let rules = codes
            .iter()
            .filter(|code| manifest.iter().any(|row| row.rejected.as_ref().is_some_and(|(c, _)| c == *code)));
        wrong.extend(
            rules
                .filter(|code| !shown.iter().any(|shown| shown == **code))
                .map(|code| format!("{attack}: nothing shows {code}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names of the sources in a folder.
fn sources(folder: &str) -> Vec<String> {
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    corpus::files(&root().join(folder)).into_iter().map(stem).collect()
}

#[test]
fn every_fuzz_target_has_an_oracle() {
    let (manifest, readme) = (text("fuzz/Cargo.toml"), text("fuzz/README.md"));
    let targets = sources("fuzz/fuzz_targets");
    assert!(targets.len() > 20, "{targets:?}");
    for target in targets {
        let oracle = text(format!("fuzz/src/oracle/{target}.rs"));
        assert!(oracle.contains("pub fn check("), "{target}: its oracle checks nothing");
        assert!(oracle.contains("#[test]"), "{target}: its oracle has no test of its own");
        assert!(manifest.contains(&format!("\"{target}\"")), "{target} is not built");
        assert!(readme.contains(&format!("`{target}`")), "{target} is not explained");
    }
}
