//! Valid GGUF files, built from choices.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(gguf_generated);
