//! What is worth knowing about a file that was accepted, and what to do about one that was not.
//!
//! Findings never change a verdict. There is one a [`Rule`], with a count and the first place, so that a file with a
//! million odd tensors gives a report of a few lines.

mod advice;
pub mod dialects;
mod findings;
mod gguf;
mod names;
mod rules;
mod template;

pub use advice::advice;
pub use findings::{Finding, safetensors};
pub use gguf::gguf;
pub use rules::{RULES, Rule, Severity};
