//! A header as a list of tokens, so that a change of one has a place and the place an offset.

use std::ops::Range;

/// Bytes before a header's text.
pub const FRAME: u64 = 8;

/// Which object a token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The header itself, or the whole index.
    Header,
    /// A tensor's entry.
    Entry,
    /// The value of `__metadata__`; of an index its `metadata`, and any object inside it.
    Metadata,
    /// The `weight_map` of an index.
    Map,
}

/// A field of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `dtype`
    Dtype,
    /// `shape`
    Shape,
    /// `data_offsets`
    Offsets,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// White space between tokens.
    Space,
    /// `{`
    Open(Level),
    /// `}`
    Close(Level),
    /// A key with its quotes.
    Key(Level),
    /// `:`
    Colon(Level),
    /// `,` between members.
    Comma(Level),
    /// A string as a value: a dtype's tag or a metadata value.
    Text,
    /// A shard's name in an index.
    Shard,
    /// A number in an index's metadata.
    Number,
    /// `[`
    ArrayOpen,
    /// `,` between integers.
    ArrayComma,
    /// `]`
    ArrayClose,
    /// A dimension or an offset.
    Int,
    /// `null`, or in an index's metadata `true` or `false`.
    Null,
    /// White space behind the header's object.
    Padding,
    /// Bytes that a lie put there.
    Lie,
}

/// A piece of a header's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub role: Role,
    /// The index, in the file's order, of the tensor to whose member it belongs.
    pub tensor: Option<usize>,
    /// The field to whose value (or key) it belongs.
    pub field: Option<Field>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// For strings, where a character or an escape begins, and where the closing quote stands.
    pub units: Vec<usize>,
}

impl Token {
    /// Bytes that a lie puts somewhere.
    pub fn lie(bytes: &[u8]) -> Self {
        Self { role: Role::Lie, tensor: None, field: None, bytes: bytes.to_vec(), units: Vec::new() }
    }
}

/// The tokens of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens(pub Vec<Token>);

impl Tokens {
    /// The header's text.
    pub fn text(&self) -> Vec<u8> {
        self.0.iter().flat_map(|token| token.bytes.iter().copied()).collect()
    }

    /// The absolute offset of the token at `index`.
    pub fn at(&self, index: usize) -> u64 {
        FRAME + self.0[..index].iter().map(|token| token.bytes.len() as u64).sum::<u64>()
    }

    /// The file of this header and `data`.
    pub fn file(&self, data: &[u8]) -> Vec<u8> {
        let text = self.text();
        let mut file = (text.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(&text);
        file.extend_from_slice(data);
        file
    }

    /// The indices of all tokens for which `is` holds.
    pub fn all(&self, is: impl Fn(&Token) -> bool) -> Vec<usize> {
        (0..self.0.len()).filter(|index| is(&self.0[*index])).collect()
    }

    /// The tokens, white space aside, that are the value of `field` of the tensor `tensor`.
    pub fn value(&self, tensor: usize, field: Field) -> Range<usize> {
        let own = self.all(|token| {
            token.tensor == Some(tensor)
                && token.field == Some(field)
                && !matches!(token.role, Role::Space | Role::Key(_) | Role::Colon(_))
        });
        own[0]..own[own.len() - 1] + 1
    }

    /// The key of `field` of the tensor `tensor`.
    pub fn key(&self, tensor: usize, field: Field) -> usize {
        self.all(|token| {
            token.role == Role::Key(Level::Entry) && token.tensor == Some(tensor) && token.field == Some(field)
        })[0]
    }

    /// Puts a lie in the place of the tokens in `range` and returns its offset.
    pub fn replace(&mut self, range: Range<usize>, bytes: &[u8]) -> u64 {
        let at = self.at(range.start);
        self.0.splice(range, [Token::lie(bytes)]);
        at
    }
}
