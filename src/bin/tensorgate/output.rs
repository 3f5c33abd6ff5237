//! Standard output: coloured on terminals only, and JSON in plain ASCII.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anstream::AutoStream;
use anstream::adapter::StripBytes;
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;
use serde_json::ser::Formatter;
use tensorgate::file::Atomic;

/// Standard output. Styles are dropped where it is no terminal or `NO_COLOR` is set.
pub(crate) type Out = BufWriter<Told<AutoStream<io::StdoutLock<'static>>>>;

/// Opens it.
pub(crate) fn stdout() -> Out {
    BufWriter::new(Told(AutoStream::auto(io::stdout().lock())))
}

/// Standard output for what is no text of ours: as it is.
pub(crate) fn raw() -> Told<io::StdoutLock<'static>> {
    Told(io::stdout().lock())
}

/// A way to standard output whose errors say so.
#[derive(Debug)]
pub(crate) struct Told<W>(W);

impl<W: Write> Write for Told<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| of_stdout(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| of_stdout(&error))
    }
}

/// The kind stays: a closed pipe and an interrupted call are not told at all.
fn of_stdout(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// Where a report goes: standard output, or a file that appears when it is whole.
pub(crate) enum Sink {
    Stdout(Out),
    File(Box<Atomic<'static>>, StripBytes),
}

impl Sink {
    /// Opens it.
    pub(crate) fn new(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::Stdout(stdout())) };
        let file = Atomic::create(path).map_err(io::Error::other)?;
        Ok(Self::File(Box::new(file), StripBytes::new()))
    }

    /// Ends the report.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush(),
            Self::File(file, _) => file.commit().map_err(io::Error::other),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(file, styles) => {
                styles.strip_next(bytes).try_for_each(|plain| file.write_all(plain))?;
                Ok(bytes.len())
            }
        }
    }

    /// Nobody reads a file that is not whole, so that only standard output is flushed.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(..) => Ok(()),
        }
    }
}

/// How the report of files that were written was printed. Where it could not be, the files are there all the same.
pub(crate) fn told(printed: io::Result<()>) -> io::Result<()> {
    printed.map_err(|error| {
        let what = format!("the files were written; only the report could not be printed: {error}");
        io::Error::new(error.kind(), what)
    })
}

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Writes a value as JSON on one line, without the line's end.
pub(crate) fn json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Ascii))?;
    Ok(())
}

/// Compact JSON in which everything but printable ASCII is escaped, so that it is safe on a terminal and still exact.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for piece in fragment.split_inclusive(|c| !matches!(c, ' '..='~')) {
            let last = piece.chars().next_back().filter(|c| !matches!(c, ' '..='~'));
            let plain = last.and_then(|last| piece.strip_suffix(last)).unwrap_or(piece);
            // A second `#` would begin a command to some runners of continuous integration.
            for (place, part) in plain.split("##").enumerate() {
                if place > 0 {
                    writer.write_all(b"#\\u0023")?;
                }
                writer.write_all(part.as_bytes())?;
            }
            for unit in last.map(|last| last.encode_utf16(&mut [0; 2]).to_vec()).unwrap_or_default() {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_ascii_and_exact() {
        let mut out = Vec::new();
        let command = "###[error]##vso[x]a#";
        json(&mut out, &command).unwrap();
        assert!(!String::from_utf8(out.clone()).unwrap().contains("##"));
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), command);
        let hostile = "a\u{1b}\u{7f}\u{9b}\u{e9}\"\\\u{1f600}\n\u{202e}z";
        let mut out = Vec::new();
        json(&mut out, &hostile).unwrap();
        assert!(out.iter().all(|byte| (b' '..=b'~').contains(byte)));
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), hostile);
    }
}
