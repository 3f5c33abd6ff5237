//! The free-form string map of a header.

use core::fmt;
use core::iter::FusedIterator;

use crate::Name;
use crate::error::ErrorKind;
use crate::json::lex::Lexer;
use crate::json::object::Members;

/// `__metadata__`: a map from strings to strings, read where it stands. Its keys were proved to be unique.
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// # use tensorgate::{Limits, SafeTensors, safetensors::Slot};
/// let mut file = 33_u64.to_le_bytes().to_vec();
/// file.extend_from_slice(br#"{"__metadata__":{"format":"p\u0074"}}"#);
/// # file[0] = 37;
/// let mut slots = [Slot::EMPTY; 1];
/// let file = SafeTensors::open_in(&file, &mut slots, &Limits::default())?;
/// let metadata = file.metadata().unwrap();
/// assert!(metadata.get("format").unwrap() == "pt");
/// assert_eq!(metadata.iter().count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Metadata<'a> {
    /// From the object's `{` to the end of the header.
    text: &'a [u8],
    at: u64,
}

impl<'a> Metadata<'a> {
    pub(super) const fn new(text: &'a [u8], at: u64) -> Self {
        Self { text, at }
    }

    /// Where the object begins in the file.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Keys and values, in the file's order.
    pub fn iter(&self) -> MetadataIter<'a> {
        let mut lexer = Lexer::resume(self.text, self.at);
        let members = Members::open(&mut lexer, ErrorKind::StMetadataType).ok();
        MetadataIter { lexer, members }
    }

    /// The value of `key`; linear in the metadata's length.
    pub fn get(&self, key: &str) -> Option<Name<'a>> {
        self.iter().find(|(other, _)| *other == key).map(|(_, value)| value)
    }
}

impl fmt::Debug for Metadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Metadata<'a> {
    type Item = (Name<'a>, Name<'a>);
    type IntoIter = MetadataIter<'a>;

    fn into_iter(self) -> MetadataIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Metadata<'a> {
    type Item = (Name<'a>, Name<'a>);
    type IntoIter = MetadataIter<'a>;

    fn into_iter(self) -> MetadataIter<'a> {
        self.iter()
    }
}

/// Iterator over [`Metadata`], in the file's order.
#[derive(Clone, Debug)]
pub struct MetadataIter<'a> {
    lexer: Lexer<'a>,
    members: Option<Members>,
}

impl<'a> Iterator for MetadataIter<'a> {
    type Item = (Name<'a>, Name<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.members.as_mut()?.key(&mut self.lexer) {
            Ok(Some((key, _))) => self.lexer.string(ErrorKind::StMetadataValue).ok().map(|value| (key, value)),
            _ => None,
        };
        if next.is_none() {
            self.members = None;
        }
        next
    }
}

impl FusedIterator for MetadataIter<'_> {}
