//! Vocabularies that are not what they should be, and models that do not go with theirs: which file it is, what is wrong with
//! it, and how the program ends.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run;

/// A copy of the model in the repository.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("m")).unwrap();
    for name in ["model.safetensors", "config.json", "vocab.json", "merges.txt"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/austen").join(name);
        fs::copy(from, folder.path().join("m").join(name)).unwrap();
    }
    folder
}

/// What each of the commands says of the model in the folder.
#[track_caller]
fn says(folder: &Path, commands: &[&[&str]], code: i32, said: &str) {
    for args in commands {
        let shown = run(folder, args);
        assert_eq!((shown.code, shown.out.as_str()), (code, ""), "{args:?}: {}", shown.err);
        assert!(shown.err.contains(said), "{args:?}: {}", shown.err);
    }
}

const WRITE: &[&str] = &["generate", "m", "It is"];
const BENCH: &[&str] = &["bench", "m", "--rounds=1"];
const TOKENS: &[&str] = &["tokenize", "-t", "m", "It is"];

#[test]
fn a_fault_in_the_merges_has_their_path() {
    let folder = copy();
    let merges = folder.path().join("m/merges.txt");
    let text = fs::read_to_string(&merges).unwrap();
    fs::write(&merges, format!("#version: 0.2\nqqq zzz\n{text}")).unwrap();
    let pair: &[&str] = &["tokenize", "--vocab=m/vocab.json", "--merges=m/merges.txt", "x"];
    says(
        folder.path(),
        &[WRITE, TOKENS, pair],
        1,
        "tensorgate: m/merges.txt: TK-MERGE-SYMBOL in merges.txt, line 2",
    );
    fs::write(folder.path().join("m/vocab.json"), "{\"a\": -1}").unwrap();
    says(folder.path(), &[WRITE, TOKENS, pair], 1, "tensorgate: m/vocab.json: JS-INTEGER in vocab.json");
}

#[test]
fn a_byte_order_mark_is_called_one() {
    for (name, said) in [
        ("merges.txt", "m/merges.txt: TK-BOM in merges.txt, byte 0: the text begins with a byte order mark (BOM)"),
        ("vocab.json", "m/vocab.json: TK-BOM in vocab.json, byte 0: the text begins with a byte order mark (BOM)"),
    ] {
        let folder = copy();
        let path = folder.path().join("m").join(name);
        fs::write(&path, [b"\xEF\xBB\xBF", &fs::read(&path).unwrap()[..]].concat()).unwrap();
        says(folder.path(), &[WRITE, TOKENS], 1, said);
    }
    let folder = copy();
    let path = folder.path().join("m/config.json");
    fs::write(&path, [b"\xEF\xBB\xBF", &fs::read(&path).unwrap()[..]].concat()).unwrap();
    says(folder.path(), &[WRITE, BENCH], 1, "config.json is text behind a byte order mark (BOM)");
}

#[test]
fn a_part_of_a_vocabulary_is_told_from_the_whole() {
    let folder = copy();
    for name in ["vocab.json", "merges.txt"] {
        let said = format!(
            "m/{name}: it is no tokenizer.json, and a part of a vocabulary: name its folder (--tokenizer m), or both parts \
             (--vocab m/vocab.json --merges m/merges.txt)"
        );
        says(folder.path(), &[&["tokenize", "-t", &format!("m/{name}"), "x"]], 1, &said);
    }
    fs::remove_file(folder.path().join("m/merges.txt")).unwrap();
    says(
        folder.path(),
        &[WRITE, TOKENS],
        2,
        "m: vocab.json is in this folder, and merges.txt, which belongs to it, is not",
    );
    fs::remove_file(folder.path().join("m/vocab.json")).unwrap();
    says(folder.path(), &[WRITE, TOKENS], 2, "m: there is no vocabulary in this folder");
}

/// What was found and not named is read only where it is a regular file.
#[cfg(unix)]
#[test]
fn a_vocabulary_that_is_no_file_is_told() {
    let folder = copy();
    let vocab = folder.path().join("m/vocab.json");
    fs::remove_file(&vocab).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&vocab).status().unwrap().success());
    says(folder.path(), &[WRITE, TOKENS], 2, "m/vocab.json: it is no regular file");
    fs::remove_file(&vocab).unwrap();
    std::os::unix::fs::symlink("nowhere", &vocab).unwrap();
    says(folder.path(), &[WRITE, TOKENS], 2, "m/vocab.json: it is a link to nothing");
    // What only measures needs none.
    assert_eq!(run(folder.path(), BENCH).code, 0);
}

#[test]
fn a_vocabulary_of_other_size_is_the_files_fault() {
    let folder = copy();
    let path = folder.path().join("m/vocab.json");
    let mut vocab: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    vocab["zqzqzq"] = 1024.into();
    fs::write(&path, vocab.to_string()).unwrap();
    says(folder.path(), &[WRITE], 1, "m: the vocabulary has 1025 tokens, and the model knows 1024");
}

#[test]
fn a_gguf_file_without_a_vocabulary_says_what_it_lacks() {
    let folder = copy();
    let at = folder.path();
    assert_eq!(run(at, &["convert", "m", "a.gguf", "-q"]).code, 0);
    assert_eq!(run(at, &["metadata", "remove", "a.gguf", "tokenizer.ggml.model"]).code, 0);
    for key in ["tokens", "merges"] {
        let file = format!("{key}.gguf");
        assert_eq!(run(at, &["convert", "m", &file, "-q"]).code, 0);
        assert_eq!(run(at, &["metadata", "remove", &file, &format!("tokenizer.ggml.{key}")]).code, 0);
        let said = format!("{file}: its vocabulary lacks tokenizer.ggml.{key}");
        says(at, &[&["generate", &file, "It"], &["tokenize", "-t", &file, "It"]], 1, &said);
    }
    let (write, tokens): (&[&str], &[&str]) = (&["generate", "a.gguf", "It"], &["tokenize", "-t", "a.gguf", "It"]);
    says(at, &[write, tokens], 1, "a.gguf: it has tokens, and no tokenizer.ggml.model that says of what kind");
    assert_eq!(run(at, &["bench", "a.gguf", "--rounds=1"]).code, 0);
    assert_eq!(run(at, &["metadata", "remove", "a.gguf", "tokenizer.ggml.tokens"]).code, 0);
    says(at, &[write, tokens], 1, "a.gguf: there is no vocabulary in it: no tokenizer.ggml.model, and no tokens");
}

/// What the weights give is the file's fault, and a limit of the caller's is not.
#[test]
fn faults_of_the_file_are_told_from_limits() {
    let folder = copy();
    let at = folder.path();
    let limit = "is needed for";
    for command in
        [&["generate", "m", "It", "--max-memory=0"][..], &["generate", "m", "It", "--max-memory=0", "--repack"]]
    {
        let shown = run(at, command);
        assert!(shown.code == 2 && shown.out.is_empty(), "{}", shown.err);
        assert!(
            shown.err.contains("bytes of memory") && shown.err.contains("--max-memory"),
            "{limit}: {}",
            shown.err
        );
    }
    let long = fs::File::options().write(true).open(at.join("m/config.json")).unwrap();
    long.set_len(50 << 20).unwrap();
    says(at, &[WRITE, BENCH], 1, "m: config.json is 52428800 bytes long");
    let folder = copy();
    let model = folder.path().join("m/model.safetensors");
    let mut bytes = fs::read(&model).unwrap();
    let data = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    bytes[data..].fill(0xFF);
    fs::write(&model, bytes).unwrap();
    says(folder.path(), &[BENCH, &["generate", "m", "It", "--json"]], 1, "is not a finite number");
    let shown = run(folder.path(), &["generate", "m", "It", "-i"]);
    assert_eq!((shown.code, shown.err.contains("is not a finite number")), (1, true), "{}", shown.err);
}

#[test]
fn heads_that_the_config_does_not_give_are_said_to_be_missing() {
    let folder = copy();
    let path = folder.path().join("m/config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config.as_object_mut().unwrap().remove("n_head");
    config.as_object_mut().unwrap().remove("n_positions");
    fs::write(&path, config.to_string()).unwrap();
    let with = run(folder.path(), WRITE);
    assert!(with.code == 0 && with.err.contains("note: n_head is not given; 2 is taken, so that"), "{}", with.err);
    assert!(
        with.err.contains("note: n_positions is not given; n_ctx is, and 256 is taken from it"),
        "{}",
        with.err
    );
    fs::remove_file(&path).unwrap();
    let without = run(folder.path(), WRITE);
    assert!(without.err.contains("note: n_head is not given; 2 is taken, so that"), "{}", without.err);
    assert_eq!((without.code, without.out), (0, with.out));
}
