//! A picture of the bytes around a fault, with a caret under the field that lied.

use std::fmt::Write as _;

/// Columns of an excerpt, so that it fits 100 with its indent.
const COLUMNS: usize = 88;
/// Columns of them before the fault, at the most.
const BEFORE: usize = 40;
/// Bytes of the frame: the header's length.
const FRAME: usize = 8;

/// One line of printable ASCII and where in it the fault is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Columns before the fault.
    pub(crate) column: usize,
    /// Columns of the fault, at least 1.
    pub(crate) width: usize,
}

impl Excerpt {
    /// The line that points at the fault.
    pub(crate) fn caret(&self) -> String {
        let tail = "~".repeat(self.width.saturating_sub(1));
        format!("{:column$}^{tail}", "", column = self.column)
    }

    /// The picture of offset `at` in the frame and header of a file; none where it stands behind them.
    pub(crate) fn of(bytes: &[u8], at: u64) -> Option<Self> {
        let at = usize::try_from(at).ok()?;
        if at < FRAME || bytes.len() <= FRAME {
            return Self::frame(bytes, at);
        }
        let (before, after) = bytes.split_at_checked(at)?;
        let (_, before) = before.split_at_checked(FRAME)?;
        Some(Self::header(before, after))
    }

    /// The picture of offset `at` in a text; none where it stands behind it.
    pub(crate) fn text(bytes: &[u8], at: u64) -> Option<Self> {
        let (before, after) = bytes.split_at_checked(usize::try_from(at).ok()?)?;
        Some(Self::header(before, after))
    }

    /// A binary field of `len` bytes that stands `before` bytes into `window`, in hexadecimal, then as text.
    pub(crate) fn binary(window: &[u8], before: usize, len: usize) -> Option<Self> {
        let left = window.len().checked_sub(before)?;
        let lied = len.min(left).max(1);
        Some(Self {
            text: hexadecimal(window),
            column: before.saturating_mul(3),
            width: lied.saturating_mul(3).saturating_sub(1),
        })
    }

    /// The first bytes in hexadecimal, then as text.
    fn frame(bytes: &[u8], at: usize) -> Option<Self> {
        let shown = bytes.get(..bytes.len().min(16)).unwrap_or_default();
        if at > shown.len() {
            return None;
        }
        // A header of no bytes: the length that says so is all there is to show.
        let at = if shown.len() == FRAME && at == FRAME { 0 } else { at };
        let lied = shown.len().min(FRAME).saturating_sub(at).max(1);
        Some(Self {
            text: hexadecimal(shown),
            column: at.saturating_mul(3),
            width: lied.saturating_mul(3).saturating_sub(1),
        })
    }

    /// The header's text around the fault: what stands before it and from it on.
    fn header(before: &[u8], after: &[u8]) -> Self {
        let mut start = before.len();
        let mut column = 0_usize;
        for byte in before.iter().rev() {
            let columns = column.saturating_add(shown(*byte).len());
            if columns > BEFORE {
                break;
            }
            (column, start) = (columns, start.saturating_sub(1));
        }
        let mut text = String::from(if start > 0 { "..." } else { "" });
        column = column.saturating_add(text.len());
        before.iter().skip(start).for_each(|byte| text.push_str(&shown(*byte)));
        let extent = extent(after);
        let mut width = 0_usize;
        for (place, byte) in after.iter().enumerate() {
            let piece = shown(*byte);
            if text.len().saturating_add(piece.len()) > COLUMNS {
                text.push_str("...");
                break;
            }
            text.push_str(&piece);
            if place < extent {
                width = width.saturating_add(piece.len());
            }
        }
        Self { text, column, width: width.max(1) }
    }
}

/// Bytes in hexadecimal, then as text.
fn hexadecimal(bytes: &[u8]) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let plain = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
    let text: String = bytes.iter().map(plain).collect();
    format!("{}  {text}", hex.join(" ")).trim_end().to_owned()
}

/// A byte as it is shown.
fn shown(byte: u8) -> String {
    let mut out = String::new();
    match byte {
        b' '..=b'~' => out.push(char::from(byte)),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        _ => write!(out, "\\x{byte:02x}").unwrap_or_default(),
    }
    out
}

/// How many bytes the token at the start of `text` has: a string, an array of numbers, a word or number, or one byte.
fn extent(text: &[u8]) -> usize {
    let through = |end: Option<usize>| end.map_or(text.len(), |end| end.saturating_add(2));
    let inside = text.get(1..).unwrap_or_default();
    match text.first() {
        Some(b'"') => {
            let mut escaped = false;
            through(inside.iter().position(|byte| {
                let end = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                end
            }))
        }
        Some(b'[') => through(inside.iter().position(|byte| *byte == b']')),
        Some(byte) if is_word(*byte) => text.iter().take_while(|byte| is_word(**byte)).count(),
        _ => 1,
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str, at: u64) -> (String, String) {
        let bytes = [&[0; 8], header.as_bytes()].concat();
        let excerpt = Excerpt::of(&bytes, at).unwrap();
        assert!(excerpt.text.len() <= 100 && excerpt.caret().len() <= 100);
        (excerpt.text.clone(), excerpt.caret())
    }

    #[test]
    fn the_caret_is_under_the_whole_field() {
        let text = r#"{"a":{"shape":[1,2],"x\"y":true}}"#;
        assert_eq!(of(text, 9), (text.into(), " ^~~".into()));
        assert_eq!(of(text, 22), (text.into(), "              ^~~~~".into()));
        assert_eq!(of(text, 28).1.trim_start(), "^~~~~~");
        assert_eq!(of(text, 35).1.trim_start(), "^~~~");
        assert_eq!(of(text, 8 + 33).1, format!("{:33}^", ""));
        assert_eq!(of("{\u{1b}\n}", 9), ("{\\x1b\\n}".into(), " ^~~~".into()));
    }

    #[test]
    fn long_headers_are_cut_on_both_sides() {
        let text = format!("{}\"{}\"", "a".repeat(500), "b".repeat(500));
        let (shown, caret) = of(&text, 508);
        assert!(shown.starts_with("...a") && shown.ends_with("b..."), "{shown}");
        assert_eq!(caret.find('^'), shown.find('"'));
        assert_eq!(Excerpt::of(&[0; 20], 21), None);
    }

    #[test]
    fn the_frame_is_hexadecimal() {
        let excerpt = Excerpt::of(b"{\"a\": \"b\"\x1b", 0).unwrap();
        assert_eq!(excerpt.text, "7b 22 61 22 3a 20 22 62 22 1b  {\"a\": \"b\".");
        assert_eq!(excerpt.caret(), "^~~~~~~~~~~~~~~~~~~~~~~");
        let short = Excerpt::of(b"abc", 3).unwrap();
        assert_eq!((short.text.as_str(), short.caret().as_str()), ("61 62 63  abc", "         ^~"));
        assert_eq!(Excerpt::of(b"", 0).map(|empty| empty.column), Some(0));
        let field = Excerpt::binary(b"ab\0\x01c", 2, 8).unwrap();
        assert_eq!((field.text.as_str(), field.caret().as_str()), ("61 62 00 01 63  ab..c", "      ^~~~~~~~"));
        assert_eq!(Excerpt::binary(b"ab", 2, 4).map(|end| (end.column, end.width)), Some((6, 2)));
        assert_eq!(Excerpt::binary(b"ab", 3, 4), None);
    }
}
