//! Files that other programs wrote, where they are there: a whole model shows what the core's readers show.

use super::*;
use std::path::PathBuf;
use tensorgate::{Gguf, SafeTensors};

use super::python;

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

#[test]
fn real_files_tensor_by_tensor() {
    let mut paths = Vec::new();
    for folder in ["real/safetensors", "real/gguf", "tiny-gpt2-gguf"] {
        if let Some(folder) = common::shared(folder) {
            files(&folder, &mut paths);
        }
    }
    let (mut opened, mut refused) = (0, 0);
    for path in &paths {
        let bytes = std::fs::read(path).unwrap();
        let name = path.display();
        let model = Model::open(path);
        let extension = path.extension().and_then(|extension| extension.to_str());
        let tensors: Result<Vec<_>, _> = match extension {
            Some("safetensors") => SafeTensors::open(&bytes).map(|file| {
                file.tensors().map(|t| (t.name().to_string(), t.shape().to_vec(), t.bytes())).collect()
            }),
            Some("gguf") => Gguf::open(&bytes).map(|file| {
                file.tensors().map(|t| (t.name().to_string(), t.shape().to_vec(), t.bytes())).collect()
            }),
            _ => continue,
        };
        match (model, tensors) {
            (Ok(model), Ok(tensors)) => {
                opened += 1;
                assert_eq!(model.len(), tensors.len(), "{name}");
                for (tensor, shape, bytes) in tensors {
                    let shown = model.tensor(&tensor).unwrap();
                    assert!(shown.shape() == shape && shown.bytes() == bytes, "{name}: {tensor}");
                }
            }
            (Err(model), Err(core)) => {
                refused += 1;
                assert_eq!(model.code(), core.code(), "{name}");
            }
            // One file of a split is sound alone, and no model.
            (Err(model), Ok(_)) => assert!(model.code().starts_with("GG-SPLIT"), "{name}: {model}"),
            (Ok(_), Err(core)) => panic!("{name}: {core}"),
        }
    }
    println!("{opened} files opened, {refused} refused");
    assert!(paths.is_empty() || opened > 50);
}

/// A split model and a sharded one that Python writes.
#[test]
fn python_writes_and_we_read() {
    const SCRIPT: &str = "model_write.py";
    if !python::available(SCRIPT) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    python::run(SCRIPT, folder.path());
    let text = std::fs::read_to_string(folder.path().join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (name, files, key, value) in [("split", 3, "general.name", "of Python"), ("sharded", 3, "format", "np")] {
        let model = Model::open(folder.path().join(name)).unwrap();
        assert_eq!(model.files().len(), files, "{name}");
        assert_eq!(model.metadata().get(key).unwrap().as_str(), Some(value));
        assert!(model.warnings().is_empty());
        let found = model.tensors().map(|tensor| {
            serde_json::json!({
                "name": tensor.name(),
                "type": tensor.element().to_string(),
                "shape": tensor.shape(),
                "hex": python::hex(tensor.bytes()),
            })
        });
        assert_eq!(expected[name], serde_json::Value::Array(found.collect()), "{name}");
    }
}
