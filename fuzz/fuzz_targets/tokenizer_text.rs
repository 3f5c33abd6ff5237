//! Any text, there and back, and against a naive twin.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(tokenizer_text);
