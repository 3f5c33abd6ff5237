//! SARIF 2.1.0: what code scanning reads.

mod uri;

use std::io::{self, Write};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tensorgate::audit::Severity;

use super::{Report, Summary, Verdict};
use crate::book::{self, Entry};
use crate::{Exit, output, text};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What is written in the end.
#[derive(Default)]
pub(super) struct Sarif {
    results: u64,
    /// The rules in the order of their first results.
    rules: Vec<&'static str>,
    /// Files that could not be read.
    notifications: Vec<Value>,
}

impl Sarif {
    /// What stands before the first result.
    pub(super) fn begin(out: &mut impl Write) -> io::Result<()> {
        write!(out, "{{\"$schema\":\"{SCHEMA}\",\"version\":\"2.1.0\",\"runs\":[{{\"results\":[")
    }

    /// The results of one file.
    pub(super) fn file(&mut self, out: &mut impl Write, report: &Report) -> io::Result<()> {
        if let Some(fault) = &report.fault {
            let mut words = vec![fault.message.clone()];
            words.extend(fault.expected.clone());
            let message = format!("{}. {}", words.join("; "), fault.advice);
            if report.verdict == Verdict::Unreadable {
                self.notifications.push(json!({
                    "level": "error",
                    "descriptor": {"id": fault.code},
                    "message": {"text": plain(&message)},
                    "locations": [location(report, None)],
                }));
            } else {
                self.result(out, report, fault.code, "error", fault.offset, &message, report.known.fault)?;
            }
        }
        for (place, note) in report.findings.iter().enumerate() {
            let known = report.known.finding(place);
            let level = level(note.severity);
            self.result(out, report, note.code, level, Some(note.offset), &note.message, known)?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "a result has that many parts")]
    fn result(
        &mut self,
        out: &mut impl Write,
        report: &Report,
        code: &'static str,
        level: &str,
        offset: Option<u64>,
        message: &str,
        known: bool,
    ) -> io::Result<()> {
        let index = self.rules.iter().position(|rule| *rule == code).unwrap_or_else(|| {
            self.rules.push(code);
            self.rules.len().saturating_sub(1)
        });
        let mut result = json!({
            "ruleId": code,
            "ruleIndex": index,
            "level": level,
            "message": {"text": plain(message)},
            "locations": [location(report, offset)],
            "partialFingerprints": {"tensorgate/v1": fingerprint(report, code, offset)},
        });
        if known && let Some(result) = result.as_object_mut() {
            let suppression = json!([{"kind": "external", "justification": "It is in the baseline."}]);
            result.insert("suppressions".to_owned(), suppression);
        }
        out.write_all(if self.results == 0 { b"\n" } else { b",\n" })?;
        self.results = self.results.saturating_add(1);
        output::json(out, &result)
    }

    /// What stands behind the last result.
    pub(super) fn end(self, out: &mut impl Write, summary: &Summary) -> io::Result<()> {
        let rules: Vec<Value> = self.rules.iter().map(|code| rule(code)).collect();
        let tool = json!({"driver": {
            "name": "tensorgate",
            "version": env!("CARGO_PKG_VERSION"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        }});
        let exit = match summary.exit() {
            Exit::Accepted => 0,
            Exit::Rejected => 1,
            Exit::Trouble | Exit::Stopped(_) => 2,
        };
        let invocations = json!([{
            "executionSuccessful": self.notifications.is_empty() && exit != 2,
            "exitCode": exit,
            "toolExecutionNotifications": self.notifications,
        }]);
        out.write_all(b"\n],\"tool\":")?;
        output::json(out, &tool)?;
        out.write_all(b",\"invocations\":")?;
        output::json(out, &invocations)?;
        out.write_all(b"}]}\n")
    }
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// A rule with its page of the book.
fn rule(code: &str) -> Value {
    let entry = book::entries().get(code);
    let what = entry.map(|entry| entry.what()).unwrap_or_default();
    let full = match entry {
        Some(Entry::Section(body)) => {
            let text = body.split("<!--").next().unwrap_or_default().replace("**", "").replace('`', "");
            // The first line is what is wrong, between stars.
            let line = |line: &str| {
                line.strip_prefix('*').and_then(|rest| rest.strip_suffix('*')).unwrap_or(line).to_owned()
            };
            text.lines().map(line).collect::<Vec<_>>().join("\n")
        }
        Some(Entry::Row { row, .. }) => book::cells(row).skip(1).collect::<Vec<_>>().join(": ").replace('`', ""),
        None => String::new(),
    };
    let full = full.trim();
    let help = format!("tensorgate explain {code}");
    json!({
        "id": code,
        "shortDescription": {"text": plain(if what.is_empty() { code } else { what })},
        "fullDescription": {"text": plain(if full.is_empty() { code } else { full })},
        "help": {"text": help},
    })
}

/// Where something is. Viewers of code want a line, which binary files do not have: all is on the first.
fn location(report: &Report, offset: Option<u64>) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri::of(&report.path)}});
    if let (Some(offset), Some(physical)) = (offset, physical.as_object_mut()) {
        physical.insert("region".to_owned(), json!({"startLine": 1, "byteOffset": offset, "byteLength": 1}));
    }
    json!({"physicalLocation": physical})
}

/// A message as SARIF has them: braces are of placeholders, and brackets of links.
fn plain(message: &str) -> String {
    let mut out = String::new();
    for c in text::lines(message).chars() {
        match c {
            '{' | '}' => out.extend([c, c]),
            '[' | ']' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// What stays the same of a finding from run to run.
fn fingerprint(report: &Report, code: &str, offset: Option<u64>) -> String {
    let mut hash = Sha256::new();
    hash.update(report.path.as_os_str().as_encoded_bytes());
    hash.update(format!("\0{code}\0{offset:?}"));
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_link_and_no_placeholder() {
        assert_eq!(plain("first: \"a](http://x) {0}\u{1b}\""), "first: \"a\\](http://x) {{0}}\\u{{1b}}\"");
    }
}
