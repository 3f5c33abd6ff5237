//! GGUF against a second, plain reader.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(gguf_naive);
