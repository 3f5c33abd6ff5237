//! Spelling a model: every way of writing it that the format allows.

use super::rare;
use arbitrary::{Arbitrary, Result, Unstructured};

use super::model::{Metadata, Model};
use super::tokens::{Field, Level, Role, Token, Tokens};

/// A valid file: what it says, and how it is spelt.
#[derive(Clone, Debug)]
pub struct Built {
    /// What it says.
    pub model: Model,
    /// How its header is spelt.
    pub tokens: Tokens,
}

impl Built {
    /// The file.
    pub fn file(&self) -> Vec<u8> {
        self.tokens.file(&self.model.data)
    }
}

impl<'a> Arbitrary<'a> for Built {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let model = Model::arbitrary(u)?;
        let (loose, escapes) = (rare(u, 2), rare(u, 2));
        let mut pen = Pen { u, loose, escapes, tensor: None, field: None, tokens: Vec::new() };
        pen.header(&model)?;
        Ok(Self { tokens: Tokens(pen.tokens), model })
    }
}

/// Writes tokens.
struct Pen<'u, 'a> {
    u: &'u mut Unstructured<'a>,
    /// Whether there is white space between tokens.
    loose: bool,
    /// Whether characters are escaped that need not be.
    escapes: bool,
    tensor: Option<usize>,
    field: Option<Field>,
    tokens: Vec<Token>,
}

impl Pen<'_, '_> {
    fn put(&mut self, role: Role, bytes: &[u8]) {
        let (tensor, field) = (self.tensor, self.field);
        self.tokens.push(Token { role, tensor, field, bytes: bytes.to_vec(), units: Vec::new() });
    }

    /// White space, if any.
    fn space(&mut self) -> Result<()> {
        if self.loose && rare(self.u, 3) {
            let space = space(self.u)?;
            self.put(Role::Space, &space);
        }
        Ok(())
    }

    /// A token with white space before it, if any.
    fn spaced(&mut self, role: Role, bytes: &[u8]) -> Result<()> {
        self.space()?;
        self.put(role, bytes);
        Ok(())
    }

    fn string(&mut self, role: Role, text: &str) -> Result<()> {
        self.space()?;
        let (bytes, units) = quoted(self.u, text, self.escapes)?;
        let (tensor, field) = (self.tensor, self.field);
        self.tokens.push(Token { role, tensor, field, bytes, units });
        Ok(())
    }

    fn key(&mut self, level: Level, first: bool, text: &str) -> Result<()> {
        if !first {
            self.spaced(Role::Comma(level), b",")?;
        }
        self.string(Role::Key(level), text)?;
        self.spaced(Role::Colon(level), b":")
    }

    fn header(&mut self, model: &Model) -> Result<()> {
        self.put(Role::Open(Level::Header), b"{");
        let members = model.tensors.len() + usize::from(model.metadata != Metadata::Absent);
        let place =
            if model.metadata == Metadata::Absent { members } else { self.u.int_in_range(0..=members - 1)? };
        let mut next = 0;
        for member in 0..members {
            if member == place {
                self.metadata(&model.metadata, member == 0)?;
            } else {
                self.entry(model, next, member == 0)?;
                next += 1;
            }
        }
        self.spaced(Role::Close(Level::Header), b"}")?;
        while rare(self.u, 4) {
            let padding = space(self.u)?;
            self.put(Role::Padding, &padding);
        }
        Ok(())
    }

    fn metadata(&mut self, metadata: &Metadata, first: bool) -> Result<()> {
        self.key(Level::Header, first, "__metadata__")?;
        let Metadata::Map(pairs) = metadata else { return self.spaced(Role::Null, b"null") };
        self.spaced(Role::Open(Level::Metadata), b"{")?;
        for (index, (key, value)) in pairs.iter().enumerate() {
            self.key(Level::Metadata, index == 0, key)?;
            self.string(Role::Text, value)?;
        }
        self.spaced(Role::Close(Level::Metadata), b"}")
    }

    fn entry(&mut self, model: &Model, index: usize, first: bool) -> Result<()> {
        let tensor = &model.tensors[index];
        if !first {
            // The comma between members belongs to none.
            self.spaced(Role::Comma(Level::Header), b",")?;
        }
        self.tensor = Some(index);
        self.key(Level::Header, true, &tensor.name)?;
        self.spaced(Role::Open(Level::Entry), b"{")?;
        let mut fields = [Field::Dtype, Field::Shape, Field::Offsets];
        if self.loose {
            for last in [2, 1] {
                fields.swap(last, self.u.int_in_range(0..=last)?);
            }
        }
        for (place, field) in fields.into_iter().enumerate() {
            if place > 0 {
                self.spaced(Role::Comma(Level::Entry), b",")?;
            }
            self.field = Some(field);
            self.key(Level::Entry, true, name(field))?;
            match field {
                Field::Dtype => self.string(Role::Text, tensor.dtype.tag())?,
                Field::Shape => self.array(&tensor.shape)?,
                Field::Offsets => self.array(&[tensor.begin, tensor.end])?,
            }
            self.field = None;
        }
        self.spaced(Role::Close(Level::Entry), b"}")?;
        self.tensor = None;
        Ok(())
    }

    fn array(&mut self, numbers: &[u64]) -> Result<()> {
        self.spaced(Role::ArrayOpen, b"[")?;
        for (index, number) in numbers.iter().enumerate() {
            if index > 0 {
                self.spaced(Role::ArrayComma, b",")?;
            }
            self.spaced(Role::Int, number.to_string().as_bytes())?;
        }
        self.spaced(Role::ArrayClose, b"]")
    }
}

/// The name of a field.
pub const fn name(field: Field) -> &'static str {
    match field {
        Field::Dtype => "dtype",
        Field::Shape => "shape",
        Field::Offsets => "data_offsets",
    }
}

/// One to three bytes of white space.
pub(super) fn space(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let len = u.int_in_range(1..=3)?;
    (0..len).map(|_| u.choose(b" \t\n\r").copied()).collect()
}

/// `text` as a JSON string, and where its characters begin; escaped where it must be, and at whim if `escapes`.
pub(super) fn quoted(u: &mut Unstructured<'_>, text: &str, escapes: bool) -> Result<(Vec<u8>, Vec<usize>)> {
    let mut bytes = vec![b'"'];
    let mut units = Vec::new();
    for c in text.chars() {
        units.push(bytes.len());
        let must = c < ' ' || c == '"' || c == '\\';
        if must || (escapes && rare(u, 4)) {
            escape(u, &mut bytes, c)?;
        } else {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    units.push(bytes.len());
    bytes.push(b'"');
    Ok((bytes, units))
}

fn escape(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>, c: char) -> Result<()> {
    let letters = [
        ('"', '"'),
        ('\\', '\\'),
        ('/', '/'),
        ('\u{8}', 'b'),
        ('\u{c}', 'f'),
        ('\n', 'n'),
        ('\r', 'r'),
        ('\t', 't'),
    ];
    let short = letters.iter().find(|(meant, _)| *meant == c).filter(|_| !rare(u, 2));
    if let Some((_, letter)) = short {
        bytes.extend_from_slice(format!("\\{letter}").as_bytes());
        return Ok(());
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        let spelt = if u.arbitrary()? { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
        bytes.extend_from_slice(spelt.as_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::Rng;

    #[test]
    fn strings_read_back() {
        let mut rng = Rng::new(20);
        for _ in 0..2000 {
            let noise = rng.bytes(64);
            let mut u = Unstructured::new(&noise);
            let text: String = u.arbitrary().unwrap();
            let (bytes, units) = quoted(&mut u, &text, true).unwrap();
            assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), text);
            assert_eq!(units.len(), text.chars().count() + 1);
        }
    }

    #[test]
    fn without_whims_the_spelling_is_that_of_writers() {
        let built = Built::arbitrary(&mut Unstructured::new(&[0; 4])).unwrap();
        assert!(built.tokens.0.iter().all(|token| token.role != Role::Space));
    }
}
