//! Numbers on the command line, and what is said of what is none.

use std::fmt::Display;
use std::num::{IntErrorKind, NonZeroUsize, ParseIntError};
use std::str::FromStr;

/// A type of whole numbers from 0 on, and the largest of them.
pub(crate) trait Whole: FromStr<Err = ParseIntError> + Display {
    const MOST: Self;
}

impl Whole for u32 {
    const MOST: Self = Self::MAX;
}

impl Whole for u64 {
    const MOST: Self = Self::MAX;
}

impl Whole for usize {
    const MOST: Self = Self::MAX;
}

/// A whole number.
///
/// # Errors
///
/// What it must be.
pub(crate) fn whole<T: Whole>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => too_large(T::MOST),
        _ if text.starts_with('-') => "it must be 0 or more".to_owned(),
        _ => "it must be a whole number without a unit, such as 4096".to_owned(),
    })
}

/// A whole number from 1 on.
///
/// # Errors
///
/// What it must be.
pub(crate) fn counted(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => too_large(usize::MAX),
        _ => "it must be a whole number from 1 on, such as 512".to_owned(),
    })
}

fn too_large(most: impl Display) -> String {
    format!("it is too large: it may be {most} at most")
}

/// A whole number from 1 to `MOST`.
///
/// # Errors
///
/// What it must be.
pub(crate) fn up_to<const MOST: u16>(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| format!("it must be a whole number from 1 to {MOST}"))
}

/// A number with or without a fraction.
///
/// # Errors
///
/// What it must be.
pub(crate) fn number(text: &str) -> Result<f32, &'static str> {
    text.parse().map_err(|_| "it must be a number, such as 0.8")
}

/// A text of at least one character.
///
/// # Errors
///
/// What it must be.
pub(crate) fn filled(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("it must not be empty") } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_told_for_what_it_is() {
        assert_eq!((whole::<u32>("0"), whole::<u64>("18446744073709551615")), (Ok(0), Ok(u64::MAX)));
        assert_eq!((counted("1").map(NonZeroUsize::get), up_to::<9>("9")), (Ok(1), Ok(9)));
        for (text, said) in [
            ("18446744073709551616", "it is too large: it may be 18446744073709551615 at most"),
            ("-1", "it must be 0 or more"),
            ("4k", "it must be a whole number without a unit, such as 4096"),
            ("", "it must be a whole number without a unit, such as 4096"),
        ] {
            assert_eq!(whole::<u64>(text).unwrap_err(), said);
        }
        assert_eq!(whole::<u32>("4294967296").unwrap_err(), "it is too large: it may be 4294967295 at most");
        assert!(counted("99999999999999999999").unwrap_err().starts_with("it is too large"));
        for text in ["0", "-1", "10", "x"] {
            assert_eq!(up_to::<9>(text).unwrap_err(), "it must be a whole number from 1 to 9");
        }
    }
}
