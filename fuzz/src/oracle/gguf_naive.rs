//! GGUF against a second reader, slow and plain: the same verdict, and the same contents.

use arbitrary::{Arbitrary, Unstructured};
use tensorgate::Gguf;
use tensorgate::gguf::Endian;

use crate::r#gen::gguf::{Model, Value as Planned};
use crate::naive_gguf::{self, Value};

/// Judges the bytes as they are; or, where they begin with a zero, a file built from them with one byte changed.
pub fn check(data: &[u8]) {
    match data {
        [0, low, high, flip, rest @ ..] => {
            let Ok(model) = Model::arbitrary(&mut Unstructured::new(rest)) else { return };
            let mut file = model.build().file;
            // Mostly in the header, and where it matters most: near its end too.
            let at = usize::from(u16::from_le_bytes([*low, *high])) % file.len();
            file[at] ^= flip;
            judge(&file);
        }
        _ => judge(data),
    }
}

/// Compares the two readers.
pub fn judge(file: &[u8]) {
    let ours = Gguf::open(file);
    let theirs = naive_gguf::read(file);
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Some(theirs)) => (ours, theirs),
        (Err(_), None) => return,
        (ours, theirs) => panic!("{:?}, and the plain reader says {theirs:?}", ours.map(drop)),
    };
    assert_eq!((ours.version(), ours.endian() == Endian::Big), (theirs.version, theirs.big));
    assert_eq!((ours.alignment(), ours.data_offset()), (theirs.alignment, theirs.data_at as u64));
    assert_eq!(ours.header().pair_count(), theirs.pairs.len());
    for (pair, (key, value)) in ours.pairs().zip(&theirs.pairs) {
        assert_eq!(pair.key(), key);
        assert_eq!(plain(super::gguf_generated::read(&pair.value())), *value);
        assert_eq!(ours.get(key).map(|value| value.kind()), Some(pair.value().kind()));
    }
    assert_eq!(ours.len(), theirs.tensors.len());
    for (tensor, other) in ours.tensors().zip(&theirs.tensors) {
        assert!(tensor.name() == other.name.as_str());
        assert!(tensor.shape().iter().eq(other.dims.iter().rev().copied()));
        assert_eq!(tensor.kind().id(), other.kind);
        assert!(std::ptr::eq(tensor.bytes(), &raw const file[other.range.0..other.range.1]));
        assert!(ours.tensor(&other.name).is_ok_and(|found| found.span() == tensor.span()));
    }
}

/// The same value as the plain reader has it.
fn plain(value: Planned) -> Value {
    match value {
        Planned::Number(kind, bits) => Value::Number(kind.id(), bits),
        Planned::Text(text) => Value::Text(text),
        Planned::Numbers(kind, elements) => {
            Value::Array(kind.id(), elements.into_iter().map(|bits| Value::Number(kind.id(), bits)).collect())
        }
        Planned::Texts(texts) => Value::Array(8, texts.into_iter().map(Value::Text).collect()),
    }
}

/// The file itself, if it is one of this format; others build one.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    if file.starts_with(b"GGUF") {
        return Some(file.to_vec());
    }
    (file.len() > 200).then(|| [&[0], file].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::Rng;

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 28, 40, &seeds);
        let mut rng = Rng::new(29);
        for _ in 0..4000 {
            let mut input = rng.bytes(800);
            input[0] = 0;
            check(&input);
        }
    }
}
