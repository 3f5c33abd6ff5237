//! Whole models and their conversion.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(model);
