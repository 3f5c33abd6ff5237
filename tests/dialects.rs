//! What the table of readers says of a file never contradicts what the readers did with it.

#![cfg(feature = "alloc")]

mod common;

use std::collections::BTreeMap;

use common::{bytes, cases};
use serde_json::Value;
use tensorgate::audit::dialects::{self, Outcome, Traits};
use tensorgate::{Gguf, SafeTensors, audit};

/// Under which name each reader stands in the cases, in the order of the answers.
const SAFETENSORS: &[(&str, &str)] = &[
    ("safetensors (Rust) 0.8.0", "reference"),
    ("safetensors (Python, NumPy) 0.8.0", "safetensors 0.8.0 (python, numpy)"),
    ("mlx 0.32.4", "mlx 0.32.4"),
    ("tinygrad 0.14.0", "tinygrad 0.14.0"),
    ("nlpodyssey/safetensors (Go) bfb01cc", "nlpodyssey/safetensors bfb01cc (Go)"),
    ("@huggingface/hub (JavaScript) 2.17.5", "@huggingface/hub 2.17.5"),
    ("syoyo/safetensors-cpp HEAD of 2026-11", "syoyo/safetensors-cpp"),
    ("modelaudit (scanner) 0.2.54", "modelaudit 0.2.54"),
    ("a lazy reader (json.loads, then slices)", "json.loads and slice, as lazy readers do"),
    ("a naive reader (json.loads alone)", "json.loads only"),
];
const GGUF: &[(&str, &str)] = &[
    ("gguf.cpp (metadata only) ggml 0.25.3", "meta"),
    ("gguf.cpp (no_alloc, as llama.cpp) ggml 0.25.3", "noalloc"),
    ("gguf.cpp (with data) ggml 0.25.3", "data"),
    ("gguf-py 0.19.0", "gguf-py 0.19.0"),
    ("gguf-py 0c1e57098", "gguf-py 0c1e57098"),
    ("@huggingface/gguf 0.4.6", "@huggingface/gguf 0.4.6"),
    ("candle 2a13b0f3", "candle 2a13b0f3"),
    ("gguf (Rust) 0.1.2", "gguf 0.1.2"),
    ("gguf-rs 0.1.8", "gguf-rs 0.1.8"),
    ("ggus 0.5.1", "ggus 0.5.1"),
    ("gguf-rs-lib 0.3.3", "gguf-rs-lib 0.3.3"),
    ("modelvet (verifier) 0.1.1", "modelvet 0.1.1"),
];

/// The traits of a case, as `check --readers` takes them.
fn traits(file: &str, bytes: &[u8]) -> Traits {
    if file == "gguf.json" {
        let len = u64::try_from(bytes.len()).unwrap();
        return match Gguf::open(bytes) {
            Ok(gguf) => dialects::gguf(gguf.header(), &audit::gguf(gguf.header()).unwrap()),
            Err(error) => dialects::refused_gguf(error, bytes, len),
        }
        .unwrap();
    }
    match SafeTensors::open(bytes) {
        Ok(opened) => dialects::safetensors(opened.header(), &audit::safetensors(opened.header()).unwrap()),
        Err(error) => dialects::refused_safetensors(error, bytes),
    }
    .unwrap()
}

/// What a reader did with a case, as a word of ours.
fn did(case: &Value, key: &str) -> &'static str {
    let modes = &case["reference_modes"];
    let text = case["peers"][key].as_str().or_else(|| modes[key].as_str()).or_else(|| case["reference"].as_str());
    let word: String = text.unwrap().chars().take_while(char::is_ascii_alphabetic).collect();
    match word.to_ascii_lowercase().as_str() {
        "ok" => "read",
        "err" => "refused",
        "crash" => "crashed",
        "timeout" => "hung",
        other => panic!("{other}"),
    }
}

/// What a reader does by the table, as such a word; none where the table says that it does not know.
fn does(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Accepts | Outcome::Differs => Some("read"),
        Outcome::Refuses => Some("refused"),
        Outcome::Crashes => Some("crashed"),
        Outcome::Hangs => Some("hung"),
        Outcome::Varies | Outcome::Unknown => None,
        other => panic!("{other}"),
    }
}

#[test]
fn no_answer_contradicts_what_was_measured() {
    let mut wrong = Vec::new();
    for (file, readers) in [("safetensors.json", SAFETENSORS), ("gguf.json", GGUF)] {
        let mut tally: BTreeMap<&str, u32> = BTreeMap::new();
        for case in cases(file) {
            let traits = traits(file, &bytes(&case));
            let fault = case["strict_expected"] == "err";
            assert_eq!(traits.is_fault(), fault, "{}", case["name"]);
            assert_eq!(traits.answers().len(), readers.len());
            for (answer, (name, key)) in traits.answers().zip(readers) {
                assert_eq!(answer.reader().to_string(), *name);
                let measured = did(&case, key);
                match does(answer.outcome()) {
                    Some(word) if word == measured => *tally.entry("exact").or_default() += 1,
                    Some(word) => wrong.push(format!("{} {name}: {word}, measured: {measured}", case["name"])),
                    None => *tally.entry(answer.outcome().as_str()).or_default() += 1,
                }
            }
        }
        let all: u32 = tally.values().sum();
        let share = |word: &str| {
            let count = tally.get(word).copied().unwrap_or_default();
            format!("{count} {word} ({:.1} %)", 100.0 * f64::from(count) / f64::from(all))
        };
        println!("{file}: of {all} answers {}, {}, {}", share("exact"), share("varies"), share("unknown"));
        // A table that knows nothing would contradict nothing.
        assert!(tally["exact"] * 10 > all * 8);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn readers_that_keep_one_of_two_are_told_of() {
    let file = common::file(r#"{"__metadata__":{"a":"1","a":"2"}}"#, &[]);
    let answers: Vec<_> = traits("safetensors.json", &file).answers().collect();
    assert!(answers.iter().filter(|answer| answer.outcome() == Outcome::Differs).count() > 4);
    assert_eq!(answers[0].note(), Some("keeps the last of the two"));
    assert_eq!(answers[0].because().unwrap().to_string(), "ST-DUP-META-KEY");
}

#[test]
fn what_no_case_has_is_unknown() {
    let shape = ["1"; 100].join(",");
    let header = format!(r#"{{"a":{{"dtype":"I8","shape":[{shape}],"data_offsets":[0,1]}}}}"#);
    let traits = traits("safetensors.json", &common::file(&header, &[0]));
    let say: BTreeMap<_, _> = traits.answers().map(|answer| (answer.reader().name(), answer.outcome())).collect();
    assert_eq!(say["modelaudit (scanner)"], Outcome::Unknown);
    // Why it stops is known, whatever else is not.
    assert_eq!(say["safetensors (Python, NumPy)"], Outcome::Refuses);
}

/// For `scripts/dialects.py`: each case with its traits.
#[test]
fn traits_of_the_cases() {
    for file in ["safetensors.json", "gguf.json"] {
        for case in cases(file) {
            let found: Vec<String> = traits(file, &bytes(&case)).iter().map(|one| one.to_string()).collect();
            assert!(!found.is_empty() || case["strict_expected"] == "ok", "{}", case["name"]);
            println!("traits\t{file}\t{}\t{}", case["name"].as_str().unwrap(), found.join(";"));
        }
    }
}
