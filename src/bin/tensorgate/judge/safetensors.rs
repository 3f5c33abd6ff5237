//! safetensors files.

use std::path::Path;

use tensorgate::audit::dialects;
use tensorgate::detect::Guess;
use tensorgate::file::{Head, ReadError};
use tensorgate::safetensors::Header;
use tensorgate::{Error, ErrorKind, audit};

use super::{Look, Model, Options, callers, ends_with, expected, stranger, warn_of_name};
use crate::excerpt::Excerpt;
use crate::report::{Fault, Format, Note, Report};

/// Reads the header and judges it.
pub(super) fn judge(path: &Path, head: &mut Head, options: &Options, look: Look<'_>) -> Result<Report, ReadError> {
    let len = head.load_safetensors(&options.limits)?;
    let size = head.file_len();
    let outcome = Header::open(head.bytes(), len, &options.limits).and_then(|header| {
        let findings = audit::safetensors(&header)?;
        let mut report = accepted(path, size, &header, &findings);
        report.readers = options.readers.then(|| dialects::safetensors(&header, &findings)).transpose()?;
        look(&report, Model::SafeTensors(&header), head);
        Ok(report)
    });
    let error = match outcome {
        Ok(report) => return Ok(report),
        Err(error) => error,
    };
    // A few bytes more show a person what the file is instead.
    if is_frame(error) {
        head.fetch(16)?;
    }
    if is_foreign(head.bytes(), error)
        && let Some(report) = stranger::judge(path, head, &[Guess::Safetensors])?
    {
        return Ok(Report { readers: of_fault(options, error, head), ..report });
    }
    Ok(Report { size, readers: of_fault(options, error, head), ..refused(path, head.bytes(), error) })
}

/// What other readers do with the fault, where that is asked for.
fn of_fault(options: &Options, error: Error, head: &Head) -> Option<dialects::Traits> {
    let asked = options.readers && !error.kind().is_callers();
    asked.then(|| dialects::refused_safetensors(error, head.bytes()).ok()).flatten()
}

fn accepted(path: &Path, size: Option<u64>, header: &Header<'_>, findings: &[audit::Finding<'_>]) -> Report {
    let mut report = Report::accepted(path, Format::SafeTensors);
    report.size = size;
    report.tensors = u64::try_from(header.len()).ok();
    warn_of_name(&mut report, path, ".gguf");
    report.findings.extend(findings.iter().map(Note::from));
    report
}

fn refused(path: &Path, bytes: &[u8], error: Error) -> Report {
    let advice = audit::advice(error.kind());
    if let Some(report) = callers(path, error.kind()) {
        return report;
    }
    let fault = Fault {
        code: error.code(),
        offset: Some(error.at()),
        message: error.kind().what().to_owned(),
        expected: right(bytes, error),
        advice,
        excerpt: Excerpt::of(frame_and_header(bytes), error.at()),
    };
    let named = ends_with(path, ".safetensors");
    let format = if is_frame(error) && !named { Format::Unknown } else { Format::SafeTensors };
    Report::rejected(path, format, fault)
}

/// What would have been right, and for the header's length what stands there.
fn right(bytes: &[u8], error: Error) -> Option<String> {
    let right = expected(error)?;
    match declared(bytes) {
        Some(length) if is_frame(error) => Some(format!("{right}, declared: {length}")),
        _ => Some(right),
    }
}

/// Whether the file may be of another format altogether: its first eight bytes do not fit, or are zeros. Those of a
/// file that ends behind them can be the length of a header that was cut off.
fn is_foreign(bytes: &[u8], error: Error) -> bool {
    match error.kind() {
        ErrorKind::StHeaderPastEnd => bytes.len() > 8,
        ErrorKind::JsonEnd => declared(bytes) == Some(0),
        _ => is_frame(error),
    }
}

/// Whether the file's first eight bytes already do not fit, so that only its name says that it is safetensors.
const fn is_frame(error: Error) -> bool {
    matches!(error.kind(), ErrorKind::StTooShort | ErrorKind::StHeaderLimit | ErrorKind::StHeaderPastEnd)
}

/// The header length that the file declares.
fn declared(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|frame| u64::from_le_bytes(*frame))
}

/// What stands before the data section, as far as it was read.
fn frame_and_header(bytes: &[u8]) -> &[u8] {
    let end = declared(bytes).and_then(|length| usize::try_from(length.saturating_add(8)).ok());
    end.and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}
