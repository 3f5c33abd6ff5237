//! The bytes of a GGUF file.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(gguf_raw);
