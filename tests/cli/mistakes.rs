//! Mistakes of people who are new to the program, and what they are told: what happened, where, and what to do.

use std::fs;
use std::path::Path;

use crate::common::file;
use crate::{Run, run, sound};

fn austen() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/austen").to_str().unwrap().to_owned()
}

/// A sound file, a bad one, a folder with nothing but a folder in it, and files that are something else.
fn furnished() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.safetensors"), sound()).unwrap();
    let short = r#"{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}}"#;
    fs::write(at("bad.safetensors"), file(short, &[0])).unwrap();
    fs::create_dir_all(at("outer/inner")).unwrap();
    fs::write(at("plain.json"), "{}").unwrap();
    fs::write(at("none.toml"), "[files]\nexclude = [\"**\"]\n").unwrap();
    folder
}

#[test]
fn each_is_told_what_happened_and_what_to_do() {
    let folder = furnished();
    let austen = austen();
    for (args, code, said) in [
        (&["inspect", "outer"][..], 2, "in it; found: \"inner/\""),
        (
            &["inspect", "a.safetensors", "--tensor", "z.*"],
            2,
            "no tensor matches \"z.*\"; without --tensor all are listed",
        ),
        (&["check", "a.safetensors", "--max-header", "10k"], 2, "it must be a whole number without a unit"),
        (
            &["check", "a.safetensors", "--baseline", "plain.json"],
            2,
            "it is no baseline; check --write-baseline writes",
        ),
        (
            &["check", ".", "--policy", "none.toml"],
            2,
            "the policy's [files] leave out all there is (2 model files)",
        ),
        (
            &["check", "a.safetensors", "--readers", "--format=sarif"],
            2,
            "in the formats human, json and jsonl only",
        ),
        (
            &["hash", "a.safetensors", "--verify", "plain.json"],
            2,
            "plain.json: line 1 of the manifest: it does not say",
        ),
        (
            &["convert", "a.safetensors", "b"],
            2,
            "end it with .safetensors or .gguf, or with / where it is to be a folder",
        ),
        (
            &["convert", "a.safetensors", "no/b.safetensors"],
            2,
            "no/b.safetensors: looking at the target: its folder is not",
        ),
        (&["generate", "--temperature", "-1"], 2, "temperature must be 0 or more"),
        (&["generate", "--top-p", "much"], 2, "it must be a number, such as 0.8"),
        (&["generate", "--top-k", "-1"], 2, "'-1'"),
        (&["generate", "--context", "0"], 2, "it must be a whole number from 1 on"),
        (&["generate", "Hello"], 2, "echo Hello | tensorgate generate -"),
        (&["generate", &austen], 2, "give a PROMPT behind the model, or \"-\" for standard input"),
        (&["generate", "a.safetensors", "x"], 1, "n_layer is not given"),
        (&["tokenize", "-t", "plain.json", "x"], 1, "a vocab.json goes with --vocab"),
        (&["tokenize", "-t", &austen, "--decode", "one"], 2, "no id: one (ids are whole numbers"),
        (&["man", "--dir", "a.safetensors/pages"], 2, "a.safetensors/pages: "),
        (&["man", "metadata-st"], 2, "did you mean metadata-set?"),
    ] {
        let Run { code: ended, out, err } = run(folder.path(), args);
        assert_eq!(ended, code, "{args:?}: {out}{err}");
        assert!(out.contains(said) || err.contains(said), "{args:?}: {out}{err}");
    }
}

#[test]
fn a_file_that_is_rejected_is_so_for_every_command() {
    let folder = furnished();
    for args in [
        &["check", "bad.safetensors"][..],
        &["inspect", "bad.safetensors"],
        &["hash", "bad.safetensors"],
        &["convert", "bad.safetensors", "b.gguf"],
        &["quantize", "bad.safetensors", "b.gguf", "--type=q8_0"],
        &["metadata", "list", "bad.safetensors"],
        &["generate", "bad.safetensors", "x"],
        &["bench", "bad.safetensors"],
    ] {
        let Run { code, out, err } = run(folder.path(), args);
        let told = [out, err].concat();
        assert_eq!((code, told.matches("ST-SIZE-MISMATCH").count()), (1, 1), "{args:?}: {told}");
    }
}

#[test]
fn quantising_again_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &["quantize", &austen(), "a.gguf", "--type=q8_0", "-q"]).code, 0);
    let again = run(folder.path(), &["quantize", "a.gguf", "b.gguf", "--type=q4_0"]);
    // Four layers of four matrices; the embedding, which is the head too, stays Q8_0.
    assert!(again.code == 1 && again.err.contains("16 tensors of it are quantised already"), "{}", again.err);
}

/// Codes in tables of the book are explained as those with a section: what it is, and what to do.
#[test]
fn codes_of_tables_are_explained_by_what_they_say() {
    let shown = run(Path::new("."), &["explain", "IO-NOT-FOUND"]).out;
    assert!(shown.starts_with("IO-NOT-FOUND  there is no such file\n"), "{shown}");
    assert!(shown.contains("\nWhat to do. look at the spelling"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_full_is_named() {
    let folder = furnished();
    let austen = austen();
    for args in [
        &["check", "a.safetensors"][..],
        &["inspect", "a.safetensors"],
        &["hash", "a.safetensors"],
        &["explain", "--list"],
        &["man"],
        &["completions", "bash"],
        &["tokenize", "-t", &austen, "--decode", "40"],
        &["generate", &austen, "It", "--tokens=1"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = crate::tensorgate();
        let ran = Run::of(command.current_dir(folder.path()).args(args).stdout(full).output().unwrap());
        assert!(ran.code == 2 && ran.err.contains("standard output: No space left"), "{args:?}: {}", ran.err);
    }
}
