//! Valid GGUF files, built: accepted, and shown as they were planned.

use arbitrary::{Arbitrary, Unstructured};
use tensorgate::gguf::{Endian, Value as Shown, ValueType};
use tensorgate::{Gguf, Limits};

use super::promises_gguf;
use crate::r#gen::gguf::{Built, Model, Value, data_byte};

/// Builds a file from `data` and compares what is shown with what was planned.
pub fn check(data: &[u8]) {
    let Ok(model) = Model::arbitrary(&mut Unstructured::new(data)) else { return };
    let built = model.build();
    let verdict = promises_gguf::gguf(&built.file, &Limits::DEFAULT);
    assert_eq!(verdict, Ok(()), "{:?}", built.model);
    compare(&Gguf::open(&built.file).expect("accepted above"), &built);
}

/// Everything is what was planned, in its order, where it was put.
fn compare(opened: &Gguf<'_>, built: &Built) {
    let model = &built.model;
    assert_eq!((opened.version(), opened.endian() == Endian::Big), (model.version, model.big));
    assert_eq!((u64::from(opened.alignment()), opened.data_offset()), (model.alignment, built.data_at));
    assert_eq!(opened.header().head().len() as u64, built.head_len);
    assert_eq!(opened.header().pair_count(), model.pairs.len());
    for ((pair, (key, value)), place) in opened.pairs().zip(&model.pairs).zip(&built.pairs) {
        assert_eq!(pair.key().as_bytes(), key);
        assert_eq!((pair.key_at(), pair.type_at(), pair.value_at()), (place.len + 8, place.kind, place.value));
        assert_eq!(read(&pair.value()), *value);
    }
    assert_eq!(opened.len(), model.tensors.len());
    for ((shown, planned), place) in opened.tensors().zip(&model.tensors).zip(&built.infos) {
        assert_eq!(shown.name().as_str().map(str::as_bytes), Some(&planned.name[..]));
        assert_eq!(shown.kind().id(), planned.kind);
        assert!(shown.shape().iter().eq(planned.dims.iter().rev().copied()));
        let start = built.data_at + planned.offset;
        assert_eq!((shown.span().start(), shown.span().end()), (start, start + planned.len));
        assert!(shown.bytes().iter().copied().eq((planned.offset..planned.offset + planned.len).map(data_byte)));
        assert_eq!(shown.info().info_at(), place.len);
    }
}

/// A value that was read, as one to be written.
pub fn read(value: &Shown<'_>) -> Value {
    match value {
        Shown::String(text) => Value::Text(text.bytes().to_vec()),
        Shown::Array(array) if array.kind() == ValueType::String => {
            Value::Texts(array.strings().expect("strings").map(|text| text.bytes().to_vec()).collect())
        }
        Shown::Array(array) => Value::Numbers(array.kind(), array.iter().map(|element| bits(&element)).collect()),
        number => Value::Number(number.kind(), bits(number)),
    }
}

/// The bits of a number, in the low bytes.
fn bits(number: &Shown<'_>) -> u64 {
    match *number {
        Shown::U8(value) => value.into(),
        Shown::I8(value) => value.cast_unsigned().into(),
        Shown::U16(value) => value.into(),
        Shown::I16(value) => value.cast_unsigned().into(),
        Shown::U32(value) => value.into(),
        Shown::I32(value) => value.cast_unsigned().into(),
        Shown::F32(value) => value.to_bits().into(),
        Shown::Bool(value) => value.into(),
        Shown::U64(value) => value,
        Shown::I64(value) => value.cast_unsigned(),
        Shown::F64(value) => value.to_bits(),
        Shown::String(_) | Shown::Array(_) => panic!("{number:?} is no number"),
    }
}

/// Any bytes build a file: the cases' bytes are as good as others.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.len() > 100).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    #[test]
    fn smoke() {
        crate::smoke::noise(super::check, 24, 4000);
        crate::smoke::mutants(super::check, 25, 4, &crate::corpus::files());
    }
}
