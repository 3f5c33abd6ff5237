//! The free-form metadata of an index.

use core::fmt;
use core::iter::FusedIterator;

use super::slot::{IndexSlot, SCRATCH_WORDS, ScratchWords, narrow};
use super::source::Source;
use super::value;
use crate::error::{Error, ErrorKind};
use crate::json::lex::Lexer;
use crate::json::object::Members;
use crate::unique::{Words, first_duplicate};
use crate::{Limits, Name};

/// `metadata`: a map from strings to JSON values of any kind, read where it stands. No object in it has a key twice.
///
/// ```
/// use tensorgate::{Limits, ShardIndex, shards::IndexSlot};
/// let text = br#"{"metadata":{"total_size":8,"made":{"by":["me", 1.5]}},"weight_map":{"w":"a.safetensors"}}"#;
/// let mut slots = [IndexSlot::EMPTY; 1];
/// let index = ShardIndex::open_in(text, &mut slots, &Limits::default())?;
/// let metadata = index.metadata().unwrap();
/// assert_eq!(metadata.get("made"), Some(r#"{"by":["me", 1.5]}"#));
/// assert_eq!(metadata.iter().count(), 2);
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct IndexMetadata<'a> {
    source: Source<'a>,
    at: u32,
}

impl<'a> IndexMetadata<'a> {
    pub(super) const fn new(source: Source<'a>, at: u32) -> Self {
        Self { source, at }
    }

    /// Where the object begins in the index.
    pub fn at(&self) -> u64 {
        u64::from(self.at)
    }

    /// Keys and the JSON text of their values, in the file's order.
    pub fn iter(&self) -> IndexMetadataIter<'a> {
        let mut lexer = self.source.lexer(self.at);
        let members = Members::open(&mut lexer, ErrorKind::IxMetadataType).ok();
        IndexMetadataIter { lexer, members }
    }

    /// The JSON text of the value of `key`; linear in the metadata's length.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.iter().find(|(other, _)| *other == key).map(|(_, value)| value)
    }
}

impl fmt::Debug for IndexMetadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for IndexMetadata<'a> {
    type Item = (Name<'a>, &'a str);
    type IntoIter = IndexMetadataIter<'a>;

    fn into_iter(self) -> IndexMetadataIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &IndexMetadata<'a> {
    type Item = (Name<'a>, &'a str);
    type IntoIter = IndexMetadataIter<'a>;

    fn into_iter(self) -> IndexMetadataIter<'a> {
        self.iter()
    }
}

/// Iterator over [`IndexMetadata`], in the file's order.
#[derive(Clone, Debug)]
pub struct IndexMetadataIter<'a> {
    lexer: Lexer<'a>,
    members: Option<Members>,
}

impl<'a> Iterator for IndexMetadataIter<'a> {
    type Item = (Name<'a>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.members.as_mut()?.key(&mut self.lexer) {
            Ok(Some((key, _))) => raw_value(&mut self.lexer, u64::MAX).ok().map(|value| (key, value)),
            _ => None,
        };
        if next.is_none() {
            self.members = None;
        }
        next
    }
}

impl FusedIterator for IndexMetadataIter<'_> {}

/// Consumes a value and gives its text.
fn raw_value<'a>(lexer: &mut Lexer<'a>, most_depth: u64) -> Result<&'a str, Error> {
    let before = lexer.rest();
    value::skip(lexer, most_depth, |_| Ok(()))?;
    let len = before.len().saturating_sub(lexer.rest().len());
    // The text was checked as a whole; this is the second look that a safe slice of it costs.
    Ok(before.get(..len).and_then(|raw| core::str::from_utf8(raw).ok()).unwrap_or_default())
}

/// What reading the metadata found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Position of the object's `{`; `None` for null.
    pub(super) object: Option<u32>,
    /// `total_size` where it is a plain integer.
    pub(super) total_size: Option<u64>,
    /// Offset of `total_size`'s value where there is one, or of the metadata's.
    pub(super) total_size_at: u64,
}

/// Reads the value of `metadata`: an object, or null.
pub(super) fn read(lexer: &mut Lexer<'_>, limits: &Limits) -> Result<Found, Error> {
    let at = lexer.at();
    let mut found = Found { object: None, total_size: None, total_size_at: at };
    if let Some(rest) = lexer.rest().strip_prefix(b"null") {
        lexer.set_rest(rest);
        return Ok(found);
    }
    found.object = Some(narrow(at));
    let mut members = Members::open(lexer, ErrorKind::IxMetadataType)?;
    while let Some((key, _)) = members.key(lexer)? {
        let value_at = lexer.at();
        let raw = raw_value(lexer, limits.index_metadata_depth())?;
        if key == "total_size" {
            found.total_size_at = value_at;
            found.total_size = plain_integer(raw);
        }
    }
    if lexer.at().saturating_sub(at) > limits.index_metadata_len() {
        return Err(Error::wanting(ErrorKind::IxMetadataLimit, at, limits.index_metadata_len()));
    }
    Ok(found)
}

/// The value of a text that is a plain integer and nothing else.
fn plain_integer(raw: &str) -> Option<u64> {
    let mut lexer = Lexer::new(raw, 0);
    let value = lexer.integer(ErrorKind::JsonValue).ok()?;
    lexer.rest().is_empty().then_some(value)
}

/// Calls `take` with the offset of each object's `{`, the metadata's own included. The text was accepted before.
fn each_object(source: Source<'_>, object: u32, take: impl FnMut(u64) -> Result<(), Error>) -> Result<(), Error> {
    value::skip(&mut source.lexer(object), u64::MAX, take)
}

/// Calls `take` with each key of one object and the offset of its quote.
fn each_key<'a>(
    source: Source<'a>,
    object: u32,
    mut take: impl FnMut(Name<'a>, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut lexer = source.lexer(object);
    let mut members = Members::open(&mut lexer, ErrorKind::IxMetadataType)?;
    while let Some((key, at)) = members.key(&mut lexer)? {
        take(key, at)?;
        value::skip(&mut lexer, u64::MAX, |_| Ok(()))?;
    }
    Ok(())
}

/// How many keys an object has; `None` where they ascend, and so are unique.
fn keys_to_prove(source: Source<'_>, object: u32) -> Result<Option<usize>, Error> {
    let mut count = 0_usize;
    let mut ascending = true;
    let mut before: Option<Name<'_>> = None;
    each_key(source, object, |key, _| {
        count = count.saturating_add(1);
        ascending &= before.is_none_or(|before| before < key);
        before = Some(key);
        Ok(())
    })?;
    Ok((!ascending).then_some(count))
}

/// Up to this many keys are told apart in words on the stack.
const STACK_KEYS: usize = 64;

/// How many slots of scratch the proof that no object has a key twice takes.
///
/// Each byte is looked at once for each object around it; the limits on depth and length bound that.
pub(super) fn scratch(source: Source<'_>, object: u32) -> Result<usize, Error> {
    let mut most = 0_usize;
    each_object(source, object, |at| {
        let keys = keys_to_prove(source, narrow(at))?.unwrap_or(0);
        most = most.max(keys);
        Ok(())
    })?;
    Ok(if most <= STACK_KEYS { 0 } else { most.div_ceil(SCRATCH_WORDS) })
}

/// Proves that no object has a key twice; `spare` has [`scratch`] slots.
pub(super) fn unique_keys(source: Source<'_>, object: u32, spare: &mut [IndexSlot]) -> Result<(), Error> {
    let mut spare = ScratchWords(spare);
    each_object(source, object, |at| {
        let object = narrow(at);
        match keys_to_prove(source, object)? {
            None => Ok(()),
            Some(..=STACK_KEYS) => unique_in(source, object, &mut [0_u32; STACK_KEYS][..]),
            Some(_) => unique_in(source, object, &mut spare),
        }
    })
}

/// Proves that one object has no key twice, in words for all its keys.
fn unique_in<W: Words + ?Sized>(source: Source<'_>, object: u32, words: &mut W) -> Result<(), Error> {
    let mut count = 0_usize;
    each_key(source, object, |_, at| {
        words.set_word(count, narrow(at));
        count = count.saturating_add(1);
        Ok(())
    })?;
    let key = |at: u32| source.lexer(at).string(ErrorKind::JsonKey).ok();
    let second = first_duplicate(words, count, |_, a, b| key(a).cmp(&key(b)), |_, at| at);
    second.map_or(Ok(()), |at| Err(Error::new(ErrorKind::IxDupMetadataKey, u64::from(at))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn proved(text: &str, spare: usize) -> Result<usize, Error> {
        let source = Source(text);
        let limits = Limits::default();
        let mut lexer = Lexer::new(text, 0);
        let object = read(&mut lexer, &limits)?.object.unwrap();
        lexer.finish()?;
        let needed = scratch(source, object)?;
        let mut slots = std::vec![IndexSlot::EMPTY; spare];
        unique_keys(source, object, &mut slots)?;
        Ok(needed)
    }

    #[test]
    fn the_first_key_that_stood_before_is_pointed_at() {
        assert_eq!(proved(r#"{"b":{"b":1,"a":[{"b":2}]},"a":1}"#, 0), Ok(0));
        for (text, at) in [
            (r#"{"a":1,"a":2}"#, 7),
            (r#"{"a":1,"b":1,"\u0062":2,"a":2}"#, 13),
            (r#"{"z":{"a":1,"a":2},"z":1}"#, 19),
            (r#"{"z":[0,{"a":1,"\u0061":2}]}"#, 15),
        ] {
            let error = proved(text, 0).unwrap_err();
            assert_eq!((error.kind(), error.at()), (ErrorKind::IxDupMetadataKey, at), "{text}");
        }
    }

    #[test]
    fn many_keys_take_scratch() {
        let member = |key: usize| std::format!("\"{key}\":0,");
        for (count, needed) in [(64, 0), (65, 33), (1000, 500)] {
            let mut text = String::from("{");
            (0..count).rev().for_each(|key| text.push_str(&member(key)));
            let valid = std::format!("{}}}", text.trim_end_matches(','));
            assert_eq!(proved(&valid, needed), Ok(needed));
            let at = u64::try_from(text.len()).unwrap();
            let double = std::format!("{text}\"7\":1}}");
            let error = proved(&double, count).unwrap_err();
            assert_eq!((error.kind(), error.at()), (ErrorKind::IxDupMetadataKey, at));
        }
    }
}
