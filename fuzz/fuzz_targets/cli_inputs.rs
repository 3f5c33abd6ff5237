//! What the command line reads besides models: policies, baselines, caches, manifests.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(cli_inputs);
