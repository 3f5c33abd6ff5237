//! Valid sharded indexes, built: what one says, and every way of spelling it.

use std::ops::Range;

use arbitrary::{Arbitrary, Result, Unstructured};

use super::model::{fresh, text};
use super::rare;
use super::render::{quoted, space};
use super::tokens::{FRAME, Level, Role, Token, Tokens};

/// How deep values of the metadata nest at the most, which is the default limit.
const DEEPEST: usize = 8;

/// A value in the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`, `true` or `false`.
    Literal(&'static str),
    /// A number as it is spelt.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object with unique keys.
    Map(Vec<(String, Value)>),
}

/// The metadata to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// None at all.
    Absent,
    /// `null`
    Null,
    /// Members with unique keys.
    Map(Vec<(String, Value)>),
}

/// A valid index to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Each tensor with its shard, in the order of the index.
    pub map: Vec<(String, String)>,
    /// The metadata. Its `total_size`, if any, is the number of tensors: each has one byte.
    pub metadata: Metadata,
    /// Whether `weight_map` comes first.
    pub map_first: bool,
}

/// A valid index: what it says, and how it is spelt.
#[derive(Clone, Debug)]
pub struct Built {
    /// What it says.
    pub model: Model,
    /// How it is spelt.
    pub tokens: Tokens,
    /// The tokens of the map, from brace to brace.
    pub map: Range<usize>,
    /// The tokens of the metadata's value, if there is one.
    pub metadata: Option<Range<usize>>,
}

/// Names that are plain, though they look like others that are not.
const PLAIN: [&str; 14] = [
    "a",
    ".hidden",
    "...a",
    "con1",
    "COM0",
    "LPT",
    "x.nul",
    "CONIN",
    "a b",
    " a",
    "~",
    "-rf",
    "\u{e9}\u{1f600}.bin",
    "nul-1.safetensors",
];

fn shards(u: &mut Unstructured<'_>) -> Result<Vec<String>> {
    // More than 256 are told apart in another way.
    let count: usize = if rare(u, 24) { u.int_in_range(250..=270)? } else { u.int_in_range(1..=5)? };
    let mut all = Vec::new();
    for number in 0..count {
        let name = if count < 9 && rare(u, 2) {
            (*u.choose(&PLAIN)?).to_owned()
        } else {
            format!("model-{number:05}-of-{count:05}.safetensors")
        };
        // The longest name that a file may have.
        let name = if rare(u, 40) { format!("{:x<255}", "m") } else { name };
        if !all.contains(&name) {
            all.push(name);
        }
    }
    Ok(all)
}

fn number(u: &mut Unstructured<'_>) -> Result<String> {
    let odd = ["0", "-0", "12.50", "-1e-400", "1E+307", "9.9e307", "18446744073709551616", "0.0e5", "-7"];
    if rare(u, 2) { u.choose(&odd).map(|text| (*text).to_owned()) } else { Ok(u64::arbitrary(u)?.to_string()) }
}

fn value(u: &mut Unstructured<'_>, room: usize) -> Result<Value> {
    Ok(match u.int_in_range(0..=if room == 0 { 2 } else { 5 })? {
        0 => Value::Literal(u.choose(&["null", "true", "false"])?),
        1 => Value::Number(number(u)?),
        2 => Value::Text(text(u)?),
        3 => Value::List((0..u.int_in_range(0..=3)?).map(|_| value(u, room - 1)).collect::<Result<_>>()?),
        4 => Value::Map(members(u, 3, room - 1)?),
        // As deep as may be.
        _ => {
            let mut inner = Value::Number(number(u)?);
            for _ in 0..u.int_in_range(0..=room)? {
                inner = if u.arbitrary()? { Value::List(vec![inner]) } else { Value::Map(vec![(text(u)?, inner)]) };
            }
            inner
        }
    })
}

fn members(u: &mut Unstructured<'_>, most: usize, room: usize) -> Result<Vec<(String, Value)>> {
    // More than 64 keys in no order are told apart in slots.
    let count = if rare(u, 24) { u.int_in_range(60..=90)? } else { u.int_in_range(0..=most)? };
    let mut keys = Vec::new();
    let mut members = Vec::new();
    for _ in 0..count {
        let mut key = fresh(u, &keys)?;
        if key == "total_size" {
            key.push('_');
        }
        keys.push(key.clone());
        members.push((key, if count > most { Value::Literal("null") } else { value(u, room)? }));
    }
    Ok(members)
}

impl<'a> Arbitrary<'a> for Model {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let shards = shards(u)?;
        let count = if shards.len() > 9 { u.int_in_range(250..=300)? } else { u.int_in_range(0..=12)? };
        let mut names = Vec::new();
        let mut map = Vec::new();
        for index in 0..count {
            let name = if count > 12 { format!("{:03}", index * 7 % 300) } else { fresh(u, &names)? };
            names.push(name.clone());
            let shard = if count > 12 { &shards[index % shards.len()] } else { u.choose(&shards)? };
            map.push((name, shard.clone()));
        }
        let metadata = match u.int_in_range(0..=5)? {
            0 => Metadata::Absent,
            1 => Metadata::Null,
            kind => {
                let mut members = members(u, 4, DEEPEST)?;
                if kind > 2 {
                    let place = u.int_in_range(0..=members.len())?;
                    members.insert(place, ("total_size".to_owned(), Value::Number(count.to_string())));
                }
                Metadata::Map(members)
            }
        };
        Ok(Self { map, metadata, map_first: u.arbitrary()? })
    }
}

impl<'a> Arbitrary<'a> for Built {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let model = Model::arbitrary(u)?;
        let (loose, escapes) = (rare(u, 2), rare(u, 2));
        let mut pen = Pen { u, loose, escapes, tensor: None, tokens: Vec::new() };
        let (map, metadata) = pen.index(&model)?;
        Ok(Self { tokens: Tokens(pen.tokens), map, metadata, model })
    }
}

/// Writes tokens.
struct Pen<'u, 'a> {
    u: &'u mut Unstructured<'a>,
    loose: bool,
    escapes: bool,
    tensor: Option<usize>,
    tokens: Vec<Token>,
}

impl Pen<'_, '_> {
    fn push(&mut self, role: Role, bytes: Vec<u8>, units: Vec<usize>) {
        self.tokens.push(Token { role, tensor: self.tensor, field: None, bytes, units });
    }

    fn space(&mut self) -> Result<()> {
        if self.loose && rare(self.u, 3) {
            let space = space(self.u)?;
            self.push(Role::Space, space, Vec::new());
        }
        Ok(())
    }

    fn put(&mut self, role: Role, bytes: &[u8]) -> Result<()> {
        self.space()?;
        self.push(role, bytes.to_vec(), Vec::new());
        Ok(())
    }

    fn string(&mut self, role: Role, text: &str) -> Result<()> {
        self.space()?;
        let (bytes, units) = quoted(self.u, text, self.escapes)?;
        self.push(role, bytes, units);
        Ok(())
    }

    fn key(&mut self, level: Level, text: &str) -> Result<()> {
        self.string(Role::Key(level), text)?;
        self.put(Role::Colon(level), b":")
    }

    /// The tokens of the map and of the metadata.
    fn index(&mut self, model: &Model) -> Result<(Range<usize>, Option<Range<usize>>)> {
        self.push(Role::Open(Level::Header), b"{".to_vec(), Vec::new());
        let (mut map, mut metadata) = (0..0, None);
        let both = model.metadata != Metadata::Absent;
        for is_map in [model.map_first, !model.map_first] {
            if is_map {
                map = self.map(model)?;
            } else if both {
                metadata = Some(self.metadata(&model.metadata)?);
            }
            if both && is_map == model.map_first {
                self.put(Role::Comma(Level::Header), b",")?;
            }
        }
        self.put(Role::Close(Level::Header), b"}")?;
        while rare(self.u, 4) {
            let padding = space(self.u)?;
            self.push(Role::Padding, padding, Vec::new());
        }
        Ok((map, metadata))
    }

    fn map(&mut self, model: &Model) -> Result<Range<usize>> {
        self.key(Level::Header, "weight_map")?;
        self.put(Role::Open(Level::Map), b"{")?;
        let start = self.tokens.len() - 1;
        for (index, (name, shard)) in model.map.iter().enumerate() {
            if index > 0 {
                self.put(Role::Comma(Level::Map), b",")?;
            }
            self.tensor = Some(index);
            self.key(Level::Map, name)?;
            self.string(Role::Shard, shard)?;
            self.tensor = None;
        }
        self.put(Role::Close(Level::Map), b"}")?;
        Ok(start..self.tokens.len())
    }

    fn metadata(&mut self, metadata: &Metadata) -> Result<Range<usize>> {
        self.key(Level::Header, "metadata")?;
        self.space()?;
        let start = self.tokens.len();
        match metadata {
            Metadata::Map(members) => self.object(members)?,
            _ => self.push(Role::Null, b"null".to_vec(), Vec::new()),
        }
        Ok(start..self.tokens.len())
    }

    fn object(&mut self, members: &[(String, Value)]) -> Result<()> {
        self.push(Role::Open(Level::Metadata), b"{".to_vec(), Vec::new());
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                self.put(Role::Comma(Level::Metadata), b",")?;
            }
            self.key(Level::Metadata, key)?;
            self.space()?;
            self.value(value)?;
        }
        self.put(Role::Close(Level::Metadata), b"}")
    }

    fn value(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Literal(word) => self.push(Role::Null, word.as_bytes().to_vec(), Vec::new()),
            Value::Number(text) => self.push(Role::Number, text.as_bytes().to_vec(), Vec::new()),
            Value::Text(text) => self.string(Role::Text, text)?,
            Value::Map(members) => self.object(members)?,
            Value::List(values) => {
                self.push(Role::ArrayOpen, b"[".to_vec(), Vec::new());
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.put(Role::ArrayComma, b",")?;
                    }
                    self.space()?;
                    self.value(value)?;
                }
                self.put(Role::ArrayClose, b"]")?;
            }
        }
        Ok(())
    }
}

/// Where the token at `index` stands in the index: no frame comes before it.
pub fn at(tokens: &Tokens, index: usize) -> u64 {
    tokens.at(index) - FRAME
}

impl Built {
    /// The text.
    pub fn text(&self) -> Vec<u8> {
        self.tokens.text()
    }

    /// The token of the name of the tensor at `index`, and that of its shard.
    pub fn entry(&self, index: usize) -> (usize, usize) {
        let own = |role| self.tokens.all(|token| token.tensor == Some(index) && token.role == role)[0];
        (own(Role::Key(Level::Map)), own(Role::Shard))
    }

    /// Where the value of `total_size` stands, if anywhere, as a token.
    pub fn total(&self) -> Option<usize> {
        let Metadata::Map(members) = &self.model.metadata else { return None };
        let place = members.iter().position(|(key, _)| key == "total_size")?;
        let range = self.metadata.clone()?;
        // Of all keys in the metadata, those of its own object are the ones at depth one.
        let mut depth = 0;
        let mut keys = Vec::new();
        for index in range {
            match self.tokens.0[index].role {
                Role::Open(_) => depth += 1,
                Role::Close(_) => depth -= 1,
                Role::Key(_) if depth == 1 => keys.push(index),
                _ => {}
            }
        }
        let behind = keys[place]..self.tokens.0.len();
        behind.into_iter().find(|index| self.tokens.0[*index].role == Role::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::Rng;
    use serde_json::Value as Json;

    #[test]
    fn what_is_built_is_json_that_says_what_was_planned() {
        let mut rng = Rng::new(71);
        let (mut deep, mut totals) = (0, 0);
        for _ in 0..2000 {
            let noise = rng.bytes(700);
            let Ok(built) = Built::arbitrary(&mut Unstructured::new(&noise)) else { continue };
            let json: Json = serde_json::from_slice(&built.text()).unwrap();
            let map = json["weight_map"].as_object().unwrap();
            assert_eq!(map.len(), built.model.map.len());
            assert!(built.model.map.iter().all(|(name, shard)| map[name] == shard.as_str()));
            match &built.model.metadata {
                Metadata::Map(members) => assert_eq!(json["metadata"].as_object().unwrap().len(), members.len()),
                _ => assert!(json["metadata"].is_null()),
            }
            if let Some(total) = built.total() {
                totals += 1;
                assert_eq!(built.tokens.0[total].bytes, built.model.map.len().to_string().as_bytes());
            }
            deep += usize::from(built.tokens.text().windows(6).any(|window| window == b"[[[[[["));
        }
        assert!(deep > 0 && totals > 200, "{deep} {totals}");
    }
}
