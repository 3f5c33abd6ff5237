//! Any bytes at all: every reader says the same however they are opened, what is accepted keeps every promise, and the
//! guess about them fits.

use tensorgate::Limits;
use tensorgate::detect::{Guess, PREFIX_LEN, detect};

use super::{promises, promises_gguf, promises_index};
use crate::heap;
use crate::sink::printable;

/// Opens `data` with every reader, and safetensors with every relaxation, which never refuses what strict accepts.
pub fn check(data: &[u8]) {
    let strict = promises::safetensors(data, &Limits::DEFAULT);
    let relaxed = promises::safetensors(data, &Limits::DEFAULT.with_leading_space(true));
    if strict.is_ok() {
        assert_eq!(relaxed, Ok(()));
    }
    let gguf = promises_gguf::gguf(data, &Limits::DEFAULT);
    let index = promises_index::index(data, &Limits::DEFAULT);
    let guess = guess(data);
    assert!(strict.is_err() || guess == Guess::Safetensors, "{guess}");
    assert!(gguf.is_err() || matches!(guess, Guess::Gguf | Guess::GgufBig), "{guess}");
    // A key may be spelt with escapes or stand far behind; DEL is no character of a text to the guesser.
    assert!(index.is_err() || matches!(guess, Guess::Index | Guess::Json) || data.contains(&0x7F), "{guess}");
}

/// The guess, which depends on the beginning only and is shown in printable ASCII.
fn guess(data: &[u8]) -> Guess {
    heap::none(|| {
        let guess = detect(data);
        assert_eq!(guess, detect(&data[..data.len().min(PREFIX_LEN)]));
        assert!(guess.code().starts_with("FT-") && printable(&guess) <= 240, "{guess}");
        guess
    })
}

/// The file itself.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    Some(file.to_vec())
}

#[cfg(test)]
mod tests {
    #[test]
    fn smoke() {
        crate::smoke::files(super::check, 1);
    }
}
