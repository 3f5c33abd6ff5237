//! The Python package `gguf` reads what we write, and we read what it writes, in both byte orders. Skipped, with a line
//! that says so, where Python or the package is missing.

#![cfg(feature = "alloc")]

#[path = "common/python.rs"]
mod python;

use std::path::{Path, PathBuf};

use python::{available, hex, run};
use serde_json::{Value as Json, json};
use tensorgate::Gguf;
use tensorgate::gguf::{Endian, GgmlType, PairSpec, TensorSpec, Value, ValueType, WriteOptions, serialize};

/// A value as the scripts have it: floats are their bits.
fn plain(value: Value<'_>) -> Json {
    match value {
        Value::U8(value) => json!(value),
        Value::I8(value) => json!(value),
        Value::U16(value) => json!(value),
        Value::I16(value) => json!(value),
        Value::U32(value) => json!(value),
        Value::I32(value) => json!(value),
        Value::F32(value) => json!(value.to_bits()),
        Value::Bool(value) => json!(value),
        Value::String(text) => json!(text.as_str().unwrap()),
        Value::Array(array) => Json::Array(array.iter().map(plain).collect()),
        Value::U64(value) => json!(value),
        Value::I64(value) => json!(value),
        Value::F64(value) => json!(value.to_bits()),
    }
}

fn pair(key: &str, kind: ValueType, element: Option<ValueType>, value: &Json) -> Json {
    json!({"key": key, "type": kind.id(), "element": element.map(ValueType::id), "value": value})
}

/// Every type of value, alone and in arrays, with what the scripts shall show of it.
fn values() -> Vec<(PairSpec<'static>, Json)> {
    let mut all = Vec::new();
    macro_rules! add {
        ($kind:ident, $name:literal, $values:expr, $shown:expr) => {{
            let shown = $values.map($shown);
            let kind = ValueType::$kind;
            let one = concat!("one.", $name);
            all.push((PairSpec::new(one, $values[0]), pair(one, kind, None, &json!(shown[0]))));
            let many = concat!("many-", $name);
            let arrays = json!(shown);
            all.push((PairSpec::new(many, const { &$values }), pair(many, ValueType::Array, Some(kind), &arrays)));
            let none = concat!("none ", $name);
            let empty = PairSpec::new(none, const { $values.split_at(0).0 });
            all.push((empty, pair(none, ValueType::Array, Some(kind), &json!([]))));
        }};
    }
    add!(U8, "u8", [255_u8, 0], |n| n);
    add!(I8, "i8", [i8::MIN, i8::MAX], |n| n);
    add!(U16, "u16", [u16::MAX, 1], |n| n);
    add!(I16, "i16", [i16::MIN, i16::MAX], |n| n);
    add!(U32, "u32", [u32::MAX, 1], |n| n);
    add!(I32, "i32", [i32::MIN, i32::MAX], |n| n);
    add!(F32, "f32", [-0.0_f32, f32::INFINITY, 1.5], f32::to_bits);
    add!(Bool, "bool", [true, false, true], |n| n);
    add!(String, "text", ["é日😀\0\n", "", "plain"], |n| n);
    add!(U64, "u64", [u64::MAX, 1], |n| n);
    add!(I64, "i64", [i64::MIN, i64::MAX], |n| n);
    add!(F64, "f64", [f64::MIN_POSITIVE, -1e308], f64::to_bits);
    all
}

/// What becomes of a tensor's little-endian bytes in a file.
fn in_order(kind: GgmlType, endian: Endian, bytes: &[u8]) -> Vec<u8> {
    match kind.dtype() {
        // Python shows this one as bytes.
        Some(dtype) if endian == Endian::Big && kind != GgmlType::BF16 => {
            let size = usize::try_from(dtype.bits() / 8).unwrap();
            bytes.chunks(size).flat_map(|one| one.iter().rev().copied()).collect()
        }
        _ => bytes.to_vec(),
    }
}

/// Writes a file, and says what is meant to be in it.
fn write(
    path: &Path,
    options: &WriteOptions,
    values: &[(PairSpec<'_>, Json)],
    tensors: &[(&str, GgmlType, &[u64])],
) -> Json {
    let specs: Vec<_> = tensors.iter().map(|(name, kind, shape)| TensorSpec::new(*name, *kind, shape)).collect();
    let meant: Vec<Vec<u8>> = specs
        .iter()
        .map(|spec| (0..spec.byte_len().unwrap()).map(|i| u8::try_from((i * 37 + 11) % 251).unwrap()).collect())
        .collect();
    let data: Vec<_> =
        specs.iter().zip(&meant).map(|(spec, bytes)| in_order(spec.kind(), options.endian(), bytes)).collect();
    let with_bytes = specs.iter().zip(&data).map(|(spec, bytes)| spec.with_bytes(bytes));
    let file = serialize(values.iter().map(|(pair, _)| pair), with_bytes, options).unwrap();
    std::fs::write(path, file).unwrap();
    let alignment = options.alignment().unwrap_or(32);
    let mut pairs: Vec<_> = values.iter().map(|(_, shown)| shown.clone()).collect();
    if alignment != 32 {
        pairs.push(pair("general.alignment", ValueType::U32, None, &json!(alignment)));
    }
    let tensors = tensors.iter().zip(&meant).map(
        |((name, kind, shape), bytes)| json!({"name": name, "type": kind.id(), "shape": shape, "hex": hex(bytes)}),
    );
    json!({
        "path": path, "big": options.endian() == Endian::Big, "alignment": alignment, "pairs": pairs,
        "tensors": tensors.collect::<Vec<_>>(),
    })
}

/// Files of every value type, tensor type and several alignments, in both byte orders, with what is meant.
fn write_all(folder: &Path) -> Vec<Json> {
    let values = values();
    // The package has 40 bytes for a block of Q8_1 (gguf 0.19.0, `constants.py`); the reference has 36.
    let kinds = GgmlType::ALL.iter().filter(|kind| **kind != GgmlType::Q8_1);
    let shapes: Vec<(GgmlType, [u64; 2])> =
        kinds.map(|kind| (*kind, [3, 2 * u64::from(kind.block_elements().unwrap())])).collect();
    let mut expected = Vec::new();
    for endian in [Endian::Little, Endian::Big] {
        let options = WriteOptions::default().with_endian(endian);
        let mut file = |name: &str, options: &WriteOptions, values: &[_], tensors: &[_]| {
            expected.push(write(&folder.join(format!("{name}-{endian:?}.gguf")), options, values, tensors));
        };
        file("nothing", &options, &[], &[]);
        file("values", &options, &values, &[]);
        for (kind, shape) in &shapes {
            file(&kind.to_string(), &options, &values[..2], &[("w", *kind, shape)]);
        }
        let several: Vec<_> =
            shapes.iter().map(|(kind, shape)| (kind.name().unwrap(), *kind, &shape[..])).collect();
        for shift in 0..9 {
            let options = options.with_alignment(1 << shift);
            file(&format!("aligned-{}", 1 << shift), &options, &values, &several[..15]);
        }
        let odd: [(&str, GgmlType, &[u64]); 6] = [
            ("scalar", GgmlType::F32, &[]),
            ("empty", GgmlType::F16, &[0]),
            ("é 日", GgmlType::Q8_0, &[0, 32]),
            ("four", GgmlType::I16, &[2, 1, 3, 1]),
            ("none", GgmlType::Q4_K, &[2, 0]),
            ("last", GgmlType::I8, &[1]),
        ];
        file("odd", &options, &values, &odd);
    }
    expected
}

#[test]
fn python_reads_what_we_write() {
    if !available("gguf_packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let expected = write_all(folder.path());
    let path = folder.path().join("expected.json");
    std::fs::write(&path, serde_json::to_vec(&expected).unwrap()).unwrap();
    run("gguf_read.py", &path);
}

#[test]
fn we_read_what_python_writes() {
    if !available("gguf_packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run("gguf_write.py", folder.path());
    let text = std::fs::read_to_string(folder.path().join("expected.json")).unwrap();
    let expected: Vec<Json> = serde_json::from_str(&text).unwrap();
    assert!(!expected.is_empty());
    for case in &expected {
        let path = PathBuf::from(case["path"].as_str().unwrap());
        let label = path.file_stem().unwrap().to_str().unwrap();
        let file = std::fs::read(&path).unwrap();
        let read = Gguf::open(&file).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(json!(read.endian() == Endian::Big), case["big"], "{label}");
        assert_eq!(json!(read.alignment()), case["alignment"], "{label}");
        let pairs: Vec<_> = read
            .pairs()
            .map(|shown| {
                let element = shown.value().array().ok().map(|array| array.kind());
                pair(shown.key(), shown.value().kind(), element, &plain(shown.value()))
            })
            .collect();
        assert_eq!(Json::Array(pairs), case["pairs"], "{label}");
        let tensors: Vec<_> = read
            .tensors()
            .map(|t| {
                let shape = t.shape().to_vec();
                json!({"name": t.name().as_str(), "type": t.kind().id(), "shape": shape, "hex": hex(t.bytes())})
            })
            .collect();
        assert_eq!(Json::Array(tensors), case["tensors"], "{label}");
        // Python's writer lays files out as ours does.
        let options = WriteOptions::default().with_endian(read.endian());
        assert_eq!(serialize(read.pairs(), read.tensors(), &options).unwrap(), file, "{label}");
    }
    println!("{} files of Python's read", expected.len());
}
