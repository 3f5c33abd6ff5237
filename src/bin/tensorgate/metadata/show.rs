//! Showing metadata.

use std::io::{self, Write};

use serde_json::{Map, Value};
use tensorgate::gguf::Value as Pair;
use tensorgate::model::{MetadataValue, Model, ModelFile};

use super::Target;
use crate::inspect::{gguf, human};
use crate::{Exit, output, text};

/// All keys.
pub(super) fn list(model: &Model, all: bool, json: bool) -> io::Result<Exit> {
    let mut out = output::stdout();
    let Some(file) = model.files().first() else { return Ok(Exit::Accepted) };
    match (file.gguf(), file.safetensors(), json) {
        (Some(header), _, true) => output::json(&mut out, &gguf::json::Pairs(&header))?,
        (Some(header), _, false) => gguf::pairs(&mut out, &header, all)?,
        (None, Some(header), false) => human::metadata(&mut out, &header, all)?,
        (None, header, true) => {
            let pairs = header.and_then(|header| header.metadata()).into_iter().flatten();
            let pairs: Map<String, Value> =
                pairs.map(|(key, value)| (key.to_cow().into_owned(), value.to_cow().into_owned().into())).collect();
            output::json(&mut out, &pairs)?;
        }
        (None, None, false) => {}
    }
    if json {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(Exit::Accepted)
}

/// One value.
pub(super) fn get(target: &Target, key: &str, json: bool) -> io::Result<Exit> {
    let mut out = output::stdout();
    let header = target.model.files().first().and_then(ModelFile::gguf);
    let pair = header.as_ref().and_then(|header| header.pairs().find(|pair| pair.key() == key));
    match (target.model.metadata().get(key), pair) {
        (Some(_), Some(pair)) if json => output::json(&mut out, &gguf::json::Entry(pair))?,
        (Some(_), Some(pair)) => out.write_all(plain(&pair.value()).as_bytes())?,
        (Some(MetadataValue::Text(value)), _) if json => output::json(&mut out, &value.to_cow())?,
        (Some(MetadataValue::Text(value)), _) => out.write_all(text::ascii(&value.to_cow()).as_bytes())?,
        _ => {
            target.missing(key);
            return Ok(Exit::Rejected);
        }
    }
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(Exit::Accepted)
}

/// A value on one line, whole: a string escaped and without quotes.
fn plain(value: &Pair<'_>) -> String {
    match value {
        Pair::String(text) => match text.as_str() {
            Ok(text) => text::ascii(text),
            Err(_) => text.to_string(),
        },
        Pair::Array(array) => {
            let elements: Vec<String> =
                array.iter().map(|element| gguf::scalar(&element, usize::MAX, true)).collect();
            format!("[{}]", elements.join(", "))
        }
        value => gguf::scalar(value, usize::MAX, true),
    }
}

/// The key that was probably meant.
pub(super) fn near(model: &Model, wanted: &str) -> Option<String> {
    /// Longer keys are not compared, since that takes the product of the lengths.
    const MOST: usize = 128;
    let few = (wanted.len() / 4).clamp(1, 3);
    let keys: Vec<String> = model
        .metadata()
        .iter()
        .take(10_000)
        .map(|(key, _)| key.to_cow().into_owned())
        .filter(|key| !key.is_empty() && key.len() <= MOST)
        .collect();
    if wanted.is_empty() || wanted.len() > MOST {
        return None;
    }
    let close = keys.iter().map(|key| (strsim::damerau_levenshtein(key, wanted), key));
    let close = close.filter(|(distance, _)| *distance <= few).min().map(|(_, key)| key.clone());
    // The last part of a key, as in `name` for `general.name`.
    close.or_else(|| keys.into_iter().find(|key| key.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('.'))))
}

/// What became of the file, and of its length.
pub(super) fn done(path: &str, changed: bool, (before, after): (u64, u64)) -> io::Result<()> {
    let mut out = output::stdout();
    if !changed {
        writeln!(out, "{path}: nothing to change")?;
    } else if before == after {
        writeln!(out, "{path}: changed; the tensors stay where they were")?;
    } else {
        writeln!(out, "{path}: changed; {before} bytes before, {after} now")?;
    }
    out.flush()
}
