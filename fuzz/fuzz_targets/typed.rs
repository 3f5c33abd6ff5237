//! Typed access at every alignment.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(typed);
