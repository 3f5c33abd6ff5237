//! The header's text, spelt as the reference writer spells it (compact `serde_json`).

use super::{Item, Pair};
use crate::Sink;
pub(super) use crate::json::write::{integer, string};

/// The whole JSON text, not padded. Offsets run on from item to item; their sum was proved to fit.
pub(super) fn header<S: Sink>(
    out: &mut S,
    metadata: Option<&[Pair<'_>]>,
    items: &[Item<'_>],
) -> Result<(), S::Error> {
    let mut between: &[u8] = b"{";
    if let Some(pairs) = metadata {
        out.write_all(b"{\"__metadata__\":{")?;
        object(out, pairs)?;
        between = b",";
    }
    let mut begin = 0_u64;
    for item in items {
        out.write_all(between)?;
        let end = begin.saturating_add(item.len);
        entry(out, item, begin, end)?;
        begin = end;
        between = b",";
    }
    // With nothing before it, the object is still to be opened.
    out.write_all(if between == b"{" { b"{}" } else { b"}" })
}

/// The metadata's pairs and the closing bracket.
fn object<S: Sink>(out: &mut S, pairs: &[Pair<'_>]) -> Result<(), S::Error> {
    let mut between: &[u8] = b"";
    for pair in pairs {
        out.write_all(between)?;
        string(out, pair.key)?;
        out.write_all(b":")?;
        string(out, pair.value)?;
        between = b",";
    }
    out.write_all(b"}")
}

/// One tensor's member.
fn entry<S: Sink>(out: &mut S, item: &Item<'_>, begin: u64, end: u64) -> Result<(), S::Error> {
    string(out, item.spec.name())?;
    out.write_all(b":{\"dtype\":\"")?;
    out.write_all(item.spec.dtype().tag().as_bytes())?;
    out.write_all(b"\",\"shape\":[")?;
    let mut between: &[u8] = b"";
    for dim in item.spec.dims() {
        out.write_all(between)?;
        integer(out, dim)?;
        between = b",";
    }
    out.write_all(b"],\"data_offsets\":[")?;
    integer(out, begin)?;
    out.write_all(b",")?;
    integer(out, end)?;
    out.write_all(b"]}")
}
