//! The command line, run as a person or a program runs it.

mod common;
#[path = "common/python.rs"]
mod python;

#[path = "cli/about.rs"]
mod about;
#[path = "cli/check.rs"]
mod check;
#[path = "cli/convert.rs"]
mod convert;
#[path = "cli/deep.rs"]
mod deep;
#[path = "cli/diff.rs"]
mod diff;
#[path = "cli/fleet.rs"]
mod fleet;
#[path = "cli/formats.rs"]
mod formats;
#[path = "cli/generate.rs"]
mod generate;
#[path = "cli/gguf.rs"]
mod gguf;
#[path = "cli/hash.rs"]
mod hash;
#[path = "cli/html.rs"]
mod html;
#[path = "cli/index.rs"]
mod index;
#[path = "cli/inspect.rs"]
mod inspect;
#[path = "cli/interop.rs"]
mod interop;
#[cfg(target_os = "linux")]
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/metadata.rs"]
mod metadata;
#[path = "cli/mistakes.rs"]
mod mistakes;
#[path = "cli/noise.rs"]
mod noise;
#[path = "cli/prompts.rs"]
mod prompts;
#[path = "cli/quantize.rs"]
mod quantize;
#[path = "cli/readers.rs"]
mod readers;
#[path = "cli/strangers.rs"]
mod strangers;
#[path = "cli/tokenize.rs"]
mod tokenize;
#[cfg(unix)]
#[path = "cli/unix.rs"]
mod unix;
#[path = "cli/vocabulary.rs"]
mod vocabulary;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What a run printed, and its exit code.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Takes an output apart. Nothing but printable ASCII and line ends may be in it.
    pub(crate) fn of(output: Output) -> Self {
        for text in [&output.stdout, &output.stderr] {
            let odd = text.iter().position(|byte| !(b' '..=b'~').contains(byte) && *byte != b'\n');
            assert_eq!(odd, None, "{}", String::from_utf8_lossy(text).escape_debug());
        }
        let code = output.status.code().expect("no signal ended it");
        assert!(code <= 2, "{code}: {}", String::from_utf8_lossy(&output.stderr));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// Each line as a JSON object.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn tensorgate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorgate"));
    command.env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the program in `folder` without standard input.
pub(crate) fn run(folder: &Path, args: &[&str]) -> Run {
    Run::of(tensorgate().current_dir(folder).args(args).stdin(Stdio::null()).output().unwrap())
}

/// Runs the program with `input` as its standard input.
pub(crate) fn pipe(input: &[u8], args: &[&str]) -> Run {
    use std::io::Write;
    let mut child = tensorgate()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It stops reading as soon as it knows.
    stdin
        .write_all(input)
        .or_else(|e| if e.kind() == std::io::ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })
        .unwrap();
    drop(stdin);
    Run::of(child.wait_with_output().unwrap())
}

/// Whether children begin with SIGHUP ignored, as what is started with `nohup` does, and so have nothing to be ended by; says
/// so in that case.
#[cfg(unix)]
pub(crate) fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored =
        ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1);
    if ignored {
        eprintln!("skipped: SIGHUP is ignored here, as under nohup");
    }
    ignored
}

/// A small valid file.
pub(crate) fn sound() -> Vec<u8> {
    let header = r#"{"h.10.w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"h.2.w":{"dtype":"U8","shape":[4],"data_offsets":[24,28]}}"#;
    common::file(&format!("{header:<120}"), &[0; 28])
}
