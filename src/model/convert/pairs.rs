//! What becomes of the metadata.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet, TryReserveError};
use std::string::{String, ToString};
use std::vec::Vec;

use super::{Conversion, Output};
use crate::gguf::{GgmlType, PairSpec, Value, WriteValue};
use crate::model::{ElementType, Format, MetadataValue, Model};
use crate::{Limits, num};

/// Keys of a GGUF file that are about how it is laid out, and that the writer says itself.
const LAYOUT: [&str; 4] = [ALIGNMENT, "split.no", "split.count", "split.tensors.count"];

const ALIGNMENT: &str = "general.alignment";
const FILE_TYPE: &str = "general.file_type";

/// The alignment of a GGUF file that was made of this one.
pub(super) fn alignment(conversion: &Conversion<'_>, model: &Model) -> Option<u32> {
    conversion.alignment.or_else(|| Some(model.files().first()?.gguf()?.alignment()))
}

/// The type of most tensors, as `general.file_type` has it (llama.cpp's `llama_ftype`), where all that are not F32 are of
/// one plain type.
fn file_type(elements: impl Iterator<Item = ElementType>) -> Option<u32> {
    let kinds: HashSet<GgmlType> =
        elements.filter_map(ElementType::ggml).filter(|kind| *kind != GgmlType::F32).collect();
    let mut kinds = kinds.into_iter();
    match (kinds.next(), kinds.next()) {
        (None, _) => Some(0),
        (Some(GgmlType::F16), None) => Some(1),
        (Some(GgmlType::Q4_0), None) => Some(2),
        (Some(GgmlType::Q4_1), None) => Some(3),
        (Some(GgmlType::Q8_0), None) => Some(7),
        (Some(GgmlType::Q5_0), None) => Some(8),
        (Some(GgmlType::Q5_1), None) => Some(9),
        (Some(GgmlType::Q6_K), None) => Some(18),
        (Some(GgmlType::BF16), None) => Some(32),
        _ => None,
    }
}

/// The pairs of a GGUF file and the keys that it cannot have. Texts that are escaped in their file are in `texts`.
pub(super) struct Pairs<'p> {
    pub(super) pairs: Vec<PairSpec<'p>>,
    pub(super) dropped: Vec<String>,
}

/// A key and its value, decoded.
pub(super) type Text<'m> = (Cow<'m, str>, Cow<'m, str>);

/// The texts of a safetensors file's metadata.
pub(super) fn decoded(model: &Model) -> Result<Vec<Text<'_>>, TryReserveError> {
    let metadata = model.metadata();
    let mut texts = Vec::new();
    for (key, value) in metadata.iter() {
        if let MetadataValue::Text(text) = value {
            texts.try_reserve(1)?;
            texts.push((key.to_cow(), text.to_cow()));
        }
    }
    Ok(texts)
}

/// The pairs of the new GGUF file: the caller's whose keys the source has not, then the source's, with the caller's in the
/// place of those of the same key.
pub(super) fn for_gguf<'p>(
    conversion: &Conversion<'p>,
    model: &'p Model,
    texts: &'p [Text<'p>],
    outputs: &[Output],
) -> Result<Pairs<'p>, TryReserveError> {
    let given: HashMap<Cow<'_, str>, PairSpec<'p>> =
        conversion.pairs.iter().map(|pair| (pair.key().to_cow(), *pair)).collect();
    let header = model.files().first().and_then(crate::model::ModelFile::gguf);
    let has = |key: &PairSpec<'_>| header.as_ref().is_some_and(|header| header.get(&key.key().to_cow()).is_some());
    let first = conversion.pairs.iter().filter(|pair| !has(pair)).copied();
    let of_file = header.as_ref().map_or(0, crate::gguf::Header::pair_count);
    let mut pairs = Pairs { pairs: Vec::new(), dropped: Vec::new() };
    pairs.pairs.try_reserve(conversion.pairs.len().saturating_add(of_file).saturating_add(texts.len()))?;
    pairs.dropped.try_reserve(texts.len())?;
    pairs.pairs.extend(first);
    let same = outputs.iter().all(|output| output.element().ggml() == output.source().element().ggml());
    if let Some(header) = &header {
        for pair in header.pairs() {
            match pair.key() {
                key if given.contains_key(key) => pairs.pairs.extend(given.get(key).copied()),
                // Where it stood, so that a file of which nothing changes stays the same.
                ALIGNMENT => {
                    pairs.pairs.extend(alignment(conversion, model).map(|number| PairSpec::new(ALIGNMENT, number)));
                }
                key if LAYOUT.contains(&key) => {}
                // Where the mixture has no number it is left out, as a wrong one would mislead.
                FILE_TYPE if !same => {
                    let number = file_type(outputs.iter().map(Output::element));
                    pairs.pairs.extend(number.map(|number| PairSpec::new(FILE_TYPE, number)));
                }
                _ => pairs.pairs.push(PairSpec::from(pair)),
            }
        }
    }
    let architecture = texts.iter().find(|(key, _)| key == "general.architecture").map(|(_, value)| value.as_ref());
    for (key, value) in texts {
        let possible = !key.is_empty()
            && num::widen(key.len()) <= Limits::DEFAULT.key_len()
            && key.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if !possible {
            pairs.dropped.push(key.to_string());
        } else if key == FILE_TYPE {
            let number = file_type(outputs.iter().map(Output::element)).filter(|_| !given.contains_key(key));
            pairs.pairs.extend(number.map(|number| PairSpec::new(FILE_TYPE, number)));
        } else if !LAYOUT.contains(&key.as_ref()) && !given.contains_key(key) {
            pairs.pairs.push(PairSpec::new(key.as_ref(), typed(architecture, key, value)));
        }
    }
    Ok(pairs)
}

/// The value of a key that GGUF knows as a number or a bool and that was made text for safetensors; other texts stay texts.
/// Readers of GGUF refuse a number that is spelt out.
fn typed<'v>(architecture: Option<&str>, key: &str, value: &'v str) -> WriteValue<'v> {
    let of_architecture =
        || architecture.is_some_and(|name| key.strip_prefix(name).is_some_and(|k| k.starts_with('.')));
    if key != "general.quantization_version" && !key.starts_with("tokenizer.ggml.") && !of_architecture() {
        return value.into();
    }
    let bool = value.parse::<bool>().map(WriteValue::from);
    let number = || value.parse::<u32>().map(WriteValue::from);
    let signed = || value.parse::<i32>().map(WriteValue::from);
    let fraction = || value.parse::<f32>().map(WriteValue::from);
    bool.or_else(|_| number()).or_else(|_| signed()).or_else(|_| fraction()).unwrap_or_else(|_| value.into())
}

/// The metadata of the new safetensors file, and the keys that it cannot have: arrays.
pub(super) fn for_safetensors(model: &Model) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut texts, mut dropped) = (BTreeMap::new(), Vec::new());
    for (key, value) in model.metadata().iter() {
        let key = key.to_cow().into_owned();
        let text = match value {
            MetadataValue::Text(text) => Some(text.to_cow().into_owned()),
            MetadataValue::Gguf(_) if LAYOUT.contains(&key.as_str()) => continue,
            MetadataValue::Gguf(value) => scalar(&value),
            // An index says how large its shards are, which is not so any more.
            MetadataValue::Json(_) => continue,
        };
        match text {
            Some(text) => {
                texts.insert(key, text);
            }
            None => dropped.push(key),
        }
    }
    if model.format() == Format::Gguf {
        // Transformers refuses a file that does not say by which framework it is to be read.
        texts.entry(String::from("format")).or_insert_with(|| String::from("pt"));
    }
    (texts, dropped)
}

/// A value that is no array, as text.
fn scalar(value: &Value<'_>) -> Option<String> {
    // The shortest digits that are this value again.
    if let Value::F32(value) = value {
        return Some(value.to_string());
    }
    match value.str() {
        Ok(text) => Some(text.to_string()),
        Err(_) if value.array().is_ok() => None,
        Err(_) => value
            .bool()
            .map(|value| value.to_string())
            .or_else(|_| value.u64().map(|value| value.to_string()))
            .or_else(|_| value.i64().map(|value| value.to_string()))
            .or_else(|_| value.f64().map(|value| value.to_string()))
            .ok(),
    }
}
