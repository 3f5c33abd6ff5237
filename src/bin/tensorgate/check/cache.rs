//! Accepted files that need not be read again: those of which the system says that nothing has changed.
//!
//! What is kept must never make a changed file an accepted one. An entry counts only where the device, the inode, the
//! length and both times (of the data, and of the inode, which no program can set) are what they were, and where the
//! program, the policy and the limits are the same. A file is kept only if nothing had touched it for a while when it was
//! read: a change within the clock's grain, or one that a mapping brings to the disk later, would go unseen. Files whose
//! verdict depends on others (indexes, split models) are never kept.

mod identity;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tensorgate::audit::Severity;
use tensorgate::file::Atomic;
use tensorgate::gguf::ShardName;

pub(crate) use identity::Identity;

use super::policy::{Policy, absolute};
use crate::args::Check;
use crate::book;
use crate::report::{Data, Format, Note, Report, Verdict};
use crate::walk::Source;

/// Bytes of a cache that are read, at the most.
const MOST: u64 = 1024 * 1024 * 1024;

/// The first line: what all entries depend on.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Head {
    tensorgate: String,
    /// SHA-256 of all that decides about a verdict besides the file.
    terms: String,
}

/// One accepted file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The absolute path.
    path: String,
    identity: Identity,
    format: String,
    tensors: Option<u64>,
    /// Bytes of data that were read, and tensors, of a deep check that found nothing.
    data: Option<(u64, u64)>,
    findings: Vec<(String, String, u64, String)>,
}

/// The cache of a run.
#[derive(Debug)]
pub(crate) struct Cache {
    path: PathBuf,
    terms: String,
    known: HashMap<String, Entry>,
}

impl Cache {
    /// Reads the cache; one of other terms, or in another form, is begun anew.
    ///
    /// # Errors
    ///
    /// Where it cannot be used at all.
    pub(crate) fn open(path: &Path, args: &Check, policy: &Policy) -> Result<Self, String> {
        let shown = crate::text::path(path);
        if !cfg!(unix) {
            return Err("a cache needs the identity of files, which this system does not tell".to_owned());
        }
        let mut cache = Self::new(path, terms(args, policy));
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(cache),
            Err(error) => return Err(format!("the cache {shown} cannot be read: {error}")),
        };
        if let Some(why) = identity::distrust(path, &file) {
            return Err(format!("the cache {shown} {why}"));
        }
        if !cache.read(BufReader::new(file.take(MOST))) {
            return Err(format!("{shown} is there and is no cache: name another file"));
        }
        Ok(cache)
    }

    /// One with nothing in it.
    pub(crate) fn new(path: &Path, terms: String) -> Self {
        Self { path: path.to_owned(), terms, known: HashMap::new() }
    }

    /// Whether it was a cache at all, or nothing.
    pub(crate) fn read(&mut self, mut reader: impl BufRead) -> bool {
        let mut first = Vec::new();
        if reader.by_ref().take(4096).read_until(b'\n', &mut first).is_err() {
            return false;
        }
        let head: Option<Head> = serde_json::from_slice(&first).ok();
        let Some(head) = head else { return first.is_empty() };
        if head != self.head() {
            return true;
        }
        let lines = reader.lines().map_while(Result::ok);
        // A line that is not understood is a file that is judged again.
        for entry in lines.filter_map(|line| serde_json::from_str::<Entry>(&line).ok()) {
            self.known.insert(entry.path.clone(), entry);
        }
        true
    }

    fn head(&self) -> Head {
        Head { tensorgate: env!("CARGO_PKG_VERSION").to_owned(), terms: self.terms.clone() }
    }

    /// The report of a file that was accepted and has not changed.
    pub(crate) fn get(&self, source: &Source, now: Option<&Identity>) -> Option<Report> {
        let entry = self.known.get(&key(source.path())?)?;
        (now == Some(&entry.identity)).then(|| entry.report(source.path())).flatten()
    }

    /// Keeps what was found.
    pub(crate) fn put(&mut self, entry: Entry) {
        self.known.insert(entry.path.clone(), entry);
    }

    /// Writes the cache.
    ///
    /// # Errors
    ///
    /// Why it could not be written.
    pub(crate) fn save(&self) -> Result<(), String> {
        let told = |error: &dyn std::fmt::Display| format!("the cache could not be written: {error}");
        let mut file = Atomic::create(&self.path).map_err(|error| told(&error))?;
        // What is gone or has changed meanwhile would only be carried along.
        let same = |entry: &&Entry| Identity::of(Path::new(&entry.path)).as_ref() == Some(&entry.identity);
        let all: Vec<&Entry> = self.known.values().filter(same).collect();
        self.write(&mut file, all).map_err(|error| told(&error))?;
        file.commit().map_err(|error| told(&error))
    }

    /// Writes these entries behind what they depend on.
    fn write(&self, out: &mut impl Write, mut entries: Vec<&Entry>) -> std::io::Result<()> {
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        line(out, &self.head())?;
        entries.into_iter().try_for_each(|entry| line(out, entry))
    }

    /// All entries, as they are written whether or not their files are still there; and how many make a report.
    #[cfg(fuzzing)]
    pub(crate) fn again(&self) -> std::io::Result<(Vec<u8>, usize)> {
        let mut out = Vec::new();
        self.write(&mut out, self.known.values().collect())?;
        let good = |entry: &&Entry| entry.report(Path::new(&entry.path)).is_some();
        Ok((out, self.known.values().filter(good).count()))
    }
}

fn line(file: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *file, value)?;
    file.write_all(b"\n")
}

impl Entry {
    /// The entry of a report that says all that there is to say. It is as the file is judged, before a policy has its word.
    pub(crate) fn of(report: &Report, identity: Identity) -> Option<Self> {
        let alone = matches!(report.format, Format::SafeTensors | Format::Gguf) && !is_shard(&report.path);
        let clean = report.data.as_ref().is_none_or(|data| data.odd.is_empty());
        let sized = report.size == Some(identity.size());
        if report.verdict != Verdict::Accepted || !alone || !clean || !sized {
            return None;
        }
        let findings = report.findings.iter().map(|note| {
            (note.severity.as_str().to_owned(), note.code.to_owned(), note.offset, note.message.clone())
        });
        Some(Self {
            path: key(&report.path)?,
            identity,
            format: report.format.as_str().to_owned(),
            tensors: report.tensors,
            data: report.data.as_ref().map(|data| (data.bytes, data.tensors)),
            findings: findings.collect(),
        })
    }

    /// The report again; none where a word in it is not known.
    fn report(&self, path: &Path) -> Option<Report> {
        let format =
            [Format::SafeTensors, Format::Gguf].into_iter().find(|format| format.as_str() == self.format)?;
        let levels = [Severity::Note, Severity::Warning, Severity::Error];
        let note = |(severity, code, offset, message): &(String, String, u64, String)| {
            let severity = levels.into_iter().find(|level| level.as_str() == severity)?;
            Some(Note { severity, code: book::code(code)?, offset: *offset, message: message.clone() })
        };
        let mut report = Report::accepted(path, format);
        report.size = Some(self.identity.size());
        report.tensors = self.tensors;
        report.findings = self.findings.iter().map(note).collect::<Option<_>>()?;
        report.data = self.data.map(|(bytes, tensors)| Data { bytes, tensors, odd: Vec::new() });
        report.cached = true;
        Some(report)
    }
}

/// Whether a file's name says that there are others of the same model.
fn is_shard(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).and_then(ShardName::parse).is_some()
}

/// How a file is called in the cache; one whose path is no UTF-8 is not kept.
fn key(path: &Path) -> Option<String> {
    absolute(path).into_os_string().into_string().ok()
}

/// All that decides about a verdict besides the file, in one word.
fn terms(args: &Check, policy: &Policy) -> String {
    let mut hash = Sha256::new();
    let folder = policy.path.as_ref().map(std::path::absolute);
    hash.update(format!("{:?}\n{:?}\n{}\n{folder:?}\n", args.reading, policy.base_options(), args.deep));
    hash.update(&policy.text);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}
