//! Why a file could not be read.

use std::fmt;
use std::io;

/// Why there is no verdict on a file: it could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system says so.
    Io(io::Error),
    /// It is a directory.
    IsDirectory,
    /// It is a pipe, a device or a socket, where only a regular file was asked for.
    NotRegular,
    /// It changed while it was read: its length in bytes before and after (they are equal where only its time
    /// changed).
    Changed {
        /// The length when it was opened.
        before: u64,
        /// The length found afterwards.
        after: u64,
    },
    /// The stream went on after this many bytes.
    StreamTooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is longer than what may be copied to memory.
    OverLimit {
        /// Its length in bytes.
        len: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is longer than this process has addresses for.
    AddressSpace {
        /// Its length in bytes.
        len: u64,
    },
    /// There is no memory for this many bytes more.
    Memory {
        /// Bytes asked for.
        wanted: u64,
    },
}

impl ReadError {
    /// A stable code, as those of [`ErrorKind::code`](crate::ErrorKind::code).
    ///
    /// ```
    /// let error = tensorgate::file::Head::open("no such file".as_ref()).unwrap_err();
    /// assert_eq!(error.code(), "IO-NOT-FOUND");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io(error) => match error.kind() {
                io::ErrorKind::NotFound => "IO-NOT-FOUND",
                io::ErrorKind::PermissionDenied => "IO-PERMISSION",
                _ => "IO-READ",
            },
            Self::IsDirectory => "IO-DIRECTORY",
            Self::NotRegular => "IO-NOT-REGULAR",
            Self::Changed { .. } => "IO-CHANGED",
            Self::StreamTooLong { .. } => "IO-STREAM-LIMIT",
            Self::OverLimit { .. } => "IO-SIZE-LIMIT",
            Self::AddressSpace { .. } => "IO-ADDRESS-SPACE",
            Self::Memory { .. } => "IO-MEMORY",
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::IsDirectory => f.write_str("it is a directory, not a file"),
            Self::NotRegular => f.write_str("it is not a regular file"),
            Self::Changed { before, after } if before == after => {
                f.write_str("the file was written while it was read")
            }
            Self::Changed { before, after } => {
                write!(f, "the file changed while it was read: {before} bytes before, {after} after")
            }
            Self::StreamTooLong { limit } => write!(f, "the stream goes on after the limit of {limit} bytes"),
            Self::OverLimit { len, limit } => {
                write!(f, "the file's {len} bytes are more than the {limit} that may be copied to memory")
            }
            Self::AddressSpace { len } => {
                write!(f, "the file's {len} bytes are more than this process has addresses for")
            }
            Self::Memory { wanted } => write!(f, "no memory for {wanted} bytes"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
