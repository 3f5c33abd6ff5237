//! Whole models: each way of keeping one is opened and shows the same tensors.

#![cfg(feature = "std")]

#[path = "../common/mod.rs"]
mod common;
mod folders;
#[path = "../common/python.rs"]
mod python;
mod real;
mod refusals;
mod streams;

use std::path::Path;

use common::gguf::Writer;
use tensorgate::file::Hold;
use tensorgate::gguf::{Endian, GgmlType, ValueType};
use tensorgate::model::{ElementType, Format, MetadataValue, Model, ModelError, Options, Tensor};
use tensorgate::{CastError, Dtype, Limits};

/// A header of `U8` tensors of one dimension that tile the data, each with its metadata.
pub(crate) fn safetensors(metadata: &str, tensors: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    if !metadata.is_empty() {
        entries.push(format!(r#""__metadata__":{metadata}"#));
    }
    for (name, bytes) in tensors {
        let (begin, len) = (data.len(), bytes.len());
        let end = begin + len;
        entries.push(format!(r#""{name}":{{"dtype":"U8","shape":[{len}],"data_offsets":[{begin},{end}]}}"#));
        data.extend_from_slice(bytes);
    }
    common::file(&format!("{{{}}}", entries.join(",")), &data)
}

/// A shard of a split model with `I8` tensors of 32 bytes each, all of one value.
pub(crate) fn shard(number: u16, count: u16, total: i32, tensors: &[(&str, u8)]) -> Vec<u8> {
    let mut writer = Writer::new(tensors.len() as u64, 4);
    writer.key("split.no", ValueType::U16).raw(&number.to_le_bytes());
    writer.key("split.count", ValueType::U16).raw(&count.to_le_bytes());
    writer.key("split.tensors.count", ValueType::I32).raw(&total.to_le_bytes());
    writer.key("general.name", ValueType::String).text(format!("part {number}").as_bytes());
    for (at, (name, _)) in (0..).zip(tensors) {
        writer.tensor(name, &[32], GgmlType::I8.id(), at * 32);
    }
    writer.data(0);
    for (_, value) in tensors {
        writer.raw(&[*value; 32]);
    }
    writer.0
}

pub(crate) fn write(folder: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Two shards and their index, whose names are in no order.
pub(crate) fn sharded(folder: &Path) -> std::path::PathBuf {
    write(folder, "two.safetensors", &safetensors(r#"{"by":"two","format":"pt"}"#, &[("c", b"ccc"), ("a", b"a")]));
    write(folder, "one.safetensors", &safetensors(r#"{"by":"one"}"#, &[("b", b"bb")]));
    let index = r#"{"metadata":{"total_size":6,"by":"index","made":[1, 2]},
        "weight_map":{"c":"two.safetensors","b":"one.safetensors","a":"two.safetensors"}}"#;
    write(folder, "model.safetensors.index.json", index.as_bytes())
}

/// Three files of a split model.
pub(crate) fn split(folder: &Path) -> std::path::PathBuf {
    let tensors = [("blk.0.w", 7), ("blk.1.w", 8)];
    let first = write(folder, "m-00001-of-00003.gguf", &shard(0, 3, 3, &[]));
    write(folder, "m-00002-of-00003.gguf", &shard(1, 3, 3, &tensors));
    write(folder, "m-00003-of-00003.gguf", &shard(2, 3, 3, &[("a", 9)]));
    first
}

pub(crate) fn code(outcome: Result<Model, ModelError>) -> &'static str {
    outcome.map_or_else(|error| error.code(), |_| "")
}

fn contents(model: &Model) -> Vec<(String, Vec<u8>)> {
    model.tensors().map(|tensor| (tensor.name().to_owned(), tensor.bytes().to_vec())).collect()
}

const HOLDS: [Hold; 3] = [Hold::Map, Hold::Snapshot, Hold::Read];

#[test]
fn one_safetensors_file() {
    let folder = tempfile::tempdir().unwrap();
    let header = r#"{"__metadata__":{"format":"pt","\u0061":"\n"},
        "w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"a\u0062":{"dtype":"BF16","shape":[],"data_offsets":[8,10]}}"#;
    let bytes = common::file(header, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0x80, 0x3f]);
    let path = write(folder.path(), "any name", &bytes);
    for hold in HOLDS {
        let model = Model::open_with(&path, &Options::default().with_hold(hold)).unwrap();
        assert_eq!((model.format(), model.len(), model.files().len()), (Format::SafeTensors, 2, 1));
        assert!(model.names().eq(["ab", "w"]) && model.contains("w") && !model.contains("W"));
        assert_eq!(model.files()[0].bytes().hold(), hold);
        let w = model.tensor("w").unwrap();
        assert_eq!((w.element(), w.shape(), w.elements()), (ElementType::Dtype(Dtype::F32), &[2, 1][..], 2));
        assert!(w.view().unwrap().iter_f32().unwrap().eq([1.0, -2.0]));
        assert_eq!((w.span().start(), w.span().len(), w.file()), (8 + header.len() as u64, 8, 0));
        let scalar = model.get("ab").unwrap();
        assert_eq!((scalar.shape(), scalar.elements(), scalar.bytes()), (&[][..], 1, &[0x80, 0x3f][..]));
        assert_eq!(scalar.view().unwrap().iter_f32().unwrap().next(), Some(1.0));
        assert!(model.in_file_order().map(|tensor| tensor.span().start()).is_sorted());
        let metadata = model.metadata();
        assert_eq!(metadata.get("format").unwrap().as_str(), Some("pt"));
        assert!(matches!(metadata.get("a"), Some(MetadataValue::Text(text)) if text == "\n"));
        assert_eq!(metadata.iter().count(), 2);
    }
}

#[test]
fn an_index_and_its_shards() {
    let folder = tempfile::tempdir().unwrap();
    let path = sharded(folder.path());
    for hold in HOLDS {
        let model = Model::open_with(&path, &Options::default().with_hold(hold)).unwrap();
        let want = [("a", "a"), ("b", "bb"), ("c", "ccc")].map(|(name, bytes)| (name.to_owned(), bytes.into()));
        assert_eq!(contents(&model), want);
        let names: Vec<_> = model.files().iter().map(|file| file.path().file_name().unwrap()).collect();
        assert_eq!(names, ["one.safetensors", "two.safetensors"]);
        assert_eq!(["a", "b", "c"].map(|name| model.tensor(name).unwrap().file()), [1, 0, 1]);
        let in_order: Vec<_> = model.in_file_order().map(|tensor| tensor.name().to_owned()).collect();
        assert_eq!(in_order, ["b", "c", "a"]);
        assert_eq!(model.index_path(), Some(&*path));
        assert!(model.warnings().is_empty());
        // The first shard wins, then the others add, then the index.
        let metadata: Vec<_> = model.metadata().iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(metadata, ["by", "format", "made", "total_size"]);
        assert_eq!(model.metadata().get("by").unwrap().as_str(), Some("one"));
        assert_eq!(model.metadata().get("made"), Some(MetadataValue::Json("[1, 2]")));
    }
}

#[test]
fn an_index_by_content_with_a_wrong_total() {
    let folder = tempfile::tempdir().unwrap();
    let path = sharded(folder.path());
    let text = std::fs::read_to_string(path).unwrap().replace(":6,", ":7,");
    let other = write(folder.path(), "weights.json", text.as_bytes());
    let model = Model::open(&other).unwrap();
    let [warning] = model.warnings() else { panic!("{:?}", model.warnings()) };
    assert_eq!((warning.error().code(), warning.error().want()), ("IX-TOTAL-SIZE", Some(6)));
    assert_eq!(warning.path(), other);
}

#[test]
fn a_gguf_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(2, 1);
    writer.key("n", ValueType::U16).raw(&[7, 0]);
    writer.tensor("w", &[3, 2], GgmlType::F16.id(), 0).tensor("q", &[32], GgmlType::Q8_0.id(), 32).data(12);
    writer.data(34);
    let path = write(folder.path(), "m.gguf", &writer.0);
    let model = Model::open(&path).unwrap();
    assert_eq!(model.format(), Format::Gguf);
    let w = model.tensor("w").unwrap();
    // Innermost first in the file, outermost first here.
    assert_eq!((w.shape(), w.bytes().len(), w.endian()), (&[2, 3][..], 12, Endian::Little));
    assert_eq!(w.view().unwrap().dtype(), Dtype::F16);
    let q = model.tensor("q").unwrap();
    assert_eq!((q.element(), q.bytes().len()), (ElementType::Ggml(GgmlType::Q8_0), 34));
    assert!(q.view().is_none());
    assert_eq!(model.metadata().get("n").unwrap().gguf().unwrap().u64(), Ok(7));
    assert_eq!(model.metadata().iter().count(), 1);
}

#[test]
fn a_big_endian_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = b"GGUF\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0".to_vec();
    for (name, kind, offset) in [(b'w', 0_u32, 0_u64), (b'b', 24, 32)] {
        file.extend(1_u64.to_be_bytes());
        file.push(name);
        file.extend(1_u32.to_be_bytes());
        file.extend(1_u64.to_be_bytes());
        file.extend(kind.to_be_bytes());
        file.extend(offset.to_be_bytes());
    }
    file.resize(file.len().next_multiple_of(32) + 33, 0);
    let model = Model::open(write(folder.path(), "big.gguf", &file)).unwrap();
    let w = model.tensor("w").unwrap();
    assert_eq!((w.endian(), w.bytes().len()), (Endian::Big, 4));
    assert!(w.view().is_none() && model.tensor("b").unwrap().view().is_some());
}

#[test]
fn a_split_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = split(folder.path());
    for hold in HOLDS {
        let model = Model::open_with(&path, &Options::default().with_hold(hold)).unwrap();
        assert!(model.names().eq(["a", "blk.0.w", "blk.1.w"]));
        let found = model.tensors().map(|tensor| (tensor.file(), tensor.bytes()[31]));
        assert_eq!(found.collect::<Vec<_>>(), [(2, 9), (1, 7), (1, 8)]);
        assert_eq!(model.metadata().get("general.name").unwrap().as_str(), Some("part 0"));
    }
    // One that is split into one is whole, whatever its name.
    let alone = write(folder.path(), "alone", &shard(0, 1, 1, &[("w", 1)]));
    assert_eq!(Model::open(alone).unwrap().len(), 1);
}

#[test]
fn tensors_outlive_their_model_and_cross_threads() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Tensor>();
    shared::<Model>();
    let folder = tempfile::tempdir().unwrap();
    let path = sharded(folder.path());
    for hold in HOLDS {
        let model = Model::open_with(&path, &Options::default().with_hold(hold)).unwrap();
        let tensors: Vec<Tensor> = model.tensors().collect();
        drop(model);
        let threads = tensors.into_iter().map(|tensor| std::thread::spawn(move || tensor.bytes().to_vec()));
        let bytes: Vec<_> = threads.map(|thread| thread.join().unwrap()).collect();
        assert_eq!(bytes, [&b"a"[..], b"bb", b"ccc"]);
    }
}

#[test]
fn a_mapped_file_can_be_replaced_by_renaming() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "model.safetensors", &safetensors("", &[("w", b"old")]));
    let old = Model::open(&path).unwrap();
    let next = write(folder.path(), "next", &safetensors("", &[("w", b"new!")]));
    std::fs::rename(next, &path).unwrap();
    assert_eq!(old.tensor("w").unwrap().bytes(), b"old");
    assert_eq!(Model::open(&path).unwrap().tensor("w").unwrap().bytes(), b"new!");
}

/// What was checked of a mapped file can change behind the check, and a `bool` must not.
#[test]
fn bools_of_a_mapped_file_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let header = r#"{"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},"u":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}"#;
    let path = write(folder.path(), "m", &common::file(header, &[0, 1, 1, 7]));
    for hold in HOLDS {
        let model = Model::open_with(&path, &Options::default().with_hold(hold)).unwrap();
        let (m, u) = (model.tensor("m").unwrap(), model.tensor("u").unwrap());
        let want = if hold == Hold::Map { Err(CastError::Mapped) } else { Ok(&[false, true, true][..]) };
        assert_eq!(m.view().unwrap().as_bool(), want);
        assert_eq!(m.to_bools().unwrap(), [false, true, true]);
        let other = CastError::Dtype { expected: Dtype::BOOL, found: Dtype::U8 };
        assert_eq!(u.to_bools(), Err(other));
    }
    std::fs::write(&path, common::file(header, &[0, 1, 2, 7])).unwrap();
    let m = Model::open(&path).unwrap().tensor("m").unwrap();
    assert_eq!(m.to_bools(), Err(CastError::NotBool { index: 2, byte: 2 }));
}

#[test]
fn relaxed_rules_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "m.safetensors", &common::file(" {}", b""));
    assert_eq!(code(Model::open(&path)), "ST-LEADING-SPACE");
    let lenient = Options::default().with_limits(Limits::default().with_leading_space(true));
    let model = Model::open_with(&path, &lenient).unwrap();
    assert_eq!(
        model.warnings().iter().map(|warning| warning.error().code()).collect::<Vec<_>>(),
        ["ST-LEADING-SPACE"]
    );

    let mut writer = Writer::new(2, 0);
    writer.tensor("known", &[4], 0, 0).tensor("strange", &[4], 200, 32).data(64);
    let path = write(folder.path(), "m.gguf", &writer.0);
    assert_eq!(code(Model::open(&path)), "GG-TYPE-UNKNOWN");
    let lenient = Options::default().with_limits(Limits::default().with_gguf_unknown_types(true));
    let model = Model::open_with(&path, &lenient).unwrap();
    assert_eq!((model.len(), model.tensors().count(), model.warnings().len()), (2, 1, 1));
    let error = model.tensor("strange").unwrap_err();
    assert_eq!(error.code(), "MO-NO-SIZE");
    assert!(error.to_string().ends_with(r#"tensor "strange" is of a type that is not known: 200"#), "{error}");
    assert!(model.get("strange").is_none());
}
