//! One module a target: `check` panics where a promise is broken; `seed` makes a target's input from a file.

pub mod any_bytes;
pub mod cli_inputs;
pub mod gguf_generated;
pub mod gguf_lies;
pub mod gguf_naive;
pub mod gguf_raw;
pub mod gpt2_config;
pub mod gpt2_model;
pub mod gpt2_session;
pub mod index_lies;
pub mod index_raw;
pub mod json_raw;
pub mod json_serde;
pub mod lent_vs_owned;
pub mod limits;
pub mod model;
pub mod promises;
pub mod promises_gguf;
pub mod promises_index;
pub mod promises_tokenizer;
pub mod quant;
pub mod slices;
pub mod st_generated;
pub mod st_lies;
pub mod st_naive;
pub mod st_raw;
pub mod st_reference;
pub mod tokenizer_files;
pub mod tokenizer_text;
pub mod truncation;
pub mod typed;
pub mod writer;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its module and of its file in `fuzz_targets/`.
    pub name: &'static str,
    /// The oracle.
    pub check: fn(&[u8]),
    /// The input that makes the target look at this file, where there is one.
    pub seed: fn(&[u8]) -> Option<Vec<u8>>,
}

macro_rules! targets {
    ($($name:ident,)*) => {
        /// Every target there is.
        pub const TARGETS: &[Target] = &[
            $(Target { name: stringify!($name), check: $name::check, seed: $name::seed },)*
        ];
    };
}

targets! {
    any_bytes,
    cli_inputs,
    gguf_generated,
    gguf_lies,
    gguf_naive,
    gguf_raw,
    gpt2_config,
    gpt2_model,
    gpt2_session,
    index_lies,
    index_raw,
    json_raw,
    json_serde,
    lent_vs_owned,
    limits,
    model,
    quant,
    slices,
    st_generated,
    st_lies,
    st_naive,
    st_raw,
    st_reference,
    tokenizer_files,
    tokenizer_text,
    truncation,
    typed,
    writer,
}
