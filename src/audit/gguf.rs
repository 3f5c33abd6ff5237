//! The audit of a GGUF header that was accepted.

use alloc::vec::Vec;

use super::findings::{Finding, Tally};
use super::rules::Rule;
use super::{names, template};
use crate::gguf::{Array, Header, Pair, TensorInfo, Value, ValueType};
use crate::{Error, ErrorKind, Name, num};

/// Looks at an accepted header for what is odd in it: what readers stumble over, and what has been used to attack them.
/// At most one finding a rule, in the order of [`RULES`](super::RULES).
///
/// It looks at metadata and names, never at the tensors' data, and needs time in the length of the header.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::{Limits, audit, gguf::Header};
/// let file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// let header = Header::open(file, 24, &Limits::default())?;
/// let findings = audit::gguf(&header)?;
/// assert_eq!(findings[0].code(), "GG-NOTE-NO-ARCHITECTURE");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ErrorKind::StorageTooSmall`] when memory ran out: it takes a few kilobytes.
pub fn gguf<'a>(header: &Header<'a>) -> Result<Vec<Finding<'a>>, Error> {
    let mut tally = Tally::new(header.data().start())?;
    relaxed(&mut tally, header);
    frame(&mut tally, header);
    for pair in header.pairs() {
        key(&mut tally, &pair);
        value(&mut tally, &pair);
        text(&mut tally, &pair);
    }
    tokenizer(&mut tally, header);
    alignment(&mut tally, header);
    split(&mut tally, header);
    for info in header.tensors() {
        tensor(&mut tally, &info);
    }
    Ok(tally.finish())
}

fn relaxed(tally: &mut Tally<'_>, header: &Header<'_>) {
    for used in header.relaxed() {
        let rule = match used.kind() {
            ErrorKind::GgArrayNested => Rule::GgNested,
            ErrorKind::GgStringUtf8 => Rule::GgStringUtf8,
            ErrorKind::GgNameLimit => Rule::GgNameLong,
            ErrorKind::GgDataTrailing => Rule::GgTrailing,
            _ => Rule::GgTypeUnknown,
        };
        tally.add_many(rule, used.at(), used.count(), None);
    }
}

/// Where the count of tensors and the first pair stand.
const TENSORS_AT: u64 = 8;
const PAIRS_AT: u64 = 24;

fn frame(tally: &mut Tally<'_>, header: &Header<'_>) {
    // All parts of a split model but the first have nothing but the keys of the split.
    let later_part = header.u64("split.no").is_ok_and(|number| number > 0);
    if header.get("general.architecture").is_none() && !later_part {
        tally.add(Rule::GgNoArchitecture, PAIRS_AT, None);
    }
    if header.is_empty() {
        tally.add(Rule::GgNoTensors, TENSORS_AT, None);
    }
}

/// The alignment of a file that says one; the default is a multiple of 8.
fn alignment<'a>(tally: &mut Tally<'a>, header: &Header<'a>) {
    if header.alignment() < 8
        && let Some(pair) = header.pairs().find(|pair| pair.key() == "general.alignment")
    {
        tally.add(Rule::GgAlign, pair.value_at(), None);
    }
}

/// How a key is written.
fn key<'a>(tally: &mut Tally<'a>, pair: &Pair<'a>) {
    let key = pair.key();
    let mut add = |rule| tally.add(rule, pair.key_at(), Some(name(pair)));
    let style = |byte: u8| byte == b'-' || byte.is_ascii_uppercase();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !key.bytes().all(plain) {
        add(Rule::GgKeyOdd);
    } else if key.bytes().any(style) {
        add(Rule::GgKeyStyle);
    }
    if matches!(key, "__proto__" | "constructor" | "prototype") {
        add(Rule::GgKeyProto);
    }
}

const fn name<'a>(pair: &Pair<'a>) -> Name<'a> {
    Name::plain(pair.key())
}

/// What readers take a well-known key for.
#[derive(Clone, Copy)]
enum Wanted {
    Text,
    Bool,
    Float,
    /// An integer in a range, both ends of which pass.
    Integer(u64, u64),
    /// An integer; whether there is such a token is looked at with the tokens.
    TokenId,
    /// An integer, or one a layer.
    Layers,
    Strings,
    /// At least so many floats.
    Floats(usize),
    /// Integers, and how many together.
    Integers(usize),
    /// `i32` and nothing else, since readers take the bytes as they stand.
    TokenTypes,
    /// At least so many bytes, or none.
    Bytes(usize),
}

/// The most layers: the room that the reference has (`LLAMA_MAX_LAYERS`).
const MOST_LAYERS: u64 = 512;
/// More than any model has of anything else, and the most that a signed 32-bit number holds.
const MOST: u64 = 0x7FFF_FFFF;
/// The precompiled character map begins with a 32-bit length.
const LEAST_CHARSMAP: usize = 4;

/// What the key is for, by `docs/gguf.md` of ggml and what llama.cpp reads.
fn wanted(key: &str) -> Option<Wanted> {
    Some(match key {
        "general.architecture"
        | "general.name"
        | "general.type"
        | "tokenizer.ggml.model"
        | "tokenizer.ggml.pre"
        | "tokenizer.chat_template" => Wanted::Text,
        "tokenizer.ggml.tokens"
        | "tokenizer.ggml.merges"
        | "tokenizer.ggml.added_tokens"
        | "tokenizer.chat_templates" => Wanted::Strings,
        "general.file_type" | "general.quantization_version" => Wanted::Integer(0, MOST),
        "tokenizer.ggml.scores" => Wanted::Floats(0),
        "tokenizer.ggml.token_type" => Wanted::TokenTypes,
        "tokenizer.ggml.precompiled_charsmap" => Wanted::Bytes(LEAST_CHARSMAP),
        "tokenizer.ggml.add_bos_token" | "tokenizer.ggml.add_eos_token" | "tokenizer.ggml.add_space_prefix" => {
            Wanted::Bool
        }
        _ if key.starts_with("tokenizer.chat_template.") => Wanted::Text,
        _ if is_token_id(key) => Wanted::TokenId,
        _ if ["general.", "tokenizer.", "split."].iter().any(|space| key.starts_with(space)) => return None,
        _ => return wanted_of_model(key.split_once('.')?.1),
    })
}

/// The same for a key behind the architecture's name.
fn wanted_of_model(key: &str) -> Option<Wanted> {
    Some(match key.rsplit('.').next()? {
        "block_count" => Wanted::Integer(1, MOST_LAYERS),
        "context_length" | "embedding_length" | "vocab_size" => Wanted::Integer(1, MOST),
        "expert_count" | "expert_used_count" => Wanted::Integer(0, MOST),
        "feed_forward_length" | "head_count" | "head_count_kv" => Wanted::Layers,
        "layer_norm_epsilon" | "layer_norm_rms_epsilon" | "freq_base" => Wanted::Float,
        "image_mean" | "image_std" => Wanted::Floats(3),
        "image_grid_pinpoints" => Wanted::Integers(2),
        "scale_factor" if key.ends_with("projector.scale_factor") => Wanted::Integer(1, MOST),
        _ => return None,
    })
}

fn is_token_id(key: &str) -> bool {
    key.starts_with("tokenizer.ggml.") && key.ends_with("_token_id")
}

const fn is_integer(kind: ValueType) -> bool {
    use ValueType::{I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(kind, U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64)
}

/// The type and the value of a well-known key, and floats of every key.
fn value<'a>(tally: &mut Tally<'a>, pair: &Pair<'a>) {
    let value = pair.value();
    if value.f64().is_ok_and(|float| !float.is_finite()) {
        tally.add(Rule::GgFloat, pair.value_at(), Some(name(pair)));
    }
    let Some(wanted) = wanted(pair.key()) else { return };
    match fits(wanted, &value) {
        None => tally.add(Rule::GgKeyType, pair.type_at(), Some(name(pair))),
        Some(false) => tally.add(Rule::GgKeyValue, pair.value_at(), Some(name(pair))),
        Some(true) => {}
    }
    if let (Wanted::Floats(_), Ok(floats)) = (wanted, value.array().and_then(|array| array.elements::<f32>())) {
        let odd = floats.filter(|float| !float.is_finite()).count();
        if odd > 0 {
            tally.add_many(Rule::GgFloat, pair.value_at(), num::widen(odd), Some(name(pair)));
        }
    }
}

/// Whether a value of the right type makes sense, or `None` for another type.
fn fits(wanted: Wanted, value: &Value<'_>) -> Option<bool> {
    let integer = || {
        let signed = value.i64().ok().map(|number| u64::try_from(number).ok());
        signed.or_else(|| value.u64().ok().map(Some))
    };
    match (wanted, value) {
        (Wanted::Text, _) => (value.kind() == ValueType::String).then_some(true),
        (Wanted::Bool, _) => (value.kind() == ValueType::Bool).then_some(true),
        (Wanted::Float, _) => value.f64().ok().map(|_| true),
        (Wanted::Integer(least, most), _) => {
            integer().map(|number| number.is_some_and(|number| (least..=most).contains(&number)))
        }
        (Wanted::TokenId, _) => integer().map(|_| true),
        (Wanted::Layers, Value::Array(array)) => is_integer(array.kind()).then_some(true),
        // Models without attention write 0.
        (Wanted::Layers, _) => integer().map(|number| number.is_some_and(|number| number <= MOST)),
        (_, Value::Array(array)) => array_fits(wanted, array),
        _ => None,
    }
}

fn array_fits(wanted: Wanted, array: &Array<'_>) -> Option<bool> {
    let (kind, len) = (array.kind(), array.len());
    match wanted {
        Wanted::Strings => (kind == ValueType::String).then_some(true),
        Wanted::Floats(least) => (kind == ValueType::F32).then_some(len >= least),
        Wanted::Integers(group) => is_integer(kind).then_some(len.is_multiple_of(group)),
        Wanted::TokenTypes => (kind == ValueType::I32).then_some(true),
        Wanted::Bytes(least) => matches!(kind, ValueType::U8 | ValueType::I8).then_some(len == 0 || len >= least),
        _ => None,
    }
}

/// What strings say: chat templates, hidden characters, and what is no text.
fn text<'a>(tally: &mut Tally<'a>, pair: &Pair<'a>) {
    let key = pair.key();
    match pair.value() {
        Value::String(text) if key == "tokenizer.chat_template" || key.starts_with("tokenizer.chat_template.") => {
            if key != "tokenizer.chat_template" {
                tally.add(Rule::GgTemplates, pair.key_at(), Some(name(pair)));
            }
            if let Some(inside) = template::reaches_out(text.bytes()) {
                let at = pair.value_at().saturating_add(8).saturating_add(num::widen(inside));
                tally.add(Rule::GgTemplateCode, at, Some(name(pair)));
            }
        }
        Value::String(text) => {
            let hidden = |c: char| names::is_hidden(c) && !matches!(c, '\t' | '\n' | '\r');
            if text.as_str().is_ok_and(|text| text.chars().any(hidden)) {
                tally.add(Rule::GgStringControl, pair.value_at(), Some(name(pair)));
            }
        }
        Value::Array(array) => {
            if let Err(error) = array.check_utf8() {
                let odd = array.strings().map_or(0, |all| all.filter(|text| text.as_str().is_err()).count());
                tally.add_many(Rule::GgArrayUtf8, error.at(), num::widen(odd), Some(name(pair)));
            }
        }
        _ => {}
    }
}

/// What holds between the tokens and what is said of them.
fn tokenizer<'a>(tally: &mut Tally<'a>, header: &Header<'a>) {
    let Ok(tokens) = header.array("tokenizer.ggml.tokens") else { return };
    for pair in header.pairs() {
        let (key, value) = (pair.key(), pair.value());
        if matches!(key, "tokenizer.ggml.scores" | "tokenizer.ggml.token_type") {
            if value.array().is_ok_and(|array| array.len() != tokens.len()) {
                tally.add(Rule::GgTokenizerLength, pair.value_at(), Some(name(&pair)));
            }
        } else if is_token_id(key) {
            let id = value.u64().or_else(|_| value.i64().map(|id| u64::try_from(id).unwrap_or(u64::MAX)));
            if id.is_ok_and(|id| id >= num::widen(tokens.len())) {
                tally.add(Rule::GgTokenId, pair.value_at(), Some(name(&pair)));
            }
        }
    }
    let mut at = tokens.at();
    for token in tokens.strings().into_iter().flatten() {
        if let [b'<', b'0', b'x', high, low, b'>'] = token.bytes()
            && !(high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
        {
            tally.add(Rule::GgByteToken, at, None);
        }
        at = at.saturating_add(8).saturating_add(num::widen(token.bytes().len()));
    }
}

/// The keys of a split model: `u16`, `u16` and `i32`, as gguf-split of llama.cpp writes them.
fn split<'a>(tally: &mut Tally<'a>, header: &Header<'a>) {
    for (key, kind) in
        [("split.no", ValueType::U16), ("split.count", ValueType::U16), ("split.tensors.count", ValueType::I32)]
    {
        if header.get(key).is_some_and(|value| value.kind() != kind) {
            let found = header.pairs().find(|pair| pair.key() == key);
            let at = found.map_or(PAIRS_AT, |pair| pair.type_at());
            tally.add(Rule::GgSplitType, at, Some(Name::plain(key)));
        }
    }
    let Ok(count) = header.u64("split.count") else { return };
    let at = |key| header.pairs().find(|pair| pair.key() == key).map_or(PAIRS_AT, |pair| pair.value_at());
    if count > 1 {
        tally.add(Rule::GgSplit, at("split.count"), None);
    }
    // A count of 0 is what writers give to a model that is whole.
    if header.u64("split.no").is_ok_and(|number| number >= count.max(1)) {
        tally.add(Rule::GgSplitNumber, at("split.no"), None);
    }
}

fn tensor<'a>(tally: &mut Tally<'a>, info: &TensorInfo<'a>) {
    let name = info.name();
    let mut add = |rule| tally.add(rule, info.info_at(), Some(name));
    if names::leaves_its_folder(name) {
        add(Rule::GgNamePath);
    }
    if !name.raw().is_ascii() {
        add(Rule::GgNameForeign);
    }
}
