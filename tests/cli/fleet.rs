//! `tensorgate check` over many files: order, policies, baselines, the cache.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{bytes, cases, file};
use crate::{Run, run, sound};

/// A header of one tensor.
fn one(name: &str, dtype: &str, shape: &str, end: usize) -> Vec<u8> {
    let header = format!("{{\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{end}]}}}}");
    let missing = header.len().next_multiple_of(8) - header.len();
    file(&format!("{header}{}", " ".repeat(missing)), &vec![0; end])
}

/// A GGUF file of that architecture, without tensors.
fn gguf(architecture: &str) -> Vec<u8> {
    let text = |text: &str| [&u64::try_from(text.len()).unwrap().to_le_bytes(), text.as_bytes()].concat();
    let count = |count: u64| count.to_le_bytes().to_vec();
    let parts = [
        b"GGUF\x03\0\0\0".to_vec(),
        count(0),
        count(1),
        text("general.architecture"),
        8_u32.to_le_bytes().to_vec(),
        text(architecture),
    ];
    parts.concat()
}

/// Codes by path, of a run with `--format jsonl`.
fn codes(run: &Run) -> Vec<(String, Option<String>)> {
    let pair = |line: &Value| (line["path"].as_str().unwrap().to_owned(), line["code"].as_str().map(str::to_owned));
    run.lines().iter().map(pair).collect()
}

fn code(folder: &Path, args: &[&str]) -> (i32, Option<String>) {
    let run = run(folder, &[&["check", "--format=jsonl"], args].concat());
    let first = codes(&run).first().and_then(|(_, code)| code.clone());
    (run.code, first)
}

#[test]
fn any_number_of_threads_says_the_same_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let all = cases("safetensors.json");
    for (number, case) in all.iter().enumerate() {
        fs::write(folder.path().join(format!("{number:04}.safetensors")), bytes(case)).unwrap();
    }
    let alone = run(folder.path(), &["check", ".", "--format=json", "--jobs=1"]);
    for jobs in ["--jobs=2", "--jobs=7"] {
        let many = run(folder.path(), &["check", ".", "--format=json", jobs]);
        assert_eq!((many.code, many.out == alone.out), (1, true), "{jobs}");
    }
}

#[test]
fn fail_fast_ends_with_the_first_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let bytes = if number < 5 { sound() } else { b"short".to_vec() };
        fs::write(folder.path().join(format!("{number:02}.safetensors")), bytes).unwrap();
    }
    for jobs in ["--jobs=1", "--jobs=4"] {
        let ended = run(folder.path(), &["check", ".", "--fail-fast", "--format=json", jobs]);
        let document: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!((ended.code, document["files"].as_array().unwrap().len()), (1, 6));
        let summary =
            json!({"accepted": 5, "rejected": 1, "unreadable": 0, "skipped": 0, "known": 0, "unchecked": 34});
        assert_eq!(document["summary"], summary);
    }
    let human = run(folder.path(), &["check", ".", "--fail-fast"]);
    assert!(human.out.ends_with("0 skipped, 34 not checked any more\n"), "{}", human.out);
}

#[test]
fn a_report_in_a_file_is_the_one_that_would_be_printed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.safetensors"), sound()).unwrap();
    let printed = run(folder.path(), &["check", "a.safetensors"]);
    let written = run(folder.path(), &["check", "a.safetensors", "--output", "report.txt"]);
    assert_eq!((written.code, written.out.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(folder.path().join("report.txt")).unwrap(), printed.out);
    let lost = run(folder.path(), &["check", "a.safetensors", "--output", "none/report.txt"]);
    assert!(lost.code == 2 && lost.err.contains("report.txt"), "{}", lost.err);
}

#[test]
fn a_policy_says_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    fs::create_dir_all(folder.path().join("models/old")).unwrap();
    write("models/f32.safetensors", &one("a", "F32", "[1]", 4));
    write("models/f64.safetensors", &one("a", "F64", "[1]", 8));
    write("models/llama.gguf", &gguf("llama"));
    write("models/odd.gguf", &gguf("odd"));
    write("models/old/bad.safetensors", b"short");
    let policy = "dtypes = [\"f32\"]\narchitectures = [\"llama\"]\n[files]\nexclude = [\"models/old/**\"]\n";
    write("tensorgate.toml", policy.as_bytes());
    let found = run(folder.path(), &["check", "models", "--format=json"]);
    let document: Value = serde_json::from_str(&found.out).unwrap();
    let seen: Vec<_> = document["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["path"].as_str(), file["code"].as_str()))
        .collect();
    let want = [
        (Some("models/f32.safetensors"), None),
        (Some("models/f64.safetensors"), Some("PO-DTYPE")),
        (Some("models/llama.gguf"), None),
        (Some("models/odd.gguf"), Some("PO-ARCHITECTURE")),
    ];
    assert_eq!((found.code, seen), (1, want.to_vec()));
    assert_eq!((&document["summary"]["skipped"], &document["policy"]), (&json!(1), &json!("tensorgate.toml")));
    let message = document["files"][1]["message"].as_str().unwrap();
    assert!(message.contains("first: \"a\", F64"), "{message}");
    assert_eq!(found.err, "tensorgate: the policy is tensorgate.toml\n");
    // It is found from below, and its patterns stay its own; what is named is judged all the same.
    let below = run(&folder.path().join("models"), &["check", "old", "f64.safetensors", "--format=jsonl"]);
    assert_eq!(codes(&below), [("f64.safetensors".to_owned(), Some("PO-DTYPE".to_owned()))]);
    assert_eq!(code(folder.path(), &["models/old/bad.safetensors"]).1.as_deref(), Some("FT-TEXT"));
    assert_eq!(code(folder.path(), &["models/f64.safetensors", "--no-policy"]), (0, None));
    write("other.toml", b"formats = [\"gguf\"]\n");
    let named = ["models/f32.safetensors", "--policy=other.toml"];
    assert_eq!(code(folder.path(), &named), (1, Some("PO-FORMAT".to_owned())));
}

#[test]
fn the_types_of_shards_count_too() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("x.safetensors", &one("a", "F64", "[1]", 8));
    let index = r#"{"metadata":{"total_size":8},"weight_map":{"a":"x.safetensors"}}"#;
    write("model.safetensors.index.json", index.as_bytes());
    write("tensorgate.toml", b"dtypes = [\"F32\"]\n");
    let index = "model.safetensors.index.json";
    assert_eq!(code(folder.path(), &[index]), (1, Some("PO-DTYPE".to_owned())));
    write("tensorgate.toml", b"dtypes = [\"F64\"]\n");
    assert_eq!(code(folder.path(), &[index]), (0, None));
}

#[test]
fn rules_count_as_much_as_the_policy_says() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("a.safetensors", &one("../a", "U8", "[]", 1));
    let findings = |policy: &str| {
        write("tensorgate.toml", policy.as_bytes());
        let run = run(folder.path(), &["check", "a.safetensors", "--format=jsonl"]);
        let line = run.lines()[0].clone();
        let notes = line["findings"].as_array().unwrap().iter();
        let notes: Vec<String> =
            notes.map(|note| format!("{} {}", note["severity"], note["code"]).replace('"', "")).collect();
        (run.code, line["code"].as_str().map(str::to_owned), notes)
    };
    let (scalar, path) = ("note ST-NOTE-SCALAR".to_owned(), "warning ST-NOTE-NAME-PATH".to_owned());
    assert_eq!(findings(""), (0, None, vec![scalar.clone(), path]));
    assert_eq!(findings("rules.\"ST-NOTE-NAME-PATH\" = \"off\"\n"), (0, None, vec![scalar.clone()]));
    let error = Some("ST-NOTE-NAME-PATH".to_owned());
    assert_eq!(findings("rules.\"ST-NOTE-NAME-*\" = \"error\"\n"), (1, error.clone(), vec![scalar]));
    let both = "[rules]\n\"ST-*\" = \"off\"\n\"ST-NOTE-SCALAR\" = \"warn\"\n";
    assert_eq!(findings(both), (0, None, vec!["warning ST-NOTE-SCALAR".to_owned()]));
    // Only for some paths.
    let elsewhere = "[[override]]\npaths = [\"b/**\"]\nrules.\"ST-NOTE-NAME-PATH\" = \"error\"\n";
    assert_eq!(findings(elsewhere).0, 0);
    assert_eq!(findings(&elsewhere.replace("b/**", "*.safetensors")).1, error);
}

#[test]
fn limits_of_the_policy_give_way_to_those_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("a.safetensors", &file(" {}", b""));
    write("tensorgate.toml", b"relax = [\"leading-space\"]\n[limits]\nheader = 2\n");
    assert_eq!(code(folder.path(), &["a.safetensors"]), (1, Some("ST-HEADER-LIMIT".to_owned())));
    assert_eq!(code(folder.path(), &["a.safetensors", "--max-header=3"]), (0, None));
    assert_eq!(code(folder.path(), &["a.safetensors", "--no-policy"]), (1, Some("ST-LEADING-SPACE".to_owned())));
}

#[test]
fn a_policy_that_is_wrong_stops_everything() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.safetensors"), sound()).unwrap();
    for (policy, what) in [
        ("rules.\"ST-GAP\" = \"off\"\n", "nothing is proved"),
        ("rules.\"ST-GAAP\" = \"error\"\n", "did you mean ST-GAP?"),
        ("dtype = [\"F32\"]\n", "dtypes"),
        ("limits = 7\n", "line 1"),
        ("\u{1b}[2J\n", "line 1"),
    ] {
        fs::write(folder.path().join("tensorgate.toml"), policy).unwrap();
        let run = run(folder.path(), &["check", "a.safetensors"]);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{policy}");
        assert!(run.err.contains("tensorgate.toml") && run.err.contains(what), "{policy}: {}", run.err);
    }
    let missing = run(folder.path(), &["check", "a.safetensors", "--policy", "none.toml"]);
    assert!(missing.code == 2 && missing.err.contains("none.toml"), "{}", missing.err);
}

#[test]
fn what_is_in_the_baseline_counts_no_longer_until_the_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("a.safetensors", &file("[]", b""));
    write("b.safetensors", &one("../a", "U8", "[1]", 1));
    let check = |more: &[&str]| run(folder.path(), &[&["check", ".", "--format=json"], more].concat());
    let summary = |run: &Run| serde_json::from_str::<Value>(&run.out).unwrap()["summary"].clone();
    assert_eq!(check(&[]).code, 1);
    assert_eq!(check(&["--baseline=known.json"]).code, 2, "there is none");
    let written = check(&["--baseline=known.json", "--write-baseline"]);
    assert_eq!(written.code, 0);
    assert!(written.err.contains("2 findings written"), "{}", written.err);
    let again = check(&["--baseline=known.json"]);
    let counts = json!({"accepted": 1, "rejected": 0, "unreadable": 0, "skipped": 1, "known": 1, "unchecked": 0});
    assert_eq!((again.code, summary(&again), again.err.as_str()), (0, counts, ""));
    let document: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(
        (&document["files"][0]["known"], &document["files"][1]["findings"][0]["known"]),
        (&json!(true), &json!(true))
    );
    // From another folder the paths are the same.
    fs::create_dir(folder.path().join("sub")).unwrap();
    let elsewhere = run(&folder.path().join("sub"), &["check", "../a.safetensors", "--baseline=../known.json"]);
    assert_eq!(elsewhere.code, 0, "{}", elsewhere.out);
    let absolute = folder.path().join("a.safetensors");
    let absolute =
        run(&folder.path().join("sub"), &["check", absolute.to_str().unwrap(), "--baseline=../known.json"]);
    assert_eq!(absolute.code, 0, "{}", absolute.out);
    // The same fault in other bytes is not what was looked at.
    write("a.safetensors", &file("[ ]", b""));
    let changed = check(&["--baseline=known.json"]);
    assert_eq!((changed.code, &summary(&changed)["rejected"]), (1, &json!(1)));
    assert!(changed.err.contains("1 finding of the baseline not found again"), "{}", changed.err);
    write("a.safetensors", &file("[]", b""));
    write("c.safetensors", b"short");
    assert_eq!(check(&["--baseline=known.json"]).code, 1);
    write("known.json", b"{\"version\":9,\"findings\":[]}");
    assert!(check(&["--baseline=known.json"]).err.contains("version is 9"));
}

#[test]
fn nothing_is_written_over_but_what_is_of_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refused = |args: &[&str]| {
        let told = run(folder.path(), &[&["check", "a.safetensors"], args].concat());
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{args:?}");
        told.err
    };
    fs::write(at("a.safetensors"), sound()).unwrap();
    fs::write(at("other"), "what somebody wrote").unwrap();
    for option in ["--cache", "--output", "--write-baseline --baseline"] {
        let mut args: Vec<&str> = option.split(' ').collect();
        args.push("./a.safetensors");
        refused(&args);
    }
    assert!(refused(&["--cache=other"]).contains("is no cache"));
    assert!(refused(&["--baseline=other", "--write-baseline"]).contains("is no baseline"));
    let twice = refused(&["--baseline=new", "--write-baseline", "--output", "./new"]);
    assert!(twice.contains("written twice"), "{twice}");
    assert_eq!(fs::read(at("a.safetensors")).unwrap(), sound());
    assert_eq!(fs::read_to_string(at("other")).unwrap(), "what somebody wrote");
    assert!(!at("new").exists());
}

#[cfg(unix)]
#[test]
fn a_policy_that_cannot_be_read_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.safetensors"), sound()).unwrap();
    let policy = folder.path().join("tensorgate.toml");
    let check = || run(folder.path(), &["check", "a.safetensors"]);
    for target in ["nowhere", "/dev/zero", "."] {
        std::os::unix::fs::symlink(target, &policy).unwrap();
        let told = check();
        assert!(told.code == 2 && told.err.contains("cannot be used"), "{target}: {}", told.err);
        fs::remove_file(&policy).unwrap();
    }
    assert_eq!(check().code, 0);
}

/// `##[` and `##vso[` are commands to runners, wherever in a line they stand.
#[test]
fn names_are_no_commands_in_any_form() {
    let folder = tempfile::tempdir().unwrap();
    let name = "##[error]##vso[task.complete]###[x]";
    fs::write(folder.path().join(format!("{name}.safetensors")), one(name, "F32", "[2]", 8)).unwrap();
    fs::write(folder.path().join(format!("{name}2.safetensors")), b"x").unwrap();
    for format in ["human", "json", "jsonl", "sarif", "junit", "github"] {
        let told = run(folder.path(), &["check", ".", "-v", "--format", format]);
        assert_eq!(told.code, 1);
        assert!(!told.out.contains("##") && !told.err.contains("##"), "{format}: {}", told.out);
    }
    let shown = run(folder.path(), &["inspect", &format!("{name}.safetensors")]);
    // A bar is made of `#` too.
    let commands = ["##[", "##v"].iter().filter(|command| shown.out.contains(**command)).count();
    assert_eq!((shown.code, commands), (0, 0), "{}", shown.out);
}

#[cfg(unix)]
mod cache {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// An entry as the program writes it, of a file as it is now.
    fn entry(path: &Path) -> String {
        let state = path.metadata().unwrap();
        let entry = json!({
            "path": path.to_str().unwrap(),
            "identity": {
                "dev": state.dev(), "ino": state.ino(), "size": state.size(),
                "mtime": [state.mtime(), state.mtime_nsec()], "ctime": [state.ctime(), state.ctime_nsec()],
            },
            "format": "safetensors", "tensors": 1, "data": null, "findings": [["note", "ST-NOTE-SCALAR", 9, "kept"]],
        });
        format!("{entry}\n")
    }

    #[test]
    fn a_file_that_changed_is_judged_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (path, cache) = (folder.join("a.safetensors"), folder.join("cache"));
        fs::write(&path, one("a", "U8", "[1]", 1)).unwrap();
        let check = |more: &[&str]| {
            let base = ["check", "a.safetensors", "--cache=cache", "--format=jsonl"];
            let run = run(&folder, &[&base, more].concat());
            (run.code, run.lines()[0]["code"].clone(), run.out.contains("\"kept\""))
        };
        // What was just written is not kept: it may be written again in the same moment.
        assert_eq!(check(&[]), (0, Value::Null, false));
        let head = fs::read_to_string(&cache).unwrap();
        assert_eq!(head.lines().count(), 1);
        let kept = format!("{head}{}", entry(&path));
        fs::write(&cache, &kept).unwrap();
        assert_eq!(check(&[]), (0, Value::Null, true));
        let human = run(&folder, &["check", "a.safetensors", "--cache=cache"]);
        assert!(human.out.ends_with("1 of the accepted known from the cache\n"), "{}", human.out);
        // Other terms: nothing of it counts.
        for more in [&["--max-header=1000"][..], &["--deep"], &["--allow=trailing"]] {
            fs::write(&cache, &kept).unwrap();
            assert_eq!(check(more), (0, Value::Null, false), "{more:?}");
        }
        fs::write(folder.join("tensorgate.toml"), "dtypes = [\"F32\"]\n").unwrap();
        fs::write(&cache, &kept).unwrap();
        assert_eq!(check(&[]), (1, json!("PO-DTYPE"), false));
        fs::remove_file(folder.join("tensorgate.toml")).unwrap();
        // Other bytes of the same length, with the time set back as it was.
        let time = path.metadata().unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut bad = one("a", "U8", "[1]", 1);
        bad[10] = b'\xff';
        let file = fs::File::options().write(true).open(&path).unwrap();
        std::io::Write::write_all(&mut &file, &bad).unwrap();
        file.set_modified(time).unwrap();
        fs::write(&cache, &kept).unwrap();
        assert_eq!(check(&[]), (1, json!("JS-UTF8"), false));
        // Another file in its place.
        fs::write(folder.join("b"), b"short").unwrap();
        fs::rename(folder.join("b"), &path).unwrap();
        assert_eq!(check(&[]).0, 1);
    }

    #[test]
    fn what_is_odd_in_a_cache_is_judged_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (path, cache) = (folder.join("a.safetensors"), folder.join("cache"));
        fs::write(&path, one("a", "U8", "[1]", 1)).unwrap();
        let check = || run(&folder, &["check", "a.safetensors", "--cache=cache", "--format=jsonl"]);
        check();
        let head = fs::read_to_string(&cache).unwrap();
        for line in [
            entry(&path).replace("ST-NOTE-SCALAR", "ST-NOTE-SCALER"),
            entry(&path).replace("\"safetensors\"", "\"index\""),
            entry(&path).replace("\"note\"", "\"fine\""),
            entry(&path).replace("\"tensors\"", "\"tensor\""),
            "{}\n".to_owned(),
            "\u{1b}".to_owned(),
        ] {
            fs::write(&cache, format!("{head}{line}")).unwrap();
            let run = check();
            assert!(run.code == 0 && !run.out.contains("\"kept\""), "{line}: {}", run.out);
        }
        fs::write(&cache, format!("{}{}", head.replace("0.", "9."), entry(&path))).unwrap();
        assert!(!check().out.contains("\"kept\""));
        // Whoever may write to the cache could have anything accepted.
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o666)).unwrap();
        let open = check();
        assert!(open.code == 2 && open.err.contains("written by others"), "{}", open.err);
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o664)).unwrap();
        assert_eq!(check().code, 2);
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(check().code, 0);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let open = check();
        assert!(open.code == 2 && open.err.contains("lies in a folder"), "{}", open.err);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&cache, folder.join("real")).unwrap();
        std::os::unix::fs::symlink("real", &cache).unwrap();
        assert!(check().err.contains("symbolic link"));
    }

    /// A write through a mapping there is never seen in the file's times.
    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_is_kept_of_files_in_memory() {
        let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: there is no /dev/shm");
            return;
        };
        let beside = tempfile::tempdir().unwrap();
        let (path, cache) = (memory.path().join("a.safetensors"), beside.path().join("cache"));
        fs::write(&path, sound()).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(9_999);
        fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        let args = ["check", path.to_str().unwrap(), "--cache", cache.to_str().unwrap()];
        assert_eq!(run(beside.path(), &args).code, 0);
        assert_eq!(fs::read_to_string(&cache).unwrap().lines().count(), 1, "the head alone");
    }
}
