//! What the program says of itself: its version, completions and manual pages.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use tensorgate::simd::Level;

use crate::args::{Args, Completions, Man as Pages};
use crate::{Exit, complain, text};

/// The arguments, with what this build can do.
pub(crate) fn command() -> Command {
    let mut long = String::from(env!("CARGO_PKG_VERSION"));
    let levels: Vec<&str> = Level::all().map(Level::name).collect();
    let chosen = Level::best().name();
    let system = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    writeln!(long, "\nfeatures  {}", features().join(", ")).unwrap_or_default();
    writeln!(long, "SIMD      {chosen} (this machine has {})", levels.join(", ")).unwrap_or_default();
    write!(long, "built for {system}").unwrap_or_default();
    let command = Args::command().long_version(long);
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_exits))
}

const EXITS: &str = "\
Exit codes:
  0  it was done; with diff and hash --verify: nothing differs
  1  a file was rejected, lacks what was asked for, or has what is not allowed;
     with diff and hash --verify: something differs
  2  a file could not be read or written, or the command line is wrong
  129, 130, 143
     SIGHUP, Ctrl-C or SIGTERM ended the work; nothing is left behind";

/// The command with its exit codes in its help, and so those below it.
fn with_exits(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_exits));
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if help.contains("Exit codes:") {
        return command;
    }
    let between = if help.is_empty() { "" } else { "\n\n" };
    command.after_help(format!("{help}{between}{EXITS}"))
}

/// The features that this program was built with.
fn features() -> Vec<&'static str> {
    let all = [("std", cfg!(feature = "std")), ("iq", cfg!(feature = "iq")), ("cli", cfg!(feature = "cli"))];
    let more = [("arbitrary", cfg!(feature = "arbitrary"))];
    all.into_iter().chain(more).filter_map(|(name, there)| there.then_some(name)).collect()
}

/// Prints the completions.
pub(crate) fn completions(args: &Completions) -> io::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "tensorgate", &mut text);
    io::stdout().lock().write_all(&text)?;
    Ok(Exit::Accepted)
}

/// Prints a manual page, or writes all of them.
pub(crate) fn man(args: &Pages) -> io::Result<Exit> {
    let mut all = command();
    all.build();
    if let Some(folder) = &args.dir {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("tensorgate.1"), page(&all)?)?;
        for command in visible(&all) {
            fs::write(folder.join(format!("tensorgate-{}.1", command.get_name())), page(&named(command))?)?;
        }
        return Ok(Exit::Accepted);
    }
    let page = match &args.command {
        None => page(&all)?,
        Some(name) => {
            let Some(command) = visible(&all).find(|command| command.get_name() == name) else {
                let names = visible(&all).map(Command::get_name);
                let meant = text::nearest(name, names).map(|name| format!("; did you mean {name}?"));
                complain(&format!("there is no command {name}{}", meant.unwrap_or_default()));
                return Ok(Exit::Trouble);
            };
            page(&named(command))?
        }
    };
    io::stdout().lock().write_all(&page)?;
    Ok(Exit::Accepted)
}

/// The commands that have a page.
fn visible(all: &Command) -> impl Iterator<Item = &Command> {
    all.get_subcommands().filter(|command| command.get_name() != "help")
}

/// The command under the name of its page.
fn named(command: &Command) -> Command {
    let name = format!("tensorgate-{}", command.get_name());
    command.clone().name(name).version(env!("CARGO_PKG_VERSION"))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text)?;
    Ok(text)
}
