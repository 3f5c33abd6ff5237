//! Files and streams: as little of them as a verdict takes, in private memory; then their bytes, mapped, sealed or read.

mod aligned;
mod bytes;
mod error;
mod map;
mod read;
mod sink;
mod snapshot;

pub use bytes::{Advice, FileBytes, Hold, Identity};
pub use error::ReadError;
pub use read::Head;
pub use sink::IoSink;
