//! Why a file that could be read is not taken: the program ends then as where a file is rejected.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use crate::text;

/// What is wrong with a file that was read.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl Refused {
    pub(crate) fn error(why: String) -> io::Error {
        io::Error::other(Self(why))
    }

    /// Whether an error says that a file was refused.
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some()
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// What is wrong with the file at `path`.
pub(crate) fn refused(path: &Path, error: &dyn Display) -> io::Error {
    Refused::error(format!("{}: {error}", text::path(path)))
}

/// Why nothing can be said of the file at `path`: it could not be read, or there is no memory for it.
pub(crate) fn named(path: &Path, error: &dyn Display) -> io::Error {
    io::Error::other(format!("{}: {error}", text::path(path)))
}

/// The same error with words in front of it, and no other end of the program.
pub(crate) fn before(words: &str, error: io::Error) -> io::Error {
    // A reader of the pipe who has seen enough is told nothing.
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error;
    }
    let why = format!("{words}: {error}");
    if Refused::is(&error) { Refused::error(why) } else { io::Error::other(why) }
}
