//! GGUF files made here, in both byte orders: values, getters, limits, storage, and the offsets of errors.

#![cfg(feature = "alloc")]

mod common;

use common::{bytes, cases};
use tensorgate::gguf::{Endian, GgmlType, Header, Slot, Value, ValueError, ValueType};
use tensorgate::{Error, ErrorKind, Gguf, Limits};

/// Writes the parts of a file in one byte order.
struct Writer {
    big: bool,
    bytes: Vec<u8>,
}

impl Writer {
    fn new(endian: Endian, tensors: u64, pairs: u64) -> Self {
        let mut writer = Self { big: endian == Endian::Big, bytes: b"GGUF".to_vec() };
        writer.u32(3).u64(tensors).u64(pairs);
        writer
    }

    fn number(&mut self, little: &[u8]) -> &mut Self {
        if self.big {
            self.bytes.extend(little.iter().rev());
        } else {
            self.bytes.extend(little);
        }
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.number(&value.to_le_bytes())
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.number(&value.to_le_bytes())
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.u64(text.len() as u64).raw(text.as_bytes())
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// A key and its type; the value follows.
    fn key(&mut self, key: &str, kind: ValueType) -> &mut Self {
        self.text(key).u32(kind.id())
    }

    fn array(&mut self, key: &str, kind: ValueType, count: u64) -> &mut Self {
        self.key(key, ValueType::Array).u32(kind.id()).u64(count)
    }

    /// Dimensions innermost first.
    fn tensor(&mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> &mut Self {
        self.text(name).u32(u32::try_from(dims.len()).unwrap());
        for dim in dims {
            self.u64(*dim);
        }
        self.u32(kind).u64(offset)
    }

    fn pad(&mut self, alignment: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
        self
    }
}

fn fault(file: &[u8], limits: &Limits) -> (ErrorKind, u64, Option<u64>) {
    let error = Gguf::open_with(file, limits).unwrap_err();
    (error.kind(), error.at(), error.want())
}

#[test]
fn one_value_of_every_type() {
    let all = cases("gguf.json");
    let file = bytes(all.iter().find(|case| case["name"] == "kv_all_types").unwrap());
    let file = Gguf::open(&file).unwrap();
    let plain = [
        ("a.u8", Value::U8(1)),
        ("a.i8", Value::I8(-1)),
        ("a.u16", Value::U16(2)),
        ("a.i16", Value::I16(-2)),
        ("a.u32", Value::U32(3)),
        ("a.i32", Value::I32(-3)),
        ("a.f32", Value::F32(0.25)),
        ("a.bool", Value::Bool(true)),
        ("a.u64", Value::U64(1 << 63)),
        ("a.i64", Value::I64(-4)),
        ("a.f64", Value::F64(1e300)),
    ];
    for (key, want) in plain {
        assert_eq!(file.get(key), Some(want), "{key}");
    }
    assert_eq!(file.str("a.str"), Ok("x"));
    let array = file.array("a.arr").unwrap();
    assert!(array.strings().unwrap().map(|text| text.as_str().unwrap()).eq(["p", "q"]));
    assert!(file.pairs().map(|pair| pair.value().kind().id()).eq([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
}

#[test]
fn getters_answer_for_every_type_and_never_panic() {
    let all = cases("gguf.json");
    let file = bytes(all.iter().find(|case| case["name"] == "kv_all_types").unwrap());
    let file = Gguf::open(&file).unwrap();
    for pair in file.pairs() {
        use ValueType::{Array, Bool, F32, F64, I8, I16, I32, I64, String, U8, U16, U32, U64};
        let (key, kind) = (pair.key(), pair.value().kind());
        let wrong = ValueError::Type(kind);
        let answers = [
            (file.u64(key).err(), &[U8, U16, U32, U64][..]),
            (file.i64(key).err(), &[U8, I8, U16, I16, U32, I32, I64]),
            (file.f64(key).err(), &[F32, F64]),
            (file.bool(key).err(), &[Bool]),
            (file.str(key).err(), &[String]),
            (file.array(key).err(), &[Array]),
        ];
        for (answer, takes) in answers {
            assert_eq!(answer, if takes.contains(&kind) { None } else { Some(wrong) }, "{key}");
        }
    }
    assert_eq!(file.u64("a").unwrap_err(), ValueError::Missing);
    assert_eq!(file.str("A.STR").unwrap_err(), ValueError::Missing);
}

/// A file with every kind of array and three tensors.
fn full(endian: Endian) -> Vec<u8> {
    let mut writer = Writer::new(endian, 3, 9);
    writer.key("general.alignment", ValueType::U32).u32(64);
    writer.key("t.name", ValueType::String).text("ünïcode");
    writer.key("t.f64", ValueType::F64).number(&(-1.5e-300_f64).to_le_bytes());
    writer.array("t.u16", ValueType::U16, 3).number(&[1, 2]).number(&[3, 4]).number(&[255, 255]);
    writer.array("t.i64", ValueType::I64, 1).number(&(-9_i64).to_le_bytes());
    writer.array("t.f32", ValueType::F32, 2).number(&1.5_f32.to_le_bytes()).number(&(-0.25_f32).to_le_bytes());
    writer.array("t.bool", ValueType::Bool, 3).raw(&[1, 0, 1]);
    writer.array("t.str", ValueType::String, 3).text("a").text("").text("日本");
    writer.array("t.none", ValueType::String, 0);
    writer
        .tensor("x", &[3, 2], 0, 0)
        .tensor("empty", &[32, 0, 5], 2, 64)
        .tensor("q", &[64, 2, 1, 3], 8, 64)
        .pad(64);
    (0..6_u8).for_each(|i| {
        writer.number(&f32::from(i).to_le_bytes());
    });
    writer.pad(64).raw(&[7; 12 * 34]).pad(64);
    writer.bytes
}

#[test]
fn both_byte_orders_show_the_same() {
    for endian in [Endian::Little, Endian::Big] {
        let bytes = full(endian);
        let file = Gguf::open(&bytes).unwrap();
        assert_eq!((file.endian(), file.version(), file.alignment()), (endian, 3, 64));
        assert_eq!((file.str("t.name"), file.f64("t.f64")), (Ok("ünïcode"), Ok(-1.5e-300)));
        assert!(file.array("t.u16").unwrap().elements::<u16>().unwrap().eq([0x201, 0x403, 0xFFFF]));
        assert!(file.array("t.i64").unwrap().iter().eq([Value::I64(-9)]));
        assert!(file.array("t.f32").unwrap().elements::<f32>().unwrap().eq([1.5, -0.25]));
        assert!(file.array("t.bool").unwrap().elements::<bool>().unwrap().eq([true, false, true]));
        let strings = file.array("t.str").unwrap().strings().unwrap();
        assert!(strings.map(|text| text.as_str().unwrap()).eq(["a", "", "日本"]));
        assert!(file.array("t.none").unwrap().is_empty());
        assert_eq!(file.array("t.none").unwrap().check_utf8(), Ok(()));

        let tensors: Vec<_> = file.tensors().map(|t| (t.kind(), t.shape().to_vec(), t.bytes().len())).collect();
        let want = [
            (GgmlType::F32, vec![2, 3], 24),
            (GgmlType::Q4_0, vec![5, 0, 32], 0),
            (GgmlType::Q8_0, vec![3, 1, 2, 64], 408),
        ];
        assert_eq!(tensors, want);
        let x = file.tensor("x").unwrap();
        assert_eq!((x.span().start(), x.endian(), x.elements()), (file.data_offset(), endian, 6));
        assert_eq!(x.plain().is_some(), endian == Endian::Little);
        // The elements in the file's order and in no other; a quantised type has none.
        let big = x.as_be::<f32>().map(|values| values.iter().map(|value| value.get()).collect::<Vec<_>>());
        assert_eq!(big, (endian == Endian::Big).then(|| vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
        assert!(x.as_be::<u32>().is_none() && x.as_be::<f64>().is_none() && x.as_be::<i8>().is_none());
        assert!(file.tensor("q").unwrap().as_be::<i8>().is_none());
        let last = f32::to_bits(5.0);
        assert_eq!(x.bytes()[20..], if endian == Endian::Big { last.to_be_bytes() } else { last.to_le_bytes() });
        assert_eq!(file.tensors().last().unwrap().span().end().next_multiple_of(64), bytes.len() as u64);
    }
}

#[test]
fn slices_over_the_file_itself() {
    let (little, big) = (full(Endian::Little), full(Endian::Big));
    let (little, big) = (Gguf::open(&little).unwrap(), Gguf::open(&big).unwrap());
    let (ours, theirs) = (little.array("t.f32").unwrap(), big.array("t.f32").unwrap());
    assert!(ours.le_slice::<f32>().unwrap().iter().map(|x| x.get()).eq([1.5, -0.25]));
    assert!(theirs.be_slice::<f32>().unwrap().iter().map(|x| x.get()).eq([1.5, -0.25]));
    assert_eq!(ours, theirs);
    assert!(ours.be_slice::<f32>().is_err() && theirs.le_slice::<f32>().is_err());
    assert_eq!(ours.le_slice::<u32>().unwrap_err(), ValueError::Type(ValueType::F32));
    // A byte has no order.
    for file in [&little, &big] {
        assert_eq!(file.array("t.bool").unwrap().le_slice::<bool>().unwrap(), [true, false, true]);
        assert_eq!(file.array("t.bool").unwrap().be_slice::<bool>().unwrap(), [true, false, true]);
    }
}

#[test]
fn errors_point_at_the_field_that_lied() {
    // One pair (`k` = 7 as u32, 24 to 41) and two tensors (41 to 74 and 74 to 115), data at 128.
    let mut writer = Writer::new(Endian::Little, 2, 1);
    writer.key("k", ValueType::U32).u32(7).tensor("a", &[4], 0, 0).tensor("b", &[32, 2], 2, 32).pad(32);
    writer.raw(&[1; 16]).pad(32).raw(&[2; 36]).pad(32);
    let good = writer.bytes;
    assert!(Gguf::open(&good).is_ok());
    let lies: &[(usize, &[u8], ErrorKind, u64)] = &[
        (0, b"FUGG", ErrorKind::GgMagicReversed, 0),
        (0, b"G\0G\0", ErrorKind::GgMagicUtf16, 0),
        (0, b"PK\x03\x04", ErrorKind::GgMagic, 0),
        (4, &[0; 4], ErrorKind::GgVersion, 4),
        (4, &[4, 0, 0, 0], ErrorKind::GgVersion, 4),
        (4, &[1, 0, 0, 0], ErrorKind::GgVersion1, 4),
        (4, &[0, 0, 0, 1], ErrorKind::GgVersion1, 4),
        (4, &[0, 0, 0, 2], ErrorKind::GgVersionBig2, 4),
        (4, &[0, 0, 0, 4], ErrorKind::GgVersionSwapped, 4),
        (4, &[0, 0, 3, 0], ErrorKind::GgVersionSwapped, 4),
        (15, &[0x80], ErrorKind::GgTensorCount, 8),
        (23, &[0x80], ErrorKind::GgPairCount, 16),
        (24, &[0], ErrorKind::GgKeyEmpty, 24),
        (31, &[0x80], ErrorKind::GgKeyLimit, 24),
        (25, &[1], ErrorKind::GgStringPastEnd, 24),
        (32, b"\n", ErrorKind::GgKeyCharset, 32),
        (33, &[13], ErrorKind::GgValueType, 33),
        (33, &[7], ErrorKind::GgBool, 37),
        (41, &[0], ErrorKind::GgNameEmpty, 41),
        (41, &[64], ErrorKind::GgNameLimit, 41),
        (49, &[0xFF], ErrorKind::GgNameUtf8, 49),
        (49, &[0x7F], ErrorKind::GgNameControl, 49),
        (50, &[5], ErrorKind::GgRankLimit, 50),
        (61, &[0x80], ErrorKind::GgDimNegative, 54),
        (62, &[4], ErrorKind::GgTypeRemoved, 62),
        (62, &[43], ErrorKind::GgTypeUnknown, 62),
        (62, &[2], ErrorKind::GgRowBlocks, 54),
        (61, &[0x40], ErrorKind::GgSizeOverflow, 54),
        (102, &[0x7F], ErrorKind::GgShapeOverflow, 95),
        (66, &[32], ErrorKind::GgOffsetGap, 66),
        (82, b"a", ErrorKind::GgNameDup, 82),
        (107, &[64], ErrorKind::GgOffsetGap, 107),
        (107, &[31], ErrorKind::GgOffsetOverlap, 107),
        (95, &[200], ErrorKind::GgDataShort, 107),
        (120, &[1], ErrorKind::GgPaddingNonzero, 120),
        (144, &[1], ErrorKind::GgPaddingNonzero, 144),
        (223, &[1], ErrorKind::GgPaddingNonzero, 223),
    ];
    for (at, bytes, kind, points_at) in lies {
        let mut file = good.clone();
        file[*at..at + bytes.len()].copy_from_slice(bytes);
        let (found, found_at, _) = fault(&file, &Limits::default());
        assert_eq!((found, found_at), (*kind, *points_at), "{at}: {bytes:x?}");
    }
    let longer = [&good[..], &[0]].concat();
    assert_eq!(fault(&longer, &Limits::default()), (ErrorKind::GgDataTrailing, 224, Some(224)));
    assert_eq!(fault(&good[..195], &Limits::default()), (ErrorKind::GgDataShort, 107, Some(196)));
    assert_eq!(fault(&good[..143], &Limits::default()), (ErrorKind::GgDataShort, 66, Some(196)));
    assert_eq!(fault(&good[..127], &Limits::default()), (ErrorKind::GgPaddingShort, 115, Some(128)));
    assert_eq!(fault(&good[..114], &Limits::default()), (ErrorKind::GgEnd, 107, Some(7)));
    assert_eq!(fault(&good[..23], &Limits::default()), (ErrorKind::GgTooShort, 16, Some(7)));
}

#[test]
fn values_that_lie() {
    let open = |build: &dyn Fn(&mut Writer)| {
        let mut writer = Writer::new(Endian::Little, 0, 1);
        build(&mut writer);
        let (kind, at, _) = fault(&writer.bytes, &Limits::default());
        (kind, at)
    };
    // The key's length stands at 24, its byte at 32, its type at 33, the value at 37, an array's count at 41.
    let array = |kind: u32, count: u64, rest: &'static [u8]| {
        open(&move |w| {
            w.key("k", ValueType::Array).u32(kind).u64(count).raw(rest);
        })
    };
    assert_eq!(array(13, 0, b""), (ErrorKind::GgArrayType, 37));
    assert_eq!(array(9, 0, b""), (ErrorKind::GgArrayNested, 37));
    assert_eq!(array(4, 2, &[0; 7]), (ErrorKind::GgArrayPastEnd, 41));
    assert_eq!(array(0, (1 << 30) + 1, b""), (ErrorKind::GgArrayLimit, 41));
    assert_eq!(array(8, 2, &[0; 15]), (ErrorKind::GgArrayPastEnd, 41));
    assert_eq!(array(8, 2, b"\x01\0\0\0\0\0\0\0a\x01\0\0\0\0\0\0\0"), (ErrorKind::GgStringPastEnd, 58));
    assert_eq!(array(8, 2, b"\x01\0\0\0\0\0\0\0a\0\0\0\0\0\0\0"), (ErrorKind::GgEnd, 58));
    assert_eq!(array(8, 1, &[0, 0, 0, 0, 0, 0, 0, 1]), (ErrorKind::GgStringLimit, 49));
    assert_eq!(array(7, 4, &[0, 1, 2, 3]), (ErrorKind::GgBool, 51));
    let text = |bytes: &'static [u8]| {
        open(&move |w| {
            w.key("k", ValueType::String).u64(bytes.len() as u64).raw(bytes);
        })
    };
    assert_eq!(text(b"ab\xff"), (ErrorKind::GgStringUtf8, 47));
    let align = |kind: ValueType, value: u32| {
        open(&move |w| {
            w.key("general.alignment", kind).u32(value);
        })
    };
    assert_eq!(align(ValueType::I32, 32), (ErrorKind::GgAlignType, 49));
    assert_eq!(align(ValueType::U32, 0), (ErrorKind::GgAlignValue, 53));
    assert_eq!(align(ValueType::U32, 24), (ErrorKind::GgAlignValue, 53));
    let mut writer = Writer::new(Endian::Little, 0, 2);
    writer.key("k", ValueType::U8).raw(&[1]).key("k", ValueType::String).text("x");
    assert_eq!(fault(&writer.bytes, &Limits::default()), (ErrorKind::GgKeyDup, 46, None));
    // Trailing bytes of a file without tensors: zeros up to the alignment, and no more.
    let mut file = Writer::new(Endian::Little, 0, 0).bytes;
    file.resize(32, 0);
    assert!(Gguf::open(&file).is_ok());
    file.push(0);
    assert_eq!(fault(&file, &Limits::default()), (ErrorKind::GgDataTrailing, 32, Some(32)));
}

#[test]
fn strings_of_arrays_are_bytes_until_they_are_asked() {
    let mut writer = Writer::new(Endian::Little, 0, 1);
    writer.array("k", ValueType::String, 2).text("fine").u64(3).raw(b"a\xffb");
    let file = Gguf::open(&writer.bytes).unwrap();
    let array = file.array("k").unwrap();
    let error = array.check_utf8().unwrap_err();
    assert_eq!((error.kind(), error.at()), (ErrorKind::GgArrayUtf8, 49 + 12 + 8 + 1));
    assert_eq!(array.strings().unwrap().nth(1).unwrap().as_str(), Err(ValueError::Utf8));
    assert_eq!(array.get(1).unwrap().str(), Err(ValueError::Utf8));
}

type With = fn(Limits, u64) -> Limits;

#[test]
fn every_limit_holds_at_its_edge() {
    let file = full(Endian::Little);
    let head = Gguf::open(&file).unwrap().header().head().len() as u64;
    let cases: &[(With, u64, ErrorKind, u64)] = &[
        (Limits::with_tensors, 3, ErrorKind::GgTensorLimit, 8),
        (Limits::with_metadata_keys, 9, ErrorKind::GgPairLimit, 16),
        (Limits::with_key_len, 17, ErrorKind::GgKeyLimit, 24),
        (Limits::with_metadata_len, head, ErrorKind::GgMetadataLimit, head - 8),
        (Limits::with_gguf_rank, 4, ErrorKind::GgRankLimit, head - 4 - 32 - 12),
        (Limits::with_gguf_name_len, 5, ErrorKind::GgNameLimit, head - 57 - 53),
    ];
    for (with, edge, kind, at) in cases {
        assert!(Gguf::open_with(&file, &with(Limits::default(), *edge)).is_ok(), "{kind:?}");
        let below = fault(&file, &with(Limits::default(), edge - 1));
        assert_eq!(below, (*kind, *at, Some(edge - 1)));
    }
    for (with, edge, kind) in [
        (Limits::with_string_len as With, 9, ErrorKind::GgStringLimit),
        (Limits::with_array_len, 3, ErrorKind::GgArrayLimit),
    ] {
        assert!(Gguf::open_with(&file, &with(Limits::default(), edge)).is_ok());
        assert_eq!(fault(&file, &with(Limits::default(), edge - 1)).0, kind);
    }
    assert_eq!(Limits::default().with_gguf_rank(5).gguf_rank(), 4);
}

#[test]
fn the_limit_on_metadata_is_the_same_from_every_prefix() {
    let file = full(Endian::Big);
    let open = |have: usize, limits: &Limits| Header::open(&file[..have], file.len() as u64, limits).map(|_| ());
    let head = Gguf::open(&file).unwrap().header().head().len();
    for most in 24..head {
        let limits = Limits::default().with_metadata_len(most as u64);
        let want = open(file.len(), &limits).unwrap_err();
        assert_eq!(want.kind(), ErrorKind::GgMetadataLimit);
        for have in (0..head).step_by(7) {
            match open(have, &limits) {
                Err(error) if error.kind() == ErrorKind::NeedMore => assert!(error.needs().unwrap() > have as u64),
                other => assert_eq!(other, Err(want)),
            }
        }
    }
}

#[test]
fn storage_that_is_too_small_is_told_how_much_it_takes() {
    let file = full(Endian::Little);
    for count in 0..12 {
        let mut slots = vec![Slot::EMPTY; count];
        let error = Gguf::open_in(&file, &mut slots, &Limits::default()).unwrap_err();
        assert_eq!((error.kind(), error.needs_slots()), (ErrorKind::StorageTooSmall, Some(12)));
    }
    // What was in the slots before makes no difference.
    let mut slots = [Slot::EMPTY; 12];
    for _ in 0..2 {
        let opened = Gguf::open_in(&file, &mut slots, &Limits::default()).unwrap();
        assert_eq!(opened.pairs().count() + opened.tensors().count(), 12);
    }
}

#[test]
fn a_reader_of_ranges_is_asked_for_what_the_counts_need() {
    let file = full(Endian::Little);
    let needs = |have: usize| {
        let error = Header::open(&file[..have], file.len() as u64, &Limits::default()).unwrap_err();
        error.needs()
    };
    assert_eq!(needs(0), Some(24));
    assert_eq!(needs(23), Some(24));
    // The first key's length, then eight pairs and three infos at their least.
    assert_eq!(needs(24), Some(24 + 8 + 8 * 14 + 3 * 25));
    // The first key's bytes are known to be 17.
    assert_eq!(needs(32), Some(24 + 8 + 17 + 8 * 14 + 3 * 25));
    let opened = Header::open(&file[..], file.len() as u64, &Limits::default()).unwrap();
    assert_eq!(needs(opened.head().len() - 1), Some(opened.head().len() as u64));
}

#[test]
fn padding_is_judged_apart_from_the_header() {
    let mut file = full(Endian::Little);
    let header = Header::open(&file, file.len() as u64, &Limits::default()).unwrap();
    let spans: Vec<_> = header.padding().collect();
    assert_eq!(spans.len(), 3);
    assert_eq!(header.check_padding(&file), Ok(()));
    let end = usize::try_from(spans[2].end()).unwrap();
    assert_eq!(header.check_padding(&file[..end - 1]).unwrap_err().needs(), Some(end as u64));
    for span in spans {
        for at in [span.start(), span.end() - 1] {
            let at = usize::try_from(at).unwrap();
            file[at] = 0x20;
            assert!(Header::open(&file, file.len() as u64, &Limits::default()).is_ok());
            assert_eq!(fault(&file, &Limits::default()), (ErrorKind::GgPaddingNonzero, at as u64, None));
            file[at] = 0;
        }
    }
}

/// The multiplicative step of the crate's name hash, as its source has it.
fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 29)
}

#[test]
fn names_made_to_collide_are_told_apart() {
    // 16 bytes, the second eight chosen so that the state after them is the same for all; all of it printable.
    let printable = |word: u64| word.to_le_bytes().iter().all(|byte| (b' '..=b'~').contains(byte));
    let seed = 0x9E37_79B9_7F4A_7C15;
    let names: Vec<String> = (0_u64..)
        .filter_map(|n| {
            let first = u64::from_le_bytes(*format!("{n:08}").as_bytes().first_chunk().unwrap());
            let second = mix(seed, first) ^ 0x0123_4567_89AB_CDEF;
            printable(second).then(|| [first.to_le_bytes(), second.to_le_bytes()].concat())
        })
        .take(400)
        .map(|name| String::from_utf8(name).unwrap())
        .collect();
    let build = |last: &str| {
        let mut writer = Writer::new(Endian::Little, 401, 401);
        for key in names.iter().map(String::as_str).chain([last]) {
            writer.key(key, ValueType::U8).raw(&[5]);
        }
        for name in names.iter().map(String::as_str).chain([last]) {
            writer.tensor(name, &[0], 0, 0);
        }
        writer.pad(32).bytes.clone()
    };
    let file = build("last");
    let opened = Gguf::open(&file).unwrap();
    for name in names.iter().map(String::as_str).chain(["last"]) {
        assert_eq!(opened.u64(name), Ok(5));
        assert_eq!(opened.tensor(name).unwrap().name(), *name);
    }
    assert!(opened.get("other").is_none() && opened.tensor("other").is_err());
    let repeated = build(&names[200]);
    assert_eq!(fault(&repeated, &Limits::default()), (ErrorKind::GgKeyDup, 24 + 400 * 29 + 8, None));
}

#[test]
fn claims_far_beyond_the_file_are_verdicts_from_the_first_bytes() {
    // The same answer from the frame alone as from the whole file, and never a request for the impossible.
    for (tensors, pairs, kind) in [
        (u64::MAX, 0, ErrorKind::GgTensorCount),
        (0, 1 << 63, ErrorKind::GgPairCount),
        (41, 0, ErrorKind::GgTensorCount),
        (40, 2, ErrorKind::GgPairCount),
    ] {
        let bytes = Writer::new(Endian::Little, tensors, pairs).bytes;
        let error: Error = Header::open(&bytes, 24 + 1024, &Limits::default()).unwrap_err();
        assert_eq!(error.kind(), kind);
    }
    // A file of exabytes is judged by the same rules on every machine.
    let mut writer = Writer::new(Endian::Little, 1, 0);
    writer.tensor("x", &[1 << 60], 24, 0);
    assert!(Header::open(&writer.bytes, 64 + (1 << 60), &Limits::default()).is_ok());
    let error = Header::open(&writer.bytes, 63 + (1 << 60), &Limits::default()).unwrap_err();
    assert_eq!((error.kind(), error.want()), (ErrorKind::GgDataShort, Some(64 + (1 << 60))));
}

/// What a count claims behind the limit on metadata is not asked for: nobody would look at it.
#[test]
fn no_more_is_asked_for_than_the_limit() {
    // One pair: an array of 2^29 strings, in a file of 1 TiB.
    let mut head = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    head.extend_from_slice(b"\x01\0\0\0\0\0\0\0a\x09\0\0\0\x08\0\0\0\0\0\0\x20\0\0\0\0");
    let limits = Limits::default().with_metadata_len(1_000_000);
    let mut given = head.clone();
    loop {
        let error = Header::open(&given, 1 << 40, &limits).unwrap_err();
        let Some(needs) = error.needs() else {
            assert_eq!(error.kind(), ErrorKind::GgMetadataLimit);
            break;
        };
        assert!(needs > given.len() as u64 && needs <= 1_000_000, "{needs}");
        given.resize(usize::try_from(needs).unwrap(), 0);
    }
}
