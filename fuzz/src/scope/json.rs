//! Every string of a few symbols, in every kind of place that a header and an index have.

use tensorgate::{ErrorKind, ShardIndex};

use super::{framed, strings, verdict};
use crate::oracle::index_raw::{self, Json};

/// A place in a header, what stands before and after it, and the symbols of which strings are put there.
struct Hole {
    name: &'static str,
    before: &'static str,
    after: &'static str,
    data_len: usize,
    symbols: [&'static [u8]; 12],
}

/// What tokens of a header are made of.
const TOKENS: [&[u8]; 12] = [
    b"{",
    b"}",
    b"\"__metadata__\"",
    b":",
    b",",
    b" ",
    b"null",
    b"\"a\"",
    b"\"\\u0061\"",
    b"\"w\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
    b"[",
    b"0",
];

/// What strings are made of: escapes of every kind, halves of surrogates, a quote, and bytes that may not stand there.
const TEXT: [&[u8]; 12] =
    [b"\\", b"\\u", b"\"", b"d8", b"DC", b"00", b"61", b"a", b"n", b"\x1f", b"\xc3\xa9", b"\xff"];

/// What integers are made of, and lists of them.
const DIGITS: [&[u8]; 12] =
    [b"0", b"1", b"10", b"-", b"+", b".", b"e", b",", b" ", b"]", b"\"", b"1844674407370955161"];

const HOLES: [Hole; 13] = [
    Hole { name: "the text", before: "", after: "", data_len: 0, symbols: TOKENS },
    Hole { name: "a member", before: "{", after: "}", data_len: 0, symbols: TOKENS },
    Hole {
        name: "a name",
        before: r#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},""#,
        after: r#"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#,
        data_len: 0,
        symbols: TEXT,
    },
    Hole {
        name: "a name before one",
        before: "{\"",
        after: r#"":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#,
        data_len: 3,
        symbols: TEXT,
    },
    Hole {
        name: "a dtype",
        before: r#"{"w":{"dtype":""#,
        after: r#"8","shape":[1],"data_offsets":[0,1]}}"#,
        data_len: 1,
        symbols: [b"U", b"I", b"\\u", b"0055", b"00", b"4", b"9", b"F", b"\\", b"\"", b"8", b""],
    },
    Hole {
        name: "a metadata key",
        before: r#"{"__metadata__":{"a":"","#,
        after: r#":"v"}}"#,
        data_len: 0,
        symbols: [b"\\", b"\\u", b"\"", b"d8", b"DC", b"00", b"61", b"a", b"n", b"\x1f", b" ", b":"],
    },
    Hole {
        name: "a metadata value",
        before: r#"{"__metadata__":{"a":""#,
        after: r#""},"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#,
        data_len: 0,
        symbols: TEXT,
    },
    Hole {
        name: "dimensions behind a zero",
        before: r#"{"w":{"dtype":"U8","shape":[0,"#,
        after: r#"],"data_offsets":[0,0]},"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#,
        data_len: 0,
        symbols: DIGITS,
    },
    Hole {
        name: "dimensions",
        before: r#"{"w":{"dtype":"U8","shape":["#,
        after: r#"],"data_offsets":[0,10]}}"#,
        data_len: 10,
        symbols: DIGITS,
    },
    Hole {
        name: "where the first begins",
        before: r#"{"w":{"dtype":"U8","shape":[10],"data_offsets":["#,
        after: r#",10]},"x":{"dtype":"U8","shape":[0],"data_offsets":[10,10]}}"#,
        data_len: 10,
        symbols: DIGITS,
    },
    Hole {
        name: "where the next begins",
        before: r#"{"w":{"dtype":"U8","shape":[10],"data_offsets":[0,10]},"v":{"dtype":"U8","shape":[0],"data_offsets":["#,
        after: r#",10]},"x":{"dtype":"U8","shape":[0],"data_offsets":[10,10]}}"#,
        data_len: 10,
        symbols: DIGITS,
    },
    Hole {
        name: "where one behind an escaped name begins",
        before: r#"{"\u0077":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"v":{"dtype":"U8","shape":[10],"data_offsets":["#,
        after: r#",10]},"x":{"dtype":"U8","shape":[0],"data_offsets":[10,10]}}"#,
        data_len: 10,
        symbols: DIGITS,
    },
    Hole {
        name: "where one ends",
        before: r#"{"\n":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"v":{"dtype":"U8","shape":[10],"data_offsets":[0,"#,
        after: r#"]},"x":{"dtype":"U8","shape":[0],"data_offsets":[10,10]}}"#,
        data_len: 10,
        symbols: DIGITS,
    },
];

/// Every string of up to `most` symbols in every hole; fewer symbols by `less` are of no interest to this run.
fn headers(most: u32) {
    for hole in &HOLES {
        let (mut count, mut accepted) = (0_u64, 0_u64);
        strings(&hole.symbols, 0, most, |text| {
            let header = [hole.before.as_bytes(), text, hole.after.as_bytes()].concat();
            accepted += u64::from(verdict(&framed(&header, hole.data_len)));
            count += 1;
        });
        println!("{}: {accepted} of {count} strings accepted", hole.name);
        assert!(accepted > 0, "{}: nothing fits here", hole.name);
    }
}

/// Every string of up to `most` symbols as a value in an index's metadata, against serde_json.
///
/// The one difference: numbers are stepped over and not read, and are refused where digits and exponent together may be
/// more than a double has; so zero with a large exponent is refused too.
fn values(most: u32) {
    const VALUE: [&[u8]; 12] = [b"{", b"}", b"[", b"]", b"\"", b":", b",", b"0", b"1", b"-", b".", b"e"];
    const WORDS: [&[u8]; 12] =
        [b"[", b"]", b"true", b"null", b"false", b"nul", b",", b" ", b"\n", b"\"", b"\\u", b"00"];
    for symbols in [VALUE, WORDS] {
        let (mut count, mut accepted) = (0_u64, 0_u64);
        strings(&symbols, 0, most, |text| {
            let file = [br#"{"weight_map":{"a":"b"},"metadata":{"k":"#, text, b"}}"].concat();
            let ours = ShardIndex::open(&file).map(drop);
            // A string may end the metadata and begin another field, which no index has.
            let theirs =
                index_raw::read(&file).ok().filter(|json| matches!(json, Json::Map(members) if members.len() == 2));
            let zero = ours.is_err_and(|error| error.kind() == ErrorKind::IxMetadataNumber)
                && text.windows(2).any(|pair| pair == b"0e");
            assert!(
                ours.is_ok() == theirs.is_some() || (theirs.is_some() && zero),
                "{}: {ours:?}, {theirs:?}",
                file.escape_ascii()
            );
            accepted += u64::from(ours.is_ok());
            count += 1;
        });
        println!("metadata of an index: {accepted} of {count} strings accepted");
        assert!(accepted > 20);
    }
}

#[test]
fn strings_of_four_symbols() {
    headers(4);
    values(4);
}

#[test]
#[ignore = "minutes; fuzz/scope.sh runs it optimised"]
fn whole_strings_of_six_symbols() {
    headers(6);
}

#[test]
#[ignore = "minutes; fuzz/scope.sh runs it optimised"]
fn whole_values_of_seven_symbols() {
    values(7);
}
