//! The Python package `safetensors` reads what we write, and we read what it writes. Skipped, with a line that says so,
//! where Python or its packages are missing.

#![cfg(feature = "alloc")]

#[path = "common/python.rs"]
mod python;

use std::path::{Path, PathBuf};

use python::{available, hex, run};
use serde_json::{Value, json};
use tensorgate::safetensors::{TensorSpec, serialize};
use tensorgate::{Dtype, SafeTensors};

/// A tensor to be written: name, dtype, shape.
type Meant<'a> = (&'a str, Dtype, &'a [u64]);

/// Values that are right for any dtype: booleans stay 0 or 1.
fn values(dtype: Dtype, len: u64) -> Vec<u8> {
    let byte = |i: u64| u8::try_from(i.wrapping_mul(37).wrapping_add(11) % 251).unwrap();
    (0..len).map(|i| if dtype == Dtype::BOOL { byte(i) & 1 } else { byte(i) }).collect()
}

/// Writes a file and says what is meant to be in it.
fn write(folder: &Path, file: &str, tensors: &[Meant<'_>], metadata: Option<&[(&str, &str)]>) -> Value {
    let path = folder.join(file);
    let specs: Vec<_> = tensors.iter().map(|(name, dtype, shape)| TensorSpec::new(*name, *dtype, shape)).collect();
    let bytes: Vec<_> = specs.iter().map(|spec| values(spec.dtype(), spec.byte_len().unwrap())).collect();
    let data = specs.iter().zip(&bytes).map(|(spec, bytes)| spec.with_bytes(bytes));
    let written = serialize(data, metadata.map(|pairs| pairs.iter().copied())).unwrap();
    std::fs::write(&path, written).unwrap();
    let tensors = tensors.iter().zip(&bytes).map(|((name, dtype, shape), bytes)| {
        json!({"name": name, "dtype": dtype.tag(), "shape": shape, "hex": hex(bytes)})
    });
    let metadata =
        metadata.map(|pairs| Value::Object(pairs.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect()));
    json!({"path": path.to_str().unwrap(), "metadata": metadata, "tensors": tensors.collect::<Vec<_>>()})
}

/// The dtypes that numpy has.
const NUMPY: [Dtype; 13] = [
    Dtype::BOOL,
    Dtype::U8,
    Dtype::I8,
    Dtype::I16,
    Dtype::U16,
    Dtype::F16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::C64,
    Dtype::F64,
    Dtype::I64,
    Dtype::U64,
];

#[test]
fn python_reads_what_we_write() {
    if !available("packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    let mut file = |name: &str, tensors: &[Meant<'_>], metadata: Option<&[(&str, &str)]>| {
        expected.push(write(folder.path(), name, tensors, metadata));
    };
    for dtype in Dtype::ALL {
        file(&format!("{dtype}.safetensors"), &[("w", *dtype, &[2, 4])], None);
    }
    let every: Vec<Meant<'_>> = Dtype::ALL.iter().map(|dtype| (dtype.tag(), *dtype, &[3, 4][..])).collect();
    file("every", &every, Some(&[("format", "pt")]));
    let mixed: Vec<Meant<'_>> = NUMPY.iter().map(|dtype| (dtype.tag(), *dtype, &[5][..])).collect();
    file("mixed", &mixed, Some(&[("format", "np")]));
    let scalars: Vec<Meant<'_>> = NUMPY.iter().map(|dtype| (dtype.tag(), *dtype, &[][..])).collect();
    file("scalars", &scalars, None);
    file("zero-size", &[("a", Dtype::F32, &[0]), ("b", Dtype::F32, &[1]), ("c", Dtype::I8, &[2, 0, 3])], None);
    file("rank", &[("w", Dtype::U8, &[1; 32])], None);
    let names = ["", "\"", "\\", "\n\u{0}\u{1f}\u{7f}", "é日本😀\u{2028}", "a/b", "\u{ffff}", "\u{10000}"];
    let spelt: Vec<Meant<'_>> = names.iter().map(|name| (*name, Dtype::I16, &[2][..])).collect();
    let pairs = [("z", "last"), ("", "é\u{1}\"\\"), ("a", ""), ("日本\n", "😀")];
    file("names", &spelt, Some(&pairs));
    file("empty-metadata", &[("w", Dtype::F32, &[1])], Some(&[]));
    file("no-tensors", &[], Some(&[("a", "b")]));
    file("no-tensors-empty-metadata", &[], Some(&[]));
    file("nothing", &[], None);
    let path = folder.path().join("expected.json");
    std::fs::write(&path, serde_json::to_vec(&expected).unwrap()).unwrap();
    run("read.py", &path);
}

#[test]
fn we_read_what_python_writes() {
    if !available("packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run("write.py", folder.path());
    let text = std::fs::read_to_string(folder.path().join("expected.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(!expected.is_empty());
    for case in &expected {
        let path = PathBuf::from(case["path"].as_str().unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let label = path.file_stem().unwrap().to_str().unwrap();
        let opened = SafeTensors::open(&bytes).unwrap_or_else(|error| panic!("{label}: {error}"));
        let tensors = case["tensors"].as_array().unwrap();
        assert_eq!(opened.len(), tensors.len(), "{label}");
        for meant in tensors {
            let name = meant["name"].as_str().unwrap();
            let view = opened.tensor(name).unwrap_or_else(|error| panic!("{label}: {name:?}: {error}"));
            assert_eq!(view.dtype().tag(), meant["dtype"], "{label}: {name:?}");
            assert_eq!(json!(view.shape().to_vec()), meant["shape"], "{label}: {name:?}");
            assert_eq!(hex(view.bytes()), meant["hex"], "{label}: {name:?}");
        }
        let metadata = opened.metadata().map(|pairs| {
            Value::Object(pairs.iter().map(|(k, v)| (k.to_cow().into_owned(), json!(v.to_cow()))).collect())
        });
        assert_eq!(json!(metadata), case["metadata"], "{label}");
        // Python's writer is the reference's: with at most one key, whose order is no matter, we write its very bytes.
        if case["metadata"].as_object().is_none_or(|pairs| pairs.len() < 2) {
            assert_eq!(serialize(opened.tensors(), opened.metadata()).unwrap(), bytes, "{label}");
        }
    }
    println!("{} files of Python's read", expected.len());
}
