//! What differs, for programs.

use serde_json::{Map, Value, json};
use tensorgate::model::diff::Difference;

use super::Found;
use super::metadata::{Changes, Entries};
use super::pairing::{Pair, Place};
use super::tensors::Comparison;
use crate::args::Diff;
use crate::parts::Tensor;
use crate::text;

/// One document.
pub(super) fn document(args: &Diff, found: &Found<'_>) -> Value {
    let pairs = found.pairing.both.iter().zip(&found.comparisons);
    let changed: Vec<Value> = pairs
        .filter(|(pair, comparison)| pair.differs(comparison, found.types))
        .map(|(pair, comparison)| change(pair, comparison))
        .collect();
    let list = |places: &[Place<'_>]| places.iter().map(|place| one(place.tensor)).collect::<Vec<Value>>();
    json!({
        "a": text::path(&args.a),
        "b": text::path(&args.b),
        "same": found.is_same(),
        "tensors": {
            "same": found.pairing.both.len().saturating_sub(changed.len()),
            "added": list(&found.pairing.added),
            "removed": list(&found.pairing.removed),
            "changed": changed,
            "buffers": found.pairing.buffers,
        },
        "metadata": found.metadata.as_ref().map(metadata),
    })
}

fn one(tensor: &Tensor) -> Value {
    json!({"name": tensor.name, "dtype": tensor.kind.element().to_string(), "shape": tensor.shape})
}

fn change(pair: &Pair<'_>, comparison: &Comparison) -> Value {
    let (a, b) = (pair.a.tensor, pair.b.tensor);
    let found = comparison.as_ref().ok();
    json!({
        "a": one(a),
        "b": one(b),
        "transposed": pair.a.turned || pair.b.turned,
        "retyped": pair.is_retyped(),
        "reshaped": pair.is_reshaped(),
        "elements": found.map(Difference::elements),
        "differ": found.map(Difference::differ),
        "max": found.map(Difference::max),
        "mean": found.map(Difference::mean),
        "not_finite": found.map(Difference::not_finite),
        "same_nan": found.map(Difference::same_nan),
        "not_compared": comparison.as_ref().err().map(ToString::to_string),
    })
}

fn metadata(changes: &Changes) -> Value {
    let map = |entries: &Entries| -> Map<String, Value> {
        entries.iter().map(|(key, value)| (key.clone(), json!(value))).collect()
    };
    let pair = |(key, a, b): &(String, String, String)| (key.clone(), json!({"a": a, "b": b}));
    json!({
        "added": map(&changes.added),
        "removed": map(&changes.removed),
        "changed": changes.changed.iter().map(pair).collect::<Map<String, Value>>(),
    })
}
