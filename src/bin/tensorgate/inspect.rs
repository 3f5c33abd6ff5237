//! `tensorgate inspect`: what is in a file.

pub(crate) mod gguf;
mod group;
pub(crate) mod human;
mod index;
mod json;
mod layout;
mod memory;
mod tensor;
mod totals;
mod tree;

use std::io::{self, Write};

use crate::args::Inspect;
use crate::judge::{Model, judge};
use crate::report::{Summary, human as report, json as report_json};
use crate::walk::Source;
use crate::{Exit, output};

/// Shows the file, or why it is not accepted.
pub(crate) fn run(args: &Inspect) -> io::Result<Exit> {
    let source = Source::named(&args.path);
    let mut out = output::stdout();
    let mut shown = Ok(());
    let verdict = judge(&source, &args.reading.options(), None, &mut |report, model, _| {
        shown = match model {
            Model::SafeTensors(header) if args.json => json::safetensors(&mut out, report, header),
            Model::SafeTensors(header) => human::safetensors(&mut out, report, header, args),
            Model::Gguf(header) if args.json => gguf::json::document(&mut out, report, header),
            Model::Gguf(header) => gguf::human(&mut out, report, header, args),
            Model::Index(index, shards) if args.json => index::json(&mut out, report, index, shards),
            Model::Index(index, shards) => index::human(&mut out, report, index, shards, args.all),
        };
    });
    shown?;
    if verdict.fault.is_some() {
        if args.json {
            output::json(&mut out, &report_json::file(&verdict))?;
            out.write_all(b"\n")?;
        } else {
            report::file(&mut out, &verdict, true)?;
        }
    }
    out.flush()?;
    let mut summary = Summary::default();
    summary.add(&verdict);
    Ok(summary.exit())
}
