//! What a program asks of a GGUF file that was accepted, in every way there is to ask, each held against another.

use tensorgate::gguf::{Array, Element, Endian, Slot, TensorError, TensorView, Value, ValueError, ValueType};
use tensorgate::{Dtype, Error, ErrorKind, Gguf, NotFound};

use super::Outcome;
use crate::common::gguf::lax;

/// A row of `corpus/RELAXED.tsv`: what is tolerated, as code, offset and count, or the code and offset of what is not.
pub(crate) type Relaxed = Result<Vec<(String, u64, u64)>, (String, u64)>;

/// Every row of `corpus/RELAXED.tsv`, by path.
pub(crate) fn relaxed_rows() -> Vec<(String, Relaxed)> {
    let text = std::fs::read_to_string(super::folder().join("RELAXED.tsv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("path\tverdict\tfound"));
    lines.map(relaxed_row).collect()
}

fn relaxed_row(line: &str) -> (String, Relaxed) {
    let fields: Vec<&str> = line.split('\t').collect();
    let [path, verdict, found] = fields[..] else { panic!("{line}") };
    let numbers = |text: &str| -> (String, Vec<u64>) {
        let mut fields = text.split(':');
        (fields.next().unwrap().to_owned(), fields.map(|number| number.parse().unwrap()).collect())
    };
    let outcome = match verdict {
        "accepted" => Ok(found.split(' ').map(numbers).map(|(code, at)| (code, at[0], at[1])).collect()),
        "rejected" => Err((numbers(found).0, numbers(found).1[0])),
        other => panic!("no such verdict: {other}"),
    };
    (path.to_owned(), outcome)
}

/// What comes of a file where all is tolerated that can be, and everything in it looked at.
pub(crate) fn relaxed(bytes: &[u8]) -> Relaxed {
    let mut slots = vec![Slot::EMPTY; 64 + bytes.len() / 14];
    let opened = Gguf::open_in(bytes, &mut slots, &lax());
    let file = opened.map_err(|error: Error| (error.code().to_owned(), error.at()))?;
    let header = file.header();
    for tensor in header.tensors() {
        let view = file.tensor(tensor.name().as_str().unwrap());
        if let Some(size) = tensor.size() {
            assert_eq!(view.unwrap().bytes().len() as u64, size);
            continue;
        }
        let (error, kind) = (view.unwrap_err(), tensor.kind());
        assert_eq!(
            (error, error.to_string().ends_with(&kind.id().to_string())),
            (TensorError::UnknownType(kind), true)
        );
        assert!(tensor.span().is_empty() && kind.bytes_for(1).is_none());
        assert_eq!((kind.block_elements(), kind.block_bytes()), (None, None));
        assert!(format!("{tensor:?} {kind:?}").ends_with(&format!(" type {}", kind.id())), "{tensor:?}");
    }
    at_gguf(&file);
    let used = header.relaxed().map(|used| {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.code() == used.code());
        assert_eq!(kind, Some(&used.kind()));
        let text = used.to_string();
        assert!(text.starts_with(&format!("{} at byte {}", used.code(), used.at())) && text.is_ascii(), "{text}");
        (used.code().to_owned(), used.at(), used.count())
    });
    Ok(used.collect())
}

/// The same file in every way that it can be opened, without what they tolerate.
pub(crate) fn relaxed_ways(bytes: &[u8]) -> Vec<Outcome> {
    let terms = super::Terms { limits: lax(), array_text: false };
    let look = |file: Gguf<'_>| {
        at_gguf(&file);
        Ok(())
    };
    super::gguf_with(bytes, &terms, look)
}

/// Asks for everything by key and by type.
pub(super) fn at_gguf(file: &Gguf<'_>) {
    let none = "there is no such key";
    assert_eq!((file.u64(none), file.i64(none)), (Err(ValueError::Missing), Err(ValueError::Missing)));
    assert_eq!((file.f64(none), file.bool(none)), (Err(ValueError::Missing), Err(ValueError::Missing)));
    assert_eq!((file.str(none), file.array(none)), (Err(ValueError::Missing), Err(ValueError::Missing)));
    assert_eq!(ValueError::Missing.to_string(), none);
    let error = file.tensor(none).unwrap_err();
    assert_eq!((error, error.to_string()), (TensorError::NotFound, NotFound.to_string()));
    for pair in file.pairs() {
        let (key, value) = (pair.key(), pair.value());
        assert_eq!((file.u64(key), file.i64(key), file.bool(key)), (value.u64(), value.i64(), value.bool()));
        assert_eq!((file.str(key), file.f64(key).is_ok()), (value.str(), value.f64().is_ok()));
        let other = ValueError::Type(value.kind());
        assert!(other.to_string().ends_with(value.kind().name()));
        match value {
            Value::Array(array) => at_array(&array, 0),
            Value::String(text) => {
                assert_eq!(value.str().is_ok(), std::str::from_utf8(text.bytes()).is_ok());
                match value.str() {
                    Ok(said) => assert!(text == *said && text == said && text != *format!("{said}x")),
                    Err(error) => {
                        assert_eq!((error, error.to_string().contains("UTF-8")), (ValueError::Utf8, true));
                    }
                }
                let shown = text.to_string();
                assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{shown}");
                assert!(value.str().is_ok() || shown.contains("\\x"), "{shown}");
                assert_eq!(file.array(key), Err(other));
            }
            _ => assert_eq!((file.array(key), file.str(key)), (Err(other), Err(other))),
        }
    }
    for tensor in file.tensors() {
        let info = tensor.info();
        assert_eq!((info.name(), info.shape()), (tensor.name(), tensor.shape()));
        let block = tensor.kind().block().unwrap();
        assert_eq!(tensor.kind().bytes_for(block.elements().into()), Some(block.bytes().into()));
        assert_eq!(tensor.kind().bytes_for(u64::from(block.elements()) + 1).is_some(), block.elements() == 1);
        assert_eq!((info.span(), info.size()), (tensor.span(), Some(tensor.bytes().len() as u64)));
        let shown = format!("{info:?}");
        assert!(shown.contains(&format!("{:?}: {}{}", tensor.name(), tensor.kind(), tensor.shape())), "{shown}");
        assert!(shown.ends_with(&format!("{}..{}", tensor.span().start(), tensor.span().end())), "{shown}");
        let swapped = |dtype: Dtype| {
            tensor.kind().dtype() == Some(dtype) && (tensor.endian() == Endian::Big || dtype.bits() == 8)
        };
        assert_eq!(tensor.as_be::<f32>().map(<[_]>::len), numbers::<f32>(&tensor, swapped(Dtype::F32)));
        assert_eq!(tensor.as_be::<i64>().map(<[_]>::len), numbers::<i64>(&tensor, swapped(Dtype::I64)));
        assert_eq!(tensor.as_be::<i8>().map(<[_]>::len), numbers::<i8>(&tensor, swapped(Dtype::I8)));
    }
}

/// How many numbers a tensor has that is of their type.
fn numbers<T>(tensor: &TensorView<'_>, is_one: bool) -> Option<usize> {
    is_one.then(|| tensor.bytes().len() / size_of::<T>())
}

/// An array, and those in it.
fn at_array(array: &Array<'_>, level: usize) {
    assert!(level <= 8);
    let (kind, count) = (array.kind(), array.len());
    at_elements::<u8>(array, |bytes, _| Value::U8(bytes[0]));
    at_elements::<i8>(array, |bytes, _| Value::I8(i8::from_ne_bytes([bytes[0]])));
    at_elements::<bool>(array, |bytes, _| Value::Bool(bytes[0] == 1));
    at_elements::<u16>(array, |bytes, big| Value::U16(u16::from_le_bytes(ordered(bytes, big))));
    at_elements::<i16>(array, |bytes, big| Value::I16(i16::from_le_bytes(ordered(bytes, big))));
    at_elements::<u32>(array, |bytes, big| Value::U32(u32::from_le_bytes(ordered(bytes, big))));
    at_elements::<i32>(array, |bytes, big| Value::I32(i32::from_le_bytes(ordered(bytes, big))));
    at_elements::<f32>(array, |bytes, big| Value::F32(f32::from_le_bytes(ordered(bytes, big))));
    at_elements::<u64>(array, |bytes, big| Value::U64(u64::from_le_bytes(ordered(bytes, big))));
    at_elements::<i64>(array, |bytes, big| Value::I64(i64::from_le_bytes(ordered(bytes, big))));
    at_elements::<f64>(array, |bytes, big| Value::F64(f64::from_le_bytes(ordered(bytes, big))));
    let (same, is_equal) = (*array, equals_itself(&Value::Array(*array)));
    assert_eq!((same == *array, same.into_iter().eq(array)), (is_equal, is_equal), "{array:?}");
    let mut few = vec![0; count.saturating_sub(1)];
    let mut words = vec![0; count + 1];
    if kind != ValueType::String {
        assert_eq!(array.strings().err(), Some(ValueError::Type(kind)));
        assert_eq!(array.index_in(&mut words).err(), Some(ValueError::Type(kind)));
        array.iter().filter_map(|value| value.array().ok()).for_each(|inner| at_array(&inner, level + 1));
        return;
    }
    let too_small = array.index_in(&mut few).err();
    assert_eq!(too_small, (count > 0).then_some(ValueError::IndexTooSmall(count)));
    assert!(too_small.is_none_or(|error| error.to_string().contains(&count.to_string())));
    let index = array.index_in(&mut words).unwrap();
    let strings = array.strings().unwrap();
    assert_eq!((index.len(), index.is_empty(), strings.len()), (count, count == 0, count));
    for (place, text) in strings.enumerate() {
        assert!(index.get(place) == Some(text) && (place > 8 || array.get(place) == Some(Value::String(text))));
    }
    assert_eq!(index.get(count), None);
}

/// A float need not.
fn equals_itself(value: &Value<'_>) -> bool {
    let Ok(array) = value.array() else { return !value.f64().is_ok_and(f64::is_nan) };
    array.iter().all(|value| equals_itself(&value))
}

/// The bytes of a number, lowest first.
fn ordered<const N: usize>(bytes: &[u8], big: bool) -> [u8; N] {
    let mut bytes: [u8; N] = bytes.try_into().unwrap();
    if big {
        bytes.reverse();
    }
    bytes
}

/// The elements of an array as numbers of a type, if it is that of the file; `read` gives one from its bytes.
fn at_elements<T: Element>(array: &Array<'_>, read: impl Fn(&[u8], bool) -> Value<'static>) {
    let (other, big) = (ValueError::Type(array.kind()), array.endian() == Endian::Big);
    let (little, swapped) = (array.le_slice::<T>().map(<[_]>::len), array.be_slice::<T>().map(<[_]>::len));
    let Ok(elements) = array.elements::<T>() else {
        assert!(array.kind() != T::TYPE && (little, swapped) == (Err(other), Err(other)));
        return;
    };
    assert!(array.kind() == T::TYPE && elements.len() == array.len() && elements.count() == array.len());
    let (size, count) = (size_of::<T>(), array.len());
    let of = |same: bool| if same || size == 1 { Ok(count) } else { Err(other) };
    assert_eq!((little, swapped), (of(!big), of(big)));
    for (value, bytes) in array.iter().zip(array.bytes().chunks_exact(size)) {
        let want = read(bytes, big);
        assert!(value == want || value.f64().is_ok_and(f64::is_nan) && want.f64().is_ok_and(f64::is_nan));
    }
}
