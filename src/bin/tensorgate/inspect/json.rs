//! A file's content for programs. Tensors and shapes are written as they are read, whatever their number.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use tensorgate::Shape;
use tensorgate::safetensors::{Header, TensorInfo};

use super::totals::{alignment, parameters, totals};
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
        let (sum, by_dtype) = totals(self.header);
        let dtypes: Vec<_> = by_dtype
            .iter()
            .map(|(dtype, t)| {
                json!({"dtype": dtype.tag(), "tensors": t.tensors, "parameters": t.parameters, "bytes": t.bytes})
            })
            .collect();
        let start = self.header.data().start();
        let file = report_json::file(self.report);
        let mut map = serializer.serialize_map(None)?;
        for key in ["path", "path_hex", "format", "verdict", "size", "findings"] {
            if let Some(value) = file.get(key) {
                map.serialize_entry(key, value)?;
            }
        }
        map.serialize_entry("data_start", &start)?;
        map.serialize_entry("data_alignment", &alignment(start))?;
        map.serialize_entry("parameters", &sum.parameters)?;
        map.serialize_entry("data_bytes", &sum.bytes)?;
        map.serialize_entry("dtypes", &dtypes)?;
        map.serialize_entry("metadata", &self.header.metadata().map(Metadata))?;
        map.serialize_entry("tensors", &Tensors(self.header))?;
        map.end()
    }
}

struct Metadata<'a>(tensorgate::safetensors::Metadata<'a>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key.to_cow(), value.to_cow())))
    }
}

struct Tensors<'a>(&'a Header<'a>);

impl Serialize for Tensors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.tensors().map(Tensor))
    }
}

struct Tensor<'a>(TensorInfo<'a>);

impl Serialize for Tensor<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let info = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &info.name().to_cow())?;
        map.serialize_entry("dtype", info.dtype().tag())?;
        map.serialize_entry("shape", &Dims(info.shape()))?;
        map.serialize_entry("parameters", &parameters(info))?;
        map.serialize_entry("bytes", &info.span().len())?;
        map.serialize_entry("offset", &info.span().start())?;
        map.end()
    }
}

struct Dims<'a>(Shape<'a>);

impl Serialize for Dims<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}
