//! GGUF files.

use std::path::Path;

use tensorgate::audit::{self, Severity, dialects};
use tensorgate::detect::Guess;
use tensorgate::file::{Head, ReadError};
use tensorgate::gguf::Header;
use tensorgate::{Error, ErrorKind, Limits, Span};

use super::{Look, Model, Options, callers, ends_with, expected, stranger, warn_of_name};
use crate::excerpt::Excerpt;
use crate::report::{Fault, Format, Note, Report};

/// Bytes that are read at first: most headers without a vocabulary fit.
const FIRST: u64 = 64 * 1024;
/// Bytes of padding that are looked at in a regular file, at the most.
const MOST_PADDING: u64 = 64 * 1024 * 1024;
/// Bytes of an excerpt, and how many of them stand before the fault.
const WINDOW: u64 = 20;
const BEFORE: u64 = 6;

/// Why a file is refused.
struct Refusal {
    kind: ErrorKind,
    at: u64,
    expected: Option<String>,
}

/// Reads the header and the padding, and judges them.
pub(super) fn judge(path: &Path, head: &mut Head, options: &Options, look: Look<'_>) -> Result<Report, ReadError> {
    let limits = &options.limits;
    head.fetch(FIRST)?;
    head.load(|bytes, len| Header::open(bytes, len, limits).err()?.needs())?;
    let known = head.file_len();
    let (end, padding) = layout(head, limits);
    let (seen, unseen) = if known.is_some() { affordable(padding) } else { (padding, 0) };
    let nonzero = head.first_nonzero(&seen)?;
    let len = match (known, end) {
        (Some(len), _) => len,
        // What follows the last tensor of a stream is read no further than it takes to know that something does.
        (None, Some(end)) => head.measure(end.saturating_add(1))?,
        (None, None) => u64::MAX,
    };
    let size = head.file_len();
    let outcome = Header::open(head.bytes(), len, limits);
    let refusal = match (outcome, nonzero) {
        (Err(error), _) => Refusal { kind: error.kind(), at: error.at(), expected: expected(error) },
        (Ok(_), Some(at)) => Refusal { kind: ErrorKind::GgPaddingNonzero, at, expected: None },
        (Ok(header), None) => match audit::gguf(&header) {
            Ok(findings) => {
                let mut report = accepted(path, size, &header, unseen, &findings);
                if options.readers {
                    report.readers = dialects::gguf(&header, &findings).ok();
                }
                look(&report, Model::Gguf(&header), head);
                return Ok(report);
            }
            Err(error) => Refusal { kind: error.kind(), at: error.at(), expected: expected(error) },
        },
    };
    let fault = Error::new(refusal.kind, refusal.at);
    let asked = options.readers && !refusal.kind.is_callers();
    let readers = asked.then(|| dialects::refused_gguf(fault, head.bytes(), len).ok()).flatten();
    let foreign = matches!(refusal.kind, ErrorKind::GgMagic | ErrorKind::GgTooShort) && !is_cut(head.bytes());
    if foreign && let Some(report) = stranger::judge(path, head, &[Guess::Gguf, Guess::GgufBig, Guess::GgufOld])? {
        return Ok(Report { readers, ..report });
    }
    Ok(Report { size, readers, ..refused(path, head, refusal)? })
}

/// Whether a file so short begins as GGUF does.
pub(super) fn is_cut(bytes: &[u8]) -> bool {
    !bytes.is_empty() && b"GGUF".starts_with(bytes)
}

/// Where a stream of this header must end, where its length is not known and decides; and the padding.
fn layout(head: &Head, limits: &Limits) -> (Option<u64>, Vec<Span>) {
    let stream = head.file_len().is_none();
    let verdict = stream.then(|| Header::open(head.bytes(), u64::MAX, limits).err()).flatten();
    let trailing = verdict.filter(|error| error.kind() == ErrorKind::GgDataTrailing);
    let end = trailing.and_then(|error| error.want());
    let len = head.file_len().or(end);
    let header = len.and_then(|len| Header::open(head.bytes(), len, limits).ok());
    (end, header.map(|header| header.padding().collect()).unwrap_or_default())
}

/// The spans that are looked at, and how many bytes are left out.
fn affordable(mut padding: Vec<Span>) -> (Vec<Span>, u64) {
    let mut left = MOST_PADDING;
    let seen = padding.iter().take_while(|span| {
        let enough = left.checked_sub(span.len());
        left = enough.unwrap_or(left);
        enough.is_some()
    });
    let seen = seen.count();
    let unseen = padding.iter().skip(seen).fold(0_u64, |sum, span| sum.saturating_add(span.len()));
    padding.truncate(seen);
    (padding, unseen)
}

fn accepted(
    path: &Path,
    size: Option<u64>,
    header: &Header<'_>,
    unseen: u64,
    findings: &[audit::Finding<'_>],
) -> Report {
    let mut report = Report::accepted(path, Format::Gguf);
    report.size = size;
    report.tensors = u64::try_from(header.len()).ok();
    warn_of_name(&mut report, path, ".safetensors");
    report.findings.extend(findings.iter().map(Note::from));
    if unseen > 0 {
        report.findings.push(Note {
            severity: Severity::Warning,
            code: "GG-NOTE-PADDING-UNSEEN",
            offset: header.data_offset(),
            message: format!("{unseen} bytes of padding were not looked at: there is more than {MOST_PADDING}"),
        });
    }
    report
}

fn refused(path: &Path, head: &mut Head, refusal: Refusal) -> Result<Report, ReadError> {
    let Refusal { kind, at, expected } = refusal;
    if let Some(report) = callers(path, kind) {
        return Ok(report);
    }
    let fault = Fault {
        code: kind.code(),
        offset: Some(at),
        message: kind.what().to_owned(),
        expected,
        advice: audit::advice(kind),
        excerpt: excerpt(head, kind, at)?,
    };
    let is_gguf = head.bytes().starts_with(b"GGUF") || is_cut(head.bytes()) || ends_with(path, ".gguf");
    Ok(Report::rejected(path, if is_gguf { Format::Gguf } else { Format::Unknown }, fault))
}

/// The bytes around the fault, where they are still to be had.
fn excerpt(head: &mut Head, kind: ErrorKind, at: u64) -> Result<Option<Excerpt>, ReadError> {
    let start = at.saturating_sub(BEFORE);
    let window = head.window(start, WINDOW)?;
    let before = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
    Ok(if window.is_empty() { None } else { Excerpt::binary(&window, before, width(kind)) })
}

/// Bytes of the field that is at fault.
const fn width(kind: ErrorKind) -> usize {
    use ErrorKind as K;
    match kind {
        K::GgKeyCharset
        | K::GgNameControl
        | K::GgNameUtf8
        | K::GgStringUtf8
        | K::GgArrayUtf8
        | K::GgBool
        | K::GgPaddingNonzero
        | K::GgDataTrailing
        | K::GgEnd => 1,
        K::GgMagic
        | K::GgMagicReversed
        | K::GgMagicUtf16
        | K::GgVersion
        | K::GgVersion1
        | K::GgVersionSwapped
        | K::GgVersionBig2
        | K::GgValueType
        | K::GgArrayType
        | K::GgArrayNested
        | K::GgAlignType
        | K::GgAlignValue
        | K::GgRankLimit
        | K::GgTypeUnknown
        | K::GgTypeRemoved => 4,
        _ => 8,
    }
}
