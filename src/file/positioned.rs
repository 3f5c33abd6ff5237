//! Parts of a regular file by plain reads, to which a file that was cut is an error and no signal.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::read::unwaiting;
use super::{Identity, ReadError};
use crate::num;

/// A regular file of which any part is read when it is asked for.
pub(crate) struct Positioned {
    file: File,
    identity: Identity,
}

impl Positioned {
    /// The file at `path`, once more. `None` where the path does not lead to the file that had this identity any more, or
    /// where the system does not tell files apart.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`] where it is the same file in another state, [`ReadError::Io`].
    pub(crate) fn again(path: &Path, identity: &Identity) -> Result<Option<Self>, ReadError> {
        use io::ErrorKind as K;

        let same = |metadata: &Metadata| metadata.is_file() && Identity::of(metadata).is_same_file(identity);
        // Opening alone can do something to what is no file.
        let opened = std::fs::metadata(path).and_then(|found| same(&found).then(|| unwaiting(path)).transpose());
        let file = match opened {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(None),
            Err(error) if matches!(error.kind(), K::NotFound | K::NotADirectory | K::PermissionDenied) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if !same(&file.metadata()?) {
            return Ok(None);
        }
        let opened = Self { file, identity: *identity };
        opened.unchanged()?;
        Ok(Some(opened))
    }

    /// Says that `len` bytes from `at` on are read from front to back, so that the system reads far ahead.
    pub(crate) fn in_order(&self, at: u64, len: u64) {
        #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
        if let Some(len) = std::num::NonZero::new(len) {
            // Advice that is not followed changes nothing, so that nobody needs to know.
            let _ = rustix::fs::fadvise(&self.file, at, Some(len), rustix::fs::Advice::Sequential);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
        let _ = (self, at, len);
    }

    /// Fills `buffer` with the bytes at `at`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`] where the file ends before, [`ReadError::Io`].
    pub(crate) fn read(&self, mut buffer: &mut [u8], mut at: u64) -> Result<(), ReadError> {
        while !buffer.is_empty() {
            match read_at(&self.file, buffer, at) {
                Ok(0) => {
                    let after = self.file.metadata().map_or(at, |metadata| metadata.len());
                    return Err(ReadError::Changed { before: self.identity.len(), after });
                }
                Ok(count) => {
                    buffer = buffer.get_mut(count..).unwrap_or_default();
                    at = at.saturating_add(num::widen(count));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The file has the length and time that it had when it was first opened.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`] where it has not, [`ReadError::Io`].
    pub(crate) fn unchanged(&self) -> Result<(), ReadError> {
        let now = Identity::of(&self.file.metadata()?);
        let (before, after) = (self.identity.len(), now.len());
        if now == self.identity { Ok(()) } else { Err(ReadError::Changed { before, after }) }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

/// Never asked for: no other system tells files apart.
#[cfg(not(any(unix, windows)))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_the_path_leads_to_is_told_from_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 100]).unwrap();
        let identity = Identity::at(&path).unwrap();
        let file = Positioned::again(&path, &identity).unwrap().unwrap();
        let mut part = [0; 10];
        file.read(&mut part, 90).unwrap();
        assert_eq!(part, [7; 10]);
        file.unchanged().unwrap();
        // Cut: the end is not there to be read, and the same file is another.
        File::options().write(true).open(&path).unwrap().set_len(95).unwrap();
        let changed = |error| matches!(error, ReadError::Changed { before: 100, after: 95 });
        assert!(changed(file.read(&mut part, 90).unwrap_err()));
        assert!(changed(file.unchanged().unwrap_err()));
        assert!(changed(Positioned::again(&path, &identity).err().unwrap()));
        file.read(&mut part, 85).unwrap();
        // Another file, a folder, a pipe without a writer, nothing.
        std::fs::write(folder.path().join("other"), [7; 100]).unwrap();
        std::fs::rename(folder.path().join("other"), &path).unwrap();
        assert!(Positioned::again(&path, &identity).unwrap().is_none());
        assert!(Positioned::again(folder.path(), &identity).unwrap().is_none());
        std::fs::remove_file(&path).unwrap();
        assert!(Positioned::again(&path, &identity).unwrap().is_none());
        assert!(Positioned::again(&path.join("below"), &identity).unwrap().is_none());
        #[cfg(target_os = "linux")]
        {
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, &path, kind, rustix::fs::Mode::RUSR, 0).unwrap();
            assert!(Positioned::again(&path, &identity).unwrap().is_none());
        }
    }
}
