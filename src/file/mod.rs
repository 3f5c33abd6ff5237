//! Files and streams: as little of them as a verdict takes, in private memory; and files that appear all at once.

mod atomic;
pub mod metadata;
mod read;
mod save;
mod sink;

pub use atomic::{Atomic, AtomicError, Cancelled, Step, Watch};
pub use read::{Head, ReadError};
pub use save::{SaveError, SavedShards, SavedTensor, Saver, save_gguf, save_safetensors};
pub use sink::IoSink;
