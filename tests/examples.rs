//! The examples do what they say: the confined checker has the verdicts of the corpus and cannot do anything else, and the
//! program that loads a stranger's model shows it or says what is wrong.

#![cfg(all(feature = "std", target_os = "linux", target_arch = "x86_64"))]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::corpus::{self, Role, Terms};

/// What is wrong with the words given to a script of `fuzz/` is said before anything is built or written.
#[test]
fn the_fuzz_scripts_know_their_targets() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    for (words, said) in [
        (&["run.sh", "st_raw"][..], "run.sh: \"st_raw\" is no number of seconds"),
        (&["run.sh", "0"], "run.sh: \"0\" is no number of seconds"),
        (&["run.sh", "60", "st_rw"], "run.sh: there is no target \"st_rw\"; there are: any_bytes "),
        (&["campaign", "st_raw"], "campaign: \"st_raw\" is no number of minutes"),
    ] {
        let ran = Command::new("bash").current_dir(&folder).args(words).output().unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.code() == Some(2) && told.contains(said), "{words:?}: {told}");
    }
}

/// The program of an example. `cargo test` builds it along; where one test was asked for it may not be there.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join(name);
    let modified = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name).with_extension("rs");
    if modified(&path) < modified(&source) {
        let profile = test.ancestors().nth(2).and_then(Path::file_name).unwrap();
        let profile = if profile == "debug" { "test" } else { profile.to_str().unwrap() };
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--profile", profile, "--example", name])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().unwrap().success());
    }
    path
}

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(program(name)).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_confined_checker_has_the_corpus_verdicts() {
    // What a header alone does not show is not judged there.
    let judged = |row: &corpus::Row| {
        let unseen = row.rejected.as_ref().is_some_and(|(code, _)| code == "GG-PADDING-NONZERO");
        row.role == Role::Alone && row.terms == Terms::default() && !unseen
    };
    let rows: Vec<_> = corpus::all_rows().into_iter().filter(judged).collect();
    assert!(rows.len() > 700);
    for rows in rows.chunks(200) {
        let paths: Vec<String> = rows.iter().map(|row| format!("corpus/{}", row.path)).collect();
        let output = run("confined", &paths.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.signal(), None, "{}", text(&output.stderr));
        let lines: Vec<&str> = text(&output.stdout).lines().collect();
        assert_eq!(lines.len(), rows.len());
        for (line, row) in lines.iter().zip(rows) {
            match &row.rejected {
                None => assert!(line.starts_with("accepted\t"), "{line}"),
                Some((code, at)) => assert_eq!(*line, format!("{code}\t{at}\tcorpus/{}", row.path)),
            }
        }
    }
}

#[test]
fn the_kernel_ends_what_disobeys() {
    const SIGSYS: i32 = 31;
    let output = run("confined", &["--disobey", "corpus/accept/dtype-f32.safetensors"]);
    assert_eq!((output.status.signal(), text(&output.stdout)), (Some(SIGSYS), ""));
}

#[test]
fn a_model_of_a_stranger_is_shown_or_refused() {
    let shown = run("untrusted", &["models/austen"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("wte.weight") && !text(&shown.stdout).contains("not finite"));
    let refused = run("untrusted", &["corpus/reject/ST-OVERLAP/partial.safetensors"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("ST-OVERLAP at byte 106"), "{}", text(&refused.stderr));
    assert_eq!(run("untrusted", &["no such model"]).status.code(), Some(2));
    for row in corpus::rows().iter().filter(|row| row.terms == Terms::default()) {
        let outcome = run("untrusted", &[&format!("corpus/{}", row.path)]);
        let said = outcome.status.code();
        assert!(said.is_some_and(|code| code < 3), "{}: {:?}", row.path, outcome.status);
        assert!(row.rejected.is_none() || said != Some(0), "{} is loaded", row.path);
        assert!(
            [&outcome.stdout, &outcome.stderr]
                .iter()
                .all(|out| text(out).chars().all(|c| !c.is_control() || c == '\n'))
        );
    }
}
