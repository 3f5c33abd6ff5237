//! Files and streams: as little of them as a verdict takes, in private memory.

mod read;

pub use read::{Head, ReadError};
