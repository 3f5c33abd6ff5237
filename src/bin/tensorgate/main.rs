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

mod about;
mod args;
mod book;
mod check;
mod convert;
mod diff;
mod excerpt;
mod explain;
mod gpt2;
mod hash;
mod inspect;
mod judge;
mod limited;
mod metadata;
mod open;
mod output;
mod parts;
#[cfg(fuzzing)]
pub mod probe;
mod quantize;
mod refused;
mod report;
mod side;
mod terminal;
mod text;
mod tokenize;
mod vocabulary;
mod walk;
mod work;

use std::io;
use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::from_arg_matches(&about::command().get_matches()).unwrap_or_else(|error| error.exit());
    let outcome = match args.command {
        Command::Check(args) => check::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Generate(args) => gpt2::generate::run(&args),
        Command::Bench(args) => gpt2::bench::run(&args),
        Command::Hash(args) => hash::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Quantize(args) => quantize::run(&args),
        Command::Metadata(args) => metadata::run(&args),
        Command::Tokenize(args) => tokenize::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Completions(args) => about::completions(&args),
        Command::Man(args) => about::man(&args),
    };
    match outcome {
        Ok(exit) => exit.into(),
        // The reader of the pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Trouble.into(),
        Err(error) => {
            say(&error.to_string());
            if refused::Refused::is(&error) { Exit::Rejected.into() } else { Exit::Trouble.into() }
        }
    }
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Accepted,
    Rejected,
    Trouble,
    /// A signal with this number asked the program to end.
    Stopped(u8),
}

impl Exit {
    /// This one, or where it is no trouble the other.
    fn or(self, other: Self) -> Self {
        if self == Self::Accepted { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Accepted => Self::SUCCESS,
            Exit::Rejected => Self::from(1),
            Exit::Trouble => Self::from(2),
            Exit::Stopped(signal) => Self::from(signal.saturating_add(128)),
        }
    }
}

/// Says what the library says of a file. Its texts are escaped already, and may have several lines.
fn complain_of(path: &std::path::Path, error: &impl std::fmt::Display) {
    say(&format!("{}: {error}", text::path(path)));
}

/// Says something that is escaped already, in one line or several.
fn say(message: &str) {
    use io::Write;
    writeln!(io::stderr(), "tensorgate: {}", text::message(message)).unwrap_or_default();
}

/// Says something on standard error; where that is closed too, there is nobody to tell.
fn complain(message: &str) {
    use io::Write;
    let shown = text::ascii(message);
    writeln!(io::stderr(), "tensorgate: {shown}").unwrap_or_default();
}
