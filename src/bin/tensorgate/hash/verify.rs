//! A model held against a manifest.

use std::cmp::Ordering;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::manifest::{FileLine, Manifest, TensorLine, digest, dims, escaped};
use crate::args::Hash;
use crate::output::{BAD, GOOD};
use crate::{Exit, output, text};

/// What the manifest has and the model has not, the other way round, or what both have and is not the same.
enum Difference<'m, T> {
    Missing(&'m T),
    Unexpected(&'m T),
    Changed(&'m T, &'m T),
}

/// Lines of a manifest that are told apart by a name.
trait Named: PartialEq {
    fn name(&self) -> &str;
    fn json(&self) -> Value;
    /// In which way two lines of the same name differ.
    fn change(&self, found: &Self) -> String;
}

impl Named for TensorLine {
    fn name(&self) -> &str {
        &self.name
    }

    fn json(&self) -> Value {
        Self::json(self)
    }

    fn change(&self, found: &Self) -> String {
        if self.kind != found.kind {
            format!("type {}, now {}", self.kind, found.kind)
        } else if self.shape != found.shape {
            format!("shape {}, now {}", dims(&self.shape), dims(&found.shape))
        } else {
            format!("{}, now {}", digest(&self.sum), digest(&found.sum))
        }
    }
}

impl Named for FileLine {
    fn name(&self) -> &str {
        &self.name
    }

    fn json(&self) -> Value {
        Self::json(self)
    }

    fn change(&self, found: &Self) -> String {
        if self.bytes == found.bytes {
            format!("{}, now {}", digest(&self.sum), digest(&found.sum))
        } else {
            format!("{}, now {}", text::size(self.bytes), text::size(found.bytes))
        }
    }
}

/// Two lists that ascend by name, side by side.
fn differences<'m, T: Named>(wanted: &'m [T], found: &'m [T]) -> Vec<Difference<'m, T>> {
    let (mut wanted, mut found) = (wanted.iter().peekable(), found.iter().peekable());
    let mut all = Vec::new();
    loop {
        let order = match (wanted.peek(), found.peek()) {
            (Some(wanted), Some(found)) => wanted.name().cmp(found.name()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return all,
        };
        match order {
            Ordering::Less => all.extend(wanted.next().map(Difference::Missing)),
            Ordering::Greater => all.extend(found.next().map(Difference::Unexpected)),
            Ordering::Equal => {
                let pair = wanted.next().zip(found.next()).filter(|(wanted, found)| wanted != found);
                all.extend(pair.map(|(wanted, found)| Difference::Changed(wanted, found)));
            }
        }
    }
}

/// Says what differs.
pub(super) fn compare(out: &mut impl Write, args: &Hash, wanted: &Manifest, found: &Manifest) -> io::Result<Exit> {
    let tensors = differences(&wanted.tensors, &found.tensors);
    // Without digests of files on either side there is nothing to compare.
    let files = if args.tensors { Vec::new() } else { differences(&wanted.files, &found.files) };
    let same = tensors.is_empty() && files.is_empty();
    if args.json {
        let document = json!({
            "path": text::path(&args.path),
            "verified": same,
            "model": digest(&found.model()),
            "tensors": sorted(&tensors),
            "files": sorted(&files),
        });
        output::json(out, &document)?;
        out.write_all(b"\n")?;
    } else {
        list(out, "tensor", &tensors)?;
        list(out, "file", &files)?;
        if same && !args.quiet {
            let count = |count: usize, what| text::count(u64::try_from(count).unwrap_or(u64::MAX), what);
            let files = count(found.files.len(), "file");
            let what = if found.has_files() { format!(" and {files}") } else { String::new() };
            let tensors = count(found.tensors.len(), "tensor");
            writeln!(out, "{GOOD}verified{GOOD:#}    {tensors}{what} as the manifest says")?;
        }
    }
    Ok(if same { Exit::Accepted } else { Exit::Rejected })
}

fn list<T: Named>(out: &mut impl Write, what: &str, all: &[Difference<'_, T>]) -> io::Result<()> {
    for difference in all {
        let (word, line, change) = match difference {
            Difference::Missing(line) => ("missing", line, String::new()),
            Difference::Unexpected(line) => ("unexpected", line, String::new()),
            Difference::Changed(wanted, found) => ("changed", wanted, format!(": {}", wanted.change(found))),
        };
        writeln!(out, "{BAD}{word:<10}{BAD:#}  {what} {}{change}", escaped(line.name()))?;
    }
    Ok(())
}

/// For programs.
fn sorted<T: Named>(all: &[Difference<'_, T>]) -> Value {
    let (mut missing, mut unexpected, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for difference in all {
        match difference {
            Difference::Missing(line) => missing.push(line.json()),
            Difference::Unexpected(line) => unexpected.push(line.json()),
            Difference::Changed(wanted, found) => {
                changed.push(json!({"name": wanted.name(), "manifest": wanted.json(), "found": found.json()}));
            }
        }
    }
    json!({"missing": missing, "unexpected": unexpected, "changed": changed})
}
