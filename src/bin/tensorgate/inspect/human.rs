//! A file's content for people.

use std::io::{self, Write};

use tensorgate::Shape;
use tensorgate::safetensors::{Header, TensorInfo};

use super::group::{Named, groups, sorted};
use super::totals::{Totals, alignment, parameters, totals};
use crate::output::{FAINT, ODD, STRONG};
use crate::report::Report;
use crate::text;

/// Columns after which a name or value is cut, and dimensions after which a shape is.
const NAME: usize = 60;
const VALUE: usize = 80;
const DIMS: usize = 8;

/// Everything, in the order in which one asks: what it is, how large, what its metadata says, then its tensors.
pub(super) fn safetensors(out: &mut impl Write, report: &Report, header: &Header<'_>, all: bool) -> io::Result<()> {
    let (sum, by_dtype) = totals(header);
    writeln!(out, "{STRONG}{}{STRONG:#}", text::path(&report.path))?;
    writeln!(out, "format      safetensors")?;
    if let Some(size) = report.size {
        writeln!(out, "size        {}", text::size(size))?;
    }
    let start = header.data().start();
    writeln!(out, "header      {}", text::size(start))?;
    writeln!(out, "data        begins at byte {start}, aligned to {}", text::count(alignment(start), "byte"))?;
    writeln!(out, "total       {}", total(&sum))?;
    for (dtype, totals) in &by_dtype {
        writeln!(out, "{:<12}{}", dtype.tag(), total(totals))?;
    }
    metadata(out, header, all)?;
    for note in &report.findings {
        let message = text::ascii(&note.message);
        writeln!(out, "{ODD}{:<10}{ODD:#}  {} at byte {}: {message}", note.severity, note.code, note.offset)?;
    }
    for (name, tensors) in groups(&sorted(header)) {
        module(out, name, tensors, all)?;
    }
    Ok(())
}

fn total(totals: &Totals) -> String {
    let (tensors, parameters) =
        (text::count(totals.tensors, "tensor"), text::count(totals.parameters, "parameter"));
    format!("{tensors}, {parameters}, {}", text::size(totals.bytes))
}

fn metadata(out: &mut impl Write, header: &Header<'_>, all: bool) -> io::Result<()> {
    let Some(metadata) = header.metadata() else {
        let what = if header.metadata_is_null() { "null" } else { "none" };
        return writeln!(out, "metadata    {what}");
    };
    writeln!(
        out,
        "metadata    {}",
        text::count(metadata.iter().fold(0, |count: u64, _| count.saturating_add(1)), "key")
    )?;
    for (key, value) in metadata {
        writeln!(out, "  {}: {}", cut(&key.to_cow(), NAME, all), cut(&value.to_cow(), VALUE, all))?;
    }
    Ok(())
}

/// Text as it is shown, cut after `columns` columns unless all of it is asked for.
fn cut(text: &str, columns: usize, all: bool) -> String {
    text::short(text, if all { usize::MAX } else { columns })
}

fn module(out: &mut impl Write, name: &str, tensors: &[Named<'_>], all: bool) -> io::Result<()> {
    let mut sum = Totals::default();
    // What the module's heading says already is not said again.
    let known = if name.is_empty() { 0 } else { name.len().saturating_add(1) };
    let (mut names, mut shapes) = (0, 0);
    for (name, info) in tensors {
        sum.add(info);
        let [name, _, shape] = row(name, known, info, all);
        (names, shapes) = (names.max(name.len()), shapes.max(shape.len()));
    }
    let (names, shapes) = (names.min(NAME), shapes.min(NAME));
    let heading = if name.is_empty() { "(no module)".to_owned() } else { cut(name, VALUE, all) };
    writeln!(out, "\n{STRONG}{heading}{STRONG:#}{FAINT}  {}{FAINT:#}", total(&sum))?;
    // Rows are made again rather than kept: a file can have millions.
    for (name, info) in tensors {
        let [name, dtype, shape] = row(name, known, info, all);
        let (size, at) = (text::size(info.span().len()), info.span().start());
        writeln!(out, "  {name:names$}  {dtype:<5}  {shape:shapes$}  at {at}, {size}{}", odd(info))?;
    }
    Ok(())
}

/// A row's name, dtype and shape.
fn row(name: &str, known: usize, info: &TensorInfo<'_>, all: bool) -> [String; 3] {
    let leaf = cut(name.get(known..).unwrap_or(name), NAME, all);
    let leaf = if leaf.is_empty() { "\"\"".to_owned() } else { leaf };
    [leaf, info.dtype().to_string(), shape(info.shape(), all)]
}

fn shape(shape: Shape<'_>, all: bool) -> String {
    let rank = shape.rank();
    if all || rank <= DIMS {
        return shape.to_string();
    }
    let first: Vec<String> = shape.iter().take(DIMS).map(|dim| dim.to_string()).collect();
    format!("[{}, ... ({rank} dimensions)]", first.join(", "))
}

/// What is said of a tensor without elements.
fn odd(info: &TensorInfo<'_>) -> &'static str {
    if parameters(info) == 0 { " (empty)" } else { "" }
}
