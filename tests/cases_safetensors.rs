//! Every safetensors case: the right verdict, from the whole file, from the header alone and in lent storage, and for
//! accepted files the same tensors as the reference reader sees.

#![cfg(feature = "alloc")]

mod common;

use common::{bytes, cases};
use serde_json::{Value, json};
use tensorgate::safetensors::{Header, Slot};
use tensorgate::{ErrorKind, Limits, SafeTensors};

/// What the reference shows of a file: metadata, header length, tensors.
fn view(file: &SafeTensors<'_>) -> Value {
    let tensors: Vec<Value> = file
        .tensors()
        .map(|t| json!([t.name().to_cow(), t.dtype().tag(), t.shape().to_vec(), t.bytes().len(), t.span().start()]))
        .collect();
    let metadata = file.metadata().map(|metadata| {
        let mut pairs: Vec<_> = metadata.iter().map(|(k, v)| (k.to_cow(), v.to_cow())).collect();
        pairs.sort();
        json!(pairs)
    });
    json!({"metadata": metadata, "n": file.header().json().len(), "tensors": sorted(tensors)})
}

/// Tensors by offset, then by name: the reference leaves the order of ties open.
fn sorted(mut tensors: Vec<Value>) -> Value {
    tensors.sort_by_key(|t| (t[4].as_u64(), t[3].as_u64(), t[0].as_str().map(str::to_owned)));
    Value::Array(tensors)
}

fn verdict<T>(outcome: &Result<T, tensorgate::Error>) -> Result<(), (ErrorKind, u64)> {
    outcome.as_ref().map(|_| ()).map_err(|error| (error.kind(), error.at()))
}

#[test]
fn every_case_has_its_verdict() {
    let mut wrong = Vec::new();
    let all = cases("safetensors.json");
    assert!(!all.is_empty());
    for case in &all {
        let file = bytes(case);
        let opened = SafeTensors::open(&file);
        let want = case["strict_expected"].as_str().unwrap();
        if opened.is_ok() != (want == "ok") {
            wrong.push(format!("{}: want {want}, got {:?}", case["name"], opened.err()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn accepted_files_show_what_the_reference_shows() {
    for case in cases("safetensors.json") {
        let file = bytes(&case);
        let Ok(opened) = SafeTensors::open(&file) else { continue };
        let mut want = case["reference_view"].clone();
        want["tensors"] = sorted(want["tensors"].as_array().unwrap().clone());
        assert_eq!(view(&opened), want, "{}", case["name"]);
        for tensor in opened.tensors() {
            let again = opened.tensor(&tensor.name().to_cow()).unwrap();
            assert_eq!(again.span(), tensor.span());
        }
        assert!(opened.tensor("no such name").is_err());
    }
}

#[test]
fn header_alone_and_lent_storage_say_the_same() {
    for case in cases("safetensors.json") {
        let file = bytes(&case);
        let len = file.len() as u64;
        let whole = SafeTensors::open(&file);
        let mut slots = vec![Slot::EMPTY; 1024];
        let lent = SafeTensors::open_in(&file, &mut slots, &Limits::default());
        assert_eq!(verdict(&whole), verdict(&lent), "{}", case["name"]);
        let mut fetched = 0;
        let mut have = 0;
        let outcome = loop {
            let outcome = Header::open(&file[..have], len, &Limits::default()).map(|_| ());
            match outcome.as_ref().map_err(tensorgate::Error::needs) {
                Err(Some(needs)) => {
                    assert!(needs > have as u64 && needs <= len);
                    have = usize::try_from(needs).unwrap();
                    fetched += 1;
                }
                _ => break outcome,
            }
        };
        assert!(fetched <= 2);
        assert_eq!(verdict(&whole), verdict(&outcome), "{}", case["name"]);
    }
}
