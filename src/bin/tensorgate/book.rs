//! The rules book, which the program carries: what each code means.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::text;

const BOOK: &str = include_str!("../../../docs/rules.md");

/// What the book says of a code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// A section of its own.
    Section(&'static str),
    /// A row of a table, with the table's headings and the chapter it stands in.
    Row { chapter: &'static str, heads: &'static str, row: &'static str },
}

impl Entry {
    /// What is wrong, in a few words.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Section(body) => {
                let line = body.lines().find_map(|line| line.strip_prefix('*')?.strip_suffix('*'));
                line.unwrap_or_default()
            }
            Self::Row { heads, row, .. } => {
                // The column after the severity, where there is one.
                let place = if cells(heads).any(|head| head == "Severity") { 2 } else { 1 };
                cells(row).nth(place).unwrap_or_default()
            }
        }
    }
}

/// The cells of a row of a table.
pub(crate) fn cells(row: &'static str) -> impl Iterator<Item = &'static str> {
    let inside = row.trim().trim_start_matches('|').trim_end_matches('|');
    inside.split(" | ").map(|cell| cell.trim().trim_matches('`'))
}

/// Whether a text has the form of a code: capitals, digits and hyphens, with at least one of these.
fn is_code(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
    text.contains('-')
        && text.bytes().all(known)
        && text.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
}

/// All codes, with what the book says of them.
pub(crate) fn entries() -> &'static BTreeMap<&'static str, Entry> {
    static ENTRIES: OnceLock<BTreeMap<&'static str, Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| read(BOOK))
}

fn read(book: &'static str) -> BTreeMap<&'static str, Entry> {
    let mut all = BTreeMap::new();
    for chapter in book.split("\n# ") {
        let title = chapter.lines().next().unwrap_or_default().trim_start_matches("# ");
        for section in chapter.split("\n## ").skip(1) {
            let (code, body) = section.split_once('\n').unwrap_or((section, ""));
            all.insert(code.trim(), Entry::Section(body.trim()));
        }
        let mut heads = "";
        for line in chapter.lines() {
            if !line.starts_with('|') {
                heads = "";
            } else if heads.is_empty() {
                heads = line;
            } else if let Some(code) = cells(line).next().filter(|cell| is_code(cell)) {
                all.entry(code).or_insert(Entry::Row { chapter: title, heads, row: line });
            }
        }
    }
    all
}

/// The code as the book has it.
pub(crate) fn code(text: &str) -> Option<&'static str> {
    entries().get_key_value(text).map(|(code, _)| *code)
}

/// The code that was probably meant.
pub(crate) fn nearest(wrong: &str) -> Option<&'static str> {
    let wrong = wrong.to_ascii_uppercase();
    text::nearest(&wrong, entries().keys().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_library_is_in_the_book() {
        let errors = tensorgate::ErrorKind::ALL.iter().map(|kind| (kind.code(), kind.what()));
        let rules = tensorgate::audit::RULES.iter().map(|rule| (rule.code(), rule.what()));
        let guesses = tensorgate::detect::Guess::ALL.iter().map(|guess| (guess.code(), guess.what()));
        let splits = tensorgate::gguf::SplitErrorKind::ALL.iter().map(|kind| (kind.code(), kind.what()));
        for (code, what) in errors.chain(rules).chain(guesses).chain(splits) {
            assert_eq!(entries().get(code).map(|entry| entry.what()), Some(what), "{code}");
        }
        for code in entries().keys() {
            assert!(is_code(code), "{code}");
        }
    }

    #[test]
    fn a_typo_finds_its_code() {
        assert_eq!(nearest("ST-DUP-NAM"), Some("ST-DUP-NAME"));
        assert_eq!(nearest("st-dup-nmae"), Some("ST-DUP-NAME"));
        assert_eq!(nearest("what is this"), None);
    }
}
