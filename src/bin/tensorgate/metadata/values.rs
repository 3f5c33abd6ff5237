//! Values as they are spelt on a command line.

use tensorgate::Limits;
use tensorgate::gguf::WriteValue;

use crate::args::Kind;

/// A value of a type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parsed<'v> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    Text(&'v str),
}

impl<'v> Parsed<'v> {
    /// The value that a text spells; `None` where it spells none of that type. A fraction that is too large for its type
    /// is none either, rather than infinite.
    pub(super) fn new(kind: Kind, text: &'v str) -> Option<Self> {
        let spelt = text.to_ascii_lowercase();
        let infinite = spelt.trim_start_matches(['+', '-']).starts_with("inf");
        Some(match kind {
            Kind::U8 => Self::U8(text.parse().ok()?),
            Kind::I8 => Self::I8(text.parse().ok()?),
            Kind::U16 => Self::U16(text.parse().ok()?),
            Kind::I16 => Self::I16(text.parse().ok()?),
            Kind::U32 => Self::U32(text.parse().ok()?),
            Kind::I32 => Self::I32(text.parse().ok()?),
            Kind::U64 => Self::U64(text.parse().ok()?),
            Kind::I64 => Self::I64(text.parse().ok()?),
            Kind::F32 => Self::F32(text.parse().ok().filter(|value: &f32| infinite || !value.is_infinite())?),
            Kind::F64 => Self::F64(text.parse().ok().filter(|value: &f64| infinite || !value.is_infinite())?),
            Kind::Bool => Self::Bool(text.parse().ok()?),
            Kind::String => Self::Text(text),
        })
    }

    pub(super) fn as_write(&self) -> WriteValue<'v> {
        match *self {
            Self::U8(value) => value.into(),
            Self::I8(value) => value.into(),
            Self::U16(value) => value.into(),
            Self::I16(value) => value.into(),
            Self::U32(value) => value.into(),
            Self::I32(value) => value.into(),
            Self::U64(value) => value.into(),
            Self::I64(value) => value.into(),
            Self::F32(value) => value.into(),
            Self::F64(value) => value.into(),
            Self::Bool(value) => value.into(),
            Self::Text(value) => value.into(),
        }
    }
}

/// How such a value is spelt, where that is not plain.
pub(super) const fn hint(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => ": true or false; --type gives the key another type",
        Kind::String => "",
        _ => "; --type gives the key another type",
    }
}

/// The type that the format's document gives a key that is new in a file.
pub(super) fn usual(key: &str) -> Kind {
    match key {
        "general.alignment" | "general.file_type" | "general.quantization_version" => Kind::U32,
        _ if key.starts_with("tokenizer.ggml.") && key.ends_with("_token_id") => Kind::U32,
        _ if key.starts_with("tokenizer.ggml.add_") => Kind::Bool,
        _ => Kind::String,
    }
}

/// Whether a GGUF file can have a key.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    let most = Limits::DEFAULT.key_len();
    if key.is_empty() {
        return Err("a key in a GGUF file cannot be empty".to_owned());
    }
    if let Some(odd) = key.chars().find(|c| !matches!(c, ' '..='~')) {
        return Err(format!("a key in a GGUF file is printable ASCII: \"{key}\" has '{odd}'"));
    }
    if u64::try_from(key.len()).is_ok_and(|len| len > most) {
        return Err(format!("a key in a GGUF file has at most {most} bytes, and this one has {}", key.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling() {
        let shown = |kind, text| Parsed::new(kind, text).map(|value| format!("{value:?}"));
        assert_eq!(shown(Kind::U8, "255").as_deref(), Some("U8(255)"));
        assert_eq!(shown(Kind::I64, "-9223372036854775808").as_deref(), Some("I64(-9223372036854775808)"));
        assert_eq!(shown(Kind::F32, "1e-5").as_deref(), Some("F32(1e-5)"));
        assert_eq!(shown(Kind::F32, "-inf").as_deref(), Some("F32(-inf)"));
        assert_eq!(shown(Kind::String, "").as_deref(), Some("Text(\"\")"));
        for (kind, text) in [
            (Kind::U8, "256"),
            (Kind::U8, "-1"),
            (Kind::U32, "1.0"),
            (Kind::U32, " 1"),
            (Kind::I8, ""),
            (Kind::F32, "1e39"),
            (Kind::F64, "1e309"),
            (Kind::F64, "one"),
            (Kind::Bool, "1"),
            (Kind::Bool, "True"),
        ] {
            assert_eq!(shown(kind, text), None, "{kind:?} {text}");
        }
        assert!(check_key("a b").is_ok());
        assert!(check_key("").is_err() && check_key("é").is_err() && check_key(&"k".repeat(70_000)).is_err());
    }
}
