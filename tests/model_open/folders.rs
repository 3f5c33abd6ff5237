//! Folders: which file is meant, and what is told where none or several are.

use super::*;

#[test]
fn the_index_comes_first_then_the_file_then_gguf() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    split(folder);
    assert_eq!(Model::open(folder).unwrap().format(), Format::Gguf);
    write(folder, "model.safetensors", &safetensors("", &[("whole", b"")]));
    assert!(Model::open(folder).unwrap().names().eq(["whole"]));
    sharded(folder);
    assert!(Model::open(folder).unwrap().names().eq(["a", "b", "c"]));
}

#[test]
fn a_lone_gguf_file_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "Model.Q4_0.GGUF", &shard(0, 1, 1, &[("w", 1)]));
    write(folder.path(), "README.md", b"about it");
    std::fs::create_dir(folder.path().join("other.gguf")).unwrap();
    assert!(Model::open(folder.path()).unwrap().names().eq(["w"]));
}

#[test]
fn what_is_not_clear_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let error = Model::open(folder).unwrap_err();
    assert_eq!(error.code(), "MO-NOTHING-FOUND");
    assert!(error.to_string().ends_with("; it is empty"), "{error}");
    std::fs::create_dir(folder.join("inner")).unwrap();
    let error = Model::open(folder).unwrap_err();
    assert!(error.to_string().ends_with("; found: \"inner/\""), "{error}");
    std::fs::remove_dir(folder.join("inner")).unwrap();

    // A part of a set alone would be taken for the whole.
    write(folder, "model-00002-of-00003.safetensors", &safetensors("", &[]));
    write(folder, "config\u{1b}.json", b"{}");
    let error = Model::open(folder).unwrap_err();
    assert_eq!(error.code(), "MO-NOTHING-FOUND");
    let shown = error.to_string();
    assert!(shown.ends_with(r#"found: "config\u{1b}.json", "model-00002-of-00003.safetensors""#), "{shown}");

    split(folder);
    write(folder, "mmproj.gguf", &shard(0, 1, 0, &[]));
    let error = Model::open(folder).unwrap_err();
    assert_eq!((error.code(), error.path()), ("MO-AMBIGUOUS", folder));
    let shown = error.to_string();
    assert!(shown.ends_with(r#""m-00001-of-00003.gguf", "mmproj.gguf""#), "{shown}");
    for number in 0..20 {
        write(folder, &format!("x{number:02}.gguf"), b"");
    }
    let shown = Model::open(folder).unwrap_err().to_string();
    assert!(shown.ends_with(r#""x07.gguf" and 12 more"#), "{shown}");
}

#[test]
fn a_split_without_its_first_file_is_not_begun_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let first = split(folder.path());
    std::fs::remove_file(&first).unwrap();
    let error = Model::open(folder.path()).unwrap_err();
    assert_eq!((error.code(), error.path()), ("IO-NOT-FOUND", &*first));
}

#[cfg(unix)]
#[test]
fn links_are_followed_as_in_caches_of_downloads() {
    use std::os::unix::fs::symlink;

    let cache = tempfile::tempdir().unwrap();
    let (blobs, snapshot) = (cache.path().join("blobs"), cache.path().join("snapshots"));
    std::fs::create_dir(&blobs).unwrap();
    std::fs::create_dir(&snapshot).unwrap();
    sharded(&blobs);
    for (number, name) in ["model.safetensors.index.json", "one.safetensors", "two.safetensors"].iter().enumerate()
    {
        std::fs::rename(blobs.join(name), blobs.join(number.to_string())).unwrap();
        symlink(format!("../blobs/{number}"), snapshot.join(name)).unwrap();
    }
    assert!(Model::open(&snapshot).unwrap().names().eq(["a", "b", "c"]));
    let link = cache.path().join("link");
    symlink(snapshot.join("one.safetensors"), &link).unwrap();
    assert!(Model::open(&link).unwrap().names().eq(["b"]));

    // A download that is not finished: the link is there, and what it leads to is not.
    std::fs::remove_file(blobs.join("1")).unwrap();
    let error = Model::open(&snapshot).unwrap_err();
    assert_eq!(error.code(), "IX-SHARD-MISSING");
    std::fs::remove_file(blobs.join("0")).unwrap();
    assert_eq!(code(Model::open(&snapshot)), "IO-NOT-FOUND");
    symlink("loop", cache.path().join("loop")).unwrap();
    assert_eq!(code(Model::open(cache.path().join("loop"))), "IO-READ");
}
