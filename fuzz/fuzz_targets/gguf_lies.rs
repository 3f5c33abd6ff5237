//! Valid GGUF files with one known fault.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(gguf_lies);
