//! What the program says of itself: its version, completions and manual pages.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use tensorgate::simd::Level;

use crate::args::{Args, Completions, Man as Pages};
use crate::{Exit, complain, output, text};

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
  0  it was done
  1  a file was rejected, lacks what was asked for, or has what is not allowed
  2  a file could not be read or written, or one of the model is not there, or
     the command line is wrong
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
    output::raw().write_all(&text)?;
    Ok(Exit::Accepted)
}

/// Prints a manual page, or writes all of them.
pub(crate) fn man(args: &Pages) -> io::Result<Exit> {
    let mut all = command();
    all.build();
    let pages = pages(&all);
    if let Some(folder) = &args.dir {
        let told = |path: &Path, error| io::Error::other(format!("{}: {error}", text::path(path)));
        fs::create_dir_all(folder).map_err(|error| told(folder, error))?;
        for (name, command) in &pages {
            let file = folder.join(format!("{name}.1"));
            fs::write(&file, page(name, command)?).map_err(|error| told(&file, error))?;
        }
        return Ok(Exit::Accepted);
    }
    let asked = args.command.join("-");
    let wanted = [NAME, if asked.is_empty() { "" } else { "-" }, &asked].concat();
    let Some((name, command)) = pages.iter().find(|(name, _)| *name == wanted) else {
        let names = pages.iter().filter_map(|(name, _)| name.strip_prefix(NAME)?.strip_prefix('-'));
        let meant = text::nearest(&asked, names).map(|name| format!("; did you mean {name}?"));
        complain(&format!("there is no command {asked}{}", meant.unwrap_or_default()));
        return Ok(Exit::Trouble);
    };
    let page = page(name, command)?;
    output::raw().write_all(&page)?;
    Ok(Exit::Accepted)
}

/// The program's name, with which those of all pages begin.
const NAME: &str = "tensorgate";

/// All pages by their names: the program's, each command's, and those of the commands below these.
fn pages(all: &Command) -> Vec<(String, &Command)> {
    let mut pages = vec![(NAME.to_owned(), all)];
    let mut next = 0;
    while let Some((name, command)) = pages.get(next).cloned() {
        let below = command.get_subcommands().filter(|command| command.get_name() != "help");
        pages.extend(below.map(|command| (format!("{name}-{}", command.get_name()), command)));
        next = next.saturating_add(1);
    }
    pages
}

/// The command's page, under the name of the page.
fn page(name: &str, command: &Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.clone().name(name.to_owned()).version(env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    Ok(text)
}
