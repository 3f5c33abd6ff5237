//! Standard output for text that others chose: as it is where it goes into a file or a pipe, and on a terminal so that nothing
//! in it moves the cursor, changes colours or turns the direction of writing.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use crate::output;

/// Standard output, guarded where it is a terminal.
pub(crate) struct Terminal {
    guarded: bool,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        Self { guarded: io::stdout().is_terminal() }
    }

    /// Writes a text, and does not wait for more of it.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// The same of bytes, which need be no UTF-8.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = output::raw();
        if self.guarded {
            out.write_all(harmless(bytes).as_bytes())?;
        } else {
            out.write_all(bytes)?;
        }
        out.flush()
    }
}

/// The text with all escaped that a terminal could take for more than letters.
fn harmless(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_control(c) { out.extend(c.escape_default()) } else { out.push(c) }
        }
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").unwrap_or_default();
        }
    }
    out
}

/// Whether a terminal could take the character for more than a letter; so are those that turn the direction of writing.
fn is_control(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_letters_reaches_a_terminal() {
        assert_eq!(harmless("It is\na\ttruth, caf\u{e9}".as_bytes()), "It is\na\ttruth, caf\u{e9}");
        assert_eq!(harmless(b"\x1b]0;x\x07\r\x9b2J"), "\\u{1b}]0;x\\u{7}\\r\\x9b2J");
        assert_eq!(harmless("\u{9b}2J\u{202e}".as_bytes()), "\\u{9b}2J\\u{202e}");
    }
}
