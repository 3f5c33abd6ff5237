//! What the system says of a file: which it is, and when it was last touched.

use std::fs::{File, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// How long nothing must have touched a file before its verdict is kept. A page of a mapping that was written to is brought
/// to the disk after half a minute at the latest, and only then is the next write to it seen in the file's times; clocks
/// have a grain of milliseconds, and some file systems one of two seconds.
const QUIET: Duration = Duration::from_secs(60);

/// A file as it was at one moment. None of it can be set by a program, but for the time of the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    dev: u64,
    ino: u64,
    size: u64,
    /// Seconds and nanoseconds of the last change of the data.
    mtime: (i64, i64),
    /// The same of the last change of anything.
    ctime: (i64, i64),
}

impl Identity {
    /// Of a regular file, through symbolic links.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Self::new(&path.metadata().ok()?)
    }

    /// Of a file that is open; none where the system would not tell of every change.
    pub(crate) fn of_file(file: &File) -> Option<Self> {
        Self::new(&file.metadata().ok()?).filter(|_| tells_changes(file))
    }

    #[cfg(unix)]
    fn new(state: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        state.is_file().then(|| Self {
            dev: state.dev(),
            ino: state.ino(),
            size: state.size(),
            mtime: (state.mtime(), state.mtime_nsec()),
            ctime: (state.ctime(), state.ctime_nsec()),
        })
    }

    #[cfg(not(unix))]
    fn new(_state: &Metadata) -> Option<Self> {
        None
    }

    /// The file's length.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Whether nothing had touched it for a while at that time.
    pub(crate) fn is_quiet(&self, at: SystemTime) -> bool {
        let before = at.checked_sub(QUIET).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let Some(before) = before else { return false };
        let before = (i64::try_from(before.as_secs()).unwrap_or_default(), i64::from(before.subsec_nanos()));
        // A time of the data in the future, or a clock that was set back, says nothing.
        self.ctime < before && self.mtime < before
    }
}

/// Whether the system tells of every change of a file: some file systems never bring a mapping to a disk, so that writes
/// to it are not seen in the file's times, and others have their times from elsewhere.
#[cfg(target_os = "linux")]
pub(crate) fn tells_changes(file: &File) -> bool {
    /// tmpfs, ramfs, hugetlbfs, FUSE, NFS, SMB (three), 9P, AFS, Ceph: `linux/magic.h` and the drivers' sources.
    const SILENT: [u64; 11] = [
        0x0102_1994,
        0x8584_58F6,
        0x9584_58F6,
        0x6573_5546,
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x5346_414F,
        0x00C3_6400,
    ];
    rustix::fs::fstatfs(file).is_ok_and(|state| {
        let kind = u64::try_from(state.f_type).unwrap_or_default();
        // Signed words of 32 bits have the highest ones below zero.
        !SILENT.contains(&(kind & 0xFFFF_FFFF))
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn tells_changes(_file: &File) -> bool {
    true
}

/// Why a file that is to be believed is not: somebody else could have written it.
#[cfg(unix)]
pub(crate) fn distrust(path: &Path, file: &File) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let state = file.metadata().ok()?;
    let own = rustix::process::geteuid().as_raw();
    if !state.is_file() {
        return Some("is no regular file".to_owned());
    }
    if path.symlink_metadata().is_ok_and(|link| link.is_symlink()) {
        return Some("is a symbolic link, which others may turn".to_owned());
    }
    if state.uid() != own {
        return Some("belongs to another user, who could have anything accepted".to_owned());
    }
    if state.mode() & 0o022 != 0 {
        return Some("can be written by others, who could have anything accepted (chmod go-w)".to_owned());
    }
    let folder = std::path::absolute(path).ok()?.parent()?.metadata().ok()?;
    let open = folder.mode() & 0o022 != 0 && folder.mode() & 0o1000 == 0;
    open.then(|| "lies in a folder in which others can put another in its place".to_owned())
}

#[cfg(not(unix))]
pub(crate) fn distrust(_path: &Path, _file: &File) -> Option<String> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_just_touched_is_not_quiet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"a").unwrap();
        let now = SystemTime::now();
        let identity = Identity::of(&path).unwrap();
        assert!(!identity.is_quiet(now) && !identity.is_quiet(now + Duration::from_secs(50)));
        assert!(identity.is_quiet(now + Duration::from_secs(70)));
        assert!(!identity.is_quiet(UNIX_EPOCH));
        // An old time of the data, as unpackers set it, is not enough.
        let old = now - Duration::from_secs(9_999);
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(!Identity::of(&path).unwrap().is_quiet(now));
    }

    #[test]
    fn every_change_makes_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"aaaa").unwrap();
        let first = Identity::of(&path).unwrap();
        assert_eq!(Identity::of_file(&File::open(&path).unwrap()).as_ref(), Some(&first));
        let time = path.metadata().unwrap().modified().unwrap();
        // Longer than the grain of any clock here.
        std::thread::sleep(Duration::from_millis(20));
        std::fs::write(&path, b"bbbb").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let second = Identity::of(&path).unwrap();
        assert_eq!((first.size, first.mtime, first.ino), (second.size, second.mtime, second.ino));
        assert_ne!(first, second);
        std::fs::write(folder.path().join("b"), b"aaaa").unwrap();
        std::fs::rename(folder.path().join("b"), &path).unwrap();
        assert_ne!(Identity::of(&path).unwrap(), second);
        assert_eq!(Identity::of(folder.path()), None);
    }
}
