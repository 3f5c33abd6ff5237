//! The text of a config.json.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(gpt2_config);
