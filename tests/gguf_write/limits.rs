//! Every limit at n - 1, n and n + 1, the same for the writer as for the reader.

use tensorgate::gguf::{GgmlType, Header, PairSpec, Plan, PlanError, TensorSpec, WriteOptions};
use tensorgate::{ErrorKind, Limits};

/// The writer under a limit, and the reader under the same one over the file that the writer makes without it.
#[track_caller]
fn both(pairs: &[PairSpec<'_>], tensors: &[TensorSpec<'_>], limits: Limits, want: Option<(PlanError, ErrorKind)>) {
    let outcome = Plan::new(pairs, tensors, &WriteOptions::default().with_limits(limits));
    assert_eq!(outcome.map(|_| ()), want.map_or(Ok(()), |(error, _)| Err(error)));
    let free = Limits::default().with_gguf_name_len(1000);
    let free = Plan::new(pairs, tensors, &WriteOptions::default().with_limits(free)).unwrap();
    let read = Header::open(free.header(), free.file_len(), &limits);
    assert_eq!(read.map(|_| ()).map_err(|e| e.kind()), want.map_or(Ok(()), |(_, kind)| Err(kind)));
}

#[test]
fn counts() {
    let names = ["a", "b", "c"];
    let pairs = names.map(|key| PairSpec::new(key, 1_u8));
    let tensors = names.map(|name| TensorSpec::new(name, GgmlType::F32, &[0]));
    let limits = Limits::default().with_metadata_keys(2).with_tensors(2);
    both(&pairs[..1], &tensors[..1], limits, None);
    both(&pairs[..2], &tensors[..2], limits, None);
    both(&pairs, &tensors[..2], limits, Some((PlanError::Pairs { limit: 2 }, ErrorKind::GgPairLimit)));
    both(&pairs[..2], &tensors, limits, Some((PlanError::Tensors { limit: 2 }, ErrorKind::GgTensorLimit)));
    // A pair that the writer adds is counted too.
    let options = WriteOptions::default().with_limits(limits).with_alignment(8);
    assert!(Plan::new(&pairs[..1], &tensors[..1], &options).is_ok());
    assert_eq!(Plan::new(&pairs[..2], &tensors[..1], &options).unwrap_err(), PlanError::Pairs { limit: 2 });
}

#[test]
fn lengths_of_texts() {
    let limits = Limits::default().with_key_len(5).with_string_len(5).with_gguf_name_len(5);
    for (text, over) in [("four", false), ("é日", false), ("fiv_e", false), ("sixsix", true), ("日日", true)] {
        if text.is_ascii() {
            let want = over.then_some((PlanError::KeyLen { index: 0, limit: 5 }, ErrorKind::GgKeyLimit));
            both(&[PairSpec::new(text, 1_u8)], &[], limits, want);
        }
        let want = over.then_some((PlanError::StringLen { index: 1, limit: 5 }, ErrorKind::GgStringLimit));
        let first = PairSpec::new("a", "");
        both(&[first, PairSpec::new("b", text)], &[], limits, want);
        both(&[first, PairSpec::new("b", &["", text])], &[], limits, want);
        both(&[first, PairSpec::new("b", &[String::new(), text.to_owned()])], &[], limits, want);
        both(&[first, PairSpec::new("b", &[text.as_bytes()])], &[], limits, want);
        let want = over.then_some((PlanError::NameLen { index: 0, limit: 5 }, ErrorKind::GgNameLimit));
        both(&[], &[TensorSpec::new(text, GgmlType::F32, &[0])], limits, want);
    }
}

#[test]
fn arrays_and_ranks() {
    let limits = Limits::default().with_array_len(3).with_gguf_rank(2);
    let array = [1_u16; 4];
    let texts = [""; 4];
    for (len, over) in [(0, false), (2, false), (3, false), (4, true)] {
        let want = over.then_some((PlanError::ArrayLen { index: 0, limit: 3 }, ErrorKind::GgArrayLimit));
        both(&[PairSpec::new("n", &array[..len])], &[], limits, want);
        both(&[PairSpec::new("t", &texts[..len])], &[], limits, want);
    }
    for (dims, over) in [(&[1][..], false), (&[1, 1], false), (&[1, 1, 1], true)] {
        let want = over.then_some((PlanError::Rank { index: 0, limit: 2 }, ErrorKind::GgRankLimit));
        both(&[], &[TensorSpec::new("w", GgmlType::F32, dims)], limits, want);
    }
}

/// The header alone is counted, wherever it crosses the limit.
#[test]
fn the_whole_header() {
    let pairs = [PairSpec::new("key", "value"), PairSpec::new("list", &[1.5_f64; 3])];
    let tensors = [TensorSpec::new("w", GgmlType::Q8_0, &[2, 32]), TensorSpec::new("v", GgmlType::F32, &[3])];
    let len = Plan::new(pairs, tensors, &WriteOptions::default()).unwrap().header().len() as u64;
    for limit in 0..len + 2 {
        let limits = Limits::default().with_metadata_len(limit);
        let over = (PlanError::HeaderLen { limit }, ErrorKind::GgMetadataLimit);
        both(&pairs, &tensors, limits, (limit < len).then_some(over));
    }
}

/// An array that is longer than a header may be is not copied first.
#[test]
fn a_long_array_is_refused_at_once() {
    let long = vec![0_u8; 1 << 20];
    let options = WriteOptions::default().with_limits(Limits::default().with_metadata_len(1 << 20));
    let pairs = [PairSpec::new("k", &long[..])];
    let tensors = std::iter::empty::<TensorSpec<'_>>();
    let (outcome, _, bytes) = crate::memory::counted(|| Plan::new(pairs, tensors, &options).map(|_| ()));
    assert_eq!(outcome, Err(PlanError::HeaderLen { limit: 1 << 20 }));
    assert!(bytes < 1000, "{bytes}");
}
