//! JUnit XML, as most servers of continuous integration read it: a test case for each file.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use tensorgate::audit::Severity;

use super::{Report, Verdict, human};
use crate::text;

/// The cases, which are kept: their numbers stand before them.
#[derive(Default)]
pub(super) struct Junit {
    cases: Vec<u8>,
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

impl Junit {
    /// Adds a file. Everything is printable ASCII before it gets here, so that nothing is left that XML cannot hold.
    pub(super) fn file(&mut self, report: &Report) -> io::Result<()> {
        let name = text::path(&report.path);
        let class = format!("tensorgate.{}", report.format.as_str());
        self.tests = self.tests.saturating_add(1);
        let mut xml = Writer::new_with_indent(&mut self.cases, b' ', 2);
        let attributes = [("name", name.as_str()), ("classname", class.as_str()), ("time", "0")];
        xml.write_event(Event::Start(BytesStart::new("testcase").with_attributes(attributes)))?;
        let mut text = Vec::new();
        human::file(&mut anstream::StripStream::new(&mut text), report, true)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if let Some(fault) = &report.fault {
            let (element, count) = match report.verdict {
                Verdict::Unreadable => ("error", &mut self.errors),
                _ if report.is_known() => ("skipped", &mut self.skipped),
                _ => ("failure", &mut self.failures),
            };
            *count = count.saturating_add(1);
            let at = fault.offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default();
            let message = format!("{}{at}: {}", fault.code, text::ascii(&fault.message));
            let mut start = BytesStart::new(element);
            start.push_attribute(("message", message.as_str()));
            if element != "skipped" {
                start.push_attribute(("type", fault.code));
            }
            xml.write_event(Event::Start(start))?;
            xml.write_event(Event::Text(BytesText::new(&text)))?;
            xml.write_event(Event::End(BytesEnd::new(element)))?;
        } else if report.findings.iter().any(|note| note.severity != Severity::Note) {
            xml.write_event(Event::Start(BytesStart::new("system-out")))?;
            xml.write_event(Event::Text(BytesText::new(&text)))?;
            xml.write_event(Event::End(BytesEnd::new("system-out")))?;
        }
        xml.write_event(Event::End(BytesEnd::new("testcase")))?;
        self.cases.push(b'\n');
        Ok(())
    }

    /// Writes all.
    pub(super) fn end(self, out: &mut impl Write) -> io::Result<()> {
        let mut xml = Writer::new(&mut *out);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let numbers = [
            ("tests", self.tests),
            ("failures", self.failures),
            ("errors", self.errors),
            ("skipped", self.skipped),
        ];
        let numbers = numbers.map(|(name, count)| (name, count.to_string()));
        let start = |element| {
            let mut start = BytesStart::new(element);
            start.push_attribute(("name", "tensorgate check"));
            for (name, count) in &numbers {
                start.push_attribute((*name, count.as_str()));
            }
            start
        };
        xml.get_mut().write_all(b"\n")?;
        // The sums of all suites have no place for what was skipped.
        let mut all = BytesStart::new("testsuites");
        all.push_attribute(("name", "tensorgate check"));
        for (name, count) in numbers.iter().take(3) {
            all.push_attribute((*name, count.as_str()));
        }
        xml.write_event(Event::Start(all))?;
        xml.get_mut().write_all(b"\n")?;
        xml.write_event(Event::Start(start("testsuite")))?;
        xml.get_mut().write_all(b"\n")?;
        xml.get_mut().write_all(&self.cases)?;
        xml.write_event(Event::End(BytesEnd::new("testsuite")))?;
        xml.get_mut().write_all(b"\n")?;
        xml.write_event(Event::End(BytesEnd::new("testsuites")))?;
        xml.get_mut().write_all(b"\n")
    }
}
