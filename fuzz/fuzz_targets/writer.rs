//! What we write is read back the same.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(writer);
