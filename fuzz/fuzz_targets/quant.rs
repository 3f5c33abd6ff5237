//! Blocks of any type.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(quant);
