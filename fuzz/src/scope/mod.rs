//! Small scope, exhaustively: not samples but everything there is up to a bound, in our reader and in a plain one.
//!
//! Quick forms run with every `cargo test`; the whole ones are ignored tests, run optimised by `fuzz/scope.sh`.

mod bytes;
mod json;
mod layout;

/// Calls `each` with every string of `least` to `most` of the symbols.
fn strings(symbols: &[&[u8]], least: u32, most: u32, mut each: impl FnMut(&[u8])) {
    let base = symbols.len() as u64;
    let mut text = Vec::new();
    for len in least..=most {
        for number in 0..base.pow(len) {
            text.clear();
            let mut rest = number;
            for _ in 0..len {
                text.extend_from_slice(symbols[usize::try_from(rest % base).expect("small")]);
                rest /= base;
            }
            each(&text);
        }
    }
}

/// A file of this header and so many bytes of data.
fn framed(header: &[u8], data_len: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.resize(file.len() + data_len, 0xA5);
    file
}

/// Whether our reader takes a file, once it is known that the plain reader says the same of it, and that what we take the
/// `safetensors` crate takes too.
fn verdict(file: &[u8]) -> bool {
    crate::oracle::st_naive::judge(file);
    let accepted = tensorgate::SafeTensors::open(file).is_ok();
    if accepted {
        crate::oracle::st_reference::check(file);
    }
    accepted
}

#[test]
fn every_string_comes_once() {
    let mut seen = std::collections::HashSet::new();
    strings(&[b"a", b"bc", b"d"], 0, 3, |text| assert!(seen.insert(text.to_vec())));
    assert_eq!(seen.len(), 1 + 3 + 9 + 27);
}
