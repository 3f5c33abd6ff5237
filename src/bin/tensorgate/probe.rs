//! What the command line reads besides models, for the fuzz targets: text in, and what was understood out. The program
//! itself has no such module.

use std::path::{Path, PathBuf};

use crate::args::Reading;
use crate::check::policy::Policy;
use crate::check::{baseline, cache};
use crate::hash::parse;
use crate::report::{Fault, Format, Report, Verdict};
use crate::text;

/// How many of the rules a file at one of the paths can break and be accepted all the same, by a policy.
///
/// # Errors
///
/// What is said of the policy.
pub fn policy(text: &str, paths: &[&str], rules: &[&'static str]) -> Result<usize, String> {
    let policy = Policy::parse(PathBuf::from("/policy/tensorgate.toml"), text.to_owned())?;
    let reading = Reading::default();
    let accepted = |path: &Path, rule| {
        let levels = policy.demand(path, &reading).levels;
        let report = Report::rejected(path, Format::SafeTensors, Fault::bare(rule, 0, String::new()));
        levels.apply(report).verdict == Verdict::Accepted
    };
    let sources = paths.iter().map(|path| crate::walk::Source::Found(PathBuf::from(path))).collect();
    let mut found = crate::walk::Found { sources, ..Default::default() };
    policy.filter(&mut found);
    let of = |path: &&str| rules.iter().filter(|rule| accepted(Path::new(path), rule)).count();
    Ok(paths.iter().map(of).max().unwrap_or(0))
}

/// A baseline as it is written once it was read.
///
/// # Errors
///
/// What is said of the baseline.
pub fn baseline(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    baseline::write(&mut out, baseline::parse(bytes)?).map_err(|error| error.to_string())?;
    Ok(out)
}

/// A cache as it is written once it was read, and how many files it says were accepted; none where it is no cache.
pub fn cache(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut cache = cache::Cache::new(Path::new("cache"), String::from("terms"));
    if !cache.read(bytes) {
        return None;
    }
    cache.again().ok()
}

/// A manifest of digests as it is written once it was read.
///
/// # Errors
///
/// What is said of the manifest.
pub fn manifest(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let read = parse::manifest(bytes).map_err(|(line, what)| format!("line {line} of the manifest: {what}"))?;
    let mut out = Vec::new();
    read.write(&mut out).map_err(|error| error.to_string())?;
    Ok(out)
}

/// What is printed of a message.
pub fn printed(message: &str) -> String {
    text::message(message)
}
