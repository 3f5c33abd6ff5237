//! One source, whatever it is, to its report: the one place that knows which formats there are.

mod beside;
mod gguf;
mod index;
mod safetensors;
mod split;
mod stranger;

use std::io::Read;
use std::path::Path;

use tensorgate::audit::Severity;
use tensorgate::detect::{Guess, PREFIX_LEN, detect};
use tensorgate::file::{Head, ReadError};
use tensorgate::{Error, ErrorKind, Limits, ShardIndex, audit};

pub(crate) use beside::Beside;

use crate::check::Tap;
use crate::report::{Format, Note, Report};
use crate::walk::Source;

/// Bytes of a file that say what it is, where its name says it too.
const SNIFF: u64 = 8;

/// How files are read and judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) limits: Limits,
    /// Bytes of a stream after which it is given up.
    pub(crate) stream_limit: u64,
    /// Whether it is told what other readers do.
    pub(crate) readers: bool,
}

/// An accepted file, to be looked into while it is in memory.
pub(crate) enum Model<'a> {
    SafeTensors(&'a tensorgate::safetensors::Header<'a>),
    Gguf(&'a tensorgate::gguf::Header<'a>),
    Index(&'a ShardIndex<'a>, &'a [Beside]),
}

/// Is called with the report and the model of an accepted file, and the file.
type Look<'l> = &'l mut dyn FnMut(&Report, Model<'_>, &Head);

/// Judges a source; `look` is called with the report and the model where it is accepted. The data of a stream passes
/// through `tap`, where there is one.
pub(crate) fn judge(source: &Source, options: &Options, tap: Option<&Tap>, look: Look<'_>) -> Report {
    let path = source.path();
    read(source, options, tap, look).unwrap_or_else(|error| Report::unread(path, &error))
}

fn read(source: &Source, options: &Options, tap: Option<&Tap>, look: Look<'_>) -> Result<Report, ReadError> {
    let stream = |reader: Box<dyn Read>| match tap {
        Some(tap) => Head::from_reader(tap.onto(reader)),
        None => Head::from_reader(reader),
    };
    let opened = match source {
        Source::Stdin => stream(Box::new(std::io::stdin())),
        Source::Named(path) if tap.is_some() && is_stream(path) => stream(Box::new(std::fs::File::open(path)?)),
        Source::Named(path) => Head::open(path)?,
        Source::Found(path) => Head::open_regular(path)?,
        Source::Lost(path, error) => return Ok(Report::unread(path, error)),
        Source::Unclear(path, error) => {
            let advice = "Name one of its files; check judges all of them.";
            return Ok(Report::unreadable(path, error.code(), error.kind().to_string(), advice));
        }
    };
    let mut head = opened.with_stream_limit(options.stream_limit);
    let path = source.path();
    let format = format(&mut head, path, options)?;
    if let Some(tap) = tap.filter(|_| head.file().is_none()) {
        tap.prepare(&mut head, format, options)?;
    }
    match format {
        Format::Gguf => {
            if matches!(source, Source::Stdin) {
                return gguf::judge(path, &mut head, options, look);
            }
            // What is looked into is accepted with the files beside it.
            let mut whole = None;
            let report = gguf::judge(path, &mut head, options, &mut |report, model, head| {
                let judged = split::hold(report.clone(), path, head, options);
                if judged.fault.is_none() {
                    look(&judged, model, head);
                }
                whole = Some(judged);
            })?;
            Ok(whole.unwrap_or(report))
        }
        Format::Index => {
            let folder = match source {
                Source::Named(path) | Source::Found(path) => path.parent(),
                Source::Stdin | Source::Lost(..) | Source::Unclear(..) => None,
            };
            index::judge(path, folder, &mut head, options, look)
        }
        Format::SafeTensors | Format::Unknown => safetensors::judge(path, &mut head, options, look),
    }
}

/// Whether a path is of a pipe or a device, or of a file that says no length, as those of `/proc`.
fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|state| !state.is_dir() && (!state.is_file() || state.len() == 0))
}

/// Which reader is to judge a file: its first bytes say it, and where they do not its name.
fn format(head: &mut Head, path: &Path, options: &Options) -> Result<Format, ReadError> {
    head.fetch(SNIFF)?;
    if head.bytes().starts_with(b"GGUF") {
        return Ok(Format::Gguf);
    }
    if ends_with(path, ".index.json") {
        return Ok(Format::Index);
    }
    if ends_with(path, ".safetensors") {
        return Ok(Format::SafeTensors);
    }
    if gguf::is_cut(head.bytes()) {
        return Ok(Format::Gguf);
    }
    head.fetch(u64::try_from(PREFIX_LEN).unwrap_or(u64::MAX))?;
    Ok(match detect(head.bytes()) {
        Guess::Safetensors => Format::SafeTensors,
        Guess::Index => Format::Index,
        Guess::GgufReversed => Format::Gguf,
        _ if ends_with(path, ".gguf") => Format::Gguf,
        // The metadata may stand before what makes it an index.
        Guess::Json if index::has_map(head, options)? => Format::Index,
        _ => Format::Unknown,
    })
}

/// Whether the path ends in `ending`, whatever the case.
fn ends_with(path: &Path, ending: &str) -> bool {
    path.as_os_str().as_encoded_bytes().to_ascii_lowercase().ends_with(ending.as_bytes())
}

/// Warns of an accepted file whose name says that it is of another format.
fn warn_of_name(report: &mut Report, path: &Path, other: &str) {
    if ends_with(path, other) {
        report.findings.push(Note {
            severity: Severity::Warning,
            code: "TG-NOTE-NAME",
            offset: 0,
            message: format!(
                "the name ends in {other}, but the file is of another format: {}",
                report.format.as_str()
            ),
        });
    }
}

/// The report where the fault is the caller's and says nothing of the file.
fn callers(path: &Path, kind: ErrorKind) -> Option<Report> {
    let message = "there is no memory to judge the file".to_owned();
    kind.is_callers().then(|| Report::unreadable(path, kind.code(), message, audit::advice(kind)))
}

/// What would have been right.
fn expected(error: Error) -> Option<String> {
    Some(format!("{} {}", error.kind().want_label(), error.want()?))
}
