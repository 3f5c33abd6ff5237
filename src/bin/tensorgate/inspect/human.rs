//! A file's content for people.

use std::io::{self, Write};

use tensorgate::safetensors::{Header, TensorInfo};
use tensorgate::{Name, Shape};

use super::group::{Group, groups};
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
    for group in groups(header) {
        module(out, &group, all)?;
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
        writeln!(out, "  {}: {}", cut(key, NAME, all), cut(value, VALUE, all))?;
    }
    Ok(())
}

fn cut(name: Name<'_>, columns: usize, all: bool) -> String {
    text::name(name, if all { usize::MAX } else { columns })
}

fn module(out: &mut impl Write, group: &Group<'_>, all: bool) -> io::Result<()> {
    let mut sum = Totals::default();
    group.tensors.iter().for_each(|(_, info)| sum.add(info));
    let module = if group.module.is_empty() { "(no module)".to_owned() } else { text::ascii(&group.module) };
    let module = if all || module.len() <= VALUE { module } else { format!("{module:.VALUE$}...") };
    writeln!(out)?;
    writeln!(out, "{STRONG}{module}{STRONG:#}{FAINT}  {}{FAINT:#}", total(&sum))?;
    // What the module's heading says already is not said again.
    let known = if group.module.is_empty() { 0 } else { group.module.len().saturating_add(1) };
    let rows: Vec<[String; 3]> = group.tensors.iter().map(|(name, info)| row(name, known, info, all)).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let (names, shapes) = (width(0).min(NAME), width(2).min(NAME));
    for ((_, info), [name, dtype, shape]) in group.tensors.iter().zip(&rows) {
        let (size, at) = (text::size(info.span().len()), info.span().start());
        writeln!(out, "  {name:names$}  {dtype:<5}  {shape:shapes$}  at {at}, {size}{}", odd(info))?;
    }
    Ok(())
}

/// A row's name, dtype and shape.
fn row(name: &str, known: usize, info: &TensorInfo<'_>, all: bool) -> [String; 3] {
    let leaf = text::ascii(name.get(known..).unwrap_or(name));
    let leaf = if all || leaf.len() <= NAME { leaf } else { format!("{leaf:.NAME$}...") };
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
