//! A GGUF file, or choices for a tiny checkpoint with lies in it; loaded and run.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(gpt2_model);
