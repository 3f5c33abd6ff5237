//! (std) GPT-2 on the CPU, from files one does not trust.
//!
//! ```
//! use tensorgate::gpt2::{GenerateOptions, Gpt2, RunOptions, Runner};
//! use tensorgate::tokenizer::Tokenizer;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = Gpt2::open("models/austen")?; // or a file, an index, a GGUF file
//! let tokenizer = Tokenizer::from_files(
//!     &std::fs::read("models/austen/vocab.json")?,
//!     &std::fs::read("models/austen/merges.txt")?,
//! )?;
//! let mut runner = Runner::new(&model, &RunOptions::default())?;
//! let mut session = runner.session()?;
//! let prompt = tokenizer.encode(b"It is a truth universally acknowledged, that");
//! let options = GenerateOptions { tokens: 4, ..GenerateOptions::default() }; // greedy
//! let ids = runner.generate(&mut session, &prompt, &options)?.map(|choice| choice.map(|choice| choice.id));
//! let text = tokenizer.decode(&ids.collect::<Result<Vec<u32>, _>>()?)?;
//! assert_eq!(text, b" I am sure you");
//! # Ok(())
//! # }
//! ```
//!
//! # What is trusted
//!
//! Nothing. [`Gpt2::open`] holds the config and the shapes, types and names of all tensors against one another before it
//! computes anything, and names all problems at once; memory is asked for within a limit, before it is taken; numbers that are
//! none are an error that names the layer; a saved [`Session`] is checked like any file. What stays open is what a mapped
//! file cannot promise ([`crate::file::FileBytes`]): a file that is changed while it is read gives other numbers, and
//! one that is cut ends the process.
//!
//! # What is where
//!
//! | part | what it does |
//! |---|---|
//! | [`Fields`], [`Config`] | the dimensions, from `config.json`, GGUF keys or shapes |
//! | [`Gpt2`] | a model that was loaded; its weights are multiplied where they stand in the file, or in blocks made at load ([`Quantize`]), or in a copy that is faster ([`LoadOptions::repack`]) |
//! | [`Runner`] | threads and buffers for one batch at a time |
//! | [`Session`] | a text in the making, with its keys and values; forked, saved, restored |
//! | [`Generation`] | the iterator that goes on with it; [`Sampler`] chooses |
//!
//! # How exact it is
//!
//! With F32 and F16 weights the logits are within 1e-4 of a computation in double precision (tested on nine checkpoints at
//! every level of instructions). With [`RunOptions::exact`] so they are for weights in blocks; without it, activations are
//! rounded to 8 bits there, as in llama.cpp, and the logits are about as far from the exact ones as llama.cpp's (tested: at
//! most one and a half times as far). Where a prompt's activations are rounded anyway, for weights in blocks or in BF16, its
//! queries, keys and values are multiplied in BF16 on processors that are fast at it (`avx512bf16`, which on Intel's is not
//! chosen by itself), which moves logits by no more than the rounding does. Keys and values in F16 ([`CacheType`]) move
//! logits by less than 0.01.

mod attention;
mod cache;
mod config;
mod engine;
mod error;
mod generate;
mod model;
mod names;
mod prepare;
mod problem;
mod quantize;
mod random;
mod room;
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
