//! A GGUF file's content for programs, whole: arrays are written as they are read.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json, json};
use tensorgate::gguf::{Array, GgmlType, Header, Pair, Value};

use super::super::json::{Tensors, kinds, report as report_entries};
use super::super::memory::{self, KvCache};
use super::super::shards::Shards;
use super::super::totals::totals;
use super::{facts, order, tensors};
use crate::output;
use crate::report::Report;

/// One document: the report of `check`, and what is in the file.
pub(in super::super) fn document(
    out: &mut impl Write,
    report: &Report,
    header: &Header<'_>,
    there: &Shards,
) -> io::Result<()> {
    output::json(out, &Document { report, header, there })?;
    out.write_all(b"\n")
}

struct Document<'a> {
    report: &'a Report,
    header: &'a Header<'a>,
    there: &'a Shards,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let header = self.header;
        let tensors = || tensors(header, self.there);
        let (sum, by_kind) = totals(tensors(), GgmlType::ALL.iter().filter_map(|kind| kind.name()));
        let mut map = serializer.serialize_map(None)?;
        report_entries(&mut map, self.report)?;
        map.serialize_entry("version", &header.version())?;
        map.serialize_entry("byte_order", order(header.endian()))?;
        map.serialize_entry("alignment", &header.alignment())?;
        map.serialize_entry("data_start", &header.data_offset())?;
        map.serialize_entry("architecture", &header.str("general.architecture").ok())?;
        let model: Map<String, Json> =
            facts(header).into_iter().map(|(key, _, value)| (key.to_owned(), json!(value))).collect();
        map.serialize_entry("model", &model)?;
        map.serialize_entry("parameters", &sum.parameters)?;
        map.serialize_entry("data_bytes", &sum.bytes)?;
        map.serialize_entry("types", &kinds("type", &by_kind))?;
        map.serialize_entry("memory", &memory::json(&sum, KvCache::of_gguf(header)))?;
        map.serialize_entry("metadata", &Pairs(header))?;
        if !self.there.is_empty() {
            map.serialize_entry("shards", &self.there.json())?;
        }
        map.serialize_entry("tensors", &Tensors { label: "type", tensors })?;
        map.end()
    }
}

/// All pairs, with their types.
pub(crate) struct Pairs<'a>(pub(crate) &'a Header<'a>);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.pairs().map(Entry))
    }
}

/// One pair.
pub(crate) struct Entry<'a>(pub(crate) Pair<'a>);

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0.value();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("key", self.0.key())?;
        map.serialize_entry("type", value.kind().name())?;
        if let Value::Array(array) = value {
            map.serialize_entry("element_type", array.kind().name())?;
            map.serialize_entry("value", &Elements(array))?;
        } else {
            map.serialize_entry("value", &Scalar(value))?;
        }
        map.end()
    }
}

struct Elements<'a>(Array<'a>);

impl Serialize for Elements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Scalar))
    }
}

/// A value that is no array. JSON has no NaN and no infinity: they are strings.
struct Scalar<'a>(Value<'a>);

impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::U8(value) => serializer.serialize_u8(value),
            Value::I8(value) => serializer.serialize_i8(value),
            Value::U16(value) => serializer.serialize_u16(value),
            Value::I16(value) => serializer.serialize_i16(value),
            Value::U32(value) => serializer.serialize_u32(value),
            Value::I32(value) => serializer.serialize_i32(value),
            Value::U64(value) => serializer.serialize_u64(value),
            Value::I64(value) => serializer.serialize_i64(value),
            Value::F32(value) if value.is_finite() => serializer.serialize_f32(value),
            Value::F32(value) => serializer.collect_str(&value),
            Value::F64(value) if value.is_finite() => serializer.serialize_f64(value),
            Value::F64(value) => serializer.collect_str(&value),
            Value::Bool(value) => serializer.serialize_bool(value),
            Value::String(value) => match value.as_str() {
                Ok(text) => serializer.serialize_str(text),
                Err(_) => serializer.collect_str(&value),
            },
            Value::Array(array) => Elements(array).serialize(serializer),
        }
    }
}
