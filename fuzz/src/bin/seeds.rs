//! Writes the seeds of every target: `cargo run --manifest-path fuzz/Cargo.toml --bin seeds -- FOLDER`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: seeds FOLDER");
        return ExitCode::from(2);
    };
    match tensorgate_fuzz::corpus::write_seeds(Path::new(&folder)) {
        Ok(count) => {
            println!("{count} seeds written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
