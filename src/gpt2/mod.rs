//! GPT-2 on the CPU, from files one does not trust.

mod attention;
mod cache;
mod config;
mod engine;
mod error;
mod generate;
mod model;
mod names;
mod problem;
mod quantize;
mod random;
mod runner;
mod sample;
mod session;
mod weights;

pub use cache::CacheType;
pub use config::{Activation, Config, Fields, MAX_CONFIG_LEN, Seen};
pub use error::{Place, RunError, SessionError};
pub use generate::{Finish, GenerateOptions, Generation, Overflow, StopStrings};
pub use model::{Gpt2, LoadError, LoadOptions};
pub use problem::{Problem, Problems};
pub use quantize::Quantize;
pub use runner::{RunOptions, Runner};
pub use sample::{Choice, SampleError, SampleOptions, Sampler};
pub use session::Session;
