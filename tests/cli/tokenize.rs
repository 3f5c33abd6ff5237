//! `tensorgate tokenize`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{pipe, run, tensorgate};

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).to_str().unwrap().to_owned()
}

#[test]
fn text_to_ids_and_back() {
    // The ids are Hugging Face's, for the same vocabulary.
    let text = "It is a truth universally acknowledged, that";
    let want = "40 83 363 258 256 81 321 71 469 72 307 82 551 517 74 450 729 785 11 333";
    let (folder, model) = (Path::new("."), data("austen"));
    let shown = run(folder, &["tokenize", "--tokenizer", &model, text]);
    assert_eq!((shown.code, shown.out.as_str()), (0, format!("{want}\n").as_str()), "{}", shown.err);
    let (vocab, merges) = (data("austen/vocab.json"), data("austen/merges.txt"));
    assert_eq!(run(folder, &["tokenize", "--vocab", &vocab, "--merges", &merges, text]).out, shown.out);
    assert_eq!(pipe(text.as_bytes(), &["tokenize", "-t", &model]).out, shown.out);
    assert_eq!(run(folder, &["tokenize", "-t", &model, "--count", text]).out, "20\n");
    let one_by_one: Vec<&str> = want.split(' ').collect();
    for ids in [&[want][..], &one_by_one] {
        assert_eq!(run(folder, &[&["tokenize", "-t", &model, "--decode"], ids].concat()).out, text);
    }
    let several = run(folder, &["tokenize", "-t", &model, "It", "is"]);
    assert!(several.code == 2 && several.err.contains("put it in quotes"), "{}", several.err);
    assert_eq!(pipe(want.as_bytes(), &["tokenize", "-t", &model, "--decode"]).out, text);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let path = file.path().to_str().unwrap();
    let document: Value =
        serde_json::from_str(&run(folder, &["tokenize", "-t", &model, "--file", path, "--json"]).out).unwrap();
    assert_eq!(
        (&document["count"], &document["bytes"], &document["ids"][19]),
        (&json!(20), &json!(44), &json!(333))
    );
    assert_eq!(document["tokens"][0], "I");
}

#[test]
fn special_tokens_where_asked_for() {
    let model = data("tiny-gpt2");
    let count = |args: &[&str]| run(Path::new("."), &[&["tokenize", "-t", &model, "--count"], args].concat()).out;
    assert_eq!(count(&["--special", "<|endoftext|>"]), "1\n");
    assert_ne!(count(&["<|endoftext|>"]), "1\n");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("vocab.json"), "{\"a\": 0}").unwrap();
    fs::write(folder.path().join("merges.txt"), "").unwrap();
    let bad = run(folder.path(), &["tokenize", "-t", ".", "x"]);
    assert_eq!(bad.code, 1);
    assert!(bad.err.contains("TK-BYTE-MISSING"), "{}", bad.err);
    let model = data("austen");
    for (args, word) in [
        (&["-t", "nowhere", "x"][..], "nowhere"),
        (&["-t", &model, "--decode", "1 1024"], "1024"),
        (&["-t", &model, "--decode", "one"], "no id"),
        (&["x"], "--tokenizer"),
        (&["--vocab", "vocab.json", "x"], "--merges"),
    ] {
        let shown = run(folder.path(), &[&["tokenize"], args].concat());
        assert_eq!(shown.code, 2, "{args:?}");
        assert!(shown.err.contains(word), "{args:?}: {}", shown.err);
    }
}

#[test]
fn an_input_without_an_end_is_refused_at_the_limit() {
    let model = data("austen");
    let count = ["tokenize", "-t", &model, "--count", "--max-input=1"];
    let all = vec![b' '; (1 << 20) + 1];
    let whole = pipe(&all[1..], &count);
    assert_eq!(whole.code, 0, "{}", whole.err);
    let long = pipe(&all, &count);
    assert_eq!((long.code, long.out.as_str()), (2, ""));
    let said = "standard input: it is longer than 1 MiB, the limit; --max-input, in MiB, allows more";
    assert!(long.err.contains(said), "{}", long.err);
    for decode in [&[][..], &["--decode"]] {
        if cfg!(unix) {
            let endless = ["tokenize", "-t", &model, "--file=/dev/zero", "--max-input=1"];
            let shown = run(Path::new("."), &[&endless, decode].concat());
            assert!(shown.code == 2 && shown.err.contains("/dev/zero: it is longer than 1 MiB"), "{}", shown.err);
        }
    }
    let help = run(Path::new("."), &["tokenize", "--help"]);
    assert!(help.out.contains("--max-input <MIB>") && help.out.contains("[default: 1024]"), "{}", help.out);
}

/// What an id stands for, the vocabulary says: on a terminal it is shown, and nothing of it acts there.
#[cfg(unix)]
#[test]
fn what_ids_stand_for_does_not_act_on_a_terminal() {
    const RUN: &str = "import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    os.write(1, part)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";
    let model = data("austen");
    let (text, shown) = ("a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}b", "a\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}b");
    let ids = run(Path::new("."), &["tokenize", "-t", &model, text]).out;
    let decode = ["tokenize", "-t", &model, "--decode", ids.trim()];
    assert_eq!(tensorgate().args(decode).output().unwrap().stdout, text.as_bytes());
    let mut command = std::process::Command::new("python3");
    let program = env!("CARGO_BIN_EXE_tensorgate");
    let Ok(ran) = command.args(["-c", RUN, program]).args(decode).stdin(std::process::Stdio::null()).output()
    else {
        eprintln!("skipped: python3 cannot be run");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&ran.stdout), shown, "{}", String::from_utf8_lossy(&ran.stderr));
}
