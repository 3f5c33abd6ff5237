//! Files that are none of the formats.

use std::path::Path;

use tensorgate::detect::{Guess, PREFIX_LEN, detect};
use tensorgate::file::{Head, ReadError};

use crate::excerpt::Excerpt;
use crate::report::{Fault, Format, Report};

/// The report that names what a file is instead; none where that is not known, or it is `own` after all.
pub(super) fn judge(path: &Path, head: &mut Head, own: &[Guess]) -> Result<Option<Report>, ReadError> {
    head.fetch(u64::try_from(PREFIX_LEN).unwrap_or(u64::MAX))?;
    let guess = detect(head.bytes());
    if guess == Guess::Unknown || own.contains(&guess) {
        return Ok(None);
    }
    let fault = Fault {
        code: guess.code(),
        offset: Some(0),
        message: guess.what().to_owned(),
        expected: None,
        advice: guess.advice(),
        excerpt: Excerpt::of(head.bytes().get(..16).unwrap_or(head.bytes()), 0),
    };
    Ok(Some(Report { size: head.file_len(), ..Report::rejected(path, Format::Unknown, fault) }))
}
