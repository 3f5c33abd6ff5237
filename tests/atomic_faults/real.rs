//! Faults that the operating system makes: a file that may not grow, a disk that is full, a folder that may not be written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

use crate::child::{self, FAILED};
use crate::model::{SAVES, Seen, left_behind};

fn none(folder: &Path, save: &crate::model::Save) {
    assert_eq!(save.seen(folder), [Seen::Old; 2], "{}", save.name);
    assert_eq!(left_behind(folder, save), [""; 0], "{}", save.name);
}

/// No file may be longer than 1 or 2 KiB (the shell counts in one of them): writing stops in the middle of a tensor.
#[test]
fn a_file_that_may_not_grow() {
    for save in SAVES {
        let folder = save.prepare();
        let shell = "trap '' XFSZ; ulimit -f 2; exec \"$@\"";
        let status = child::run(save, folder.path(), None, shell, |_| ());
        assert_eq!(status.code(), Some(FAILED), "{}", save.name);
        none(folder.path(), save);
    }
}

/// The same, where the signal that comes with it kills the process.
#[test]
fn killed_in_the_middle_of_a_write() {
    for save in SAVES {
        let folder = save.prepare();
        let status = child::run(save, folder.path(), None, "ulimit -c 0; ulimit -f 2; exec \"$@\"", |_| ());
        assert!(status.signal().is_some(), "{}: {status}", save.name);
        assert_eq!(save.seen(folder.path()), [Seen::Old; 2], "{}", save.name);
        let left = left_behind(folder.path(), save);
        assert!(!left.is_empty() && left.iter().all(|name| name.ends_with(".tensorgate-tmp")), "{left:?}");
    }
}

/// A disk that has room for the old model and not for the new one besides.
#[test]
fn a_full_disk() {
    for save in SAVES {
        let folder = tempfile::tempdir().unwrap();
        // Pages of 4 KiB: a model in one file takes two or three of them, in shards three.
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=40k", "tmpfs"]).arg(folder.path()).output();
        if !mount.is_ok_and(|output| output.status.success()) {
            return eprintln!("skipped: a small file system cannot be mounted here");
        }
        let unmount = Unmount(folder.path());
        save.prepare_in(folder.path());
        let filler: Vec<u8> = vec![0; 4096];
        let fill = |count: usize| fs::write(folder.path().join("config.json"), filler.repeat(count));
        let pages = (1..20).rev().find(|count| fill(*count).is_ok()).unwrap();
        let mut failed = 0;
        for free in 0..pages {
            fill(pages - free).unwrap();
            match save.run(folder.path(), &()) {
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("os error 28"), "{text}");
                    assert!(text.contains("model"), "{text}");
                    none(folder.path(), save);
                    failed += 1;
                }
                Ok(()) => break,
            }
        }
        assert!(failed > 0, "{}", save.name);
        assert_eq!(save.seen(folder.path()), [Seen::New; 2], "{}: there is room in the end", save.name);
        drop(unmount);
    }
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// A folder that may be read and not written. Root may write everywhere, and has the child run as nobody.
#[test]
fn a_folder_that_may_not_be_written() {
    const NOBODY: u32 = 65_534;
    for save in SAVES {
        let folder = save.prepare();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let root = fs::write(folder.path().join("probe"), b"").is_ok();
        if root {
            fs::remove_file(folder.path().join("probe")).unwrap();
            let probe = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child::child"])
                .stdout(std::process::Stdio::null())
                .uid(NOBODY)
                .status();
            if !probe.is_ok_and(|status| status.success()) {
                return eprintln!("skipped: root, and nobody may not run this test");
            }
        }
        let nobody = |command: &mut Command| {
            if root {
                command.uid(NOBODY);
            }
        };
        let status = child::run(save, folder.path(), None, "exec \"$@\"", nobody);
        assert_eq!(status.code(), Some(FAILED), "{}", save.name);
        none(folder.path(), save);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
