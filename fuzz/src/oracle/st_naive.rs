//! safetensors against a second reader, slow and plain: the same verdict, and the same contents.

use arbitrary::{Arbitrary, Unstructured};
use tensorgate::SafeTensors;

use super::st_raw;
use crate::r#gen::render::Built;
use crate::naive_st::{self, Metadata};

/// What a piece of a generated header is replaced with: what stands in a header, and what almost could.
const PIECES: [&[u8]; 40] = [
    b"",
    b"0",
    b"1",
    b"-",
    b"+",
    b".",
    b"e",
    b"00",
    b"-0",
    b"1.",
    b"0e0",
    b"9",
    b"18446744073709551615",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\u0061",
    b"\\ud83d",
    b"\\ude00",
    b"\\\"",
    b" ",
    b"\n",
    b"\0",
    b"\x7f",
    b"null",
    b"true",
    b"\xc3\xa9",
    b"\xff",
    b"\"dtype\":",
    b"\"shape\":[",
    b"],",
    b"__metadata__",
    b"U8",
    b"F4",
    b"\"w\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
];

/// Judges the bytes as a file and as a header's text; or, where they begin with a zero, a file built from them with one or
/// two pieces of its header replaced.
pub fn check(data: &[u8]) {
    if let [0, first, second, third, fourth, fifth, sixth, rest @ ..] = data {
        let Ok(built) = Built::arbitrary(&mut Unstructured::new(rest)) else { return };
        let mut text = built.tokens.text();
        replace(&mut text, [*first, *second, *third]);
        judge(&framed(&text, &built.model.data));
        replace(&mut text, [*fourth, *fifth, *sixth]);
        judge(&framed(&text, &built.model.data));
        return;
    }
    judge(data);
    if let Some(file) = st_raw::frame(data) {
        judge(&file);
    }
}

/// Puts a piece in the place of none to three bytes.
fn replace(text: &mut Vec<u8>, [low, high, what]: [u8; 3]) {
    let at = usize::from(u16::from_le_bytes([low, high])) % (text.len() + 1);
    let (piece, len) = (usize::from(what) % PIECES.len(), usize::from(what) / PIECES.len() % 4);
    let end = (at + len).min(text.len());
    text.splice(at..end, PIECES[piece].iter().copied());
}

fn framed(text: &[u8], data: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text, data].concat()
}

/// Compares the two readers.
pub fn judge(file: &[u8]) {
    let (ours, theirs) = match (SafeTensors::open(file), naive_st::read(file)) {
        (Ok(ours), Some(theirs)) => (ours, theirs),
        (Err(_), None) => return,
        (ours, theirs) => {
            let ours = ours.map(drop);
            panic!("{ours:?}, and the plain reader says {theirs:?} of {}", file.escape_ascii())
        }
    };
    assert_eq!(ours.len(), theirs.tensors.len());
    let data_at = ours.header().data().start();
    for (tensor, other) in ours.tensors().zip(&theirs.tensors) {
        assert!(tensor.name() == other.name.as_str(), "{other:?}");
        assert_eq!(tensor.dtype().tag(), other.dtype);
        assert!(tensor.shape().iter().eq(other.shape.iter().copied()), "{other:?}");
        assert_eq!((tensor.span().start(), tensor.span().end()), (data_at + other.begin, data_at + other.end));
        assert!(ours.tensor(&other.name).is_ok_and(|found| found.span() == tensor.span()));
    }
    let metadata = match ours.metadata() {
        Some(metadata) => {
            let pairs =
                metadata.iter().map(|(key, value)| (key.to_cow().into_owned(), value.to_cow().into_owned()));
            Metadata::Pairs(pairs.collect())
        }
        None if ours.header().metadata_is_null() => Metadata::Null,
        None => Metadata::Absent,
    };
    assert_eq!(metadata, theirs.metadata);
}

/// The file itself, as `st_raw` has it and as choices.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    if file.len() > 200 && file.len().is_multiple_of(2) {
        return Some([&[0], file].concat());
    }
    st_raw::seed(file).or_else(|| Some(file.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::Rng;

    #[test]
    fn smoke() {
        crate::smoke::files(check, 40);
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| st_raw::seed(file)).collect();
        crate::smoke::mutants(check, 41, 12, &seeds);
        let mut rng = Rng::new(42);
        for _ in 0..20_000 {
            let mut input = rng.bytes(600);
            input[0] = 0;
            check(&input);
        }
    }
}
