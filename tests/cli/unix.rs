//! What only Unix has: pipes, links, devices, names of any bytes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::file;
use crate::{Run, run, sound, tensorgate};

#[test]
fn a_named_pipe_is_read_where_it_is_named_and_not_where_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.safetensors");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let found = run(folder.path(), &["check", ".", "--format=jsonl"]);
    assert_eq!((found.code, found.lines()[0]["code"].as_str()), (2, Some("IO-NOT-REGULAR")));
    let writer = std::thread::spawn(move || File::options().write(true).open(path).unwrap().write_all(&sound()));
    let named = run(folder.path(), &["check", "pipe.safetensors"]);
    writer.join().unwrap().unwrap();
    assert_eq!(named.code, 0, "{}", named.out);
}

#[test]
fn links_to_files_are_followed_and_links_to_directories_are_not() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    fs::write(outside.path().join("far.safetensors"), sound()).unwrap();
    fs::create_dir(at("sub")).unwrap();
    symlink(outside.path().join("far.safetensors"), at("link.safetensors")).unwrap();
    symlink(outside.path(), at("elsewhere")).unwrap();
    symlink(outside.path(), at("dir.safetensors")).unwrap();
    symlink("..", at("sub/loop")).unwrap();
    symlink("missing", at("broken.safetensors")).unwrap();
    symlink("/dev/zero", at("zero.safetensors")).unwrap();
    let found = run(folder.path(), &["check", ".", "--format=jsonl"]);
    let seen: Vec<(String, String)> = found
        .lines()
        .iter()
        .map(|line| (line["path"].as_str().unwrap().to_owned(), line["code"].as_str().unwrap_or("ok").to_owned()))
        .collect();
    let want = [("broken", "IO-NOT-FOUND"), ("link", "ok"), ("zero", "IO-NOT-REGULAR")];
    assert_eq!(seen, want.map(|(name, code)| (format!("./{name}.safetensors"), code.to_owned())));
    assert_eq!(run(folder.path(), &["check", "elsewhere"]).code, 0, "a link that is named is followed");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..3000 {
        fs::write(folder.path().join(format!("{number}.safetensors")), b"bad").unwrap();
    }
    for args in [&["check", "."][..], &["check", "--format=jsonl", "."], &["check", "--format=json", "."]] {
        let mut child = tensorgate()
            .current_dir(folder.path())
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 20]).unwrap();
        let ended = Run::of(child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.err.as_str()), (2, ""), "{args:?}");
    }
}

#[test]
fn nothing_from_a_file_or_a_path_reaches_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "\u{7f}\u{9b}2J\u{202e}\\u001b]0;x\\u0007\\u0000\\n\\r";
    let header = format!(
        "{{\"__metadata__\":{{\"k{hostile}\":\"v{hostile}\"}},\"a{hostile}.0.{hostile}b\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}}}"
    );
    let bad = format!("{{\"{hostile}\":\u{1b}[31m}}");
    let name = |tail: &[u8]| folder.path().join(OsStr::from_bytes(&[b"x\x1b[2J\n\xff\xe2\x80\xae", tail].concat()));
    fs::write(name(b"good.safetensors"), file(&header, &[1])).unwrap();
    fs::write(name(b"bad.safetensors"), file(&bad, &[])).unwrap();
    fs::write(name(b"raw.safetensors"), b"\x1b[2J\x9b\x07\xff\x00\x1b").unwrap();
    // `Run` asserts that all output is printable ASCII.
    for format in ["human", "json", "jsonl"] {
        let whole = run(folder.path(), &["check", ".", "--format", format]);
        assert_eq!((whole.code, whole.err.as_str()), (1, ""));
    }
    let verbose = run(folder.path(), &["check", ".", "--verbose"]);
    assert!(verbose.out.contains("x\\u{1b}[2J\\n\\xff\\u{202e}good.safetensors"), "{}", verbose.out);
    assert!(verbose.out.contains("ST-NOTE-NAME-CONTROL") && verbose.out.contains("ST-NOTE-META-CONTROL"));
    let found = run(folder.path(), &["check", ".", "--format", "jsonl"]);
    assert!(found.lines().iter().all(|line| line["path_hex"].as_str().unwrap().starts_with("2e2f781b5b324a0aff")));
    for file in [name(b"good.safetensors"), name(b"bad.safetensors"), name(b"raw.safetensors"), name(b"none")] {
        for option in [None, Some("--all"), Some("--json")] {
            let shown = Run::of(tensorgate().arg("inspect").arg(&file).args(option).output().unwrap());
            if option == Some("--json") {
                assert_eq!(shown.lines().len(), 1);
            }
        }
    }
}

#[test]
fn endless_input_ends() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = run(folder.path(), &["check", "/dev/zero", "--format=jsonl"]);
    assert_eq!((zeros.code, zeros.lines()[0]["code"].as_str()), (1, Some("FT-ZEROS")));
    let more = endless(&sound(), &[]);
    assert_eq!((more["code"].as_str(), more["offset"].as_u64()), (Some("ST-DATA-TRAILING"), Some(156)));
    assert!(more["size"].is_null());
    let huge = format!("{{\"a\":{{\"dtype\":\"U8\",\"shape\":[{0}],\"data_offsets\":[0,{0}]}}}}", 1_u64 << 50);
    let given_up = endless(&file(&huge, b""), &["--max-stream", "3000000"]);
    assert_eq!(
        (given_up["code"].as_str(), given_up["verdict"].as_str()),
        (Some("IO-STREAM-LIMIT"), Some("unreadable"))
    );
    // GGUF: a file without tensors, padded to 32; and one of a tensor of 2^40 elements.
    let more = endless(b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", &[]);
    assert_eq!((more["code"].as_str(), more["offset"].as_u64()), (Some("GG-DATA-TRAILING"), Some(32)));
    let mut huge = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    huge.extend_from_slice(b"\x01\0\0\0\0\0\0\0w\x01\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let given_up = endless(&huge, &["--max-stream", "3000000"]);
    assert_eq!(given_up["code"], "IO-STREAM-LIMIT", "{given_up}");
    let index = format!("{:<600}", "{\"weight_map\":{}}");
    let given_up = endless(index.as_bytes(), &["--max-stream", "3000000"]);
    assert_eq!(given_up["code"], "IO-STREAM-LIMIT", "{given_up}");
}

/// The report on standard input that begins with `head` and goes on for ever.
fn endless(head: &[u8], args: &[&str]) -> Value {
    let mut child = tensorgate()
        .args(["check", "-", "--format=jsonl"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(head).unwrap();
    while stdin.write_all(&[0; 4096]).is_ok() {}
    let ended = Run::of(child.wait_with_output().unwrap());
    ended.lines()[0].clone()
}

#[test]
fn a_tebibyte_is_judged_from_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.safetensors");
    let (elements, bytes) = (1_u64 << 38, 1_u64 << 40);
    let header = format!("{{\"w\":{{\"dtype\":\"F32\",\"shape\":[{elements}],\"data_offsets\":[0,{bytes}]}}}}");
    fs::write(&path, file(&header, b"")).unwrap();
    let len = fs::metadata(&path).unwrap().len() + bytes;
    if let Err(error) = File::options().write(true).open(&path).unwrap().set_len(len) {
        eprintln!("skipped: this file system has no sparse file of 1 TiB: {error}");
        return;
    }
    // To read it would take minutes.
    let start = Instant::now();
    let judged = run(folder.path(), &["check", "large.safetensors", "--format=jsonl"]);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!((judged.code, judged.lines()[0]["size"].as_u64()), (0, Some(len)));
}

#[test]
fn a_page_may_have_a_name_that_is_no_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.safetensors"), crate::sound()).unwrap();
    let name = OsStr::from_bytes(b"\xff.HTML");
    let mut command = crate::tensorgate();
    let output =
        command.current_dir(folder.path()).args(["inspect", "m.safetensors", "--html"]).arg(name).output().unwrap();
    let told = crate::Run::of(output);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert!(std::fs::read(folder.path().join(name)).unwrap().starts_with(b"<!doctype html>"));
}
