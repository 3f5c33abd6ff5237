//! Every slice case: the bytes and the new shape, or the refusal. Where the reference differs, the case says so.

#![cfg(feature = "alloc")]

mod common;

use std::ops::Bound;

use common::{cases, file};
use serde_json::{Value, json};
use tensorgate::{Axis, SafeTensors};

fn bound(value: &Value) -> Bound<u64> {
    let position = value[1].as_u64().unwrap();
    match value[0].as_str().unwrap() {
        "inc" => Bound::Included(position),
        "exc" => Bound::Excluded(position),
        "unb" => Bound::Unbounded,
        other => panic!("{other}"),
    }
}

fn axis(value: &Value) -> Axis {
    if value.is_null() {
        Axis::Full
    } else if let Some(index) = value.get("select") {
        Axis::Select(index.as_u64().unwrap())
    } else {
        let step = value["step"].as_u64().unwrap();
        Axis::Range { start: bound(&value["start"]), stop: bound(&value["stop"]), step }
    }
}

#[test]
fn every_case_has_its_bytes_and_shape() {
    let all = cases("safetensors_slices.json");
    assert_eq!(all.len(), 42);
    let mut wrong = Vec::new();
    for case in all {
        let len = usize::try_from(case["data_len"].as_u64().unwrap()).unwrap();
        let data: Vec<u8> = (0..=255).cycle().take(len).collect();
        let entry = json!({"dtype": case["dtype"], "shape": case["shape"], "data_offsets": [0, len]});
        let bytes = file(&json!({"w": entry}).to_string(), &data);
        let axes: Vec<Axis> = case["slices"].as_array().unwrap().iter().map(axis).collect();
        let view = SafeTensors::open(&bytes).unwrap().tensor("w").unwrap();
        let got = match view.slice(&axes) {
            Ok(part) => {
                let shape: Vec<u64> = part.shape().collect();
                json!({"ok": {"bytes": part.to_vec().unwrap(), "newshape": shape}})
            }
            Err(_) => json!("err"),
        };
        if got != case["expected"] {
            wrong.push(format!("{}: {got}, not {}", case["name"], case["expected"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
