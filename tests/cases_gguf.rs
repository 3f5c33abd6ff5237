//! Every GGUF case and every real file: the right verdict, from the whole file, from the header alone, in lent storage
//! and from every prefix; and for accepted files what the reference shows.

#![cfg(feature = "alloc")]

mod common;

use std::path::Path;

use common::{bytes, cases, shared};
use serde_json::{Value, json};
use tensorgate::gguf::{Header, Slot};
use tensorgate::{Error, ErrorKind, Gguf, Limits};

type Verdict = Result<(), (ErrorKind, u64)>;

fn verdict<T>(outcome: Result<T, Error>) -> Verdict {
    outcome.map(|_| ()).map_err(|error| (error.kind(), error.at()))
}

fn header(prefix: &[u8], file_len: usize) -> Result<(), Error> {
    Header::open(prefix, file_len as u64, &Limits::default()).map(|_| ())
}

/// The verdict of the header alone: padding is not seen from there.
fn header_verdict(whole: Verdict) -> Verdict {
    whole.or_else(|error| if error.0 == ErrorKind::GgPaddingNonzero { Ok(()) } else { Err(error) })
}

/// What the case says of an accepted file.
fn view(file: &Gguf<'_>) -> Value {
    let tensors: Vec<Value> = file
        .tensors()
        .map(|t| {
            let offset = t.span().start() - file.data_offset();
            json!({"name": t.name().to_cow(), "type": t.kind().id(), "offset": offset, "nbytes": t.bytes().len()})
        })
        .collect();
    let pairs: Vec<Value> =
        file.pairs().map(|pair| json!({"key": pair.key(), "type": pair.value().kind().id()})).collect();
    json!({
        "version": file.version(), "n_kv": pairs.len(), "n_tensors": tensors.len(), "alignment": file.alignment(),
        "data_offset": file.data_offset(), "tensors": tensors, "kv": pairs,
    })
}

/// Whether `ours` is what the case wants; it cuts long lists and long keys.
fn agrees(ours: &Value, want: &Value) -> bool {
    match (ours, want) {
        (Value::Array(ours), Value::Array(want)) => {
            (ours.len() == want.len() || want.len() == 8 && ours.len() > 8)
                && want.iter().zip(ours).all(|(want, ours)| agrees(ours, want))
        }
        (Value::Object(ours), Value::Object(want)) => {
            want.iter().all(|(key, want)| ours.get(key).is_some_and(|ours| agrees(ours, want)))
        }
        (Value::String(ours), Value::String(want)) => ours == want || want.len() >= 64 && ours.starts_with(want),
        _ => ours == want,
    }
}

#[test]
fn every_case_has_its_verdict() {
    let all = cases("gguf.json");
    assert_eq!(all.len(), 254);
    let mut wrong = Vec::new();
    for case in &all {
        let file = bytes(case);
        let opened = Gguf::open(&file);
        if opened.is_ok() != (case["strict_expected"] == "ok") {
            wrong.push(format!("{}: want {}, got {:?}", case["name"], case["strict_expected"], opened.err()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn accepted_files_show_what_the_reference_shows() {
    let mut seen = 0;
    for case in cases("gguf.json") {
        let file = bytes(&case);
        let Ok(opened) = Gguf::open(&file) else { continue };
        for tensor in opened.tensors() {
            assert_eq!(opened.tensor(&tensor.name().to_cow()).unwrap().span(), tensor.span());
        }
        for pair in opened.pairs() {
            // A NaN is not equal to itself.
            let same = opened.get(pair.key()).map(|value| format!("{value:?}"));
            assert_eq!(same, Some(format!("{:?}", pair.value())));
        }
        assert!(opened.tensor("no such name").is_err() && opened.get("no such key").is_none());
        if case["expect"].is_object() {
            let ours = view(&opened);
            assert!(agrees(&ours, &case["expect"]), "{}: {ours} {}", case["name"], case["expect"]);
            seen += 1;
        }
    }
    assert!(seen > 90, "{seen}");
}

#[test]
fn header_alone_and_lent_storage_say_the_same() {
    for case in cases("gguf.json") {
        let file = bytes(&case);
        let whole = verdict(Gguf::open(&file));
        let mut slots = vec![Slot::EMPTY; 1024];
        assert_eq!(whole, verdict(Gguf::open_in(&file, &mut slots, &Limits::default())), "{}", case["name"]);
        let mut have = 0;
        let outcome = loop {
            match header(&file[..have], file.len()).map_err(|error| (error, error.needs())) {
                Err((_, Some(needs))) => {
                    assert!(needs > have as u64 && needs <= file.len() as u64);
                    have = usize::try_from(needs).unwrap();
                }
                other => break other.map_err(|(error, _)| error),
            }
        };
        assert_eq!(header_verdict(whole), verdict(outcome), "{}", case["name"]);
    }
}

#[test]
fn a_longer_prefix_never_contradicts() {
    for case in cases("gguf.json") {
        let file = bytes(&case);
        if file.len() > 700 {
            continue;
        }
        let whole = header_verdict(verdict(Gguf::open(&file)));
        for have in 0..=file.len() {
            match header(&file[..have], file.len()) {
                Err(error) if error.kind() == ErrorKind::NeedMore => {
                    let needs = error.needs().unwrap();
                    assert!(have < file.len() && needs > have as u64 && needs <= file.len() as u64);
                    // It is a true lower bound: no shorter prefix is enough to accept.
                    let short = usize::try_from(needs).unwrap() - 1;
                    assert!(header(&file[..short], file.len()).is_err(), "{}: {have}", case["name"]);
                }
                other => assert_eq!(verdict(other), whole, "{}: {have}", case["name"]),
            }
        }
    }
}

#[test]
fn a_file_cut_short_is_refused_until_only_padding_is_missing() {
    for name in ["kv_all_types", "data_two", "be_v3", "align_256", "ne_zero", "vocab_like"] {
        let all = cases("gguf.json");
        let file = bytes(all.iter().find(|case| case["name"] == name).unwrap());
        let opened = Gguf::open(&file).unwrap();
        let needed = opened.tensors().last().map_or(opened.header().head().len() as u64, |t| t.span().end());
        for len in 0..file.len() {
            assert_eq!(Gguf::open(&file[..len]).is_ok(), len as u64 >= needed, "{name} cut to {len}");
        }
    }
}

/// The real GGUF files that the manifest names, with the verdict it gives.
fn real() -> Vec<(String, Vec<u8>, bool)> {
    let Some(folder) = shared("real") else { return Vec::new() };
    let manifest = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: Vec<Value> = serde_json::from_str(&manifest).unwrap();
    let names = manifest.iter().filter_map(|entry| Some((entry["file"].as_str()?, &entry["expect"]["verdict"])));
    let models = names.filter(|(file, _)| Path::new(file).extension().is_some_and(|extension| extension == "gguf"));
    let read = |(file, verdict): (&str, &Value)| {
        (file.to_owned(), std::fs::read(folder.join(file)).unwrap(), verdict == "OK")
    };
    models.map(read).collect()
}

#[test]
fn real_files_have_their_verdict() {
    for (name, file, accept) in real() {
        let opened = Gguf::open(&file);
        assert_eq!(opened.is_ok(), accept, "{name}: {opened:?}");
        let Ok(opened) = opened else { continue };
        for pair in opened.pairs() {
            if let Ok(array) = pair.value().array() {
                assert_eq!(array.check_utf8(), Ok(()), "{name}: {}", pair.key());
                assert_eq!(array.iter().count(), array.len());
            }
        }
        // Ranges: each answer asks for some more, and it ends with the same file.
        let (mut have, mut rounds) = (0_usize, 0);
        while let Err(error) = header(&file[..have], file.len()) {
            have = usize::try_from(error.needs().unwrap()).unwrap();
            rounds += 1;
        }
        assert!(have <= file.len() && rounds < 400, "{name}: {rounds}");
    }
}

/// All values of a file as Python's `gguf` reads them.
const PYTHON: &str = r"
import json, sys
from gguf import GGUFReader
reader = GGUFReader(sys.argv[1])
print(json.dumps({k: f.contents() for k, f in reader.fields.items() if not k.startswith('GGUF.')}))
";

fn as_json(value: tensorgate::gguf::Value<'_>) -> Value {
    use tensorgate::gguf::ValueType;
    match value.kind() {
        ValueType::Array => value.array().unwrap().iter().map(as_json).collect(),
        ValueType::String => json!(value.str().unwrap()),
        ValueType::Bool => json!(value.bool().unwrap()),
        ValueType::F32 | ValueType::F64 => json!(value.f64().unwrap()),
        ValueType::U64 => json!(value.u64().unwrap()),
        _ => json!(value.i64().unwrap()),
    }
}

#[test]
fn values_of_real_vocabularies_are_what_python_reads() {
    let Some(folder) = shared("real/vocab") else { return };
    let python = |arguments: &[&str]| std::process::Command::new("python3").args(arguments).output();
    if !python(&["-c", "import gguf"]).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: Python's gguf is not there");
        return;
    }
    for name in ["ggml-vocab-bert-bge.gguf", "ggml-vocab-gpt-2.gguf", "ggml-vocab-llama-spm.gguf"] {
        let path = folder.join(name);
        let output = python(&["-c", PYTHON, path.to_str().unwrap()]).unwrap();
        let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
        let file = std::fs::read(&path).unwrap();
        let opened = Gguf::open(&file).unwrap();
        assert_eq!(theirs.as_object().unwrap().len(), opened.header().pair_count());
        for pair in opened.pairs() {
            assert!(as_json(pair.value()) == theirs[pair.key()], "{name}: {}", pair.key());
        }
    }
}
