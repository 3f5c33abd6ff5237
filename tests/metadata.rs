//! Changing metadata: the new pairs, and every byte of the tensors where it was or as well aligned.

#![cfg(feature = "std")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use proptest::prelude::*;
use tensorgate::file::metadata::{Edit, EditError, edit_gguf, edit_safetensors};
use tensorgate::file::{Saver, Step};
use tensorgate::gguf::{self, Endian, GgmlType, PairSpec, ValueType, WriteOptions, WriteValue};
use tensorgate::safetensors::{TensorSpec, serialize};
use tensorgate::{Dtype, Gguf, SafeTensors};

/// A file with this content in a folder of its own.
fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn only_file(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().count() == 1
}

fn safetensors(json: &str, padded: usize, data: &[u8]) -> Vec<u8> {
    let mut file = (padded as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.resize(8 + padded, b' ');
    file.extend_from_slice(data);
    file
}

fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
    let file = SafeTensors::open(bytes).unwrap();
    let metadata = file.metadata();
    let text = |name: tensorgate::Name<'_>| name.to_cow().into_owned();
    metadata.into_iter().flatten().map(|(key, value)| (text(key), text(value))).collect()
}

/// Names, types, shapes and bytes, in the order of the data.
fn tensors(bytes: &[u8]) -> Vec<(String, Dtype, Vec<u64>, Vec<u8>)> {
    let file = SafeTensors::open(bytes).unwrap();
    file.tensors()
        .map(|t| (t.name().to_cow().into_owned(), t.dtype(), t.shape().to_vec(), t.bytes().to_vec()))
        .collect()
}

/// In an order that this crate's writer would not choose, with white space, at an odd offset.
const JSON: &str = concat!(
    r#"{"z" : {"dtype":"U8","shape":[3],"data_offsets":[0,3]},"__metadata__":{"k\u0031":"v","b":"\"é\n"},"#,
    r#""a":{"shape":[2],"dtype":"F32","data_offsets":[3,11]}}"#
);
const DATA: [u8; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

#[test]
fn what_fits_leaves_the_data_where_it_was() {
    let before = safetensors(JSON, JSON.len() + 100, &DATA);
    let (folder, path) = file(&before);
    let edits = [Edit::Set("k1", "other"), Edit::Set("new", "\u{1}日本"), Edit::Remove("b")];
    assert!(edit_safetensors(&path, &edits).unwrap());
    let after = fs::read(&path).unwrap();
    assert_eq!(after.len(), before.len());
    assert_eq!(after[..8], before[..8]);
    assert_eq!(after[after.len() - 11..], DATA);
    assert_eq!(tensors(&after), tensors(&before));
    let expected = [("k1", "other"), ("new", "\u{1}日本")];
    assert!(pairs(&after).iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(expected));
    assert!(only_file(folder.path()));
}

#[test]
fn what_does_not_fit_moves_it_by_a_multiple_of_64() {
    for pad in 0..70 {
        let before = safetensors(JSON, JSON.len() + pad, &DATA);
        let (_folder, path) = file(&before);
        let long = "x".repeat(pad + 40);
        assert!(edit_safetensors(&path, &[Edit::Set("k1", &long)]).unwrap());
        let after = fs::read(&path).unwrap();
        assert_eq!((after.len() - before.len()) % 64, 0);
        assert_eq!(tensors(&after), tensors(&before));
        assert_eq!(pairs(&after)[1].1, long);
    }
}

#[test]
fn a_change_and_back_gives_the_same_bytes() {
    let w = [7; 40];
    let spec = TensorSpec::new("w", Dtype::F64, &[5]).with_bytes(&w);
    let before = serialize([spec], Some([("a", "1"), ("b", "2")])).unwrap();
    let (_folder, path) = file(&before);
    edit_safetensors(&path, &[Edit::Remove("a")]).unwrap();
    assert_ne!(fs::read(&path).unwrap(), before);
    edit_safetensors(&path, &[Edit::Set("a", "1")]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    // The last key gone, there is no metadata; and it can be set where there was none.
    edit_safetensors(&path, &[Edit::Remove("a"), Edit::Remove("b")]).unwrap();
    assert!(SafeTensors::open(&fs::read(&path).unwrap()).unwrap().metadata().is_none());
    edit_safetensors(&path, &[Edit::Set("b", "2"), Edit::Set("a", "0"), Edit::Set("a", "1")]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_changes_nothing_touches_nothing() {
    let (folder, path) = file(&safetensors(JSON, JSON.len(), &DATA));
    let time = || fs::metadata(&path).unwrap().modified().unwrap();
    let (before, content) = (time(), fs::read(&path).unwrap());
    let none: [Edit<'_, &str>; 0] = [];
    for edits in [&none[..], &[Edit::Set("k1", "v")], &[Edit::Set("k1", "x"), Edit::Set("k1", "v")]] {
        assert!(!edit_safetensors(&path, edits).unwrap());
    }
    let missing = edit_safetensors(&path, &[Edit::Set("k1", "x"), Edit::Remove("none\n")]).unwrap_err();
    assert!(matches!(&missing, EditError::NoSuchKey(key) if key == "none\n"));
    assert_eq!(missing.to_string(), "there is no key \"none\\n\"");
    let twice = edit_safetensors(&path, &[Edit::Remove("b"), Edit::Remove("b")]);
    assert!(matches!(twice, Err(EditError::NoSuchKey(_))));
    let long = "x".repeat(100);
    let small = Saver::new().with_limits(tensorgate::Limits::default().with_header_len(JSON.len() as u64 + 10));
    assert!(matches!(small.edit_safetensors(&path, &[Edit::Set("k", &long)]), Err(EditError::Save(_))));
    assert_eq!((time(), fs::read(&path).unwrap()), (before, content));
    assert!(only_file(folder.path()));
    // Files that are none.
    let (_folder, path) = file(b"GGUF and so on");
    assert!(matches!(edit_safetensors(&path, &[Edit::Set("k", "v")]), Err(EditError::Invalid(_))));
    assert!(matches!(edit_gguf(&path, &[Edit::Set("k", 1_u8)]), Err(EditError::Invalid(_))));
    assert!(matches!(edit_gguf(path.with_extension("none"), &[Edit::Set("k", 1_u8)]), Err(EditError::Read(_))));
}

/// Every step fails: the old file, whole, and nothing else. A file that is written to while it is copied is not taken.
#[test]
fn faults_leave_the_old_file() {
    let before = safetensors(JSON, JSON.len(), &DATA);
    for at in 0.. {
        let (folder, path) = file(&before);
        let steps = Mutex::new(Vec::new());
        let watch = |step: Step, _: &Path| {
            let mut steps = steps.lock().unwrap();
            steps.push(step);
            if steps.len() == at + 1 { Err(std::io::Error::from_raw_os_error(28)) } else { Ok(()) }
        };
        let outcome = Saver::new().with_watch(&watch).edit_safetensors(&path, &[Edit::Set("k1", "x")]);
        assert!(only_file(folder.path()));
        let Err(EditError::Save(error)) = outcome else {
            assert!(outcome.unwrap() && at > 5);
            break;
        };
        assert_eq!(fs::read(&path).unwrap() == before, !error.is_committed(), "{error}");
    }
    let (folder, path) = file(&before);
    let watch = |step: Step, target: &Path| {
        if step == Step::Write {
            fs::write(target, b"another")?;
        }
        Ok(())
    };
    assert!(Saver::new().with_watch(&watch).edit_safetensors(&path, &[Edit::Set("k1", "x")]).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"another");
    assert!(only_file(folder.path()));
}

/// A GGUF file of pairs of many types and tensors with padding between them.
fn gguf(options: &WriteOptions) -> Vec<u8> {
    let tokens = ["<s>", "é", ""];
    let pairs = [
        PairSpec::new("general.architecture", "gpt2"),
        PairSpec::new("n", 7_u32),
        PairSpec::new("tokens", &tokens),
        PairSpec::new("f", 0.5_f32),
    ];
    let (a, b, c) = ([1_u8; 12], [2_u8; 34], [3_u8; 5]);
    let tensors = [
        gguf::TensorSpec::new("z", GgmlType::F32, &[3]).with_bytes(&a),
        gguf::TensorSpec::new("a", GgmlType::Q8_0, &[32]).with_bytes(&b),
        gguf::TensorSpec::new("m", GgmlType::I8, &[5]).with_bytes(&c),
    ];
    gguf::serialize(pairs, tensors, options).unwrap()
}

#[test]
fn gguf_pairs_by_type() {
    for endian in [Endian::Little, Endian::Big] {
        for alignment in [1, 8, 32, 64] {
            let options = WriteOptions::default().with_endian(endian).with_alignment(alignment);
            let before = gguf(&options);
            let (folder, path) = file(&before);
            let edits: [Edit<'_, WriteValue<'_>>; 5] = [
                Edit::Set("n", 300_u16.into()),
                Edit::Set("general.name", "a name".into()),
                Edit::Remove("f"),
                Edit::Set("list", (&[1_i64, -1]).into()),
                Edit::Set("flag", true.into()),
            ];
            assert!(edit_gguf(&path, &edits).unwrap());
            let after = fs::read(&path).unwrap();
            let (old, new) = (Gguf::open(&before).unwrap(), Gguf::open(&after).unwrap());
            assert_eq!((new.endian(), new.alignment(), new.version()), (endian, alignment, 3));
            let keys: Vec<String> = new.pairs().map(|pair| pair.key().to_owned()).collect();
            let mut expected = vec!["general.architecture", "n", "tokens"];
            // One of 32 is not said.
            if alignment != 32 {
                expected.push("general.alignment");
            }
            expected.extend(["general.name", "list", "flag"]);
            assert_eq!(keys, expected);
            assert_eq!((new.get("n").unwrap().kind(), new.u64("n")), (ValueType::U16, Ok(300)));
            assert_eq!((new.str("general.name"), new.get("tokens")), (Ok("a name"), old.get("tokens")));
            // The data section byte for byte, padding and all.
            assert_eq!(new.data(), old.data());
            let spans = |file: &Gguf<'_>| -> Vec<(u64, String)> {
                file.tensors()
                    .map(|t| (t.span().start() - file.data_offset(), format!("{:?}", t.info().name())))
                    .collect()
            };
            assert_eq!(spans(&new), spans(&old));
            // And back.
            let back: [Edit<'_, WriteValue<'_>>; 4] = [
                Edit::Set("n", 7_u32.into()),
                Edit::Remove("general.name"),
                Edit::Remove("list"),
                Edit::Remove("flag"),
            ];
            assert!(edit_gguf(&path, &back).unwrap());
            assert!(edit_gguf(&path, &[Edit::Set("f", 0.5_f32)]).unwrap());
            if alignment == 32 {
                assert_eq!(fs::read(&path).unwrap(), before);
            }
            assert!(!edit_gguf(&path, &[Edit::Set("f", 0.5_f32)]).unwrap());
            assert!(edit_gguf(&path, &[Edit::Set("f", 0.5_f64)]).unwrap(), "another type");
            assert!(only_file(folder.path()));
        }
    }
}

#[test]
fn another_alignment_lays_gguf_tensors_out_anew() {
    let before = gguf(&WriteOptions::default());
    let (_folder, path) = file(&before);
    assert!(edit_gguf(&path, &[Edit::Set("general.alignment", 256_u32)]).unwrap());
    let after = fs::read(&path).unwrap();
    let new = Gguf::open(&after).unwrap();
    assert!(new.tensors().all(|tensor| tensor.span().start() % 256 == 0));
    let old = Gguf::open(&before).unwrap();
    assert!(new.tensors().map(|t| t.bytes().to_vec()).eq(old.tensors().map(|t| t.bytes().to_vec())));
    assert!(matches!(edit_gguf(&path, &[Edit::Set("general.alignment", 3_u32)]), Err(EditError::Save(_))));
    edit_gguf::<u8>(&path, &[Edit::Remove("general.alignment")]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any edits, against a map.
    #[test]
    fn any_edits(
        edits in prop::collection::vec(("[a-d\"\\\\é]{0,2}", prop::option::of("[ -~\u{1}日]{0,20}")), 0..8),
        pad in 0_usize..90,
    ) {
        let before = safetensors(JSON, JSON.len() + pad, &DATA);
        let (_folder, path) = file(&before);
        let mut meant: std::collections::BTreeMap<String, String> = pairs(&before).into_iter().collect();
        let mut possible = true;
        for (key, value) in &edits {
            match value {
                Some(value) => drop(meant.insert(key.clone(), value.clone())),
                None => possible &= meant.remove(key).is_some(),
            }
        }
        let edits: Vec<Edit<'_, &str>> = edits
            .iter()
            .map(|(key, value)| value.as_deref().map_or(Edit::Remove(key), |value| Edit::Set(key, value)))
            .collect();
        let outcome = edit_safetensors(&path, &edits);
        let after = fs::read(&path).unwrap();
        if possible {
            outcome.unwrap();
            prop_assert_eq!(pairs(&after).into_iter().collect::<std::collections::BTreeMap<_, _>>(), meant);
            prop_assert_eq!(tensors(&after), tensors(&before));
            prop_assert_eq!(after.len() % 64, before.len() % 64);
        } else {
            prop_assert!(outcome.is_err() && after == before);
        }
    }
}

/// Of changes at once, none undoes another.
#[test]
#[cfg(unix)]
fn changes_at_once_are_all_kept() {
    let (_folder, path) = file(&safetensors(r#"{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, 64, &[7]));
    let keys: Vec<String> = (0..12).map(|number| format!("key{number}")).collect();
    std::thread::scope(|scope| {
        for key in &keys {
            let path = &path;
            scope.spawn(move || edit_safetensors(path, &[Edit::Set(key, "value")]).unwrap());
        }
    });
    let mut found: Vec<String> = pairs(&fs::read(&path).unwrap()).into_iter().map(|(key, _)| key).collect();
    let mut wanted = keys;
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}
