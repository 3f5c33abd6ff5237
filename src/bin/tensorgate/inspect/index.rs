//! What a sharded index says, and the shards that lie beside it.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use tensorgate::ShardIndex;
use tensorgate::shards::IndexEntry;

use super::human::{NAME, VALUE, cut, findings, heading};
use super::json::report as report_entries;
use crate::judge::Beside;
use crate::output;
use crate::report::Report;
use crate::text;

/// Shards with their tensors, metadata and totals.
pub(super) fn human(
    out: &mut impl Write,
    report: &Report,
    index: &ShardIndex<'_>,
    shards: &[Beside],
    all: bool,
) -> io::Result<()> {
    heading(out, report, "sharded index")?;
    writeln!(out, "tensors     {}", index.len())?;
    if let Some(size) = index.total_size() {
        writeln!(out, "total_size  {}", text::size(size))?;
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
    let there: Vec<u64> = shards.iter().filter_map(|shard| shard.bytes).collect();
    let bytes = there.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    writeln!(out, "shards      {}, {} there with {}", shards.len(), there.len(), text::size(bytes))?;
    for shard in shards {
        let size = shard.bytes.map_or_else(|| "not there".to_owned(), text::size);
        let tensors = text::count(shard.tensors, "tensor");
        writeln!(out, "  {}  {tensors}, {size}", cut(&shard.name, NAME, all))?;
    }
    Ok(())
}

/// One document: the report of `check`, and what the index says.
pub(super) fn json(
    out: &mut impl Write,
    report: &Report,
    index: &ShardIndex<'_>,
    shards: &[Beside],
) -> io::Result<()> {
    output::json(out, &Document { report, index, shards })?;
    out.write_all(b"\n")
}

struct Document<'a> {
    report: &'a Report,
    index: &'a ShardIndex<'a>,
    shards: &'a [Beside],
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
        map.serialize_entry("metadata", &metadata)?;
        map.serialize_entry("shards", &shards)?;
        map.serialize_entry("tensors", &Tensors(index))?;
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

struct Tensors<'a>(&'a ShardIndex<'a>);

impl Serialize for Tensors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.in_file_order().map(Entry))
    }
}

struct Entry<'a>(IndexEntry<'a>);

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.0.name().to_cow())?;
        map.serialize_entry("shard", &self.0.shard().to_cow())?;
        map.end()
    }
}
