//! The validator as a WebAssembly module says of every file what the native one says: verdict, code and offset, from the
//! header alone and from the whole. `examples/wasm/run` builds the module and runs this; alone there is no module to run.

#![cfg(feature = "std")]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use common::{cases, corpus};
use serde_json::{Value, json};

/// A file with what it is judged by and what the native validator says of it.
struct Input {
    name: String,
    bytes: Vec<u8>,
    setting: Option<(String, u64)>,
    want: Verdict,
}

/// Code and offset of an error.
type Verdict = Option<(String, u64)>;

impl Input {
    fn new(name: String, bytes: Vec<u8>, terms: &corpus::Terms, setting: Option<(String, u64)>) -> Self {
        let outcomes = corpus::judge(&name, &bytes, terms);
        let (_, first) = outcomes[0];
        assert!(outcomes.iter().all(|(_, outcome)| *outcome == first), "{name}");
        let want = first.err().map(|error| (error.code().to_owned(), error.at()));
        Self { name, bytes, setting, want }
    }

    fn json(&self) -> Value {
        let hex = self.bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        });
        let limits: BTreeMap<_, _> = self.setting.iter().cloned().collect();
        json!({"name": self.name, "hex": hex, "limits": limits})
    }

    /// Whether this is what is to be said of the file. Padding behind the bytes that a header takes is not seen.
    fn is_right(&self, way: &str, verdict: &Verdict) -> bool {
        let unseen = self.want.as_ref().is_some_and(|(code, _)| code == "GG-PADDING-NONZERO");
        *verdict == self.want || (way == "header" && unseen && verdict.is_none())
    }
}

/// Every file of the corpus, and every shared case.
fn inputs() -> Vec<Input> {
    let mut all = Vec::new();
    for row in corpus::all_rows() {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        if corpus::is_known(&row.path) {
            all.push(Input::new(row.path, bytes, &row.terms, row.setting));
        }
    }
    let rows = all.len();
    for path in corpus::files(&corpus::folder().join("regress")) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.strip_prefix(corpus::folder()).unwrap().to_str().unwrap();
        for ending in [".safetensors", ".index.json", ".gguf"] {
            all.push(Input::new(format!("{name}{ending}"), bytes.clone(), &corpus::Terms::default(), None));
        }
    }
    for (file, ending) in [("safetensors.json", ".safetensors"), ("gguf.json", ".gguf")] {
        for case in cases(file) {
            let name = format!("case {}{ending}", case["name"].as_str().unwrap());
            all.push(Input::new(name, common::bytes(&case), &corpus::Terms::default(), None));
        }
    }
    assert!(rows > 900 && all.len() > rows + 500, "{rows} rows, {} inputs", all.len());
    all
}

#[test]
fn the_module_says_what_the_library_says() {
    let Some(module) = std::env::var_os("TENSORGATE_WASM") else {
        eprintln!("skipped: TENSORGATE_WASM names no module; examples/wasm/run builds one");
        return;
    };
    let inputs = inputs();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.json");
    let entries: Vec<Value> = inputs.iter().map(Input::json).collect();
    std::fs::write(&list, serde_json::to_vec(&entries).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/wasm/check.mjs");
    let run = Command::new("node").arg(script).arg(module).arg("--list").arg(&list).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = String::from_utf8(run.stdout).unwrap();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), 2 * inputs.len());
    let mut wrong = Vec::new();
    for (pair, input) in said.chunks(2).zip(&inputs) {
        for verdict in pair {
            let way = verdict["way"].as_str().unwrap();
            let code = verdict["code"].as_str().map(|code| (code.to_owned(), verdict["at"].as_u64().unwrap()));
            assert_eq!((verdict["name"].as_str(), verdict["ok"] == true), (Some(&*input.name), code.is_none()));
            if !input.is_right(way, &code) {
                wrong.push(format!("{} ({way}): want {:?}, got {code:?}", input.name, input.want));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let refused = inputs.iter().filter(|input| input.want.is_some()).count();
    println!("{} files, {refused} of them refused, judged alike from the header and from the whole", inputs.len());
}
