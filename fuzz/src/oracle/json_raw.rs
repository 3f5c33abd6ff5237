//! Any bytes in every place that the strict JSON subset has, against a second, plain reading of strings and integers: all
//! readers of JSON (headers, indexes, configs, vocabularies) tell the same fault at the same offset.
//!
//! `json_serde` and `index_raw` look at what is accepted; here it is what is refused, and why, without another library.

use tensorgate::gpt2::{Fields, Problem};
use tensorgate::safetensors::{Header, Slot};
use tensorgate::tokenizer::{Tokenizer, TokenizerErrorKind};
use tensorgate::{ErrorKind, Limits};

use super::gpt2_config::plain;
use super::{promises, promises_index};
use crate::sink::printable;

/// Which reader a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Header,
    Index,
    Config,
    Vocabulary,
}

/// What is in front of the bytes, and what is behind them.
type Place = (Reader, &'static str, &'static str);

/// Where strings stand.
const STRINGS: [Place; 14] = [
    (Reader::Header, "{", r#":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#),
    (Reader::Header, r#"{ "w" : {"#, r#":"U8","shape":[0],"data_offsets":[0,0]}}"#),
    (Reader::Header, r#"{"w":{"dtype":"#, r#","shape":[0],"data_offsets":[0,0]}}"#),
    (Reader::Header, r#"{"__metadata__":{"#, r#":"v"}}"#),
    (Reader::Header, r#"{"__metadata__":{"k":"#, "}}"),
    (Reader::Index, "{", ":{}}"),
    (Reader::Index, r#"{"weight_map":{"#, r#":"s"}}"#),
    (Reader::Index, r#"{"weight_map":{"w":"#, "}}"),
    (Reader::Index, r#"{"weight_map":{},"metadata":{"#, ":0}}"),
    (Reader::Index, r#"{"weight_map":{},"metadata":{"k":[0,"#, "]}}"),
    (Reader::Index, r#"{"weight_map":{},"metadata":{"k":{"#, ":0}}}"),
    (Reader::Config, "{", ":0}"),
    (Reader::Config, r#"{"k":"#, "}"),
    (Reader::Vocabulary, "{", ":0}"),
];

/// Where plain integers stand.
const INTEGERS: [Place; 4] = [
    (Reader::Header, r#"{"w":{"dtype":"U8","shape":[0,"#, r#"],"data_offsets":[0,0]}}"#),
    (Reader::Header, r#"{"w":{"dtype":"U8","shape":[0],"data_offsets":["#, ",0]}}"),
    (Reader::Header, r#"{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,"#, "]}}"),
    (Reader::Vocabulary, r#"{"a":"#, "}"),
];

/// Texts of which each piece may have white space on either side.
const SPACED: [(Reader, &[&str]); 4] = [
    (
        Reader::Header,
        &[
            "{",
            "\"__metadata__\"",
            ":",
            "{",
            "\"k\"",
            ":",
            "\"v\"",
            "}",
            ",",
            "\"w\"",
            ":",
            "{",
            "\"shape\"",
            ":",
            "[",
            "0",
            ",",
            "1",
            "]",
            ",",
            "\"data_offsets\"",
            ":",
            "[",
            "0",
            ",",
            "0",
            "]",
            ",",
            "\"dtype\"",
            ":",
            "\"U8\"",
            "}",
            "}",
        ],
    ),
    (
        Reader::Index,
        &[
            "{",
            "\"metadata\"",
            ":",
            "{",
            "\"k\"",
            ":",
            "[",
            "1",
            ",",
            "{",
            "\"a\"",
            ":",
            "null",
            "}",
            "]",
            "}",
            ",",
            "\"weight_map\"",
            ":",
            "{",
            "\"w\"",
            ":",
            "\"s\"",
            "}",
            "}",
        ],
    ),
    (Reader::Config, &["{", "\"n_layer\"", ":", "2", ",", "\"k\"", ":", "[", "{", "}", "]", "}"]),
    (Reader::Vocabulary, &["{", "\"a\"", ":", "0", ",", "\"b\"", ":", "1", "}"]),
];

/// A fault of the JSON, and where.
type Fault = (ErrorKind, u64);

/// What a reader says of the text's JSON; `None` where it has nothing to say of that, whatever it says of the rest.
fn fault(reader: Reader, text: &[u8]) -> Option<Fault> {
    let told = match reader {
        Reader::Header => {
            let mut file = (text.len() as u64).to_le_bytes().to_vec();
            file.extend_from_slice(text);
            let error = promises::safetensors(&file, &Limits::DEFAULT).err()?;
            (error.kind(), error.at().saturating_sub(8))
        }
        Reader::Index => {
            let error = promises_index::index(text, &Limits::DEFAULT).err()?;
            (error.kind(), error.at())
        }
        Reader::Config => {
            let first = Fields::from_json(text);
            assert_eq!(first, Fields::from_json(text), "another answer");
            let problems = first.err()?;
            plain(&problems);
            let json = problems.iter().find_map(|problem| match problem {
                Problem::Json(error) => Some((error.kind(), error.at())),
                _ => None,
            });
            json?
        }
        Reader::Vocabulary => {
            let read = || Tokenizer::from_files(text, b"").map(drop);
            let error = read().err()?;
            assert_eq!(read(), Err(error), "another answer");
            assert!(printable(&error) <= 160 && error.at() <= text.len() as u64, "{error}");
            let TokenizerErrorKind::Json(kind) = error.kind() else { return None };
            (kind, error.at())
        }
    };
    let of_json = told.0.code().starts_with("JS-") || told.0 == ErrorKind::IxMetadataNumber;
    of_json.then_some(told)
}

/// The string that begins at `at`, byte by byte: where it ends, or what is wrong with it.
fn string(text: &[u8], at: usize) -> Result<usize, Fault> {
    let told = |kind, at: usize| Err((kind, at as u64));
    let unit = |at: usize| {
        let digits = text.get(at..at + 4)?.iter().map(|digit| char::from(*digit).to_digit(16));
        digits.collect::<Option<Vec<_>>>().map(|digits| digits.iter().fold(0, |unit, digit| unit * 16 + digit))
    };
    let mut next = at + 1;
    loop {
        match text.get(next) {
            None => return told(ErrorKind::JsonEnd, text.len()),
            Some(b'"') => return Ok(next + 1),
            Some(0..0x20) => return told(ErrorKind::JsonControl, next),
            Some(b'\\') => match text.get(next + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => next += 2,
                Some(b'u') => match unit(next + 2) {
                    None => return told(ErrorKind::JsonEscape, next),
                    Some(0xDC00..=0xDFFF) => return told(ErrorKind::JsonSurrogate, next),
                    Some(0xD800..=0xDBFF) => {
                        let low = if text[next + 6..].starts_with(b"\\u") { unit(next + 8) } else { None };
                        if !matches!(low, Some(0xDC00..=0xDFFF)) {
                            return told(ErrorKind::JsonSurrogate, next);
                        }
                        next += 12;
                    }
                    Some(_) => next += 6,
                },
                _ => return told(ErrorKind::JsonEscape, next),
            },
            Some(_) => next += 1,
        }
    }
}

/// The integer that begins at `at`: its value and where it ends, or what is wrong with it, if that is a matter of JSON.
fn integer(text: &[u8], at: usize) -> Result<(u64, usize), Option<Fault>> {
    let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + digits;
    let told = |kind| Err(Some((kind, at as u64)));
    match (digits, text.get(end)) {
        (0, Some(b'-' | b'+' | b'.')) => told(ErrorKind::JsonInteger),
        (0, _) => Err(None),
        (2.., _) if text[at] == b'0' => told(ErrorKind::JsonInteger),
        (_, after) => {
            let Ok(value) = std::str::from_utf8(&text[at..end]).expect("digits").parse() else {
                return told(ErrorKind::JsonRange);
            };
            let more = matches!(after, Some(b'.' | b'e' | b'E' | b'_' | b'x' | b'o'));
            if more { told(ErrorKind::JsonInteger) } else { Ok((value, end)) }
        }
    }
}

/// Puts the bytes into every place and compares what is said with what it should be.
pub fn check(data: &[u8]) {
    for (reader, before, after) in STRINGS {
        let text = [before.as_bytes(), b"\"", data, b"\"", after.as_bytes()].concat();
        let told = fault(reader, &text);
        let whole = text.len() - after.len();
        if utf8(&text, told) {
            continue;
        }
        match string(&text, before.len()) {
            Err(wrong) => assert_eq!(told, Some(wrong), "{reader:?}: {}", text.escape_ascii()),
            Ok(end) => behind(reader, &text, told, end, whole),
        }
    }
    for (reader, before, after) in INTEGERS {
        let text = [before.as_bytes(), data, after.as_bytes()].concat();
        let told = fault(reader, &text);
        let whole = text.len() - after.len();
        if utf8(&text, told) {
            continue;
        }
        match integer(&text, before.len()) {
            Err(Some(wrong)) => assert_eq!(told, Some(wrong), "{reader:?}: {}", text.escape_ascii()),
            Err(None) => {
                let none = told.is_none_or(|(kind, at)| {
                    kind == ErrorKind::JsonInteger && at == before.len() as u64 || at > before.len() as u64
                });
                // An array may end where an integer could begin.
                assert!(
                    none || data.first() == Some(&b']') || data.is_empty(),
                    "{told:?}: {}",
                    text.escape_ascii()
                );
            }
            Ok((value, end)) => {
                behind(reader, &text, told, end, whole);
                if end == whole {
                    number(data, value);
                }
            }
        }
    }
    values(data);
    if data.len() <= 256 {
        spaced(data);
    }
}

/// Whether the text is none, which is what must be said first.
fn utf8(text: &[u8], told: Option<Fault>) -> bool {
    let Err(error) = std::str::from_utf8(text) else { return false };
    assert_eq!(told, Some((ErrorKind::JsonUtf8, error.valid_up_to() as u64)), "{}", text.escape_ascii());
    true
}

/// What stands at the place is right: where it is all that was put there nothing is wrong, and else nothing before its end.
fn behind(reader: Reader, text: &[u8], told: Option<Fault>, end: usize, whole: usize) {
    let right = told.is_none_or(|(_, at)| end != whole && at >= end as u64);
    assert!(right, "{reader:?}: {told:?}: {}", text.escape_ascii());
}

/// A number is read as what it is in a shape and in offsets, up to the largest that a file can have.
fn number(data: &[u8], value: u64) {
    let digits = std::str::from_utf8(data).expect("digits");
    // Behind a zero any dimension may stand; alone it is limited by what its bits come to.
    let fits = value <= u64::MAX / 8;
    let (shape, end) = if fits { ("", digits) } else { ("0,", "0") };
    let text = format!(r#"{{"w":{{"dtype":"U8","shape":[{shape}{digits}],"data_offsets":[0,{end}]}}}}"#);
    let mut prefix = (text.len() as u64).to_le_bytes().to_vec();
    prefix.extend_from_slice(text.as_bytes());
    let len = if fits { value } else { 0 };
    let file_len = prefix.len() as u64 + len;
    let mut slots = [Slot::EMPTY; 1];
    let header = Header::open_in(&prefix, file_len, &mut slots, &Limits::DEFAULT);
    let header = header.unwrap_or_else(|error| panic!("{error}: {text}"));
    let tensor = header.get(0).expect("there is one");
    assert!(tensor.shape().iter().last() == Some(value) && tensor.span().len() == len, "{text}");
}

/// A value of any kind is stepped over in the same way by the two that step over values.
fn values(data: &[u8]) {
    let at = |reader, before: &str, after: &str| {
        let text = [before.as_bytes(), data, after.as_bytes()].concat();
        let told = fault(reader, &text);
        // Behind the end of what was put there each text has its own.
        told.map(|(kind, at)| (kind, at - (before.len() as u64).min(at))).filter(|(_, at)| *at < data.len() as u64)
    };
    let (before, after) = (r#"{"weight_map":{},"metadata":{"k":"#, "}}");
    let index = [before.as_bytes(), data, after.as_bytes()].concat();
    // Depths and repeated keys are the index's own business.
    let own = promises_index::index(&index, &Limits::DEFAULT)
        .is_err_and(|error| matches!(error.kind(), ErrorKind::IxDepthLimit | ErrorKind::IxDupMetadataKey));
    if !own && !data.contains(&b'}') {
        let (one, other) = (at(Reader::Index, before, after), at(Reader::Config, r#"{"k":"#, "}"));
        assert_eq!(one, other, "{}", data.escape_ascii());
    }
}

/// White space may stand between any two tokens, and changes nothing.
fn spaced(data: &[u8]) {
    let mut spaces = data.iter().map(|byte| (usize::from(byte / 4 % 4), b" \t\n\r"[usize::from(byte % 4)]));
    for (reader, pieces) in SPACED {
        let mut text = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            // Nothing comes before a header or an index.
            if let Some((count, space)) = spaces.next().filter(|_| index > 0) {
                text.extend(std::iter::repeat_n(space, count));
            }
            text.extend_from_slice(piece.as_bytes());
        }
        assert_eq!(fault(reader, &text), None, "{reader:?}: {}", text.escape_ascii());
    }
}

/// Any text, and short ones: of a file with a header its beginning.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let text = super::index_raw::seed(file)?;
    let inside = text.iter().position(|byte| *byte == b'"').map_or(0, |quote| quote + 1);
    Some(text[inside..].iter().copied().take(120).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_reading_reads() {
        assert_eq!(string(br#""a\u00e9\ud83d\ude00\/""#, 0), Ok(23));
        assert_eq!(string(br#" "" "#, 1), Ok(3));
        for (text, kind, at) in [
            (&b"\"a"[..], ErrorKind::JsonEnd, 2),
            (b"\"\x1f\"", ErrorKind::JsonControl, 1),
            (br#""a\x41""#, ErrorKind::JsonEscape, 2),
            (br#""\u00g0""#, ErrorKind::JsonEscape, 1),
            (br#""\ud83d\u0041""#, ErrorKind::JsonSurrogate, 1),
            (br#""\ude00""#, ErrorKind::JsonSurrogate, 1),
        ] {
            assert_eq!(string(text, 0), Err((kind, at)), "{}", text.escape_ascii());
        }
        assert_eq!(integer(b"[10,", 1), Ok((10, 3)));
        assert_eq!(integer(b"18446744073709551616]", 0), Err(Some((ErrorKind::JsonRange, 0))));
        assert_eq!(integer(b"00]", 0), Err(Some((ErrorKind::JsonInteger, 0))));
        assert_eq!(integer(b"1e0]", 0), Err(Some((ErrorKind::JsonInteger, 0))));
        assert_eq!(integer(b"null]", 0), Err(None));
    }

    #[test]
    fn smoke() {
        let spelt: [&[u8]; 16] = [
            b"",
            b"plain",
            br"\u0000\uD83D\uDE00\n",
            br"\ud83d",
            br"\",
            br"\u00",
            b"\x7f\x85",
            "\u{e9}\u{1f600}".as_bytes(),
            b"0",
            b"18446744073709551615",
            b"18446744073709551616",
            b"007",
            b"1.5e3",
            b"[1,[true,null,{\"a\":[]}]]",
            b"\":0,\"",
            b"{\"a\":[1e309]",
        ];
        let spelt: Vec<Vec<u8>> = spelt.iter().map(|text| text.to_vec()).collect();
        crate::smoke::mutants(check, 74, 400, &spelt);
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 75, 1, &seeds);
        crate::smoke::noise(check, 76, 100);
    }
}
