//! A save in a process of its own, which dies or is hindered.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;

use crate::model::{SAVES, Save};
use tensorgate::file::Step;

const SAVE: &str = "TENSORGATE_FAULT_SAVE";
const FOLDER: &str = "TENSORGATE_FAULT_FOLDER";
const AT: &str = "TENSORGATE_FAULT_AT";

/// What the child exits with where the save failed and said so.
pub(crate) const FAILED: i32 = 42;

/// The child: does nothing unless it was told to.
#[test]
fn child() {
    let Ok(save) = std::env::var(SAVE) else { return };
    let save = SAVES.iter().find(|known| known.name == save).unwrap();
    let folder = std::env::var(FOLDER).unwrap();
    let at: Option<usize> = std::env::var(AT).ok().map(|at| at.parse().unwrap());
    let count = Mutex::new(0);
    let watch = |_: Step, _: &Path| {
        let mut count = count.lock().unwrap();
        if Some(*count) == at {
            // Nothing is unwound and nothing is dropped.
            std::process::abort();
        }
        *count += 1;
        Ok(())
    };
    if let Err(error) = save.run(Path::new(&folder), &watch) {
        eprintln!("{error}");
        std::process::exit(FAILED);
    }
}

/// A child of its own, to be run by `shell`, a line in which `"$@"` is the child.
pub(crate) fn command(save: &Save, folder: &Path, at: Option<usize>, shell: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", shell, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "child::child"]).env(SAVE, save.name).env(FOLDER, folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(at) = at {
        command.env(AT, at.to_string());
    }
    command
}

/// Runs a child to its end.
pub(crate) fn run(
    save: &Save,
    folder: &Path,
    at: Option<usize>,
    shell: &str,
    set: impl FnOnce(&mut Command),
) -> ExitStatus {
    let mut command = command(save, folder, at, shell);
    set(&mut command);
    command.status().unwrap()
}

/// A save whose process dies in front of the `at`th step.
pub(crate) fn die_before(save: &Save, folder: &Path, at: usize) {
    use std::os::unix::process::ExitStatusExt;
    let status = run(save, folder, Some(at), "ulimit -c 0; exec \"$@\"", |_| ());
    assert!(status.signal().is_some(), "{}: step {at}: {status}", save.name);
}
