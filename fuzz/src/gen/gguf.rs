//! Valid GGUF files, built from an engine's bytes, with the place of every field.

use arbitrary::{Arbitrary, Result, Unstructured};
use tensorgate::ErrorKind;
use tensorgate::gguf::{GgmlType, ValueType};

use super::rare;

/// A value to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number or a bool: its type, and its bits in the low bytes.
    Number(ValueType, u64),
    /// A string.
    Text(Vec<u8>),
    /// An array of numbers or bools: the elements' type and their bits.
    Numbers(ValueType, Vec<u64>),
    /// An array of strings.
    Texts(Vec<Vec<u8>>),
}

impl Value {
    /// The type that stands before it in the file.
    pub const fn kind(&self) -> ValueType {
        match self {
            Self::Number(kind, _) => *kind,
            Self::Text(_) => ValueType::String,
            Self::Numbers(..) | Self::Texts(_) => ValueType::Array,
        }
    }
}

/// A tensor to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: Vec<u8>,
    /// Its type's number.
    pub kind: u32,
    /// Its dimensions, innermost first.
    pub dims: Vec<u64>,
    /// Where its data begins in the data section.
    pub offset: u64,
    /// Bytes of its data.
    pub len: u64,
}

/// A valid file to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// 2 or 3.
    pub version: u32,
    /// Whether the highest byte comes first.
    pub big: bool,
    /// Keys and values, in their order.
    pub pairs: Vec<(Vec<u8>, Value)>,
    /// The tensors, in their order.
    pub tensors: Vec<Tensor>,
    /// What `general.alignment` says, or 32.
    pub alignment: u64,
    /// Bytes of the last padding that are left out.
    pub unpadded: u64,
}

/// The key that says the alignment.
pub const ALIGNMENT: &[u8] = b"general.alignment";

/// A field of a file, in the order in which they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it stands.
    pub at: u64,
    /// How many bytes it has, or at least claims to have.
    pub len: u64,
    /// Where the claim stands that it is so long.
    pub claim: u64,
    /// What is wrong where it does not fit.
    pub past_end: ErrorKind,
}

/// Where the parts of a pair stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairPlace {
    /// The key's length.
    pub len: u64,
    /// The type.
    pub kind: u64,
    /// The value: for an array its elements' type.
    pub value: u64,
    /// Each element of an array.
    pub elements: Vec<u64>,
}

/// Where the parts of a tensor's info stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InfoPlace {
    /// The name's length.
    pub len: u64,
    /// The number of dimensions.
    pub rank: u64,
    /// The type.
    pub kind: u64,
    /// The offset.
    pub offset: u64,
}

/// A file that was built, with the place of everything.
#[derive(Clone, Debug)]
pub struct Built {
    /// What it says.
    pub model: Model,
    /// The file.
    pub file: Vec<u8>,
    /// The fields behind the counts.
    pub fields: Vec<Field>,
    /// One a pair.
    pub pairs: Vec<PairPlace>,
    /// One a tensor.
    pub infos: Vec<InfoPlace>,
    /// Where the pairs end.
    pub pairs_end: u64,
    /// Where the infos end.
    pub head_len: u64,
    /// Where the data section begins.
    pub data_at: u64,
}

/// The byte of a tensor's data at `at` in the data section.
pub fn data_byte(at: u64) -> u8 {
    u8::try_from(at * 37 % 251 + 1).unwrap_or(1)
}

/// Writes numbers in either byte order, and notes the fields.
struct Out {
    bytes: Vec<u8>,
    big: bool,
    fields: Vec<Field>,
}

impl Out {
    fn at(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn note(&mut self, len: u64, claim: u64, past_end: ErrorKind) {
        self.fields.push(Field { at: self.at(), len, claim, past_end });
    }

    /// The low `len` bytes of `bits`.
    fn raw(&mut self, bits: u64, len: usize) {
        let bytes = bits.to_le_bytes();
        if self.big { self.bytes.extend(bytes[..len].iter().rev()) } else { self.bytes.extend(&bytes[..len]) }
    }

    fn number(&mut self, bits: u64, len: usize) {
        self.note(len as u64, self.at(), ErrorKind::GgEnd);
        self.raw(bits, len);
    }

    fn text(&mut self, text: &[u8]) {
        let claim = self.at();
        self.number(text.len() as u64, 8);
        self.note(text.len() as u64, claim, ErrorKind::GgStringPastEnd);
        self.bytes.extend_from_slice(text);
    }

    fn value(&mut self, value: &Value) -> Vec<u64> {
        match value {
            Value::Number(kind, bits) => {
                self.number(*bits, width(*kind));
                Vec::new()
            }
            Value::Text(text) => {
                self.text(text);
                Vec::new()
            }
            Value::Numbers(kind, elements) => {
                let claim = self.array(*kind, elements.len());
                let width = width(*kind);
                self.note((elements.len() * width) as u64, claim, ErrorKind::GgArrayPastEnd);
                elements.iter().map(|bits| (self.at(), self.raw(*bits, width)).0).collect()
            }
            Value::Texts(texts) => {
                let claim = self.array(ValueType::String, texts.len());
                // Before any string is read, their lengths at the least have to fit; that moves nothing on.
                self.note(texts.len() as u64 * 8, claim, ErrorKind::GgArrayPastEnd);
                texts.iter().map(|text| (self.at(), self.text(text)).0).collect()
            }
        }
    }

    /// An array's head; where its count stands.
    fn array(&mut self, kind: ValueType, count: usize) -> u64 {
        self.number(kind.id().into(), 4);
        let claim = self.at();
        self.number(count as u64, 8);
        claim
    }
}

/// Bytes of a number of this type.
pub fn width(kind: ValueType) -> usize {
    match kind {
        ValueType::U8 | ValueType::I8 | ValueType::Bool => 1,
        ValueType::U16 | ValueType::I16 => 2,
        ValueType::U32 | ValueType::I32 | ValueType::F32 => 4,
        _ => 8,
    }
}

impl Model {
    /// The file that says all this.
    pub fn build(self) -> Built {
        let mut out = Out { bytes: b"GGUF".to_vec(), big: self.big, fields: Vec::new() };
        out.raw(self.version.into(), 4);
        out.raw(self.tensors.len() as u64, 8);
        out.raw(self.pairs.len() as u64, 8);
        let mut pairs = Vec::new();
        for (key, value) in &self.pairs {
            let mut place = PairPlace { len: out.at(), ..PairPlace::default() };
            out.text(key);
            place.kind = out.at();
            out.number(value.kind().id().into(), 4);
            place.value = out.at();
            place.elements = out.value(value);
            pairs.push(place);
        }
        let pairs_end = out.at();
        let mut infos = Vec::new();
        for tensor in &self.tensors {
            let mut place = InfoPlace { len: out.at(), ..InfoPlace::default() };
            out.text(&tensor.name);
            place.rank = out.at();
            out.number(tensor.dims.len() as u64, 4);
            tensor.dims.iter().for_each(|dim| out.number(*dim, 8));
            place.kind = out.at();
            out.number(tensor.kind.into(), 4);
            place.offset = out.at();
            out.number(tensor.offset, 8);
            infos.push(place);
        }
        let head_len = out.at();
        let padded = head_len.next_multiple_of(self.alignment);
        let data_at = if self.tensors.is_empty() { head_len } else { padded };
        let (mut file, fields) = (out.bytes, out.fields);
        file.resize(usize::try_from(padded).expect("small"), 0);
        for tensor in &self.tensors {
            file.resize(usize::try_from(data_at + tensor.offset).expect("small"), 0);
            file.extend((tensor.offset..tensor.offset + tensor.len).map(data_byte));
        }
        let end = self.tensors.last().map_or(0, |last| last.offset + last.len);
        let end = if self.tensors.is_empty() { padded } else { data_at + end.next_multiple_of(self.alignment) };
        file.resize(usize::try_from(end - self.unpadded).expect("small"), 0);
        Built { model: self, file, fields, pairs, infos, pairs_end, head_len, data_at }
    }

    /// Bytes of the last padding, if all of it is there.
    pub fn last_padding(&self) -> u64 {
        self.tensors.last().map_or(0, |last| {
            let end = last.offset + last.len;
            end.next_multiple_of(self.alignment) - end
        })
    }

    /// Puts the tensors one behind the other again.
    pub fn lay_out(&mut self) {
        let mut next = 0;
        for tensor in &mut self.tensors {
            tensor.offset = next;
            next = (next + tensor.len).next_multiple_of(self.alignment);
        }
    }
}

/// Types of numbers.
const NUMBERS: [ValueType; 11] = [
    ValueType::U8,
    ValueType::I8,
    ValueType::U16,
    ValueType::I16,
    ValueType::U32,
    ValueType::I32,
    ValueType::F32,
    ValueType::Bool,
    ValueType::U64,
    ValueType::I64,
    ValueType::F64,
];

fn bits(u: &mut Unstructured<'_>, kind: ValueType) -> Result<u64> {
    let word = u64::arbitrary(u)?;
    Ok(if kind == ValueType::Bool { word & 1 } else { word & (u64::MAX >> (64 - 8 * width(kind))) })
}

/// Text with characters of one to four bytes, and controls where `any`.
fn text(u: &mut Unstructured<'_>, most: usize, any: bool) -> Result<Vec<u8>> {
    const CHARS: [char; 10] = ['a', '.', '_', '0', ' ', '\\', 'é', '日', '\u{1f600}', '\u{202e}'];
    let mut text = String::new();
    for _ in 0..u.int_in_range(0..=12)? {
        let next = if any && rare(u, 4) { char::arbitrary(u)? } else { *u.choose(&CHARS)? };
        if text.len() + next.len_utf8() <= most {
            text.push(next);
        }
    }
    Ok(text.into_bytes())
}

/// A key or a name that is none of `taken` and not empty.
fn fresh(mut text: Vec<u8>, taken: &[Vec<u8>]) -> Vec<u8> {
    text.truncate(text.len().min(40));
    while std::str::from_utf8(&text).is_err() {
        text.pop();
    }
    while text.is_empty() || text == ALIGNMENT || taken.contains(&text) {
        text.extend_from_slice(format!("{}", taken.len()).as_bytes());
    }
    text
}

fn value(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=9)? {
        0..=3 => {
            let kind = *u.choose(&NUMBERS)?;
            Value::Number(kind, bits(u, kind)?)
        }
        4 | 5 => Value::Text(text(u, 200, true)?),
        6 | 7 => {
            let kind = *u.choose(&NUMBERS)?;
            let count = if rare(u, 8) { u.int_in_range(0..=90)? } else { u.int_in_range(0..=5)? };
            Value::Numbers(kind, (0..count).map(|_| bits(u, kind)).collect::<Result<_>>()?)
        }
        8 => {
            let count = if rare(u, 8) { u.int_in_range(0..=90)? } else { u.int_in_range(0..=5)? };
            let texts = (0..count).map(|_| {
                // Strings in arrays are any bytes.
                if rare(u, 3) { Vec::<u8>::arbitrary(u) } else { text(u, 200, true) }
            });
            Value::Texts(texts.collect::<Result<_>>()?)
        }
        // Many short strings, which are walked several stretches at once.
        _ => {
            let (count, long, filler) = (u.int_in_range(0..=3000)?, u.int_in_range(1..=9)?, u8::arbitrary(u)?);
            let count = if rare(u, 6) { count } else { count % 4 };
            Value::Texts((0..count).map(|index| vec![filler; index * 7 % long]).collect())
        }
    })
}

/// No tensor has more elements than this, so that files stay small.
const MOST_ELEMENTS: u64 = 1024;

fn tensor(u: &mut Unstructured<'_>, name: Vec<u8>) -> Result<Tensor> {
    let kind = *u.choose(GgmlType::ALL)?;
    let block = u64::from(kind.block_elements().expect("a live type"));
    let rank = u.int_in_range(0..=4)?;
    let mut dims = Vec::new();
    let mut elements = 1_u64;
    for axis in 0..rank {
        let unit = if axis == 0 { block } else { 1 };
        let dim = unit * u.int_in_range(0..=4)?;
        let fits = elements * dim <= MOST_ELEMENTS || axis == 0;
        dims.push(if fits { dim } else { 1 });
        elements *= dims.last().expect("one was pushed");
        // Behind a zero any dimension may follow that is a signed number; the product stays zero.
        if elements == 0 && axis > 0 && rare(u, 4) {
            *dims.last_mut().expect("one was pushed") =
                if dims[..axis].contains(&0) { u64::arbitrary(u)? >> 1 } else { 0 };
        }
    }
    let kind = if dims.is_empty() && block > 1 { GgmlType::F32 } else { kind };
    let block = u64::from(kind.block_elements().expect("a live type"));
    let len = elements / block * u64::from(kind.block_bytes().expect("a live type"));
    Ok(Tensor { name, kind: kind.id(), dims, offset: 0, len })
}

impl<'a> Arbitrary<'a> for Model {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (version, big) = *u.choose(&[(3, false), (3, true), (2, false)])?;
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut pairs = Vec::new();
        for _ in 0..if rare(u, 16) { u.int_in_range(0..=60)? } else { u.int_in_range(0..=5)? } {
            let key: Vec<u8> =
                text(u, 40, false)?.into_iter().filter(|byte| (b' '..=b'~').contains(byte)).collect();
            let key = fresh(key, &keys);
            keys.push(key.clone());
            pairs.push((key, value(u)?));
        }
        let mut alignment = 32;
        if rare(u, 2) {
            alignment = 1 << u.int_in_range(0..=9)?;
            let place = u.int_in_range(0..=pairs.len())?;
            pairs.insert(place, (ALIGNMENT.to_vec(), Value::Number(ValueType::U32, alignment)));
        }
        let mut names = Vec::new();
        let mut tensors = Vec::new();
        for _ in 0..if rare(u, 16) { u.int_in_range(0..=40)? } else { u.int_in_range(0..=4)? } {
            let name = fresh(text(u, 63, false)?, &names);
            names.push(name.clone());
            tensors.push(tensor(u, name)?);
        }
        let mut model = Self { version, big, pairs, tensors, alignment, unpadded: 0 };
        model.lay_out();
        if rare(u, 3) {
            model.unpadded = u.int_in_range(0..=model.last_padding())?;
        }
        Ok(model)
    }
}
