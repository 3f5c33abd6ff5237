//! `tensorgate inspect`: what is in a file.

pub(crate) mod gguf;
mod group;
pub(crate) mod human;
mod index;
mod json;
mod page;
mod tensor;
mod totals;
mod values;

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::Value;
use tensorgate::file::Head;

use crate::args::Inspect;
use crate::judge::{Model, Options, judge};
use crate::report::{Report, Summary, human as report, json as report_json};
use crate::walk::Source;
use crate::work::Work;
use crate::{Exit, complain, output, parts, text};

/// Shows the file, or why it is not accepted.
pub(crate) fn run(args: &Inspect) -> io::Result<Exit> {
    let mut out = output::stdout();
    let verdict = if args.json || args.html.is_some() {
        match document(args)? {
            Ok((verdict, document)) => {
                deliver(args, &mut out, &document)?;
                verdict
            }
            Err(exit) => return Ok(exit),
        }
    } else {
        human_report(args, &mut out)?
    };
    out.flush()?;
    let mut summary = Summary::default();
    summary.add(verdict.verdict);
    Ok(summary.exit())
}

/// Prints what is in an accepted file, or the fault.
fn human_report(args: &Inspect, out: &mut output::Out) -> io::Result<Report> {
    let mut shown = Ok(());
    let source = Source::named(&args.path);
    let verdict = judge(&source, &args.reading.options(), None, &mut |report, model, _| {
        shown = match model {
            Model::SafeTensors(header) => human::safetensors(out, report, header, args.all),
            Model::Gguf(header) => gguf::human(out, report, header, args.all),
            Model::Index(index, shards) => index::human(out, report, index, shards, args.all),
        };
    });
    shown?;
    if verdict.fault.is_some() {
        report::file(out, &verdict, true)?;
    }
    Ok(verdict)
}

/// The document for programs, with the values of the tensors where they are asked for; or how the program ends where it
/// was stopped at that.
fn document(args: &Inspect) -> io::Result<Result<(Report, Vec<u8>), Exit>> {
    let work = if args.deep { Some(Work::new(args.effort, false, &[&args.path])?) } else { None };
    let options = args.reading.options();
    let (mut bytes, mut shown, mut looked) = (Vec::new(), Ok(()), None);
    let mut verdict = judge(&Source::named(&args.path), &options, None, &mut |report, model, head| {
        shown = match model {
            Model::SafeTensors(header) => json::safetensors(&mut bytes, report, header),
            Model::Gguf(header) => gguf::json::document(&mut bytes, report, header),
            Model::Index(index, shards) => index::json(&mut bytes, report, index, shards),
        };
        if let Some(work) = &work {
            looked = Some(look(work, report, &model, head, &options));
        }
    });
    shown?;
    if let Some(exit) = work.as_ref().and_then(Work::exit) {
        complain("interrupted");
        return Ok(Err(exit));
    }
    match looked {
        Some(Err(failed)) => verdict = *failed,
        Some(Ok(values)) if verdict.fault.is_none() => add(&mut bytes, &values)?,
        _ => {}
    }
    if verdict.fault.is_some() {
        bytes.clear();
        output::json(&mut bytes, &report_json::file(&verdict))?;
        bytes.write_all(b"\n")?;
    }
    Ok(Ok((verdict, bytes)))
}

/// The values of the tensors of one file, in the order of its tensors in the document. Of an index there are none: its
/// shards are inspected one by one.
fn look(
    work: &Work,
    report: &Report,
    model: &Model<'_>,
    head: &Head,
    options: &Options,
) -> Result<Vec<Value>, Box<Report>> {
    if matches!(model, Model::Index(..)) {
        return Ok(Vec::new());
    }
    let parts = parts::parts(report, model, head, options)?;
    let Some(part) = parts.first() else { return Ok(Vec::new()) };
    let found = values::values(work, part).map_err(|error| Box::new(Report::unread(&report.path, &error)))?;
    // A tensor of no known size has no place among those that can be read.
    let mut found: HashMap<&str, Value> =
        part.tensors.iter().map(|tensor| tensor.name.as_str()).zip(found).collect();
    let mut take = |name: tensorgate::Name<'_>| found.remove(&*name.to_cow()).unwrap_or_default();
    Ok(match model {
        Model::SafeTensors(header) => header.tensors().map(|info| take(info.name())).collect(),
        Model::Gguf(header) => header.tensors().map(|info| take(info.name())).collect(),
        Model::Index(..) => Vec::new(),
    })
}

/// Adds the values as the document's last member.
fn add(document: &mut Vec<u8>, values: &[Value]) -> io::Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let end = document.iter().rposition(|byte| *byte == b'}').unwrap_or(document.len());
    document.truncate(end);
    document.write_all(b",\"values\":")?;
    output::json(document, &values)?;
    document.write_all(b"}\n")
}

/// Prints the document, or saves its page.
fn deliver(args: &Inspect, out: &mut output::Out, document: &[u8]) -> io::Result<()> {
    let Some(path) = &args.html else { return out.write_all(document) };
    page::save(path, document)?;
    writeln!(out, "the page is in {}", text::path(path))
}
