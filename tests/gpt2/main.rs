//! The runner against logits that other implementations worked out.
#![cfg(feature = "std")]

#[path = "../common/mod.rs"]
mod common;

mod golden;
mod hostile;
mod sessions;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tensorgate::gpt2::{Gpt2, RunOptions, Runner};

/// A folder of the repository.
fn here(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

fn json(path: impl AsRef<Path>) -> Value {
    let text =
        std::fs::read_to_string(path.as_ref()).unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()));
    serde_json::from_str(&text).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn runner(model: &Gpt2, options: RunOptions) -> Runner {
    Runner::new(model, &options).unwrap()
}

/// The logits after the last of some tokens.
fn last_logits(runner: &mut Runner, ids: &[u32]) -> Vec<f32> {
    let mut session = runner.session().unwrap();
    session.push(ids).unwrap();
    runner.logits(&mut session).unwrap()
}

/// The greatest difference, and the root of the mean square of all.
fn difference(found: &[f32], expected: &[f64]) -> (f64, f64) {
    assert_eq!(found.len(), expected.len());
    let each = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
    let (most, squares) = each.fold((0.0_f64, 0.0), |(most, sum), d| (most.max(d), sum + d * d));
    let count = f64::from(u32::try_from(found.len()).unwrap());
    assert!(!squares.is_nan());
    (most, (squares / count).sqrt())
}

/// The first of the greatest.
fn argmax(logits: &[f32]) -> u32 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    u32::try_from(logits.iter().position(|x| *x >= most).unwrap()).unwrap()
}
