//! A private copy of a file that nobody can change.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use super::ReadError;
use super::aligned::Aligned;
use super::bytes::Held;

/// The first `len` bytes of a file, copied.
#[cfg(target_os = "linux")]
pub(super) fn of(file: &mut File, len: u64) -> Result<Held, ReadError> {
    match sealed(file, len) {
        // A kernel without memfd, or a sandbox that forbids it: memory of our own is as private.
        Err(ReadError::Io(error)) if matches!(error.raw_os_error(), Some(code) if is_refusal(code)) => {
            in_memory(file, len)
        }
        outcome => outcome,
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of(file: &mut File, len: u64) -> Result<Held, ReadError> {
    in_memory(file, len)
}

fn in_memory(file: &mut File, len: u64) -> Result<Held, ReadError> {
    file.seek(SeekFrom::Start(0))?;
    Ok(Held::Heap(Aligned::of_file(file, len)?))
}

#[cfg(target_os = "linux")]
fn is_refusal(code: i32) -> bool {
    use rustix::io::Errno;
    [Errno::NOSYS, Errno::PERM, Errno::ACCESS, Errno::INVAL].iter().any(|errno| errno.raw_os_error() == code)
}

/// The copy in a file without a name that is in memory only, with every seal on it.
#[cfg(target_os = "linux")]
fn sealed(file: &mut File, len: u64) -> Result<Held, ReadError> {
    // The mapping keeps the memory; the descriptor is not needed any more.
    Ok(Held::Sealed(super::map::Mapping::sealed(&copied(file, len)?, len)?))
}

#[cfg(target_os = "linux")]
fn copied(file: &mut File, len: u64) -> Result<File, ReadError> {
    use std::io::{self, Read};

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use rustix::io::Errno;

    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels since 6.3 want to be told that nobody will run it; those before do not know the flag.
    let fd = match memfd_create("tensorgate", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create("tensorgate", flags),
        outcome => outcome,
    };
    let mut copy = File::from(fd.map_err(io::Error::from)?);
    file.seek(SeekFrom::Start(0))?;
    let got = io::copy(&mut file.take(len), &mut copy).map_err(|error| match error.kind() {
        io::ErrorKind::OutOfMemory | io::ErrorKind::StorageFull => ReadError::Memory { wanted: len },
        _ => ReadError::Io(error),
    })?;
    if got < len {
        return Err(ReadError::Changed { before: len, after: got });
    }
    let all = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&copy, all).map_err(io::Error::from)?;
    Ok(copy)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_copy_stays_what_it_was() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        let Held::Sealed(copy) = of(&mut file, 10_000).unwrap() else { panic!("it is not sealed") };
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&[8; 10_000]).unwrap();
        file.set_len(10).unwrap();
        assert!(copy.as_slice().len() == 10_000 && copy.as_slice().iter().all(|byte| *byte == 7));
        assert!(matches!(of(&mut file, 11), Err(ReadError::Changed { before: 11, after: 10 })));
    }

    #[test]
    fn nobody_can_change_what_is_sealed() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"1234").unwrap();
        let mut copy = copied(&mut file, 4).unwrap();
        copy.seek(SeekFrom::Start(0)).unwrap();
        assert!(copy.write_all(b"5").is_err() && copy.set_len(3).is_err() && copy.set_len(5).is_err());
        assert!(rustix::fs::fcntl_add_seals(&copy, rustix::fs::SealFlags::empty()).is_err());
        let mapping = super::super::map::Mapping::sealed(&copy, 4).unwrap();
        drop(copy);
        assert_eq!(mapping.as_slice(), b"1234");
    }
}
