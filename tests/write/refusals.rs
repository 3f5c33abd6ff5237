//! What no reader would take is not written, and the error says which tensor it is.

use tensorgate::safetensors::{NO_METADATA, Plan, PlanError, TensorSpec, WriteError, serialize};
use tensorgate::{Dtype, ErrorKind, Limits, SafeTensors};

use crate::common::file;

fn u8s(name: &str) -> TensorSpec<'_> {
    TensorSpec::new(name, Dtype::U8, &[1])
}

#[track_caller]
fn refused<const N: usize>(tensors: [TensorSpec<'_>; N], want: PlanError) {
    let outcome = Plan::new(tensors, NO_METADATA, &Limits::default());
    assert_eq!(outcome.map(|plan| plan.file_len()), Err(want));
}

#[test]
fn duplicate_names() {
    refused([u8s("a"), u8s("b"), u8s("a")], PlanError::DuplicateName { index: 2, first: 0 });
    // In another dtype too, which the order puts far apart.
    let wide = u8s("a").with_dtype(Dtype::F64);
    refused([u8s("x"), wide, u8s("b"), u8s("a")], PlanError::DuplicateName { index: 3, first: 1 });
    // The first in the caller's order, whatever the names.
    refused([u8s("z"), u8s("a"), u8s("z"), u8s("a")], PlanError::DuplicateName { index: 2, first: 0 });
    refused([u8s("z"), u8s("z"), u8s("z")], PlanError::DuplicateName { index: 1, first: 0 });
    refused([u8s(""), u8s("")], PlanError::DuplicateName { index: 1, first: 0 });
}

/// A name as another file spells it is the same name.
#[test]
fn duplicate_names_spelt_otherwise() {
    let other = file(r#"{"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, &[0]);
    let other = SafeTensors::open(&other).unwrap();
    let shown = TensorSpec::from(other.tensor("a").unwrap());
    refused([u8s("a"), shown], PlanError::DuplicateName { index: 1, first: 0 });
    let other = file(r#"{"__metadata__":{"\u0061":"","b":""}}"#, &[]);
    let other = SafeTensors::open(&other).unwrap();
    let keys = other.metadata().unwrap().iter().chain([("a".into(), "".into())]);
    let outcome = Plan::new::<TensorSpec<'_>, _, _, _>([], Some(keys), &Limits::default());
    assert_eq!(outcome.unwrap_err(), PlanError::DuplicateKey { index: 2, first: 0 });
}

#[test]
fn the_reserved_name() {
    refused([u8s("a"), u8s("__metadata__")], PlanError::ReservedName { index: 1 });
}

#[test]
fn sizes_that_do_not_fit() {
    const HUGE: u64 = 1 << 40;
    let sized = |shape: &'static [u64]| u8s("w").with_shape(shape);
    refused([u8s("a"), sized(&[HUGE, HUGE])], PlanError::SizeOverflow { index: 1 });
    // As the reference multiplies: a zero saves only what comes after it.
    refused([sized(&[HUGE, HUGE, 0])], PlanError::SizeOverflow { index: 0 });
    assert!(Plan::new([sized(&[0, HUGE, HUGE])], NO_METADATA, &Limits::default()).is_ok());
    // The bits must fit too, as the reader and the reference ask.
    refused([sized(&[1 << 61])], PlanError::SizeOverflow { index: 0 });
    assert!(Plan::new([sized(&[(1 << 61) - 1])], NO_METADATA, &Limits::default()).is_ok());
    refused([sized(&[1 << 58]).with_dtype(Dtype::F64)], PlanError::SizeOverflow { index: 0 });
}

#[test]
fn a_file_longer_than_64_bits() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let most: [u64; 1] = [(1 << 61) - 1];
    let tensors = names.map(|name| u8s(name).with_shape(&most));
    // Eight of these are 2^64 - 8 bytes, with the header more than fits; seven fit.
    refused(tensors, PlanError::FileLen);
    let plan = Plan::new(&tensors[..7], NO_METADATA, &Limits::default()).unwrap();
    assert_eq!(plan.file_len(), 7 * most[0] + plan.prefix().len() as u64);
    // The data alone does not fit.
    let [first, ..] = tensors;
    let ninth = [first.with_name("i"), first.with_name("j")];
    let outcome = Plan::new(tensors.iter().chain(&ninth), NO_METADATA, &Limits::default());
    assert_eq!(outcome.unwrap_err(), PlanError::FileLen);
}

#[test]
fn bits_that_are_no_whole_bytes() {
    for (dtype, shape) in
        [(Dtype::F4, &[][..]), (Dtype::F4, &[3]), (Dtype::F6_E2M3, &[2]), (Dtype::F6_E3M2, &[1, 1])]
    {
        refused([u8s("a"), TensorSpec::new("b", dtype, shape)], PlanError::SizeBits { index: 1 });
        assert_eq!(TensorSpec::new("b", dtype, shape).byte_len(), None);
    }
    for (dtype, shape, bytes) in
        [(Dtype::F4, &[6][..], 3), (Dtype::F6_E2M3, &[2, 2], 3), (Dtype::F64, &[], 8), (Dtype::U8, &[0], 0)]
    {
        assert_eq!(TensorSpec::new("b", dtype, shape).byte_len(), Some(bytes), "{dtype}");
    }
}

#[test]
fn wrong_byte_counts() {
    let pair = |given: &'static [u8]| {
        [u8s("a").with_bytes(&[1]), TensorSpec::new("b", Dtype::F32, &[2]).with_bytes(given)]
    };
    assert!(serialize(pair(&[0; 8]), NO_METADATA).is_ok());
    for given in [&[][..], &[0; 7], &[0; 9]] {
        let want = WriteError::ByteCount { index: 1, expected: 8, given: given.len() as u64 };
        assert_eq!(serialize(pair(given), NO_METADATA), Err(want));
    }
    let scalar = TensorSpec::new("s", Dtype::I16, &[]);
    let want = WriteError::ByteCount { index: 0, expected: 2, given: 0 };
    assert_eq!(serialize([scalar.with_bytes(&[])], NO_METADATA), Err(want));
}

#[test]
fn duplicate_keys() {
    let pairs = [("b", "1"), ("a", "2"), ("b", "1"), ("a", "3")];
    let outcome = Plan::new([u8s("w")], Some(pairs), &Limits::default());
    assert_eq!(outcome.unwrap_err(), PlanError::DuplicateKey { index: 2, first: 0 });
}

/// For each refusal, the file that a careless writer would have made is one that our reader refuses.
#[test]
fn the_reader_refuses_the_same() {
    let entry = |name: &str, dtype: &str, shape: &str, begin: u64, end: u64| {
        format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":[{shape}],\"data_offsets\":[{begin},{end}]}}")
    };
    let one = entry("a", "U8", "1", 0, 1);
    for (entries, kind) in [
        ([one.clone(), entry("a", "U8", "1", 1, 2)], ErrorKind::StDupName),
        ([one.clone(), entry("__metadata__", "U8", "1", 1, 2)], ErrorKind::StMetadataValue),
        ([one.clone(), entry("b", "U8", "1099511627776,1099511627776", 1, 2)], ErrorKind::StSizeOverflow),
        ([one.clone(), entry("b", "U8", "2305843009213693952", 1, 2)], ErrorKind::StSizeOverflow),
        ([one.clone(), entry("b", "F4", "3", 1, 2)], ErrorKind::StSizeBits),
        ([one.clone(), entry("b", "F32", "2", 1, 2)], ErrorKind::StSizeMismatch),
        ([one, "\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}".to_owned()], ErrorKind::StDupMetadataKey),
    ] {
        let file = file(&format!("{{{}}}", entries.join(",")), &[0; 2]);
        assert_eq!(SafeTensors::open(&file).unwrap_err().kind(), kind);
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let wrapped: WriteError = PlanError::DuplicateName { index: 3, first: 1 }.into();
    assert_eq!(wrapped.to_string(), "tensors 1 and 3 have the same name");
    assert!(std::error::Error::source(&wrapped).is_some());
    let count: WriteError = WriteError::ByteCount { index: 2, expected: 8, given: 7 };
    assert_eq!(count.to_string(), "tensor 2 needs 8 bytes and was given 7");
    let sink = WriteError::Sink(std::io::Error::other("disk full"));
    assert_eq!(sink.to_string(), "the bytes could not be written: disk full");
    assert_eq!(std::error::Error::source(&sink).unwrap().to_string(), "disk full");
}
