//! Mistakes of people who are new to the program, and what they are told: what happened, where, and what to do.

use std::fs;
use std::path::Path;

use crate::common::file;
use crate::gguf::split_shard;
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
fn numbers_that_are_none_are_told_what_they_may_be() {
    let folder = furnished();
    for (args, said) in [
        (&["generate", "--top-k", "-1"][..], "'-1' for '--top-k <K>': it must be 0 or more"),
        (&["generate", "--tokens", "-1"], "'-1' for '--tokens <N>': it must be 0 or more"),
        (&["generate", "--seed", "-1"], "'-1' for '--seed <N>': it must be 0 or more"),
        (&["generate", "--tokens", "99999999999999999999"], "'--tokens <N>': it is too large: it may be "),
        (
            &["generate", "--seed", "18446744073709551616"],
            "it is too large: it may be 18446744073709551615 at most",
        ),
        (&["generate", "--max-memory", "4294967296"], "it is too large: it may be 4294967295 at most"),
        (&["generate", "--threads", "-1"], "it must be a whole number from 1 to 1024"),
        (&["generate", "--context", "-1"], "it must be a whole number from 1 on"),
        (&["bench", "--rounds", "-1"], "it must be a whole number from 1 to 1000"),
        (&["check", "a.safetensors", "--max-header", "-1"], "it must be 0 or more"),
        (&["check", "a.safetensors", "--jobs", "-1"], "a number of threads from 1 on"),
        (&["inspect", "a.safetensors", "--depth", "-1"], "a number from 0 to 16"),
    ] {
        let Run { code, out, err } = run(folder.path(), args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(said) && !err.contains("-- -1"), "{args:?}: {err}");
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

/// A folder with a split GGUF model and a sharded safetensors one, both in two files.
fn in_parts() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    for (number, tensor) in [(0, "a"), (1, "b")] {
        save(&format!("g-0000{}-of-00002.gguf", number + 1), &split_shard(number, tensor, "gpt2"));
        let header = format!(r#"{{"{tensor}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}}"#);
        save(&format!("s-0000{}-of-00002.safetensors", number + 1), &file(&header, &[0; 4]));
    }
    let map = r#"{"a":"s-00001-of-00002.safetensors","b":"s-00002-of-00002.safetensors"}"#;
    save("s.safetensors.index.json", format!(r#"{{"metadata":{{"total_size":8}},"weight_map":{map}}}"#).as_bytes());
    folder
}

#[test]
fn a_part_that_is_taken_alone_is_said_to_be_one() {
    let folder = in_parts();
    for (part, number, whole) in [
        ("g-00002-of-00002.gguf", 2, "g-00001-of-00002.gguf"),
        ("s-00001-of-00002.safetensors", 1, "s.safetensors.index.json"),
        ("s-00002-of-00002.safetensors", 2, "s.safetensors.index.json"),
    ] {
        let note = format!(
            "tensorgate: note: {part} is file {number} of 2 of a model, and the others were not looked at: name {whole} for \
             all of it\n"
        );
        for args in [
            &["hash", part][..],
            &["inspect", part],
            &["inspect", part, "--json"],
            &["diff", "--values", part, whole],
        ] {
            assert_eq!(run(folder.path(), args).err, note, "{args:?}");
        }
        for args in [
            &["hash", whole][..],
            &["inspect", whole],
            &["diff", whole, whole],
            &["diff", "-q", "--values", part, whole],
        ] {
            assert_eq!(run(folder.path(), args).err, "", "{args:?}");
        }
    }
    // A name by which the others cannot be found.
    fs::rename(folder.path().join("g-00001-of-00002.gguf"), folder.path().join("g.gguf")).unwrap();
    let shown = run(folder.path(), &["inspect", "g.gguf"]);
    assert!(
        shown.err.ends_with(
            "g.gguf is file 1 of 2 of a model, and the others were not looked at: its name does not tell theirs\n"
        ),
        "{}",
        shown.err
    );
}

/// What is not there says nothing of what is: nobody rejects a model for it.
#[test]
fn a_model_without_one_of_its_files_ends_every_command_in_the_same_way() {
    let folder = in_parts();
    for lost in ["g-00002-of-00002.gguf", "s-00002-of-00002.safetensors"] {
        fs::remove_file(folder.path().join(lost)).unwrap();
    }
    for model in ["g-00001-of-00002.gguf", "s.safetensors.index.json"] {
        for args in [
            &["hash", model][..],
            &["diff", model, model],
            &["convert", model, "new.safetensors"],
            &["quantize", model, "new.gguf", "--type=q8_0"],
            &["generate", model, "x"],
            &["bench", model],
        ] {
            let Run { code, out, err } = run(folder.path(), args);
            assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
            assert!(err.contains("missing") || err.contains("is not there"), "{args:?}: {err}");
        }
        for command in ["check", "inspect"] {
            assert_eq!(run(folder.path(), &[command, model]).code, 0, "{command} {model}");
        }
    }
}

#[test]
fn what_is_rejected_in_a_folder_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.safetensors"), b"x").unwrap();
    let hashed = run(folder.path(), &["hash", "."]);
    assert!(hashed.code == 1 && hashed.out.contains("FT-TEXT"), "{}{}", hashed.out, hashed.err);
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
