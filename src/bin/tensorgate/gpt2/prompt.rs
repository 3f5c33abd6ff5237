//! Prompts from standard input. What is longer than its limit is told, and never cut: a text that ends where nobody ended it
//! would go on from something else than what was said.

use std::io::{self, BufRead, Read};

use crate::limited::at_most;

/// Bytes of a prompt: hundreds of times what fits any context.
const PROMPT: u64 = 16 << 20;

/// Bytes of a line of a conversation.
const LINE: u64 = 1 << 20;

/// All of the input.
pub(super) fn whole(input: impl Read) -> io::Result<String> {
    let Some(bytes) = at_most(input, PROMPT).map_err(|error| told(&error))? else {
        return Err(io::Error::other(format!(
            "standard input is longer than the {PROMPT} bytes (16 MiB) that a prompt may have"
        )));
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::other(format!("standard input is not UTF-8 (byte {at})"))
    })
}

fn told(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard input: {error}"))
}

/// What comes next of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// A line that is none of the conversation, of which nothing is left to read; and why.
    Skipped(String),
    End,
}

/// The next line.
pub(super) fn line(input: &mut impl BufRead) -> io::Result<Line> {
    let mut bytes = Vec::new();
    input.by_ref().take(LINE.saturating_add(1)).read_until(b'\n', &mut bytes).map_err(|error| told(&error))?;
    if bytes.is_empty() {
        return Ok(Line::End);
    }
    if bytes.last() != Some(&b'\n') && u64::try_from(bytes.len()).is_ok_and(|len| len > LINE) {
        input.skip_until(b'\n').map_err(|error| told(&error))?;
        return Ok(Line::Skipped(format!("it is longer than the {LINE} bytes (1 MiB) that a line may have")));
    }
    let Ok(text) = String::from_utf8(bytes) else { return Ok(Line::Skipped("it is not UTF-8".to_owned())) };
    Ok(Line::Text(text.trim_end_matches(['\r', '\n']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as long as may be, longer ones, and what is no text.
    #[test]
    fn a_line_is_taken_whole_or_not_at_all() {
        let most = usize::try_from(LINE).unwrap();
        let lines = [vec![b'a'; most], vec![b'b'; most + 1], vec![b'c'; 3 * most], b"\xff\xfe".to_vec()];
        let text = [&lines.join(&b'\n')[..], b"\r\n\nlast"].concat();
        let mut input = &text[..];
        let mut next = || line(&mut input).unwrap();
        assert_eq!(next(), Line::Text("a".repeat(most)));
        for _ in 0..2 {
            assert!(matches!(next(), Line::Skipped(why) if why.contains("1048576 bytes")));
        }
        assert!(matches!(next(), Line::Skipped(why) if why.contains("UTF-8")));
        assert_eq!([next(), next(), next()], [Line::Text(String::new()), Line::Text("last".to_owned()), Line::End]);
    }

    #[test]
    fn a_prompt_is_taken_whole_or_not_at_all() {
        let most = usize::try_from(PROMPT).unwrap();
        assert_eq!(whole(&vec![b'a'; most][..]).unwrap().len(), most);
        // The limit falls into a letter of two bytes: it is the length that is wrong, and not the letter.
        for text in [vec![b'a'; most + 1], "a\u{e9}".repeat(most / 2).into_bytes()] {
            assert!(whole(&text[..]).unwrap_err().to_string().contains("longer than the 16777216 bytes"));
        }
        assert!(whole(&b"ab\xff"[..]).unwrap_err().to_string().contains("not UTF-8 (byte 2)"));
        let endless = whole(io::repeat(0)).unwrap_err();
        assert!(endless.to_string().contains("longer than"), "{endless}");
    }
}
