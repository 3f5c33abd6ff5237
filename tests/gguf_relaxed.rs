//! GGUF files that only relaxed limits accept: what is tolerated, how it is reported, and what still is refused.

#![cfg(feature = "alloc")]

mod common;

use common::gguf::{Writer, lax};
use common::{bytes, cases};
use tensorgate::gguf::{GgmlType, Header, Slot, TensorError, Value, ValueError, ValueType};
use tensorgate::{Error, ErrorKind, Gguf, Limits};

/// What was tolerated, or the verdict.
type Used = Result<Vec<(&'static str, u64, u64)>, (ErrorKind, u64)>;

/// What was tolerated: code without its prefix, place, count.
fn used(file: &[u8], limits: &Limits) -> Used {
    let header = Header::open(file, file.len() as u64, limits).map_err(|error| (error.kind(), error.at()))?;
    let records: Vec<_> = header.relaxed().map(|used| (&used.code()[3..], used.at(), used.count())).collect();
    for record in header.relaxed() {
        let shown = record.to_string();
        assert!(shown.starts_with(record.code()), "{shown}");
        assert!(shown.len() < 160 && shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{shown}");
    }
    Ok(records)
}

fn verdict(file: &[u8], limits: &Limits) -> Result<(), (ErrorKind, u64)> {
    Gguf::open_with(file, limits).map(|_| ()).map_err(|error: Error| (error.kind(), error.at()))
}

#[test]
fn relaxing_never_refuses_and_reports_what_it_used() {
    let single = [
        (Limits::default().with_gguf_nested_arrays(8), &[ErrorKind::GgArrayNested][..]),
        (Limits::default().with_gguf_invalid_utf8(true), &[ErrorKind::GgStringUtf8]),
        (Limits::default().with_gguf_unknown_types(true), &[ErrorKind::GgTypeUnknown, ErrorKind::GgTypeRemoved]),
        (Limits::default().with_gguf_trailing(true), &[ErrorKind::GgDataTrailing]),
        (Limits::default().with_gguf_name_len(1000), &[ErrorKind::GgNameLimit]),
    ];
    let mut reached = std::collections::BTreeSet::new();
    for case in cases("gguf.json") {
        let file = bytes(&case);
        let strict = verdict(&file, &Limits::default());
        assert_eq!(strict.is_ok(), case["strict_expected"] == "ok", "{}", case["name"]);
        for (limits, kinds) in &single {
            let relaxed = verdict(&file, limits);
            match strict {
                // Accepted before: accepted now, and nothing was used.
                Ok(()) => assert_eq!((relaxed, used(&file, limits)), (Ok(()), Ok(vec![])), "{}", case["name"]),
                // What is not relaxed keeps its verdict.
                Err((kind, _)) if !kinds.contains(&kind) => assert_eq!(relaxed, strict, "{}", case["name"]),
                Err((kind, at)) => {
                    if relaxed.is_ok() {
                        let records = used(&file, limits).unwrap();
                        assert_eq!((records[0].0, records[0].1), (&kind.code()[3..], at), "{}", case["name"]);
                        reached.insert(kind);
                    }
                }
            }
        }
        if strict.is_ok() {
            assert_eq!(used(&file, &lax()), Ok(vec![]), "{}", case["name"]);
        }
    }
    let all: Vec<_> = single.iter().flat_map(|(_, kinds)| *kinds).copied().collect();
    assert!(all.iter().all(|kind| reached.contains(kind)), "{reached:?}");
}

#[test]
fn text_that_is_none_is_kept_as_bytes() {
    let mut writer = Writer::new(0, 2);
    writer.key("a", ValueType::String).text(b"ok\xff").key("b", ValueType::String).text(b"\xc3");
    let file = writer.0;
    assert_eq!(used(&file, &lax()), Ok(vec![("STRING-UTF8", 24 + 9 + 4 + 8 + 2, 2)]));
    let opened = Gguf::open_with(&file, &lax()).unwrap();
    assert_eq!(opened.str("a"), Err(ValueError::Utf8));
    assert!(matches!(opened.get("a"), Some(Value::String(text)) if text.bytes() == b"ok\xff"));
}

#[test]
fn long_names_are_a_relaxation() {
    let (short, long) = ("n".repeat(63), "n".repeat(64));
    let mut writer = Writer::new(2, 0);
    writer.tensor(&short, &[8], 0, 0).tensor(&long, &[8], 0, 32).data(64);
    let file = writer.0;
    let second = 24 + 8 + 63 + 4 + 8 + 4 + 8;
    assert_eq!(verdict(&file, &Limits::default()), Err((ErrorKind::GgNameLimit, second)));
    assert_eq!(used(&file, &Limits::default().with_gguf_name_len(64)), Ok(vec![("LIMIT-NAME", second, 1)]));
    assert_eq!(Gguf::open_with(&file, &lax()).unwrap().tensor(&long).unwrap().bytes().len(), 32);
}

/// A file of one pair: arrays of one array each, `levels` of them inside the first, the innermost `[7, 8]` as `u16`.
fn deep(levels: usize) -> Vec<u8> {
    let mut writer = Writer::new(0, 1);
    writer.key("k", ValueType::Array);
    (0..levels).for_each(|_| {
        writer.array(ValueType::Array, 1);
    });
    writer.array(ValueType::U16, 2).raw(&[7, 0, 8, 0]);
    writer.0
}

#[test]
fn arrays_nest_to_the_level_that_is_tolerated() {
    // Key and type take 13 bytes, each level 12.
    let place = |level: usize| 24 + 13 + 12 * level as u64;
    for levels in 0..=10_usize {
        let file = deep(levels);
        for most in 0..=10_u64 {
            let limits = Limits::default().with_gguf_nested_arrays(most);
            let most = usize::try_from(most).unwrap().min(8);
            let want = match levels {
                0 => Ok(vec![]),
                _ if levels <= most => Ok(vec![("ARRAY-NESTED", place(0), levels as u64)]),
                _ => Err((ErrorKind::GgArrayNested, place(most))),
            };
            assert_eq!(used(&file, &limits), want, "{levels} {most}");
        }
    }
    let (file, same) = (deep(8), deep(8));
    let (opened, same) = (Gguf::open_with(&file, &lax()).unwrap(), Gguf::open_with(&same, &lax()).unwrap());
    let mut array = opened.array("k").unwrap();
    assert_eq!(Some(Value::Array(array)), same.get("k"));
    for _ in 0..8 {
        assert_eq!((array.kind(), array.len()), (ValueType::Array, 1));
        array = array.get(0).unwrap().array().unwrap();
    }
    assert!(array.elements::<u16>().unwrap().eq([7, 8]));
    assert_eq!(array.at() + 4, file.len() as u64);
}

#[test]
fn nested_arrays_of_every_kind_are_walked_level_by_level() {
    let mut writer = Writer::new(0, 2);
    writer.key("k", ValueType::Array).array(ValueType::Array, 4);
    writer.array(ValueType::String, 2).text(b"one").text(b"");
    writer.array(ValueType::Array, 2).array(ValueType::Bool, 3).raw(&[1, 0, 1]).array(ValueType::Array, 0);
    writer.array(ValueType::F64, 0);
    writer.array(ValueType::U32, 1).u32(9);
    writer.key("after", ValueType::U8).raw(&[5]);
    let file = writer.0;
    assert_eq!(used(&file, &lax()), Ok(vec![("ARRAY-NESTED", 37, 3)]));
    let opened = Gguf::open_with(&file, &lax()).unwrap();
    assert_eq!(opened.u64("after"), Ok(5));
    let inner: Vec<_> = opened.array("k").unwrap().iter().map(|value| value.array().unwrap()).collect();
    let shape: Vec<_> = inner.iter().map(|array| (array.kind(), array.len())).collect();
    let kinds = [(ValueType::String, 2), (ValueType::Array, 2), (ValueType::F64, 0), (ValueType::U32, 1)];
    assert_eq!(shape, kinds);
    assert!(inner[0].strings().unwrap().map(|text| text.as_str().unwrap()).eq(["one", ""]));
    let bools = inner[1].get(0).unwrap().array().unwrap();
    assert!(bools.elements::<bool>().unwrap().eq([true, false, true]));
    assert_eq!(inner[1].get(1).unwrap().array().unwrap().len(), 0);
    assert!(inner[3].elements::<u32>().unwrap().eq([9]));
    // A reader of ranges gets there in steps that each ask for more, and no cut file is accepted.
    for have in 0..file.len() {
        let error = Header::open(&file[..have], file.len() as u64, &lax()).unwrap_err();
        assert!(error.needs().is_some_and(|needs| needs > have as u64 && needs <= file.len() as u64), "{have}");
        assert!(Gguf::open_with(&file[..have], &lax()).is_err());
    }
}

#[test]
fn counts_of_nested_arrays_are_claims() {
    let lie = |count: u64| {
        let mut writer = Writer::new(0, 1);
        writer.key("k", ValueType::Array).array(ValueType::Array, 1).array(ValueType::Array, count).raw(&[0; 24]);
        verdict(&writer.0, &lax())
    };
    // Two empty arrays of u8 fit the 24 bytes.
    assert_eq!(lie(2), Ok(()));
    for count in [3, 1 << 30, u64::MAX / 12, u64::MAX] {
        let kind = if count > 1 << 30 { ErrorKind::GgArrayLimit } else { ErrorKind::GgArrayPastEnd };
        assert_eq!(lie(count), Err((kind, 24 + 13 + 12 + 4)), "{count}");
    }
    let mut writer = Writer::new(0, 1);
    writer.key("k", ValueType::Array).array(ValueType::Array, 1).array(ValueType::Bool, 1).raw(&[2]);
    assert_eq!(verdict(&writer.0, &lax()), Err((ErrorKind::GgBool, 24 + 13 + 24)));
    let mut writer = Writer::new(0, 1);
    writer.key("k", ValueType::Array).array(ValueType::Array, 1).u32(13).u64(0);
    assert_eq!(verdict(&writer.0, &lax()), Err((ErrorKind::GgArrayType, 24 + 13 + 12)));
}

/// `a` of an unknown type and 40 elements at 0, `b` of 8 singles at the given offset, in so many bytes of data.
/// What is asked for inside an array of arrays has all in it that is known to follow: the arrays left, then the pairs left.
#[test]
fn what_follows_a_nested_array_is_counted_on() {
    let mut writer = Writer::new(0, 3);
    writer.key("k", ValueType::Array).array(ValueType::Array, 3);
    let inner = writer.0.len();
    for _ in 0..3 {
        writer.array(ValueType::U8, 0);
    }
    let (array, pair) = (12, 8 + 1 + 4 + 1);
    for _ in 0..2 {
        writer.key("n", ValueType::U8).raw(&[1]);
    }
    let file = writer.0;
    for index in 0..3 {
        for (field, len) in [(0, 4), (4, 8)] {
            let at = inner + index * array + field;
            let error = Header::open(&file[..at], file.len() as u64, &lax()).unwrap_err();
            let want = at + len + (2 - index) * array + 2 * pair;
            assert_eq!((error.kind(), error.needs()), (ErrorKind::NeedMore, Some(want as u64)), "{at}");
        }
    }
}

fn unknown(offset: u64, len: usize) -> Vec<u8> {
    let mut writer = Writer::new(2, 0);
    writer.tensor("a", &[40], 133, 0).tensor("b", &[8], 0, offset).data(len);
    writer.0
}

#[test]
fn tensors_of_unknown_types_are_listed_and_not_viewed() {
    let file = unknown(96, 128);
    let type_at = 24 + 9 + 4 + 8;
    assert_eq!(verdict(&file, &Limits::default()), Err((ErrorKind::GgTypeUnknown, type_at)));
    assert_eq!(used(&file, &lax()), Ok(vec![("TYPE-UNKNOWN", type_at, 1)]));
    let opened = Gguf::open_with(&file, &lax()).unwrap();
    let info = opened.header().tensor("a").unwrap();
    assert_eq!((info.size(), info.span().len(), info.elements()), (None, 0, 40));
    assert_eq!(info.span().start(), opened.data_offset());
    assert_eq!(opened.tensor("a").unwrap_err(), TensorError::UnknownType(GgmlType::from_id(133)));
    assert_eq!(opened.tensor("c").unwrap_err(), TensorError::NotFound);
    assert!(opened.tensor("a").unwrap_err().to_string().ends_with("not known: 133"));
    assert_eq!(opened.tensor("c").unwrap_err().to_string(), tensorgate::NotFound.to_string());
    assert_eq!((opened.len(), opened.tensors().count(), opened.header().tensors().len()), (2, 1, 2));
    let known = opened.tensor("b").unwrap();
    assert_eq!((known.bytes().len(), known.info().size()), (32, Some(32)));
    assert_eq!(known.span().end(), file.len() as u64);
}

#[test]
fn a_tensor_behind_an_unknown_one_is_aligned_ascending_and_inside() {
    let offset_at = 24 + (9 + 4 + 8 + 4 + 8) * 2 - 8;
    for (offset, want) in [
        (0, Err((ErrorKind::GgOffsetOverlap, offset_at))),
        (31, Err((ErrorKind::GgOffsetOverlap, offset_at))),
        (32, Ok(())),
        (33, Err((ErrorKind::GgOffsetGap, offset_at))),
        (64, Ok(())),
        (96, Ok(())),
        (128, Err((ErrorKind::GgDataShort, offset_at))),
        (u64::MAX, Err((ErrorKind::GgOffsetGap, offset_at))),
        (u64::MAX - 31, Err((ErrorKind::GgSizeOverflow, 24 + 33 + 9 + 4))),
    ] {
        // So much behind the last tensor that it ends the file, whatever its offset.
        let len = if offset <= 96 { usize::try_from(offset).unwrap() + 32 } else { 128 };
        assert_eq!(verdict(&unknown(offset, len), &lax().with_gguf_trailing(false)), want, "{offset}");
    }
    // What follows a tensor of a known size is exact again.
    let mut writer = Writer::new(3, 0);
    writer.tensor("a", &[1], 36, 0).tensor("b", &[8], 0, 64).tensor("c", &[8], 0, 128).data(160);
    assert_eq!(verdict(&writer.0, &lax()), Err((ErrorKind::GgOffsetGap, 24 + 33 * 3 - 8)));
    let removed = Limits::default().with_gguf_unknown_types(true);
    let mut writer = Writer::new(1, 0);
    writer.tensor("a", &[1], 36, 0).data(77);
    // Nothing can be told of the bytes behind the last one.
    assert_eq!(used(&writer.0, &removed), Ok(vec![("TYPE-REMOVED", 24 + 9 + 4 + 8, 1)]));
    let mut writer = Writer::new(1, 0);
    writer.tensor("a", &[1], 36, 0).data(0);
    assert_eq!(verdict(&writer.0, &removed), Err((ErrorKind::GgDataShort, 24 + 33 - 8)));
    let mut writer = Writer::new(1, 0);
    writer.tensor("a", &[0], 36, 0).data(0);
    assert_eq!(verdict(&writer.0, &removed), Ok(()));
}

#[test]
fn bytes_behind_the_padding_are_no_padding() {
    let mut writer = Writer::new(1, 0);
    writer.tensor("a", &[1], 0, 0).data(32);
    let end = writer.0.len() as u64;
    writer.raw(b"PK\x03\x04");
    assert_eq!(used(&writer.0, &lax()), Ok(vec![("DATA-TRAILING", end, 1)]));
    let opened = Gguf::open_with(&writer.0, &lax()).unwrap();
    assert_eq!(opened.header().padding().last().unwrap().end(), end);
    // The padding itself is still zero.
    let at = writer.0.len() - 5;
    writer.0[at] = 1;
    assert_eq!(verdict(&writer.0, &lax()), Err((ErrorKind::GgPaddingNonzero, at as u64)));
    // Without tensors, what goes on behind the alignment.
    let mut writer = Writer::new(0, 0);
    writer.data(0).raw(b"x");
    assert_eq!(used(&writer.0, &lax()), Ok(vec![("DATA-TRAILING", 32, 1)]));
    assert_eq!(verdict(&writer.0, &lax()), Ok(()));
}

#[test]
fn lent_storage_reports_the_same() {
    for case in cases("gguf.json") {
        let file = bytes(&case);
        let mut slots = vec![Slot::EMPTY; 1024];
        let lent = Header::open_in(&file, file.len() as u64, &mut slots, &lax());
        let lent =
            lent.map(|header| header.relaxed().map(|used| (&used.code()[3..], used.at(), used.count())).collect());
        assert_eq!(lent.map_err(|error| (error.kind(), error.at())), used(&file, &lax()), "{}", case["name"]);
    }
}
