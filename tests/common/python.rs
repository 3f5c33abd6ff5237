//! Running the scripts in `tests/interop`.

use std::path::Path;
use std::process::{Command, Output};

/// Runs one of the scripts in `tests/interop`; `None` where there is no Python.
fn python(script: &str, argument: Option<&Path>) -> Option<Output> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(script);
    let mut command = Command::new("python3");
    command
        .arg("-B")
        .arg(path)
        .args(argument)
        .env("PYTHONUTF8", "1")
        .env("PYTHONIOENCODING", "utf-8:backslashreplace");
    command.output().ok()
}

/// Whether the packages that `script` looks for are there; says so where they are not.
pub(crate) fn available(script: &str) -> bool {
    match python(script, None) {
        None => eprintln!("skipped: python3 cannot be run"),
        Some(output) if output.status.success() => {
            println!("against {}", String::from_utf8_lossy(&output.stdout).trim());
            return true;
        }
        Some(output) if output.status.code() == Some(3) => {
            eprintln!("skipped: {}", String::from_utf8_lossy(&output.stdout).trim());
        }
        Some(output) => {
            // Python itself is broken here: nothing to be said of the files.
            eprintln!("skipped: python3 failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    false
}

/// Runs a script that must succeed.
#[track_caller]
pub(crate) fn run(script: &str, argument: &Path) {
    let output = python(script, Some(argument)).expect("python3 ran before");
    let shown = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}: {}\n{}\n{}", output.status, shown.0, shown.1);
    println!("{script}: {}", shown.0.trim());
}

/// Bytes in hexadecimal.
#[allow(dead_code, reason = "not every test that runs scripts needs it")]
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
