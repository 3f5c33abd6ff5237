//! The oracles of the fuzz targets as ordinary functions, and the generators that feed them.
//!
//! A target takes bytes and panics where a promise is broken. Every target is listed in [`TARGETS`], has three lines in
//! `fuzz_targets/`, and is smoked on stable by its unit tests. See `fuzz/README.md` for how to run and to add one.

pub mod corpus;
pub mod r#gen;
pub mod heap;
pub mod naive_gguf;
pub mod naive_quant;
pub mod naive_st;
pub mod oracle;
#[cfg(test)]
mod scope;
pub mod sink;
pub mod smoke;
pub mod steps;

#[cfg(fuzzing)]
pub use libfuzzer_sys;

pub use oracle::{TARGETS, Target};

/// The body of a target: under `cargo fuzz` the engine's entry, otherwise a program that replays the files named.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::oracle::$name::check(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            $crate::corpus::replay($crate::oracle::$name::check, std::env::args_os().skip(1))
        }
    };
}
