//! A whole model that a command was given: all its files, open.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tensorgate::model::{Model as Whole, Options as Opening};

use crate::judge::{Options, judge};
use crate::parts::{Part, gap, parts};
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
        let path = if path.is_dir() { inside(path, options)? } else { path.to_owned() };
        let mut opened = None;
        let report = judge(&Source::named(&path), options, None, &mut |report, model, head| {
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
        Ok(Self { path, parts, is_gguf: report.format == Format::Gguf })
    }
}

/// The file that stands for the one model in a folder.
fn inside(folder: &Path, options: &Options) -> Result<PathBuf, Lost> {
    let opening = Opening::default().with_limits(options.limits);
    let model = Whole::open_with(folder, &opening).map_err(|error| Lost::Incomplete(crate::open::why(&error)))?;
    let own = model.index_path().or_else(|| Some(model.files().first()?.path()));
    own.map(Path::to_owned).ok_or_else(|| Lost::Incomplete(format!("{}: no model", text::path(folder))))
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
