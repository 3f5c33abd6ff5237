//! Files and streams: as little of them as a verdict takes, in private memory.

mod read;
mod sink;

pub use read::{Head, ReadError};
pub use sink::IoSink;
