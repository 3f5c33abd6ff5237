//! Whole files, each way of holding them, and each kind of thing that a path can lead to.

#![cfg(feature = "std")]

use std::fs::File;
use std::path::Path;

use tensorgate::file::{Advice, FileBytes, Head, Hold, Identity, ReadError};

const HOLDS: [Hold; 3] = [Hold::Map, Hold::Snapshot, Hold::Read];
const LIMIT: u64 = FileBytes::MEMORY_LIMIT;

fn code(outcome: Result<FileBytes, ReadError>) -> &'static str {
    outcome.map_or_else(|error| error.code(), |_| "")
}

/// A file of so many bytes that differ from their neighbours.
fn file(folder: &Path, len: usize) -> (std::path::PathBuf, Vec<u8>) {
    let path = folder.join("file");
    let bytes: Vec<u8> = (0_u8..251).cycle().take(len).collect();
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

#[test]
fn all_bytes_however_they_are_held() {
    let folder = tempfile::tempdir().unwrap();
    for len in [1, 100, 4095, 4096, 4097, 300_000] {
        let (path, bytes) = file(folder.path(), len);
        for hold in HOLDS {
            let held = FileBytes::open(&path, hold, LIMIT).unwrap();
            assert!(*held == *bytes, "{hold:?} {len}");
            assert!(held.as_ptr().align_offset(64) == 0);
            assert_eq!(held.identity(), Some(Identity::at(&path).unwrap()));
            assert_eq!(held.identity().unwrap().len(), bytes.len() as u64);
            // Where the kernel does not seal, a snapshot is memory of our own.
            assert!(held.hold() == hold || (hold == Hold::Snapshot && held.hold() == Hold::Read));
            for advice in [Advice::Sequential, Advice::Random, Advice::WillNeed, Advice::DontNeed] {
                held.advise_all(advice);
                assert!(*held == *bytes, "{hold:?} {len} {advice:?}");
            }
        }
    }
}

#[test]
fn a_head_that_was_read_becomes_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = file(folder.path(), 10_000);
    for hold in HOLDS {
        for read in [0, 7, 5000, 10_000] {
            let mut head = Head::open(&path).unwrap();
            head.fetch(read).unwrap();
            assert!(head.is_regular());
            assert!(*head.into_bytes(hold, LIMIT).unwrap() == *bytes);
            let mut stream = Head::from_reader(std::io::Cursor::new(bytes.clone()));
            stream.fetch(read).unwrap();
            assert!(!stream.is_regular());
            assert!(*stream.into_bytes(hold, LIMIT).unwrap() == *bytes);
        }
    }
    // What was let pass is gone, and that is said.
    let mut stream = Head::from_reader(std::io::Cursor::new(bytes));
    stream.measure(100).unwrap();
    assert_eq!(code(stream.into_bytes(Hold::Read, LIMIT)), "IO-CHANGED");
}

#[test]
fn a_file_that_changes_between_its_head_and_the_whole_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for hold in HOLDS {
        for after in [0, 1, 99, 101, 100_000] {
            let (path, _) = file(folder.path(), 100);
            let mut head = Head::open(&path).unwrap();
            head.fetch(8).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(after).unwrap();
            match head.into_bytes(hold, LIMIT) {
                Err(ReadError::Changed { before: 100, after: now }) => assert_eq!(now, after),
                other => panic!("{other:?}"),
            }
        }
        // The same length, written again; the clock of the file system must have gone on.
        let (path, bytes) = file(folder.path(), 100);
        let head = Head::open(&path).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
        std::fs::write(&path, bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_eq!(code(head.into_bytes(hold, LIMIT)), "IO-CHANGED");
        // A path that leads to another file by now does not matter: the file is the one that was opened.
        let (path, bytes) = file(folder.path(), 100);
        let head = Head::open(&path).unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, b"another").unwrap();
        std::fs::rename(other, &path).unwrap();
        let whole = head.into_bytes(hold, LIMIT).unwrap();
        assert!(*whole == *bytes && whole.identity().unwrap() != Identity::at(&path).unwrap());
    }
}

/// What happens to the file later is seen in a mapping and nowhere else.
#[test]
fn copies_stay_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = file(folder.path(), 10_000);
    let held = HOLDS.map(|hold| FileBytes::open(&path, hold, LIMIT).unwrap());
    std::fs::write(&path, vec![0; 10_000]).unwrap();
    assert!(*held[1] == *bytes && *held[2] == *bytes);
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    assert!(*held[1] == *bytes && *held[2] == *bytes);
}

#[test]
fn there_is_a_limit_to_what_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = file(folder.path(), 1000);
    for hold in [Hold::Snapshot, Hold::Read] {
        assert_eq!(code(FileBytes::open(&path, hold, 1000)), "");
        let error = FileBytes::open(&path, hold, 999).unwrap_err();
        assert!(matches!(error, ReadError::OverLimit { len: 1000, limit: 999 }), "{error}");
    }
    assert_eq!(code(FileBytes::open(&path, Hold::Map, 0)), "");
    assert_eq!(code(FileBytes::read(&*bytes, 1000)), "");
    assert_eq!(code(FileBytes::read(&*bytes, 999)), "IO-STREAM-LIMIT");
    assert_eq!(code(FileBytes::read(std::io::repeat(7), 1 << 20)), "IO-STREAM-LIMIT");
}

#[test]
fn a_file_without_bytes_and_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path(), 0);
    for hold in HOLDS {
        let held = FileBytes::open(&path, hold, LIMIT).unwrap();
        assert!(held.is_empty() && held.hold() == Hold::Read);
        held.advise_all(Advice::DontNeed);
        assert_eq!(code(FileBytes::open(folder.path(), hold, LIMIT)), "IO-DIRECTORY");
        assert_eq!(code(FileBytes::open(&folder.path().join("none"), hold, LIMIT)), "IO-NOT-FOUND");
    }
}

/// A sparse file that 32 bits cannot count.
#[test]
fn more_than_four_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(folder.path(), 1);
    let sparse = File::options().write(true).open(&path).unwrap();
    let len = (5_u64 << 30) + 3;
    let end = |file: &File| {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = file;
        file.seek(SeekFrom::Start(len - 1))?;
        file.write_all(b"!")
    };
    if let Err(error) = end(&sparse) {
        eprintln!("skipped: this file system has no such files: {error}");
        return;
    }
    let held = FileBytes::open(&path, Hold::Map, LIMIT);
    if cfg!(target_pointer_width = "32") {
        assert_eq!(code(held), "IO-ADDRESS-SPACE");
        return;
    }
    let held = held.unwrap();
    assert_eq!((held.len() as u64, held.last(), held[1 << 32]), (len, Some(&b'!'), 0));
    held.advise_all(Advice::DontNeed);
    assert_eq!(held.last(), Some(&b'!'));
    for hold in [Hold::Snapshot, Hold::Read] {
        assert_eq!(code(FileBytes::open(&path, hold, LIMIT)), "IO-SIZE-LIMIT");
    }
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_file_and_hard_links_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = file(folder.path(), 100);
    let (soft, hard) = (folder.path().join("soft"), folder.path().join("hard"));
    std::os::unix::fs::symlink("file", &soft).unwrap();
    std::fs::hard_link(&path, &hard).unwrap();
    for hold in HOLDS {
        let held = FileBytes::open(&soft, hold, LIMIT).unwrap();
        assert!(*held == *bytes);
        assert!(held.identity().unwrap().is_same_file(&Identity::at(&hard).unwrap()));
        std::os::unix::fs::symlink("nowhere", folder.path().join("broken")).ok();
        assert_eq!(code(FileBytes::open(&folder.path().join("broken"), hold, LIMIT)), "IO-NOT-FOUND");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn devices_files_of_proc_and_sockets() {
    for hold in HOLDS {
        let held = FileBytes::open("/proc/self/status".as_ref(), hold, LIMIT).unwrap();
        assert!(held.starts_with(b"Name:") && held.hold() == Hold::Read && held.identity().is_none());
        assert!(FileBytes::open("/dev/null".as_ref(), hold, LIMIT).unwrap().is_empty());
        assert_eq!(code(FileBytes::open("/dev/zero".as_ref(), hold, 1 << 20)), "IO-STREAM-LIMIT");
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(code(FileBytes::open(&socket, hold, LIMIT)), "IO-READ");
    }
    for path in ["/dev/null", "/dev/zero", "/dev/tty"] {
        let error = Head::open_regular(path.as_ref()).unwrap_err();
        assert!(["IO-NOT-REGULAR", "IO-NOT-FOUND"].contains(&error.code()), "{path}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_to_its_end() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let bytes = vec![7_u8; 300_000];
    let sent = bytes.clone();
    let thread = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &sent));
    assert!(*FileBytes::read(reader, LIMIT).unwrap() == *bytes);
    thread.join().unwrap().unwrap();
}

/// What SECURITY.md says of a file that is cut while it is mapped, and that a snapshot does not mind. The process that
/// dies is this program run again.
#[cfg(target_os = "linux")]
#[test]
fn a_mapped_file_that_is_cut_ends_the_process_and_a_snapshot_does_not_mind() {
    use std::os::unix::process::ExitStatusExt;

    const FILE: &str = "TENSORGATE_TEST_CUT";
    const SIGBUS: i32 = 7;
    if let Some(path) = std::env::var_os(FILE) {
        let hold = if path.as_encoded_bytes().ends_with(b"mapped") { Hold::Map } else { Hold::Snapshot };
        let bytes = FileBytes::open(path.as_ref(), hold, LIMIT).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert_eq!(bytes[9000], 7);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, want) in [("mapped", Some(SIGBUS)), ("snapshot", None)] {
        let path = folder.path().join(name);
        std::fs::write(&path, vec![7; 10_000]).unwrap();
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let test = "a_mapped_file_that_is_cut_ends_the_process_and_a_snapshot_does_not_mind";
        let output = again.args(["--exact", test]).env(FILE, &path).output().unwrap();
        assert_eq!(output.status.signal(), want, "{name}: {}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.success(), want.is_none());
    }
}
