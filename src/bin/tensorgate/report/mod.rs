//! What is said of a file.

mod data;
mod github;
pub(crate) mod human;
pub(crate) mod json;
mod junit;
mod printer;
mod readers;
mod sarif;

use std::path::{Path, PathBuf};

use tensorgate::audit::{Severity, dialects};
use tensorgate::file::ReadError;

pub(crate) use data::{Data, Odd};
pub(crate) use printer::Printer;

use crate::Exit;
use crate::excerpt::Excerpt;

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    SafeTensors,
    Gguf,
    Index,
    Unknown,
}

impl Format {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::SafeTensors => "safetensors",
            Self::Gguf => "gguf",
            Self::Index => "index",
            Self::Unknown => "unknown",
        }
    }
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    Rejected,
    Unreadable,
}

impl Verdict {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Why a file was not accepted.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    /// Absolute offset of the field that lied; none where nothing was read.
    pub(crate) offset: Option<u64>,
    pub(crate) message: String,
    /// What would have been right, as `expected to begin at 16`, where there is such a thing.
    pub(crate) expected: Option<String>,
    /// What to do.
    pub(crate) advice: &'static str,
    pub(crate) excerpt: Option<Excerpt>,
}

impl Fault {
    /// A fault of which no more is told than what it is and where.
    pub(crate) fn bare(code: &'static str, offset: u64, message: String) -> Self {
        let advice = "Check the file by itself to see what is wrong with it.";
        Self { code, offset: Some(offset), message, expected: None, advice, excerpt: None }
    }
}

/// Something worth knowing about an accepted file.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) offset: u64,
    pub(crate) message: String,
}

impl From<&tensorgate::audit::Finding<'_>> for Note {
    fn from(finding: &tensorgate::audit::Finding<'_>) -> Self {
        Self {
            severity: finding.severity(),
            code: finding.code(),
            offset: finding.at(),
            // The name as it says, since everything is escaped once, when it is printed.
            message: match finding.name() {
                None => finding.to_string(),
                Some(name) => {
                    let (what, count) = (finding.rule().what(), finding.count());
                    format!("{what}: {count} (first: {})", crate::text::quoted(name))
                }
            },
        }
    }
}

/// All that is said of one file.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) verdict: Verdict,
    pub(crate) fault: Option<Fault>,
    pub(crate) findings: Vec<Note>,
    /// Length in bytes; none for a stream that was not read to its end.
    pub(crate) size: Option<u64>,
    pub(crate) tensors: Option<u64>,
    /// What is in the tensors, where they were looked at.
    pub(crate) data: Option<Data>,
    /// What other readers take differently, where that was asked for.
    pub(crate) readers: Option<dialects::Traits>,
    /// What of it is in the baseline.
    pub(crate) known: Known,
    /// Whether the file was not read, since it had not changed.
    pub(crate) cached: bool,
}

/// What of a report is in the baseline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) fault: bool,
    pub(crate) findings: Vec<bool>,
}

impl Known {
    /// Whether the finding at that place is.
    pub(crate) fn finding(&self, place: usize) -> bool {
        self.findings.get(place).copied().unwrap_or_default()
    }
}

impl Report {
    /// An accepted file.
    pub(crate) fn accepted(path: &Path, format: Format) -> Self {
        Self {
            path: path.to_owned(),
            format,
            verdict: Verdict::Accepted,
            fault: None,
            findings: Vec::new(),
            size: None,
            tensors: None,
            data: None,
            known: Known::default(),
            cached: false,
            readers: None,
        }
    }

    /// Whether all for which it is rejected is in the baseline.
    pub(crate) fn is_known(&self) -> bool {
        let errors = self.findings.iter().enumerate().filter(|(_, note)| note.severity == Severity::Error);
        self.verdict == Verdict::Rejected
            && self.known.fault
            && errors.into_iter().all(|(place, _)| self.known.finding(place))
    }

    /// A rejected file.
    pub(crate) fn rejected(path: &Path, format: Format, fault: Fault) -> Self {
        Self { verdict: Verdict::Rejected, fault: Some(fault), ..Self::accepted(path, format) }
    }

    /// A file without a verdict.
    pub(crate) fn unreadable(path: &Path, code: &'static str, message: String, advice: &'static str) -> Self {
        let fault = Fault { code, offset: None, message, expected: None, advice, excerpt: None };
        Self { verdict: Verdict::Unreadable, fault: Some(fault), ..Self::accepted(path, Format::Unknown) }
    }

    /// A file that could not be read.
    pub(crate) fn unread(path: &Path, error: &ReadError) -> Self {
        let advice = match error {
            ReadError::IsDirectory => "Name the files in it, or give the directory to check.",
            ReadError::NotRegular => "Save it as a file; check reads a stream that is named as PATH.",
            ReadError::Changed { .. } => "Wait until the file is written, then check it again.",
            ReadError::StreamTooLong { .. } => "If the stream is meant to be so long, raise --max-stream.",
            ReadError::Memory { .. } => "Free memory, or lower --max-header.",
            _ => "See that the file is there and may be read.",
        };
        Self::unreadable(path, error.code(), error.to_string(), advice)
    }
}

/// How many files had which verdict.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) unreadable: u64,
    pub(crate) skipped: u64,
    /// Rejected for what is in the baseline.
    pub(crate) known: u64,
    /// Not looked at any more.
    pub(crate) unchecked: u64,
    /// Of the accepted ones those that were not read again.
    pub(crate) cached: u64,
}

impl Summary {
    pub(crate) fn add(&mut self, report: &Report) {
        let count = match report.verdict {
            Verdict::Accepted => &mut self.accepted,
            Verdict::Rejected if report.is_known() => &mut self.known,
            Verdict::Rejected => &mut self.rejected,
            Verdict::Unreadable => &mut self.unreadable,
        };
        *count = count.saturating_add(1);
        self.cached = self.cached.saturating_add(u64::from(report.cached));
    }

    /// A rejected file counts more than one that could not be read: it is a verdict.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self { rejected: 1.., .. } => Exit::Rejected,
            Self { unreadable: 1.., .. } | Self { accepted: 0, known: 0, .. } => Exit::Trouble,
            _ => Exit::Accepted,
        }
    }
}
