//! What the program says of itself: rules, completions, manual pages, versions, and the examples of its help.

use std::fs;
use std::path::Path;

use crate::{Run, pipe, run, sound};

/// The help of the program and of each command, by the command's words.
fn helps() -> Vec<(Vec<String>, String)> {
    let folder = tempfile::tempdir().unwrap();
    let mut all = vec![(Vec::new(), run(folder.path(), &["--help"]).out)];
    let mut place = 0;
    while let Some((words, help)) = all.get(place).cloned() {
        for name in commands(&help) {
            let words: Vec<String> = words.iter().chain(&[name]).cloned().collect();
            let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
            let help = run(folder.path(), &args);
            assert_eq!(help.code, 0, "{args:?}");
            all.push((words, help.out));
        }
        place += 1;
    }
    all
}

/// The commands that a help lists.
fn commands(help: &str) -> Vec<String> {
    let list = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap());
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|name| name != "help").collect()
}

#[test]
fn a_rule_has_its_page_and_a_typo_its_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    let explain = |code: &str| run(folder.path(), &["explain", code]);
    for code in ["ST-DUP-NAME", "st-dup-name"] {
        let page = explain(code);
        assert_eq!(page.code, 0);
        for part in
            ["ST-DUP-NAME  two tensors have the same name", "Meaning. ", "Why. ", "What to do. ", "Other readers."]
        {
            assert!(page.out.contains(part), "{part}: {}", page.out);
        }
        assert!(!page.out.contains("<!--") && !page.out.contains("**") && !page.out.contains('`'), "{}", page.out);
    }
    let row = explain("DT-NAN");
    assert!(row.out.contains("Severity. warning") && row.out.contains("(NaN)"), "{}", row.out);
    let policy = explain("PO-DTYPE");
    assert!(policy.out.contains("What to do. dtypes in tensorgate.toml lists"), "{}", policy.out);
    let wrong = explain("ST-DUP-NAMES");
    assert!(wrong.code == 2 && wrong.err.contains("did you mean ST-DUP-NAME?"), "{}", wrong.err);
    let list = run(folder.path(), &["explain", "--list"]);
    for kind in tensorgate::ErrorKind::ALL {
        let line = list.out.lines().find(|line| line.split(' ').next() == Some(kind.code())).unwrap();
        assert!(line.ends_with(kind.what()), "{line}");
    }
    for line in list.out.lines() {
        let code = line.split(' ').next().unwrap();
        assert!(
            ["PO-", "IO-", "MO-", "TG-", "FT-", "DT-", "ST-", "GG-", "IX-", "JS-"]
                .iter()
                .any(|start| code.starts_with(start))
        );
    }
}

#[test]
fn every_code_that_check_prints_can_be_explained() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let listed = run(&corpus, &["explain", "--list"]).out;
    let codes: Vec<&str> = listed.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let checked = run(&corpus, &["check", ".", "--deep", "--format=jsonl", "--no-policy"]);
    let mut seen = 0;
    for line in checked.lines() {
        let findings = line["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]);
        for code in findings.chain([&line["code"]]).filter_map(|code| code.as_str()) {
            assert!(codes.contains(&code), "{code}");
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn typos_in_commands_and_options_are_told_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.safetensors"), sound()).unwrap();
    for (args, meant) in [
        (&["chekc", "x"][..], "check"),
        (&["check", "--jbos=1", "x"], "--jobs"),
        (&["check", "--format=jsn", "x"], "json"),
        (&["man", "chek"], "did you mean check?"),
        (&["inspect", "a.safetensors", "--tensor=h.10.ww"], "did you mean \"h.10.w\"?"),
    ] {
        let run = run(folder.path(), args);
        assert!(run.code == 2 && run.err.contains(meant), "{args:?}: {}", run.err);
    }
}

#[test]
fn completions_and_pages_know_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let names = commands(&run(folder.path(), &["--help"]).out);
    assert!(names.len() >= 13, "{names:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = run(folder.path(), &["completions", shell]);
        assert_eq!(text.code, 0);
        assert!(names.iter().all(|name| text.out.contains(name)) && text.out.contains("fail-fast"), "{shell}");
    }
    assert_eq!(run(folder.path(), &["man", "--dir", "pages"]).code, 0);
    for name in &names {
        let page = fs::read_to_string(folder.path().join(format!("pages/tensorgate-{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        assert_eq!(run(folder.path(), &["man", name]).out, page);
    }
    // A page that another speaks of is there.
    let mut count = 0;
    for entry in fs::read_dir(folder.path().join("pages")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap().replace("\\-", "-");
        for (before, _) in text.match_indices("(1)").map(|(at, _)| text.split_at(at)) {
            let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap();
            assert!(name.ends_with("help") || folder.path().join(format!("pages/{name}.1")).is_file(), "{name}(1)");
            count += 1;
        }
    }
    assert!(count >= names.len() + 4, "{count}");
    let set = run(folder.path(), &["man", "metadata", "set"]).out;
    assert!(set.contains(r"\-\-type") && set == run(folder.path(), &["man", "metadata-set"]).out);
    let page = run(folder.path(), &["man"]).out;
    assert_eq!(page, fs::read_to_string(folder.path().join("pages/tensorgate.1")).unwrap());
    assert!(page.contains("Exit codes:"));
}

#[test]
fn the_version_says_what_this_build_can_do() {
    let folder = tempfile::tempdir().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(run(folder.path(), &["-V"]).out, format!("tensorgate {version}\n"));
    let long = run(folder.path(), &["--version"]).out;
    assert!(long.starts_with(&format!("tensorgate {version}\nfeatures  std, iq, cli")), "{long}");
    let level = tensorgate::simd::Level::best().name();
    assert!(long.contains(&format!("SIMD      {level} (")), "{long}");
    let lowered = Run::of(crate::tensorgate().arg("--version").env("TENSORGATE_SIMD", "scalar").output().unwrap());
    assert!(lowered.out.contains("SIMD      scalar ("), "{}", lowered.out);
}

#[test]
fn every_command_says_how_it_ends() {
    for (words, help) in helps() {
        for exit in ["Exit codes:", "  0  ", "  1  ", "  2  "] {
            assert!(help.contains(exit), "{words:?}: {help}");
        }
    }
}

/// What the examples speak of.
#[cfg(unix)]
fn furnish(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let at = |name: &str| folder.join(name);
    for name in ["models", "gpt2"] {
        fs::create_dir(at(name)).unwrap();
    }
    for entry in fs::read_dir(root.join("models/austen")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), at("gpt2").join(entry.file_name())).unwrap();
    }
    for name in ["model.safetensors", "models/a.safetensors", "odd.safetensors"] {
        fs::copy(at("gpt2/model.safetensors"), at(name)).unwrap();
    }
    let model = tensorgate::Model::open(at("model.safetensors")).unwrap();
    let map: serde_json::Map<String, serde_json::Value> =
        model.tensors().map(|tensor| (tensor.name().to_owned(), "model.safetensors".into())).collect();
    let index = serde_json::json!({"metadata": {"total_size": 1_914_368}, "weight_map": map});
    fs::write(at("model.safetensors.index.json"), index.to_string()).unwrap();
    fs::write(at("tensorgate.toml"), "dtypes = [\"F16\", \"F32\", \"U8\"]\n").unwrap();
    fs::write(at("accepted.json"), "{\"version\":1,\"findings\":[]}").unwrap();
    for args in [
        &["convert", "gpt2", "model.gguf", "-q"][..],
        &["metadata", "set", "model.gguf", "general.name=n", "general.url=x", "general.description=y", "-q"],
        &["convert", "gpt2", "model-f16.gguf", "--dtype=f16", "-q"],
        &["convert", "model.gguf", "merged.gguf", "-q"],
        &["convert", "model.gguf", "gpt2.gguf", "-q"],
        &["convert", "gpt2", "sharded/", "--max-shard-size=500kB", "-q"],
        &["convert", "model.gguf", "model.gguf", "--max-shard-size=700kB", "-q"],
        &["quantize", "model.gguf", "q8.gguf", "--type=q8_0", "-q"],
        &["quantize", "gpt2.gguf", "gpt2-q8_0.gguf", "--type=q8_0", "-q"],
        &["quantize", "gpt2.gguf", "gpt2-q4_k_m.gguf", "--type=q4_k_m", "-q"],
    ] {
        let made = run(folder, args);
        assert_eq!(made.code, 0, "{args:?}: {}", made.err);
    }
}

/// The same files in another folder. What is written there takes the place of a file, so that links will do.
#[cfg(unix)]
fn link(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (entry, target) = (entry.as_ref().unwrap().path(), to.join(entry.as_ref().unwrap().file_name()));
        if entry.is_dir() { link(&entry, &target) } else { fs::hard_link(&entry, &target).unwrap() }
    }
}

#[cfg(unix)]
#[test]
fn every_example_of_every_help_works() {
    use std::process::{Command, Stdio};
    let furnished = tempfile::tempdir().unwrap();
    furnish(furnished.path());
    let program = Path::new(env!("CARGO_BIN_EXE_tensorgate")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for (words, help) in helps() {
        let lines = help.split_once("Examples:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap());
        for line in lines.lines() {
            // What stands behind several spaces is a remark.
            let example = line.trim().split("   ").next().unwrap();
            assert!(example.contains("tensorgate "), "{words:?}: {example}");
            let folder = tempfile::tempdir_in(furnished.path().parent().unwrap()).unwrap();
            link(furnished.path(), folder.path());
            let mut command = Command::new("sh");
            command.args(["-c", example]).current_dir(folder.path()).env("PATH", &path).stdin(Stdio::null());
            let ran = command.output().unwrap();
            assert_eq!(ran.status.code(), Some(0), "{example}: {}", String::from_utf8_lossy(&ran.stderr));
            count += 1;
        }
    }
    assert!(count >= 55, "{count}");
}

#[test]
fn a_message_says_what_happened_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let lost = run(folder.path(), &["check", "none.safetensors"]);
    assert!(lost.out.contains("IO-NOT-FOUND") && lost.out.contains("See that the file is there"), "{}", lost.out);
    let cut = pipe(&sound()[..20], &["inspect", "-"]);
    assert!(cut.code == 1 && cut.out.contains("at byte") && cut.out.contains("download"), "{}", cut.out);
}
