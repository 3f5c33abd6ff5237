//! Where an atomic save goes: the file that a path leads to, its folder, and what must be kept of it.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;

use tempfile::NamedTempFile;

use super::{AtomicError, Step, Watch};

/// Symbolic links that are followed, as many as Linux does (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

/// Bytes of the file's name that the temporary one begins with, so that the whole stays below 255.
const MOST_NAME: usize = 200;

/// Letters that tell temporary files apart.
const LETTERS: usize = 12;

/// What temporary files end with. No model file does, so that a reader that lists a folder does not take one for a shard.
const SUFFIX: &str = ".tensorgate-tmp";

/// Where a save goes.
pub(super) struct Place {
    /// The file behind all links.
    pub(super) target: PathBuf,
    /// Its folder, open, to be brought to the disk when the file has its name.
    pub(super) folder: Option<File>,
    /// The mode of the file that is there.
    pub(super) mode: Option<Permissions>,
}

impl Place {
    /// Follows `path` and looks at what is there.
    pub(super) fn find(path: &Path, watch: &dyn Watch) -> Result<Self, AtomicError> {
        let error = |error| AtomicError::new(Step::Inspect, path, error);
        watch.before(Step::Inspect, path).map_err(error)?;
        let target = follow(path).map_err(error)?;
        let mode = replaceable(&target).map_err(error)?;
        // Opened now, so that a folder that cannot be brought to the disk is found out before anything was done.
        let lost = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => io::Error::new(cause.kind(), "its folder is not there"),
            _ => cause,
        };
        let folder = open_folder(parent(&target)).map_err(|cause| error(lost(cause)))?;
        Ok(Self { target, folder: Some(folder), mode })
    }

    /// A new file in the folder, with at most the rights that it will have in the end.
    pub(super) fn temporary(&self) -> io::Result<NamedTempFile> {
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let mut prefix = String::from(".");
        prefix.extend(
            name.char_indices().take_while(|(at, c)| at.saturating_add(c.len_utf8()) <= MOST_NAME).map(|(_, c)| c),
        );
        prefix.push('.');
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(LETTERS).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let bits = self.mode.as_ref().map_or(0o666, PermissionsExt::mode);
            // The one who writes must be able to; the exact mode is set when the file is there.
            builder.permissions(Permissions::from_mode((bits & 0o666) | 0o200));
        }
        builder.tempfile_in(parent(&self.target))
    }
}

/// Gives `file` the nine permission bits of `mode`.
#[cfg(unix)]
pub(super) fn set_mode(file: &File, mode: &Permissions) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // Without set-user-id and its like: the owner may be another now.
    file.set_permissions(Permissions::from_mode(mode.mode() & 0o777))
}

/// Elsewhere there is but read-only, which is not replaced.
#[cfg(not(unix))]
pub(super) fn set_mode(_: &File, _: &Permissions) -> io::Result<()> {
    Ok(())
}

/// The mode of a file that is there.
pub(super) fn mode_of(like: Option<&Path>) -> Option<Permissions> {
    like.and_then(|like| fs::metadata(like).ok()).map(|metadata| metadata.permissions())
}

/// The folder that a file is in.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != OsStr::new("") => parent,
        _ => Path::new("."),
    }
}

/// What `path` leads to through symbolic links, whether it is there or not.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if target.file_name().is_none() || ends_in_separator(&target) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file's name"));
        }
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => target = parent(&target).join(fs::read_link(&target)?),
            Ok(_) => return Ok(target),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(error),
        }
    }
    // The system's own words for a loop.
    Err(fs::metadata(path).err().unwrap_or_else(|| io::Error::other("too many symbolic links")))
}

fn ends_in_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|byte| std::path::is_separator(char::from(*byte)))
}

/// The mode of the file at `target`, which may be replaced; `None` where there is none.
fn replaceable(target: &Path) -> io::Result<Option<Permissions>> {
    let refused = |kind, why: &str| Err(io::Error::new(kind, why));
    match fs::metadata(target) {
        Ok(metadata) if metadata.is_dir() => refused(io::ErrorKind::IsADirectory, "it is a folder"),
        Ok(metadata) if !metadata.is_file() => refused(io::ErrorKind::InvalidInput, "it is not a regular file"),
        Ok(metadata) if metadata.permissions().readonly() => {
            refused(io::ErrorKind::PermissionDenied, "the file that is there is read-only")
        }
        Ok(metadata) => Ok(Some(metadata.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A folder that can be brought to the disk.
#[cfg(unix)]
pub(in crate::file) fn open_folder(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Elsewhere folders cannot be opened as files; the null device stands for one.
#[cfg(not(unix))]
pub(in crate::file) fn open_folder(folder: &Path) -> io::Result<File> {
    fs::metadata(folder)?;
    File::open("NUL")
}

/// Brings the folder's entries to the disk; where the file system has no such thing, that is all that can be done.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        outcome => outcome,
    }
}

/// Elsewhere renames are brought to the disk by the system.
#[cfg(not(unix))]
pub(super) fn sync_folder(_: &File) -> io::Result<()> {
    Ok(())
}
