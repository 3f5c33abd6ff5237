//! Byte for byte what the reference writer writes.

use crate::reference::{Pairs, Tensor, data, serialize_sorted, shown, sorted};
use tensorgate::safetensors::{NO_METADATA, Plan, serialize};
use tensorgate::{Dtype, Limits, SafeTensors};

/// Our file is the reference's, in whatever order the tensors are given, and our reader shows what was given.
#[track_caller]
fn same(tensors: &[Tensor], metadata: Option<&Pairs>) {
    let want = serialize_sorted(tensors, metadata);
    let ours = serialize(data(tensors), metadata).unwrap();
    assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&want));
    assert_eq!(ours, want);
    let reversed: Vec<Tensor> = tensors.iter().rev().cloned().collect();
    assert_eq!(serialize(data(&reversed), metadata).unwrap(), want);
    let plan = Plan::new(data(tensors).map(|tensor| tensor.spec()), metadata, &Limits::default()).unwrap();
    assert_eq!(plan.prefix(), &want[..plan.prefix().len()]);
    assert_eq!(plan.file_len(), want.len() as u64);
    let read = SafeTensors::open(&ours).unwrap();
    assert_eq!(read.header().json().as_bytes(), plan.header());
    let (tensors_shown, metadata_shown) = shown(&read);
    assert_eq!(sorted(tensors_shown), sorted(tensors.to_vec()));
    assert_eq!(metadata_shown.as_ref(), metadata);
    assert!(plan.tensors().map(|t| t.span()).eq(read.tensors().map(|t| t.span())));
    for planned in plan.tensors() {
        let span = planned.span();
        let place = usize::try_from(span.start()).unwrap()..usize::try_from(span.end()).unwrap();
        assert_eq!(tensors[planned.index()].bytes, want[place]);
    }
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Pairs {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn every_dtype_at_every_rank() {
    for dtype in Dtype::ALL {
        let shapes: [&[u64]; 6] = [&[], &[8], &[2, 4], &[3, 1, 8], &[1, 2, 2, 2], &[2, 1, 2, 1, 2]];
        let whole = shapes.iter().filter(|shape| dtype.bytes_for(shape.iter().product()).is_some());
        let tensors: Vec<_> = whole.map(|shape| Tensor::new("w", *dtype, shape)).collect();
        assert!(tensors.len() >= 5);
        for tensor in &tensors {
            same(std::slice::from_ref(tensor), None);
        }
    }
}

#[test]
fn all_dtypes_mixed() {
    let mut tensors = Vec::new();
    for (i, dtype) in Dtype::ALL.iter().enumerate() {
        // Names that ascend neither with the dtypes nor with the order in which they are given.
        for name in [format!("z{}", i * 7 % 22), format!("{}", i * 5 % 22), format!("m.{}", 21 - i)] {
            tensors.push(Tensor::new(&name, *dtype, &[4, 1 + i as u64 % 3]));
        }
    }
    same(&tensors, None);
    tensors.sort_by_key(|tensor| tensor.bytes.len());
    same(&tensors, Some(&pairs([("format", "pt")])));
}

#[test]
fn zero_size_tensors() {
    let shapes: [&[u64]; 6] = [&[0], &[0, 1 << 30, 1 << 30], &[3, 0, 5], &[0, 0], &[0], &[1, 0]];
    let mut tensors: Vec<_> =
        shapes.iter().zip("abcdef".chars()).map(|(s, c)| Tensor::new(&c.to_string(), Dtype::F32, s)).collect();
    same(&tensors, None);
    for (i, dtype) in [Dtype::U8, Dtype::F64, Dtype::F32, Dtype::BOOL].into_iter().enumerate() {
        tensors.push(Tensor::new(&format!("b{i}"), dtype, &[3]));
        tensors.push(Tensor::new(&format!("x{i}"), dtype, &[0]));
        same(&tensors, None);
    }
}

#[test]
fn names_of_every_kind() {
    let mut names: Vec<String> =
        ["", "a", "aa", "a.b", "A", "\u{e9}", "e\u{301}", "日本", "😀", "\u{2028}"].map(str::to_owned).to_vec();
    names.extend((0..0x21).chain(0x7e..0xa2).filter_map(char::from_u32).map(|c| format!("x{c}y")));
    names.extend(
        ["\"", "\\", "/", "\\u0041", "\"},\"x\":{\"dtype\":\"U8\"", "__metadata", "__metadata__ "]
            .map(str::to_owned),
    );
    // Beyond the basic plane: UTF-8 order is not UTF-16 order.
    names.extend(["\u{ffff}", "\u{10000}", "\u{fffd}x"].map(str::to_owned));
    names.push("n".repeat(70_000));
    let tensors: Vec<_> = names.iter().map(|name| Tensor::new(name, Dtype::U16, &[1])).collect();
    same(&tensors, None);
    for tensor in &tensors {
        same(std::slice::from_ref(tensor), None);
    }
}

#[test]
fn shapes_of_any_rank() {
    same(&[Tensor::new("w", Dtype::I8, &[1; 40])], None);
    same(&[Tensor::new("w", Dtype::F64, &vec![1; 5000])], None);
    same(&[Tensor::new("w", Dtype::F4, &[2; 12])], None);
    // Rows of half bytes, whole together.
    same(&[Tensor::new("w", Dtype::F4, &[2, 3])], None);
}

#[test]
fn every_length_of_padding() {
    for len in 0..17 {
        same(&[Tensor::new(&"n".repeat(len), Dtype::U8, &[1])], None);
    }
}

#[test]
fn metadata_of_every_kind() {
    let one = [Tensor::new("w", Dtype::F32, &[2])];
    same(&one, None);
    same(&one, Some(&pairs([])));
    same(&one, Some(&pairs([("format", "pt")])));
    same(&one, Some(&pairs([("", "")])));
    same(&one, Some(&pairs([("k\"\\\n\u{1}é", "v\u{1f}\u{7f}\t/😀")])));
    same(
        &one,
        Some(&pairs([("b", "2"), ("a", "1"), ("\u{10000}", "4"), ("\u{ffff}", "3"), ("__metadata__", "x")])),
    );
    let many: Pairs = (0..300).map(|i| (format!("key {}", i * 7919 % 300), format!("{i}"))).collect();
    same(&one, Some(&many));
    same(&[], Some(&pairs([("a", "b")])));
    same(&[], Some(&pairs([("z", "1"), ("a", "2")])));
    same(&[], None);
}

#[test]
fn the_order_of_metadata_is_not_the_callers() {
    let forth = serialize::<tensorgate::TensorView<'_>, _, _, _>([], Some([("a", "1"), ("b", "2")])).unwrap();
    let back = serialize::<tensorgate::TensorView<'_>, _, _, _>([], Some([("b", "2"), ("a", "1")])).unwrap();
    assert_eq!(forth, back);
    assert_eq!(forth, b"\x28\0\0\0\0\0\0\0{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\"}}      ");
}

/// The one file that the reference writes wrong (`{},"__metadata__":{}}`) and we write right.
#[test]
fn no_tensors_and_empty_metadata() {
    let nothing = Vec::<Tensor>::new();
    let file = serialize(data(&nothing), Some(&Pairs::new())).unwrap();
    assert_eq!(file, b"\x18\0\0\0\0\0\0\0{\"__metadata__\":{}}     ");
    assert_eq!(SafeTensors::open(&file).unwrap().metadata().unwrap().iter().count(), 0);
    safetensors::SafeTensors::deserialize(&file).unwrap();
    let file = serialize(data(&nothing), NO_METADATA).unwrap();
    assert_eq!(file, b"\x08\0\0\0\0\0\0\0{}      ");
}
