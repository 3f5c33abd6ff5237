//! Reports for people.

use std::io::{self, Write};

use tensorgate::audit::Severity;

use super::{Fault, Report, Summary, Verdict};
use crate::output::{BAD, FAINT, GOOD, ODD, STRONG};
use crate::text;

/// One line with the verdict, then what belongs to it, indented.
pub(crate) fn file(out: &mut impl Write, report: &Report, verbose: bool) -> io::Result<()> {
    let style = match report.verdict {
        Verdict::Accepted => GOOD,
        Verdict::Rejected => BAD,
        Verdict::Unreadable => ODD,
    };
    let path = text::path(&report.path);
    write!(out, "{style}{:<10}{style:#}  {path}", report.verdict.as_str())?;
    match &report.fault {
        None => writeln!(out, "{FAINT}  ({}){FAINT:#}", summary(report))?,
        Some(fault) => fault_lines(out, fault)?,
    }
    if report.fault.is_some() && report.known.fault {
        writeln!(out, "    {FAINT}this is in the baseline{FAINT:#}")?;
    }
    for (place, note) in report.findings.iter().enumerate() {
        let known = report.known.finding(place);
        if (note.severity == Severity::Note || known) && !verbose {
            continue;
        }
        let style = if note.severity == Severity::Note { FAINT } else { ODD };
        let message = text::ascii(&note.message);
        let known = if known { " (in the baseline)" } else { "" };
        let (severity, code, offset) = (note.severity, note.code, note.offset);
        writeln!(out, "    {style}{severity}{style:#} {code} at byte {offset}: {message}{known}")?;
    }
    if let Some(data) = report.data.as_ref().filter(|_| verbose) {
        super::data::human(out, data)?;
    }
    if let Some(traits) = &report.readers {
        super::readers::human(out, traits)?;
    }
    Ok(())
}

/// What an accepted file is, in a few words.
fn summary(report: &Report) -> String {
    let mut words = vec![report.format.as_str().to_owned()];
    words.extend(report.tensors.map(|tensors| text::count(tensors, "tensor")));
    words.extend(report.size.map(text::size));
    words.extend(report.data.as_ref().map(|data| format!("{} of data read", text::size(data.bytes))));
    words.join(", ")
}

fn fault_lines(out: &mut impl Write, fault: &Fault) -> io::Result<()> {
    write!(out, ": {STRONG}{}{STRONG:#}", fault.code)?;
    if let Some(offset) = fault.offset {
        write!(out, " at byte {offset}")?;
    }
    writeln!(out, ": {}", text::ascii(&fault.message))?;
    if let Some(excerpt) = &fault.excerpt {
        writeln!(out, "    | {}", excerpt.text)?;
        writeln!(out, "    | {BAD}{}{BAD:#}", excerpt.caret())?;
    }
    if let Some(expected) = &fault.expected {
        writeln!(out, "    {expected}")?;
    }
    writeln!(out, "    {}", fault.advice)
}

/// The last line.
pub(crate) fn end(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let Summary { accepted, rejected, unreadable, skipped, .. } = summary;
    write!(out, "{accepted} accepted, {rejected} rejected, {unreadable} unreadable, {skipped} skipped")?;
    for (count, what) in [
        (summary.known, "in the baseline"),
        (summary.unchecked, "not checked any more"),
        (summary.cached, "of the accepted known from the cache"),
    ] {
        if count > 0 {
            write!(out, ", {count} {what}")?;
        }
    }
    writeln!(out)
}
