//! The forms of a report: each is what its readers expect, whatever files and tensors are called.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use quick_xml::events::Event;
use serde_json::{Value, json};

use crate::common::{bytes, cases, file, shared};
use crate::python::{available, run as python};
use crate::{pipe, run, sound};

/// Names that mean something to somebody.
const NAMES: [&str; 8] = [
    "plain",
    "::error file=x,title=y::z",
    "100%25 %0A##[error]",
    "<a href=\"x\">&amp;']]>",
    "javascript:alert(1)?a#b c",
    "[a](http:x) {0} {{1}}",
    "-e \u{1b}[2J\u{202e}\u{e9}\u{1f600}",
    "line\nbreak\rand\ttab\u{1}",
];

/// A folder in which each name is that of a file with a warning, and of one that is rejected, and of a tensor in both.
fn hostile() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (place, name) in NAMES.iter().enumerate() {
        let tensor = format!("../{name}");
        let entry = format!("{}:{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", json!(tensor));
        let warned = file(&format!("{{{entry}}}"), &[1]);
        let twice = file(&format!("{{{entry},{entry}}}"), &[1]);
        // No slash may be in a file's name.
        let name = name.replace('/', "|");
        let write = |name: String, bytes: &[u8]| fs::write(folder.path().join(name), bytes);
        // Some systems refuse such names.
        if write(format!("{name}.safetensors"), &warned).is_ok() {
            write(format!("{name}{place}.safetensors"), &twice).unwrap();
        }
    }
    folder
}

fn document(folder: &Path, args: &[&str]) -> Value {
    let run = run(folder, &[&["check"], args].concat());
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out))
}

/// The paths of the hostile files, as JSON has them.
fn paths(folder: &Path) -> Vec<String> {
    let document = document(folder, &[".", "--format=json"]);
    document["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

/// A path as people see it: everything but printable ASCII, the backslash, and one `#` behind another, escaped.
fn shown(path: &str) -> String {
    path.chars()
        .map(|c| if matches!(c, ' '..='[' | ']'..='~') { c.to_string() } else { c.escape_default().to_string() })
        .collect::<String>()
        .replace("##", "#\\u{23}")
}

/// That an object has the keys that the schema says, and no others; and so what is in it.
fn same_keys(schema: &Value, all: &Value, value: &Value) {
    if let Some(name) = schema["$ref"].as_str() {
        return same_keys(&all["$defs"][name.rsplit('/').next().unwrap()], all, value);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        return if value.is_null() { assert_eq!(any[1]["type"], "null") } else { same_keys(&any[0], all, value) };
    }
    if let Some(array) = value.as_array() {
        for item in array {
            same_keys(&schema["items"], all, item);
        }
        return;
    }
    let Some(object) = value.as_object() else { return };
    let known: BTreeSet<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let required: BTreeSet<&str> =
        schema["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    let own: BTreeSet<&str> = object.keys().map(String::as_str).collect();
    assert!(own.is_subset(&known) && own.is_superset(&required), "{own:?} {known:?} {required:?}");
    for key in own {
        same_keys(&schema["properties"][key], all, &object[key]);
    }
}

fn schema_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema/check.schema.json")
}

/// Documents of all kinds of files and runs, written into `folder`.
fn documents(folder: &Path) -> Vec<PathBuf> {
    for (number, case) in cases("safetensors.json").iter().chain(&cases("gguf.json")).enumerate() {
        fs::write(folder.join(format!("{number:04}.gguf")), bytes(case)).unwrap();
    }
    let deep = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/deep");
    let hostile = hostile();
    let baseline = folder.join("known.json");
    let baseline = format!("--baseline={}", baseline.to_str().unwrap());
    let mut all = Vec::new();
    for (place, (folder_of, args)) in [
        (folder, &["."][..]),
        (folder, &[".", "--fail-fast"]),
        (deep.as_path(), &[".", "--deep"]),
        (hostile.path(), &[".", &baseline, "--write-baseline"]),
        (hostile.path(), &[".", &baseline]),
        (folder, &["none"]),
    ]
    .into_iter()
    .enumerate()
    {
        let document = document(folder_of, &[args, &["--format=json"]].concat());
        let path = folder.join(format!("{place}.json"));
        fs::write(&path, serde_json::to_vec(&document).unwrap()).unwrap();
        all.push(path);
    }
    all
}

#[test]
fn json_is_what_the_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let documents = documents(folder.path());
    let schema: Value = serde_json::from_slice(&fs::read(schema_path()).unwrap()).unwrap();
    for path in &documents {
        let document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        same_keys(&schema, &schema, &document);
    }
    if available("schema.py") {
        let case = json!([{"schema": schema_path(), "documents": documents}]);
        let path = folder.path().join("case.json");
        fs::write(&path, serde_json::to_vec(&case).unwrap()).unwrap();
        python("schema.py", &path);
    }
}

/// The official schema of SARIF: it is not ours to ship.
fn sarif_schema() -> Option<PathBuf> {
    let named = std::env::var_os("SARIF_SCHEMA").map(PathBuf::from);
    named.or_else(|| Some(shared("schemas")?.join("sarif-schema-2.1.0.json"))).filter(|path| path.exists())
}

#[test]
fn sarif_says_the_same_as_json() {
    let folder = hostile();
    let plain = document(folder.path(), &[".", "none.gguf", "--format=json"]);
    let sarif = document(folder.path(), &[".", "none.gguf", "--format=sarif"]);
    let run = &sarif["runs"][0];
    let mut want = Vec::new();
    for file in plain["files"].as_array().unwrap() {
        if file["verdict"] == "rejected" {
            want.push((file["code"].clone(), "error", file["offset"].clone()));
        }
        for finding in file["findings"].as_array().unwrap() {
            let level = if finding["severity"] == "warning" { "warning" } else { "note" };
            want.push((finding["code"].clone(), level, finding["offset"].clone()));
        }
    }
    let results = run["results"].as_array().unwrap();
    let region = |result: &Value| result["locations"][0]["physicalLocation"]["region"]["byteOffset"].clone();
    let seen: Vec<_> = results
        .iter()
        .map(|result| (result["ruleId"].clone(), result["level"].as_str().unwrap(), region(result)))
        .collect();
    assert_eq!(seen, want);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let place = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[place]["id"], result["ruleId"]);
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/%".contains(c);
        assert!(uri.chars().all(plain), "{uri}");
        // No placeholder that nobody fills, and no link.
        let text = result["message"]["text"].as_str().unwrap();
        assert!(!text.replace("{{", "").replace("}}", "").contains(['{', '}']), "{text}");
        assert!(!text.replace("\\[", "").replace("\\]", "").contains(['[', ']']), "{text}");
    }
    let full = |rule: &Value| rule["fullDescription"]["text"].as_str().unwrap().to_owned();
    assert!(rules.iter().all(|rule| !full(rule).is_empty() && !full(rule).contains(['*', '`'])));
    let invocation = &run["invocations"][0];
    assert_eq!((&invocation["executionSuccessful"], &invocation["exitCode"]), (&json!(false), &json!(1)));
    assert_eq!(invocation["toolExecutionNotifications"][0]["descriptor"]["id"], "IO-NOT-FOUND");
}

#[test]
fn sarif_fits_its_official_schema() {
    let Some(schema) = sarif_schema() else {
        eprintln!("skipped: the schema of SARIF is not there (SARIF_SCHEMA names it)");
        return;
    };
    if !available("schema.py") {
        return;
    }
    let (folder, out) = (hostile(), tempfile::tempdir().unwrap());
    let baseline = format!("--baseline={}", out.path().join("known.json").to_str().unwrap());
    let mut documents = Vec::new();
    for (place, args) in [&["."][..], &[".", "none.gguf"], &[".", &baseline, "--write-baseline"], &["none.gguf"]]
        .into_iter()
        .enumerate()
    {
        let path = out.path().join(format!("{place}.sarif"));
        let output = format!("--output={}", path.to_str().unwrap());
        run(folder.path(), &[&["check", "--format=sarif", &output], args].concat());
        documents.push(path);
    }
    let case = out.path().join("case.json");
    fs::write(&case, serde_json::to_vec(&json!([{"schema": schema, "documents": documents}])).unwrap()).unwrap();
    python("schema.py", &case);
}

#[test]
fn junit_has_a_case_for_each_file_under_its_name() {
    let folder = hostile();
    let names: Vec<String> = paths(folder.path()).iter().map(|path| shown(path)).collect();
    let printed = run(folder.path(), &["check", ".", "--format=junit"]);
    let mut reader = quick_xml::Reader::from_str(&printed.out);
    let (mut seen, mut failures) = (Vec::new(), 0);
    loop {
        let event = reader.read_event().unwrap();
        if let Event::Start(start) = &event {
            let attribute = |name: &str| {
                let found = start.try_get_attribute(name).unwrap()?;
                Some(quick_xml::escape::unescape(std::str::from_utf8(&found.value).unwrap()).unwrap().into_owned())
            };
            match start.name().as_ref() {
                b"testsuites" => assert_eq!(attribute("tests"), Some(names.len().to_string())),
                b"testcase" => seen.push(attribute("name").unwrap()),
                b"failure" => {
                    failures += 1;
                    assert_eq!(attribute("type").as_deref(), Some("ST-DUP-NAME"));
                }
                _ => {}
            }
        }
        if matches!(event, Event::Eof) {
            break;
        }
    }
    assert_eq!((seen, failures), (names.clone(), names.len() / 2));
    if available("schema.py") {
        let path = folder.path().join("case.json");
        let xml = folder.path().join("report.xml");
        fs::write(&xml, &printed.out).unwrap();
        fs::write(&path, serde_json::to_vec(&json!([{"xml": [xml], "names": names}])).unwrap()).unwrap();
        python("schema.py", &path);
    }
}

#[test]
fn annotations_are_one_command_a_line_with_the_right_file() {
    let folder = hostile();
    let printed = run(folder.path(), &["check", ".", "--format=github"]);
    let (last, lines) =
        printed.out.lines().collect::<Vec<_>>().split_last().map(|(l, r)| (*l, r.to_vec())).unwrap();
    assert!(last.contains(" accepted, ") && !last.starts_with("::"), "{last}");
    // As the runner takes them apart.
    let decode = |text: &str| {
        let pairs = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")];
        pairs.iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
    };
    let mut files = BTreeSet::new();
    for line in &lines {
        let (head, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
        let (command, properties) = head.split_once(' ').unwrap();
        assert!(["error", "warning"].contains(&command) && !message.is_empty(), "{line}");
        let properties: Vec<(&str, &str)> =
            properties.split(',').map(|pair| pair.split_once('=').unwrap()).collect();
        assert_eq!(properties.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["file", "title"], "{line}");
        files.insert(decode(properties[0].1));
    }
    let names: BTreeSet<String> = paths(folder.path()).iter().map(|path| shown(path)).collect();
    assert_eq!(files, names);
    let verbose = run(folder.path(), &["check", ".", "--format=github", "--verbose"]);
    assert!(verbose.out.lines().any(|line| line.starts_with("::notice ")), "{}", verbose.out);
}

#[test]
fn nothing_to_tell_is_a_whole_report_too() {
    for (format, what) in [("sarif", "\"results\":[\n]"), ("junit", "failures=\"0\""), ("github", "1 accepted")] {
        let run = pipe(&sound(), &["check", "-", "--format", format]);
        assert!(run.code == 0 && run.out.contains(what), "{format}: {}", run.out);
    }
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = crate::tensorgate();
        let command = command.args(["check", "none.gguf"]).envs(variables.iter().copied());
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("NO_COLOR", "1")]) && !coloured(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "0")]));
}
