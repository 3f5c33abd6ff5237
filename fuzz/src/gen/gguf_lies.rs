//! One known fault in a valid GGUF file, with the kind and the offset of the error that must come of it.
//!
//! What a lie predicts is derived from the format and from where it put the fault, never from what the reader says.

mod limits;
mod pairs;
mod tensors;

use arbitrary::{Arbitrary, Result, Unstructured};
use tensorgate::gguf::{GgmlType, ValueType};
use tensorgate::{ErrorKind, Limits};

use self::limits::over_a_limit;
use self::pairs::{
    alignment_type, alignment_value, element_type, empty_key, key_twice, long_array, long_string, odd_bool,
    odd_key, text_utf8, value_type,
};
use self::tensors::{
    empty_name, five_dims, name_twice, negative_dim, odd_name, offset, padding, row_blocks, shape_overflow,
    size_overflow, tensor_type, trailing,
};
use super::gguf::{ALIGNMENT, Built, Field, Model, Tensor, Value, width};
use super::lies::Lie;

pub use super::lies::Told;

/// Makes a lie of a file.
pub type Teller = fn(&Built, &mut Unstructured<'_>) -> Told;

/// The least bytes of a pair and of an info.
const LEAST: (u64, u64) = (14, 25);

/// The lies that are told under the default limits.
pub const LIES: &[(&str, Teller)] = &[
    ("magic", magic),
    ("version", version),
    ("counts", counts),
    ("cut", cut),
    ("long string", long_string),
    ("long array", long_array),
    ("empty key", empty_key),
    ("odd key", odd_key),
    ("key twice", key_twice),
    ("type of a value", value_type),
    ("type of elements", element_type),
    ("odd bool", odd_bool),
    ("text not UTF-8", text_utf8),
    ("alignment of another type", alignment_type),
    ("odd alignment", alignment_value),
    ("empty name", empty_name),
    ("odd name", odd_name),
    ("name twice", name_twice),
    ("five dimensions", five_dims),
    ("negative dimension", negative_dim),
    ("shape overflow", shape_overflow),
    ("type of a tensor", tensor_type),
    ("rows of blocks", row_blocks),
    ("size overflow", size_overflow),
    ("offset", offset),
    ("padding", padding),
    ("trailing", trailing),
];

impl<'a> Arbitrary<'a> for GgufLie {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // The lie is chosen first, so that a small change of the input keeps it.
        let choice: [u8; 16] = u.arbitrary()?;
        let built = Model::arbitrary(u)?.build();
        let u = &mut Unstructured::new(&choice);
        let lie = if u.int_in_range(0..=5)? == 0 {
            over_a_limit(&built, u)?
        } else {
            let (name, tell) = *u.choose(LIES)?;
            tell(&built, u)?.map(|(file, kind, at)| Lie { name, file, limits: Limits::DEFAULT, kind, at })
        };
        lie.map(GgufLie).ok_or(arbitrary::Error::IncorrectFormat)
    }
}

/// A lie about a GGUF file.
#[derive(Clone, Debug)]
pub struct GgufLie(pub Lie);

fn one(u: &mut Unstructured<'_>, count: usize) -> Result<Option<usize>> {
    if count == 0 { Ok(None) } else { u.choose_index(count).map(Some) }
}

/// The file with the number at `at` changed.
fn with_number(built: &Built, at: u64, bits: u64, len: usize) -> Vec<u8> {
    let mut file = built.file.clone();
    let mut bytes = bits.to_le_bytes()[..len].to_vec();
    if built.model.big {
        bytes.reverse();
    }
    let at = usize::try_from(at).expect("small");
    file[at..at + len].copy_from_slice(&bytes);
    file
}

/// A pair that `wanted` takes.
fn pair(built: &Built, u: &mut Unstructured<'_>, wanted: impl Fn(&Value) -> bool) -> Result<Option<usize>> {
    let places: Vec<usize> =
        (0..built.model.pairs.len()).filter(|index| wanted(&built.model.pairs[*index].1)).collect();
    Ok(one(u, places.len())?.map(|choice| places[choice]))
}

fn magic(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let (bytes, kind) = *u.choose(&[
        (b"FUGG", ErrorKind::GgMagicReversed),
        (b"\xff\xfeG\0", ErrorKind::GgMagicUtf16),
        (b"G\0G\0", ErrorKind::GgMagicUtf16),
        (b"GGUE", ErrorKind::GgMagic),
        (b"\0\0\0\0", ErrorKind::GgMagic),
        (b"gguf", ErrorKind::GgMagic),
    ])?;
    let mut file = built.file.clone();
    file[..4].copy_from_slice(bytes);
    Ok(Some((file, kind, 0)))
}

fn version(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let (number, kind) = *u.choose(&[
        (0_u32, ErrorKind::GgVersion),
        (4, ErrorKind::GgVersion),
        (0xFFFF, ErrorKind::GgVersion),
        (1, ErrorKind::GgVersion1),
        (0x0100_0000, ErrorKind::GgVersion1),
        (0x0200_0000, ErrorKind::GgVersionBig2),
        (0x0003_0000, ErrorKind::GgVersionSwapped),
        (0x0400_0000, ErrorKind::GgVersionSwapped),
    ])?;
    let mut file = built.file.clone();
    file[4..8].copy_from_slice(&number.to_le_bytes());
    Ok(Some((file, kind, 4)))
}

fn counts(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let room = built.file.len() as u64 - 24;
    let tensors = built.model.tensors.len() as u64;
    let (at, most) =
        if bool::arbitrary(u)? { (8, room / LEAST.1) } else { (16, (room - tensors * LEAST.1) / LEAST.0) };
    let more = u64::arbitrary(u)? >> u.int_in_range(0..=63)?;
    let count = if rare_max(u)? { u64::MAX } else { most.saturating_add(1).saturating_add(more) };
    let kind = if at == 8 { ErrorKind::GgTensorCount } else { ErrorKind::GgPairCount };
    Ok(Some((with_number(built, at, count, 8), kind, at)))
}

fn rare_max(u: &mut Unstructured<'_>) -> Result<bool> {
    Ok(u.int_in_range(0..=7)? == 0)
}

/// The first field that does not end within `most` bytes.
fn first_past(fields: &[Field], most: u64) -> Option<&Field> {
    fields.iter().find(|field| field.at + field.len > most)
}

/// The first tensor whose data does not end within `most` bytes of the file: its offset's place.
fn first_short(built: &Built, most: u64) -> Option<u64> {
    let past = |tensor: &Tensor| built.data_at + tensor.offset + tensor.len > most;
    built.model.tensors.iter().position(past).map(|index| built.infos[index].offset)
}

/// A file that ends too early, anywhere.
fn cut(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let len = u.int_in_range(0..=built.file.len() - 1)?;
    let file = built.file[..len].to_vec();
    let len = len as u64;
    let (tensors, pairs) = (built.model.tensors.len() as u64, built.model.pairs.len() as u64);
    if len < 24 {
        let at = if len < 8 { len / 4 * 4 } else { len / 8 * 8 };
        return Ok(Some((file, ErrorKind::GgTooShort, at)));
    }
    let room = len - 24;
    let told = if tensors > room / LEAST.1 {
        Some((ErrorKind::GgTensorCount, 8))
    } else if pairs > (room - tensors * LEAST.1) / LEAST.0 {
        Some((ErrorKind::GgPairCount, 16))
    } else {
        let field = first_past(&built.fields, len);
        // Once the pairs are read, the tensors are counted again.
        if field.is_none_or(|field| field.at >= built.pairs_end)
            && tensors > len.saturating_sub(built.pairs_end) / LEAST.1
        {
            Some((ErrorKind::GgTensorCount, 8))
        } else if let Some(field) = field {
            Some((field.past_end, field.claim))
        } else if len < built.data_at {
            Some((ErrorKind::GgPaddingShort, built.head_len))
        } else {
            first_short(built, len).map(|at| (ErrorKind::GgDataShort, at))
        }
    };
    Ok(told.map(|(kind, at)| (file, kind, at)))
}

/// The model, changed and built again.
fn again(built: &Built, change: impl FnOnce(&mut Model)) -> Built {
    let mut model = built.model.clone();
    change(&mut model);
    model.build()
}
