//! Texts and numbers of JSON that is written, spelt as `serde_json` spells them.

use super::lex::plain_len;
use crate::{Name, Sink};

/// What the name says, as a JSON string.
pub(crate) fn string<S: Sink>(out: &mut S, name: Name<'_>) -> Result<(), S::Error> {
    out.write_all(b"\"")?;
    if let Some(plain) = name.as_str() {
        text(out, plain.as_bytes())?;
    } else {
        let mut buffer = [0; 4];
        for decoded in name.chars() {
            text(out, decoded.encode_utf8(&mut buffer).as_bytes())?;
        }
    }
    out.write_all(b"\"")
}

/// Text with the quote, the backslash and control characters escaped, and everything else as it is.
fn text<S: Sink>(out: &mut S, mut rest: &[u8]) -> Result<(), S::Error> {
    while let Some((plain, after)) = rest.split_at_checked(plain_len(rest)) {
        if !plain.is_empty() {
            out.write_all(plain)?;
        }
        let Some((byte, after)) = after.split_first() else { break };
        match byte {
            b'"' => out.write_all(b"\\\"")?,
            b'\\' => out.write_all(b"\\\\")?,
            0x08 => out.write_all(b"\\b")?,
            0x0C => out.write_all(b"\\f")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            b'\t' => out.write_all(b"\\t")?,
            control => out.write_all(&[b'\\', b'u', b'0', b'0', hex(control >> 4), hex(control & 0xF)])?,
        }
        rest = after;
    }
    Ok(())
}

/// A value below 16 as a lower-case digit.
const fn hex(nibble: u8) -> u8 {
    if nibble < 10 { b'0' | nibble } else { b'a'.wrapping_add(nibble.wrapping_sub(10)) }
}

/// A plain integer.
pub(crate) fn integer<S: Sink>(out: &mut S, value: u64) -> Result<(), S::Error> {
    // 2^64 - 1 has 20 digits.
    let mut digits = [b'0'; 20];
    let mut left = value;
    let mut used = 0_usize;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' | u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
        used = used.saturating_add(1);
        if left == 0 {
            break;
        }
    }
    out.write_all(digits.get(digits.len().saturating_sub(used)..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn spelt(name: Name<'_>) -> String {
        let mut out = Vec::new();
        string(&mut out, name).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_spelt_as_serde_json_spells_them() {
        let every: String = (0..0x300).filter_map(char::from_u32).chain("\u{2028}\u{ffff}😀".chars()).collect();
        assert_eq!(spelt(Name::plain(&every)), serde_json::to_string(&every).unwrap());
        for one in every.chars() {
            let text = one.to_string();
            assert_eq!(spelt(Name::plain(&text)), serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn escapes_that_are_not_needed_go() {
        assert_eq!(spelt(Name::json(r"\u0061\/\u000A\ud83d\ude00\u0022", true)), "\"a/\\n😀\\\"\"");
    }

    #[test]
    fn integers_are_spelt_as_the_standard_library_spells_them() {
        for shift in 0..64 {
            for value in [(1_u64 << shift) - 1, 1 << shift, u64::MAX >> shift, 10_u64.pow(shift % 20)] {
                let mut out = Vec::new();
                integer(&mut out, value).unwrap();
                assert_eq!(out, value.to_string().as_bytes());
            }
        }
    }
}
