//! The trait of a file that was refused: the fault, and what of it readers tell apart.

use super::table::{GGUF, SAFETENSORS};
use super::{Book, Kind, Traits};
use crate::{Error, ErrorKind, num};

/// The traits of a safetensors file that was refused with `error`; `prefix` is what was read of it.
///
/// ```
/// # fn main() -> Result<(), tensorgate::Error> {
/// use tensorgate::{SafeTensors, audit::dialects};
/// let file = b"\x02\0\0\0\0\0\0\0{}!";
/// let error = SafeTensors::open(file).unwrap_err();
/// let traits = dialects::refused_safetensors(error, file)?;
/// assert!(traits.is_fault());
/// let mlx = traits.answers().find(|answer| answer.reader().name() == "mlx");
/// assert!(mlx.is_some_and(|answer| answer.outcome() == dialects::Outcome::Accepts));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ErrorKind::StorageTooSmall`] when memory ran out: it takes a few bytes.
pub fn refused_safetensors(error: Error, prefix: &[u8]) -> Result<Traits, Error> {
    fault(&SAFETENSORS, error, in_json(error.kind(), prefix, error.at()))
}

/// The same for a GGUF file of `file_len` bytes.
///
/// # Errors
///
/// As [`refused_safetensors`].
pub fn refused_gguf(error: Error, prefix: &[u8], file_len: u64) -> Result<Traits, Error> {
    fault(&GGUF, error, in_gguf(error.kind(), prefix, error.at(), file_len))
}

fn fault(book: &'static Book, error: Error, detail: &'static str) -> Result<Traits, Error> {
    let mut traits = Traits::new(book, 1, error.at())?;
    traits.add(Kind::Fault(error.kind(), detail));
    Ok(traits)
}

/// What stands at an offset and behind.
fn from(prefix: &[u8], at: u64) -> &[u8] {
    num::narrow(at).and_then(|at| prefix.get(at..)).unwrap_or_default()
}

fn in_json(kind: ErrorKind, prefix: &[u8], at: u64) -> &'static str {
    let there = from(prefix, at);
    match kind {
        ErrorKind::JsonInteger => integer(there, in_offsets(prefix, at)),
        ErrorKind::JsonNotObject => match there {
            [b'[', ..] => "/array",
            [b'n', ..] => "/null",
            [0xEF, 0xBB, 0xBF, ..] => "/bom",
            _ => "/other",
        },
        ErrorKind::JsonTrailing => match there {
            [0, ..] => "/nul",
            [0x0B | 0x0C, ..] => "/form-feed",
            _ => "/other",
        },
        ErrorKind::StEntryType | ErrorKind::StOffsetsType | ErrorKind::StShapeType | ErrorKind::StMetadataType => {
            value(there)
        }
        ErrorKind::StFieldUnknown => match value_of_member(there) {
            nested @ [b'[' | b'{', ..] => match depth(nested) {
                ..=125 => "/nested-to-125",
                126..=1000 => "/nested-to-1000",
                _ => "/nested-deeper",
            },
            [b'"', ..] => "/string",
            [b'-' | b'0'..=b'9' | b'n' | b't' | b'f', ..] => "/plain",
            _ => "/no-value",
        },
        // A reader that does not look at the length reads what follows it all the same.
        ErrorKind::StHeaderLimit | ErrorKind::StHeaderPastEnd => match prefix.get(8) {
            Some(b'{') => "/object",
            _ => "/other",
        },
        _ => "",
    }
}

/// The kind of a JSON value that is of the wrong kind.
const fn value(there: &[u8]) -> &'static str {
    match there {
        [b'[', ..] => "/array",
        [b'{', ..] => "/object",
        [b'"', ..] => "/string",
        [b'n', ..] => "/null",
        _ => "/other",
    }
}

/// How an integer is malformed.
fn integer(there: &[u8], offsets: bool) -> &'static str {
    let digits = there.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match (there, there.get(digits..)) {
        ([b'-', b'0'..=b'9', ..], _) if offsets => "/negative-offset",
        ([b'-', b'0'..=b'9', ..], _) => "/negative",
        (_, Some([b'.', b'0'..=b'9', ..] | [b'e' | b'E', ..])) if digits > 0 && offsets => "/fraction-offset",
        (_, Some([b'.', b'0'..=b'9', ..] | [b'e' | b'E', ..])) if digits > 0 => "/fraction",
        ([b'0', b'0'..=b'9', ..], _) => "/leading-zero",
        _ => "/other",
    }
}

/// Whether the last key before an offset is that of the offsets.
fn in_offsets(prefix: &[u8], at: u64) -> bool {
    let before = num::narrow(at).and_then(|at| prefix.get(..at)).unwrap_or_default();
    let quote = before.iter().rposition(|byte| *byte == b'"').unwrap_or_default();
    before.get(..quote).is_some_and(|key| key.ends_with(b"\"data_offsets"))
}

/// How deep the arrays and objects of a value that begins here are in one another.
fn depth(value: &[u8]) -> u32 {
    let (mut open, mut most, mut inside, mut escaped) = (0_u32, 0_u32, false, false);
    for byte in value {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'[' | b'{' if !inside => {
                open = open.saturating_add(1);
                most = most.max(open);
            }
            b']' | b'}' if !inside => {
                open = open.saturating_sub(1);
                if open == 0 {
                    break;
                }
            }
            _ => {}
        }
    }
    most
}

/// The value of a member that begins here with its key; nothing where that cannot be seen.
fn value_of_member(there: &[u8]) -> &[u8] {
    let Some((b'"', mut rest)) = there.split_first() else { return &[] };
    loop {
        match rest {
            [b'"', tail @ ..] => {
                let tail = tail.trim_ascii_start();
                return tail.strip_prefix(b":").unwrap_or_default().trim_ascii_start();
            }
            [b'\\', _, tail @ ..] | [_, tail @ ..] => rest = tail,
            [] => return &[],
        }
    }
}

fn in_gguf(kind: ErrorKind, prefix: &[u8], at: u64, file_len: u64) -> &'static str {
    use ErrorKind as K;
    let big = is_big(prefix);
    let there = from(prefix, at);
    match kind {
        // A length over a limit, or a count: whether the file has room for it.
        K::GgKeyLimit
        | K::GgStringLimit
        | K::GgArrayLimit
        | K::GgNameLimit
        | K::GgPairCount
        | K::GgTensorCount
        | K::GgOffsetGap => match long(there, big) {
            Some(claim) if claim <= file_len => "/in-file",
            _ => "/past-end",
        },
        K::GgRankLimit => match short(there, big) {
            Some(..=8) => "/up-to-8",
            _ => "/more",
        },
        // The type of elements, then their count.
        K::GgArrayNested | K::GgArrayType => match long(there.get(4..).unwrap_or_default(), big) {
            Some(0) => "/empty",
            _ => "/some",
        },
        K::GgAlignValue => match short(there, big) {
            Some(0) => "/zero",
            Some(alignment) if alignment.is_multiple_of(8) => "/multiple-of-8",
            _ => "/odd",
        },
        K::GgKeyCharset => charset(there),
        K::GgNameControl => match there {
            [0, ..] => "/nul",
            _ => "/other",
        },
        _ => "",
    }
}

/// Whether the byte order is the big one, as the version shows it.
fn is_big(prefix: &[u8]) -> bool {
    matches!(prefix.get(4..8), Some([0, 0, 0, 1..=3]))
}

fn short(there: &[u8], big: bool) -> Option<u32> {
    let word = *there.first_chunk::<4>()?;
    Some(if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
}

fn long(there: &[u8], big: bool) -> Option<u64> {
    let word = *there.first_chunk::<8>()?;
    Some(if big { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) })
}

/// What is wrong with a key: a NUL, another control character, a letter outside ASCII, or no UTF-8.
fn charset(there: &[u8]) -> &'static str {
    let letter = there.get(..4).unwrap_or(there);
    match (letter.first(), core::str::from_utf8(letter)) {
        (Some(0), _) => "/nul",
        (Some(1..=0x7F), _) => "/control",
        (_, Ok(_)) => "/non-ascii",
        (_, Err(error)) if error.valid_up_to() > 0 => "/non-ascii",
        _ => "/not-utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gguf, SafeTensors};
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn json(text: &str) -> String {
        let length = u64::try_from(text.len()).unwrap().to_le_bytes();
        let file = [&length, text.as_bytes()].concat();
        let traits = refused_safetensors(SafeTensors::open(&file).unwrap_err(), &file).unwrap();
        traits.iter().map(|one| one.to_string()).collect()
    }

    #[test]
    fn faults_of_json_are_told_apart_by_what_stands_there() {
        let dims = |dims: &str| json(&std::format!("{{\"a\":{{\"dtype\":\"U8\",\"shape\":[{dims}"));
        for (text, key) in [("1.5", "/fraction"), ("2e0", "/fraction"), ("-1", "/negative"), ("2.", "/other")] {
            assert_eq!(dims(text), std::format!("JS-INTEGER{key}"), "{text}");
        }
        assert_eq!(dims("01"), "JS-INTEGER/leading-zero");
        let offsets = |text| json(&std::format!("{{\"a\":{{\"shape\":[],\"data_offsets\":[0,{text}"));
        assert_eq!(
            (offsets("-1"), offsets("4.0")),
            ("JS-INTEGER/negative-offset".into(), "JS-INTEGER/fraction-offset".into())
        );
        assert_eq!(json("null"), "JS-NOT-OBJECT/null");
        assert_eq!(json("\u{feff}{}"), "JS-NOT-OBJECT/bom");
        assert_eq!(json("{}\0"), "JS-TRAILING/nul");
        assert_eq!(json("{\"a\":[]}"), "ST-ENTRY-TYPE/array");
        assert_eq!(json("{\"a\":1}"), "ST-ENTRY-TYPE/other");
        assert_eq!(json("{\"a\":{\"b\\\"c\" : [1]}}"), "ST-FIELD-UNKNOWN/nested-to-125");
        let nested =
            |levels| json(&std::format!("{{\"a\":{{\"b\":{}\"]\"{}", "[".repeat(levels), "]".repeat(levels)));
        assert_eq!(nested(126), "ST-FIELD-UNKNOWN/nested-to-1000");
        assert_eq!(nested(1001), "ST-FIELD-UNKNOWN/nested-deeper");
        assert_eq!(json("{\"a\":{\"b\":1}}"), "ST-FIELD-UNKNOWN/plain");
    }

    #[test]
    fn faults_of_gguf_are_told_apart_in_both_byte_orders() {
        let key = |key: &[u8]| {
            let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
            file.extend_from_slice(&u64::try_from(key.len()).unwrap().to_le_bytes());
            file.extend_from_slice(key);
            file.extend_from_slice(b"\x00\0\0\0\x07");
            let error = Gguf::open(&file).unwrap_err();
            let len = u64::try_from(file.len()).unwrap();
            refused_gguf(error, &file, len).unwrap().iter().map(|one| one.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(key(b"a\0"), ["GG-KEY-CHARSET/nul"]);
        assert_eq!(key(b"a\n"), ["GG-KEY-CHARSET/control"]);
        assert_eq!(key(b"a\xC3\xA9"), ["GG-KEY-CHARSET/non-ascii"]);
        assert_eq!(key(b"a\xFF"), ["GG-KEY-CHARSET/not-utf-8"]);
        let counts = |version: &[u8; 4], count: [u8; 8]| {
            let file = [b"GGUF", version, &count[..], &[0; 8]].concat();
            let error = Gguf::open(&file).unwrap_err();
            let traits = refused_gguf(error, &file, 24).unwrap();
            traits.iter().map(|one| one.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(counts(b"\x03\0\0\0", 20_u64.to_le_bytes()), ["GG-TENSOR-COUNT/in-file"]);
        assert_eq!(counts(b"\0\0\0\x03", 20_u64.to_be_bytes()), ["GG-TENSOR-COUNT/in-file"]);
        assert_eq!(counts(b"\0\0\0\x03", 20_u64.to_le_bytes()), ["GG-TENSOR-COUNT/past-end"]);
    }
}
