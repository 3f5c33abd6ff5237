//! Values of GGUF metadata beside one another: what is equal, what is counted, and what is said of them.

#![cfg(feature = "alloc")]

mod common;

use common::gguf::Writer;
use tensorgate::Gguf;
use tensorgate::gguf::{ValueError, ValueType};

/// Pairs of arrays, under the keys `a`, `b` and so on.
fn file(arrays: &[(ValueType, u64, &[u8])]) -> Vec<u8> {
    let mut writer = Writer::new(0, arrays.len() as u64);
    for (key, (kind, count, bytes)) in ('a'..).zip(arrays) {
        writer.key(&key.to_string(), ValueType::Array).array(*kind, *count).raw(bytes);
    }
    writer.0
}

#[test]
fn arrays_are_equal_by_type_count_and_elements() {
    let file = file(&[
        (ValueType::U8, 2, &[1, 2]),
        (ValueType::U8, 2, &[1, 2]),
        (ValueType::I8, 2, &[1, 2]),
        (ValueType::U8, 2, &[1, 3]),
        (ValueType::U8, 1, &[1]),
        (ValueType::U8, 3, &[1, 2, 0]),
        (ValueType::U8, 0, &[]),
        (ValueType::I8, 0, &[]),
    ]);
    let file = Gguf::open(&file).unwrap();
    let first = file.array("a").unwrap();
    assert!(first == file.array("b").unwrap());
    for other in ["c", "d", "e", "f", "g", "h"] {
        assert!(first != file.array(other).unwrap(), "{other}");
    }
    // Without elements the types still differ.
    assert!(file.array("g").unwrap() != file.array("h").unwrap());
}

#[test]
fn iterators_say_how_many_are_left() {
    let file =
        file(&[(ValueType::U16, 3, &[1, 0, 2, 0, 3, 0]), (ValueType::String, 1, &[1, 0, 0, 0, 0, 0, 0, 0, b'x'])]);
    let file = Gguf::open(&file).unwrap();
    let array = file.array("a").unwrap();
    let (mut values, mut elements) = (array.iter(), array.elements::<u16>().unwrap());
    for left in (0..=3).rev() {
        assert_eq!((values.size_hint(), elements.size_hint()), ((left, Some(left)), (left, Some(left))));
        assert_eq!((values.next().is_some(), elements.next().is_some()), (left > 0, left > 0));
    }
    let strings = file.array("b").unwrap();
    let text = strings.strings().unwrap().next().unwrap();
    assert!(text == *"x" && text == "x" && text != *"y" && text != "");
    let mut words = [0; 1];
    let index = strings.index_in(&mut words).unwrap();
    assert_eq!((index.len(), index.is_empty()), (1, false));
    assert_eq!(index.get(0).unwrap().as_str(), Ok("x"));
    assert!(index.get(1).is_none());
}

#[test]
fn errors_say_what_is_wrong() {
    let file = file(&[(ValueType::U16, 1, &[1, 0])]);
    let file = Gguf::open(&file).unwrap();
    let error = file.u64("a").unwrap_err();
    assert_eq!(error, ValueError::Type(ValueType::Array));
    assert!(error.to_string().ends_with(&ValueType::Array.to_string()) && error.to_string().len() > 12);
    let texts =
        [ValueError::Missing, ValueError::Utf8, ValueError::IndexTooSmall(7)].map(|error| error.to_string());
    assert!(texts[0].contains("key") && texts[1].contains("UTF-8") && texts[2].contains('7'), "{texts:?}");
    let kinds: std::collections::BTreeSet<String> =
        (0..13).map(|id| ValueType::from_id(id).unwrap().to_string()).collect();
    assert_eq!(kinds.len(), 13);
    assert!(kinds.iter().all(|kind| !kind.is_empty()));
}

#[test]
fn an_index_of_no_strings_is_empty() {
    let file = file(&[(ValueType::String, 0, &[])]);
    let file = Gguf::open(&file).unwrap();
    let array = file.array("a").unwrap();
    assert!(array.index_in(&mut []).unwrap().is_empty());
}
