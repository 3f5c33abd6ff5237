//! `tensorgate quantize`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tensorgate::file::Saver;
use tensorgate::gguf::{GgmlType, ValueType};
use tensorgate::model::convert::{Conversion, Target};
use tensorgate::model::{ElementType, Format, Model};
use tensorgate::quant;

use crate::common::file;
use crate::common::gguf::Writer;
use crate::{Run, run};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn quantize(folder: &Path, args: &[&str]) -> Run {
    run(folder, &[&["quantize"], args].concat())
}

/// Runs it and takes its JSON.
#[track_caller]
fn document(folder: &Path, args: &[&str]) -> Value {
    let done = quantize(folder, &[args, &["--json"]].concat());
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}: {}", done.out);
    serde_json::from_str(&done.out).unwrap()
}

/// The types of a file's tensors, as text.
fn kinds(path: &Path) -> Vec<(String, String)> {
    let model = Model::open(path).unwrap();
    model.tensors().map(|tensor| (tensor.name().to_owned(), tensor.element().to_string())).collect()
}

fn kind_of(path: &Path, name: &str) -> String {
    Model::open(path).unwrap().tensor(name).unwrap().element().to_string()
}

/// A tensor's elements, decoded.
fn values(model: &Model, name: &str) -> Vec<f32> {
    let tensor = model.tensor(name).unwrap();
    let ElementType::Ggml(kind) = tensor.element() else { panic!("no GGUF") };
    let mut out = vec![0.0; usize::try_from(tensor.elements()).unwrap()];
    quant::decode(kind, tensor.bytes(), &mut out).unwrap();
    out
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn float(count: usize) -> f64 {
    count as f64
}

fn reference() -> Value {
    serde_json::from_slice(&fs::read(data("mixtures.json")).unwrap()).unwrap()
}

/// The small model of width 256, in F32.
fn wide(folder: &Path) {
    let from = data("tiny-gpt2-gguf/tinyC-q8_0.gguf");
    let done = document(folder, &[from.to_str().unwrap(), "f32.gguf", "--type", "f32", "--allow-requantize"]);
    assert_eq!((done["file_type"].as_u64(), done["bits_per_weight"].as_f64()), (Some(0), Some(32.0)));
}

#[test]
fn every_type_is_byte_for_byte_what_llama_cpp_makes() {
    let folder = tempfile::tempdir().unwrap();
    wide(folder.path());
    let reference = reference();
    let (mut same, mut different) = (0, Vec::new());
    for (name, tensors) in reference["files"].as_object().unwrap() {
        let path = folder.path().join(format!("{name}.gguf"));
        if name != "f32" {
            document(folder.path(), &["f32.gguf", path.to_str().unwrap(), "--type", name]);
        }
        let model = Model::open(&path).unwrap();
        assert_eq!(model.len(), tensors.as_object().unwrap().len());
        for tensor in model.tensors() {
            let digest = Sha256::digest(tensor.bytes());
            let digest = digest.iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
            if tensors[tensor.name()] == digest.as_str() {
                same += 1;
            } else {
                different.push(format!("{name}: {} ({})", tensor.name(), tensor.element()));
            }
        }
    }
    assert_eq!((same, different), (16 * 15, Vec::new()));
}

#[test]
fn the_report_says_what_the_file_holds() {
    let folder = tempfile::tempdir().unwrap();
    wide(folder.path());
    let before = Model::open(folder.path().join("f32.gguf")).unwrap();
    let done = document(folder.path(), &["f32.gguf", "out.gguf", "--type", "Q4_K_M"]);
    assert_eq!((&done["type"], &done["file_type"]), (&json!("q4_k_m"), &json!(15)));
    let model = Model::open(folder.path().join("out.gguf")).unwrap();
    let number = |key: &str| model.metadata().get(key).unwrap().gguf().unwrap().u64().unwrap();
    assert_eq!((number("general.file_type"), number("general.quantization_version")), (15, 2));
    assert_eq!(number("gpt2.embedding_length"), 256);
    let keys = |model: &Model| -> Vec<String> {
        model.metadata().iter().map(|(key, _)| key.to_cow().into_owned()).collect()
    };
    assert_eq!(keys(&model), keys(&before), "pairs stay where they were");
    let mut changed = 0;
    for tensor in done["tensors"].as_array().unwrap() {
        let name = tensor["name"].as_str().unwrap();
        let (old, new) = (values(&before, name), values(&model, name));
        let now = model.tensor(name).unwrap();
        assert_eq!(tensor["bytes"].as_u64().unwrap(), now.bytes().len() as u64);
        assert_eq!(tensor["source_bytes"].as_u64().unwrap(), 4 * now.elements());
        assert_eq!(tensor["dtype"], now.element().to_string().as_str());
        if tensor["loss"].is_null() {
            assert_eq!(old, new, "{name}");
            continue;
        }
        changed += 1;
        let error = |(a, b): (&f32, &f32)| f64::from(*a) - f64::from(*b);
        let squares: f64 = old.iter().zip(&new).map(|pair| error(pair).powi(2)).sum();
        let size: f64 = old.iter().map(|value| f64::from(*value).powi(2)).sum();
        let most = old.iter().zip(&new).map(|pair| error(pair).abs()).fold(0.0, f64::max);
        for (key, want) in [
            ("rmse", (squares / float(old.len())).sqrt()),
            ("relative_error", (squares / size).sqrt()),
            ("max_error", most),
        ] {
            let found = tensor["loss"][key].as_f64().unwrap();
            assert!(want > 0.0 && (found / want - 1.0).abs() < 1e-5, "{name} {key}: {found} {want}");
        }
        assert!(squares / size < 0.02, "{name}");
    }
    assert_eq!(changed, 5);
    let bytes: usize = model.tensors().map(|tensor| tensor.bytes().len()).sum();
    let weights: usize = before.tensors().map(|tensor| tensor.bytes().len() / 4).sum();
    assert_eq!((&done["bytes"], &done["weights"]), (&json!(bytes), &json!(weights)));
    let bits = float(bytes) * 8.0 / float(weights);
    assert!((done["bits_per_weight"].as_f64().unwrap() - bits).abs() < 1e-9);
    // The same for people: a line for each tensor that changed.
    let shown = quantize(folder.path(), &["f32.gguf", "again.gguf", "-t", "q4_k"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert_eq!(shown.out.lines().filter(|line| line.contains(" %")).count(), 5 + 1 + 1, "{}", shown.out);
    assert!(shown.out.contains(&format!("{bits:.2} bits a weight")), "{}", shown.out);
    let quiet = quantize(folder.path(), &["f32.gguf", "quiet.gguf", "-t", "q4_k_m", "-q", "--jobs=1"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""));
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("out.gguf") == read("again.gguf") && read("out.gguf") == read("quiet.gguf"));
}

#[test]
fn gpt2_folders_become_what_their_gguf_does() {
    let folder = tempfile::tempdir().unwrap();
    let from = data("tiny-gpt2/tinyA-plain");
    // The files of the vocabulary lie one folder above the models there.
    let here = folder.path().join("gpt2");
    fs::create_dir(&here).unwrap();
    for (name, from) in [
        ("config.json", &from),
        ("model.safetensors", &from),
        ("vocab.json", &data("tiny-gpt2")),
        ("merges.txt", &data("tiny-gpt2")),
    ] {
        fs::copy(from.join(name), here.join(name)).unwrap();
    }
    let gguf = data("tiny-gpt2-gguf/tinyA-f32.gguf");
    for name in ["q4_k_m", "q4_0", "q8_0", "mxfp4", "f16"] {
        let ours = document(folder.path(), &["gpt2", "a.gguf", "--type", name]);
        let theirs = document(folder.path(), &[gguf.to_str().unwrap(), "b.gguf", "--type", name]);
        let (a, b) = (
            Model::open(folder.path().join("a.gguf")).unwrap(),
            Model::open(folder.path().join("b.gguf")).unwrap(),
        );
        assert!(a.names().eq(b.names()));
        for (a, b) in a.tensors().zip(b.tensors()) {
            assert_eq!(
                (a.element(), a.shape(), a.bytes()),
                (b.element(), b.shape(), b.bytes()),
                "{name} {}",
                a.name()
            );
        }
        assert_eq!(ours["loss"], theirs["loss"]);
        let key = |model: &Model, key: &str| model.metadata().get(key).unwrap().gguf().unwrap().u64().unwrap();
        assert_eq!(key(&a, "general.file_type"), key(&b, "general.file_type"));
        assert_eq!(a.metadata().get("general.architecture").unwrap().as_str(), Some("gpt2"));
        let tokens = a.metadata().get("tokenizer.ggml.tokens").unwrap();
        assert_eq!(tokens.gguf().unwrap().array().unwrap().len(), 512);
    }
    // Rows of 32: no blocks of 256.
    let narrow = document(folder.path(), &["gpt2", "narrow.gguf", "--type", "q4_k_m"]);
    let of = |name: &str| {
        narrow["tensors"].as_array().unwrap().iter().find(|tensor| tensor["name"] == name).unwrap().clone()
    };
    let up = of("blk.0.ffn_up.weight");
    assert_eq!(
        (&up["dtype"], &up["instead_of"], &up["transposed"]),
        (&json!("Q5_0"), &json!("Q4_K"), &json!(true))
    );
    assert_eq!(of("token_embd.weight")["dtype"], "Q8_0");
    assert_eq!(
        (&of("position_embd.weight")["dtype"], &of("blk.1.attn_norm.bias")["loss"]),
        (&json!("F32"), &Value::Null)
    );
}

#[test]
fn wishes_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    wide(folder.path());
    let path = folder.path().join("out.gguf");
    let made = |args: &[&str]| document(folder.path(), &[&["f32.gguf", "out.gguf"], args].concat());
    made(&[
        "--type",
        "q4_0",
        "--token-embedding-type",
        "Q8_0",
        "--tensor-type",
        "ffn_down=q6_k,blk.*.attn_???.weight=f16",
    ]);
    let want =
        [("token_embd", "Q8_0"), ("blk.0.ffn_down", "Q6_K"), ("blk.0.attn_qkv", "F16"), ("blk.0.ffn_up", "Q4_0")];
    for (name, kind) in want {
        assert_eq!(kind_of(&path, &format!("{name}.weight")), kind, "{name}");
    }
    made(&["--type", "q4_k_m", "--output-type", "f16", "--pure"]);
    for (name, kind) in
        [("token_embd", "F16"), ("blk.0.ffn_down", "Q4_K"), ("blk.0.attn_qkv", "Q4_K"), ("position_embd", "F32")]
    {
        assert_eq!(kind_of(&path, &format!("{name}.weight")), kind, "{name}");
    }
    let unused = made(&["--type", "q8_0", "--tensor-type", "attn_norm=q4_0"]);
    let notes: Vec<&str> = unused["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    assert!(notes.len() == 1 && notes[0].contains("attn_norm"), "{notes:?}");
    let typo =
        quantize(folder.path(), &["f32.gguf", "typo.gguf", "--type", "q8_0", "--tensor-type", "ffn_dwon=q6_k"]);
    assert!(
        typo.code == 2 && typo.err.contains("ffn_dwon") && typo.err.contains("did you mean \"ffn_down\"?"),
        "{}",
        typo.err
    );
    assert!(!folder.path().join("typo.gguf").exists());
    let bad = quantize(folder.path(), &["f32.gguf", "bad.gguf", "--type", "q4_0", "--tensor-type", "ffn_up=q2_k"]);
    assert!(bad.code == 2 && bad.err.contains("iq4_nl") && !folder.path().join("bad.gguf").exists(), "{}", bad.err);
}

#[test]
fn blocks_are_quantised_again_only_where_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let from = data("tiny-gpt2-gguf/tinyC-q8_0.gguf");
    let from = from.to_str().unwrap();
    let refused = quantize(folder.path(), &[from, "out.gguf", "--type", "q4_k_m"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("token_embd.weight") && refused.err.contains("--allow-requantize"),
        "{}",
        refused.err
    );
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    document(folder.path(), &[from, "out.gguf", "--type", "q4_k_m", "--allow-requantize"]);
    assert_eq!(kind_of(&folder.path().join("out.gguf"), "blk.0.ffn_up.weight"), "Q4_K");
    // What is of that type already is copied.
    let same = document(folder.path(), &[from, "same.gguf", "--type", "q8_0"]);
    assert!(same["tensors"].as_array().unwrap().iter().all(|tensor| tensor["loss"].is_null()));
    assert_eq!(kinds(Path::new(from)), kinds(&folder.path().join("same.gguf")));
}

#[test]
fn a_model_that_is_no_gpt2_is_a_container() {
    let folder = tempfile::tempdir().unwrap();
    let header = r#"{"model.up_proj.weight":{"dtype":"F32","shape":[2,32],"data_offsets":[0,256]},"model.norm.weight":{"dtype":"F16","shape":[32],"data_offsets":[256,320]},"ids":{"dtype":"I32","shape":[2],"data_offsets":[320,328]}}"#;
    let bytes: Vec<u8> = (0..64_u16).flat_map(|at| (f32::from(at) / 7.0).to_le_bytes()).chain([0; 72]).collect();
    fs::write(folder.path().join("m.safetensors"), file(header, &bytes)).unwrap();
    let done = document(folder.path(), &["m.safetensors", "out/", "--type", "q4_1"]);
    assert!(done["notes"][0].as_str().unwrap().contains("architecture"));
    let want = [("ids", "I32"), ("model.norm.weight", "F16"), ("model.up_proj.weight", "Q4_1")];
    let found = kinds(&folder.path().join("out/model.gguf"));
    assert!(found.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).eq(want), "{found:?}");
    let wrong = quantize(folder.path(), &["m.safetensors", "out.safetensors", "--type", "q4_1"]);
    assert!(wrong.code == 2 && wrong.err.contains("GGUF"), "{}", wrong.err);
    let none = quantize(folder.path(), &["none.gguf", "out.gguf", "--type", "q4_1"]);
    assert_eq!(none.code, 2);
}

/// A GPT-2 of one layer in Hugging Face's names, with one value in one tensor.
fn with_value(folder: &Path, tensor: &str, element: usize, value: f32) {
    let model = Model::open(data("tiny-gpt2/tinyA-plain")).unwrap();
    let path = folder.join("model.safetensors");
    Conversion::to(Format::SafeTensors).plan(&model).unwrap().save(Target::File(&path), &Saver::default()).unwrap();
    let start = Model::open(&path).unwrap().tensor(tensor).unwrap().span().start();
    let mut bytes = fs::read(&path).unwrap();
    let at = usize::try_from(start).unwrap() + element * 4;
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    fs::copy(data("tiny-gpt2/tinyA-plain/config.json"), folder.join("config.json")).unwrap();
}

#[test]
fn a_value_that_is_no_number_is_named_to_the_element() {
    for (tensor, element, value, what) in [
        // Transposed: the element is that of the source.
        ("h.1.mlp.c_fc.weight", 31 * 128 + 5, f32::NAN, "no number (NaN)"),
        ("h.0.attn.c_attn.weight", 95, f32::INFINITY, "infinite"),
        ("h.0.mlp.c_proj.weight", 0, f32::NEG_INFINITY, "infinite"),
        ("wte.weight", 512 * 32 - 1, -f32::NAN, "no number (NaN)"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        with_value(folder.path(), tensor, element, value);
        let want = format!("element {element} of \"{tensor}\" is {what}");
        let refused = |args: &[&str]| {
            let run = run(folder.path(), args);
            assert_eq!(run.code, 1, "{args:?}: {}", run.out);
            assert!(run.err.contains(&want) && run.err.contains("--allow-non-finite"), "{args:?}: {}", run.err);
            assert!(!folder.path().join("out.gguf").exists());
        };
        refused(&["quantize", ".", "out.gguf", "--type", "q8_0"]);
        refused(&["quantize", ".", "out.gguf", "--type", "q4_k_m", "--jobs=1"]);
        refused(&["convert", ".", "out.gguf", "--dtype", "f16"]);
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        for args in
            [&["quantize", ".", "out.gguf", "--type", "q8_0"][..], &["convert", ".", "half.gguf", "--dtype", "f16"]]
        {
            let done = run(folder.path(), &[args, &["--allow-non-finite", "--json"]].concat());
            assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}");
            let done: Value = serde_json::from_str(&done.out).unwrap();
            let lost: Vec<&Value> =
                done["tensors"].as_array().unwrap().iter().filter(|one| one["loss"]["not_finite"] == 1).collect();
            assert!(lost.len() == 1 && lost[0]["source"] == tensor, "{lost:?}");
        }
    }
}

/// A GGUF file of one F32 matrix of 3 × 64 and, behind it, one of half precision, with one value each.
fn halves(at: usize, half: u16) -> Vec<u8> {
    let mut writer = Writer::new(2, 1);
    writer.key("general.architecture", ValueType::String).text(b"gpt2");
    writer.tensor("blk.0.ffn_up.weight", &[64, 3], 0, 0).tensor("blk.0.ffn_down.weight", &[64, 2], 1, 768);
    let start = writer.0.len().next_multiple_of(32);
    writer.data(768 + 256);
    writer.0[start + 768 + 2 * at..][..2].copy_from_slice(&half.to_le_bytes());
    writer.0
}

#[test]
fn in_gguf_too() {
    let folder = tempfile::tempdir().unwrap();
    for (at, half, what) in [(0, 0x7C00, "infinite"), (127, 0x7E01, "no number (NaN)"), (64, 0xFC00, "infinite")] {
        fs::write(folder.path().join("in.gguf"), halves(at, half)).unwrap();
        let want = format!("element {at} of \"blk.0.ffn_down.weight\" is {what}");
        for args in [
            &["quantize", "in.gguf", "out.gguf", "--type", "q5_1"][..],
            &["convert", "in.gguf", "out.gguf", "--dtype", "f32"],
            &["convert", "in.gguf", "out.safetensors", "--dtype", "bf16"],
            // Where its type stays too.
            &["quantize", "in.gguf", "out.gguf", "--type", "f16"],
            &["convert", "in.gguf", "out.safetensors"],
        ] {
            let refused = run(folder.path(), args);
            assert!(refused.code == 1 && refused.err.contains(&want), "{args:?}: {}", refused.err);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // Copied as it is where that is allowed.
        let args = ["in.gguf", "copy.gguf", "--type", "f16", "-q", "--allow-non-finite"];
        let copied = quantize(folder.path(), &args);
        assert_eq!((copied.code, copied.err.as_str()), (0, ""));
        assert_eq!(kind_of(&folder.path().join("copy.gguf"), "blk.0.ffn_up.weight"), "F16");
        fs::remove_file(folder.path().join("copy.gguf")).unwrap();
    }
}

#[test]
fn the_file_that_is_read_may_be_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data("tiny-gpt2-gguf/tinyA-f32.gguf"), folder.path().join("in.gguf")).unwrap();
    document(folder.path(), &["in.gguf", "out.gguf", "--type", "iq4_nl"]);
    document(folder.path(), &["in.gguf", "in.gguf", "--type", "iq4_nl"]);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("out.gguf") == read("in.gguf"));
    assert_eq!(kind_of(&folder.path().join("out.gguf"), "blk.0.attn_qkv.weight"), GgmlType::IQ4_NL.to_string());
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.gguf");
    // A gigabyte of zeros, which takes no room.
    let mut writer = Writer::new(1, 1);
    writer.key("general.architecture", ValueType::String).text(b"gpt2");
    writer.tensor("blk.0.ffn_up.weight", &[256, 1 << 20], 0, 0).data(0);
    fs::write(&path, &writer.0).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(writer.0.len() as u64 + (1 << 30)).unwrap();
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        if signal == "-HUP" && (cfg!(not(target_os = "linux")) || crate::hangups_are_ignored()) {
            continue;
        }
        let mut child = crate::tensorgate()
            .current_dir(folder.path())
            .args(["quantize", "in.gguf", "out.gguf", "--type", "q4_k_m"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while fs::read_dir(folder.path()).unwrap().count() < 2 {
            assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code));
        assert!(String::from_utf8_lossy(&ended.stderr).contains("nothing was changed"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
