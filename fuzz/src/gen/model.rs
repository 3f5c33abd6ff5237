//! What a valid file is to say, before it is spelt.

use super::rare;
use arbitrary::{Arbitrary, Result, Unstructured};
use tensorgate::Dtype;

/// A tensor to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: Dtype,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// Where its data begins in the data section.
    pub begin: u64,
    /// Where its data ends.
    pub end: u64,
}

/// `__metadata__` to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// None at all.
    Absent,
    /// `null`
    Null,
    /// Pairs with unique keys.
    Map(Vec<(String, String)>),
}

/// A valid file to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The tensors, in the order of their entries.
    pub tensors: Vec<Tensor>,
    /// The metadata.
    pub metadata: Metadata,
    /// The data section.
    pub data: Vec<u8>,
}

/// No tensor has more bytes than this.
const MOST_BYTES: u64 = 512;

/// Characters that names are made of, so that the interesting ones are frequent.
const CHARS: [char; 24] = [
    'a',
    'b',
    'w',
    '.',
    '_',
    '0',
    '1',
    '/',
    '\\',
    '"',
    '{',
    '}',
    ':',
    ',',
    '[',
    '\0',
    '\n',
    '\u{7f}',
    '\u{85}',
    'é',
    '\u{202e}',
    '日',
    '\u{ffff}',
    '\u{1f600}',
];

/// A short text, with a liking for characters that mean something.
pub(super) fn text(u: &mut Unstructured<'_>) -> Result<String> {
    let len = u.int_in_range(0..=12)?;
    (0..len).map(|_| if rare(u, 8) { char::arbitrary(u) } else { u.choose(&CHARS).copied() }).collect()
}

/// A text that is none of `taken`.
pub(super) fn fresh(u: &mut Unstructured<'_>, taken: &[String]) -> Result<String> {
    let mut text = text(u)?;
    while taken.contains(&text) || text == "__metadata__" {
        text.push_str(&taken.len().to_string());
    }
    Ok(text)
}

fn shape(u: &mut Unstructured<'_>, dtype: Dtype) -> Result<Vec<u64>> {
    let rank = if rare(u, 20) { u.int_in_range(0..=40)? } else { u.int_in_range(0..=4)? };
    let mut shape = Vec::new();
    let mut elements = 1_u64;
    for _ in 0..rank {
        let dim = if elements == 0 && rare(u, 2) { u64::arbitrary(u)? } else { u.int_in_range(0..=6)? };
        // Once a dimension is zero, any may follow it.
        if elements == 0 || elements * dim * dtype.bits() <= MOST_BYTES * 8 {
            elements = if elements == 0 { 0 } else { elements * dim };
            shape.push(dim);
        } else {
            shape.push(1);
        }
    }
    if elements.is_multiple_of(4) || dtype.bits() >= 8 {
        return Ok(shape);
    }
    // Below a byte an element, a whole number of bytes takes two (4 bits) or four (6 bits) of them.
    shape.push(if dtype.bits() == 4 { 2 } else { 4 });
    Ok(shape)
}

/// The size of a valid shape in bytes.
fn bytes(dtype: Dtype, shape: &[u64]) -> u64 {
    let elements = shape.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim));
    elements.and_then(|elements| dtype.bytes_for(elements)).expect("the generator makes sizes that fit")
}

fn metadata(u: &mut Unstructured<'_>) -> Result<Metadata> {
    Ok(match u.int_in_range(0..=5)? {
        0 | 1 => Metadata::Absent,
        2 => Metadata::Null,
        kind => {
            let count = if kind == 5 { u.int_in_range(0..=90)? } else { u.int_in_range(0..=5)? };
            let mut keys = Vec::new();
            let mut pairs = Vec::new();
            for _ in 0..count {
                let key = fresh(u, &keys)?;
                keys.push(key.clone());
                pairs.push((key, text(u)?));
            }
            Metadata::Map(pairs)
        }
    })
}

impl<'a> Arbitrary<'a> for Model {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let count: usize = if rare(u, 16) { u.int_in_range(0..=60)? } else { u.int_in_range(0..=6)? };
        let mut names = Vec::new();
        let mut tensors = Vec::new();
        for _ in 0..count {
            let name = fresh(u, &names)?;
            names.push(name.clone());
            let dtype = *u.choose(Dtype::ALL)?;
            tensors.push(Tensor { name, dtype, shape: shape(u, dtype)?, begin: 0, end: 0 });
        }
        // The data's order is any; each tensor begins where the one before ended.
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, u.int_in_range(0..=last)?);
        }
        let mut covered = 0;
        for index in order {
            let tensor = &mut tensors[index];
            tensor.begin = covered;
            covered += bytes(tensor.dtype, &tensor.shape);
            tensor.end = covered;
        }
        let data = (0..covered).map(|at| u8::try_from(at * 31 % 251).unwrap_or(0)).collect();
        Ok(Self { tensors, metadata: metadata(u)?, data })
    }
}

/// The indices of `extents` in the order of the data: by begin, by end, and where both are equal by their place.
pub fn layout(extents: &[(u64, u64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    order.sort_by_key(|index| (extents[*index], *index));
    order
}
