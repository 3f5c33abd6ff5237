//! A safetensors file, a header's text, or choices for a file with pieces replaced: the verdict of a second, plain reader.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(st_naive);
