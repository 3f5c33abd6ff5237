//! Files that are right, under a limit that they pass.

use super::{Built, ErrorKind, Field, Lie, Limits, Result, Unstructured, Value, one};

/// A file that is right, under a limit that it passes.
pub(super) fn over_a_limit(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<Lie>> {
    let limits = Limits::DEFAULT;
    let lens = |select: fn(&Value) -> Vec<u64>| -> Vec<Vec<u64>> {
        built.model.pairs.iter().map(|(_, value)| select(value)).collect()
    };
    let (pairs, tensors) = (built.model.pairs.len() as u64, built.model.tensors.len() as u64);
    let told = match u.int_in_range(0..=7)? {
        0 if built.head_len > 24 => {
            let limit = u.int_in_range(0..=built.head_len - 1)?;
            let at = metadata_cut(built, limit);
            Some((limits.with_metadata_len(limit), ErrorKind::GgMetadataLimit, at))
        }
        1 if pairs > 0 => Some((limits.with_metadata_keys(pairs - 1), ErrorKind::GgPairLimit, 16)),
        2 if tensors > 0 => Some((limits.with_tensors(tensors - 1), ErrorKind::GgTensorLimit, 8)),
        3 => over(
            built.model.pairs.iter().zip(&built.pairs).map(|((key, _), place)| (key.len() as u64, place.len)),
            u,
        )?
        .map(|(limit, at)| (limits.with_key_len(limit), ErrorKind::GgKeyLimit, at)),
        4 => {
            let texts = lens(|value| match value {
                Value::Text(text) => vec![text.len() as u64],
                Value::Texts(texts) => texts.iter().map(|text| text.len() as u64).collect(),
                _ => Vec::new(),
            });
            let places = built.pairs.iter().zip(&texts).flat_map(|(place, texts)| {
                let own = if place.elements.is_empty() { vec![place.value] } else { place.elements.clone() };
                texts.iter().copied().zip(own).collect::<Vec<_>>()
            });
            over(places, u)?.map(|(limit, at)| (limits.with_string_len(limit), ErrorKind::GgStringLimit, at))
        }
        5 => {
            let counts = lens(|value| match value {
                Value::Numbers(_, elements) => vec![elements.len() as u64],
                Value::Texts(texts) => vec![texts.len() as u64],
                _ => Vec::new(),
            });
            let places = built
                .pairs
                .iter()
                .zip(&counts)
                .flat_map(|(place, counts)| counts.iter().map(|n| (*n, place.value + 4)));
            over(places, u)?.map(|(limit, at)| (limits.with_array_len(limit), ErrorKind::GgArrayLimit, at))
        }
        6 => over(
            built.model.tensors.iter().zip(&built.infos).map(|(t, place)| (t.name.len() as u64, place.len)),
            u,
        )?
        .map(|(limit, at)| (limits.with_gguf_name_len(limit), ErrorKind::GgNameLimit, at)),
        _ => over(
            built.model.tensors.iter().zip(&built.infos).map(|(t, place)| (t.dims.len() as u64, place.rank)),
            u,
        )?
        .map(|(limit, at)| (limits.with_gguf_rank(limit), ErrorKind::GgRankLimit, at)),
    };
    Ok(told.map(|(limits, kind, at)| Lie { name: "over a limit", file: built.file.clone(), limits, kind, at }))
}

/// The claim of the first field past `limit`. The least bytes of an array of strings are asked of the file only.
pub(super) fn metadata_cut(built: &Built, limit: u64) -> u64 {
    match limit {
        0..8 => return limit / 4 * 4,
        8..24 => return limit / 8 * 8,
        _ => {}
    }
    let strings: Vec<u64> = built
        .model
        .pairs
        .iter()
        .zip(&built.pairs)
        .filter(|((_, value), _)| matches!(value, Value::Texts(_)))
        .map(|(_, place)| place.value + 4)
        .collect();
    let counts = |field: &&Field| field.past_end != ErrorKind::GgArrayPastEnd || !strings.contains(&field.claim);
    let past = built.fields.iter().filter(counts).find(|field| field.at + field.len > limit);
    past.map_or(0, |field| field.claim)
}

/// A limit below one of these sizes, and where the first that passes it stands.
pub(super) fn over(
    mut places: impl Iterator<Item = (u64, u64)> + Clone,
    u: &mut Unstructured<'_>,
) -> Result<Option<(u64, u64)>> {
    let sizes: Vec<u64> = places.clone().map(|(size, _)| size).filter(|size| *size > 0).collect();
    let Some(choice) = one(u, sizes.len())? else { return Ok(None) };
    let limit = sizes[choice] - 1;
    Ok(places.find(|(size, _)| *size > limit).map(|(_, at)| (limit, at)))
}
