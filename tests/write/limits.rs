//! Every limit at n - 1, n and n + 1, the same for the writer as for the reader; and the largest header there is.

use tensorgate::safetensors::{Header, NO_METADATA, Plan, PlanError, TensorSpec, serialize};
use tensorgate::{Dtype, ErrorKind, Limits, SafeTensors, TensorView};

const ZERO: [u64; 1] = [0];

/// The writer under a limit, and the reader under the same one over the file that the writer makes without it.
#[track_caller]
fn both<'a, 'm>(
    tensors: impl Iterator<Item = TensorSpec<'a>> + Clone,
    pairs: impl Iterator<Item = (&'m str, &'m str)> + Clone,
    limits: Limits,
    want: Option<(PlanError, ErrorKind)>,
) {
    let outcome = Plan::new(tensors.clone(), Some(pairs.clone()), &limits);
    assert_eq!(outcome.map(|_| ()), want.map_or(Ok(()), |(error, _)| Err(error)));
    let free = Plan::new(tensors, Some(pairs), &Limits::default()).unwrap();
    let read = Header::open(free.prefix(), free.file_len(), &limits);
    assert_eq!(read.map(|_| ()).map_err(|e| e.kind()), want.map_or(Ok(()), |(_, kind)| Err(kind)));
}

fn nothing() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    std::iter::empty()
}

#[test]
fn tensors() {
    let names = ["a", "b", "c", "d", "e"];
    let specs = |count| names.into_iter().take(count).map(|name| TensorSpec::new(name, Dtype::U8, &ZERO));
    let limits = Limits::default().with_tensors(4);
    both(specs(3), nothing(), limits, None);
    both(specs(4), nothing(), limits, None);
    both(specs(5), nothing(), limits, Some((PlanError::Tensors { limit: 4 }, ErrorKind::StTensorLimit)));
    let none = Limits::default().with_tensors(0);
    both(specs(0), nothing(), none, None);
    both(specs(1), nothing(), none, Some((PlanError::Tensors { limit: 0 }, ErrorKind::StTensorLimit)));
}

#[test]
fn rank() {
    let dims = [1_u64; 6];
    let specs = |rank: usize| [TensorSpec::new("w", Dtype::U8, &dims[..rank])].into_iter();
    let limits = Limits::default().with_rank(5);
    both(specs(4), nothing(), limits, None);
    both(specs(5), nothing(), limits, None);
    let over = PlanError::Rank { index: 0, limit: 5 };
    both(specs(6), nothing(), limits, Some((over, ErrorKind::StRankLimit)));
    both(specs(0), nothing(), Limits::default().with_rank(0), None);
}

/// Counted as the name stands in the header: escapes are longer than what they say.
#[test]
fn name_len() {
    let limits = Limits::default().with_name_len(12);
    for (shorter, exact, longer) in [
        ("elevenbytes", "twelve bytes", "thirteen byte"),
        ("日本日ab", "日本日本", "日本日本a"),
        ("a\n\n\n\n\n", "\n\n\n\n\n\n", "\n\n\n\n\n\na"),
        ("\u{1}\"abc", "\u{1}\u{1f}", "\u{1}\u{1f}\u{7f}"),
    ] {
        let specs = |name| [TensorSpec::new(name, Dtype::U8, &ZERO)].into_iter();
        both(specs(shorter), nothing(), limits, None);
        both(specs(exact), nothing(), limits, None);
        let over = PlanError::NameLen { index: 0, limit: 12 };
        both(specs(longer), nothing(), limits, Some((over, ErrorKind::StNameLimit)));
    }
}

#[test]
fn metadata_keys() {
    let pairs = |count| ["a", "b", "c", "d"].into_iter().map(|key| (key, "")).take(count);
    let limits = Limits::default().with_metadata_keys(3);
    let tensors = std::iter::empty::<TensorSpec<'_>>;
    both(tensors(), pairs(2), limits, None);
    both(tensors(), pairs(3), limits, None);
    let over = PlanError::MetadataKeys { limit: 3 };
    both(tensors(), pairs(4), limits, Some((over, ErrorKind::StMetadataLimit)));
}

/// The limit is on the padded header, whose length is a multiple of eight.
#[test]
fn header_len() {
    let pairs = |value: &'static str| [("k", value)].into_iter();
    let tensors = std::iter::empty::<TensorSpec<'_>>;
    // {"__metadata__":{"k":"…"}} takes 25 bytes and the value.
    let (shorter, exact, longer) = ("123456", "1234567", "12345678");
    let over = Some((PlanError::HeaderLen { limit: 32 }, ErrorKind::StHeaderLimit));
    both(tensors(), pairs(shorter), Limits::default().with_header_len(32), None);
    both(tensors(), pairs(exact), Limits::default().with_header_len(32), None);
    both(tensors(), pairs(longer), Limits::default().with_header_len(32), over);
    for limit in 24..48 {
        let limits = Limits::default().with_header_len(limit);
        let over = Some((PlanError::HeaderLen { limit }, ErrorKind::StHeaderLimit));
        both(tensors(), pairs(exact), limits, if limit < 32 { over } else { None });
        both(tensors(), pairs(longer), limits, if limit < 40 { over } else { None });
    }
    // A limit that is no multiple of eight leaves no room for the padding, as the reader sees it too.
    let spec = [TensorSpec::new("a", Dtype::U8, &ZERO)].into_iter();
    let plan = Plan::new(spec.clone(), NO_METADATA, &Limits::default()).unwrap();
    assert_eq!(plan.header().len(), 56);
    assert!(Plan::new(spec, NO_METADATA, &Limits::default().with_header_len(55)).is_err());
}

/// Nothing is kept that a header could not hold: callers without an end are refused.
#[test]
fn callers_without_an_end() {
    let spec = TensorSpec::new("w", Dtype::U8, &ZERO);
    // The entries of a file take 50 bytes at the least for such a tensor, and 5 for a pair: they come upon the first limit
    // exactly, and pass the second.
    for limit in [10_000, 10_001] {
        let limits = Limits::default().with_header_len(limit);
        let outcome = Plan::new(std::iter::repeat(spec), NO_METADATA, &limits);
        assert_eq!(outcome.unwrap_err(), PlanError::HeaderLen { limit });
        let outcome = Plan::new([spec], Some(std::iter::repeat(("", ""))), &limits);
        assert_eq!(outcome.unwrap_err(), PlanError::HeaderLen { limit });
    }
}

/// A header of exactly 100,000,000 bytes is written and read; with a byte more of text it would be eight longer, and is
/// not written. The reference writer draws the line at the same value.
#[test]
fn the_largest_header() {
    const LEAST: usize = r#"{"__metadata__":{"k":""}}"#.len();
    let value = "a".repeat(100_000_000 - LEAST + 1);
    let none = std::iter::empty::<TensorView<'_>>;
    let file = serialize(none(), Some([("k", &value[1..])])).unwrap();
    assert_eq!(file.len(), 100_000_008);
    let read = SafeTensors::open(&file).unwrap();
    assert_eq!(read.header().json().len(), 100_000_000);
    assert!(read.metadata().unwrap().get("k").unwrap() == value[1..]);
    drop(file);
    let outcome = serialize(none(), Some([("k", &value)]));
    assert_eq!(outcome, Err(PlanError::HeaderLen { limit: 100_000_000 }.into()));
}
