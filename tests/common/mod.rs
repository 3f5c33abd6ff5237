//! What several tests need: the case files, and hexadecimal.
#![allow(dead_code, reason = "each test uses its own part")]

pub(crate) mod corpus;
pub(crate) mod gguf;
pub(crate) mod hostile;
pub(crate) mod hostile_gguf;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file of `tests/cases`.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The bytes of a case.
pub(crate) fn bytes(case: &Value) -> Vec<u8> {
    if let Some(text) = case["b64"].as_str() {
        return base64(text);
    }
    let hex = case["hex"].as_str().expect("a case has its bytes in hex or in base 64");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Base 64 with the usual alphabet.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|byte| ALPHABET.iter().position(|letter| *letter == byte)) {
        bits = (bits << 6) | u32::try_from(digit).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xFF).unwrap());
        }
    }
    bytes
}

/// A folder that continuous integration has beside the project and a clone alone does not; says so where it is missing.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(folder);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

/// A safetensors file of a header and data.
pub(crate) fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    file
}
