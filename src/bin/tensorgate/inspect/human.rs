//! A file's content for people.

use std::io::{self, Write};

use tensorgate::safetensors::Header;
use tensorgate::{Dtype, Shape};

use super::group::{Named, groups, sorted};
use super::layout;
use super::memory::{self, KvCache};
use super::tensor::Tensor;
use super::totals::{Totals, alignment, totals};
use super::tree::{self, Node, bar, share};
use crate::args::Inspect;
use crate::output::{FAINT, ODD, STRONG};
use crate::report::Report;
use crate::text;

/// Columns after which a name or value is cut, and dimensions after which a shape is.
pub(super) const NAME: usize = 60;
pub(super) const VALUE: usize = 80;
const DIMS: usize = 8;

/// Everything, in the order in which one asks: what it is, how large, what its metadata says, then its tensors.
pub(super) fn safetensors(
    out: &mut impl Write,
    report: &Report,
    header: &Header<'_>,
    args: &Inspect,
) -> io::Result<()> {
    let tensors = || header.tensors().map(Tensor::from);
    let (sum, by_dtype) = totals(tensors(), Dtype::ALL.iter().map(|dtype| dtype.tag()));
    heading(out, report, "safetensors")?;
    let start = header.data().start();
    writeln!(out, "header      {}", text::size(start))?;
    writeln!(out, "data        begins at byte {start}, aligned to {}", text::count(alignment(start), "byte"))?;
    writeln!(out, "total       {}", total(&sum))?;
    for (dtype, totals) in &by_dtype {
        writeln!(out, "{dtype:<12}{}", total(totals))?;
    }
    memory::print(out, &sum, KvCache::beside(&report.path))?;
    metadata(out, header, args.all)?;
    findings(out, report)?;
    eye(out, args, tensors, Some((start, report.size)), &by_dtype, &sum)?;
    modules(out, tensors(), args)
}

/// What the model is made of, as pictures: types, modules, and where they lie in the file that has so many bytes, behind its
/// header.
pub(super) fn eye<'a, I: Iterator<Item = Tensor<'a>>>(
    out: &mut impl Write,
    args: &Inspect,
    tensors: impl Fn() -> I,
    layout: Option<(u64, Option<u64>)>,
    kinds: &[(&'static str, Totals)],
    sum: &Totals,
) -> io::Result<()> {
    if kinds.len() > 1 {
        writeln!(out, "\n{STRONG}types{STRONG:#}{FAINT}  by size{FAINT:#}")?;
        let mut kinds = kinds.to_vec();
        kinds.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.bytes));
        for (kind, totals) in kinds {
            let (share, bar) = (share(totals.bytes, sum.bytes), bar(totals.bytes, sum.bytes));
            writeln!(out, "  {kind:<10}  {share:>6}  {bar}")?;
        }
    }
    tree::print(out, &Node::new(tensors(), args.depth))?;
    match layout {
        Some((start, size)) => layout::print(out, tensors, start, size),
        None => Ok(()),
    }
}

/// What the file is, and how large.
pub(super) fn heading(out: &mut impl Write, report: &Report, format: &str) -> io::Result<()> {
    writeln!(out, "{STRONG}{}{STRONG:#}", text::path(&report.path))?;
    writeln!(out, "format      {format}")?;
    match report.size {
        Some(size) => writeln!(out, "size        {}", text::size(size)),
        None => Ok(()),
    }
}

/// What is worth knowing besides.
pub(super) fn findings(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for note in &report.findings {
        let message = text::ascii(&note.message);
        writeln!(out, "{ODD}{:<10}{ODD:#}  {} at byte {}: {message}", note.severity, note.code, note.offset)?;
    }
    Ok(())
}

/// The tensors by module.
pub(super) fn modules<'a>(
    out: &mut impl Write,
    tensors: impl Iterator<Item = Tensor<'a>>,
    args: &Inspect,
) -> io::Result<()> {
    if args.summary {
        return Ok(());
    }
    for (name, tensors) in groups(&sorted(tensors)?) {
        module(out, name, tensors, args.all)?;
    }
    Ok(())
}

pub(super) fn total(totals: &Totals) -> String {
    let (tensors, parameters) =
        (text::count(totals.tensors, "tensor"), text::count(totals.parameters, "parameter"));
    format!("{tensors}, {parameters}, {}", text::size(totals.bytes))
}

/// The pairs of a safetensors file.
pub(crate) fn metadata(out: &mut impl Write, header: &Header<'_>, all: bool) -> io::Result<()> {
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
pub(super) fn cut(text: &str, columns: usize, all: bool) -> String {
    text::short(text, if all { usize::MAX } else { columns })
}

fn module(out: &mut impl Write, name: &str, tensors: &[Named<'_>], all: bool) -> io::Result<()> {
    let mut sum = Totals::default();
    // What the module's heading says already is not said again.
    let known = if name.is_empty() { 0 } else { name.len().saturating_add(1) };
    // The width of the safetensors tags, so that modules of one dtype each stand in one column.
    let (mut names, mut kinds, mut shapes) = (0, 5, 0);
    for Named { name, tensor, .. } in tensors {
        sum.add(tensor);
        let (name, shape) = row(name, known, tensor, all);
        (names, kinds, shapes) = (names.max(name.len()), kinds.max(tensor.kind.len()), shapes.max(shape.len()));
    }
    let (names, shapes) = (names.min(NAME), shapes.min(NAME));
    let heading = if name.is_empty() { "(no module)".to_owned() } else { cut(name, VALUE, all) };
    writeln!(out, "\n{STRONG}{heading}{STRONG:#}{FAINT}  {}{FAINT:#}", total(&sum))?;
    // Rows are made again rather than kept: a file can have millions.
    for Named { name, tensor, .. } in tensors {
        let (name, shape) = row(name, known, tensor, all);
        let (kind, size, at) = (tensor.kind, text::size(tensor.span.len()), tensor.span.start());
        let file = tensor.file.map(|file| format!(" of {}", cut(file, NAME, all))).unwrap_or_default();
        writeln!(out, "  {name:names$}  {kind:<kinds$}  {shape:shapes$}  at {at}{file}, {size}{}", odd(tensor))?;
    }
    Ok(())
}

/// A row's name and shape.
fn row(name: &str, known: usize, tensor: &Tensor<'_>, all: bool) -> (String, String) {
    let leaf = cut(name.get(known..).unwrap_or(name), NAME, all);
    let leaf = if leaf.is_empty() { "\"\"".to_owned() } else { leaf };
    (leaf, shape(tensor.shape, all))
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
fn odd(tensor: &Tensor<'_>) -> &'static str {
    if tensor.parameters() == 0 { " (empty)" } else { "" }
}
