//! A report of many files, in the form that was asked for.

use std::io::{self, Write};
use std::path::Path;

use super::junit::Junit;
use super::sarif::Sarif;
use super::{Report, Summary, Verdict, github, human, json};
use crate::args::{Check, Format};
use crate::output::{self, Sink};
use crate::text;

/// Prints files one by one, and what stands before and behind them.
pub(crate) struct Printer {
    out: Sink,
    form: Form,
    quiet: bool,
    verbose: bool,
    first: bool,
}

enum Form {
    Human,
    Json,
    Jsonl,
    Sarif(Sarif),
    Junit(Junit),
    Github,
}

impl Printer {
    pub(crate) fn new(out: Sink, args: &Check) -> Self {
        let form = match args.format {
            Format::Human => Form::Human,
            Format::Json => Form::Json,
            Format::Jsonl => Form::Jsonl,
            Format::Sarif => Form::Sarif(Sarif::default()),
            Format::Junit => Form::Junit(Junit::default()),
            Format::Github => Form::Github,
        };
        Self { out, form, quiet: args.quiet, verbose: args.verbose, first: true }
    }

    /// What stands before the first file.
    pub(crate) fn begin(&mut self, policy: Option<&Path>) -> io::Result<()> {
        match &self.form {
            Form::Json => {
                let tool = concat!("tensorgate ", env!("CARGO_PKG_VERSION"));
                write!(self.out, "{{\"version\":{},\"tool\":\"{tool}\",\"policy\":", json::VERSION)?;
                output::json(&mut self.out, &policy.map(text::path))?;
                write!(self.out, ",\"files\":[")
            }
            Form::Sarif(_) => Sarif::begin(&mut self.out),
            Form::Human | Form::Jsonl | Form::Junit(_) | Form::Github => Ok(()),
        }
    }

    /// One file.
    pub(crate) fn file(&mut self, report: &Report) -> io::Result<()> {
        let out = &mut self.out;
        match &mut self.form {
            Form::Human if self.quiet && (report.verdict == Verdict::Accepted || report.is_known()) => {}
            Form::Human => human::file(out, report, self.verbose)?,
            Form::Jsonl => {
                output::json(out, &json::file(report))?;
                out.write_all(b"\n")?;
            }
            Form::Json => {
                out.write_all(if self.first { b"\n" } else { b",\n" })?;
                output::json(out, &json::file(report))?;
            }
            Form::Sarif(sarif) => sarif.file(out, report)?,
            Form::Junit(junit) => junit.file(report)?,
            Form::Github => github::file(out, report, self.verbose)?,
        }
        self.first = false;
        out.flush()
    }

    /// What stands behind the last.
    pub(crate) fn end(mut self, summary: &Summary) -> io::Result<()> {
        let out = &mut self.out;
        match self.form {
            Form::Human if self.quiet => {}
            Form::Human | Form::Github => human::end(out, summary)?,
            Form::Jsonl => {}
            Form::Json => {
                out.write_all(b"\n],\"summary\":")?;
                output::json(out, &json::summary(summary))?;
                out.write_all(b"}\n")?;
            }
            Form::Sarif(sarif) => sarif.end(out, summary)?,
            Form::Junit(junit) => junit.end(out)?,
        }
        self.out.finish()
    }
}
