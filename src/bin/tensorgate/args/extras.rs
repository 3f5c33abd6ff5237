//! What the commands about the program itself are asked for.

use std::path::PathBuf;

use clap_complete::Shell;

const EXPLAIN: &str = "\
Examples:
  tensorgate explain ST-DUP-NAME
  tensorgate explain --list";

const COMPLETIONS: &str = "\
Examples:
  tensorgate completions bash > tensorgate.bash
  tensorgate completions fish > tensorgate.fish";

const MAN: &str = "\
Examples:
  tensorgate man > tensorgate.1
  tensorgate man check > tensorgate-check.1
  tensorgate man metadata set
  tensorgate man --dir man";

/// Say what a rule means, why it is there, and what to do: its page of the rules book.
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAIN)]
pub(crate) struct Explain {
    /// The code, as check prints it; case does not matter.
    #[arg(value_name = "CODE", required_unless_present = "list", conflicts_with = "list")]
    pub(crate) code: Option<String>,

    /// List all codes with what they say.
    #[arg(long)]
    pub(crate) list: bool,
}

/// Print the completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = MAN)]
pub(crate) struct Man {
    /// The page of this command, such as "check" or "metadata set".
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub(crate) command: Vec<String>,

    /// Write a page for the program and one for each command into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
