//! A second reader of GGUF, slow and plain, written from the format's rules and from nothing of the crate's: vectors,
//! 128-bit sums, one value after the other. Only whether a file is right and what it says, not where it is wrong.

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number or a bool: its type's number and its bits.
    Number(u32, u64),
    /// A string.
    Text(Vec<u8>),
    /// An array: its elements' type and the elements.
    Array(u32, Vec<Value>),
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its dimensions, innermost first.
    pub dims: Vec<u64>,
    /// Its type's number.
    pub kind: u32,
    /// Where its bytes begin and end in the file.
    pub range: (usize, usize),
}

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// 2 or 3.
    pub version: u32,
    /// Whether the highest byte comes first.
    pub big: bool,
    /// The alignment in bytes.
    pub alignment: u32,
    /// Keys and values.
    pub pairs: Vec<(String, Value)>,
    /// The tensors.
    pub tensors: Vec<Tensor>,
    /// Where the data section begins.
    pub data_at: usize,
}

/// Name limit, string and array limit, key limit: those of the reference reader and of the format's document.
const NAME: u64 = 63;
const LONG: u64 = 1 << 30;
const KEY: u64 = 65_535;

/// Elements and bytes of a block of each live type, by its number.
const BLOCKS: [(u32, u64, u64); 35] = [
    (0, 1, 4),
    (1, 1, 2),
    (2, 32, 18),
    (3, 32, 20),
    (6, 32, 22),
    (7, 32, 24),
    (8, 32, 34),
    (9, 32, 36),
    (10, 256, 84),
    (11, 256, 110),
    (12, 256, 144),
    (13, 256, 176),
    (14, 256, 210),
    (15, 256, 292),
    (16, 256, 66),
    (17, 256, 74),
    (18, 256, 98),
    (19, 256, 50),
    (20, 32, 18),
    (21, 256, 110),
    (22, 256, 82),
    (23, 256, 136),
    (24, 1, 1),
    (25, 1, 2),
    (26, 1, 4),
    (27, 1, 8),
    (28, 1, 8),
    (29, 256, 56),
    (30, 1, 2),
    (34, 256, 54),
    (35, 256, 66),
    (39, 32, 17),
    (40, 64, 36),
    (41, 128, 18),
    (42, 64, 18),
];

struct Bytes<'a> {
    file: &'a [u8],
    at: usize,
    big: bool,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let left = self.file.len() - self.at;
        if count > left as u64 {
            return None;
        }
        let count = usize::try_from(count).ok()?;
        let slice = &self.file[self.at..self.at + count];
        self.at += count;
        Some(slice)
    }

    fn number(&mut self, len: u64) -> Option<u64> {
        let mut bytes = self.take(len)?.to_vec();
        if !self.big {
            bytes.reverse();
        }
        Some(bytes.iter().fold(0, |sum, byte| sum * 256 + u64::from(*byte)))
    }

    fn word(&mut self) -> Option<u32> {
        u32::try_from(self.number(4)?).ok()
    }

    fn text(&mut self, most: u64) -> Option<Vec<u8>> {
        let len = self.number(8)?;
        if len > most { None } else { Some(self.take(len)?.to_vec()) }
    }

    fn plain(&mut self, kind: u32) -> Option<Value> {
        let len = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            _ => return None,
        };
        let bits = self.number(len)?;
        if kind == 7 && bits > 1 { None } else { Some(Value::Number(kind, bits)) }
    }

    fn value(&mut self, kind: u32) -> Option<Value> {
        match kind {
            8 => {
                let text = String::from_utf8(self.text(LONG)?).ok()?;
                Some(Value::Text(text.into_bytes()))
            }
            9 => {
                let kind = self.word()?;
                let count = self.number(8)?;
                if kind == 9 || kind > 12 || count > LONG {
                    return None;
                }
                let mut elements = Vec::new();
                for _ in 0..count {
                    // Strings in arrays may be any bytes.
                    elements.push(if kind == 8 { Value::Text(self.text(LONG)?) } else { self.plain(kind)? });
                }
                Some(Value::Array(kind, elements))
            }
            _ => self.plain(kind),
        }
    }

    fn info(&mut self) -> Option<(String, Vec<u64>, u32, u64)> {
        let name = String::from_utf8(self.text(NAME)?).ok()?;
        let rank = self.word()?;
        if name.is_empty() || name.chars().any(char::is_control) || rank > 4 {
            return None;
        }
        let mut dims = Vec::new();
        for _ in 0..rank {
            dims.push(self.number(8)?);
        }
        Some((name, dims, self.word()?, self.number(8)?))
    }
}

/// The bytes of a tensor, if its shape and its type are right.
fn size(dims: &[u64], kind: u32) -> Option<u128> {
    let most = u128::from(u64::MAX / 2);
    if dims.iter().any(|dim| u128::from(*dim) > most) {
        return None;
    }
    let mut elements = dims.first().map_or(1, |first| u128::from(*first));
    for dim in dims.iter().skip(1).map(|dim| u128::from(*dim)) {
        // The reference wants it to fit when it reads the shape, and to be less than that when it makes the tensor.
        if dim > 1 && elements >= most / dim {
            return None;
        }
        elements *= dim;
    }
    let (_, block, bytes) = *BLOCKS.iter().find(|(id, ..)| *id == kind)?;
    let row = dims.first().copied().unwrap_or(1);
    if row % block != 0 { None } else { Some(elements / u128::from(block) * u128::from(bytes)) }
}

/// Reads a file that is all there.
pub fn read(file: &[u8]) -> Option<Contents> {
    let mut bytes = Bytes { file, at: 0, big: false };
    if bytes.take(4)? != b"GGUF" {
        return None;
    }
    let (version, big) = match bytes.take(4)? {
        [2, 0, 0, 0] => (2, false),
        [3, 0, 0, 0] => (3, false),
        [0, 0, 0, 3] => (3, true),
        _ => return None,
    };
    bytes.big = big;
    let (tensor_count, pair_count) = (bytes.number(8)?, bytes.number(8)?);
    let mut alignment = 32;
    let mut pairs: Vec<(String, Value)> = Vec::new();
    for _ in 0..pair_count {
        let key = bytes.text(KEY)?;
        if key.is_empty() || !key.iter().all(|byte| (0x20..0x7F).contains(byte)) {
            return None;
        }
        let key = String::from_utf8(key).ok()?;
        let kind = bytes.word()?;
        let value = bytes.value(kind)?;
        if key == "general.alignment" {
            match value {
                Value::Number(4, bits) if bits.is_power_of_two() => alignment = u32::try_from(bits).ok()?,
                _ => return None,
            }
        }
        if pairs.iter().any(|(other, _)| *other == key) {
            return None;
        }
        pairs.push((key, value));
    }
    let mut infos: Vec<(String, Vec<u64>, u32, u64)> = Vec::new();
    for _ in 0..tensor_count {
        let info = bytes.info()?;
        if infos.iter().any(|other| other.0 == info.0) {
            return None;
        }
        infos.push(info);
    }
    data(file, bytes.at, alignment, infos).map(|(data_at, tensors)| Contents {
        version,
        big,
        alignment,
        pairs,
        tensors,
        data_at,
    })
}

/// The tensors tile what follows the infos, with zeros between them.
fn data(
    file: &[u8],
    head_len: usize,
    alignment: u32,
    infos: Vec<(String, Vec<u64>, u32, u64)>,
) -> Option<(usize, Vec<Tensor>)> {
    let padded = |at: u128| at.div_ceil(u128::from(alignment)) * u128::from(alignment);
    let file_len = file.len() as u128;
    let mut is_padding = vec![true; file.len()];
    is_padding[..head_len].fill(false);
    let data_at = if infos.is_empty() { head_len as u128 } else { padded(head_len as u128) };
    if data_at > file_len {
        return None;
    }
    let mut next = 0_u128;
    let mut tensors = Vec::new();
    for (name, dims, kind, offset) in infos {
        let size = size(&dims, kind)?;
        if u128::from(offset) != next || data_at + next + size > file_len {
            return None;
        }
        let start = usize::try_from(data_at + next).ok()?;
        let end = usize::try_from(data_at + next + size).ok()?;
        is_padding[start..end].fill(false);
        tensors.push(Tensor { name, dims, kind, range: (start, end) });
        next = padded(next + size);
    }
    let most = if tensors.is_empty() { padded(head_len as u128) } else { data_at + next };
    let clean = file.iter().zip(&is_padding).all(|(byte, padding)| !padding || *byte == 0);
    if file_len > most || !clean { None } else { Some((usize::try_from(data_at).ok()?, tensors)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_file_is_read() {
        let mut file = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
        file.extend_from_slice(b"\x01\0\0\0\0\0\0\0n\x04\0\0\0\x07\0\0\0");
        file.extend_from_slice(b"\x01\0\0\0\0\0\0\0w\x01\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0");
        file.resize(96, 0);
        file.extend_from_slice(&[9; 6]);
        let contents = read(&file).unwrap();
        assert_eq!(contents.pairs, [("n".to_owned(), Value::Number(4, 7))]);
        assert_eq!((contents.alignment, contents.data_at, contents.tensors[0].range), (32, 96, (96, 102)));
        file.push(1);
        assert_eq!(read(&file), None);
    }

    #[test]
    fn the_cases_are_judged_as_expected() {
        let path = crate::corpus::root().join("tests/cases/gguf.json");
        let cases: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let mut judged = 0;
        for case in &cases {
            let (Some(hex), Some(expected)) = (case["hex"].as_str(), case["strict_expected"].as_str()) else {
                continue;
            };
            let bytes: Vec<u8> =
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
            assert_eq!(read(&bytes).is_some(), expected == "ok", "{}", case["name"]);
            judged += 1;
        }
        assert!(judged > 200);
    }
}
