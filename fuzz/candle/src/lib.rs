//! GGUF against candle's reader, one way: what we accept candle accepts, with the same values and the same tensors.
//!
//! Where the two differ on purpose is listed in [`Difference`], each with its reason; anything else is a fault.

use std::collections::HashMap;
use std::io::Cursor;

use arbitrary::{Arbitrary, Unstructured};
use candle_core::quantized::gguf_file::{Content, Value as Theirs};
use tensorgate::gguf::{Array, Endian, Value, ValueType};
use tensorgate::{Gguf, Limits};
use tensorgate_fuzz::r#gen::gguf::Model;

/// Why candle may refuse what we accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Difference {
    /// Version 3 with the highest byte first: candle knows the lowest first only.
    BigEndian,
    /// A tensor type that candle has no decoder for (I-quants, ternary ones, integers, `f64`, MXFP4 and newer).
    TensorType,
    /// `general.alignment` of 0 aside, candle takes an alignment of any unsigned type, and no other; ours is a `u32` always.
    /// A file with more than 2^24 entries or elements is over candle's limits and far over what a target builds.
    Counts,
}

/// Judges the bytes as they are; or, where they begin with a zero, a file that they build.
pub fn check(data: &[u8]) {
    match data {
        [0, rest @ ..] => {
            let Ok(model) = Model::arbitrary(&mut Unstructured::new(rest)) else { return };
            judge(&model.build().file);
        }
        _ => {
            judge(data);
        }
    }
}

/// Compares the two; the difference that was met, where there was one.
pub fn judge(file: &[u8]) -> Option<Difference> {
    let Ok(ours) = Gguf::open_with(file, &Limits::DEFAULT) else { return None };
    if ours.endian() == Endian::Big {
        return Some(Difference::BigEndian);
    }
    let theirs = match Content::read(&mut Cursor::new(file)) {
        Ok(theirs) => theirs,
        Err(error) => {
            let known = |id: u32| matches!(id, 0..=3 | 6..=15 | 30);
            if ours.tensors().any(|tensor| !known(tensor.kind().id())) {
                return Some(Difference::TensorType);
            }
            assert!(error.to_string().contains("exceeds max"), "we accept it, and candle says: {error}");
            return Some(Difference::Counts);
        }
    };
    pairs(&ours, &theirs.metadata);
    // Where there are tensors: without any, candle puts the data behind the padding that we need not see.
    if !ours.is_empty() {
        assert_eq!(ours.data_offset(), theirs.tensor_data_offset);
    }
    let mut names = 0;
    for tensor in ours.tensors() {
        // candle drops zero bytes at the end of a name; a name of ours has no control characters.
        let name = tensor.name().as_str().expect("there are no escapes");
        let other = theirs.tensor_infos.get(name).unwrap_or_else(|| panic!("candle has no tensor {name:?}"));
        assert!(other.shape.dims().iter().map(|dim| *dim as u64).eq(tensor.shape().iter()), "{name:?}");
        assert_eq!(other.offset + theirs.tensor_data_offset, tensor.span().start(), "{name:?}");
        assert_eq!(format!("{:?}", other.ggml_dtype).to_lowercase(), plain_name(&tensor.kind().to_string()));
        names += 1;
    }
    assert_eq!(names, theirs.tensor_infos.len());
    None
}

/// candle writes `Q4K` where ggml has `Q4_K`; nothing else.
fn plain_name(kind: &str) -> String {
    let kind = kind.to_lowercase();
    if kind.ends_with("_k") { kind.replace('_', "") } else { kind }
}

fn pairs(ours: &Gguf<'_>, theirs: &HashMap<String, Theirs>) {
    assert_eq!(ours.pairs().count(), theirs.len());
    for pair in ours.pairs() {
        let other = theirs.get(pair.key()).unwrap_or_else(|| panic!("candle has no key {:?}", pair.key()));
        assert!(same(&pair.value(), other), "{:?}: {other:?}", pair.key());
    }
}

/// candle drops zero bytes at the end of a string, and puts U+FFFD for what is not UTF-8.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn same(ours: &Value<'_>, theirs: &Theirs) -> bool {
    match theirs {
        Theirs::U8(number) => ours.kind() == ValueType::U8 && ours.u64() == Ok(u64::from(*number)),
        Theirs::I8(number) => ours.kind() == ValueType::I8 && ours.i64() == Ok(i64::from(*number)),
        Theirs::U16(number) => ours.kind() == ValueType::U16 && ours.u64() == Ok(u64::from(*number)),
        Theirs::I16(number) => ours.kind() == ValueType::I16 && ours.i64() == Ok(i64::from(*number)),
        Theirs::U32(number) => ours.kind() == ValueType::U32 && ours.u64() == Ok(u64::from(*number)),
        Theirs::I32(number) => ours.kind() == ValueType::I32 && ours.i64() == Ok(i64::from(*number)),
        Theirs::U64(number) => ours.kind() == ValueType::U64 && ours.u64() == Ok(*number),
        Theirs::I64(number) => ours.kind() == ValueType::I64 && ours.i64() == Ok(*number),
        Theirs::F32(number) => {
            ours.kind() == ValueType::F32 && ours.f64().is_ok_and(|own| alike(own, f64::from(*number)))
        }
        Theirs::F64(number) => ours.kind() == ValueType::F64 && ours.f64().is_ok_and(|own| alike(own, *number)),
        Theirs::Bool(value) => ours.bool() == Ok(*value),
        Theirs::String(value) => ours.str().is_ok_and(|own| text(own.as_bytes()) == *value),
        Theirs::Array(values) => ours.array().is_ok_and(|own| elements(&own, values)),
    }
}

/// Equal, or no number both.
fn alike(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn elements(ours: &Array<'_>, theirs: &[Theirs]) -> bool {
    if ours.kind() == ValueType::String {
        let own = ours.strings().expect("they are strings").map(|string| text(string.bytes()));
        let others = theirs.iter().map(|value| value.to_string().expect("as ours").clone());
        return own.eq(others);
    }
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(own, other)| same(&own, other))
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
    use std::collections::HashSet;
    use tensorgate_fuzz::smoke::{Rng, mutants};

    #[test]
    fn smoke() {
        let files = tensorgate_fuzz::corpus::files();
        let seeds: Vec<_> = files.iter().filter_map(|file| seed(file)).collect();
        mutants(check, 70, 40, &seeds);
        let met: HashSet<_> = files.iter().filter_map(|file| judge(file)).collect();
        assert!(met.contains(&Difference::BigEndian) && met.contains(&Difference::TensorType), "{met:?}");
        let mut rng = Rng::new(71);
        for _ in 0..4000 {
            let mut input = rng.bytes(800);
            input[0] = 0;
            check(&input);
        }
    }
}
