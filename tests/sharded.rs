//! Sharded saves: which tensors go where, the index, what becomes of the model before, readers at every moment.

#![cfg(feature = "std")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tensorgate::file::{SaveError, SavedShards, Saver, Step};
use tensorgate::safetensors::{NO_METADATA, TensorSpec};
use tensorgate::{Dtype, Limits, SafeTensors, ShardIndex};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Saves tensors `a`, `b`, … of so many bytes, each byte the model's `value`.
fn save(saver: Saver<'_>, folder: &Path, most: u64, lengths: &[u64], value: u8) -> Result<SavedShards, SaveError> {
    let labels: Vec<String> = ('a'..='z').take(lengths.len()).map(String::from).collect();
    let shapes: Vec<[u64; 1]> = lengths.iter().map(|len| [*len]).collect();
    let bytes: Vec<Vec<u8>> = lengths.iter().map(|len| vec![value; usize::try_from(*len).unwrap()]).collect();
    let tensors = labels.iter().zip(&shapes).zip(&bytes);
    let tensors = tensors.map(|((name, shape), bytes)| TensorSpec::new(name, Dtype::U8, shape).with_bytes(bytes));
    saver.sharded(folder, most, tensors, Some([("format", "pt")]))
}

/// The model as this crate's readers see it: index first. All tensors, each with the one byte that it is made of.
fn read(folder: &Path) -> Result<BTreeMap<String, (usize, u8)>, String> {
    let of_file = |name: &str, wanted: Option<&ShardIndex<'_>>| -> Result<BTreeMap<String, (usize, u8)>, String> {
        let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        let file = SafeTensors::open(&bytes).map_err(|error| format!("{name}: {error}"))?;
        if let Some(finding) = wanted.and_then(|index| index.check_shard(name, file.header()).next()) {
            return Err(format!("{name}: {finding}"));
        }
        assert!(file.metadata().unwrap().get("format").unwrap() == "pt");
        Ok(file
            .tensors()
            .map(|tensor| {
                let first = tensor.bytes().first().copied().unwrap_or(0);
                assert!(tensor.bytes().iter().all(|byte| *byte == first));
                (tensor.name().to_cow().into_owned(), (tensor.bytes().len(), first))
            })
            .collect())
    };
    let Ok(text) = fs::read(folder.join("model.safetensors.index.json")) else {
        return of_file("model.safetensors", None);
    };
    let index = ShardIndex::open(&text).map_err(|error| error.to_string())?;
    let mut all = BTreeMap::new();
    for shard in index.shards() {
        all.extend(of_file(shard.name().as_str().unwrap(), Some(&index))?);
    }
    assert_eq!(index.total_size(), Some(all.values().map(|(len, _)| *len as u64).sum()));
    Ok(all)
}

#[test]
fn shards_names_and_index() {
    let folder = tempfile::tempdir().unwrap();
    let saved = save(Saver::new(), folder.path(), 10, &[3, 4, 12, 5, 5, 1], 7).unwrap();
    let expected = [
        "model-00001-of-00004.safetensors",
        "model-00002-of-00004.safetensors",
        "model-00003-of-00004.safetensors",
        "model-00004-of-00004.safetensors",
    ];
    assert!(saved.files().iter().map(|path| path.file_name().unwrap()).eq(expected));
    assert_eq!(saved.index().unwrap(), folder.path().join("model.safetensors.index.json"));
    assert!(saved.left().is_empty());
    let text = fs::read_to_string(saved.index().unwrap()).unwrap();
    let index: Value = serde_json::from_str(&text).unwrap();
    let map = json!({"a": expected[0], "b": expected[0], "c": expected[1], "d": expected[2], "e": expected[2], "f": expected[3]});
    assert_eq!(index, json!({"metadata": {"total_size": 30}, "weight_map": map}));
    // Two spaces, sorted, and a line's end.
    assert!(
        text.starts_with("{\n  \"metadata\": {\n    \"total_size\": 30\n  },\n  \"weight_map\": {\n    \"a\": ")
    );
    assert!(text.ends_with("\"\n  }\n}\n"));
    assert_eq!(read(folder.path()).unwrap().len(), 6);
    assert_eq!(names(folder.path()).len(), 5);
}

#[test]
fn one_shard_is_one_file_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let saved = save(Saver::new(), folder.path(), 30, &[10, 20], 1).unwrap();
    assert_eq!((saved.files().len(), saved.index()), (1, None));
    assert_eq!(names(folder.path()), ["model.safetensors"]);
    // No tensor at all is a file too.
    save(Saver::new(), folder.path(), 0, &[], 1).unwrap();
    assert_eq!(names(folder.path()), ["model.safetensors"]);
    assert!(read(folder.path()).unwrap().is_empty());
}

/// Each model over each other one: afterwards the folder has the new one and no file of the old.
#[test]
fn every_model_over_every_other() {
    let models: [&[u64]; 4] = [&[5], &[10, 10], &[10, 10, 10], &[9, 9]];
    for first in models {
        for second in models {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("config.json"), b"{}").unwrap();
            save(Saver::new(), folder.path(), 10, first, 1).unwrap();
            let saved = save(Saver::new(), folder.path(), 10, second, 2).unwrap();
            let model = read(folder.path()).unwrap();
            assert!(model.len() == second.len() && model.values().all(|(_, value)| *value == 2));
            let index = usize::from(saved.index().is_some());
            assert_eq!(names(folder.path()).len(), 1 + saved.files().len() + index, "{:?}", names(folder.path()));
        }
    }
}

#[test]
fn no_name_of_the_old_set_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    for generation in 1..5 {
        save(Saver::new(), folder.path(), 10, &[10, 10], generation).unwrap();
        let prefix = if generation == 1 { "model".to_owned() } else { format!("model-gen{generation}") };
        let expected = [1, 2].map(|number| format!("{prefix}-0000{number}-of-00002.safetensors"));
        assert_eq!(names(folder.path())[..2], expected);
    }
    // A folder that has no shards begins again.
    save(Saver::new(), folder.path(), 100, &[10, 10], 5).unwrap();
    save(Saver::new(), folder.path(), 10, &[10, 10], 6).unwrap();
    assert_eq!(names(folder.path())[0], "model-00001-of-00002.safetensors");
}

/// Only what is called as a shard is removed, whatever the index names.
#[test]
fn what_is_removed_and_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| fs::write(folder.path().join(name), b"x").unwrap();
    let index = json!({"weight_map": {"a": "config.json", "b": "model-00001-of-00001.safetensors", "c": "other.safetensors"}});
    fs::write(folder.path().join("model.safetensors.index.json"), index.to_string()).unwrap();
    for name in ["config.json", "model-00001-of-00001.safetensors", "other.safetensors"] {
        put(name);
    }
    // Of a download that is not finished, and what a killed save left.
    put("model-00001-of-00009.safetensors");
    put("model-gen7-00001-of-00002.safetensors");
    save(Saver::new(), folder.path(), 10, &[10, 10], 1).unwrap();
    let mut expected = vec![
        "config.json",
        "model-00001-of-00009.safetensors",
        "model-gen8-00001-of-00002.safetensors",
        "model-gen8-00002-of-00002.safetensors",
        "model.safetensors.index.json",
        "other.safetensors",
    ];
    assert_eq!(names(folder.path()), expected);
    save(Saver::new(), folder.path(), 100, &[10, 10], 1).unwrap();
    expected = vec!["config.json", "model-00001-of-00009.safetensors", "model.safetensors", "other.safetensors"];
    assert_eq!(names(folder.path()), expected);
    // An index that is no index is replaced.
    fs::write(folder.path().join("model.safetensors.index.json"), b"{").unwrap();
    put("model-00001-of-00002.safetensors");
    save(Saver::new(), folder.path(), 10, &[10, 10], 1).unwrap();
    expected = vec![
        "config.json",
        "model-00001-of-00002.safetensors",
        "model-00001-of-00009.safetensors",
        "model-gen2-00001-of-00002.safetensors",
        "model-gen2-00002-of-00002.safetensors",
        "model.safetensors.index.json",
        "other.safetensors",
    ];
    assert_eq!(names(folder.path()), expected);
    assert!(read(folder.path()).is_ok());
}

/// A model of many shards needs no more open files than one of two.
#[cfg(target_os = "linux")]
#[test]
fn shards_are_not_kept_open() {
    let folder = tempfile::tempdir().unwrap();
    let count = |step: Step, _: &Path| {
        // Other tests of this process have files open too.
        let open = if step == Step::Rename { fs::read_dir("/proc/self/fd")?.count() } else { 0 };
        assert!(open < 150, "{open} files are open");
        Ok(())
    };
    let names: Vec<String> = (0..300).map(|at| at.to_string()).collect();
    let tensors = names.iter().map(|name| TensorSpec::new(name, Dtype::U8, &[1]).with_bytes(&[7]));
    let saved = Saver::new().with_watch(&count).sharded(&folder, 1, tensors, NO_METADATA).unwrap();
    assert_eq!(saved.files().len(), 300);
}

/// A file that cannot be removed is told of, and the save has succeeded.
#[test]
fn old_files_that_stay_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    for value in [0, 1] {
        save(Saver::new(), folder.path(), 10, &[10, 10], value).unwrap();
    }
    let watch = |step: Step, path: &Path| {
        let stuck = step == Step::Remove && path.ends_with("model-gen2-00002-of-00002.safetensors");
        if stuck { Err(std::io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    };
    let saved = save(Saver::new().with_watch(&watch), folder.path(), 10, &[10, 10], 2).unwrap();
    assert_eq!(saved.left(), [folder.path().join("model-gen2-00002-of-00002.safetensors")]);
    assert_eq!(read(folder.path()).unwrap()["a"], (10, 2));
    // The next save removes it.
    save(Saver::new(), folder.path(), 10, &[10, 10], 3).unwrap();
    assert_eq!(names(folder.path()).len(), 3);
}

#[test]
fn everything_is_refused_before_anything_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("none");
    let bytes = [0; 8];
    let spec = |name: &'static str| TensorSpec::new(name, Dtype::U8, &[8]).with_bytes(&bytes);
    // Twice in different shards, named by the caller's index.
    let error = Saver::new().sharded(&nowhere, 8, [spec("a"), spec("b"), spec("a")], NO_METADATA).unwrap_err();
    let twice = tensorgate::safetensors::PlanError::DuplicateName { index: 2, first: 0 };
    assert!(matches!(error, SaveError::Safetensors(error) if error == twice));
    let short = TensorSpec::new("c", Dtype::U8, &[8]).with_bytes(&bytes[..7]);
    let error = Saver::new().sharded(&nowhere, 8, [spec("a"), short], NO_METADATA).unwrap_err();
    assert!(matches!(error, SaveError::ByteCount { index: 1, expected: 8, given: 7 }), "{error}");
    let strict = Saver::new().with_limits(Limits::default().with_shards(2));
    let error = strict.sharded(&nowhere, 8, [spec("a"), spec("b"), spec("c")], NO_METADATA).unwrap_err();
    assert!(matches!(error, SaveError::Index(_)), "{error}");
    let error = Saver::new().sharded(&nowhere, 8, [spec("a")], NO_METADATA).unwrap_err();
    assert!(matches!(error, SaveError::Atomic(_)), "{error}");
    // Bytes that come as they are asked for, with the caller's index of the tensor.
    let specs = [spec("a").spec(), spec("b").spec(), spec("c").spec()];
    let error = Saver::new()
        .sharded_with(folder.path(), 8, &specs, NO_METADATA, |index, tensor| Ok(tensor.write(&bytes[index..])?))
        .unwrap_err();
    assert!(matches!(error, SaveError::ByteCount { index: 1, expected: 8, given: 7 }), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[cfg(unix)]
#[test]
fn a_private_model_stays_private() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    let private = |name: &str| {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o600)).unwrap();
    };
    save(Saver::new(), folder.path(), 100, &[10, 10], 1).unwrap();
    private("model.safetensors");
    for most in [10, 10, 100] {
        save(Saver::new(), folder.path(), most, &[10, 10], 1).unwrap();
        for name in names(folder.path()) {
            assert_eq!(fs::metadata(folder.path().join(&name)).unwrap().mode() & 0o777, 0o600, "{name}");
        }
    }
}

/// A folder whose files are links into another, as in Hugging Face's cache: shards are made beside the index that names
/// them, and the old links are removed, not what they lead to.
#[cfg(unix)]
#[test]
fn a_folder_of_links() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let (blobs, folder) = (root.path().join("blobs"), root.path().join("snapshot"));
    fs::create_dir(&blobs).unwrap();
    fs::create_dir(&folder).unwrap();
    save(Saver::new(), &blobs, 10, &[10, 10], 1).unwrap();
    for name in names(&blobs) {
        symlink(Path::new("../blobs").join(&name), folder.join(&name)).unwrap();
    }
    save(Saver::new(), &folder, 10, &[10, 10], 2).unwrap();
    assert_eq!(read(&folder).unwrap()["a"], (10, 2));
    assert!(folder.join("model.safetensors.index.json").is_symlink());
    assert!(!folder.join("model-00001-of-00002.safetensors").is_symlink());
    assert!(blobs.join("model-00001-of-00002.safetensors").is_file());
    assert!(names(&blobs).iter().chain(&names(&folder)).all(|name| !name.ends_with("-tmp")));
}

/// Savers of different models at once, and readers: at every moment a whole model or an error, in the end one whole model
/// and nothing else.
#[test]
fn many_savers_and_readers() {
    let folder = tempfile::tempdir().unwrap();
    save(Saver::new(), folder.path(), 10, &[10, 10], 0).unwrap();
    let stop = AtomicBool::new(false);
    let (mut whole, mut errors) = (0, 0);
    std::thread::scope(|scope| {
        let models: [&[u64]; 3] = [&[10, 10], &[10, 10, 10], &[10, 10, 10]];
        let savers: Vec<_> = models
            .into_iter()
            .zip(1..)
            .map(|(lengths, value)| {
                let path = folder.path();
                scope.spawn(move || {
                    for _ in 0..15 {
                        save(Saver::new(), path, 10, lengths, value).unwrap();
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                match read(folder.path()) {
                    Ok(model) => {
                        let value = model["a"].1;
                        assert!(model.values().all(|tensor| *tensor == (10, value)), "a mix: {model:?}");
                        assert_eq!(model.len(), if value < 2 { 2 } else { 3 });
                        whole += 1;
                    }
                    Err(_) => errors += 1,
                }
            }
        });
        for saver in savers {
            saver.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    println!("{whole} whole models read, {errors} errors");
    assert!(whole > 0);
    let model = read(folder.path()).unwrap();
    assert_eq!(names(folder.path()).len(), model.len() + 1, "{:?}", names(folder.path()));
}
