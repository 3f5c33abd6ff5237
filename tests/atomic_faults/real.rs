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

/// What the process asked of the kernel, by `strace`: (call, paths).
fn trace(save: &crate::model::Save, folder: &Path) -> Option<Vec<(String, Vec<String>)>> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let calls = "fsync,rename,renameat,renameat2,link,linkat,unlink,unlinkat";
    let shell = format!("exec strace -f -y -s 4096 -o {} -e trace={calls} \"$@\"", log.path().display());
    if !child::run(save, folder, None, &shell, |_| ()).success() {
        return None;
    }
    let text = fs::read_to_string(log.path()).unwrap();
    let ours = text.lines().filter(|line| line.contains(folder.to_str().unwrap()) && line.contains("= 0"));
    let calls = ours.map(|line| {
        let (call, rest) = line.split_once('(').unwrap();
        let call = call.rsplit(' ').next().unwrap().to_owned();
        // The path of a descriptor is in angles, that of an argument in quotes.
        let paths = rest
            .split(['"', '<', '>'])
            .filter(|part| part.starts_with('/') && part.starts_with(folder.to_str().unwrap()));
        (call, paths.map(str::to_owned).collect())
    });
    Some(calls.collect())
}

/// After a power failure only what was brought to the disk counts: each file before it is named, the shards' names before
/// the index's, the index's before anything is removed.
#[test]
fn what_is_brought_to_the_disk_and_when() {
    for save in SAVES {
        let folder = save.prepare();
        let path = folder.path().canonicalize().unwrap();
        let Some(calls) = trace(save, &path) else {
            return eprintln!("skipped: strace cannot be run here");
        };
        let folder = path.to_str().unwrap().to_owned();
        let (mut synced, mut names_synced, mut committed) = (Vec::new(), true, false);
        for (call, paths) in &calls {
            match call.as_str() {
                "fsync" if paths[0] == folder => names_synced = true,
                "fsync" => synced.push(paths[0].clone()),
                "unlink" | "unlinkat" => assert!(committed && names_synced, "{}: {calls:#?}", save.name),
                _ => {
                    assert!(synced.contains(&paths[0]), "{}: {} was not on the disk", save.name, paths[0]);
                    committed = !paths[1].contains("-of-");
                    assert!(!committed || names_synced, "{}: {} before the shards", save.name, paths[1]);
                    names_synced = false;
                }
            }
        }
        assert!(committed && names_synced, "{}: {calls:#?}", save.name);
    }
}

/// Processes that save to one place at once, some of which die: those that live succeed, and their model is whole.
#[test]
fn processes_at_once() {
    for save in SAVES {
        let folder = save.prepare();
        let start = |at| child::command(save, folder.path(), at, "ulimit -c 0; exec \"$@\"").spawn().unwrap();
        let mut children: Vec<_> = [None, Some(4), None, Some(3), None].into_iter().map(start).collect();
        for (number, child) in children.iter_mut().enumerate() {
            let status = child.wait().unwrap();
            assert_eq!(status.success(), number % 2 == 0, "{}: {number}: {status}", save.name);
        }
        assert_eq!(save.seen(folder.path()), [Seen::New; 2], "{}", save.name);
        let left = left_behind(folder.path(), save);
        assert!(left.iter().all(|name| name.ends_with(".tensorgate-tmp")), "{}: {left:?}", save.name);
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
