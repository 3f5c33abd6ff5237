//! The text of a safetensors header behind a correct length, with some data.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(st_raw);
