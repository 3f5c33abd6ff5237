//! Header text that we accept is JSON to serde_json, with the same values and unique keys.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(json_serde);
