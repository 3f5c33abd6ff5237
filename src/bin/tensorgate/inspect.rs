//! `tensorgate inspect`: what is in a file.

pub(crate) mod gguf;
mod group;
pub(crate) mod human;
mod index;
mod json;
mod layout;
mod memory;
mod one;
mod tensor;
mod totals;
mod tree;

use std::io::{self, Write};

use crate::args::Inspect;
use crate::judge::{Model, judge};
use crate::report::{Report, Summary, human as report, json as report_json};
use crate::walk::Source;
use crate::{Exit, complain, output};
use tensor::Tensor;

/// Shows the file, or why it is not accepted.
pub(crate) fn run(args: &Inspect) -> io::Result<Exit> {
    let source = Source::named(&args.path);
    let mut out = output::stdout();
    let mut shown = Ok(Exit::Accepted);
    let verdict = judge(&source, &args.reading.options(), None, &mut |report, model, _| {
        shown = show(&mut out, args, report, &model);
    });
    let shown = shown?;
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
    Ok(summary.exit().or(shown))
}

/// Shows an accepted file.
fn show(out: &mut impl Write, args: &Inspect, report: &Report, model: &Model<'_>) -> io::Result<Exit> {
    match (model, &args.tensor) {
        (Model::SafeTensors(header), Some(wanted)) => {
            return one::show(out, wanted, header.tensors().map(Tensor::from));
        }
        (Model::Gguf(header), Some(wanted)) => return one::show(out, wanted, header.tensors().map(Tensor::from)),
        (Model::Index(..), Some(_)) => {
            complain("an index says nothing of a tensor but its shard: inspect that");
            return Ok(Exit::Trouble);
        }
        (Model::SafeTensors(header), None) if args.json => json::safetensors(out, report, header),
        (Model::SafeTensors(header), None) => human::safetensors(out, report, header, args),
        (Model::Gguf(header), None) if args.json => gguf::json::document(out, report, header),
        (Model::Gguf(header), None) => gguf::human(out, report, header, args),
        (Model::Index(index, shards), None) if args.json => index::json(out, report, index, shards),
        (Model::Index(index, shards), None) => index::human(out, report, index, shards, args.all),
    }?;
    Ok(Exit::Accepted)
}
