//! Python reads what is saved here, in one file, in shards, with metadata that was changed; and shards that Python wrote are
//! read, saved over and read again. Skipped, with a line that says so, where Python or its packages are missing.

#![cfg(feature = "std")]

#[path = "common/python.rs"]
mod python;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use python::{available, hex, run};
use serde_json::{Value, json};
use tensorgate::file::metadata::{Edit, edit_gguf, edit_safetensors};
use tensorgate::file::{Saver, save_gguf, save_safetensors};
use tensorgate::gguf::{self, GgmlType, WriteOptions};
use tensorgate::model::checkpoint::Checkpoint;
use tensorgate::safetensors::TensorSpec;
use tensorgate::{Dtype, SafeTensors, ShardIndex};

fn ask(folder: &Path, script: &str, expected: &Value) {
    let path = folder.join("expected.json");
    fs::write(&path, serde_json::to_vec(expected).unwrap()).unwrap();
    run(script, &path);
}

#[test]
fn python_reads_files_that_were_saved_and_changed() {
    if !available("packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (w, b) = ([1.5_f32, -2.0], [3_i64]);
    let bytes = w.map(f32::to_le_bytes);
    let spec = TensorSpec::new("w", Dtype::F32, &[2]).with_bytes(bytes.as_flattened());
    save_safetensors(path("saved"), [spec], Some([("format", "pt")])).unwrap();
    save_safetensors(path("changed"), [spec], Some([("format", "pt"), ("old", "")])).unwrap();
    let long = "é\"\\\n".repeat(50);
    edit_safetensors(path("changed"), &[Edit::Set("note", &long), Edit::Remove("old")]).unwrap();
    Checkpoint::new()
        .model("w", &[2], &w)
        .optimizer("step", &[1], &b)
        .metadata("lr", 0.5)
        .save(path("checkpoint"))
        .unwrap();
    let tensor = |name: &str, dtype: &str, shape: Value, bytes: &[u8]| json!({"name": name, "dtype": dtype, "shape": shape, "hex": hex(bytes)});
    let file = |name: &str, metadata: Value, tensors: Value| json!({"path": path(name).to_str().unwrap(), "metadata": metadata, "tensors": tensors});
    let w = |name: &str| tensor(name, "F32", json!([2]), bytes.as_flattened());
    let expected = json!([
        file("saved", json!({"format": "pt"}), json!([w("w")])),
        file("changed", json!({"format": "pt", "note": long}), json!([w("w")])),
        file(
            "checkpoint",
            json!({"lr": "0.5"}),
            json!([w("model.w"), tensor("optim.step", "I64", json!([1]), &b[0].to_le_bytes())])
        ),
    ]);
    ask(folder.path(), "read.py", &expected);
}

#[test]
fn python_reads_gguf_that_was_saved_and_changed() {
    if !available("gguf_packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gguf");
    let bytes = [7_u8; 68];
    let w = gguf::TensorSpec::new("w", GgmlType::Q8_0, &[2, 32]).with_bytes(&bytes);
    save_gguf(&path, [("general.architecture", "gpt2"), ("gone", "x")], [w], &WriteOptions::default()).unwrap();
    let edits: [Edit<'_, gguf::WriteValue<'_>>; 3] =
        [Edit::Remove("gone"), Edit::Set("n", 7_u32.into()), Edit::Set("general.name", "é".into())];
    edit_gguf(&path, &edits).unwrap();
    let pair =
        |key: &str, kind: u32, value: Value| json!({"key": key, "type": kind, "element": null, "value": value});
    let expected = json!([{
        "path": path.to_str().unwrap(), "big": false, "alignment": 32,
        "pairs": [pair("general.architecture", 8, json!("gpt2")), pair("n", 4, json!(7)), pair("general.name", 8, json!("é"))],
        "tensors": [{"name": "w", "type": 8, "shape": [2, 32], "hex": hex(&bytes)}],
    }]);
    ask(folder.path(), "gguf_read.py", &expected);
}

/// Names, shapes and bytes, each tensor's own.
fn model(count: u64, longest: u64) -> Vec<(String, [u64; 2], Vec<u8>)> {
    let one = |at: u64| {
        let shape = [1 + at * 7 % longest, 2];
        let bytes = (0..shape[0] * 8).map(|byte| u8::try_from((byte * 31 + at) % 251).unwrap()).collect();
        (format!("model.layers.{at}.wéight"), shape, bytes)
    };
    (0..count).map(one).collect()
}

#[test]
fn python_reads_shards() {
    if !available("packages.py") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    // Saved twice, so that the second has names of a later generation.
    for (at, (most, times)) in [(100, 1), (200, 1), (200, 2), (33, 1), (1, 3)].into_iter().enumerate() {
        let folder = root.path().join(at.to_string());
        fs::create_dir(&folder).unwrap();
        let model = model(40, 11);
        for _ in 0..times {
            let tensors =
                model.iter().map(|(name, shape, bytes)| TensorSpec::new(name, Dtype::F32, shape).with_bytes(bytes));
            Saver::new().sharded(&folder, most, tensors, Some([("format", "pt")])).unwrap();
        }
        let tensors: Vec<Value> = model
            .iter()
            .map(|(name, shape, bytes)| json!({"name": name, "dtype": "F32", "shape": shape, "hex": hex(bytes)}))
            .collect();
        expected.push(json!({
            "folder": folder.to_str().unwrap(), "most": most, "metadata": {"format": "pt"}, "tensors": tensors
        }));
    }
    ask(root.path(), "sharded_read.py", &Value::Array(expected));
}

/// What a folder holds by its index: each tensor as the scripts have it.
fn read(folder: &Path) -> BTreeMap<String, Value> {
    let text = fs::read(folder.join("model.safetensors.index.json")).unwrap();
    let index = ShardIndex::open(&text).unwrap();
    let (mut all, mut total) = (BTreeMap::new(), 0);
    for shard in index.shards() {
        let name = shard.name().as_str().unwrap();
        let bytes = fs::read(folder.join(name)).unwrap();
        let file = SafeTensors::open(&bytes).unwrap();
        assert_eq!(index.check_shard(name, file.header()).count(), 0);
        total += file.header().data().len();
        for tensor in file.tensors() {
            let name = tensor.name().to_cow().into_owned();
            let shown = json!({"name": name, "dtype": tensor.dtype().tag(), "shape": tensor.shape().to_vec(), "hex": hex(tensor.bytes())});
            all.insert(name, shown);
        }
    }
    assert!(index.check_total(total).is_none());
    all
}

#[test]
fn shards_of_python_are_read_and_saved_over() {
    if !available("packages.py") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    run("sharded_write.py", root.path());
    let text = fs::read_to_string(root.path().join("expected.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(expected.len(), 3);
    for case in &expected {
        let folder = Path::new(case["folder"].as_str().unwrap());
        let tensors = case["tensors"].as_array().unwrap();
        let meant: BTreeMap<String, Value> =
            tensors.iter().map(|tensor| (tensor["name"].as_str().unwrap().to_owned(), tensor.clone())).collect();
        assert_eq!(read(folder), meant);
        // Saved over itself from its own shards, still open.
        let text = fs::read(folder.join("model.safetensors.index.json")).unwrap();
        let index = ShardIndex::open(&text).unwrap();
        let names = index.shards().map(|shard| folder.join(shard.name().as_str().unwrap()));
        let shards: Vec<Vec<u8>> = names.map(|name| fs::read(name).unwrap()).collect();
        let opened: Vec<SafeTensors<'_>> = shards.iter().map(|bytes| SafeTensors::open(bytes).unwrap()).collect();
        let views = opened.iter().flat_map(SafeTensors::tensors);
        let saved = Saver::new().sharded(folder, 20, views, opened[0].metadata()).unwrap();
        assert!(saved.index().is_some() && saved.left().is_empty());
        assert_eq!(read(folder), meant);
    }
    println!("{} sharded models of Python's read and saved over", expected.len());
}
