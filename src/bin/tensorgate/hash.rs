//! `tensorgate hash`: a manifest of digests, or a model held against one.

mod digest;
pub(crate) mod manifest;
pub(crate) mod parse;
mod verify;

use std::io::{self, Write};

use crate::args::Hash;
use crate::report::Report;
use crate::side::{Lost, Side};
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
    let work = Work::new(args.effort, args.quiet, &[&args.path])?;
    let mut out = output::stdout();
    let side = match Side::open(&args.path, &args.reading.options()) {
        Ok(side) => side,
        Err(lost) => return lost.tell(&mut out, args.json),
    };
    side.tell_part();
    let with_files = !args.tensors && wanted.as_ref().is_none_or(Manifest::has_files);
    let found = digest::manifest(&side.parts, with_files, &work, &text::path(&args.path));
    if let Some(exit) = work.exit() {
        complain("interrupted");
        return Ok(exit);
    }
    let found = match found {
        Ok(found) => found,
        Err((path, error)) => {
            return Lost::Report(Box::new(Report::unread(&path, &error))).tell(&mut out, args.json);
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
