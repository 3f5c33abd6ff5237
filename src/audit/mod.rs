//! What is worth knowing about a file that was accepted, and what to do about one that was not.
//!
//! Findings never change a verdict. There is one a [`Rule`], with a count and the first place, so that a file with a
//! million odd tensors gives a report of a few lines.

mod advice;
mod findings;
mod names;
mod rules;

pub use advice::advice;
pub use findings::{Finding, safetensors};
pub use rules::{RULES, Rule, Severity};
