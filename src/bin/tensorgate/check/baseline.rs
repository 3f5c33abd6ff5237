//! Findings that somebody looked at and accepted: they are told, and count no longer.
//!
//! An entry is of one finding in one file as it was: where the file has another length, or other bytes at its beginning,
//! the entry means nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tensorgate::audit::Severity;
use tensorgate::file::Atomic;

use super::policy::absolute;
use crate::report::{Note, Report, Verdict};

/// The version of the form of a baseline.
const VERSION: u32 = 1;
/// Bytes of a file's beginning that its digest is of: more than the headers of most.
const BEGINNING: u64 = 16 * 1024 * 1024;
/// Bytes of a baseline, at the most.
const MOST: u64 = 256 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    findings: Vec<Entry>,
}

/// One finding of one file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// From the baseline's folder on, with `/`; bytes that are no UTF-8 as `%ff`.
    path: String,
    code: String,
    offset: Option<u64>,
    size: u64,
    /// SHA-256 of the first 16 MiB.
    sha256: String,
}

/// The baseline of a run.
#[derive(Debug)]
pub(crate) struct Baseline {
    path: PathBuf,
    folder: PathBuf,
    /// What is accepted, by path.
    known: BTreeMap<String, HashSet<Entry>>,
    /// What was found now, where it is to be written.
    found: Option<BTreeSet<Entry>>,
    lost: u64,
}

impl Baseline {
    /// Reads the baseline, which may be missing where it is about to be written.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn open(path: &Path, write: bool) -> Result<Self, String> {
        let shown = crate::text::path(path);
        let folder = absolute(path).parent().unwrap_or(Path::new("/")).to_owned();
        let found = write.then(BTreeSet::new);
        let mut baseline = Self { path: path.to_owned(), folder, known: BTreeMap::new(), found, lost: 0 };
        // What is written now does not depend on what was there, but only a baseline is written over.
        if write {
            if path.exists() && read(path).is_err() {
                return Err(format!("{shown} is there and is no baseline: name another file"));
            }
        } else {
            let told = |error: String| format!("the baseline {shown} cannot be used: {error}");
            for entry in read(path).map_err(told)? {
                baseline.known.entry(entry.path.clone()).or_default().insert(entry);
            }
        }
        Ok(baseline)
    }

    /// Marks what is known in the report, or keeps it for writing.
    pub(crate) fn mark(&mut self, report: &mut Report) {
        if report.verdict == Verdict::Unreadable || report.path == Path::new("-") {
            return;
        }
        let path = self.name(&report.path);
        let counts = |severity| severity != Severity::Note;
        let any = report.fault.is_some() || report.findings.iter().any(|note| counts(note.severity));
        let wanted = self.found.is_some() || self.known.contains_key(&path);
        let digest = if any && wanted { digest(&report.path) } else { None };
        let entry = |code: &str, offset| {
            let (size, sha256) = digest.clone()?;
            Some(Entry { path: path.clone(), code: code.to_owned(), offset, size, sha256 })
        };
        let fault = report.fault.as_ref().and_then(|fault| entry(fault.code, fault.offset));
        let note = |note: &Note| counts(note.severity).then(|| entry(note.code, Some(note.offset))).flatten();
        let notes: Vec<Option<Entry>> = report.findings.iter().map(note).collect();
        if let Some(found) = &mut self.found {
            report.known.fault = fault.is_some();
            report.known.findings = notes.iter().map(Option::is_some).collect();
            found.extend(fault.into_iter().chain(notes.into_iter().flatten()));
        } else if let Some(known) = self.known.get(&path) {
            let has = |entry: &Entry| known.contains(entry);
            report.known.fault = fault.as_ref().is_some_and(has);
            report.known.findings = notes.iter().map(|note| note.as_ref().is_some_and(has)).collect();
            let here: HashSet<Entry> = fault.into_iter().chain(notes.into_iter().flatten()).collect();
            let lost = known.difference(&here).count();
            self.lost = self.lost.saturating_add(u64::try_from(lost).unwrap_or_default());
        }
    }

    /// Writes what was found, where that was asked for; says how many findings there are.
    ///
    /// # Errors
    ///
    /// Why it could not be written.
    pub(crate) fn finish(self) -> Result<Option<usize>, String> {
        let Some(found) = self.found else { return Ok(None) };
        let count = found.len();
        let told = |error: &dyn std::fmt::Display| format!("the baseline could not be written: {error}");
        let mut file = Atomic::create(&self.path).map_err(|error| told(&error))?;
        write(&mut file, found.into_iter().collect()).map_err(|error| told(&error))?;
        file.commit().map_err(|error| told(&error))?;
        Ok(Some(count))
    }

    /// How many entries of files that were looked at were not found again: the files changed, or are mended.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// How a file is called in the baseline.
    fn name(&self, path: &Path) -> String {
        let absolute = absolute(path);
        let inside = absolute.strip_prefix(&self.folder).unwrap_or(&absolute);
        let parts: Vec<String> =
            inside.components().map(|part| plain(part.as_os_str().as_encoded_bytes())).collect();
        parts.join("/")
    }
}

/// A part of a path as text, exact also where it is no UTF-8.
fn plain(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            write!(out, "%{byte:02x}").unwrap_or_default();
        }
    }
    out
}

/// Writes a baseline.
pub(crate) fn write(out: &mut impl Write, findings: Vec<Entry>) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document { version: VERSION, findings })?;
    out.write_all(b"\n")
}

fn read(path: &Path) -> Result<Vec<Entry>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).map_err(|error| error.to_string())?;
    parse(&text)
}

/// The entries of a baseline.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Entry>, String> {
    let what = |error: serde_json::Error| {
        // Where it is JSON of the right kind, the place helps; of anything else it says nothing.
        let ours =
            text.trim_ascii_start().starts_with(b"{") && text.windows(10).any(|part| part == b"\"findings\"");
        if ours { error.to_string() } else { "it is no baseline; check --write-baseline writes one".to_owned() }
    };
    let document: Document = serde_json::from_slice(text).map_err(what)?;
    if document.version == VERSION {
        Ok(document.findings)
    } else {
        Err(format!("its version is {}, and this program knows {VERSION}", document.version))
    }
}

/// A regular file's length, and the digest of its beginning.
fn digest(path: &Path) -> Option<(u64, String)> {
    let file = File::open(path).ok()?;
    let state = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file.take(BEGINNING), &mut Feed(&mut hash)).ok()?;
    let bytes = hash.finalize();
    Some((state.len(), bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()))
}

/// Writes into a digest.
struct Feed<'h>(&'h mut Sha256);

impl Write for Feed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
