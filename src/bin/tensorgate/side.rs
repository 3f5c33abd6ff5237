//! A whole model that a command was given: all its files, open.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tensorgate::model::Model as Whole;

use crate::judge::{Options, judge};
use crate::parts::{Part, alone, gap, parts};
use crate::report::{Format, Report, Summary, human, json};
use crate::walk::Source;
use crate::{Exit, complain, output, text};

/// A model with all its files.
#[derive(Debug)]
pub(crate) struct Side {
    /// The file that stands for it: itself, the index, or the first of a split.
    pub(crate) path: PathBuf,
    pub(crate) parts: Vec<Part>,
    pub(crate) is_gguf: bool,
    /// That it is a part of a model, where it is one.
    alone: Option<String>,
}

/// Why there is no model to work on.
#[derive(Debug)]
pub(crate) enum Lost {
    /// A file is not accepted, or cannot be read.
    Report(Box<Report>),
    /// It is sound, but not all of the model is there, in a sentence.
    Incomplete(String),
}

impl Side {
    /// Judges the model at a path, which may be a folder, and opens all files of it.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, Lost> {
        let path = Whole::locate(path).map_err(|error| Lost::Incomplete(crate::open::why(&error)))?;
        let (mut opened, mut by_itself) = (None, None);
        let report = judge(&Source::named(&path), options, None, &mut |report, model, head| {
            by_itself = alone(&path, &model);
            opened = Some(match gap(report, &model) {
                Some(gap) => Err(Lost::Incomplete(gap)),
                None => parts(report, &model, head, options).map_err(Lost::Report),
            });
        });
        let parts = match opened {
            Some(opened) if report.fault.is_none() => opened?,
            _ => return Err(Lost::Report(Box::new(report))),
        };
        if let Some(part) = parts.iter().find(|part| part.left_out > 0) {
            let path = text::path(&part.path);
            let what = format!("{path}: a tensor's type is not known, so that nobody knows where its data ends");
            return Err(Lost::Incomplete(what));
        }
        Ok(Self { path, parts, is_gguf: report.format == Format::Gguf, alone: by_itself })
    }

    /// Says that it is a part of a model, where it is one.
    pub(crate) fn tell_part(&self) {
        if let Some(note) = &self.alone {
            complain(note);
        }
    }
}

impl Lost {
    /// Says why there is nothing to work on, as `check` would.
    pub(crate) fn tell(&self, out: &mut impl Write, as_json: bool) -> io::Result<Exit> {
        let report = match self {
            Self::Report(report) => report,
            Self::Incomplete(what) => {
                complain(what);
                return Ok(Exit::Trouble);
            }
        };
        if as_json {
            output::json(out, &json::file(report))?;
            out.write_all(b"\n")?;
        } else {
            human::file(out, report, true)?;
        }
        out.flush()?;
        let mut summary = Summary::default();
        summary.add(report);
        Ok(summary.exit())
    }
}
