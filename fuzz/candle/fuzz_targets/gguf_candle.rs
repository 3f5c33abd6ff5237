//! A GGUF file, or choices for one: what we accept candle accepts, and reads the same, but for the differences listed.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tensorgate_fuzz_candle::check(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    tensorgate_fuzz::corpus::replay(tensorgate_fuzz_candle::check, std::env::args_os().skip(1))
}
