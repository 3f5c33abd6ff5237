//! A valid index, and one limit that is just too low for it.

use std::collections::BTreeSet;

use arbitrary::{Result, Unstructured};
use tensorgate::{ErrorKind, Limits};

use super::super::index::{Built, Metadata, at};
use super::super::lies::{Lie, pick};
use super::super::tokens::Role;

/// The index as it is, judged under a limit that is one too low.
pub(super) fn over_a_limit(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<Lie>> {
    let file = built.text();
    let told = match u.int_in_range(0..=5)? {
        0 => Some((Limits::DEFAULT.with_index_len(file.len() as u64 - 1), ErrorKind::IxLengthLimit, 0)),
        1 => tensors(built, u)?,
        2 => names(built, u)?,
        3 => shards(built, u)?,
        4 => metadata(built),
        _ => depth(built, u)?,
    };
    Ok(told.map(|(limits, kind, at)| Lie { name: "over a limit", file, limits, kind, at }))
}

type Limited = Option<(Limits, ErrorKind, u64)>;

/// The first tensor over the limit is told.
fn tensors(built: &Built, u: &mut Unstructured<'_>) -> Result<Limited> {
    let Some(most) = pick(u, &(0..built.model.map.len()).collect::<Vec<_>>())? else { return Ok(None) };
    let found = at(&built.tokens, built.entry(most).0);
    Ok(Some((Limits::DEFAULT.with_tensors(most as u64), ErrorKind::IxTensorLimit, found)))
}

/// The first name that is longer as it stands in the file.
fn names(built: &Built, u: &mut Unstructured<'_>) -> Result<Limited> {
    let lens: Vec<usize> =
        (0..built.model.map.len()).map(|index| built.tokens.0[built.entry(index).0].bytes.len() - 2).collect();
    let Some(most) = pick(u, &lens.iter().copied().filter(|len| *len > 0).collect::<Vec<_>>())? else {
        return Ok(None);
    };
    let first = lens.iter().position(|len| *len >= most).expect("one is as long");
    let found = at(&built.tokens, built.entry(first).0);
    Ok(Some((Limits::DEFAULT.with_name_len(most as u64 - 1), ErrorKind::IxNameLimit, found)))
}

/// The shards in the order of their names: one too many is told where its first tensor, by name, is put into it.
fn shards(built: &Built, u: &mut Unstructured<'_>) -> Result<Limited> {
    let all: BTreeSet<&String> = built.model.map.iter().map(|(_, shard)| shard).collect();
    let Some(most) = pick(u, &(0..all.len()).collect::<Vec<_>>())? else { return Ok(None) };
    let one_too_many = all.iter().nth(most).expect("below the count");
    let mut own: Vec<usize> =
        (0..built.model.map.len()).filter(|index| built.model.map[*index].1 == **one_too_many).collect();
    own.sort_by_key(|index| &built.model.map[*index].0);
    let found = at(&built.tokens, built.entry(own[0]).1);
    Ok(Some((Limits::DEFAULT.with_shards(most as u64), ErrorKind::IxShardLimit, found)))
}

/// The metadata's object, from brace to brace.
fn metadata(built: &Built) -> Limited {
    let (Metadata::Map(_), Some(range)) = (&built.model.metadata, built.metadata.clone()) else { return None };
    let begin = at(&built.tokens, range.start);
    let len = at(&built.tokens, range.end) - begin;
    Some((Limits::DEFAULT.with_index_metadata_len(len - 1), ErrorKind::IxMetadataLimit, begin))
}

/// The first array or object that is one level too deep; the metadata's own object is none of them.
fn depth(built: &Built, u: &mut Unstructured<'_>) -> Result<Limited> {
    let Metadata::Map(_) = built.model.metadata else { return Ok(None) };
    let mut depth = 0_usize;
    let mut opened = Vec::new();
    for index in built.metadata.clone().unwrap_or_default().skip(1) {
        match built.tokens.0[index].role {
            Role::Open(_) | Role::ArrayOpen => {
                depth += 1;
                opened.push((depth, index));
            }
            Role::Close(_) | Role::ArrayClose => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let depths: Vec<usize> = opened.iter().map(|(depth, _)| *depth).collect();
    let Some(most) = pick(u, &depths)? else { return Ok(None) };
    let (_, first) = *opened.iter().find(|(depth, _)| *depth == most).expect("one is as deep");
    let limits = Limits::DEFAULT.with_index_metadata_depth(most as u64 - 1);
    Ok(Some((limits, ErrorKind::IxDepthLimit, at(&built.tokens, first))))
}
