//! One source, whatever it is, to its report: the one place that knows which formats there are.

mod safetensors;

use std::path::Path;

use tensorgate::Limits;
use tensorgate::file::{Head, ReadError};

use crate::report::{Format, Report};
use crate::walk::Source;

/// Bytes of a file that say what it is.
const SNIFF: u64 = 8;

/// How files are read and judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) limits: Limits,
    /// Bytes of a stream after which it is given up.
    pub(crate) stream_limit: u64,
}

/// An accepted file, to be looked into while it is in memory.
pub(crate) enum Model<'a> {
    SafeTensors(&'a tensorgate::safetensors::Header<'a>),
}

/// Judges a source; `look` is called with the report and the model where it is accepted.
pub(crate) fn judge(source: &Source, options: &Options, look: &mut dyn FnMut(&Report, Model<'_>)) -> Report {
    let path = source.path();
    read(source, options, look).unwrap_or_else(|error| Report::unread(path, &error))
}

fn read(source: &Source, options: &Options, look: &mut dyn FnMut(&Report, Model<'_>)) -> Result<Report, ReadError> {
    let opened = match source {
        Source::Stdin => Head::from_reader(std::io::stdin()),
        Source::Named(path) => Head::open(path)?,
        Source::Found(path) => Head::open_regular(path)?,
        Source::Lost(path, error) => return Ok(Report::unread(path, error)),
    };
    let mut head = opened.with_stream_limit(options.stream_limit);
    head.fetch(SNIFF)?;
    let path = source.path();
    match format(head.bytes(), path) {
        Format::Gguf => Ok(unsupported(path, Format::Gguf, "GGUF files cannot be judged yet")),
        Format::Index => Ok(unsupported(path, Format::Index, "sharded indexes cannot be judged yet")),
        Format::SafeTensors | Format::Unknown => safetensors::judge(path, &mut head, options, look),
    }
}

/// Which reader is to judge a file, by its first bytes and its name.
fn format(first: &[u8], path: &Path) -> Format {
    if first.starts_with(b"GGUF") {
        Format::Gguf
    } else if ends_with(path, ".index.json") {
        Format::Index
    } else if ends_with(path, ".safetensors") {
        Format::SafeTensors
    } else {
        Format::Unknown
    }
}

/// Whether the path ends in `ending`, whatever the case.
fn ends_with(path: &Path, ending: &str) -> bool {
    path.as_os_str().as_encoded_bytes().to_ascii_lowercase().ends_with(ending.as_bytes())
}

fn unsupported(path: &Path, format: Format, message: &str) -> Report {
    let advice = "Use a build of tensorgate that knows the format.";
    Report { format, ..Report::unreadable(path, "TG-UNSUPPORTED", message.to_owned(), advice) }
}
