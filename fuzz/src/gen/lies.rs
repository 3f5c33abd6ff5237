//! One known fault in a valid file, with the kind and the offset of the error that must come of it.
//!
//! Each lie is a function from a valid file to a faulty one, or to `None` where the file has no place for it. What it
//! predicts is derived from the format and from where it put the fault, never from what the reader says.

use arbitrary::{Arbitrary, Result, Unstructured};
use tensorgate::{ErrorKind, Limits};

use super::render::Built;
use super::tokens::Tokens;
use super::{lies_json, lies_layout, lies_schema, lies_text};

/// A file with one fault.
#[derive(Clone, Debug)]
pub struct Lie {
    /// The name of the lie.
    pub name: &'static str,
    /// The file.
    pub file: Vec<u8>,
    /// The limits under which it is to be judged.
    pub limits: Limits,
    /// The kind of the fault.
    pub kind: ErrorKind,
    /// Where it stands.
    pub at: u64,
}

/// What a lie makes: the file, the kind and the offset.
pub type Told = Result<Option<(Vec<u8>, ErrorKind, u64)>>;

/// Makes a lie of a file.
pub type Teller = fn(&Built, &mut Unstructured<'_>) -> Told;

/// The lies that are told under the default limits.
pub const LIES: &[(&str, Teller)] = &[
    ("too short", lies_layout::too_short),
    ("header over the limit", lies_layout::header_limit),
    ("header past the end", lies_layout::header_past_end),
    ("white space first", lies_json::leading_space),
    ("not an object", lies_json::not_an_object),
    ("no header", lies_json::no_header),
    ("not UTF-8", lies_text::not_utf8),
    ("something after the header", lies_text::trailing),
    ("cut inside the header", lies_text::cut),
    ("no key", lies_text::no_key),
    ("no colon", lies_text::no_colon),
    ("no comma", lies_text::no_comma),
    ("control character", lies_text::control),
    ("bad escape", lies_text::bad_escape),
    ("lone surrogate", lies_text::lone_surrogate),
    ("odd integer", lies_json::odd_integer),
    ("integer over 64 bits", lies_json::huge_integer),
    ("name twice", lies_schema::name_twice),
    ("field twice", lies_schema::field_twice),
    ("metadata twice", lies_schema::metadata_twice),
    ("metadata key twice", lies_schema::metadata_key_twice),
    ("entry of another type", lies_schema::entry_type),
    ("unknown field", lies_schema::unknown_field),
    ("missing field", lies_schema::missing_field),
    ("dtype of another type", lies_schema::dtype_type),
    ("unknown dtype", lies_schema::unknown_dtype),
    ("shape of another type", lies_schema::shape_type),
    ("offsets of another type", lies_schema::offsets_type),
    ("offsets not two", lies_schema::offsets_count),
    ("dimension of another type", lies_schema::element_type),
    ("metadata of another type", lies_schema::metadata_type),
    ("metadata value of another type", lies_schema::metadata_value),
    ("size overflow", lies_layout::size_overflow),
    ("part of a byte", lies_layout::part_of_a_byte),
    ("offsets reversed", lies_layout::reversed),
    ("size mismatch", lies_layout::mismatch),
    ("tensors moved", lies_layout::moved),
    ("data short", lies_layout::data_short),
    ("data trailing", lies_layout::data_trailing),
];

impl Lie {
    /// Tells one of the [`LIES`], or breaks one of the limits, about `built`; `None` where it has no place for that one.
    ///
    /// # Errors
    ///
    /// When `u` has not enough bytes left.
    pub fn tell(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<Self>> {
        let limits = u.int_in_range(0..=7)? == 0;
        if limits {
            return lies_layout::over_a_limit(built, u);
        }
        let (name, tell) = *u.choose(LIES)?;
        let told = tell(built, u)?;
        Ok(told.map(|(file, kind, at)| Self { name, file, limits: Limits::DEFAULT, kind, at }))
    }
}

impl<'a> Arbitrary<'a> for Lie {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // The lie is chosen first, so that a small change of the input keeps it.
        let choice: [u8; 12] = u.arbitrary()?;
        let built = Built::arbitrary(u)?;
        Self::tell(&built, &mut Unstructured::new(&choice))?.ok_or(arbitrary::Error::IncorrectFormat)
    }
}

/// One of `places`, or `None` where there is none.
pub(super) fn pick(u: &mut Unstructured<'_>, places: &[usize]) -> Result<Option<usize>> {
    if places.is_empty() { Ok(None) } else { u.choose(places).map(|place| Some(*place)) }
}

/// The tokens of `built` to be changed.
pub(super) fn draft(built: &Built) -> Tokens {
    built.tokens.clone()
}
