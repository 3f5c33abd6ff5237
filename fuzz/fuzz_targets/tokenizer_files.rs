//! Vocabularies that lie.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(tokenizer_files);
