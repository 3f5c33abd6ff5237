//! The walk over a file's beginning: fields, strings and arrays, each proved to end inside the file.

use super::relax::Uses;
use super::walk::walk;
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::{Limits, num};

/// The order of the bytes in a file's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// The lowest byte first: nearly every file.
    Little,
    /// The highest byte first: version 3 only.
    Big,
}

impl Endian {
    #[inline]
    pub(super) const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(super) const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// What is left of the given beginning of a file, and what is known of the rest.
///
/// Whatever does not fit is judged in this order, by numbers that do not depend on how much was given: the file ends
/// before it; the limit on metadata ends before it; more of the beginning is needed.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    cursor: Cursor<'a>,
    endian: Endian,
    file_len: u64,
    metadata_len: u64,
    /// The least bytes that a valid file has behind the entry that is being read.
    after: u64,
    /// What was tolerated so far.
    uses: Uses,
}

impl<'a> Reader<'a> {
    pub(super) fn new(prefix: &'a [u8], file_len: u64, limits: &Limits) -> Self {
        let metadata_len = limits.metadata_len();
        let most = num::narrow(metadata_len.min(file_len));
        let known = most.and_then(|most| prefix.get(..most)).unwrap_or(prefix);
        let cursor = Cursor::new(known, 0);
        Self { cursor, endian: Endian::Little, file_len, metadata_len, after: 0, uses: Uses::NONE }
    }

    pub(super) fn set_endian(&mut self, endian: Endian) {
        self.endian = endian;
    }

    /// Says how many bytes a valid file has at least behind the entry that is read next.
    #[inline]
    pub(super) fn set_after(&mut self, after: u64) {
        self.after = after;
    }

    /// The least that follows the entry that is read, as it was said last.
    pub(super) const fn after(&self) -> u64 {
        self.after
    }

    /// Keeps that a strict rule was relaxed for what stands at `at`.
    pub(super) fn relax(&mut self, kind: ErrorKind, at: u64) {
        self.uses.note(kind, at);
    }

    /// What was tolerated so far.
    pub(super) const fn uses(&self) -> Uses {
        self.uses
    }

    /// Absolute offset of the next byte.
    #[inline]
    pub(super) const fn at(&self) -> u64 {
        self.cursor.at()
    }

    /// How many bytes the file has from here on, given or not.
    #[inline]
    pub(super) const fn left(&self) -> u64 {
        self.file_len.saturating_sub(self.cursor.at())
    }

    /// The verdict when `count` bytes from here are not at hand; `claim_at` is the field that asks for them.
    #[cold]
    fn short(&self, claim_at: u64, count: u64, past_end: ErrorKind) -> Error {
        let Some(end) = num::add(self.at(), count).filter(|end| *end <= self.file_len) else {
            return Error::wanting(past_end, claim_at, self.left());
        };
        if end > self.metadata_len {
            return Error::wanting(ErrorKind::GgMetadataLimit, claim_at, self.metadata_len);
        }
        let have = self.at().saturating_add(num::widen(self.cursor.rest().len()));
        // Never more than is looked at: what a count claims behind it is still a claim.
        let wanted = end.saturating_add(self.after).min(self.file_len).min(self.metadata_len);
        Error::wanting(ErrorKind::NeedMore, have, wanted)
    }

    /// `N` bytes as they stand.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self, past_end: ErrorKind) -> Result<[u8; N], Error> {
        match self.cursor.array::<N>() {
            Some(bytes) => Ok(bytes),
            None => Err(self.short(self.at(), num::widen(N), past_end)),
        }
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array(ErrorKind::GgEnd).map(|bytes| self.endian.u32(bytes))
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.array(ErrorKind::GgEnd).map(|bytes| self.endian.u64(bytes))
    }

    /// `count` bytes, which the field at `claim_at` asks for.
    #[inline]
    pub(super) fn bytes(&mut self, count: u64, claim_at: u64, past_end: ErrorKind) -> Result<&'a [u8], Error> {
        match num::narrow(count).and_then(|count| self.cursor.take(count)) {
            Some(bytes) => Ok(bytes),
            None => Err(self.short(claim_at, count, past_end)),
        }
    }

    /// A string of at most `most` bytes: its length, then its bytes. The errors point at the length.
    #[inline]
    pub(super) fn string(&mut self, most: u64, too_long: ErrorKind) -> Result<&'a [u8], Error> {
        let at = self.at();
        let len = self.u64()?;
        if len > most {
            return Err(Error::wanting(too_long, at, most));
        }
        self.bytes(len, at, ErrorKind::GgStringPastEnd)
    }

    /// Walks over `count` strings of at most `most` bytes each, looking at nothing but their lengths.
    #[inline]
    pub(super) fn strings(&mut self, count: u64, most: u64) -> Result<(), Error> {
        let rest = self.cursor.rest();
        let (rest, left) = match self.endian {
            Endian::Little => walk(rest, count, most, u64::from_le_bytes),
            Endian::Big => walk(rest, count, most, u64::from_be_bytes),
        };
        self.cursor.set_rest(rest);
        if left == 0 { Ok(()) } else { self.careful_strings(left, most) }
    }

    /// The string at which the walk stopped, read again to say why it stopped.
    #[cold]
    fn careful_strings(&mut self, count: u64, most: u64) -> Result<(), Error> {
        let outer = self.after;
        for left in (0..count).rev() {
            self.after = outer.saturating_add(left.saturating_mul(8));
            self.string(most, ErrorKind::GgStringLimit)?;
        }
        self.after = outer;
        Ok(())
    }
}
