//! Any bytes in every place that the strict JSON subset has.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(json_raw);
