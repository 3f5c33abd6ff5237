//! What is refused, with the file that is at fault.

use super::*;
use tensorgate::detect::Guess;
use tensorgate::model::ModelErrorKind;

#[test]
fn strangers_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, bytes, want, guess) in [
        (
            "m.safetensors",
            &b"version https://git-lfs.github.com/spec/v1\noid"[..],
            "ST-HEADER-LIMIT",
            Guess::LfsPointer,
        ),
        ("m.gguf", b"<!DOCTYPE html><html>", "GG-MAGIC", Guess::Html),
        ("pytorch_model.bin", b"\x80\x02}q\0.and so on", "ST-HEADER-LIMIT", Guess::Pickle),
        ("empty.safetensors", b"", "ST-TOO-SHORT", Guess::Empty),
        ("m.index.json", b"<html>", "JS-NOT-OBJECT", Guess::Html),
    ] {
        let path = write(folder, name, bytes);
        let error = Model::open(&path).unwrap_err();
        assert_eq!((error.code(), error.path()), (want, &*path));
        let ModelErrorKind::Invalid { guess: Some(told), .. } = error.kind() else { panic!("{error}") };
        assert_eq!(*told, guess);
        assert!(error.to_string().contains(guess.what()), "{error}");
    }
    // What begins as it should is not told to be something else.
    let cut = write(folder, "cut.safetensors", &safetensors("", &[("w", b"1234")])[..63]);
    let error = Model::open(cut).unwrap_err();
    assert!(matches!(error.kind(), ModelErrorKind::Invalid { guess: None, .. }), "{error}");
}

#[test]
fn a_missing_tensor_with_what_was_probably_meant() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["h.0.attn.c_attn.weight", "transformer.wte.weight", "x\u{1b}"];
    let tensors = names.map(|name| (if name == "x\u{1b}" { r"x\u001b" } else { name }, &b""[..]));
    let model = Model::open(write(folder.path(), "m", &safetensors("", &tensors))).unwrap();
    for (wanted, near) in [
        ("h.0.attn.c_atn.weight", Some(names[0])),
        ("transformer.h.0.attn.c_attn.weight", Some(names[0])),
        ("wte.weight", Some(names[1])),
        ("lm_head.weight", None),
        ("", None),
    ] {
        let error = model.tensor(wanted).unwrap_err();
        assert_eq!(error.code(), "MO-NO-TENSOR");
        let ModelErrorKind::NoTensor { name, near: told } = error.kind() else { panic!("{error}") };
        assert_eq!((name.as_str(), told.as_deref()), (wanted, near));
    }
    let shown = model.tensor("y\u{1b}").unwrap_err().to_string();
    assert!(shown.ends_with(r#"there is no tensor "y\u{1b}"; did you mean "x\u{1b}"?"#), "{shown}");
}

#[test]
fn an_index_is_held_against_its_shards() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = sharded(folder);
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to, want, shown) in [
        (
            r#""c":"two.safetensors""#,
            r#""c":"one.safetensors""#,
            "IX-TENSOR-MISSING",
            r#"tensor "c"; shard "one.safetensors""#,
        ),
        (
            r#""b":"one.safetensors","#,
            r#""b":"one.safetensors","z":"one.safetensors","#,
            "IX-TENSOR-MISSING",
            r#"tensor "z""#,
        ),
        (r#""c":"two.safetensors","#, "", "IX-TENSOR-UNLISTED", r#"tensor "c"; shard "two.safetensors""#),
        ("one.safetensors", "gone.safetensors", "IX-SHARD-MISSING", r#"shard "gone.safetensors""#),
        ("one.safetensors", "../one.safetensors", "IX-SHARD-NAME", "plain file name"),
    ] {
        assert!(good.contains(from));
        std::fs::write(&path, good.replace(from, to)).unwrap();
        let error = Model::open(&path).unwrap_err();
        assert_eq!((error.code(), error.path()), (want, &*path), "{error}");
        assert!(error.to_string().contains(shown), "{error}");
    }
    std::fs::write(&path, &good).unwrap();
    let all_gone = good.replace(".safetensors\"", ".gone\"");
    let other = write(folder, "gone.index.json", all_gone.as_bytes());
    assert!(Model::open(other).unwrap_err().to_string().ends_with("and 1 more"));

    // A shard that is bad in itself, or no file at all: the error is its own.
    let two = write(folder, "two.safetensors", &safetensors("", &[("c", b"ccc"), ("c", b"a")]));
    let error = Model::open(&path).unwrap_err();
    assert_eq!((error.code(), error.path()), ("ST-DUP-NAME", &*two));
    std::fs::remove_file(&two).unwrap();
    std::fs::create_dir(&two).unwrap();
    let error = Model::open(&path).unwrap_err();
    assert_eq!((error.code(), error.path()), ("IO-DIRECTORY", &*two));
}

#[test]
fn files_of_a_split_are_held_against_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = split(folder);
    let second = folder.join("m-00002-of-00003.gguf");
    let error = Model::open(&second).unwrap_err();
    assert_eq!(error.code(), "MO-NOT-FIRST");
    assert!(error.to_string().ends_with(r#"open "m-00001-of-00003.gguf""#), "{error}");

    let third = write(folder, "m-00003-of-00003.gguf", &shard(2, 3, 3, &[("blk.0.w", 9)]));
    let error = Model::open(&first).unwrap_err();
    assert_eq!((error.code(), error.path()), ("GG-SPLIT-NAME-DUP", &*third));
    write(folder, "m-00003-of-00003.gguf", &shard(1, 3, 3, &[("a", 9)]));
    assert_eq!(code(Model::open(&first)), "GG-SPLIT-NUMBER");
    write(folder, "m-00003-of-00003.gguf", &shard(2, 3, 4, &[("a", 9)]));
    assert_eq!(code(Model::open(&first)), "GG-SPLIT-TENSORS");
    write(folder, "m-00003-of-00003.gguf", b"GGUF\x03\0\0\0");
    let error = Model::open(&first).unwrap_err();
    assert_eq!((error.code(), error.path()), ("GG-TOO-SHORT", &*third));
    std::fs::remove_file(&third).unwrap();
    let error = Model::open(&first).unwrap_err();
    assert_eq!((error.code(), error.path()), ("GG-SPLIT-MISSING", &*third));

    let renamed = folder.join("renamed.gguf");
    std::fs::rename(&first, &renamed).unwrap();
    assert_eq!(code(Model::open(&renamed)), "GG-SPLIT-NAME");
}

#[test]
fn padding_is_looked_at_without_the_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = shard(0, 1, 1, &[("w", 1)]);
    let path = write(folder.path(), "m.gguf", &file);
    assert_eq!(code(Model::open(&path)), "");
    assert_eq!(code(Model::open_with(&path, &Options::default().with_padding_limit(3))), "MO-PADDING-LIMIT");
    let at = file.len() - 33;
    assert_eq!(file[at], 0);
    file[at] = 1;
    std::fs::write(&path, &file).unwrap();
    let error = Model::open(&path).unwrap_err();
    let ModelErrorKind::Invalid { error, .. } = error.kind() else { panic!("{error}") };
    assert_eq!((error.code(), error.at()), ("GG-PADDING-NONZERO", at as u64));
}

#[test]
fn memory_has_a_limit_over_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = sharded(folder.path());
    let sizes =
        ["one.safetensors", "two.safetensors"].map(|name| folder.path().join(name).metadata().unwrap().len());
    let total: u64 = sizes.iter().sum();
    for hold in [Hold::Snapshot, Hold::Read] {
        let options = |most| Options::default().with_hold(hold).with_memory_limit(most);
        assert_eq!(code(Model::open_with(&path, &options(total))), "");
        let error = Model::open_with(&path, &options(total - 1)).unwrap_err();
        assert_eq!(
            (error.code(), error.path().file_name().unwrap()),
            ("IO-SIZE-LIMIT", "two.safetensors".as_ref())
        );
    }
    assert_eq!(code(Model::open_with(&path, &Options::default().with_memory_limit(0))), "");
}

#[test]
fn nothing_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "m.safetensors", &safetensors("", &[]));
    assert_eq!(code(Model::open(folder.path().join("none"))), "IO-NOT-FOUND");
    assert_eq!(code(Model::open(path.join("inside"))), if cfg!(windows) { "IO-NOT-FOUND" } else { "IO-READ" });
}

/// Run as root, who may read everything, it runs itself again as somebody who may not.
#[cfg(unix)]
#[test]
fn without_permission() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    const FILE: &str = "TENSORGATE_TEST_UNREADABLE";
    const NOBODY: u32 = 65_534;
    if let Some(path) = std::env::var_os(FILE) {
        assert_eq!(code(Model::open(path)), "IO-PERMISSION");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "m.safetensors", &safetensors("", &[]));
    let allow = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    allow(folder.path(), 0o755);
    allow(&path, 0);
    if std::fs::File::open(&path).is_err() {
        assert_eq!(code(Model::open(&path)), "IO-PERMISSION");
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "refusals::without_permission"]).env(FILE, &path).uid(NOBODY).gid(NOBODY);
    match again.output() {
        Err(error) => eprintln!("skipped: it cannot be run as somebody else: {error}"),
        Ok(output) => {
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
        }
    }
}
