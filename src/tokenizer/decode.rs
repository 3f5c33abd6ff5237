//! From tokens back to text.

use alloc::vec::Vec;
use core::fmt;

use super::Tokenizer;

/// An id that the vocabulary does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnknownId {
    /// The id.
    pub id: u32,
    /// Its index among those that were to be decoded.
    pub index: usize,
}

impl fmt::Display for UnknownId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no token with the id {} (at index {})", self.id, self.index)
    }
}

impl core::error::Error for UnknownId {}

/// Makes text of tokens as they come, and never half a character.
///
/// A token may end inside a character; its bytes wait until the rest is there. Bytes that can be no part of one, whatever
/// follows, become U+FFFD, one for each maximal part as in the standard library's lossy conversion, so that all the text
/// together is the lossy conversion of all the bytes.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// # use tensorgate::tokenizer::{StreamDecoder, Tokenizer};
/// # let symbol = |byte: u8| match byte {
/// #     0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => char::from(byte),
/// #     0..=0x20 => char::from_u32(0x100 + u32::from(byte)).unwrap(),
/// #     0x7F..=0xA0 => char::from_u32(0x121 + u32::from(byte) - 0x7F).unwrap(),
/// #     0xAD => '\u{143}',
/// # };
/// # let tokens = (0..=255_u8).map(|b| format!("\"{}\":{b}", symbol(b).to_string().replace('\\', "\\\\").replace('"', "\\\"")));
/// # let vocab = format!("{{{}}}", tokens.collect::<Vec<_>>().join(","));
/// let tokenizer = Tokenizer::from_files(vocab.as_bytes(), b"")?; // here: one token a byte
/// let mut decoder = StreamDecoder::new();
/// let mut shown = Vec::new();
/// for id in tokenizer.encode("né".as_bytes()) {
///     shown.push(decoder.push(tokenizer.token_bytes(id).unwrap()).to_owned());
/// }
/// assert_eq!(shown, ["n", "", "é"]);
/// assert_eq!(decoder.finish(), "");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct StreamDecoder {
    /// The beginning of a character that is not there yet.
    waiting: Vec<u8>,
    text: alloc::string::String,
}

impl StreamDecoder {
    /// One for which nothing came yet.
    pub const fn new() -> Self {
        Self { waiting: Vec::new(), text: alloc::string::String::new() }
    }

    /// The text that is whole with these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> &str {
        self.text.clear();
        self.waiting.extend_from_slice(bytes);
        let mut rest = self.waiting.as_slice();
        while !rest.is_empty() {
            let (valid, cut, after) = match core::str::from_utf8(rest) {
                Ok(text) => (text, 0, &[][..]),
                Err(error) => {
                    let (valid, after) = rest.split_at_checked(error.valid_up_to()).unwrap_or((rest, &[]));
                    (core::str::from_utf8(valid).unwrap_or_default(), error.error_len().unwrap_or(0), after)
                }
            };
            self.text.push_str(valid);
            rest = after;
            if cut == 0 {
                break;
            }
            self.text.push(char::REPLACEMENT_CHARACTER);
            rest = rest.get(cut..).unwrap_or_default();
        }
        let done = self.waiting.len().saturating_sub(rest.len());
        self.waiting.drain(..done);
        &self.text
    }

    /// What is left at the end: U+FFFD where a character was cut short, and nothing else.
    pub fn finish(&mut self) -> &'static str {
        let cut = !self.waiting.is_empty();
        self.waiting.clear();
        if cut { "\u{fffd}" } else { "" }
    }
}

impl Tokenizer {
    /// The bytes of the tokens, one after the other. They need not be UTF-8.
    ///
    /// # Errors
    ///
    /// [`UnknownId`] for the first id that the vocabulary does not have.
    pub fn decode(&self, ids: &[u32]) -> Result<Vec<u8>, UnknownId> {
        let mut text = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            text.extend_from_slice(self.token_bytes(*id).ok_or(UnknownId { id: *id, index })?);
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::String;

    const PARTS: &[&[u8]] = &[b"\xF0", b"\x9F", b"\x98\x80", b"\xE2\x82", b"\xAC", b"a", b"\xED\xA0", b"\xC0"];

    proptest! {
        #[test]
        fn all_together_is_the_lossy_conversion(parts in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..3),
                proptest::sample::select(PARTS)
                    .prop_map(<[u8]>::to_vec),
            ],
            0..12,
        )) {
            let mut decoder = StreamDecoder::new();
            let mut text = String::new();
            for part in &parts {
                text.push_str(decoder.push(part));
            }
            text.push_str(decoder.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&parts.concat()).into_owned());
        }
    }
}
