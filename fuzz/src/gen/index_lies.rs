//! One known fault in a valid index, or in the folder it speaks of, with the kind and the offset of what must be said.
//!
//! What a lie predicts is derived from the format and from where it put the fault, never from what the reader says.

mod folder;
mod limits;
mod schema;
mod text;

use arbitrary::{Arbitrary, Result, Unstructured};
use tensorgate::Limits;

pub use self::folder::{FolderLie, Shard};

use super::index::Built;
use super::lies::{Lie, Told};
use super::lies_text;
use super::tokens::{Role, Tokens};

/// Makes a lie of an index.
pub type Teller = fn(&Built, &mut Unstructured<'_>) -> Told;

/// The lies that are told under the default limits.
pub const LIES: &[(&str, Teller)] = &[
    ("nothing", text::nothing),
    ("not an object", text::not_an_object),
    ("not UTF-8", lies_text::not_utf8),
    ("something behind it", lies_text::trailing),
    ("cut", lies_text::cut),
    ("no key", lies_text::no_key),
    ("no colon", lies_text::no_colon),
    ("no comma", lies_text::no_comma),
    ("control character", lies_text::control),
    ("bad escape", lies_text::bad_escape),
    ("lone surrogate", lies_text::lone_surrogate),
    ("no value", text::no_value),
    ("unknown field", schema::unknown_field),
    ("no map", schema::no_map),
    ("field twice", schema::field_twice),
    ("metadata of another type", schema::metadata_type),
    ("metadata key twice", schema::metadata_key_twice),
    ("odd number", schema::odd_number),
    ("map of another type", schema::map_type),
    ("name twice", schema::name_twice),
    ("shard of another type", schema::shard_type),
    ("shard elsewhere", schema::shard_name),
];

/// A lie about an index.
#[derive(Clone, Debug)]
pub enum IndexLie {
    /// One that its text shows.
    Text(Lie),
    /// One that only the folder shows.
    Folder(FolderLie),
}

impl<'a> Arbitrary<'a> for IndexLie {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // The lie is chosen first, so that a small change of the input keeps it.
        let choice: [u8; 16] = u.arbitrary()?;
        let built = Built::arbitrary(u)?;
        let u = &mut Unstructured::new(&choice);
        let told = match u.int_in_range(0..=7)? {
            0 => limits::over_a_limit(&built, u)?.map(Self::Text),
            1 | 2 => FolderLie::tell(&built, u)?.map(Self::Folder),
            _ => {
                let (name, tell) = *u.choose(LIES)?;
                let told = tell(&built, u)?;
                told.map(|(file, kind, at)| Self::Text(Lie { name, file, limits: Limits::DEFAULT, kind, at }))
            }
        };
        told.ok_or(arbitrary::Error::IncorrectFormat)
    }
}

/// Puts a member in front of the others of the object that opens at `open`, or behind them; where it then stands.
fn add_member(tokens: &mut Tokens, open: usize, close: usize, member: &[u8], first: bool) -> u64 {
    let empty = !tokens.0[open..close].iter().any(|token| matches!(token.role, Role::Key(_)));
    let place = if first { open + 1 } else { close };
    let at = super::index::at(tokens, place);
    match (empty, first) {
        (true, _) => tokens.replace(place..place, member),
        (false, true) => tokens.replace(place..place, &[member, b","].concat()),
        (false, false) => return tokens.replace(place..place, &[b",", member].concat()) - super::tokens::FRAME + 1,
    };
    at
}
