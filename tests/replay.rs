//! Every file of the corpus has its verdict, its code and its offset, in every way of reading it; and no file that ever
//! made something panic does so again.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use common::corpus::asks::{Relaxed, relaxed, relaxed_rows, relaxed_ways};
use common::corpus::{self, Role, Terms};
use sha2::{Digest, Sha256};

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn the_manifest_is_complete_and_exact() {
    let root = corpus::folder();
    let mut named = BTreeSet::new();
    for row in corpus::all_rows() {
        let bytes = std::fs::read(root.join(&row.path)).unwrap_or_else(|error| panic!("{}: {error}", row.path));
        assert_eq!(sha256(&bytes), row.sha256, "{}", row.path);
        assert!(!row.origin.is_empty() && !row.licence.is_empty(), "{}", row.path);
        let code = row.rejected.as_ref().map(|(code, _)| code.as_str());
        let home = match (row.role, code) {
            (Role::Alone, None) => "accept".to_owned(),
            (Role::Alone, Some(code)) => format!("reject/{code}"),
            (Role::Set, code) => format!("sets/{}", code.unwrap_or("agree")),
            (Role::Part, _) => "sets".to_owned(),
            (Role::Deep, code) => format!("deep/{}", code.unwrap()),
        };
        let folder = row.path.rsplit_once('/').unwrap().0;
        let above = folder.rsplit_once('/').map_or(folder, |(above, _)| above);
        let stands = match row.role {
            Role::Alone | Role::Deep => folder == home,
            Role::Set => above == home,
            Role::Part => above.starts_with(&home),
        };
        assert!(stands, "{}: a file stands in the folder of its verdict", row.path);
        assert!(named.insert(root.join(&row.path)), "{} has two rows", row.path);
    }
    let there: BTreeSet<_> =
        ["accept", "deep", "reject", "sets"].iter().flat_map(|folder| corpus::files(&root.join(folder))).collect();
    let unnamed: Vec<_> = there.difference(&named).collect();
    assert!(unnamed.is_empty(), "files without a row: {unnamed:?}");
    assert!(named.len() > 100);
}

#[test]
fn every_file_has_its_verdict() {
    let mut wrong = Vec::new();
    for row in corpus::rows() {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        for (way, outcome) in corpus::judge(&row.path, &bytes, &row.terms) {
            let got = outcome.err().map(|error| (error.code().to_owned(), error.at()));
            if got != row.rejected {
                wrong.push(format!("{} ({way}): want {:?}, got {got:?}", row.path, row.rejected));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn odd_data_is_none_of_the_headers_business() {
    for row in corpus::deep() {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        for (way, outcome) in corpus::judge(&row.path, &bytes, &row.terms) {
            assert_eq!(outcome, Ok(()), "{} ({way})", row.path);
        }
    }
}

#[test]
fn every_set_has_its_finding_and_no_other() {
    let sets = corpus::sets();
    assert!(sets.len() > 20);
    for row in sets {
        let found = corpus::judge_set(&corpus::folder().join(&row.path));
        let found: Vec<_> = found.iter().map(|error| (error.code().to_owned(), error.at())).collect();
        assert_eq!(found, Vec::from_iter(row.rejected), "{}", row.path);
    }
}

#[test]
fn the_verdict_is_on_the_file_and_not_on_the_limits() {
    for row in corpus::rows().iter().filter(|row| row.terms != Terms::default()) {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        for (way, outcome) in corpus::judge(&row.path, &bytes, &Terms::default()) {
            assert_eq!(outcome, Ok(()), "{} ({way}) is refused for its limit alone", row.path);
        }
    }
}

#[test]
fn what_can_be_tolerated_is_accepted_and_told_and_nothing_else_is() {
    let expected: BTreeMap<String, Relaxed> = relaxed_rows().into_iter().collect();
    assert!(expected.len() > 30);
    let rows = corpus::rows();
    let of_gguf = rows.iter().filter(|row| corpus::is_gguf(&row.path) && row.terms == Terms::default());
    let mut met = 0;
    for row in of_gguf {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        // Where nothing is said, it makes no difference.
        let strict = || row.rejected.clone().map_or(Ok(Vec::new()), Err);
        let want = expected.get(&row.path).inspect(|_| met += 1).cloned().unwrap_or_else(strict);
        assert_eq!(relaxed(&bytes), want, "{}", row.path);
        for (way, outcome) in relaxed_ways(&bytes) {
            let got = outcome.err().map(|error| (error.code().to_owned(), error.at()));
            assert_eq!(got, want.clone().err(), "{} ({way})", row.path);
        }
    }
    assert_eq!(met, expected.len(), "a row without a file that the default limits refuse");
}

#[test]
fn nothing_that_once_failed_panics() {
    let mut count = 0;
    for path in corpus::files(&corpus::folder().join("regress")) {
        let name = path.to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        // Fuzzers name their finds by hash, without an ending: such bytes go to every reader.
        let every = ["any.safetensors", "any.index.json", "any.gguf"];
        let names = if corpus::is_known(name) { &[name][..] } else { &every };
        for name in names {
            let outcomes = corpus::judge(name, &bytes, &Terms::default());
            assert!(outcomes.iter().all(|(_, outcome)| *outcome == outcomes[0].1), "{}", path.display());
        }
        count += 1;
    }
    println!("{count} files replayed");
}

// Where pointers have 32 bits, the reference refuses dimensions and sizes that it reads elsewhere.
#[cfg(target_pointer_width = "64")]
#[test]
fn what_is_accepted_the_reference_accepts() {
    for row in corpus::rows().iter().filter(|row| row.rejected.is_none() && row.path.ends_with(".safetensors")) {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        let theirs = safetensors::SafeTensors::deserialize(&bytes);
        assert!(theirs.is_ok(), "{}: {theirs:?}", row.path);
    }
}
