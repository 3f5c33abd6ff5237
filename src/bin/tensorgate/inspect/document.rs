//! The document for programs, which is also what a page holds.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::Value;
use tensorgate::file::Head;

use super::shards::Shards;
use super::{gguf, index, json, values};
use crate::args::Inspect;
use crate::judge::{Model, Options, judge};
use crate::report::{Report, json as report_json};
use crate::walk::Source;
use crate::work::Work;
use crate::{Exit, complain, output, parts};

/// The document for programs, with the values of the tensors where they are asked for; or how the program ends where it
/// was stopped at that.
pub(super) fn document(args: &Inspect, source: &Source) -> io::Result<Result<(Report, Vec<u8>), Exit>> {
    let work = if args.deep { Some(Work::new(args.effort, false, &[source.path()])?) } else { None };
    let options = args.reading.options();
    let (mut bytes, mut shown, mut looked) = (Vec::new(), Ok(()), None);
    let mut verdict = judge(source, &options, None, &mut |report, model, head| {
        let there = match Shards::open(report, &model, head, &options) {
            Ok(there) => there,
            Err(failed) => return looked = Some(Err(failed)),
        };
        shown = match model {
            Model::SafeTensors(header) => json::safetensors(&mut bytes, report, header),
            Model::Gguf(header) => gguf::json::document(&mut bytes, report, header, &there),
            Model::Index(index, shards) => index::json(&mut bytes, report, index, shards, &there),
        };
        if let Some(work) = &work {
            looked = Some(look(work, report, &model, head, &options, &there));
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

/// The values of the tensors, in their order in the document.
fn look(
    work: &Work,
    report: &Report,
    model: &Model<'_>,
    head: &Head,
    options: &Options,
    there: &Shards,
) -> Result<Vec<Value>, Box<Report>> {
    if let Model::Index(index, _) = model {
        let mut found = there.values(work)?;
        let names = index.in_file_order().map(|entry| entry.name());
        return Ok(names.map(|name| found.remove(&*name.to_cow()).unwrap_or_default()).collect());
    }
    if !there.is_empty() {
        let mut found = there.values(work)?;
        return Ok(there.tensors().map(|one| found.remove(&*one.name.to_cow()).unwrap_or_default()).collect());
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
