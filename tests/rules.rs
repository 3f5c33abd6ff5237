//! The rules book is complete: every code has a section with all its parts, its file is in the corpus and is refused with
//! that code, and there is no section of a code that does not exist.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{bytes, cases, corpus};
use tensorgate::detect::Guess;
use tensorgate::gguf;
use tensorgate::safetensors::Slot;
use tensorgate::{Error, ErrorKind, Gguf, Limits, SafeTensors};

fn book() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md")).unwrap()
}

/// Code and body of each section, in the book's order. The tables have chapters of their own behind them.
fn sections(book: &str) -> Vec<(&str, &str)> {
    let rules = book.split("\n# ").next().unwrap();
    rules.split("\n## ").skip(1).map(|section| section.split_once('\n').unwrap()).collect()
}

/// What stands between `begin` and `end`.
fn part<'a>(body: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    Some(body.split_once(begin)?.1.split_once(end)?.0.trim())
}

#[test]
fn every_code_has_a_section_in_the_order_of_the_kinds() {
    let book = book();
    let titles: Vec<_> = sections(&book).iter().map(|(title, _)| *title).collect();
    let codes: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(titles, codes);
}

#[test]
fn every_section_has_all_its_parts() {
    let book = book();
    let rows = corpus::all_rows();
    for ((code, body), kind) in sections(&book).into_iter().zip(ErrorKind::ALL) {
        assert!(body.contains(&format!("*{}*", kind.what())), "{code}: its message, {}", kind.what());
        for (title, end) in [("**Meaning.**", "\n\n"), ("**Why.**", "\n\n"), ("**What to do.**", "\n\n")] {
            let text = part(body, title, end).unwrap_or_else(|| panic!("{code} has no {title}"));
            assert!(text.len() > 15, "{code}: {title} says nothing");
        }
        if kind.is_callers() {
            continue;
        }
        let path = part(body, "<!-- file ", " -->").unwrap_or_else(|| panic!("{code} has no file"));
        let row = rows.iter().find(|row| format!("corpus/{}", row.path) == path);
        let row = row.unwrap_or_else(|| panic!("{code}: {path} is not in the manifest"));
        let (refused_with, at) = row.rejected.as_ref().unwrap();
        assert_eq!(refused_with, code, "{path}");
        let picture = part(body, "```text", "```").unwrap();
        assert!(picture.contains(&format!("byte {at}")), "{code}: the picture of {path} is of another file");
        assert!(part(body, "<!-- readers -->", "<!-- end -->").is_some_and(|text| !text.is_empty()), "{code}");
    }
}

#[test]
fn every_fault_of_a_split_model_has_its_row() {
    let book = book();
    for kind in tensorgate::gguf::SplitErrorKind::ALL {
        assert!(book.contains(&format!("| {} | {} |", kind.code(), kind.what())), "{}", kind.code());
    }
}

#[test]
fn every_path_of_the_corpus_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = book();
    let named: Vec<_> =
        book.split("corpus/").skip(1).map(|rest| rest.split([' ', '`', ')', '\n']).next()).collect();
    assert!(named.len() > 40);
    for path in named.into_iter().flatten() {
        assert!(root.join("corpus").join(path).exists(), "corpus/{path} is named and not there");
    }
}

#[test]
fn every_guess_and_every_note_has_its_row() {
    let book = book();
    let rows: Vec<&str> = book
        .lines()
        .filter(|line| ["| FT-", "| ST-", "| GG-NOTE", "| DT-"].iter().any(|start| line.starts_with(start)))
        .collect();
    let guesses =
        Guess::ALL.iter().map(|guess| format!("| {} | {} | {} |", guess.code(), guess.what(), guess.advice()));
    #[cfg(feature = "alloc")]
    let notes = tensorgate::audit::RULES
        .iter()
        .map(|rule| format!("| {} | {} | {} | {} |", rule.code(), rule.severity(), rule.what(), rule.why()));
    #[cfg(not(feature = "alloc"))]
    let notes = std::iter::empty();
    let want: Vec<String> = guesses.chain(notes).collect();
    assert_eq!(rows.get(..want.len()).unwrap_or(&rows), want);
    assert!(rows.len() == want.len() || !cfg!(feature = "alloc"), "a row of a code that does not exist");
}

/// Printed for `scripts/rules.py`, which counts by rule what other readers say of the cases.
#[test]
fn codes_of_the_cases() {
    let mut slots = vec![Slot::EMPTY; 2048];
    let mut gguf_slots = vec![gguf::Slot::EMPTY; 2048];
    let mut text = String::from("\n");
    let mut print = |case: &serde_json::Value, outcome: Result<(), Error>| {
        let code = outcome.as_ref().map_or_else(Error::code, |()| "ok");
        assert!(outcome.is_ok() || !outcome.unwrap_err().kind().is_callers());
        writeln!(text, "case\t{}\t{code}", case["name"].as_str().unwrap()).unwrap();
    };
    for case in cases("safetensors.json") {
        print(&case, SafeTensors::open_in(&bytes(&case), &mut slots, &Limits::default()).map(|_| ()));
    }
    for case in cases("gguf.json") {
        print(&case, Gguf::open_in(&bytes(&case), &mut gguf_slots, &Limits::default()).map(|_| ()));
    }
    println!("{text}");
}
