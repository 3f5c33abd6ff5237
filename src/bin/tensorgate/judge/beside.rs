//! The shards beside an index. A name is looked up in the index's own folder and nowhere else.

use std::path::Path;

use tensorgate::audit::{self, Severity};
use tensorgate::file::Head;
use tensorgate::safetensors::Header;
use tensorgate::shards::{Finding, Shard};
use tensorgate::{ErrorKind, ShardIndex};

use super::{Model, Options, ends_with, safetensors};
use crate::report::{Note, Verdict};
use crate::text::quoted;

/// Findings of each severity that are shown; the others are counted.
const MOST: usize = 10;

/// One shard of an index.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) name: String,
    /// Tensors that the index puts into it.
    pub(crate) tensors: u64,
    /// Bytes of its tensors, where it is there and sound.
    pub(crate) bytes: Option<u64>,
}

/// What was found beside an index.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<Beside>,
    pub(super) findings: Findings,
}

/// Findings, of which only the first are kept.
#[derive(Debug, Default)]
pub(super) struct Findings {
    errors: Vec<(Note, &'static str)>,
    warnings: Vec<Note>,
    more_errors: u64,
    more_warnings: u64,
}

impl Findings {
    fn add(&mut self, severity: Severity, offset: u64, code: &'static str, advice: &'static str, message: String) {
        let note = Note { severity, code, offset, message };
        if severity == Severity::Error {
            if self.errors.len() < MOST {
                self.errors.push((note, advice));
            } else {
                self.more_errors = self.more_errors.saturating_add(1);
            }
        } else if self.warnings.len() < MOST {
            self.warnings.push(note);
        } else {
            self.more_warnings = self.more_warnings.saturating_add(1);
        }
    }

    fn disagreement(&mut self, finding: &Finding<'_>) {
        let kind = finding.kind();
        let missing = kind == ErrorKind::IxShardMissing;
        let severity = if finding.is_warning() || missing { Severity::Warning } else { Severity::Error };
        let mut message = kind.what().to_owned();
        if let Some(want) = finding.error().want() {
            message = format!("{message} ({} {want})", kind.want_label());
        }
        for (what, name) in
            [("tensor", finding.tensor()), ("shard", finding.shard()), ("index says", finding.assigned())]
        {
            if let Some(name) = name {
                message = format!("{message}; {what} {}", quoted(name));
            }
        }
        self.add(severity, finding.error().at(), kind.code(), audit::advice(kind), message);
    }

    /// The first error with what to do about it, and all other findings.
    pub(super) fn take(self) -> (Option<(Note, &'static str)>, Vec<Note>) {
        let mut errors = self.errors.into_iter();
        let first = errors.next();
        let mut notes: Vec<Note> = errors.map(|(note, _)| note).collect();
        notes.extend(more(Severity::Error, self.more_errors));
        notes.extend(self.warnings);
        notes.extend(more(Severity::Warning, self.more_warnings));
        (first, notes)
    }
}

fn more(severity: Severity, count: u64) -> Option<Note> {
    let message = format!("{count} more are not shown");
    (count > 0).then_some(Note { severity, code: "TG-MORE", offset: 0, message })
}

/// Holds the index against the shards in its folder. What is missing is a warning: the index itself is sound.
pub(super) fn find(index: &ShardIndex<'_>, folder: &Path, options: &Options) -> Found {
    let mut found = Found::default();
    let mut there = Vec::new();
    let mut sum = Some(0_u64);
    for shard in index.shards() {
        let name = shard.name().to_cow().into_owned();
        let path = folder.join(&name);
        let bytes = if path.is_file() {
            there.push(name.clone());
            one(index, &shard, &path, options, &mut found.findings)
        } else if path.symlink_metadata().is_ok() {
            there.push(name.clone());
            let at = shard.tensors().map(|entry| entry.shard_at()).min().unwrap_or_default();
            let message = format!("shard {} is there, but is no regular file", quoted(shard.name()));
            let advice = "A shard must be a plain file: do not trust the folder.";
            found.findings.add(Severity::Error, at, "IX-SHARD-REJECTED", advice, message);
            None
        } else {
            None
        };
        sum = sum.and_then(|sum| sum.checked_add(bytes?));
        let tensors = u64::try_from(shard.len()).unwrap_or(u64::MAX);
        found.files.push(Beside { name, tensors, bytes });
    }
    if !there.is_empty() {
        there.extend(strangers(folder));
        there.sort_unstable();
        there.dedup();
    }
    for finding in index.check_files(&there) {
        found.findings.disagreement(&finding);
    }
    if let Some(finding) = sum.filter(|_| !index.is_empty()).and_then(|sum| index.check_total(sum)) {
        found.findings.disagreement(&finding);
    }
    found
}

/// The names of the safetensors files in a folder.
fn strangers(folder: &Path) -> Vec<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let entries =
        entries.filter(|entry| ends_with(Path::new(&entry.file_name()), ".safetensors") && entry.path().is_file());
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Judges one shard that is there and holds it against the index; the bytes of its tensors where it is sound.
fn one(
    index: &ShardIndex<'_>,
    shard: &Shard<'_>,
    path: &Path,
    options: &Options,
    findings: &mut Findings,
) -> Option<u64> {
    let name = shard.name().to_cow();
    let at = shard.tensors().map(|entry| entry.shard_at()).min().unwrap_or_default();
    let mut bytes = None;
    let report = Head::open_regular(path).and_then(|mut head| {
        safetensors::judge(path, &mut head, options, &mut |_, model, _| {
            if let Model::SafeTensors(header) = model {
                bytes = Some(header.data().len());
                compare(index, &name, header, findings);
            }
        })
    });
    let shown = quoted(shard.name());
    match report {
        Err(error) => {
            let message = format!("shard {shown} could not be read: {error}");
            findings.add(Severity::Warning, at, error.code(), "", message);
        }
        Ok(report) => {
            if let Some(fault) = report.fault {
                let (severity, what) = match report.verdict {
                    Verdict::Unreadable => (Severity::Warning, "could not be judged"),
                    _ => (Severity::Error, "is rejected itself"),
                };
                let message = format!("shard {shown} {what}: {}: {}", fault.code, fault.message);
                let advice = "Check the shard by itself to see what is wrong with it; fetch it again.";
                findings.add(severity, at, "IX-SHARD-REJECTED", advice, message);
            }
        }
    }
    bytes
}

fn compare(index: &ShardIndex<'_>, name: &str, header: &Header<'_>, findings: &mut Findings) {
    for finding in index.check_shard(name, header) {
        findings.disagreement(&finding);
    }
}
