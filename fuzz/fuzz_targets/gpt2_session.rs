//! A session that was saved, restored and run.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(gpt2_session);
