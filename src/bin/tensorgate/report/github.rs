//! Annotations of GitHub Actions: commands in the log, a line each.

use std::io::{self, Write};

use tensorgate::audit::Severity;

use super::{Report, Verdict};
use crate::text;

/// The file's annotations; an accepted file without warnings has none.
pub(super) fn file(out: &mut impl Write, report: &Report, verbose: bool) -> io::Result<()> {
    let path = text::path(&report.path);
    if let Some(fault) = report.fault.as_ref().filter(|_| !report.known.fault) {
        let what = if report.verdict == Verdict::Unreadable { "cannot be read" } else { "is rejected" };
        let at = fault.offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
        let mut message = format!("{path} {what}{at}: {}", text::ascii(&fault.message));
        if let Some(expected) = &fault.expected {
            message = format!("{message} ({expected})");
        }
        one(out, "error", &path, fault.code, &format!("{message}\n{}", fault.advice))?;
    }
    for (place, note) in report.findings.iter().enumerate() {
        let command = match note.severity {
            _ if report.known.finding(place) => continue,
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note if verbose => "notice",
            Severity::Note => continue,
        };
        let message = format!("{path} at byte {}: {}", note.offset, text::ascii(&note.message));
        one(out, command, &path, note.code, &message)?;
    }
    Ok(())
}

/// One command. Whatever could end a value, or begin a command, is escaped as the runner decodes it.
fn one(out: &mut impl Write, command: &str, path: &str, code: &str, message: &str) -> io::Result<()> {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    writeln!(out, "::{command} file={},title={}::{}", property(path), property(code), data(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_value_early() {
        let mut out = Vec::new();
        one(&mut out, "error", "a,title=x::b%0A", "ST-GAP", "one\n::set-output name=x::100%").unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "::error file=a%2Ctitle=x%3A%3Ab%250A,title=ST-GAP::one%0A::set-output name=x::100%25\n"
        );
    }
}
