//! The starts of pieces in 64 bytes at once.
//!
//! Each byte is given its class in bits; ASCII in one pass that the compiler turns into vector instructions, the bytes of
//! longer characters one character at a time. Whether a piece starts at a byte then depends on its class and its two
//! neighbours' alone, again one pass, and the answers are gathered into a word. A window always begins where a piece
//! does, so nothing is carried over from one to the next.
//!
//! [`split`](super::split) is the specification; a property test holds the two together.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "places in arrays of 64 bytes and bits of 64-bit words: nothing here is as large as what is read"
)]

use super::classes::{Class, beyond_ascii, len_by_lead};
use super::split::contraction;

/// Bytes in a window.
pub(super) const WINDOW: usize = 64;

/// The bytes at which a start is certain: the six behind are known to be what they seem, which is what it takes to see a
/// space of three bytes and what follows it, where the last three may be a character cut short.
const CERTAIN: u64 = (1 << (WINDOW - 6)) - 1;

const LETTER: u8 = 1;
const NUMBER: u8 = 1 << 1;
const OTHER: u8 = 1 << 2;
const SPACE: u8 = 1 << 3;
/// U+0020, besides [`SPACE`].
const BLANK: u8 = 1 << 4;
/// White space of one byte, besides [`SPACE`].
const NARROW: u8 = 1 << 5;
const KINDS: u8 = LETTER | NUMBER | OTHER | SPACE;

/// The bits of each [`Class`].
const BITS: [u8; 4] = {
    let mut bits = [OTHER; 4];
    bits[Class::Letter as usize] = LETTER;
    bits[Class::Number as usize] = NUMBER;
    bits[Class::Space as usize] = SPACE;
    bits
};

/// The classes of ASCII; bytes beyond are [`OTHER`], which is what they stay where they are no character.
#[inline]
fn ascii(text: &[u8; WINDOW]) -> [u8; WINDOW] {
    let mut classes = [0; WINDOW];
    for (class, byte) in classes.iter_mut().zip(text) {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        let number = byte.wrapping_sub(b'0') < 10;
        let blank = *byte == b' ';
        let narrow = blank | (byte.wrapping_sub(b'\t') < 5);
        let other = !(letter | number | narrow);
        let bits = [(letter, LETTER), (number, NUMBER), (other, OTHER), (narrow, SPACE | NARROW), (blank, BLANK)];
        *class = bits.into_iter().fold(0, |class, (is, bits)| class | (u8::from(is) * bits));
    }
    classes
}

/// Bit n of the result is the highest bit of byte n.
#[inline]
fn high_bits(bytes: &[u8; WINDOW]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    let mut bits = 0;
    for (at, word) in words.iter().enumerate() {
        let ones = (u64::from_le_bytes(*word) >> 7) & 0x0101_0101_0101_0101;
        bits |= (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    bits
}

/// Gives the characters beyond ASCII their classes; the answer is the first bytes of white space among them. They are found
/// by their first bytes, none of which is part of another character. One that does not end inside the window is left as it
/// is: it begins where nothing is [`CERTAIN`].
#[inline]
fn beyond(text: &[u8; WINDOW], classes: &mut [u8; WINDOW]) -> u64 {
    let mut leads = high_bits(&text.map(|byte| byte & byte << 1));
    let mut wide_spaces = 0;
    while leads != 0 {
        let at = leads.trailing_zeros() as usize;
        leads &= leads - 1;
        let rest = &text[at..];
        if rest.len() < len_by_lead(rest[0]) {
            break;
        }
        let (class, len) = beyond_ascii(rest[0], &rest[1..]);
        let bits = BITS[class as usize];
        wide_spaces |= u64::from(class == Class::Space) << at;
        // Stores of a length that the processor can foretell, not a loop over a handful of bytes.
        match len {
            2 => classes[at..at + 2].copy_from_slice(&[bits; 2]),
            3 => classes[at..at + 3].copy_from_slice(&[bits; 3]),
            4 => classes[at..at + 4].copy_from_slice(&[bits; 4]),
            _ => classes[at] = bits,
        }
    }
    wide_spaces
}

/// Where the neighbours say that a piece starts, as bits. The first byte is taken to start one.
#[inline]
fn by_neighbours(classes: &[u8; WINDOW]) -> u64 {
    let mut starts = [0_u8; WINDOW];
    for at in 1..WINDOW - 1 {
        let (before, this, after) = (classes[at - 1], classes[at], classes[at + 1]);
        let change = u8::from(before & this & KINDS == 0);
        let not_joined = u8::from(before & BLANK == 0) | u8::from(this & SPACE != 0);
        let last_space = u8::from(this & NARROW != 0) & u8::from(after & SPACE == 0);
        starts[at] = ((change & not_joined) | last_space) << 7;
    }
    high_bits(&starts) | 1
}

/// The bits at which a piece starts, given that one starts at the first; what begins in the last few bytes, where what
/// follows would have to be known, is left out.
#[inline]
pub(super) fn starts(text: &[u8; WINDOW]) -> u64 {
    let mut classes = ascii(text);
    let high = high_bits(text);
    let mut wide = if high == 0 { 0 } else { beyond(text, &mut classes) & CERTAIN };
    let mut starts = by_neighbours(&classes);
    while wide != 0 {
        let at = wide.trailing_zeros() as usize;
        if classes[at + len_by_lead(text[at])] & SPACE == 0 {
            starts |= 1 << at;
        }
        wide &= wide - 1;
    }
    contractions(text, starts & CERTAIN)
}

/// Makes pieces of the contractions among them.
#[inline]
fn contractions(text: &[u8; WINDOW], starts: u64) -> u64 {
    let mut quotes = [0_u8; WINDOW];
    for (quote, byte) in quotes.iter_mut().zip(text) {
        *quote = if *byte == b'\'' { 0x80 } else { 0 };
    }
    let mut candidates = high_bits(&quotes) & starts;
    let mut starts = starts;
    while candidates != 0 {
        let at = candidates.trailing_zeros() as usize;
        let len = contraction(&text[at..]);
        if len > 0 {
            // A letter behind an apostrophe begins a run of its own by the neighbours' account.
            starts &= !(1 << (at + 1));
            starts |= (1 << (at + len)) & CERTAIN;
        }
        candidates &= candidates - 1;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::split::piece_len;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    /// Every start that a window gives is one, and none before the last is left out.
    fn check(text: &[u8]) {
        let mut want = 0_u64;
        let mut at = 0;
        while at < text.len() {
            if at < 58 {
                want |= 1 << at;
            }
            at += piece_len(&text[at..]);
        }
        assert_eq!(starts(text[..WINDOW].try_into().unwrap()), want, "{}", text.escape_ascii());
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let bytes = |text: &'static [u8]| Just(text.to_vec());
        prop_oneof![
            3 => proptest::sample::select(&b" \n\t\r'stmdrvel09aZ.,-\0\x1c"[..]).prop_map(|byte| std::vec![byte]),
            2 => any::<char>().prop_map(|c| String::from(c).into_bytes()),
            1 => any::<u8>().prop_map(|byte| std::vec![byte]),
            1 => proptest::sample::select(&["\u{3000}", "\u{a0}", "\u{85}", "\u{2028}", "é", "я", "中", "。", "½", "😀"][..])
                .prop_map(|text| text.as_bytes().to_vec()),
            1 => prop_oneof![bytes(b"'s"), bytes(b"'re"), bytes(b" 'll"), bytes(b"''ve"), bytes(b"  "), bytes(b"word")],
        ]
    }

    proptest! {
        // 16 times as often as other properties, wherever that is little or much.
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.saturating_mul(16)))]
        #[test]
        fn windows_agree_with_the_careful_reading(parts in proptest::collection::vec(piece(), 64..200)) {
            check(&parts.concat());
        }
    }

    #[test]
    fn bits_are_gathered_in_order() {
        for at in 0..WINDOW {
            let mut bytes = [0x7F; WINDOW];
            bytes[at] = 0x80;
            assert_eq!(high_bits(&bytes), 1 << at);
        }
    }
}
