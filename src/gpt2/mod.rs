//! GPT-2 on the CPU, from files one does not trust.

mod config;
mod problem;
mod random;
mod sample;

pub use config::{Activation, Config, Fields, MAX_CONFIG_LEN, Seen};
pub use problem::{Problem, Problems};
pub use sample::{Choice, SampleError, SampleOptions, Sampler};
