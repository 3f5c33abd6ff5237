//! A file's content for programs. Tensors and shapes are written as they are read, whatever their number.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use tensorgate::safetensors::Header;
use tensorgate::{Dtype, Shape};

use super::memory::{self, KvCache};
use super::tensor::Tensor;
use super::totals::{Totals, alignment, totals};
use crate::output;
use crate::report::{Report, json as report_json};

/// One document: the report of `check`, and what is in the file.
pub(super) fn safetensors(out: &mut impl Write, report: &Report, header: &Header<'_>) -> io::Result<()> {
    output::json(out, &Document { report, header })?;
    out.write_all(b"\n")
}

struct Document<'a> {
    report: &'a Report,
    header: &'a Header<'a>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tensors = || self.header.tensors().map(Tensor::from);
        let (sum, by_dtype) = totals(tensors(), Dtype::ALL.iter().map(|dtype| dtype.tag()));
        let start = self.header.data().start();
        let mut map = serializer.serialize_map(None)?;
        report(&mut map, self.report)?;
        map.serialize_entry("data_start", &start)?;
        map.serialize_entry("data_alignment", &alignment(start))?;
        map.serialize_entry("parameters", &sum.parameters)?;
        map.serialize_entry("data_bytes", &sum.bytes)?;
        map.serialize_entry("dtypes", &kinds("dtype", &by_dtype))?;
        map.serialize_entry("memory", &memory::json(&sum, KvCache::beside(&self.report.path)))?;
        map.serialize_entry("metadata", &self.header.metadata().map(Metadata))?;
        map.serialize_entry(
            "tensors",
            &Tensors { label: "dtype", tensors: || self.header.tensors().map(Tensor::from) },
        )?;
        map.end()
    }
}

struct Metadata<'a>(tensorgate::safetensors::Metadata<'a>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key.to_cow(), value.to_cow())))
    }
}

/// A sequence that is made while it is written.
pub(super) struct Tensors<F> {
    /// What the type is called.
    pub(super) label: &'static str,
    pub(super) tensors: F,
}

impl<'a, I: Iterator<Item = Tensor<'a>>, F: Fn() -> I> Serialize for Tensors<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.tensors)().map(|tensor| Labelled { label: self.label, tensor }))
    }
}

pub(super) struct Labelled<'a> {
    pub(super) label: &'static str,
    pub(super) tensor: Tensor<'a>,
}

impl Serialize for Labelled<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tensor = &self.tensor;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &tensor.name.to_cow())?;
        if let Some(file) = tensor.file {
            map.serialize_entry("shard", file)?;
        }
        map.serialize_entry(self.label, tensor.kind)?;
        map.serialize_entry("shape", &Dims(tensor.shape))?;
        map.serialize_entry("parameters", &tensor.parameters())?;
        map.serialize_entry("bytes", &tensor.span.len())?;
        map.serialize_entry("offset", &tensor.span.start())?;
        map.end()
    }
}

/// Sums by type.
pub(super) fn kinds(label: &str, totals: &[(&'static str, Totals)]) -> Vec<Value> {
    let row = |(kind, t): &(&'static str, Totals)| json!({label: kind, "tensors": t.tensors, "parameters": t.parameters, "bytes": t.bytes});
    totals.iter().map(row).collect()
}

/// What `check` says of the file, as far as it applies to an accepted one.
pub(super) fn report<M: SerializeMap>(map: &mut M, report: &Report) -> Result<(), M::Error> {
    let file = report_json::file(report);
    for key in ["path", "path_hex", "format", "verdict", "size", "findings"] {
        if let Some(value) = file.get(key) {
            map.serialize_entry(key, value)?;
        }
    }
    Ok(())
}

struct Dims<'a>(Shape<'a>);

impl Serialize for Dims<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}
