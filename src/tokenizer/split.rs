//! GPT-2's pre-tokenizer, one piece at a time: the careful twin of [`window`](super::window).
//!
//! The pattern is `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, the first alternative
//! that matches. Every character is in one of four classes, so it comes to runs of a class:
//!
//! - an apostrophe at the start of a piece, with one of the seven endings behind it, is a piece;
//! - a run of letters, of numbers or of others is a piece, with one blank (U+0020) in front of it where there is one;
//! - a run of white space is a piece; where something else follows, its last character is not part of it, but of the
//!   run behind it if it is a blank, and a piece of its own if it is not.

#[cfg(feature = "std")]
use super::classes::is_tail;
use super::classes::{Class, first};

/// How long the contraction at the start of `text` is, which begins with an apostrophe; 0 where there is none.
#[inline]
pub(super) const fn contraction(text: &[u8]) -> usize {
    match text {
        [_, b's' | b't' | b'm' | b'd', ..] => 2,
        [_, b'r' | b'v', b'e', ..] | [_, b'l', b'l', ..] => 3,
        _ => 0,
    }
}

/// How many bytes at the start of `text` are of `class`, and how long the last character of them is.
fn run(text: &[u8], class: Class) -> (usize, usize) {
    let mut rest = text;
    let mut last = 0;
    while let Some((found, len)) = first(rest) {
        if found != class {
            break;
        }
        last = len;
        rest = rest.get(len..).unwrap_or_default();
    }
    (text.len().saturating_sub(rest.len()), last)
}

/// The length in bytes of the piece that `text` begins with: 0 only at its end.
pub(super) fn piece_len(text: &[u8]) -> usize {
    let Some((class, _)) = first(text) else { return 0 };
    if class != Class::Space {
        let short = if text.starts_with(b"'") { contraction(text) } else { 0 };
        return if short > 0 { short } else { run(text, class).0 };
    }
    if let [b' ', rest @ ..] = text
        && let Some((next, _)) = first(rest)
        && next != Class::Space
    {
        return run(rest, next).0.saturating_add(1);
    }
    let (len, last) = run(text, Class::Space);
    if len == text.len() || len == last { len } else { len.saturating_sub(last) }
}

/// The first place at or behind `from` where a piece starts whatever stood before `text`.
///
/// A byte that is no tail begins a character, and two characters tell: no piece goes from one class to another but from a
/// blank, or from an apostrophe; and none from white space other than blanks to what is not.
#[cfg(feature = "std")]
pub(super) fn certain_start(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from.max(4).saturating_sub(4);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.first().is_some_and(|byte| is_tail(*byte)) {
            at = at.saturating_add(1);
            continue;
        }
        let (class, len) = first(rest)?;
        let next = at.saturating_add(len);
        let (after, _) = first(rest.get(len..)?)?;
        if next >= from && class != after && !rest.starts_with(b" ") && !rest.starts_with(b"'") {
            return Some(next);
        }
        at = next;
    }
    None
}

/// The pieces of `text`, in order.
#[cfg(test)]
pub(super) fn pieces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(piece_len(rest))?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    fn split(text: &str) -> Vec<String> {
        pieces(text.as_bytes()).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
    }

    #[test]
    fn the_pattern_by_hand() {
        for (text, want) in [
            ("", &[][..]),
            ("Hello world", &["Hello", " world"]),
            ("I'm don't 's 'S", &["I", "'m", " don", "'t", " '", "s", " '", "S"]),
            ("''s''ll'lx", &["''", "s", "''", "ll", "'", "lx"]),
            ("x's't're've'd'llama", &["x", "'s", "'t", "'re", "'ve", "'d", "'ll", "ama"]),
            ("a  b", &["a", " ", " b"]),
            ("a   ", &["a", "   "]),
            ("a \n b\n\nc", &["a", " \n", " b", "\n", "\n", "c"]),
            ("  12ab  +", &[" ", " 12", "ab", " ", " +"]),
            ("\u{3000}\u{a0}x", &["\u{3000}", "\u{a0}", "x"]),
            ("a\u{301}b", &["a", "\u{301}", "b"]),
            (" \u{200b}", &[" \u{200b}"]),
            ("\u{1c}x", &["\u{1c}", "x"]),
        ] {
            assert_eq!(split(text), want, "{text:?}");
        }
    }
}
