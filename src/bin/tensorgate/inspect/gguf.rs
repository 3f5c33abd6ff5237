//! A GGUF file's content for people.

pub(crate) mod json;

use std::io::{self, Write};

use tensorgate::gguf::{Endian, GgmlType, Header, Value};

use super::human::{NAME, VALUE, cut, eye, findings, heading, modules, total};
use super::memory::{self, KvCache};
use super::shards::Shards;
use super::tensor::Tensor;
use super::totals::totals;
use crate::args::Inspect;
use crate::output::FAINT;
use crate::report::Report;
use crate::text;

/// Elements of an array that are shown unless all are asked for.
const ELEMENTS: usize = 8;
/// Columns of a string in an array.
const ELEMENT: usize = 20;
/// The longest architecture that is looked up: keys begin with it.
const ARCHITECTURE: usize = 64;

/// What is said of the model: the key behind the architecture's name, and what it is called here.
const FACTS: [(&str, &str); 7] = [
    ("block_count", "blocks"),
    ("context_length", "context length"),
    ("embedding_length", "embedding length"),
    ("feed_forward_length", "feed-forward length"),
    ("attention.head_count", "heads"),
    ("attention.head_count_kv", "key/value heads"),
    ("expert_count", "experts"),
];

/// The tensors of the file, or of all files of the model that it begins and that are there.
fn tensors<'a>(header: &'a Header<'a>, there: &'a Shards) -> Box<dyn Iterator<Item = Tensor<'a>> + 'a> {
    if there.is_empty() { Box::new(header.tensors().map(Tensor::from)) } else { Box::new(there.tensors()) }
}

/// Everything, in the order in which one asks.
pub(super) fn human(
    out: &mut impl Write,
    report: &Report,
    header: &Header<'_>,
    there: &Shards,
    args: &Inspect,
) -> io::Result<()> {
    let tensors = || tensors(header, there);
    let (sum, by_kind) = totals(tensors(), GgmlType::ALL.iter().filter_map(|kind| kind.name()));
    let files = if there.is_empty() { String::new() } else { format!(", the first of {} files", there.files()) };
    heading(out, report, &format!("GGUF version {}, {}{files}", header.version(), order(header.endian())))?;
    let start = header.data_offset();
    let alignment = text::count(header.alignment().into(), "byte");
    writeln!(out, "data        begins at byte {start}, tensors aligned to {alignment}")?;
    model(out, header, args.all)?;
    writeln!(out, "total       {}{}", total(&sum), bits(sum.bits()))?;
    for (kind, totals) in &by_kind {
        writeln!(out, "{kind:<12}{}{}", total(totals), bits(totals.bits()))?;
    }
    memory::print(out, &sum, KvCache::of_gguf(header))?;
    pairs(out, header, args.all)?;
    findings(out, report)?;
    if !there.is_empty() {
        there.print(out, args.all)?;
    }
    if there.left_out() > 0 {
        writeln!(out, "not shown   {} of unknown size", text::count(there.left_out(), "tensor"))?;
    }
    // A map is of one file.
    let layout = there.is_empty().then_some((start, report.size));
    eye(out, args, tensors, layout, &by_kind, &sum)?;
    modules(out, tensors(), args)
}

fn bits(bits: Option<String>) -> String {
    bits.map(|bits| format!(", {bits} bits each")).unwrap_or_default()
}

const fn order(endian: Endian) -> &'static str {
    match endian {
        Endian::Little => "little-endian",
        Endian::Big => "big-endian",
    }
}

/// What the metadata says of the model, as far as it is of the right types.
fn model(out: &mut impl Write, header: &Header<'_>, all: bool) -> io::Result<()> {
    let text = |key: &str| header.str(key).ok().map(|value| cut(value, VALUE, all));
    if let Some(name) = text("general.name") {
        writeln!(out, "name        {name}")?;
    }
    let Some(architecture) = text("general.architecture") else { return Ok(()) };
    let facts: Vec<String> =
        facts(header).into_iter().map(|(_, label, value)| format!("{label} {value}")).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    writeln!(out, "model       {architecture}{facts}")
}

/// The facts that are there: their keys behind the architecture, their labels, their values.
fn facts(header: &Header<'_>) -> Vec<(&'static str, &'static str, u64)> {
    let architecture = header.str("general.architecture").ok().filter(|name| name.len() <= ARCHITECTURE);
    let Some(architecture) = architecture else { return Vec::new() };
    let value = |key: &str| header.u64(&format!("{architecture}.{key}")).ok();
    FACTS.iter().filter_map(|(key, label)| Some((*key, *label, value(key)?))).collect()
}

/// Keys, types and values.
pub(crate) fn pairs(out: &mut impl Write, header: &Header<'_>, all: bool) -> io::Result<()> {
    let count = u64::try_from(header.pair_count()).unwrap_or(u64::MAX);
    writeln!(out, "metadata    {}", text::count(count, "key"))?;
    let columns = header.pairs().map(|pair| pair.key().len()).max().unwrap_or(0).min(NAME);
    for pair in header.pairs() {
        let (key, value) = (cut(pair.key(), NAME, all), pair.value());
        write!(out, "  {key:columns$}  {FAINT}{:<4}{FAINT:#}  ", value.kind().name())?;
        match value {
            Value::Array(array) => {
                let shown = if all { array.len() } else { ELEMENTS };
                write!(out, "{} ", array.kind().name())?;
                let mut before = "[";
                for element in array.iter().take(shown) {
                    write!(out, "{before}{}", scalar(&element, ELEMENT, all))?;
                    before = ", ";
                }
                let open = if array.is_empty() { "[" } else { "" };
                if array.len() > shown {
                    writeln!(out, "{open}, ...] ({} elements)", array.len())?;
                } else {
                    writeln!(out, "{open}]")?;
                }
            }
            scalar_value => writeln!(out, "{}", scalar(&scalar_value, VALUE, all))?,
        }
    }
    Ok(())
}

/// A value that is no array. Strings are shown escaped, in quotes, and are never interpreted.
pub(crate) fn scalar(value: &Value<'_>, columns: usize, all: bool) -> String {
    match value {
        Value::U8(value) => value.to_string(),
        Value::I8(value) => value.to_string(),
        Value::U16(value) => value.to_string(),
        Value::I16(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::I32(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::F32(value) => format!("{value:?}"),
        Value::F64(value) => format!("{value:?}"),
        Value::Bool(value) => value.to_string(),
        Value::String(value) => match value.as_str() {
            Ok(text) => format!("\"{}\"", cut(text, columns, all).replace('"', "\\\"")),
            Err(_) => format!("\"{value}\""),
        },
        Value::Array(array) => format!("({} elements)", array.len()),
    }
}
