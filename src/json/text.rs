//! The inside of JSON strings: checking it, and decoding it character by character.

use core::iter::FusedIterator;

use crate::error::ErrorKind;

/// Decodes text that was checked by [`check_escape`]; plain text passes through.
///
/// Text that was not checked decodes to U+FFFD where it is wrong: nothing here can fail.
#[derive(Clone, Debug)]
pub(crate) struct Decode<'a> {
    chars: core::str::Chars<'a>,
    escaped: bool,
}

impl<'a> Decode<'a> {
    #[inline]
    pub(crate) fn new(raw: &'a str, escaped: bool) -> Self {
        Self { chars: raw.chars(), escaped }
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0_u32, |unit, _| Some((unit << 4) | self.chars.next()?.to_digit(16)?))
    }

    /// What stands behind a backslash.
    #[cold]
    fn escape(&mut self) -> Option<char> {
        Some(match self.chars.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = self.unit()?;
                if unit & 0xFC00 != 0xD800 {
                    return char::from_u32(unit);
                }
                (self.chars.next()? == '\\' && self.chars.next()? == 'u').then_some(())?;
                char::from_u32(pair(unit, self.unit()?))?
            }
            plain => plain,
        })
    }
}

impl Iterator for Decode<'_> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        crate::steps::take(1);
        let next = self.chars.next()?;
        if self.escaped && next == '\\' {
            Some(self.escape().unwrap_or(char::REPLACEMENT_CHARACTER))
        } else {
            Some(next)
        }
    }
}

impl FusedIterator for Decode<'_> {}

/// The scalar value of a surrogate pair.
const fn pair(high: u32, low: u32) -> u32 {
    0x1_0000_u32.wrapping_add(((high & 0x3FF) << 10) | (low & 0x3FF))
}

/// Four hexadecimal digits at the start of `bytes`.
fn hex4(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = bytes.split_first_chunk::<4>()?;
    let unit = digits.iter().try_fold(0_u32, |unit, digit| Some((unit << 4) | char::from(*digit).to_digit(16)?))?;
    Some((unit, rest))
}

/// Checks the escape whose backslash was just consumed and returns what follows it.
#[cold]
pub(crate) fn check_escape(after: &[u8]) -> Result<&[u8], ErrorKind> {
    let (letter, rest) = after.split_first().ok_or(ErrorKind::JsonEnd)?;
    match letter {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(rest),
        b'u' => {
            let (unit, rest) = hex4(rest).ok_or(ErrorKind::JsonEscape)?;
            match unit & 0xFC00 {
                0xD800 => {
                    let low = rest.strip_prefix(b"\\u").and_then(hex4).ok_or(ErrorKind::JsonSurrogate)?;
                    if low.0 & 0xFC00 == 0xDC00 { Ok(low.1) } else { Err(ErrorKind::JsonSurrogate) }
                }
                0xDC00 => Err(ErrorKind::JsonSurrogate),
                _ => Ok(rest),
            }
        }
        _ => Err(ErrorKind::JsonEscape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    #[test]
    fn decodes_as_serde_json_does() {
        for raw in ["", "plain", r"\u0041\u00e9\uD83D\uDE00", r#"\"\\\/\b\f\n\r\t"#, "mixed \\u0000 日本"] {
            let ours: String = Decode::new(raw, true).collect();
            let theirs: String = serde_json::from_str(&std::format!("\"{raw}\"")).unwrap();
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn bad_escapes_are_told_apart() {
        let kinds = [
            ("", ErrorKind::JsonEnd),
            ("x41", ErrorKind::JsonEscape),
            ("u41\"", ErrorKind::JsonEscape),
            ("u00g0", ErrorKind::JsonEscape),
            ("u+123", ErrorKind::JsonEscape),
            ("ud83d", ErrorKind::JsonSurrogate),
            ("ude00", ErrorKind::JsonSurrogate),
            ("ud83dx", ErrorKind::JsonSurrogate),
            ("ud83d\\ud83d", ErrorKind::JsonSurrogate),
            ("ude00\\ud83d", ErrorKind::JsonSurrogate),
        ];
        for (text, kind) in kinds {
            assert_eq!(check_escape(text.as_bytes()), Err(kind), "{text}");
        }
        assert_eq!(check_escape(b"ud83d\\ude00!"), Ok(&b"!"[..]));
    }

    #[test]
    fn unchecked_text_never_panics() {
        for raw in [r"\", r"\u", r"\ud800", r"\ud800\u", r"\ud800\u0041", r"\udc00", r"\u12"] {
            assert!(Decode::new(raw, true).count() > 0);
        }
    }
}
