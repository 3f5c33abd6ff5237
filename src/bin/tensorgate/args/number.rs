//! Numbers on the command line, and what is said of what is none.

use std::num::NonZeroUsize;
use std::str::FromStr;

/// A whole number.
///
/// # Errors
///
/// What it must be.
pub(crate) fn whole<T: FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "it must be a whole number without a unit, such as 4096")
}

/// A whole number from 1 on.
///
/// # Errors
///
/// What it must be.
pub(crate) fn counted(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "it must be a whole number from 1 on, such as 512")
}

/// A number with or without a fraction.
///
/// # Errors
///
/// What it must be.
pub(crate) fn number(text: &str) -> Result<f32, &'static str> {
    text.parse().map_err(|_| "it must be a number, such as 0.8")
}
