//! What a sharded index says, and the shards that lie beside it.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use tensorgate::shards::IndexEntry;
use tensorgate::{Dtype, ShardIndex};

use super::human::{NAME, VALUE, cut, eye, findings, heading, modules, total};
use super::json::{Labelled, kinds, report as report_entries};
use super::memory::{self, KvCache};
use super::shards::Shards;
use super::tensor::Tensor;
use super::totals::totals;
use crate::args::Inspect;
use crate::judge::Beside;
use crate::output;
use crate::report::Report;
use crate::text;

/// Shards with their tensors, metadata and totals; of the shards that are there what is said of any file.
pub(super) fn human(
    out: &mut impl Write,
    report: &Report,
    index: &ShardIndex<'_>,
    shards: &[Beside],
    there: &Shards,
    args: &Inspect,
) -> io::Result<()> {
    let all = args.all;
    let (sum, by_dtype) = totals(there.tensors(), Dtype::ALL.iter().map(|dtype| dtype.tag()));
    heading(out, report, "sharded index")?;
    writeln!(out, "tensors     {}", index.len())?;
    if let Some(size) = index.total_size() {
        writeln!(out, "total_size  {}", text::size(size))?;
    }
    if !there.is_empty() {
        writeln!(out, "total       {}", total(&sum))?;
        for (dtype, totals) in &by_dtype {
            writeln!(out, "{dtype:<12}{}", total(totals))?;
        }
        memory::print(out, &sum, KvCache::beside(&report.path))?;
    }
    match index.metadata() {
        None => writeln!(out, "metadata    none")?,
        Some(metadata) => {
            let count = metadata.iter().fold(0_u64, |count, _| count.saturating_add(1));
            writeln!(out, "metadata    {}", text::count(count, "key"))?;
            for (key, value) in metadata {
                writeln!(out, "  {}: {}", cut(&key.to_cow(), NAME, all), cut(value, VALUE, all))?;
            }
        }
    }
    findings(out, report)?;
    // Without a folder to look into, nothing is known but the names.
    if shards.is_empty() {
        writeln!(out, "shards      {}", index.shards().len())?;
        for shard in index.shards() {
            let tensors = u64::try_from(shard.len()).unwrap_or(u64::MAX);
            writeln!(out, "  {}  {}", cut(&shard.name().to_cow(), NAME, all), text::count(tensors, "tensor"))?;
        }
        return Ok(());
    }
    let sound: Vec<u64> = shards.iter().filter_map(|shard| shard.bytes).collect();
    let bytes = sound.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    writeln!(out, "shards      {}, {} there with {}", shards.len(), sound.len(), text::size(bytes))?;
    for shard in shards {
        let size = shard.bytes.map_or_else(|| "not there".to_owned(), text::size);
        let tensors = text::count(shard.tensors, "tensor");
        writeln!(out, "  {}  {tensors}, {size}", cut(&shard.name, NAME, all))?;
    }
    if there.is_empty() {
        return Ok(());
    }
    eye(out, args, || there.tensors(), None, &by_dtype, &sum)?;
    modules(out, there.tensors(), args)
}

/// One document: the report of `check`, and what the index says.
pub(super) fn json(
    out: &mut impl Write,
    report: &Report,
    index: &ShardIndex<'_>,
    shards: &[Beside],
    there: &Shards,
) -> io::Result<()> {
    output::json(out, &Document { report, index, shards, there })?;
    out.write_all(b"\n")
}

struct Document<'a> {
    report: &'a Report,
    index: &'a ShardIndex<'a>,
    shards: &'a [Beside],
    there: &'a Shards,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = self.index;
        let shards: Vec<_> = index
            .shards()
            .enumerate()
            .map(|(place, shard)| {
                // They are in the same order, if there are any.
                let bytes = self.shards.get(place).and_then(|beside| beside.bytes);
                json!({"name": shard.name().to_cow(), "tensors": shard.len(), "bytes": bytes})
            })
            .collect();
        let metadata = index.metadata().map(Metadata);
        let mut map = serializer.serialize_map(None)?;
        report_entries(&mut map, self.report)?;
        map.serialize_entry("total_size", &index.total_size())?;
        if !self.there.is_empty() {
            let (sum, by_dtype) = totals(self.there.tensors(), Dtype::ALL.iter().map(|dtype| dtype.tag()));
            map.serialize_entry("parameters", &sum.parameters)?;
            map.serialize_entry("data_bytes", &sum.bytes)?;
            map.serialize_entry("dtypes", &kinds("dtype", &by_dtype))?;
            map.serialize_entry("memory", &memory::json(&sum, KvCache::beside(&self.report.path)))?;
        }
        map.serialize_entry("metadata", &metadata)?;
        map.serialize_entry("shards", &shards)?;
        map.serialize_entry("tensors", &Tensors { index, known: self.there.by_name() })?;
        map.end()
    }
}

struct Metadata<'a>(tensorgate::shards::IndexMetadata<'a>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The values' own JSON text, as strings: numbers in it stay as they were written.
        serializer.collect_map(self.0.iter().map(|(key, value)| (key.to_cow(), value)))
    }
}

struct Tensors<'a> {
    index: &'a ShardIndex<'a>,
    known: HashMap<&'a str, Tensor<'a>>,
}

impl Serialize for Tensors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.index.in_file_order().map(|entry| Entry { entry, known: &self.known }))
    }
}

struct Entry<'a> {
    entry: IndexEntry<'a>,
    known: &'a HashMap<&'a str, Tensor<'a>>,
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.entry.name().to_cow();
        if let Some(tensor) = self.known.get(&*name) {
            return Labelled { label: "dtype", tensor: *tensor }.serialize(serializer);
        }
        // Its shard is not there.
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &name)?;
        map.serialize_entry("shard", &self.entry.shard().to_cow())?;
        map.end()
    }
}
