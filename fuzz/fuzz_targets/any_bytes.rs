//! Any bytes: opened in every way, everything touched.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(any_bytes);
