//! Sharded indexes, and the shards that lie beside them.

use std::path::Path;

use tensorgate::detect::Guess;
use tensorgate::file::{Head, ReadError};
use tensorgate::{Error, ErrorKind, ShardIndex, audit};

use super::beside::{self, Findings};
use super::{Look, Model, Options, callers, expected, stranger};
use crate::excerpt::Excerpt;
use crate::report::{Fault, Format, Report};

/// Whether a JSON text has a `weight_map`; reads it, up to the longest that an index may be.
pub(super) fn has_map(head: &mut Head, options: &Options) -> Result<bool, ReadError> {
    head.fetch(options.limits.index_len())?;
    Ok(head.bytes().windows(12).any(|window| window == b"\"weight_map\""))
}

/// Judges an index, and the shards of it that are in `folder`, if it is in one.
pub(super) fn judge(
    path: &Path,
    folder: Option<&Path>,
    head: &mut Head,
    options: &Options,
    look: Look<'_>,
) -> Result<Report, ReadError> {
    // A byte over the limit is enough to know.
    head.fetch(options.limits.index_len().saturating_add(1))?;
    let size = head.file_len();
    let error = match ShardIndex::open_with(head.bytes(), &options.limits) {
        Ok(index) => {
            let shards = folder.map(|folder| beside::find(&index, folder, options)).unwrap_or_default();
            let mut report = report(path, &index, shards.findings);
            report.size = size;
            report.tensors = u64::try_from(index.len()).ok();
            if report.fault.is_none() {
                look(&report, Model::Index(&index, &shards.files), head);
            }
            return Ok(report);
        }
        Err(error) => error,
    };
    let own = [Guess::Index, Guess::Json, Guess::Text];
    let foreign = matches!(error.kind(), ErrorKind::JsonNotObject | ErrorKind::JsonUtf8 | ErrorKind::IxLengthLimit);
    if (foreign || head.bytes().is_empty())
        && let Some(report) = stranger::judge(path, head, &own)?
    {
        return Ok(report);
    }
    Ok(Report { size, ..refused(path, head.bytes(), error) })
}

fn refused(path: &Path, bytes: &[u8], error: Error) -> Report {
    callers(path, error.kind()).unwrap_or_else(|| {
        let fault = Fault {
            code: error.code(),
            offset: Some(error.at()),
            message: error.kind().what().to_owned(),
            expected: expected(error),
            advice: audit::advice(error.kind()),
            excerpt: Excerpt::text(bytes, error.at()),
        };
        Report::rejected(path, Format::Index, fault)
    })
}

/// The first error is why the index is rejected; all that is not shown is counted.
fn report(path: &Path, index: &ShardIndex<'_>, findings: Findings) -> Report {
    let (first, notes) = findings.take();
    let mut report = match first {
        None => Report::accepted(path, Format::Index),
        Some((note, advice)) => {
            let fault = Fault {
                code: note.code,
                offset: Some(note.offset),
                message: note.message,
                expected: None,
                advice,
                excerpt: Excerpt::text(index.json().as_bytes(), note.offset),
            };
            Report::rejected(path, Format::Index, fault)
        }
    };
    report.findings = notes;
    report
}
