//! Other programs read what is converted here. Skipped, with a line that says so, where they are missing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tensorgate::model::{ElementType, Model};

use crate::python::{available, hex, run as python};
use crate::run;

fn here(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name).to_str().unwrap().to_owned()
}

fn ok(folder: &Path, args: &[&str]) {
    let run = run(folder, &[&["convert"], args].concat());
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
}

fn ask(folder: &Path, script: &str, case: &Value) {
    let path = folder.join("case.json");
    fs::write(&path, serde_json::to_vec(case).unwrap()).unwrap();
    python(script, &path);
}

fn shown(model: &Model) -> Vec<Value> {
    let one = |tensor: tensorgate::model::Tensor| {
        let bytes = hex(tensor.bytes());
        match tensor.element() {
            ElementType::Ggml(kind) => {
                json!({"name": tensor.name(), "type": kind.id(), "shape": tensor.shape(), "hex": bytes})
            }
            element @ ElementType::Dtype(_) => {
                json!({"name": tensor.name(), "dtype": element.to_string(), "shape": tensor.shape(), "hex": bytes})
            }
        }
    };
    model.in_file_order().map(one).collect()
}

#[test]
fn llama_cpp_runs_a_converted_model() {
    if !available("llama.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (model, reference) = (here("models/austen"), here("tests/data/austen/reference.json"));
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    ok(folder.path(), &[&model, "a.gguf"]);
    // Also what came back from GGUF, and what was split, merged, cast and changed.
    ok(folder.path(), &["a.gguf", "back/"]);
    ok(folder.path(), &["back", "b.gguf", "--dtype=f32", "--align=64"]);
    ok(folder.path(), &["b.gguf", "s.gguf", "--max-shard-size=1MB"]);
    let edit = ["metadata", "set", "b.gguf", "general.name=Changed, and longer than any name before", "-q"];
    assert_eq!(run(folder.path(), &edit).code, 0);
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name == "a.gguf" || name == "b.gguf" || name.starts_with("s-00001-"));
    assert_eq!(names.len(), 3);
    for name in names {
        ask(folder.path(), "llama.py", &json!({"model": at(&name), "reference": reference, "tolerance": 0.02}));
    }
}

#[test]
fn transformers_opens_a_model_that_came_back_from_gguf() {
    if !available("transformers_read.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let reference: Value =
        serde_json::from_slice(&fs::read(here("tests/data/austen/reference.json")).unwrap()).unwrap();
    let case = &reference["cases"][0];
    let model = here("models/austen");
    ok(folder.path(), &[&model, "a.gguf"]);
    ok(folder.path(), &["a.gguf", "back/"]);
    ok(folder.path(), &["back", "sharded", "--max-shard-size=1MB"]);
    fs::copy(folder.path().join("back/config.json"), folder.path().join("sharded/config.json")).unwrap();
    for after in ["back", "sharded"] {
        ask(
            folder.path(),
            "transformers_read.py",
            &json!({"before": model, "after": at(after), "ids": case["ids"], "logits": case["last_logits"]}),
        );
    }
}

#[test]
fn safetensors_reads_converted_models() {
    if !available("packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = here("tests/data/tiny-gpt2-gguf/tinyA-f32.gguf");
    ok(folder.path(), &[&source, "one.safetensors", "--names=keep"]);
    ok(folder.path(), &["one.safetensors", "many", "--max-shard-size=40kB"]);
    let one = Model::open(at("one.safetensors")).unwrap();
    let texts: serde_json::Map<String, Value> = one
        .metadata()
        .iter()
        .map(|(key, value)| (key.to_cow().into_owned(), value.as_str().unwrap().into()))
        .collect();
    assert!(texts.len() > 5);
    // As they are in the source, which is another program's.
    let meant: Vec<Value> = Model::open(&source)
        .unwrap()
        .in_file_order()
        .map(|t| json!({"name": t.name(), "dtype": "F32", "shape": t.shape(), "hex": hex(t.bytes())}))
        .collect();
    ask(folder.path(), "read.py", &json!([{"path": at("one.safetensors"), "metadata": texts, "tensors": meant}]));
    let case = json!([{"folder": at("many"), "most": 40_000, "metadata": texts, "tensors": shown(&one)}]);
    ask(folder.path(), "sharded_read.py", &case);
}

#[test]
fn gguf_py_reads_converted_models() {
    if !available("gguf_packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = here("tests/data/tiny-gpt2/tinyB-plain/model.safetensors");
    let model = Model::open(PathBuf::from(&source)).unwrap();
    let tensors: Vec<Value> = model
        .in_file_order()
        .map(|t| json!({"name": t.name(), "type": 0, "shape": t.shape(), "hex": hex(t.bytes())}))
        .collect();
    let text = |value: &str| json!({"key": "format", "type": 8, "element": null, "value": value});
    let mut cases = Vec::new();
    for (name, option, big, alignment) in [
        ("a.gguf", "--align=32", false, 32),
        ("b.gguf", "--byte-order=big", true, 32),
        ("c.gguf", "--align=128", false, 128),
    ] {
        ok(folder.path(), &[&source, name, "--names=keep", option]);
        let mut pairs = vec![text("pt")];
        if alignment != 32 {
            pairs.push(json!({"key": "general.alignment", "type": 4, "element": null, "value": alignment}));
        }
        cases.push(
            json!({"path": path(name), "big": big, "alignment": alignment, "pairs": pairs, "tensors": tensors}),
        );
    }
    ask(folder.path(), "gguf_read.py", &Value::Array(cases));
}
