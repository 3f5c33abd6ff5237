//! Bytes in memory that begin where a cache line does.

use std::io::{self, Read};
use std::vec::Vec;

use super::ReadError;
use crate::num;

/// What the first byte is aligned to: a cache line, and more than any element or vector register needs.
const ALIGNMENT: usize = 64;

/// Bytes of a stream that are read at a time.
const STEP: usize = 64 * 1024;

/// Bytes in memory, the first of which is aligned to 64.
pub(super) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    /// The next `len` bytes of a file, exactly.
    pub(super) fn of_file(file: &mut impl Read, len: u64) -> Result<Self, ReadError> {
        let memory = ReadError::Memory { wanted: len };
        let Some(room) = num::narrow(len).and_then(|len| len.checked_add(ALIGNMENT)) else { return Err(memory) };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(room).map_err(|_| memory)?;
        // There is room for all, so that it stays where it is.
        let start = offset(&bytes);
        bytes.resize(start, 0);
        let got = num::widen(file.take(len).read_to_end(&mut bytes).map_err(|error| failed(error, len))?);
        if got < len { Err(ReadError::Changed { before: len, after: got }) } else { Ok(Self { bytes, start }) }
    }

    /// What was read of a stream, and the rest of it: at most `most` bytes. Memory grows as they come.
    pub(super) fn of_stream(start: Vec<u8>, reader: impl Read, most: u64) -> Result<Self, ReadError> {
        let mut bytes = start;
        let mut reader = reader.take(most.saturating_add(1).saturating_sub(num::widen(bytes.len())));
        let wanted = num::widen(STEP);
        loop {
            // With room to spare the standard library never grows the vector itself, which would end the process.
            bytes.try_reserve(STEP.saturating_mul(2)).map_err(|_| ReadError::Memory { wanted })?;
            let step = (&mut reader).take(wanted).read_to_end(&mut bytes);
            if num::widen(step.map_err(|error| failed(error, wanted))?) < wanted {
                break;
            }
        }
        let len = bytes.len();
        if num::widen(len) > most {
            return Err(ReadError::StreamTooLong { limit: most });
        }
        bytes.try_reserve_exact(ALIGNMENT).map_err(|_| ReadError::Memory { wanted })?;
        let start = offset(&bytes);
        bytes.resize(len.saturating_add(start), 0);
        bytes.copy_within(..len, start);
        Ok(Self { bytes, start })
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

/// How many bytes the vector's first place lies before an aligned one; below the alignment.
fn offset(bytes: &[u8]) -> usize {
    let offset = bytes.as_ptr().align_offset(ALIGNMENT);
    if offset < ALIGNMENT { offset } else { 0 }
}

fn failed(error: io::Error, wanted: u64) -> ReadError {
    if error.kind() == io::ErrorKind::OutOfMemory { ReadError::Memory { wanted } } else { ReadError::Io(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn bytes_are_whole_and_aligned_however_many() {
        for len in [0_usize, 1, 63, 64, 65, 1000, 100_000] {
            let source: Vec<u8> = (0_u8..251).cycle().take(len).collect();
            let wide = num::widen(len);
            let file = Aligned::of_file(&mut &source[..], wide).unwrap();
            let split = len / 3;
            let stream = Aligned::of_stream(source[..split].to_vec(), &source[split..], wide).unwrap();
            for held in [file, stream] {
                assert_eq!(held.as_slice(), source);
                assert_eq!(held.as_slice().as_ptr().align_offset(ALIGNMENT), 0);
            }
        }
    }

    #[test]
    fn what_is_short_or_long_is_said() {
        let short = Aligned::of_file(&mut &[0_u8; 9][..], 10).err().unwrap();
        assert!(matches!(short, ReadError::Changed { before: 10, after: 9 }));
        let huge = Aligned::of_file(&mut &[0_u8; 9][..], u64::MAX).err().unwrap();
        assert!(matches!(huge, ReadError::Memory { wanted: u64::MAX }));
        let long = Aligned::of_stream(vec![0; 4], io::repeat(0), 1000).err().unwrap();
        assert!(matches!(long, ReadError::StreamTooLong { limit: 1000 }));
    }
}
