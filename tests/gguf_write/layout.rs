//! The bytes themselves, as the format's document has them.

use tensorgate::Gguf;
use tensorgate::gguf::{
    Endian, GgmlType, NO_PAIRS, PairSpec, Plan, TensorData, TensorSpec, WriteOptions, serialize,
};

fn none() -> [TensorData<'static>; 0] {
    []
}

#[test]
fn nothing_at_all() {
    let file = serialize(NO_PAIRS, none(), &WriteOptions::default()).unwrap();
    assert_eq!(file, b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let big = WriteOptions::default().with_endian(Endian::Big);
    assert_eq!(serialize(NO_PAIRS, none(), &big).unwrap(), b"GGUF\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
}

#[test]
fn metadata_ends_the_file() {
    let pairs = [PairSpec::new("s", "hi"), PairSpec::new("e", &[0_u16; 0])];
    let file = serialize(pairs, none(), &WriteOptions::default()).unwrap();
    let want = [
        &b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"[..],
        b"\x01\0\0\0\0\0\0\0s\x08\0\0\0\x02\0\0\0\0\0\0\0hi",
        b"\x01\0\0\0\0\0\0\0e\x09\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0",
    ];
    assert_eq!(file, want.concat());
}

#[test]
fn both_byte_orders() {
    let pairs = || [PairSpec::new("n", &[1_u16, 0x203]), PairSpec::new("general.alignment", 8_u32)];
    let w = TensorSpec::new("w", GgmlType::I16, &[2, 1, 3]).with_bytes(&[9; 12]);
    let little = [
        &b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"[..],
        b"\x01\0\0\0\0\0\0\0n\x09\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\x01\0\x03\x02",
        b"\x11\0\0\0\0\0\0\0general.alignment\x04\0\0\0\x08\0\0\0",
        b"\x01\0\0\0\0\0\0\0w\x03\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x19\0\0\0\0\0\0\0\0\0\0\0",
    ];
    let big = [
        &b"GGUF\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02"[..],
        b"\0\0\0\0\0\0\0\x01n\0\0\0\x09\0\0\0\x02\0\0\0\0\0\0\0\x02\0\x01\x02\x03",
        b"\0\0\0\0\0\0\0\x11general.alignment\0\0\0\x04\0\0\0\x08",
        b"\0\0\0\0\0\0\0\x01w\0\0\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\x19\0\0\0\0\0\0\0\0",
    ];
    for (endian, want) in [(Endian::Little, little), (Endian::Big, big)] {
        let mut want = want.concat();
        // Padded to 8 before the data and behind it.
        want.resize(want.len().next_multiple_of(8), 0);
        want.extend([9; 12]);
        want.extend([0; 4]);
        let options = WriteOptions::default().with_endian(endian);
        assert_eq!(serialize(pairs(), [w], &options).unwrap(), want);
        // The alignment may be asked for besides.
        assert_eq!(serialize(pairs(), [w], &options.with_alignment(8)).unwrap(), want);
    }
}

#[test]
fn the_alignment_is_said_where_it_must_be() {
    let w = [TensorSpec::new("w", GgmlType::F32, &[1]).with_bytes(&[1; 4])];
    let keys = |file: &[u8]| Gguf::open(file).unwrap().pairs().map(|p| p.key().to_owned()).collect::<Vec<_>>();
    let options = WriteOptions::default();
    assert!(keys(&serialize(NO_PAIRS, w, &options).unwrap()).is_empty());
    assert!(keys(&serialize(NO_PAIRS, w, &options.with_alignment(32)).unwrap()).is_empty());
    assert_eq!(keys(&serialize([("a", 1_u8)], w, &options.with_alignment(1)).unwrap()), ["a", "general.alignment"]);
    // Where it is given it is kept, in its place, also when it says 32.
    let pairs = || [PairSpec::new("general.alignment", 32_u32), PairSpec::new("b", true)];
    assert_eq!(keys(&serialize(pairs(), w, &options).unwrap()), ["general.alignment", "b"]);
    // Of a file without tensors too.
    let file = serialize(NO_PAIRS, none(), &options.with_alignment(1 << 31)).unwrap();
    assert_eq!((file.len(), Gguf::open(&file).unwrap().alignment()), (24 + 8 + 17 + 4 + 4, 1 << 31));
}

#[test]
fn tensors_without_elements_and_scalars() {
    let tensors = [
        TensorSpec::new("empty", GgmlType::F32, &[0, 5]).with_bytes(&[]),
        TensorSpec::new("scalar", GgmlType::F64, &[]).with_bytes(&[7; 8]),
        TensorSpec::new("none", GgmlType::Q4_K, &[3, 0]).with_bytes(&[]),
    ];
    let file = serialize(NO_PAIRS, tensors, &WriteOptions::default()).unwrap();
    let read = Gguf::open(&file).unwrap();
    let spans: Vec<_> = read.tensors().map(|t| (t.span().start() - read.data_offset(), t.bytes().len())).collect();
    assert_eq!(spans, [(0, 0), (0, 8), (32, 0)]);
    assert_eq!(file.len() as u64, read.data_offset() + 32);
    // Nothing but such tensors: the header is padded all the same.
    let plan = Plan::new(NO_PAIRS, [tensors[0].spec()], &WriteOptions::default()).unwrap();
    assert_eq!(plan.alignment(), 32);
    assert_eq!((plan.data_offset(), plan.file_len()), (96, 96));
    let mut file = Vec::new();
    plan.write(&mut file, |_| []).unwrap();
    assert_eq!(file.len(), 96);
    assert!(Gguf::open(&file).is_ok());
}

/// The header can be written from a file of another format, escapes and all.
#[test]
fn names_that_another_format_spells_with_escapes() {
    let header = r#"{"\u0061\n\/é":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let file = crate::common::file(header, &[0]);
    let read = tensorgate::SafeTensors::open(&file).unwrap();
    let name = read.tensors().next().unwrap().name();
    let pairs = [PairSpec::new("k", name), PairSpec::new("plain", "a\n/é")];
    let written = serialize(pairs, none(), &WriteOptions::default()).unwrap();
    let shown = Gguf::open(&written).unwrap();
    assert_eq!(shown.str("k"), Ok("a\n/é"));
    assert_eq!(shown.str("k"), shown.str("plain"));
}
