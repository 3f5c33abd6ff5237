//! `tensorgate hash`: a manifest of digests, or a model held against one.

mod digest;
mod manifest;
mod parse;
mod verify;

use std::io::{self, Write};

use crate::args::Hash;
use crate::judge::judge;
use crate::parts::{Part, gap, parts};
use crate::report::{Report, Summary, human, json};
use crate::walk::Source;
use crate::work::Work;
use crate::{Exit, complain, output, text};
use manifest::Manifest;

/// Prints the manifest, or what differs from the given one.
pub(crate) fn run(args: &Hash) -> io::Result<Exit> {
    // It is read first: whoever gave a wrong one need not wait for the digests.
    let wanted = match args.verify.as_deref().map(parse::read) {
        None => None,
        Some(Ok(manifest)) => Some(manifest),
        Some(Err(error)) => {
            complain(&error);
            return Ok(Exit::Trouble);
        }
    };
    let work = Work::new(args.effort, args.quiet)?;
    let mut out = output::stdout();
    let parts = match open(args) {
        Ok(parts) => parts,
        Err(Fault::Report(report)) => return refuse(&mut out, args, &report),
        Err(Fault::Incomplete(what)) => {
            complain(&what);
            return Ok(Exit::Trouble);
        }
    };
    if let Some(part) = parts.iter().find(|part| part.left_out > 0) {
        let path = text::path(&part.path);
        complain(&format!("{path}: a tensor's type is not known, so that nobody knows where its data ends"));
        return Ok(Exit::Trouble);
    }
    let with_files = !args.tensors && wanted.as_ref().is_none_or(Manifest::has_files);
    let found = digest::manifest(&parts, with_files, &work, &text::path(&args.path));
    if let Some(exit) = work.exit() {
        complain("interrupted");
        return Ok(exit);
    }
    let found = match found {
        Ok(found) => found,
        Err((path, error)) => {
            let report = Report { path: args.path.clone(), ..Report::unread(&path, &error) };
            return refuse(&mut out, args, &report);
        }
    };
    let exit = match wanted {
        None if args.json => {
            output::json(&mut out, &found.json(&args.path))?;
            out.write_all(b"\n")?;
            Exit::Accepted
        }
        None => {
            found.write(&mut out)?;
            Exit::Accepted
        }
        Some(wanted) => verify::compare(&mut out, args, &wanted, &found)?,
    };
    out.flush()?;
    Ok(exit)
}

/// Why there is nothing to hash.
enum Fault {
    /// The file is not accepted, or cannot be read.
    Report(Box<Report>),
    /// It is sound, but not all of the model is there.
    Incomplete(String),
}

/// Judges the model and opens all files of it.
fn open(args: &Hash) -> Result<Vec<Part>, Fault> {
    let options = args.reading.options();
    let mut opened = None;
    let report = judge(&Source::named(&args.path), &options, None, &mut |report, model, head| {
        opened = Some(match gap(report, &model) {
            Some(gap) => Err(Fault::Incomplete(gap)),
            None => parts(report, &model, head, &options).map_err(Fault::Report),
        });
    });
    match opened {
        Some(opened) if report.fault.is_none() => opened,
        _ => Err(Fault::Report(Box::new(report))),
    }
}

/// Says why there is nothing to hash, as `check` would.
fn refuse(out: &mut impl Write, args: &Hash, report: &Report) -> io::Result<Exit> {
    if args.json {
        output::json(out, &json::file(report))?;
        out.write_all(b"\n")?;
    } else {
        human::file(out, report, true)?;
    }
    out.flush()?;
    let mut summary = Summary::default();
    summary.add(report.verdict);
    Ok(summary.exit())
}
