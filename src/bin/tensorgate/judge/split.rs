//! The other shards of a split GGUF model. They are looked for beside the first, by its own name, and nowhere else.

use std::path::Path;

use tensorgate::audit::Severity;
use tensorgate::file::{Head, ReadError};
use tensorgate::gguf::{Header, ShardName, Split, SplitError, SplitErrorKind, SplitKeys};

use super::Options;
use crate::report::{Fault, Note, Report};

const ADVICE: &str = "The shards are not of one save: fetch all of them again from one place.";

/// Holds the first shard of a split model, already accepted by itself, against the shards beside it.
///
/// What is missing is a warning, since the file itself is sound.
pub(super) fn hold(report: Report, path: &Path, head: &Head, options: &Options) -> Report {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(ShardName::parse);
    let (Some(name), Some(folder), Some(len)) = (name, path.parent(), head.file_len()) else { return report };
    let first = Header::open(head.bytes(), len, &options.limits).ok();
    let Some(first) = first.filter(|_| report.fault.is_none() && name.number() == 1) else { return report };
    match SplitKeys::of(&first) {
        Ok(None) => return report,
        Ok(Some(_)) => {}
        Err(error) => return refused(report, &error),
    }
    let mut heads = Vec::new();
    for number in 2..=name.count() {
        let Some(shard) = name.sibling(number).map(|name| name.to_string()) else { break };
        let beside = folder.join(&shard);
        if beside.is_file() {
            match load(&beside, options) {
                Ok(head) => heads.push((shard, head)),
                Err(error) => return rejected_shard(report, &shard, error.code(), &error.to_string()),
            }
        }
    }
    let mut headers = Vec::new();
    for (shard, head) in &heads {
        match Header::open(head.bytes(), head.file_len().unwrap_or_default(), &options.limits) {
            Ok(header) => headers.push((shard.as_str(), header)),
            Err(error) => return rejected_shard(report, shard, error.code(), error.kind().what()),
        }
    }
    let own = name.to_string();
    let outcome = Split::new(&first).and_then(|mut split| {
        let all =
            || std::iter::once((own.as_str(), &first)).chain(headers.iter().map(|(name, header)| (*name, header)));
        all().try_for_each(|(name, header)| split.add(name, header))?;
        let missing = split.missing().count();
        if missing == 0 {
            split.finish().map(|_| None)
        } else {
            Ok(split.missing().next().map(|first| (first, missing)))
        }
    });
    match outcome {
        Ok(None) => report,
        Ok(Some((number, missing))) => warned(report, number, missing),
        Err(error) => refused(report, &error),
    }
}

fn load(path: &Path, options: &Options) -> Result<Head, ReadError> {
    let mut head = Head::open_regular(path)?;
    head.load(|bytes, len| Header::open(bytes, len, &options.limits).err()?.needs())?;
    Ok(head)
}

fn warned(mut report: Report, number: u32, missing: usize) -> Report {
    report.findings.push(Note {
        severity: Severity::Warning,
        code: SplitErrorKind::Missing.code(),
        offset: 0,
        message: format!("{missing} of the model's shards are not beside this one (first: shard {number})"),
    });
    report
}

fn refused(report: Report, error: &SplitError) -> Report {
    let shard = error.shard().map(|shard| format!(" (shard {shard})")).unwrap_or_default();
    let fault = Fault {
        code: error.code(),
        offset: Some(error.at()),
        message: format!("{}{shard}", error.kind().what()),
        expected: error.want().map(|want| format!("expected {want}")),
        advice: ADVICE,
        excerpt: None,
    };
    Report { findings: report.findings, size: report.size, ..Report::rejected(&report.path, report.format, fault) }
}

fn rejected_shard(report: Report, shard: &str, code: &str, what: &str) -> Report {
    let fault = Fault {
        code: "GG-SPLIT-SHARD-REJECTED",
        offset: Some(0),
        message: format!("shard \"{shard}\" is bad itself: {code}: {what}"),
        expected: None,
        advice: "Check the shard by itself to see what is wrong with it; fetch it again.",
        excerpt: None,
    };
    Report { findings: report.findings, size: report.size, ..Report::rejected(&report.path, report.format, fault) }
}
