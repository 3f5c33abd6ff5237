//! The text of a sharded index.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(index_raw);
