//! A file's bytes as pages of this process.
#![expect(unsafe_code, reason = "a mapping is a promise about the file that no compiler can check")]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

use super::{Advice, ReadError};
use crate::{Span, num};

/// A read-only mapping of a whole file.
pub(super) struct Mapping(Mmap);

impl Mapping {
    /// Maps the first `len` bytes of a file, which it was just seen to have.
    pub(super) fn new(file: &File, len: u64) -> Result<Self, ReadError> {
        Self::with(len, |options| {
            // SAFETY: the pages are read only as bytes, for which every value is valid. That nobody writes to the file
            // or cuts it is what the caller is told to see to (`FileBytes`, *Files that change*); its length was asked
            // for before and is asked for again by the caller before a byte is touched.
            unsafe { options.map(file) }
        })
    }

    /// Maps the first `len` bytes of a file that was sealed, as private pages: kernels before 6.7 refuse shared ones.
    #[cfg(target_os = "linux")]
    pub(super) fn sealed(file: &File, len: u64) -> Result<Self, ReadError> {
        Self::with(len, |options| {
            // SAFETY: the file has no name, and was sealed against writing, shrinking and growing, so that neither this
            // process nor another can change it or its length.
            unsafe { options.map_copy_read_only(file) }
        })
    }

    fn with(len: u64, map: impl FnOnce(&MmapOptions) -> io::Result<Mmap>) -> Result<Self, ReadError> {
        let len = addressable(len, num::widen(isize::MAX.unsigned_abs()))?;
        match map(MmapOptions::new().len(len)) {
            Ok(mapping) => Ok(Self(mapping)),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                Err(ReadError::AddressSpace { len: num::widen(len) })
            }
            Err(error) => Err(ReadError::Io(error)),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// See [`FileBytes::advise`](super::FileBytes::advise).
    #[cfg(unix)]
    pub(super) fn advise(&self, span: Span, advice: Advice) {
        use memmap2::{Advice as Plain, UncheckedAdvice};

        let drop = advice == Advice::DontNeed;
        let page = num::widen(rustix::param::page_size());
        let len = num::widen(self.0.len());
        let Some((start, end)) = pages(span, page, len, drop) else { return };
        let (Some(start), Some(len)) = (num::narrow(start), num::narrow(end.saturating_sub(start))) else { return };
        // Advice that is not followed changes nothing, so that nobody needs to know.
        let _ = match advice {
            Advice::Sequential => self.0.advise_range(Plain::Sequential, start, len),
            Advice::Random => self.0.advise_range(Plain::Random, start, len),
            Advice::WillNeed => self.0.advise_range(Plain::WillNeed, start, len),
            // SAFETY: the mapping is read-only and of a file, so that no page of it was ever written to: a page that is
            // dropped comes back from the file with the bytes that it had (`madvise(2)`, *MADV_DONTNEED*).
            Advice::DontNeed => unsafe { self.0.unchecked_advise_range(UncheckedAdvice::DontNeed, start, len) },
        };
    }

    #[cfg(not(unix))]
    pub(super) fn advise(&self, _: Span, _: Advice) {}
}

/// The length as one of this machine: no object is longer than `most` bytes.
fn addressable(len: u64, most: u64) -> Result<usize, ReadError> {
    num::narrow(len).filter(|_| len <= most).ok_or(ReadError::AddressSpace { len })
}

/// The pages of `span` in a mapping of `len` bytes: those that lie inside, or all that it touches.
#[cfg(unix)]
fn pages(span: Span, page: u64, len: u64, inside: bool) -> Option<(u64, u64)> {
    let end = span.end().min(len);
    let down = |at: u64| at & !page.wrapping_sub(1);
    let (start, end) = if inside {
        // Behind the last byte of the file there is nothing else on its page.
        (num::align_up(span.start(), page)?, if end == len { end } else { down(end) })
    } else {
        (down(span.start()), end)
    };
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_address_reaches_is_refused() {
        let small = u64::from(u32::MAX >> 1);
        assert_eq!(addressable(small, small).unwrap(), 0x7FFF_FFFF);
        for len in [small + 1, 1 << 32, u64::MAX] {
            let error = addressable(len, small).unwrap_err();
            assert!(matches!(error, ReadError::AddressSpace { len: told } if told == len));
        }
        assert!(addressable(u64::MAX, u64::MAX).is_err() || usize::BITS == 64);
    }

    /// On 32 bits the kernel gives files that no pointer reaches the end of.
    #[cfg(target_pointer_width = "32")]
    #[test]
    fn a_file_beyond_the_address_space_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(matches!(Mapping::new(&file, 3 << 30), Err(ReadError::AddressSpace { .. })));
        assert!(matches!(Mapping::new(&file, 5 << 30), Err(ReadError::AddressSpace { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn pages_inside_and_around() {
        let of = |start, end, inside| pages(Span::new(start, end).unwrap(), 4096, 10_000, inside);
        assert_eq!(of(1, 9000, true), Some((4096, 8192)));
        assert_eq!(of(1, 9000, false), Some((0, 9000)));
        assert_eq!(of(4097, 8191, true), None);
        assert_eq!(of(5000, 5000, false), Some((4096, 5000)));
        assert_eq!(of(8192, 20_000, true), Some((8192, 10_000)));
        assert_eq!(of(10_000, 20_000, true), None);
        assert_eq!(of(20_000, u64::MAX, false), None);
        assert_eq!(of(u64::MAX, u64::MAX, true), None);
    }
}
