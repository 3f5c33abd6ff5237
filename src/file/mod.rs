//! Files and streams: as little of them as a verdict takes, in private memory; then their bytes, mapped, sealed or read;
//! and files that appear all at once.

mod aligned;
mod atomic;
mod bytes;
mod error;
mod map;
pub mod metadata;
mod positioned;
mod read;
mod save;
mod sink;
mod snapshot;

pub use atomic::{Atomic, AtomicError, Cancelled, Step, Watch};
pub use bytes::{Advice, FileBytes, Hold, Identity};
pub use error::ReadError;
pub(crate) use positioned::Positioned;
pub use read::Head;
pub use save::{SaveError, SavedShards, SavedTensor, Saver, save_gguf, save_safetensors};
pub use sink::IoSink;
