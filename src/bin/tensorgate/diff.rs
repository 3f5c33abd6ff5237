//! `tensorgate diff`: what two models differ in.

mod human;
mod json;
mod metadata;
mod pairing;
mod tensors;

use std::io::{self, Write};

use crate::args::{Diff, Names};
use crate::report::Report;
use crate::side::{Lost, Side};
use crate::work::Work;
use crate::{Exit, complain, output};
use metadata::Changes;
use pairing::Pairing;
use tensors::Comparison;

/// All that was found.
struct Found<'s> {
    pairing: &'s Pairing<'s>,
    /// For each pair of the pairing.
    comparisons: Vec<Comparison>,
    /// None where the formats differ, or metadata does not count.
    metadata: Option<Changes>,
    /// Types count.
    types: bool,
}

impl Found<'_> {
    fn is_same(&self) -> bool {
        let pairs = self.pairing.both.iter().zip(&self.comparisons);
        self.pairing.is_complete()
            && pairs.into_iter().all(|(pair, comparison)| !pair.differs(comparison, self.types))
            && self.metadata.as_ref().is_none_or(Changes::is_empty)
    }
}

/// Compares the models and tells what differs.
pub(crate) fn run(args: &Diff) -> io::Result<Exit> {
    let work = Work::new(args.effort, args.quiet, &[&args.a, &args.b])?;
    let options = args.reading.options();
    let mut out = output::stdout();
    let (a, b) = match (Side::open(&args.a, &options), Side::open(&args.b, &options)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(lost), _) | (_, Err(lost)) => {
            lost.tell(&mut out, args.json)?;
            return Ok(Exit::Trouble);
        }
    };
    let metadata =
        if args.values || a.is_gguf != b.is_gguf { None } else { Some(metadata::changes(&a, &b, &options)) };
    let metadata = match metadata.transpose() {
        Ok(metadata) => metadata,
        Err(error) => {
            complain(&error);
            return Ok(Exit::Trouble);
        }
    };
    if !args.quiet {
        [&a, &b].into_iter().for_each(Side::tell_part);
    }
    let pairing = Pairing::of(&a, &b, args.names != Names::Keep);
    // Where nothing is to be told, the first difference is enough.
    let decided = !pairing.is_complete()
        || metadata.as_ref().is_some_and(|changes| !changes.is_empty())
        || pairing.both.iter().any(|pair| pair.is_reshaped() || !args.values && pair.is_retyped());
    if args.quiet && decided {
        return Ok(Exit::Rejected);
    }
    let comparisons = match tensors::compare(&pairing, &work) {
        Ok(comparisons) => comparisons,
        Err((path, error)) => {
            Lost::Report(Box::new(Report::unread(&path, &error))).tell(&mut out, args.json)?;
            return Ok(Exit::Trouble);
        }
    };
    if let Some(exit) = work.exit() {
        complain("interrupted");
        return Ok(exit);
    }
    let found = Found { pairing: &pairing, comparisons, metadata, types: !args.values };
    if args.json {
        output::json(&mut out, &json::document(args, &found))?;
        out.write_all(b"\n")?;
    } else if !args.quiet {
        human::print(&mut out, &found)?;
    }
    out.flush()?;
    Ok(if found.is_same() { Exit::Accepted } else { Exit::Rejected })
}
