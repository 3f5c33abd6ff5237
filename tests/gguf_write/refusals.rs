//! What no reader would take is not written, and the error says which pair or tensor it is.

use tensorgate::Gguf;
use tensorgate::gguf::{
    Endian, GgmlType, NO_PAIRS, PairSpec, Plan, PlanError, TensorSpec, WriteError, WriteOptions, serialize,
};

/// The largest signed number.
const EDGE: u64 = u64::MAX >> 1;

const NO_TENSORS: [TensorSpec<'static>; 0] = [];

fn pair(key: &str) -> PairSpec<'_> {
    PairSpec::new(key, 1_u8)
}

fn tensor(name: &str) -> TensorSpec<'_> {
    TensorSpec::new(name, GgmlType::F32, &[1])
}

#[track_caller]
fn pairs<const N: usize>(pairs: [PairSpec<'_>; N], want: PlanError) {
    let outcome = Plan::new(pairs, NO_TENSORS, &WriteOptions::default());
    assert_eq!(outcome.map(|plan| plan.file_len()), Err(want));
    assert!(!want.to_string().is_empty());
}

#[track_caller]
fn tensors<const N: usize>(tensors: [TensorSpec<'_>; N], want: PlanError) {
    let outcome = Plan::new(NO_PAIRS, tensors, &WriteOptions::default());
    assert_eq!(outcome.map(|plan| plan.file_len()), Err(want));
    assert!(!want.to_string().is_empty());
}

#[test]
fn duplicate_keys_and_names() {
    pairs([pair("a"), pair("b"), pair("a")], PlanError::DuplicateKey { index: 2, first: 0 });
    pairs([pair("z"), pair("a"), pair("z"), pair("a")], PlanError::DuplicateKey { index: 2, first: 0 });
    pairs([pair("a"), pair("z"), pair("z"), pair("z")], PlanError::DuplicateKey { index: 2, first: 1 });
    let alignment = PairSpec::new("general.alignment", 32_u32);
    pairs([alignment, pair("a"), alignment], PlanError::DuplicateKey { index: 2, first: 0 });
    let wide = tensor("b").with_kind(GgmlType::F64);
    tensors([tensor("a"), tensor("b"), wide], PlanError::DuplicateName { index: 2, first: 1 });
    // A key and a tensor may have the same name.
    assert!(Plan::new([pair("a")], [tensor("a")], &WriteOptions::default()).is_ok());
}

#[test]
fn keys() {
    pairs([pair("a"), pair("")], PlanError::KeyEmpty { index: 1 });
    for key in ["a\0", "\n", "é", "a\u{7f}", "\u{1f}", "日本"] {
        pairs([pair("a"), pair(key)], PlanError::KeyCharset { index: 1 });
    }
    assert!(Plan::new([pair(" ~")], NO_TENSORS, &WriteOptions::default()).is_ok());
    let long = "k".repeat(65_536);
    pairs([pair(&long)], PlanError::KeyLen { index: 0, limit: 65_535 });
    assert!(Plan::new([pair(&long[1..])], NO_TENSORS, &WriteOptions::default()).is_ok());
}

#[test]
fn names() {
    tensors([tensor("a"), tensor("")], PlanError::NameEmpty { index: 1 });
    for name in ["a\0", "\n", "\u{7f}", "\u{85}x"] {
        tensors([tensor("a"), tensor(name)], PlanError::NameControl { index: 1 });
    }
    let long = "é".repeat(32);
    tensors([tensor(&long)], PlanError::NameLen { index: 0, limit: 63 });
    assert!(Plan::new(NO_PAIRS, [tensor(&long[2..])], &WriteOptions::default()).is_ok());
}

#[test]
fn the_alignment() {
    for value in [0, 3, 24, u32::MAX] {
        let options = WriteOptions::default().with_alignment(value);
        let outcome = Plan::new(NO_PAIRS, NO_TENSORS, &options);
        assert_eq!(outcome.unwrap_err(), PlanError::Alignment { alignment: value });
        pairs([PairSpec::new("general.alignment", value)], PlanError::AlignmentValue { index: 0 });
    }
    for other in [PairSpec::new("general.alignment", 32_u64), PairSpec::new("general.alignment", &[32_u32])] {
        pairs([pair("a"), other], PlanError::AlignmentValue { index: 1 });
    }
    let given = [PairSpec::new("general.alignment", 64_u32)];
    for asked in [32, 128] {
        let outcome = Plan::new(given, NO_TENSORS, &WriteOptions::default().with_alignment(asked));
        assert_eq!(outcome.unwrap_err(), PlanError::AlignmentDiffers { index: 0, asked });
    }
}

#[test]
fn strings_that_are_no_text() {
    let tokens: [&[u8]; 2] = [b"fine", b"\xc3"];
    let none = std::iter::empty::<tensorgate::gguf::TensorData<'_>>();
    let file = serialize([("t", &tokens)], none, &WriteOptions::default()).unwrap();
    let array = Gguf::open(&file).unwrap().array("t").unwrap();
    // Taken out of its array, the string would be a value that the reader refuses.
    let taken = array.strings().unwrap().nth(1).unwrap();
    pairs([pair("a"), PairSpec::new("b", taken)], PlanError::StringUtf8 { index: 1 });
}

#[test]
fn shapes() {
    let shaped = |dims: &'static [u64]| tensor("w").with_shape(dims);
    tensors([tensor("a"), shaped(&[1; 5])], PlanError::Rank { index: 1, limit: 4 });
    // As the reader reads: 63 bits, innermost first, and a zero saves only what is outside of it.
    for dims in [
        &[EDGE + 1][..],
        &[0, EDGE + 1],
        &[EDGE, 2],
        &[2, EDGE / 2],
        &[1 << 31, 1 << 32],
        &[0, 1 << 40, 1 << 40],
        &[EDGE],
        &[1 << 62],
    ] {
        tensors([tensor("a"), shaped(dims)], PlanError::SizeOverflow { index: 1 });
        assert_eq!(shaped(dims).byte_len(), None);
    }
    for dims in [&[1 << 40, 1 << 40, 0][..], &[(1 << 61) - 9], &[]] {
        assert!(Plan::new(NO_PAIRS, [shaped(dims)], &WriteOptions::default()).is_ok(), "{dims:?}");
    }
    // The sum of sizes, padded.
    let huge = |name| TensorSpec::new(name, GgmlType::I8, &[EDGE]);
    tensors([huge("a"), huge("b"), huge("c")], PlanError::SizeOverflow { index: 1 });
    let near = |name| TensorSpec::new(name, GgmlType::I8, &[EDGE - 63]);
    let plan = Plan::new(NO_PAIRS, [near("a")], &WriteOptions::default()).unwrap();
    assert_eq!(plan.file_len(), EDGE - 63 + 64);
    // The data fits 64 bits, the file with its header does not.
    let rest = TensorSpec::new("c", GgmlType::I8, &[64 + 31]);
    tensors([near("a"), near("b"), rest], PlanError::FileLen);
}

#[test]
fn rows_that_are_no_whole_blocks() {
    for kind in GgmlType::ALL {
        let block = u64::from(kind.block_elements().unwrap());
        for (row, fits) in [(block, true), (block * 3, true), (0, true), (block + 1, block == 1), (1, block == 1)] {
            let dims = [block, row];
            let spec = TensorSpec::new("w", *kind, &dims);
            let outcome = Plan::new(NO_PAIRS, [tensor("a"), spec], &WriteOptions::default());
            let want = if fits { Ok(()) } else { Err(PlanError::RowBlocks { index: 1, kind: *kind }) };
            assert_eq!(outcome.map(|_| ()), want, "{kind} {row}");
            assert_eq!(spec.byte_len().is_some(), fits);
            assert_eq!((spec.with_name("v").name(), spec.with_name("v").kind()), ("v".into(), *kind));
        }
    }
    // A scalar is one element.
    tensors([TensorSpec::new("w", GgmlType::Q8_0, &[])], PlanError::RowBlocks { index: 0, kind: GgmlType::Q8_0 });
}

#[test]
fn types_that_are_none() {
    for id in [4, 5, 31, 33, 38, 43, 133, u32::MAX] {
        let kind = GgmlType::from_id(id);
        tensors([tensor("a"), tensor("b").with_kind(kind)], PlanError::Type { index: 1, kind });
    }
}

#[test]
fn wrong_byte_counts() {
    let q = TensorSpec::new("q", GgmlType::Q4_0, &[2, 32]);
    for given in [&[][..], &[0; 35], &[0; 37]] {
        let outcome =
            serialize(NO_PAIRS, [tensor("a").with_bytes(&[0; 4]), q.with_bytes(given)], &WriteOptions::DEFAULT);
        assert_eq!(outcome, Err(WriteError::ByteCount { index: 1, expected: 36, given: given.len() as u64 }));
    }
}

#[test]
fn bytes_of_the_other_byte_order() {
    let own = tensor("a").with_bytes(&[1, 2, 3, 4]);
    let bytes = TensorSpec::new("b", GgmlType::I8, &[2]).with_bytes(&[5, 6]);
    let little = WriteOptions::default();
    let big = little.with_endian(Endian::Big);
    for (from, to) in [(little, big), (big, little)] {
        let file = serialize(NO_PAIRS, [own, bytes], &from).unwrap();
        let read = Gguf::open(&file).unwrap();
        let outcome = serialize(read.pairs(), read.tensors(), &to);
        assert_eq!(outcome, Err(WriteError::Plan(PlanError::ByteOrder { index: 0 })));
        // Single bytes have no order, and who gives the bytes says that they are right.
        assert!(serialize(read.pairs(), read.tensors().skip(1), &to).is_ok());
        assert!(
            serialize(NO_PAIRS, read.tensors().map(|t| TensorSpec::from(t).with_bytes(t.bytes())), &to).is_ok()
        );
    }
}
