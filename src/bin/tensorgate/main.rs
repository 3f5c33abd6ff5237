//! The command line: what is in a model file, and whether it can be trusted.
#![deny(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::as_conversions,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable
)]

mod args;
mod check;
mod excerpt;
mod inspect;
mod judge;
mod output;
mod report;
mod text;
mod tokenize;
mod walk;

use std::io;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Check(args) => check::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Tokenize(args) => tokenize::run(&args),
    };
    match outcome {
        Ok(exit) => exit.into(),
        // The reader of the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Trouble.into(),
        Err(error) => {
            complain(&error.to_string());
            Exit::Trouble.into()
        }
    }
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Accepted,
    Rejected,
    Trouble,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Accepted => Self::SUCCESS,
            Exit::Rejected => Self::from(1),
            Exit::Trouble => Self::from(2),
        }
    }
}

/// Says something on standard error; where that is closed too, there is nobody to tell.
fn complain(message: &str) {
    use io::Write;
    let shown = text::ascii(message);
    writeln!(io::stderr(), "tensorgate: {shown}").unwrap_or_default();
}
