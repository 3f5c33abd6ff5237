//! What kind of character the pre-tokenizer sees at a place: letter, number, white space, or none of these.

mod table;

use crate::num;

/// The four kinds that GPT-2's pattern tells apart: `\p{L}`, `\p{N}`, `\s`, and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Other,
    Letter,
    Number,
    Space,
}

/// The class of the character of block `block` (its scalar value over 64) whose last byte is `last`.
#[inline]
fn of(block: u32, last: u8) -> Class {
    let place = table::INDEX.get(num::widen32(block));
    let word = place.and_then(|place| table::BLOCKS.get(usize::from(*place))).copied().unwrap_or(0);
    match (word >> (u32::from(last & 0x3F) * 2)) & 3 {
        1 => Class::Letter,
        2 => Class::Number,
        3 => Class::Space,
        _ => Class::Other,
    }
}

/// The class of an ASCII character.
#[inline]
const fn ascii(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
        b'0'..=b'9' => Class::Number,
        b'\t'..=b'\r' | b' ' => Class::Space,
        _ => Class::Other,
    }
}

pub(super) const fn is_tail(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// How many bytes a character beyond ASCII has by its first byte; 1 for a byte that none begins with.
#[inline]
pub(super) const fn len_by_lead(lead: u8) -> usize {
    match lead {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    }
}

/// The class and the length of the character that `text` begins with; `None` at the end.
///
/// A byte that is not part of valid UTF-8 is a character of its own, neither letter, number nor space: what it would be
/// if U+FFFD stood there.
#[inline]
pub(super) fn first(text: &[u8]) -> Option<(Class, usize)> {
    let (lead, rest) = text.split_first()?;
    if *lead < 0x80 { Some((ascii(*lead), 1)) } else { Some(beyond_ascii(*lead, rest)) }
}

/// The same for a first byte of 0x80 or more, with what follows it.
#[inline]
pub(super) fn beyond_ascii(lead: u8, rest: &[u8]) -> (Class, usize) {
    let bits = u32::from(lead);
    let found = match (lead, rest) {
        (0xC2..=0xDF, [last, ..]) if is_tail(*last) => Some((bits & 0x1F, *last, 2)),
        (0xE0..=0xEF, [a, last, ..]) if is_tail(*a) && is_tail(*last) && three(lead, *a) => {
            Some(((bits & 0x0F) << 6 | u32::from(a & 0x3F), *last, 3))
        }
        (0xF0..=0xF4, [a, b, last, ..]) if is_tail(*a) && is_tail(*b) && is_tail(*last) && four(lead, *a) => {
            Some(((bits & 0x07) << 12 | u32::from(a & 0x3F) << 6 | u32::from(b & 0x3F), *last, 4))
        }
        _ => None,
    };
    found.map_or((Class::Other, 1), |(block, last, len)| (of(block, last), len))
}

/// Whether a character of three bytes is neither overlong nor a surrogate.
const fn three(lead: u8, second: u8) -> bool {
    match lead {
        0xE0 => second >= 0xA0,
        0xED => second < 0xA0,
        _ => true,
    }
}

/// Whether a character of four bytes is neither overlong nor beyond U+10FFFF.
const fn four(lead: u8, second: u8) -> bool {
    match lead {
        0xF0 => second >= 0x90,
        0xF4 => second < 0x90,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_character_is_as_long_as_it_is() {
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let text = c.encode_utf8(&mut buffer).as_bytes();
            let (class, len) = first(text).unwrap();
            assert_eq!(len, text.len());
            assert_eq!(class == Class::Space, c.is_whitespace(), "{c:?}");
            // Rust's own tables may be of a later Unicode: what is no letter or number there is none here.
            if class == Class::Letter {
                assert!(c.is_alphabetic(), "{c:?}");
            }
            if class == Class::Number {
                assert!(c.is_numeric(), "{c:?}");
            }
        }
        let count = |class| {
            ('\0'..=char::MAX).filter(|c| first(c.encode_utf8(&mut [0; 4]).as_bytes()).unwrap().0 == class).count()
        };
        // DerivedGeneralCategory.txt and PropList.txt of Unicode 16.0.0.
        assert_eq!(count(Class::Space), 25);
        assert_eq!(count(Class::Letter), 141_028);
        assert_eq!(count(Class::Number), 1_911);
    }

    #[test]
    fn what_is_not_utf8_is_taken_byte_by_byte() {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for a in 0x80..=0xFF_u8 {
            for b in [0x00, 0x20, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE2, 0xFF] {
                texts.push(std::vec![a, b]);
                for c in [0x41, 0x80, 0xBF, 0xC2] {
                    texts.push(std::vec![a, b, c]);
                    texts.push(std::vec![a, b, c, 0x80]);
                    texts.push(std::vec![a, b, c, 0x41]);
                }
            }
        }
        for text in texts {
            let valid = text.utf8_chunks().next().unwrap().valid();
            match valid.chars().next() {
                Some(c) => assert_eq!(first(&text).unwrap().1, c.len_utf8()),
                None => assert_eq!(first(&text), Some((Class::Other, 1)), "{text:?}"),
            }
        }
        assert_eq!(first(b""), None);
    }
}
