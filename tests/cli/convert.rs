//! `tensorgate convert`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tensorgate::gguf::{GgmlType, ValueType};
use tensorgate::model::Model;
use tensorgate::{Dtype, Gguf};

use crate::common::file;
use crate::common::gguf::Writer;
use crate::{Run, run, sound};

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    path.to_str().unwrap().to_owned()
}

fn convert(folder: &Path, args: &[&str]) -> Run {
    run(folder, &[&["convert"], args].concat())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn tensors(path: PathBuf) -> Vec<(String, String, Vec<u64>, Vec<u8>)> {
    let model = Model::open(path).unwrap();
    let all = model.tensors();
    all.map(|t| (t.name().to_owned(), t.element().to_string(), t.shape().to_vec(), t.bytes().to_vec())).collect()
}

/// A folder of Hugging Face's becomes one file that says everything, as llama.cpp's converter writes it, and comes back.
#[test]
fn a_gpt2_with_its_config_and_vocabulary_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("in")).unwrap();
    for (from, to) in [
        ("tiny-gpt2/tinyA-plain/model.safetensors", "in/model.safetensors"),
        ("tiny-gpt2/tinyA-plain/config.json", "in/config.json"),
        ("tiny-gpt2/vocab.json", "in/vocab.json"),
        ("tiny-gpt2/merges.txt", "in/merges.txt"),
    ] {
        fs::copy(data(from), at(to)).unwrap();
    }
    let made = convert(folder.path(), &["in", "a.gguf"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    assert!(made.out.starts_with("a.gguf\n"), "{}", made.out);
    let (ours, theirs) =
        (fs::read(at("a.gguf")).unwrap(), fs::read(data("tiny-gpt2-gguf/tinyA-f32.gguf")).unwrap());
    let (ours, theirs) = (Gguf::open(&ours).unwrap(), Gguf::open(&theirs).unwrap());
    assert_eq!(tensors(at("a.gguf")), tensors(data("tiny-gpt2-gguf/tinyA-f32.gguf").into()));
    let mut same = 0;
    for pair in theirs.pairs() {
        let of_model = pair.key().starts_with("gpt2.") || pair.key().starts_with("tokenizer.ggml.");
        if of_model && let Some(value) = ours.get(pair.key()) {
            assert_eq!(value, pair.value(), "{}", pair.key());
            same += 1;
        }
    }
    assert!(same >= 8, "{same}");
    let back = convert(folder.path(), &["a.gguf", "out/deep/"]);
    assert!(back.code == 0 && !back.out.contains("cannot have"), "{}", back.out);
    let beside = ["config.json", "merges.txt", "model.safetensors", "vocab.json"];
    assert_eq!(names(&at("out/deep")), beside);
    let json = |name: &str| serde_json::from_slice::<Value>(&fs::read(at(name)).unwrap()).unwrap();
    assert_eq!(json("out/deep/vocab.json"), json("in/vocab.json"));
    let (old, new) = (json("in/config.json"), json("out/deep/config.json"));
    for key in ["n_embd", "n_head", "n_layer", "n_positions", "vocab_size", "layer_norm_epsilon"] {
        assert_eq!(new[key], old[key], "{key}");
    }
    // And there again: the same tensors and pairs.
    assert_eq!(convert(folder.path(), &["out/deep", "b.gguf"]).code, 0);
    let again = fs::read(at("b.gguf")).unwrap();
    let again = Gguf::open(&again).unwrap();
    for pair in ours.pairs() {
        assert_eq!(again.get(pair.key()), Some(pair.value()), "{}", pair.key());
    }
    assert_eq!(tensors(at("b.gguf")), tensors(at("a.gguf")));
}

/// What GGUF has no key for is said when it is lost.
#[test]
fn a_gpt2_that_gguf_cannot_say() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::copy(data("tiny-gpt2/tinyA-plain/model.safetensors"), at("model.safetensors")).unwrap();
    let config = fs::read(data("tiny-gpt2/tinyA-plain/config.json")).unwrap();
    for (key, value, said) in [
        ("scale_attn_weights", true, ""),
        ("scale_attn_weights", false, "not divided by the root of a head's width"),
        ("scale_attn_by_inverse_layer_idx", true, "scaled by layer"),
    ] {
        let mut config: Value = serde_json::from_slice(&config).unwrap();
        config[key] = value.into();
        fs::write(at("config.json"), config.to_string()).unwrap();
        for args in [&["convert", ".", "a.gguf"][..], &["quantize", ".", "a.gguf", "--type=q8_0"]] {
            let made = run(folder.path(), args);
            assert_eq!((made.code, made.err.as_str()), (0, ""), "{args:?}");
            assert!(made.out.contains(said), "{args:?} {key}: {}", made.out);
            assert_eq!(made.out.contains("attention"), !said.is_empty(), "{args:?} {key}: {}", made.out);
        }
    }
}

/// A folder as a folder: what stands beside the tensors goes along, and what was there is not lost without a word.
#[test]
fn the_small_files_of_a_folder_go_along() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("in")).unwrap();
    fs::write(at("in/model.safetensors"), sound()).unwrap();
    for name in ["config.json", "generation_config.json", "tokenizer.json", "merges.txt", "notes.md", "evil.py"] {
        fs::write(at("in").join(name), name).unwrap();
    }
    fs::create_dir(at("in/vocab.json")).unwrap();
    let made = convert(folder.path(), &["in", "out/deep/"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let along = ["config.json", "generation_config.json", "merges.txt", "model.safetensors", "tokenizer.json"];
    assert_eq!(names(&at("out/deep")), along);
    for name in along {
        assert!(made.out.contains(&format!("out/deep/{name}\n")), "{}", made.out);
    }
    assert_eq!(fs::read(at("out/deep/config.json")).unwrap(), b"config.json");
    assert!(made.out.contains("not taken along: in/vocab.json: not a regular file"), "{}", made.out);
    // From a file in the folder, over what is the same but for one file.
    fs::write(at("out/deep/config.json"), "another").unwrap();
    let made = convert(folder.path(), &["in/model.safetensors", "out/deep"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    assert_eq!(made.out.matches("another file of this name").count(), 1, "{}", made.out);
    assert!(made.out.contains("out/deep/config.json: another file of this name was there and is replaced"));
    assert_eq!(fs::read(at("out/deep/config.json")).unwrap(), b"config.json");
    // In place, and as a file, there is nothing to take along.
    assert_eq!(convert(&at("in"), &["model.safetensors", "."]).out.matches("json").count(), 0);
    assert_eq!(convert(folder.path(), &["in", "alone.safetensors"]).code, 0);
    assert!(!at("config.json").exists());
}

/// What cannot be in a config is found before anything is written.
#[test]
fn a_gguf_that_is_no_gpt2_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(data("tiny-gpt2-gguf/tinyA-f32.gguf")).unwrap();
    let key = b"gpt2.attention.head_count";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    bytes[at..at + 4].fill(0);
    fs::write(folder.path().join("a.gguf"), bytes).unwrap();
    let made = convert(folder.path(), &["a.gguf", "out/"]);
    assert_eq!((made.code, made.out.as_str()), (1, ""));
    assert!(made.err.contains("head_count is 0"), "{}", made.err);
    assert!(!made.err.contains("\\n"), "{}", made.err);
    assert_eq!(names(folder.path()), ["a.gguf"]);
}

/// A report that nobody gets does not undo what was done.
#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_printed() {
    let folder = tempfile::tempdir().unwrap();
    let source = data("tiny-gpt2-gguf/tinyA-f32.gguf");
    for args in [&["convert", &source, "b.gguf"][..], &["quantize", &source, "b.gguf", "--type=q8_0"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = crate::tensorgate().current_dir(folder.path()).args(args).stdout(full).output().unwrap();
        let made = Run::of(output);
        assert_eq!(made.code, 2);
        let said = "tensorgate: the files were written; only the report could not be printed: standard output: No space left";
        assert!(made.err.starts_with(said), "{}", made.err);
        assert!(Model::open(folder.path().join("b.gguf")).is_ok());
    }
}

#[test]
fn counts_of_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let values = [1.0_f32, 65_520.0, 1e-5, 1e-9, -70_000.0, 0.0];
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let header = r#"{"i":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},"w\n":{"dtype":"F32","shape":[6],"data_offsets":[4,28]}}"#;
    fs::write(folder.path().join("a.safetensors"), file(header, &[&[0; 4][..], &bytes].concat())).unwrap();
    let made = convert(folder.path(), &["a.safetensors", "b.safetensors", "--dtype=f16", "--json"]);
    let document: Value = serde_json::from_str(&made.out).unwrap();
    assert_eq!(document["tensors"].as_array().unwrap().len(), 2);
    let lost = document["tensors"].as_array().unwrap().iter().find(|tensor| tensor["name"] == "w\n").unwrap();
    for (key, count) in [("overflowed", 2), ("subnormal", 1), ("vanished", 1), ("values", 6), ("not_finite", 0)] {
        assert_eq!(lost["loss"][key], count, "{key}");
    }
    assert_eq!(
        document["tensors"].as_array().unwrap().iter().find(|tensor| tensor["name"] == "i").unwrap()["loss"],
        Value::Null
    );
    let human = convert(folder.path(), &["a.safetensors", "b.safetensors", "--dtype=f16"]);
    let said = "w\\n  F32 to F16: 2 values became infinite, 1 value became subnormal, 1 value became zero, ";
    assert!(human.out.contains(said), "{}", human.out);
    assert_eq!(convert(folder.path(), &["a.safetensors", "b.safetensors", "--dtype=bf16", "-q"]).out, "");
}

#[test]
fn layouts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let source = data("tiny-gpt2-gguf/tinyA-q8_0.gguf");
    let ok = |args: &[&str]| {
        let run = convert(folder.path(), args);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
    };
    ok(&[&source, "big.gguf", "--byte-order=big"]);
    assert_eq!(fs::read(at("big.gguf")).unwrap()[4..8], [0, 0, 0, 3]);
    ok(&["big.gguf", "little.gguf"]);
    assert!(fs::read(at("little.gguf")).unwrap() == fs::read(&source).unwrap());
    ok(&[&source, "s.gguf", "--max-shard-size", "20kB"]);
    let first = names(folder.path()).into_iter().find(|name| name.starts_with("s-00001-of-")).unwrap();
    ok(&[&first, "merged.gguf"]);
    assert!(fs::read(at("merged.gguf")).unwrap() == fs::read(&source).unwrap());
    ok(&[&source, "aligned.gguf", "--align", "4096"]);
    assert!(Model::open(at("aligned.gguf")).unwrap().tensors().all(|t| t.span().start() % 4096 == 0));
    // Named by --to; a folder of shards, and one file in it again.
    ok(&[&source, "odd.name", "--to=safetensors"]);
    ok(&["odd.name", "shards", "--max-shard-size=50kB"]);
    assert!(at("shards/model.safetensors.index.json").is_file());
    ok(&["shards", "shards"]);
    assert_eq!(names(&at("shards")).iter().filter(|name| name.ends_with(".safetensors")).count(), 1);
    assert!(!at("shards/model.safetensors.index.json").exists());
    assert_eq!(tensors(at("shards")), tensors(at("odd.name")));
    // From standard input.
    let piped = crate::tensorgate()
        .current_dir(folder.path())
        .args(["convert", "-", "piped.safetensors"])
        .stdin(fs::File::open(at("odd.name")).unwrap())
        .output()
        .unwrap();
    assert!(piped.status.success());
    assert_eq!(tensors(at("piped.safetensors")), tensors(at("odd.name")));
}

#[test]
fn refusals_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.safetensors"), sound()).unwrap();
    let nan = file(r#"{"wé":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, &[0, 0, 128, 63, 0, 0, 192, 255]);
    fs::write(at("nan.safetensors"), nan).unwrap();
    fs::write(at("cut.safetensors"), &sound()[..100]).unwrap();
    fs::write(at("bad.gguf"), b"GGUF\x03\0\0\0").unwrap();
    fs::write(at("pickle.safetensors"), b"\x80\x02}q\x00.").unwrap();
    let mut odd = Writer::new(1, 1);
    odd.key("k", ValueType::U8).raw(&[1]).tensor("t", &[4], 99, 0).data(32);
    fs::write(at("odd.gguf"), &odd.0).unwrap();
    let before = names(folder.path());
    for (args, code, said) in [
        (
            &["a.safetensors", "b.gguf"][..],
            1,
            ": 1 of the tensors cannot be converted:\n  \"h.2.w\": the format has no type U8",
        ),
        (&["nan.safetensors", "b.gguf", "--dtype=f16"], 1, "element 1 of \"w\\u{e9}\" is no number (NaN)"),
        (&["nan.safetensors", "new/deep/", "--dtype=f16"], 1, "--allow-non-finite"),
        (&["nan.safetensors", "new", "--dtype=f16", "--max-shard-size=1"], 1, "element 1"),
        (&["cut.safetensors", "b.gguf"], 1, "cut.safetensors"),
        (&["bad.gguf", "b.safetensors"], 1, "bad.gguf"),
        (&["odd.gguf", "b.safetensors"], 1, "odd.gguf"),
        (&["odd.gguf", "b.safetensors", "--allow=unknown-types"], 1, "\"t\": its type is not known"),
        (&["pickle.safetensors", "b.gguf"], 1, "pickle"),
        (&["none.safetensors", "b.gguf"], 2, "none.safetensors"),
        (&["a.safetensors", "b"], 2, "which format it is to be"),
        (&["a.safetensors", "none/b.safetensors"], 2, "none"),
        (&["a.safetensors", "b.safetensors", "--byte-order=big"], 2, "always little-endian"),
        (&["a.safetensors", "b/", "--align", "--max-shard-size=1"], 2, "--align"),
        (&["a.safetensors", "b.safetensors", "--align=12"], 2, "power of two"),
        (&["a.safetensors", "b.gguf", "--max-shard-size=0"], 2, "holds nothing"),
    ] {
        let run = convert(folder.path(), args);
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{args:?}: {}", run.err);
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
        assert_eq!(names(folder.path()), before, "{args:?}");
    }
    assert_eq!(
        convert(folder.path(), &["nan.safetensors", "n.safetensors", "--dtype=f16", "--allow-non-finite"]).code,
        0
    );
    let kept = Model::open(at("n.safetensors")).unwrap();
    assert_eq!(kept.tensor("wé").unwrap().element(), Dtype::F16.into());
    // A part's name that is taken is not replaced.
    let source = data("tiny-gpt2-gguf/tinyA-f16.gguf");
    let one = convert(folder.path(), &[&source, "s.gguf", "--max-shard-size=1GB"]);
    assert_eq!((one.code, at("s-00001-of-00001.gguf").is_file()), (0, true));
    let taken = convert(folder.path(), &[&source, "s.gguf", "--max-shard-size=1GB"]);
    assert_eq!(taken.code, 2);
    assert!(taken.err.contains("s-00001-of-00001.gguf"), "{}", taken.err);
}

#[test]
fn over_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    fs::copy(data("tiny-gpt2-gguf/tinyA-f32.gguf"), &path).unwrap();
    assert_eq!(convert(folder.path(), &["m.gguf", "m.gguf", "--dtype=f16"]).code, 0);
    let theirs = tensors(data("tiny-gpt2-gguf/tinyA-f16.gguf").into());
    let ours = Model::open(&path).unwrap();
    // llama.cpp leaves vectors and positions F32; names that stay are cast all.
    assert!(ours.tensors().all(|tensor| tensor.element() == GgmlType::F16.into()));
    let matrices = theirs.iter().filter(|(_, kind, ..)| kind == "F16");
    for (name, _, shape, bytes) in matrices {
        let tensor = ours.tensor(name).unwrap();
        assert_eq!((tensor.shape(), tensor.bytes()), (&shape[..], &bytes[..]));
    }
    assert_eq!(names(folder.path()), ["m.gguf"]);
}

/// Ctrl-C in the middle of long work: exit code 130, and nothing there but what was.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Without content, so that it takes no room; to be encoded, so that it takes time.
    let len = 4_u64 << 30;
    let header = format!(r#"{{"w":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{len}]}}}}"#, len / 4);
    fs::write(at("a.safetensors"), file(&header, &[])).unwrap();
    let source = fs::File::options().write(true).open(at("a.safetensors")).unwrap();
    source.set_len(len + 8 + header.len() as u64).unwrap();
    fs::write(at("old.gguf"), b"old").unwrap();
    for to in ["old.gguf", "new/"] {
        let mut child = crate::tensorgate()
            .current_dir(folder.path())
            .args(["convert", "a.safetensors", to, "--dtype=bf16"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let busy = || {
            let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten();
            let entries = inside(folder.path().to_path_buf()).chain(inside(at("new")));
            entries.filter_map(Result::ok).any(|entry| {
                let temporary = entry.file_name().to_string_lossy().ends_with("tensorgate-tmp");
                temporary && entry.metadata().is_ok_and(|metadata| metadata.len() > 0)
            })
        };
        while !busy() {
            assert!(started.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        // `timeout` and shells send it twice: to the process, and to its group.
        for _ in 0..2 {
            assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        }
        let status = child.wait().unwrap();
        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(130), "tensorgate: interrupted; nothing was changed\n"));
        assert_eq!(names(folder.path()), ["a.safetensors", "old.gguf"]);
        assert_eq!(fs::read(at("old.gguf")).unwrap(), b"old");
    }
}
