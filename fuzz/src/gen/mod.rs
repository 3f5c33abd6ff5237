//! Builds files from an engine's bytes: always valid ones, and valid ones with one known fault.

pub mod gguf;
pub mod gguf_lies;
pub mod index;
pub mod index_lies;
pub mod lies;
mod lies_json;
mod lies_layout;
mod lies_schema;
mod lies_text;
pub mod model;
pub mod render;
pub mod tokens;

/// One time in `times`, and never once the engine's bytes are used up: then a builder comes to its end.
fn rare(u: &mut arbitrary::Unstructured<'_>, times: u8) -> bool {
    u.int_in_range(1..=times).is_ok_and(|drawn| drawn == times)
}
