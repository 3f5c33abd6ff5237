//! `tensorgate inspect`: what is in a file.

mod document;
pub(crate) mod gguf;
mod group;
pub(crate) mod human;
mod index;
mod json;
mod layout;
mod memory;
mod one;
mod page;
mod shards;
mod tensor;
mod totals;
mod tree;
mod values;

use std::io::{self, Write};
use std::path::Path;

use crate::args::Inspect;
use crate::judge::{Model, judge};
use crate::report::{Report, Summary, human as report};
use crate::walk::Source;
use crate::{Exit, complain, output, text};
use shards::Shards;
use tensor::Tensor;

/// Shows the file, or why it is not accepted.
pub(crate) fn run(args: &Inspect) -> io::Result<Exit> {
    let mut out = output::stdout();
    let source = source(&args.path);
    let (verdict, shown) = if args.json || args.html.is_some() {
        match document::document(args, &source)? {
            Ok((verdict, document)) => {
                deliver(args, &mut out, &document)?;
                (verdict, Exit::Accepted)
            }
            Err(exit) => return Ok(exit),
        }
    } else {
        human_report(args, &source, &mut out)?
    };
    out.flush()?;
    let mut summary = Summary::default();
    summary.add(&verdict);
    Ok(summary.exit().or(shown))
}

/// What is meant: of a folder the file with which the model in it begins.
fn source(path: &Path) -> Source {
    if path.as_os_str() == "-" || !path.is_dir() {
        return Source::named(path);
    }
    match tensorgate::Model::locate(path) {
        Ok(found) => Source::Found(found),
        Err(error) => Source::Unclear(path.to_owned(), error),
    }
}

/// Prints what is in an accepted file, or the fault.
fn human_report(args: &Inspect, source: &Source, out: &mut output::Out) -> io::Result<(Report, Exit)> {
    let mut shown = Ok(Exit::Accepted);
    let options = args.reading.options();
    let mut failed = None;
    let mut verdict = judge(source, &options, None, &mut |report, model, head| match Shards::open(
        report, &model, head, &options,
    ) {
        Ok(there) => shown = show(out, args, report, &model, &there),
        Err(error) => failed = Some(*error),
    });
    let shown = shown?;
    verdict = failed.unwrap_or(verdict);
    if verdict.fault.is_some() {
        report::file(out, &verdict, true)?;
    }
    Ok((verdict, shown))
}

/// Shows an accepted file.
fn show(
    out: &mut impl Write,
    args: &Inspect,
    report: &Report,
    model: &Model<'_>,
    there: &Shards,
) -> io::Result<Exit> {
    match (model, &args.tensor) {
        (_, Some(wanted)) if !there.is_empty() => return one::show(out, wanted, there.tensors()),
        (Model::SafeTensors(header), Some(wanted)) => {
            return one::show(out, wanted, header.tensors().map(Tensor::from));
        }
        (Model::Gguf(header), Some(wanted)) => return one::show(out, wanted, header.tensors().map(Tensor::from)),
        (Model::Index(..), Some(_)) => {
            complain("an index says nothing of a tensor but its shard, and no shard is there");
            return Ok(Exit::Trouble);
        }
        (Model::SafeTensors(header), None) => human::safetensors(out, report, header, args),
        (Model::Gguf(header), None) => gguf::human(out, report, header, there, args),
        (Model::Index(index, shards), None) => index::human(out, report, index, shards, there, args),
    }?;
    Ok(Exit::Accepted)
}

/// Prints the document, or saves its page.
fn deliver(args: &Inspect, out: &mut output::Out, document: &[u8]) -> io::Result<()> {
    let Some(path) = &args.html else { return out.write_all(document) };
    page::save(path, document)?;
    writeln!(out, "the page is in {}", text::path(path))
}
