//! Valid safetensors files, built: accepted, and shown as they were planned.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(st_generated);
