//! What every call on a GGUF file promises, asserted around each call that the oracles make.

use std::collections::HashSet;

use tensorgate::gguf::{Array, Element, Endian, Header, Pair, Slot, TensorView, Value, ValueError, ValueType};
use tensorgate::{ErrorKind, Gguf, Limits};

use super::promises::{self, Verdict};
use crate::sink::printable;
use crate::{heap, steps};

/// The least bytes of an entry: a pair of a key of one byte and a value of one byte.
const LEAST_ENTRY: usize = 14;

/// Files up to this length are asked for in the smallest steps; longer ones in steps of an eighth.
const SMALL_STEPS: usize = 6000;

/// Slots that are enough for any header in `file`.
pub fn slots_for(file: &[u8]) -> Vec<Slot> {
    vec![Slot::EMPTY; file.len() / LEAST_ENTRY + 2]
}

/// Judges `file` in every way there is, twice each; all must say the same, and an accepted file keeps its promises.
///
/// # Errors
///
/// What all of them said.
pub fn gguf(file: &[u8], limits: &Limits) -> Verdict {
    let owned = open_owned(file, limits);
    let mut slots = slots_for(file);
    for again in [false, true] {
        let lent = steps::linear(file.len(), || heap::none(|| Gguf::open_in(file, &mut slots, limits)));
        match &lent {
            Ok(_) if again => {}
            Ok(opened) => touch(opened, file),
            Err(refused) => promises::error(refused, file.len() as u64),
        }
        assert_eq!(lent.map(drop), owned, "lent and owned storage differ");
    }
    let header = in_steps(file, limits);
    match &owned {
        // The one thing that a header cannot show.
        Err(error) if error.kind() == ErrorKind::GgPaddingNonzero => assert_eq!(header, Ok(())),
        verdict => assert_eq!(header, *verdict, "the header alone and the whole file differ"),
    }
    owned
}

/// Judges `file` in storage of our own, twice.
fn open_owned(file: &[u8], limits: &Limits) -> Verdict {
    let judge = || {
        let (outcome, tally) = steps::linear(file.len(), || heap::measure(|| Gguf::open_with(file, limits)));
        let header_len = outcome.as_ref().map_or(file.len(), |opened| opened.header().head().len()) as u64;
        // Slots of 20 bytes an entry of 14, in storage that doubles: under three times the header when all is done, and
        // half as much again while the old storage and the new one are there together.
        assert!(tally.peak * 2 <= header_len * 9, "{} bytes allocated for a header of {header_len}", tally.peak);
        if let Ok(opened) = &outcome {
            touch(opened, file);
        }
        outcome.map(drop)
    };
    let first = judge();
    assert_eq!(first, judge(), "the same file, two answers");
    if let Err(refused) = &first {
        assert!(!refused.kind().is_callers(), "{refused}: no verdict on a file that is all there");
    }
    first
}

/// Gives the beginning of the file, as much as was asked for each time, until there is a verdict on the header.
fn in_steps(file: &[u8], limits: &Limits) -> Verdict {
    let file_len = file.len() as u64;
    let more = if file.len() <= SMALL_STEPS { 0 } else { file.len() / 8 };
    let mut slots = slots_for(file);
    let mut have = 0;
    loop {
        let outcome = heap::none(|| Header::open_in(&file[..have], file_len, &mut slots, limits).map(drop));
        let Some(needs) = outcome.as_ref().err().and_then(tensorgate::Error::needs) else { return outcome };
        promises::error(outcome.as_ref().unwrap_err(), file_len);
        assert!(needs > have as u64 && needs <= file_len, "{needs} of {file_len} needed, have {have}");
        have = (usize::try_from(needs).unwrap() + more).min(file.len());
    }
}

/// Looks at everything that an accepted file offers, without an allocation, and checks what can be checked.
pub fn touch(opened: &Gguf<'_>, file: &[u8]) {
    heap::none(|| {
        let header = opened.header();
        assert!(matches!(opened.version(), 2 | 3) && opened.alignment().is_power_of_two());
        assert!(opened.version() == 3 || opened.endian() == Endian::Little);
        assert!(std::ptr::eq(header.head(), &raw const file[..header.head().len()]));
        assert_eq!((header.data().start(), header.data().end()), (opened.data_offset(), file.len() as u64));
        assert_eq!(opened.data().len() as u64, header.data().len());
        let mut end = 24;
        for pair in opened.pairs() {
            end = one_pair(&pair, file, opened, end);
        }
        assert_eq!(opened.pairs().fold(0, |count, _| count + 1), header.pair_count());
        assert!(opened.pairs().rev().map(|pair| pair.key_at()).is_sorted_by(|a, b| a > b));
        tensors(opened, file);
    });
    lookups(opened);
}

fn number(file: &[u8], at: u64, len: usize, endian: Endian) -> u64 {
    let start = usize::try_from(at).unwrap();
    let bytes = file[start..start + len].iter();
    let fold = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
    if endian == Endian::Little { bytes.rev().fold(0, fold) } else { bytes.fold(0, fold) }
}

/// A pair stands where it says, behind the one before, and is found; where its value's bytes begin.
fn one_pair(pair: &Pair<'_>, file: &[u8], opened: &Gguf<'_>, before: u64) -> u64 {
    let key = pair.key();
    assert!(!key.is_empty() && key.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    assert!(pair.key_at() >= before + 8);
    let at = usize::try_from(pair.key_at()).unwrap();
    assert!(file[at..].starts_with(key.as_bytes()));
    assert_eq!(number(file, pair.key_at() - 8, 8, opened.endian()), key.len() as u64);
    let value = pair.value();
    assert_eq!(number(file, pair.type_at(), 4, opened.endian()), u64::from(value.kind().id()));
    assert!(pair.value_at() <= opened.header().head().len() as u64);
    let found = opened.get(key).expect("a key of the file's is found");
    assert!(same(&found, &value));
    getters(opened, key, &value);
    if let Value::Array(array) = value {
        elements(&array);
    }
    printable(&value.kind());
    pair.value_at()
}

/// Equal, bit by bit: a NaN is itself here.
pub fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits(),
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
        (Value::Array(a), Value::Array(b)) => {
            a.kind() == b.kind() && a.len() == b.len() && std::ptr::eq(a.bytes(), b.bytes())
        }
        (a, b) => a == b,
    }
}

/// Exactly the getters that fit the type give something, and by key they say the same.
fn getters(opened: &Gguf<'_>, key: &str, value: &Value<'_>) {
    use ValueType::{Array, Bool, F32, F64, I8, I16, I32, I64, String, U8, U16, U32, U64};
    let kind = value.kind();
    let is = |kinds: &[ValueType]| kinds.contains(&kind);
    let other = ValueError::Type(kind);
    assert_eq!(value.u64().is_ok(), is(&[U8, U16, U32, U64]));
    assert_eq!(value.i64().is_ok(), is(&[U8, I8, U16, I16, U32, I32, I64]));
    assert_eq!(value.f64().is_ok(), is(&[F32, F64]));
    assert_eq!(value.bool().is_ok(), is(&[Bool]));
    assert_eq!(value.str().is_ok(), is(&[String]), "a string outside arrays is text");
    assert_eq!(value.array().is_ok(), is(&[Array]));
    assert!(value.u64().is_ok() || value.u64() == Err(other));
    assert_eq!((opened.u64(key), opened.i64(key)), (value.u64(), value.i64()));
    assert_eq!((opened.bool(key), opened.str(key)), (value.bool(), value.str()));
    assert_eq!(opened.f64(key).map(f64::to_bits), value.f64().map(f64::to_bits));
    assert_eq!(opened.array(key).map(|array| array.at()), value.array().map(|array| array.at()));
}

/// An array's elements are the same however they are asked for.
fn elements(array: &Array<'_>) {
    let kind = array.kind();
    assert!(kind != ValueType::Array);
    assert_eq!((array.is_empty(), array.iter().len()), (array.is_empty(), array.len()));
    let mut seen = 0;
    for (index, element) in array.iter().enumerate() {
        assert_eq!(element.kind(), kind);
        // Strings are found by walking; the first few are enough.
        if index < 8 || (kind != ValueType::String && index + 8 > array.len()) {
            assert!(same(&array.get(index).expect("an element"), &element));
        }
        seen += 1;
    }
    assert_eq!(seen, array.len());
    assert!(array.get(array.len()).is_none());
    match kind {
        ValueType::U8 => numbers::<u8>(array),
        ValueType::I8 => numbers::<i8>(array),
        ValueType::U16 => numbers::<u16>(array),
        ValueType::I16 => numbers::<i16>(array),
        ValueType::U32 => numbers::<u32>(array),
        ValueType::I32 => numbers::<i32>(array),
        ValueType::F32 => numbers::<f32>(array),
        ValueType::Bool => numbers::<bool>(array),
        ValueType::U64 => numbers::<u64>(array),
        ValueType::I64 => numbers::<i64>(array),
        ValueType::F64 => numbers::<f64>(array),
        ValueType::String | ValueType::Array => strings(array),
    }
}

fn numbers<T: Element>(array: &Array<'_>) {
    let size = usize::try_from(T::TYPE.size().expect("numbers have a size")).unwrap();
    assert_eq!(array.bytes().len(), array.len() * size);
    let elements = array.elements::<T>().expect("the type is the file's");
    assert_eq!((elements.len(), elements.fold(0, |count, _| count + 1)), (array.len(), array.len()));
    assert!(array.strings().is_err() && array.check_utf8().is_ok());
    let (little, big) = (array.le_slice::<T>(), array.be_slice::<T>());
    let is_little = array.endian() == Endian::Little;
    assert_eq!((little.is_ok(), big.is_ok()), (is_little || size == 1, !is_little || size == 1));
    assert!(
        little.is_ok_and(|slice| slice.len() == array.len()) || big.is_ok_and(|slice| slice.len() == array.len())
    );
}

fn strings(array: &Array<'_>) {
    assert!(array.elements::<u8>().is_err() && array.le_slice::<u8>().is_err());
    let strings = array.strings().expect("they are strings");
    let mut index = [0_u32; 64];
    let indexed = array.index_in(&mut index);
    let indexed = match &indexed {
        Ok(indexed) => Some(indexed),
        Err(error) => {
            assert!(array.len() > 64 && *error == ValueError::IndexTooSmall(array.len()));
            None
        }
    };
    let mut at = array.at();
    let mut fault = None;
    for (number, text) in strings.enumerate() {
        at += 8;
        if let (None, Err(error)) = (fault, std::str::from_utf8(text.bytes())) {
            fault = Some(at + error.valid_up_to() as u64);
        }
        assert_eq!(text.as_str().is_ok(), std::str::from_utf8(text.bytes()).is_ok());
        assert!(indexed.is_none_or(|indexed| indexed.get(number) == Some(text)));
        printable(&text);
        at += text.bytes().len() as u64;
    }
    assert_eq!(at, array.at() + array.bytes().len() as u64);
    let checked = array.check_utf8();
    assert_eq!(checked.err().map(|error| (error.kind(), error.at())), fault.map(|at| (ErrorKind::GgArrayUtf8, at)));
}

/// Each tensor lies inside the file, aligned, behind the one before and its padding, and has the size of its shape.
fn tensors(opened: &Gguf<'_>, file: &[u8]) {
    let alignment = u64::from(opened.alignment());
    let data_at = opened.data_offset();
    let mut next = data_at;
    assert_eq!((opened.tensors().count(), opened.header().tensors().len()), (opened.len(), opened.len()));
    assert!(opened.is_empty() || data_at.is_multiple_of(alignment));
    for tensor in opened.tensors() {
        let span = tensor.span();
        assert_eq!(span.start(), next, "the tensors do not tile the data");
        let range = usize::try_from(span.start()).unwrap()..usize::try_from(span.end()).unwrap();
        assert!(std::ptr::eq(tensor.bytes(), &raw const file[range]), "the bytes are not those of the span");
        next = data_at + (span.end() - data_at).next_multiple_of(alignment);
        let elements = tensor.shape().elements().expect("a proved shape fits");
        assert!(tensor.shape().rank() <= 4 && tensor.elements() == elements);
        assert_eq!(tensor.kind().bytes_for(elements), Some(span.len()));
        info(&tensor, file);
    }
    assert!(opened.is_empty() || next >= file.len() as u64, "bytes are left over");
    let mut before = opened.header().head().len() as u64;
    for span in opened.header().padding() {
        assert!(span.start() >= before && !span.is_empty() && span.end() <= file.len() as u64);
        let range = usize::try_from(span.start()).unwrap()..usize::try_from(span.end()).unwrap();
        assert!(file[range].iter().all(|byte| *byte == 0));
        before = span.end();
    }
}

fn info(tensor: &TensorView<'_>, file: &[u8]) {
    let name = tensor.name().as_str().expect("there are no escapes");
    assert!(!name.is_empty() && !name.chars().any(char::is_control));
    let at = tensor.info().info_at();
    assert_eq!(number(file, at, 8, tensor.endian()), name.len() as u64);
    assert!(file[usize::try_from(at + 8).unwrap()..].starts_with(name.as_bytes()));
    let plain = tensor.plain();
    assert!(plain.is_none_or(
        |plain| std::ptr::eq(plain.bytes(), tensor.bytes()) && Some(plain.dtype()) == tensor.kind().dtype()
    ));
    printable(&tensor.name());
    printable(&tensor.kind());
    printable(&tensor.shape());
}

/// Every name finds its tensor and every key its value, and no two are equal.
fn lookups(opened: &Gguf<'_>) {
    let keys: HashSet<&str> = opened.pairs().map(|pair| pair.key()).collect();
    assert_eq!(keys.len(), opened.header().pair_count(), "two pairs have one key");
    let mut names = HashSet::new();
    for (index, tensor) in opened.tensors().enumerate() {
        let name = tensor.name().as_str().expect("there are no escapes");
        let found = heap::none(|| opened.tensor(name)).expect("a name of the file's is found");
        assert_eq!(found.span(), tensor.span());
        assert_eq!(found.info().info_at(), tensor.info().info_at());
        assert_eq!(opened.header().tensor_at(index).map(|info| info.info_at()), Some(tensor.info().info_at()));
        assert!(names.insert(name), "two tensors have one name");
    }
    assert!(heap::none(|| opened.get("no\x01such key").is_none() && opened.tensor("no\x01such name").is_err()));
    assert_eq!(opened.u64("no\x01such key"), Err(ValueError::Missing));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promises_hold_for_a_plain_file() {
        let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
        file.extend_from_slice(b"\x01\0\0\0\0\0\0\0k\x09\0\0\0\x08\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\xc3(");
        assert_eq!(gguf(&file, &Limits::DEFAULT), Ok(()));
        file.push(7);
        assert_eq!(gguf(&file, &Limits::DEFAULT).unwrap_err().kind(), ErrorKind::GgPaddingNonzero);
    }

    #[test]
    #[should_panic(expected = "header.head()")]
    fn a_view_of_another_file_is_noticed() {
        let file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        touch(&Gguf::open(&file).unwrap(), &file.clone());
    }
}
