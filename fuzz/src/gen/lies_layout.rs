//! Lies of the frame, of sizes, of the data's layout, and over the caller's limits.

use arbitrary::{Result, Unstructured};
use tensorgate::{ErrorKind, Limits};

use super::lies::{Lie, Told, draft, pick};
use super::model::{Metadata, layout};
use super::render::Built;
use super::tokens::{Field, Level, Role, Tokens};

/// Fewer bytes than the header length takes.
pub(super) fn too_short(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let len = u.int_in_range(0..=7)?;
    Ok(Some((built.file()[..len].to_vec(), ErrorKind::StTooShort, len as u64)))
}

/// The file with another header length.
fn declared(built: &Built, len: u64) -> Vec<u8> {
    let mut file = built.file();
    file[..8].copy_from_slice(&len.to_le_bytes());
    file
}

/// A header longer than the limit.
pub(super) fn header_limit(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let len = u.int_in_range(Limits::DEFAULT.header_len() + 1..=u64::MAX)?;
    Ok(Some((declared(built, len), ErrorKind::StHeaderLimit, 0)))
}

/// A header longer than the file.
pub(super) fn header_past_end(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let there = built.file().len() as u64 - 8;
    let len = if u.arbitrary()? { there + 1 } else { u.int_in_range(there + 1..=Limits::DEFAULT.header_len())? };
    Ok(Some((declared(built, len), ErrorKind::StHeaderPastEnd, 0)))
}

/// A tensor of the file's.
fn tensor(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<usize>> {
    pick(u, &(0..built.model.tensors.len()).collect::<Vec<_>>())
}

/// A shape of more bits than fit, told at the shape.
pub(super) fn size_overflow(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    // Every dtype has four bits or more, so 2^62 elements are too many for any.
    let shapes =
        ["[4611686018427387904]", "[18446744073709551615]", "[4294967296,4294967296]", "[2,9223372036854775808,0]"];
    let at = tokens.replace(built.tokens.value(index, Field::Shape), u.choose(&shapes)?.as_bytes());
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StSizeOverflow, at)))
}

/// A shape that takes part of a byte, told at the shape.
pub(super) fn part_of_a_byte(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let mut tokens = draft(built);
    let (tag, shapes): (&str, &[&str]) = *u.choose(&[
        ("\"F4\"", &["[]", "[1]", "[3,5]", "[7]"][..]),
        ("\"F6_E2M3\"", &["[]", "[2]", "[3,2]"]),
        ("\"F6_E3M2\"", &["[1]", "[6]", "[9,1]"]),
    ])?;
    let shape = u.choose(shapes)?;
    tokens.replace(tokens.value(index, Field::Dtype), tag.as_bytes());
    let at = tokens.replace(tokens.value(index, Field::Shape), shape.as_bytes());
    Ok(Some((tokens.file(&built.model.data), ErrorKind::StSizeBits, at)))
}

/// Other offsets for a tensor.
fn offsets(built: &Built, index: usize, begin: u64, end: u64, kind: ErrorKind) -> (Vec<u8>, ErrorKind, u64) {
    let mut tokens = draft(built);
    let value = built.tokens.value(index, Field::Offsets);
    let at = tokens.replace(value, format!("[{begin},{end}]").as_bytes());
    (tokens.file(&built.model.data), kind, at)
}

/// Offsets that end before they begin.
pub(super) fn reversed(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let tensor = &built.model.tensors[index];
    let begin = if tensor.begin < tensor.end { tensor.end } else { tensor.end + 1 };
    let begin = if u.arbitrary()? { begin } else { u.int_in_range(begin..=u64::MAX)? };
    Ok(Some(offsets(built, index, begin, tensor.begin.min(begin - 1), ErrorKind::StOffsetsReversed)))
}

/// Offsets that span another number of bytes than the shape needs.
pub(super) fn mismatch(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u)? else { return Ok(None) };
    let tensor = &built.model.tensors[index];
    let longer = u.arbitrary()?;
    let end = if longer || tensor.end == tensor.begin {
        u.int_in_range(tensor.end + 1..=u64::MAX)?
    } else {
        u.int_in_range(tensor.begin..=tensor.end - 1)?
    };
    Ok(Some(offsets(built, index, tensor.begin, end, ErrorKind::StSizeMismatch)))
}

/// The offsets of the value of `data_offsets` of every tensor.
fn offsets_at(tokens: &Tokens, count: usize) -> Vec<u64> {
    (0..count)
        .map(|index| {
            let value = tokens.all(|token| token.tensor == Some(index) && token.field == Some(Field::Offsets));
            let first = value.into_iter().find(|place| tokens.0[*place].role == Role::ArrayOpen);
            tokens.at(first.expect("every entry has offsets"))
        })
        .collect()
}

/// What a layout is, found the slow way: the first tensor, in the order of the data, that does not begin where the one
/// before ended, or where the file cuts the data.
fn verdict(extents: &[(u64, u64)], places: &[u64], data_len: u64) -> Option<(ErrorKind, usize)> {
    debug_assert_eq!(extents.len(), places.len());
    let order = layout(extents);
    let mut covered = 0;
    for index in &order {
        let (begin, end) = extents[*index];
        if begin != covered {
            return Some((if begin > covered { ErrorKind::StGap } else { ErrorKind::StOverlap }, *index));
        }
        covered = end;
    }
    let short = order.iter().find(|index| extents[**index].1 > data_len);
    short.map(|index| (ErrorKind::StDataShort, *index))
}

/// Some tensors moved in the data, each with its size.
pub(super) fn moved(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut extents: Vec<(u64, u64)> =
        built.model.tensors.iter().map(|tensor| (tensor.begin, tensor.end)).collect();
    let before = extents.clone();
    if extents.is_empty() {
        return Ok(None);
    }
    let order = layout(&extents);
    let first = u.choose_index(order.len())?;
    let last = if u.arbitrary()? { first + 1 } else { order.len() };
    let by = i64::from(u.int_in_range(-40..=40_i8)?);
    for index in &order[first..last] {
        let (begin, end) = extents[*index];
        let Some(moved) = begin.checked_add_signed(by) else { return Ok(None) };
        extents[*index] = (moved, moved + (end - begin));
    }
    let mut tokens = draft(built);
    for (index, (begin, end)) in extents.iter().enumerate() {
        if before[index] != (*begin, *end) {
            let ints = tokens.all(|token| {
                token.tensor == Some(index) && token.field == Some(Field::Offsets) && token.role == Role::Int
            });
            tokens.0[ints[0]].bytes = begin.to_string().into_bytes();
            tokens.0[ints[1]].bytes = end.to_string().into_bytes();
        }
    }
    let places = offsets_at(&tokens, extents.len());
    let data_len = built.model.data.len() as u64;
    let told = verdict(&extents, &places, data_len);
    // A tensor of no bytes that moved to another border is no lie; data that is left over is told elsewhere.
    Ok(told.map(|(kind, index)| (tokens.file(&built.model.data), kind, places[index])))
}

/// The file ends inside the data.
pub(super) fn data_short(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(most) = built.model.data.len().checked_sub(1) else { return Ok(None) };
    let left = u.int_in_range(0..=most)?;
    let extents: Vec<(u64, u64)> = built.model.tensors.iter().map(|tensor| (tensor.begin, tensor.end)).collect();
    let places = offsets_at(&built.tokens, extents.len());
    let told = verdict(&extents, &places, left as u64);
    Ok(told.map(|(kind, index)| (built.tokens.file(&built.model.data[..left]), kind, places[index])))
}

/// The file goes on behind the data.
pub(super) fn data_trailing(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut file = built.file();
    let at = file.len() as u64;
    file.resize(file.len() + u.int_in_range(1..=300)?, u.arbitrary()?);
    Ok(Some((file, ErrorKind::StDataTrailing, at)))
}

/// The first in the file's order of `counts` that is over `limit`, with the tokens it counts.
fn first_over(counts: &[(usize, u64)], limit: u64) -> Option<usize> {
    counts.iter().find(|(_, count)| *count > limit).map(|(place, _)| *place)
}

/// A valid file under limits that it passes by one.
pub(super) fn over_a_limit(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<Lie>> {
    let tokens = &built.tokens;
    let keys = tokens.all(|token| token.role == Role::Key(Level::Header) && token.tensor.is_some());
    let names: Vec<(usize, u64)> = keys.iter().map(|key| (*key, tokens.0[*key].bytes.len() as u64 - 2)).collect();
    let all = Limits::DEFAULT;
    let which = u.int_in_range(0..=4)?;
    let told = match which {
        0 => (tokens.text().len() as u64)
            .checked_sub(1)
            .map(|most| (all.with_header_len(most), ErrorKind::StHeaderLimit, 0)),
        1 => (keys.len() as u64)
            .checked_sub(1)
            .map(|most| (all.with_tensors(most), ErrorKind::StTensorLimit, tokens.at(keys[keys.len() - 1]))),
        2 => names.iter().map(|name| name.1).max().and_then(|most| most.checked_sub(1)).and_then(|most| {
            Some((all.with_name_len(most), ErrorKind::StNameLimit, tokens.at(first_over(&names, most)?)))
        }),
        3 => over_rank(built).map(|(most, at)| (all.with_rank(most), ErrorKind::StRankLimit, at)),
        _ => match &built.model.metadata {
            Metadata::Map(pairs) if !pairs.is_empty() => {
                let keys = tokens.all(|token| token.role == Role::Key(Level::Metadata));
                let most = pairs.len() as u64 - 1;
                Some((all.with_metadata_keys(most), ErrorKind::StMetadataLimit, tokens.at(keys[keys.len() - 1])))
            }
            _ => None,
        },
    };
    Ok(told.map(|(limits, kind, at)| Lie { name: "over a limit", file: built.file(), limits, kind, at }))
}

/// One less than the highest rank, and where the first dimension over that stands.
fn over_rank(built: &Built) -> Option<(u64, u64)> {
    let tensors = &built.model.tensors;
    let most = tensors.iter().map(|tensor| tensor.shape.len()).max()?.checked_sub(1)?;
    let index = tensors.iter().position(|tensor| tensor.shape.len() > most)?;
    let dims = built
        .tokens
        .all(|token| token.tensor == Some(index) && token.field == Some(Field::Shape) && token.role == Role::Int);
    Some((most as u64, built.tokens.at(dims[most])))
}
