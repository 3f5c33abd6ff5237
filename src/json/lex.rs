//! Tokens: white space, punctuation, strings and plain integers.

use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::json::text::check_escape;
use crate::name::Name;
use crate::steps;

/// A cursor over a JSON text that was checked to be UTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    cursor: Cursor<'a>,
}

/// What an editor may put in front of a text, and does not show.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The text of `bytes`, or the offset of the first byte that is not UTF-8.
pub(crate) fn utf8(bytes: &[u8], start: u64) -> Result<&str, Error> {
    steps::take_bytes(bytes.len());
    core::str::from_utf8(bytes).map_err(|error| {
        Error::new(ErrorKind::JsonUtf8, start.saturating_add(crate::num::widen(error.valid_up_to())))
    })
}

impl<'a> Lexer<'a> {
    /// A lexer over `text`, whose first byte stands at the absolute offset `start`.
    #[inline]
    pub(crate) fn new(text: &'a str, start: u64) -> Self {
        Self { cursor: Cursor::new(text.as_bytes(), start) }
    }

    /// A lexer over a piece of a text that was checked before.
    #[inline]
    pub(crate) const fn resume(rest: &'a [u8], start: u64) -> Self {
        Self { cursor: Cursor::new(rest, start) }
    }

    #[inline]
    pub(crate) const fn at(&self) -> u64 {
        self.cursor.at()
    }

    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    #[inline]
    pub(crate) const fn set_rest(&mut self, rest: &'a [u8]) {
        self.cursor.set_rest(rest);
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.cursor.peek()
    }

    /// An error of `kind` here, or [`ErrorKind::JsonEnd`] where nothing is left.
    #[cold]
    pub(crate) fn refuse(&self, kind: ErrorKind) -> Error {
        let kind = if self.rest().is_empty() { ErrorKind::JsonEnd } else { kind };
        Error::new(kind, self.at())
    }

    /// Skips white space.
    #[inline]
    pub(crate) fn space(&mut self) {
        while let Some((b' ' | b'\t' | b'\n' | b'\r', rest)) = self.rest().split_first() {
            steps::take(1);
            self.cursor.set_rest(rest);
        }
    }

    /// Consumes `byte` where it comes next.
    #[inline]
    pub(crate) fn accept(&mut self, byte: u8) -> bool {
        steps::take(1);
        match self.rest().split_first() {
            Some((first, rest)) if *first == byte => {
                self.cursor.set_rest(rest);
                true
            }
            _ => false,
        }
    }

    /// Consumes `byte`, or refuses with `kind`.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, kind: ErrorKind) -> Result<(), Error> {
        if self.accept(byte) { Ok(()) } else { Err(self.refuse(kind)) }
    }

    /// A string; `kind` where none begins here.
    pub(crate) fn string(&mut self, kind: ErrorKind) -> Result<Name<'a>, Error> {
        self.expect(b'"', kind)?;
        let body = self.rest();
        let mut escaped = false;
        loop {
            let plain = plain_len(self.rest());
            self.cursor.take(plain);
            match self.cursor.byte() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    let rest =
                        check_escape(self.rest()).map_err(|kind| Error::new(kind, self.at().saturating_sub(1)))?;
                    self.cursor.set_rest(rest);
                }
                Some(_) => return Err(Error::new(ErrorKind::JsonControl, self.at().saturating_sub(1))),
                None => return Err(Error::new(ErrorKind::JsonEnd, self.at())),
            }
        }
        let len = body.len().saturating_sub(self.rest().len()).saturating_sub(1);
        steps::take_bytes(len);
        // The text was checked as a whole and is cut at quotes, so this is the cheap second look that a safe slice of
        // checked text costs; it cannot fail.
        let raw = body.get(..len).and_then(|raw| core::str::from_utf8(raw).ok()).unwrap_or_default();
        Ok(Name::json(raw, escaped))
    }

    /// A plain integer; `kind` where none begins here.
    pub(crate) fn integer(&mut self, kind: ErrorKind) -> Result<u64, Error> {
        if let Some((value, rest)) = short_dim(self.rest())
            && rest.first().is_some_and(|next| ends_number(*next))
        {
            self.cursor.set_rest(rest);
            return Ok(value);
        }
        let start = self.at();
        let mut value = 0_u64;
        let mut first = None;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let next = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit & 0x0F)));
            value = next.ok_or(Error::new(ErrorKind::JsonRange, start))?;
            if first.replace(first.unwrap_or(digit)) == Some(b'0') {
                return Err(Error::new(ErrorKind::JsonInteger, start));
            }
            self.cursor.byte();
        }
        match (first, self.peek()) {
            (None, Some(b'-' | b'+' | b'.')) => Err(Error::new(ErrorKind::JsonInteger, start)),
            (None, _) => Err(self.refuse(kind)),
            (Some(_), Some(b'.' | b'e' | b'E' | b'_' | b'x' | b'o')) => {
                Err(Error::new(ErrorKind::JsonInteger, start))
            }
            (Some(_), _) => Ok(value),
        }
    }

    /// Nothing but white space until the end.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.space();
        if self.rest().is_empty() { Ok(()) } else { Err(self.refuse(ErrorKind::JsonTrailing)) }
    }
}

/// Whether a plain integer may be followed by this byte.
#[inline]
const fn ends_number(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// How many bytes at the start of `text` are neither a quote, a backslash nor a control character, eight at a time.
#[inline]
pub(crate) fn plain_len(text: &[u8]) -> usize {
    let mut len = 0_usize;
    let mut rest = text;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        steps::take(1);
        let word = u64::from_le_bytes(*chunk);
        // Bit 1 turned over, a quote (0x22) becomes 0x20 and the control characters stay below it, while space (0x20)
        // and `!` (0x21) rise above: one comparison with 0x21 finds both. A borrow can set a false bit only above a
        // true one, and the lowest decides.
        let low = word ^ (ONES * 0x02);
        let slash = word ^ (ONES * 0x5C);
        let stop = (low.wrapping_sub(ONES * 0x21) & !low) | (slash.wrapping_sub(ONES) & !slash);
        let stop = stop & HIGH;
        if stop != 0 {
            return len.saturating_add(crate::num::widen32(stop.trailing_zeros() / 8));
        }
        len = len.saturating_add(8);
        rest = tail;
    }
    let plain = rest.iter().take_while(|byte| **byte >= 0x20 && **byte != b'"' && **byte != b'\\').count();
    len.saturating_add(plain)
}

const POWERS_OF_TEN: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Eight bytes less `'0'` each, and the high bit of every byte that was no digit.
#[inline]
const fn nibbles(chunk: [u8; 8]) -> (u64, u64) {
    let nibbles = u64::from_le_bytes(chunk) ^ (ONES * 0x30);
    // A byte that is no digit is above 9 here; adding 0x76 or being above 0x7F sets its high bit.
    (nibbles, (nibbles | nibbles.wrapping_add(ONES * 0x76)) & HIGH)
}

/// The value of the eight digits in `nibbles`, the first in the lowest byte.
#[inline]
const fn eight(nibbles: u64) -> u64 {
    let pairs = nibbles.wrapping_mul(10).wrapping_add(nibbles >> 8);
    let low = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// A dimension: as [`short_integer`], with one digit in one step, since a shape can have millions of zeros and ones.
#[inline]
pub(crate) fn short_dim(text: &[u8]) -> Option<(u64, &[u8])> {
    steps::take(1);
    match text {
        [digit @ b'0'..=b'9', b',' | b']', ..] => Some((u64::from(*digit & 0x0F), text.get(1..)?)),
        _ => short_integer(text),
    }
}

/// The same with fewer than eight bytes left: the last number of a header that has no padding.
#[cold]
#[inline(never)]
fn last_integer(text: &[u8]) -> Option<(u64, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count)?;
    if count == 0 || (count > 1 && digits.first() == Some(&b'0')) {
        return None;
    }
    let value =
        digits.iter().fold(0_u64, |value, digit| value.wrapping_mul(10).wrapping_add(u64::from(digit & 0x0F)));
    Some((value, rest))
}

/// A plain integer of at most 15 digits at the start of `text`, and what follows it; `None` for anything else, which
/// the careful reading then judges. What may follow is the caller's to say.
#[cfg_attr(feature = "std", inline(always))]
#[cfg_attr(
    feature = "std",
    expect(
        clippy::inline_always,
        reason = "measured: a tenth of the whole parse, called four times a tensor; flash counts more without std"
    )
)]
pub(crate) fn short_integer(text: &[u8]) -> Option<(u64, &[u8])> {
    steps::take(1);
    let Some(chunk) = text.first_chunk::<8>() else { return last_integer(text) };
    let (digits, stop) = nibbles(*chunk);
    if stop == 0 {
        return long_integer(text, digits);
    }
    let bits = stop.trailing_zeros() & !7;
    let leading_zero = digits.trailing_zeros() >= 8 && bits > 8;
    if bits == 0 || leading_zero {
        return None;
    }
    // The digits move to the most significant bytes; zeros come in before them.
    let value = eight(digits.wrapping_shl(64_u32.wrapping_sub(bits)));
    Some((value, text.get(crate::num::widen32(bits / 8)..)?))
}

/// The same where the first eight bytes are digits.
#[inline]
fn long_integer(text: &[u8], first: u64) -> Option<(u64, &[u8])> {
    let (_, tail) = text.split_at_checked(8)?;
    let (digits, stop) = nibbles(*tail.first_chunk::<8>()?);
    let bits = stop.trailing_zeros() & !7;
    if stop == 0 || first.trailing_zeros() >= 8 {
        return None;
    }
    let count = crate::num::widen32(bits / 8);
    // A shift by 64 is none at all: eight zero digits either way.
    let low = eight(digits.checked_shl(64_u32.wrapping_sub(bits)).unwrap_or(0));
    let value = eight(first).wrapping_mul(*POWERS_OF_TEN.get(count)?).wrapping_add(low);
    Some((value, tail.get(count..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;

    #[test]
    fn plain_runs_stop_where_a_byte_loop_stops() {
        for len in 0..24_usize {
            for place in 0..=len {
                for stop in 0..=255_u8 {
                    let mut text = std::vec![b'a'; len];
                    if let Some(byte) = text.get_mut(place) {
                        *byte = stop;
                    }
                    let want = text.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\').unwrap_or(len);
                    assert_eq!(plain_len(&text), want, "{text:?}");
                }
            }
        }
    }

    #[test]
    fn integers_agree_with_the_standard_library() {
        let mut text = String::new();
        for length in 1..=21_usize {
            text.push(char::from(b'0' + u8::try_from((length * 7 + 2) % 10).unwrap()));
            for tail in [",", "]", " ", "],\"data_offsets\":["] {
                let full = format!("{text}{tail}");
                let mut lexer = Lexer::new(&full, 0);
                let want: Option<u64> = text.parse().ok();
                assert_eq!(lexer.integer(ErrorKind::JsonValue).ok(), want, "{full}");
                if want.is_some() {
                    assert_eq!(lexer.rest(), tail.as_bytes());
                }
            }
        }
    }

    /// What the one-step readings take is theirs to say, too: where they decline, the careful reading hides it.
    #[test]
    fn short_integers_are_taken_in_one_step() {
        let digits = "987654321012345678";
        for count in 1..=18_usize {
            let number = &digits[..count];
            for tail in [",", "]", "e", "],\"data_offsets\":[", "                "] {
                let text = format!("{number}{tail}");
                // One word of eight bytes for the first eight digits, and another for the rest and what ends them.
                let words = if count < 8 { 0 } else { 16 };
                let want = (count < 16 && text.len() >= words).then(|| (number.parse().unwrap(), tail.as_bytes()));
                assert_eq!(short_integer(text.as_bytes()), want, "{text}");
                assert_eq!(short_dim(text.as_bytes()), want, "{text}");
                let zero = format!("0{number}{tail}");
                assert_eq!((short_integer(zero.as_bytes()), short_dim(zero.as_bytes())), (None, None), "{zero}");
            }
        }
        for text in ["", ",", "x", "x1234567", "12345678", "-1234567,       "] {
            assert_eq!(short_integer(text.as_bytes()), None, "{text}");
        }
        assert_eq!(short_dim(b"7]"), Some((7, &b"]"[..])));
        assert_eq!(short_integer(b"0,"), Some((0, &b","[..])));
        assert_eq!(short_integer(b"0,      "), Some((0, &b",      "[..])));
        assert_eq!(short_integer(b"1234567"), Some((1_234_567, &b""[..])));
    }

    #[test]
    fn an_integer_that_nothing_may_follow_is_read_carefully() {
        for byte in 0..=0x7F_u8 {
            let text = format!("12{}       ", char::from(byte));
            let ends = [b',', b']', b'}', b' ', b'\t', b'\n', b'\r'].contains(&byte);
            assert_eq!(ends_number(byte), ends, "{text:?}");
            let read = Lexer::new(&text, 0).integer(ErrorKind::JsonValue);
            assert_eq!(read.is_err(), b".eE_xo".contains(&byte), "{text:?}");
        }
        let leading = Lexer::new("000000000012,     ", 0).integer(ErrorKind::JsonValue).unwrap_err();
        assert_eq!((leading.kind(), leading.at()), (ErrorKind::JsonInteger, 0));
    }

    #[test]
    fn odd_integers_are_refused() {
        for (text, kind) in [
            ("01,", ErrorKind::JsonInteger),
            ("00", ErrorKind::JsonInteger),
            ("-1,", ErrorKind::JsonInteger),
            ("+1", ErrorKind::JsonInteger),
            ("1.0,      ", ErrorKind::JsonInteger),
            ("2e3,      ", ErrorKind::JsonInteger),
            ("0e0,", ErrorKind::JsonInteger),
            (".5", ErrorKind::JsonInteger),
            ("18446744073709551616,", ErrorKind::JsonRange),
            ("99999999999999999999999,", ErrorKind::JsonRange),
            ("true", ErrorKind::JsonValue),
            ("\u{ff12}", ErrorKind::JsonValue),
            ("", ErrorKind::JsonEnd),
        ] {
            let error = Lexer::new(text, 5).integer(ErrorKind::JsonValue).unwrap_err();
            assert_eq!((error.kind(), error.at()), (kind, 5), "{text}");
        }
        assert_eq!(Lexer::new("18446744073709551615", 0).integer(ErrorKind::JsonValue), Ok(u64::MAX));
        assert_eq!(Lexer::new("0]", 0).integer(ErrorKind::JsonValue), Ok(0));
    }

    #[test]
    fn strings_end_at_their_quote() {
        let mut lexer = Lexer::new(r#""a\"b\\"x"#, 3);
        let name = lexer.string(ErrorKind::JsonKey).unwrap();
        assert_eq!((name.raw(), name.is_escaped(), lexer.rest()), (r#"a\"b\\"#, true, &b"x"[..]));
        for (text, kind, at) in [
            ("\"a\u{1f}\"", ErrorKind::JsonControl, 2),
            ("\"a", ErrorKind::JsonEnd, 2),
            ("\"a\\", ErrorKind::JsonEnd, 2),
            ("\"\\q\"", ErrorKind::JsonEscape, 1),
            ("1", ErrorKind::JsonKey, 0),
        ] {
            let error = Lexer::new(text, 0).string(ErrorKind::JsonKey).unwrap_err();
            assert_eq!((error.kind(), error.at()), (kind, at), "{text}");
        }
    }
}
