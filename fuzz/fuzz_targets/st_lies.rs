//! One known fault in a valid safetensors file: its kind and its offset.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(st_lies);
