//! Random blocks, decoded as the Python package `gguf` decodes them, and as ggml does where `llama-cpp-python` is
//! installed; random values, encoded as those encode them. Skipped, with a line that says so, where Python or the
//! packages are missing.
//!
//! `TENSORGATE_BLOCKS` is the number of blocks of each type: 10,000 unless set, 4,000 where the test is not optimised.

#![cfg(feature = "std")]

#[path = "common/python.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod python;

use std::fs;
use std::path::Path;

use python::{available, run};
use tensorgate::gguf::GgmlType;
use tensorgate::quant::{NonFinite, check_row, decode, encode_with};

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Compares elements bit by bit; of NaNs only that both are some, since their bits come out of multiplications and are
/// fixed by no one.
fn compare(kind: GgmlType, who: &str, ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len());
    let differ = |(a, b): &(&f32, &f32)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan());
    if let Some(at) = ours.iter().zip(theirs).position(|pair| differ(&pair)) {
        let block = at / kind.block_elements().unwrap() as usize;
        panic!("{kind}, block {block}, element {at}: {:e}, {who} says {:e}", ours[at], theirs[at]);
    }
}

fn decoded(folder: &Path, kind: GgmlType) -> usize {
    let Ok(blocks) = fs::read(folder.join(format!("{kind}.blocks"))) else { return 0 };
    let count = blocks.len() / kind.block_bytes().unwrap() as usize;
    let mut ours = vec![0.0; count * kind.block_elements().unwrap() as usize];
    decode(kind, &blocks, &mut ours).unwrap();
    let mut compared = 0;
    for who in ["gguf", "ggml"] {
        if let Ok(theirs) = fs::read(folder.join(format!("{kind}.{who}.f32"))) {
            compare(kind, who, &ours, &floats(&theirs));
            compared += 1;
        }
    }
    for (block, verdict) in fs::read(folder.join(format!("{kind}.valid"))).unwrap_or_default().iter().enumerate() {
        let size = kind.block_bytes().unwrap() as usize;
        let bytes = &blocks[block * size..][..size];
        assert_eq!(check_row(kind, bytes).is_ok(), *verdict == 1, "{kind}, block {block}");
    }
    compared
}

fn same_blocks(kind: GgmlType, who: &str, values: &[f32], ours: &[u8], theirs: &[u8]) {
    let (elements, size) = (kind.block_elements().unwrap() as usize, kind.block_bytes().unwrap() as usize);
    let blocks = ours.chunks(size).zip(theirs.chunks(size)).zip(values.chunks(elements)).enumerate();
    for (block, ((ours, theirs), values)) in blocks {
        assert_eq!(ours, theirs, "{kind}, block {block}, {who}: {values:?}");
    }
}

#[test]
fn blocks_and_values_against_python() {
    if !available("quant_packages.py") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let usual = if cfg!(debug_assertions) { "4000" } else { "10000" };
    let count = std::env::var("TENSORGATE_BLOCKS").unwrap_or_else(|_| usual.to_owned());
    fs::write(folder.path().join("count"), count).unwrap();
    run("quant.py", folder.path());

    let compared: usize = GgmlType::ALL.iter().map(|kind| decoded(folder.path(), *kind)).sum();
    assert!(compared >= 25, "{compared}");

    let values = floats(&fs::read(folder.path().join("values")).unwrap());
    let mut compared = 0;
    for kind in GgmlType::ALL {
        for who in ["gguf", "ggml"] {
            let Ok(theirs) = fs::read(folder.path().join(format!("{kind}.{who}.enc"))) else { continue };
            // Which of two zeros is the smallest value, or the first of the largest magnitude, the package sees otherwise
            // than ggml: it gets none that are negative.
            let positive = |value: &f32| if who == "gguf" { value + 0.0 } else { *value };
            let values: Vec<f32> = values.iter().map(positive).collect();
            let mut ours = vec![0; theirs.len()];
            // Values past 65,504 become infinite halves in all of them.
            encode_with(*kind, NonFinite::Keep, &values, &mut ours).unwrap();
            same_blocks(*kind, who, &values, &ours, &theirs);
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
}
