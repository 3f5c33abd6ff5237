//! Sub-tensors against nested loops.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(slices);
