//! Little address space: a clean end, and nothing left behind.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tensorgate::Dtype;
use tensorgate::safetensors::{NO_METADATA, TensorSpec, serialize};

use crate::Run;

/// Runs the program in `folder` with so many KiB of addresses.
fn limited(kib: u64, folder: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_tensorgate");
    let shell = "ulimit -c 0; ulimit -v \"$0\"; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", shell, &kib.to_string(), program]).args(args);
    command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// With every limit from what the program needs to begin to what it needs to end.
#[test]
fn conversions_end_cleanly_where_addresses_run_out() {
    const STEP: u64 = 2048;
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<u8> = (0..2_u32 << 20).flat_map(|at| (0x3F80_0000 + at).to_le_bytes()).collect();
    let shape = [2048, 1024];
    let tensors =
        [TensorSpec::new("a.weight", Dtype::F32, &shape), TensorSpec::new("b.weight", Dtype::F32, &shape)];
    let file = serialize(tensors.map(|tensor| tensor.with_bytes(&values)), NO_METADATA).unwrap();
    fs::write(folder.path().join("a.safetensors"), file).unwrap();
    let begins = (1..=1024)
        .map(|step| step * STEP)
        .find(|kib| limited(*kib, folder.path(), &["--version"]).status.success());
    // What is needed for arguments, names and messages: a request for a few bytes that is refused ends the process.
    let begins = begins.unwrap() + STEP;
    for args in [
        &["convert", "a.safetensors", "new/", "--jobs=2"][..],
        &["convert", "a.safetensors", "b.gguf", "--dtype=f16", "--jobs=2"],
        &["quantize", "a.safetensors", "b.gguf", "--type=q4_k_m", "--jobs=2"],
    ] {
        let mut refused = 0;
        for step in 0.. {
            let kib = begins + step * STEP;
            let ended = limited(kib, folder.path(), args);
            if ended.status.success() {
                break;
            }
            let text = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(ended.status.code().is_some(), "{args:?} with {kib} KiB: {text}");
            let run = Run::of(ended);
            assert!(run.code == 2 && run.err.starts_with("tensorgate: "), "{args:?} with {kib} KiB: {}", run.err);
            let left: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(left, ["a.safetensors"], "{args:?} with {kib} KiB");
            refused += 1;
        }
        assert!(refused > 5, "{args:?}: {refused}");
        let _ = fs::remove_dir_all(folder.path().join("new"));
        let _ = fs::remove_file(folder.path().join("b.gguf"));
    }
}
