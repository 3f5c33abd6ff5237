//! One known fault in a valid GGUF file, with the kind and the offset of the error that must come of it.
//!
//! What a lie predicts is derived from the format and from where it put the fault, never from what the reader says.

use arbitrary::{Arbitrary, Result, Unstructured};
use tensorgate::gguf::{GgmlType, ValueType};
use tensorgate::{ErrorKind, Limits};

use super::gguf::{ALIGNMENT, Built, Field, Model, Tensor, Value, width};
use super::lies::Lie;

/// What a lie makes: the file, the kind and the offset; `None` where the file has no place for it.
pub type Told = Result<Option<(Vec<u8>, ErrorKind, u64)>>;

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

fn long_string(built: &Built, u: &mut Unstructured<'_>) -> Told {
    // Keys, text values and strings of arrays: whatever has a length, but for names, whose limit is lower.
    let places: Vec<&Field> = built
        .fields
        .iter()
        .filter(|field| field.past_end == ErrorKind::GgStringPastEnd && field.at < built.pairs_end)
        .collect();
    let Some(choice) = one(u, places.len())? else { return Ok(None) };
    let field = places[choice];
    let left = built.file.len() as u64 - field.at;
    let len = left + 1 + u.int_in_range(0..=300)?;
    // A longer key would be over its limit.
    if len > 65_535 {
        return Ok(None);
    }
    Ok(Some((with_number(built, field.claim, len, 8), ErrorKind::GgStringPastEnd, field.claim)))
}

fn long_array(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |value| value.kind() == ValueType::Array)? else { return Ok(None) };
    let size = match &built.model.pairs[index].1 {
        Value::Numbers(kind, _) => width(*kind),
        _ => 8,
    } as u64;
    let at = built.pairs[index].value + 4;
    let left = built.file.len() as u64 - (at + 8);
    let most = 1 << 30;
    let count = if bool::arbitrary(u)? { most } else { (left / size + 1 + u.int_in_range(0..=9)?).min(most) };
    Ok(Some((with_number(built, at, count, 8), ErrorKind::GgArrayPastEnd, at)))
}

/// The model, changed and built again.
fn again(built: &Built, change: impl FnOnce(&mut Model)) -> Built {
    let mut model = built.model.clone();
    change(&mut model);
    model.build()
}

fn empty_key(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    // The value is one that makes the pair no shorter than the least one.
    let value = Value::Number(ValueType::U64, 7);
    let built = again(built, |model| model.pairs[index] = (Vec::new(), value));
    let at = built.pairs[index].len;
    Ok(Some((built.file, ErrorKind::GgKeyEmpty, at)))
}

fn odd_key(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    let inside = u.choose_index(built.model.pairs[index].0.len())? as u64;
    let at = built.pairs[index].len + 8 + inside;
    let byte = *u.choose(&[0_u8, 9, 0x1F, 0x7F, 0x80, 0xC3, 0xFF])?;
    Ok(Some((with_number(built, at, byte.into(), 1), ErrorKind::GgKeyCharset, at)))
}

fn key_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    let place = u.int_in_range(index + 1..=built.model.pairs.len())?;
    let built = again(built, |model| {
        let key = model.pairs[index].0.clone();
        let value = if key == ALIGNMENT { model.pairs[index].1.clone() } else { Value::Number(ValueType::U32, 64) };
        model.pairs.insert(place, (key, value));
    });
    let at = built.pairs[place].len + 8;
    Ok(Some((built.file, ErrorKind::GgKeyDup, at)))
}

/// A number that is no type of values.
fn no_type(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.int_in_range(0..=3)? {
        0 => 13,
        1 => 1 << 31,
        2 => u64::from(u32::MAX),
        _ => u.int_in_range(14..=u64::from(u32::MAX))?,
    })
}

fn value_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |_| true)? else { return Ok(None) };
    let at = built.pairs[index].kind;
    Ok(Some((with_number(built, at, no_type(u)?, 4), ErrorKind::GgValueType, at)))
}

fn element_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |value| value.kind() == ValueType::Array)? else { return Ok(None) };
    let at = built.pairs[index].value;
    let nested = bool::arbitrary(u)?;
    let (number, kind) = if nested { (9, ErrorKind::GgArrayNested) } else { (no_type(u)?, ErrorKind::GgArrayType) };
    Ok(Some((with_number(built, at, number, 4), kind, at)))
}

fn odd_bool(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let is_bool = |value: &Value| match value {
        Value::Number(kind, _) => *kind == ValueType::Bool,
        Value::Numbers(kind, elements) => *kind == ValueType::Bool && !elements.is_empty(),
        _ => false,
    };
    let Some(index) = pair(built, u, is_bool)? else { return Ok(None) };
    let place = &built.pairs[index];
    let at = if place.elements.is_empty() { place.value } else { *u.choose(&place.elements)? };
    Ok(Some((with_number(built, at, u.int_in_range(2..=255)?, 1), ErrorKind::GgBool, at)))
}

fn text_utf8(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = pair(built, u, |value| matches!(value, Value::Text(_)))? else { return Ok(None) };
    let bad: &[u8] = u.choose(&[
        &b"\xff"[..],
        b"\x80",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"\xc3",
    ])?;
    let Value::Text(text) = &built.model.pairs[index].1 else { return Ok(None) };
    let inside = text.len() as u64;
    let text = [text, bad].concat();
    let built = again(built, |model| model.pairs[index].1 = Value::Text(text));
    let at = built.pairs[index].value + 8 + inside;
    Ok(Some((built.file, ErrorKind::GgStringUtf8, at)))
}

/// The file with this alignment in it, whatever it said before, and which pair says it.
fn with_alignment(built: &Built, value: Value) -> (Built, usize) {
    let said = built.model.pairs.iter().position(|(key, _)| key == ALIGNMENT);
    let index = said.unwrap_or(0);
    let built = again(built, |model| {
        let pair = (ALIGNMENT.to_vec(), value);
        if said.is_some() { model.pairs[index] = pair } else { model.pairs.insert(0, pair) }
    });
    (built, index)
}

fn alignment_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let others = [
        Value::Number(ValueType::U64, 32),
        Value::Number(ValueType::I32, 32),
        Value::Number(ValueType::U8, 32),
        Value::Text(b"32".to_vec()),
        Value::Numbers(ValueType::U32, vec![32]),
    ];
    let (built, index) = with_alignment(built, u.choose(&others)?.clone());
    let at = built.pairs[index].kind;
    Ok(Some((built.file, ErrorKind::GgAlignType, at)))
}

fn alignment_value(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let number = *u.choose(&[0, 3, 24, 33, 0x8000_0001, u64::from(u32::MAX)])?;
    let (built, index) = with_alignment(built, Value::Number(ValueType::U32, number));
    let at = built.pairs[index].value;
    Ok(Some((built.file, ErrorKind::GgAlignValue, at)))
}

/// A tensor that `wanted` takes.
fn tensor(built: &Built, u: &mut Unstructured<'_>, wanted: impl Fn(&Tensor) -> bool) -> Result<Option<usize>> {
    let places: Vec<usize> = (0..built.infos.len()).filter(|index| wanted(&built.model.tensors[*index])).collect();
    Ok(one(u, places.len())?.map(|choice| places[choice]))
}

fn empty_name(built: &Built, u: &mut Unstructured<'_>) -> Told {
    // With a dimension the info is no shorter than the least one.
    let Some(index) = tensor(built, u, |tensor| !tensor.dims.is_empty())? else { return Ok(None) };
    let built = again(built, |model| model.tensors[index].name.clear());
    let at = built.infos[index].len;
    Ok(Some((built.file, ErrorKind::GgNameEmpty, at)))
}

fn odd_name(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |tensor| tensor.name.len() < 60)? else { return Ok(None) };
    let (bad, kind) = *u.choose(&[
        (&b"\xff"[..], ErrorKind::GgNameUtf8),
        (b"\xc3(", ErrorKind::GgNameUtf8),
        (b"\xed\xa0\x80", ErrorKind::GgNameUtf8),
        (b"\0", ErrorKind::GgNameControl),
        (b"\n", ErrorKind::GgNameControl),
        (b"\x7f", ErrorKind::GgNameControl),
        (b"\xc2\x85", ErrorKind::GgNameControl),
    ])?;
    let inside = built.model.tensors[index].name.len() as u64;
    let built = again(built, |model| model.tensors[index].name.extend_from_slice(bad));
    let at = built.infos[index].len + 8 + inside;
    Ok(Some((built.file, kind, at)))
}

fn name_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let place = u.int_in_range(index + 1..=built.infos.len())?;
    let built = again(built, |model| {
        model.tensors.insert(place, Tensor { dims: vec![0], len: 0, kind: 0, ..model.tensors[index].clone() });
        model.unpadded = 0;
        model.lay_out();
    });
    let at = built.infos[place].len + 8;
    Ok(Some((built.file, ErrorKind::GgNameDup, at)))
}

fn five_dims(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let rank = *u.choose(&[5, 6, 255, 1 << 31, u64::from(u32::MAX)])?;
    let at = built.infos[index].rank;
    Ok(Some((with_number(built, at, rank, 4), ErrorKind::GgRankLimit, at)))
}

fn negative_dim(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |tensor| !tensor.dims.is_empty())? else { return Ok(None) };
    let axis = u.choose_index(built.model.tensors[index].dims.len())? as u64;
    let at = built.infos[index].rank + 4 + axis * 8;
    let dim = (1 << 63) | (u64::arbitrary(u)? >> u.int_in_range(0..=63)?);
    Ok(Some((with_number(built, at, dim, 8), ErrorKind::GgDimNegative, at)))
}

/// The largest signed number of 64 bits.
const EDGE: u64 = u64::MAX >> 1;

fn shape_overflow(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let (dims, axis): (&[u64], u64) = u
        .choose(&[
            (&[1 << 62, 2][..], 1),
            (&[1 << 32, 1 << 31], 1),
            (&[EDGE, EDGE], 1),
            (&[3, EDGE / 3], 1),
            (&[EDGE / 2, 2], 1),
            (&[1, 1, EDGE], 2),
            (&[1 << 20, 1 << 20, 1 << 23, 0], 2),
            (&[1 << 16, 1 << 16, 1 << 16, 1 << 15], 3),
        ])
        .map(|(dims, axis)| (*dims, *axis))?;
    let built = again(built, |model| model.tensors[index].dims = dims.to_vec());
    let at = built.infos[index].rank + 4 + axis * 8;
    Ok(Some((built.file, ErrorKind::GgShapeOverflow, at)))
}

fn tensor_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let at = built.infos[index].kind;
    let (number, kind) = if bool::arbitrary(u)? {
        (*u.choose(&[4, 5, 31, 32, 33, 36, 37, 38])?, ErrorKind::GgTypeRemoved)
    } else {
        (*u.choose(&[43, 97, 133, 202, 1 << 31, u64::from(u32::MAX)])?, ErrorKind::GgTypeUnknown)
    };
    Ok(Some((with_number(built, at, number, 4), kind, at)))
}

fn row_blocks(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let block = |tensor: &Tensor| GgmlType::from_id(tensor.kind).block_elements().unwrap_or(1);
    let Some(index) = tensor(built, u, |tensor| block(tensor) > 1 && tensor.dims.iter().all(|dim| *dim < 4096))?
    else {
        return Ok(None);
    };
    let block = u64::from(block(&built.model.tensors[index]));
    let row = u.int_in_range(0..=3)? * block + u.int_in_range(1..=block - 1)?;
    let at = built.infos[index].rank + 4;
    Ok(Some((with_number(built, at, row, 8), ErrorKind::GgRowBlocks, at)))
}

fn size_overflow(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    // F32, F64 and Q8_K: 2^64 bytes and more, or what is padded to that.
    let (kind, dims): (u32, &[u64]) =
        *u.choose(&[(0, &[1 << 62][..]), (0, &[1 << 31, 1 << 31]), (28, &[1 << 61]), (27, &[EDGE])])?;
    let built = again(built, |model| {
        model.tensors[index].kind = kind;
        model.tensors[index].dims = dims.to_vec();
    });
    let at = built.infos[index].rank + 4;
    Ok(Some((built.file, ErrorKind::GgSizeOverflow, at)))
}

fn offset(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let (at, right) = (built.infos[index].offset, built.model.tensors[index].offset);
    let (offset, kind) = if right > 0 && bool::arbitrary(u)? {
        (u.int_in_range(0..=right - 1)?, ErrorKind::GgOffsetOverlap)
    } else {
        let more = u64::arbitrary(u)? >> u.int_in_range(1..=63)?;
        (right + 1 + more, ErrorKind::GgOffsetGap)
    };
    Ok(Some((with_number(built, at, offset, 8), kind, at)))
}

fn padding(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut places: Vec<u64> = (built.head_len..built.data_at).collect();
    let mut covered = built.data_at;
    for tensor in &built.model.tensors {
        places.extend(covered..built.data_at + tensor.offset);
        covered = built.data_at + tensor.offset + tensor.len;
    }
    places.extend(covered.max(built.head_len)..built.file.len() as u64);
    let Some(choice) = one(u, places.len())? else { return Ok(None) };
    let at = places[choice];
    Ok(Some((with_number(built, at, u.int_in_range(1..=255)?, 1), ErrorKind::GgPaddingNonzero, at)))
}

fn trailing(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut file = built.file.clone();
    file.resize(file.len() + usize::try_from(built.model.unpadded).expect("small"), 0);
    let at = file.len() as u64;
    let filler = u8::arbitrary(u)?;
    file.resize(file.len() + u.int_in_range(1..=40)?, filler);
    Ok(Some((file, ErrorKind::GgDataTrailing, at)))
}

/// A file that is right, under a limit that it passes.
fn over_a_limit(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<Lie>> {
    let limits = Limits::DEFAULT;
    let lens = |select: fn(&Value) -> Vec<u64>| -> Vec<Vec<u64>> {
        built.model.pairs.iter().map(|(_, value)| select(value)).collect()
    };
    let (pairs, tensors) = (built.model.pairs.len() as u64, built.model.tensors.len() as u64);
    let told = match u.int_in_range(0..=7)? {
        0 if built.head_len > 24 => {
            let limit = u.int_in_range(0..=built.head_len - 1)?;
            let at = metadata_cut(built, limit);
            Some((limits.with_metadata_len(limit), ErrorKind::GgMetadataLimit, at))
        }
        1 if pairs > 0 => Some((limits.with_metadata_keys(pairs - 1), ErrorKind::GgPairLimit, 16)),
        2 if tensors > 0 => Some((limits.with_tensors(tensors - 1), ErrorKind::GgTensorLimit, 8)),
        3 => over(
            built.model.pairs.iter().zip(&built.pairs).map(|((key, _), place)| (key.len() as u64, place.len)),
            u,
        )?
        .map(|(limit, at)| (limits.with_key_len(limit), ErrorKind::GgKeyLimit, at)),
        4 => {
            let texts = lens(|value| match value {
                Value::Text(text) => vec![text.len() as u64],
                Value::Texts(texts) => texts.iter().map(|text| text.len() as u64).collect(),
                _ => Vec::new(),
            });
            let places = built.pairs.iter().zip(&texts).flat_map(|(place, texts)| {
                let own = if place.elements.is_empty() { vec![place.value] } else { place.elements.clone() };
                texts.iter().copied().zip(own).collect::<Vec<_>>()
            });
            over(places, u)?.map(|(limit, at)| (limits.with_string_len(limit), ErrorKind::GgStringLimit, at))
        }
        5 => {
            let counts = lens(|value| match value {
                Value::Numbers(_, elements) => vec![elements.len() as u64],
                Value::Texts(texts) => vec![texts.len() as u64],
                _ => Vec::new(),
            });
            let places = built
                .pairs
                .iter()
                .zip(&counts)
                .flat_map(|(place, counts)| counts.iter().map(|n| (*n, place.value + 4)));
            over(places, u)?.map(|(limit, at)| (limits.with_array_len(limit), ErrorKind::GgArrayLimit, at))
        }
        6 => over(
            built.model.tensors.iter().zip(&built.infos).map(|(t, place)| (t.name.len() as u64, place.len)),
            u,
        )?
        .map(|(limit, at)| (limits.with_gguf_name_len(limit), ErrorKind::GgNameLimit, at)),
        _ => over(
            built.model.tensors.iter().zip(&built.infos).map(|(t, place)| (t.dims.len() as u64, place.rank)),
            u,
        )?
        .map(|(limit, at)| (limits.with_gguf_rank(limit), ErrorKind::GgRankLimit, at)),
    };
    Ok(told.map(|(limits, kind, at)| Lie { name: "over a limit", file: built.file.clone(), limits, kind, at }))
}

/// The claim of the first field past `limit`. The least bytes of an array of strings are asked of the file only.
fn metadata_cut(built: &Built, limit: u64) -> u64 {
    match limit {
        0..8 => return limit / 4 * 4,
        8..24 => return limit / 8 * 8,
        _ => {}
    }
    let strings: Vec<u64> = built
        .model
        .pairs
        .iter()
        .zip(&built.pairs)
        .filter(|((_, value), _)| matches!(value, Value::Texts(_)))
        .map(|(_, place)| place.value + 4)
        .collect();
    let counts = |field: &&Field| field.past_end != ErrorKind::GgArrayPastEnd || !strings.contains(&field.claim);
    let past = built.fields.iter().filter(counts).find(|field| field.at + field.len > limit);
    past.map_or(0, |field| field.claim)
}

/// A limit below one of these sizes, and where the first that passes it stands.
fn over(
    mut places: impl Iterator<Item = (u64, u64)> + Clone,
    u: &mut Unstructured<'_>,
) -> Result<Option<(u64, u64)>> {
    let sizes: Vec<u64> = places.clone().map(|(size, _)| size).filter(|size| *size > 0).collect();
    let Some(choice) = one(u, sizes.len())? else { return Ok(None) };
    let limit = sizes[choice] - 1;
    Ok(places.find(|(size, _)| *size > limit).map(|(_, at)| (limit, at)))
}
