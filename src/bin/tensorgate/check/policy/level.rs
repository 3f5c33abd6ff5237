//! How much a finding counts.

use serde::Deserialize;
use tensorgate::audit::Severity;
use tensorgate::{ErrorKind, audit};

use crate::book;
use crate::report::{Fault, Note, Report, Verdict};

/// What a policy says of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// It is not told.
    Off,
    Note,
    #[serde(alias = "warning")]
    Warn,
    /// It rejects the file.
    Error,
}

/// The levels of rules: a code, or the beginning of codes and a star.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels(Vec<(String, Level)>);

const ADVICE: &str = "The policy makes this an error; explain tells what it means.";

impl Levels {
    /// Sets a rule's level; later ones count more than earlier ones, and a code more than a beginning.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn set(&mut self, rule: &str, level: Level) -> Result<(), String> {
        if let Some(start) = rule.strip_suffix('*') {
            if !book::entries().keys().any(|code| code.starts_with(start)) {
                return Err(format!("no rule begins with \"{start}\""));
            }
        } else if book::code(rule).is_none() {
            let meant = book::nearest(rule).map(|code| format!("; did you mean {code}?")).unwrap_or_default();
            return Err(format!("there is no rule \"{rule}\"{meant}"));
        } else if level != Level::Error && !is_movable(rule) {
            return Err(format!(
                "{rule} can be nothing but \"error\": of a file that breaks it nothing is proved (some rules can be \
                 relaxed, with \"relax\")"
            ));
        }
        self.0.push((rule.to_owned(), level));
        Ok(())
    }

    fn of(&self, code: &str) -> Option<Level> {
        let exact = self.0.iter().rev().find(|(rule, _)| rule == code);
        let longest = || {
            let fits =
                |(rule, _): &&(String, Level)| rule.strip_suffix('*').is_some_and(|start| code.starts_with(start));
            self.0.iter().filter(fits).max_by_key(|(rule, _)| rule.len())
        };
        exact.or_else(longest).map(|(_, level)| *level)
    }

    /// The report as these levels have it.
    pub(crate) fn apply(&self, mut report: Report) -> Report {
        if !self.0.is_empty() {
            report.findings.retain_mut(|note| {
                // An error stays one, unless it is about data or the policy's own.
                let fixed = note.severity == Severity::Error && !is_movable(note.code);
                match self.of(note.code).filter(|_| !fixed) {
                    Some(Level::Off) => return false,
                    Some(Level::Note) => note.severity = Severity::Note,
                    Some(Level::Warn) => note.severity = Severity::Warning,
                    Some(Level::Error) => note.severity = Severity::Error,
                    None => {}
                }
                true
            });
            self.lower(&mut report);
        }
        promote(&mut report);
        report
    }

    /// Makes less of a fault that may be one or not.
    fn lower(&self, report: &mut Report) {
        let level =
            report.fault.as_ref().filter(|fault| is_movable(fault.code)).and_then(|fault| self.of(fault.code));
        let severity = match level {
            None | Some(Level::Error) => return,
            Some(Level::Off) => None,
            Some(Level::Note) => Some(Severity::Note),
            Some(Level::Warn) => Some(Severity::Warning),
        };
        if let (Some(fault), Some(severity)) = (report.fault.take(), severity) {
            let offset = fault.offset.unwrap_or_default();
            report.findings.insert(0, Note { severity, code: fault.code, offset, message: fault.message });
        }
        report.verdict = Verdict::Accepted;
    }
}

/// A finding that is an error rejects the file.
fn promote(report: &mut Report) {
    if report.fault.is_some() {
        return;
    }
    let Some(place) = report.findings.iter().position(|note| note.severity == Severity::Error) else { return };
    let note = report.findings.remove(place);
    let rule = audit::RULES.iter().find(|rule| rule.code() == note.code);
    report.verdict = Verdict::Rejected;
    report.fault = Some(Fault {
        code: note.code,
        offset: Some(note.offset),
        message: note.message,
        expected: rule.map(|rule| rule.why().to_owned()),
        advice: ADVICE,
        excerpt: None,
    });
}

/// Whether a rule can be made less of: a file that breaks it is proved all the same.
fn is_movable(code: &str) -> bool {
    use ErrorKind as K;
    let warned = [K::IxTotalSizeForm, K::IxShardMissing, K::IxShardUnnamed];
    let own = ["TG-NOTE-NAME", "GG-NOTE-PADDING-UNSEEN", "GG-SPLIT-MISSING"];
    code.starts_with("PO-")
        || own.contains(&code)
        || audit::RULES.iter().any(|rule| rule.code() == code)
        || warned.iter().any(|kind| kind.code() == code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn levels(rules: &[(&str, Level)]) -> Levels {
        let mut levels = Levels::default();
        for (rule, level) in rules {
            levels.set(rule, *level).unwrap();
        }
        levels
    }

    fn report(codes: &[&'static str]) -> Report {
        let note = |code: &&'static str| Note { severity: Severity::Note, code, offset: 9, message: String::new() };
        let findings = codes.iter().map(note).collect();
        Report { findings, ..Report::accepted(Path::new("a"), crate::report::Format::SafeTensors) }
    }

    #[test]
    fn the_more_exact_word_counts() {
        let levels =
            levels(&[("ST-NOTE-SPACE", Level::Warn), ("ST-NOTE-*", Level::Off), ("ST-NOTE-S*", Level::Error)]);
        assert_eq!(levels.of("ST-NOTE-SPACE"), Some(Level::Warn));
        assert_eq!(levels.of("ST-NOTE-SCALAR"), Some(Level::Error));
        assert_eq!(levels.of("ST-NOTE-ORDER"), Some(Level::Off));
        assert_eq!(levels.of("GG-NOTE-ALIGN"), None);
        let judged = levels.apply(report(&["ST-NOTE-ORDER", "ST-NOTE-SPACE", "ST-NOTE-SCALAR"]));
        assert_eq!(
            judged.fault.as_ref().map(|fault| (fault.code, fault.offset)),
            Some(("ST-NOTE-SCALAR", Some(9)))
        );
        assert_eq!((judged.verdict, judged.findings.len()), (Verdict::Rejected, 1));
        assert_eq!((judged.findings[0].code, judged.findings[0].severity), ("ST-NOTE-SPACE", Severity::Warning));
    }

    #[test]
    fn what_rejects_cannot_be_talked_away() {
        let mut levels = Levels::default();
        assert!(levels.set("ST-GAP", Level::Warn).unwrap_err().contains("nothing is proved"));
        assert!(levels.set("IX-TENSOR-MISSING", Level::Off).is_err());
        assert!(levels.set("ST-GAPP", Level::Error).unwrap_err().contains("did you mean ST-GAP?"));
        assert!(levels.set("XX-*", Level::Off).is_err());
        levels.set("ST-GAP", Level::Error).unwrap();
        levels.set("ST-*", Level::Off).unwrap();
        let fault = Fault::bare("ST-GAP", 3, String::new());
        let judged = levels.apply(Report::rejected(Path::new("a"), crate::report::Format::SafeTensors, fault));
        assert_eq!((judged.verdict, judged.fault.map(|fault| fault.code)), (Verdict::Rejected, Some("ST-GAP")));
    }

    #[test]
    fn a_fault_of_data_can_be_made_a_warning() {
        let levels = levels(&[("DT-BOOL", Level::Warn)]);
        let fault = Fault::bare("DT-BOOL", 3, String::new());
        let judged = levels.apply(Report::rejected(Path::new("a"), crate::report::Format::SafeTensors, fault));
        assert_eq!((judged.verdict, judged.findings[0].severity), (Verdict::Accepted, Severity::Warning));
    }
}
