//! The metadata of two models of one format.

use std::collections::BTreeMap;

use tensorgate::gguf::Value;
use tensorgate::model::{MetadataValue, Model, Options as Opening};

use crate::judge::Options;
use crate::side::Side;
use crate::text;

/// Keys with a value, ready to be shown.
pub(super) type Entries = Vec<(String, String)>;

/// What differs.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) added: Entries,
    pub(super) removed: Entries,
    /// Key, value before, value after.
    pub(super) changed: Vec<(String, String, String)>,
}

impl Changes {
    pub(super) const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// Compares what the files say besides tensors. How a model is divided does not count: what only an index says, and the
/// keys of a split.
///
/// # Errors
///
/// A sentence where a model cannot be opened any more.
pub(super) fn changes(a: &Side, b: &Side, options: &Options) -> Result<Changes, String> {
    let opening = Opening::default().with_limits(options.limits);
    let open = |side: &Side| Model::open_with(&side.path, &opening).map_err(|error| error.to_string());
    let (a, b) = (open(a)?, open(b)?);
    let (mut a, b) = (entries(&a), entries(&b));
    let mut changes = Changes::default();
    for (key, after) in b {
        match a.remove(&key) {
            None => changes.added.push((key, shown(&after))),
            Some(before) if !is_same(&before, &after) => {
                changes.changed.push((key, shown(&before), shown(&after)));
            }
            Some(_) => {}
        }
    }
    changes.removed.extend(a.into_iter().map(|(key, value)| (key, shown(&value))));
    Ok(changes)
}

fn entries(model: &Model) -> BTreeMap<String, MetadataValue<'_>> {
    let mut entries = BTreeMap::new();
    for (key, value) in model.metadata().iter() {
        let key = key.to_cow().into_owned();
        let divides =
            matches!(value, MetadataValue::Json(_)) || value.gguf().is_some() && key.starts_with("split.");
        if !divides {
            entries.insert(key, value);
        }
    }
    entries
}

/// Floats are the same where their bits are: a NaN is itself.
fn is_same(a: &MetadataValue<'_>, b: &MetadataValue<'_>) -> bool {
    match (a.gguf(), b.gguf()) {
        (Some(Value::F32(a)), Some(Value::F32(b))) => a.to_bits() == b.to_bits(),
        (Some(Value::F64(a)), Some(Value::F64(b))) => a.to_bits() == b.to_bits(),
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            let float = |pair: (Value<'_>, Value<'_>)| match pair {
                (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits(),
                (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
                (a, b) => a == b,
            };
            a.kind() == b.kind() && a.len() == b.len() && a.iter().zip(b.iter()).all(float)
        }
        _ => a == b,
    }
}

/// Characters of a value that are shown.
const COLUMNS: usize = 60;

fn shown(value: &MetadataValue<'_>) -> String {
    let quoted = |value: &str| format!("\"{}\"", text::short(value, COLUMNS));
    match value {
        MetadataValue::Text(value) => quoted(&value.to_cow()),
        MetadataValue::Gguf(value) => match value {
            Value::String(value) => quoted(&String::from_utf8_lossy(value.bytes())),
            Value::Array(array) => format!("{} of {}", text::count(count(array.len()), "element"), array.kind()),
            Value::U8(number) => number.to_string(),
            Value::I8(number) => number.to_string(),
            Value::U16(number) => number.to_string(),
            Value::I16(number) => number.to_string(),
            Value::U32(number) => number.to_string(),
            Value::I32(number) => number.to_string(),
            Value::U64(number) => number.to_string(),
            Value::I64(number) => number.to_string(),
            Value::F32(number) => format!("{number:?}"),
            Value::F64(number) => format!("{number:?}"),
            Value::Bool(value) => value.to_string(),
        },
        other => format!("{other:?}"),
    }
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
