//! Headers of few tensors: what is told apart, and which of the two readings takes an entry.

use super::*;

fn open(json: &str) -> Result<(bool, bool, usize), Error> {
    let mut file = num::widen(json.len()).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    let mut slots = [Slot::EMPTY; 4];
    let header = Header::open_in(&file, num::widen(file.len()), &mut slots, &Limits::DEFAULT)?;
    Ok((header.metadata().is_some(), header.metadata_is_null(), header.len()))
}

#[test]
fn null_is_told_from_nothing_and_from_an_object() {
    assert_eq!(open("{}"), Ok((false, false, 0)));
    assert_eq!(open("{\"__metadata__\":null}"), Ok((false, true, 0)));
    assert_eq!(open("{\"__metadata__\":{}}"), Ok((true, false, 0)));
}

/// How many tensors the one-step reading keeps of three, and whether it stops at the last.
fn run(separator: &str, limits: &Limits) -> (usize, bool) {
    let entry = |name: &str| std::format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}");
    let json = std::format!("{}{separator}{}{separator}{}}}", entry("a"), entry("b"), entry("c"));
    let text = Text { json: &json, at: 0 };
    let mut slots = [Slot::EMPTY; 4];
    let mut store = Lent { slots: &mut slots, used: 0 };
    let mut pass = Pass { count: 0, stored: true, metadata: None, ascending: true, tiled: true, relaxed: None };
    let mut trail = Trail { covered: Digits::ZERO, before: None };
    let mut lexer = Lexer::new(&json, 0);
    canonical_run(&mut lexer, text, &mut store, &mut pass, &mut trail, limits);
    (pass.count, lexer.rest().starts_with(b"\"c\""))
}

/// The careful reading would hide it if the one-step reading declined.
#[test]
fn members_in_the_canonical_spelling_are_taken_in_one_step() {
    let limits = Limits::DEFAULT;
    assert_eq!(run(",", &limits), (2, true));
    assert_eq!(run(", ", &limits), (0, false));
    assert_eq!(run(",", &limits.with_name_len(1)), (2, true));
    assert_eq!(run(",", &limits.with_name_len(0)), (0, false));
    assert_eq!(run(",", &limits.with_tensors(2)), (2, true));
    assert_eq!(run(",", &limits.with_tensors(1)), (1, false));
}

#[test]
fn white_space_between_members_in_the_canonical_spelling() {
    let entry = "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
    for space in ["", " ", "\n", "\t \r"] {
        assert_eq!(open(&std::format!("{{\"a\":{entry},{space}\"b\":{entry}{space}}}")), Ok((false, false, 2)));
        let error = open(&std::format!("{{\"a\":{entry},{space}}}")).unwrap_err();
        let at = num::widen(8 + 6 + entry.len() + space.len());
        assert_eq!((error.kind(), error.at()), (ErrorKind::JsonKey, at), "{space:?}");
    }
}

/// The corpus's names that collide do so: the quick hash gives up, and what stands twice is still found.
#[test]
fn a_hundred_names_that_collide_take_the_keyed_hash() {
    let file = include_bytes!("../../../../corpus/accept/names-that-collide.safetensors");
    let mut slots = std::vec![Slot::EMPTY; 100];
    let header = Header::open_in(file, num::widen(file.len()), &mut slots, &Limits::DEFAULT).unwrap();
    assert!(matches!(header.lookup, Lookup::Keyed(..)), "{:?}", header.lookup);
    for info in header.tensors() {
        assert_eq!(header.tensor(info.name().as_str().unwrap()).unwrap().entry_at(), info.entry_at());
    }
    assert_eq!(header.tensor("0000000!").err(), Some(NotFound));
    let escaped = br#"{"\u0062":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
    let mut file = num::widen(escaped.len()).to_le_bytes().to_vec();
    file.extend_from_slice(escaped);
    let mut slots = std::vec![Slot::EMPTY; 2];
    let header = Header::open_in(&file, num::widen(file.len()), &mut slots, &Limits::DEFAULT).unwrap();
    assert!(matches!(header.lookup, Lookup::Hashed(..)), "{:?}", header.lookup);
    assert!(header.tensor("b").is_ok() && header.tensor("a").is_ok());
}
