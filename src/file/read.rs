//! The beginning of a file, read once into private memory.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::vec::Vec;

mod scan;

use super::{FileBytes, Hold, Identity, ReadError};
use crate::error::ErrorKind;
use crate::safetensors::Header;
use crate::{Limits, num};

/// How much of a stream is kept or counted in one step, in bytes: what comes is paid for as it comes, whatever the
/// stream claims.
const STEP: u64 = 64 * 1024;

/// The beginning of a file or stream, read as far as its verdict takes and never further.
///
/// A regular file is asked for its length, and only its header is read; its data section never is, but for what
/// [`window`](Self::window) and [`first_nonzero`](Self::first_nonzero) are asked for. Anything else (a
/// pipe, standard input, a file of `/proc`) is read from its start: the header is kept, what follows is counted in a
/// fixed buffer, and counting ends as soon as the verdict is known.
///
/// The bytes are a private copy, so nobody can change them between the check and the use.
///
/// ```
/// use tensorgate::{Limits, file::Head, safetensors::Header};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.safetensors");
/// # std::fs::write(&path, b"\x02\0\0\0\0\0\0\0{}")?;
/// let limits = Limits::default();
/// let mut head = Head::open(&path)?;
/// let len = head.load_safetensors(&limits)?;
/// let header = Header::open(head.bytes(), len, &limits)?;
/// assert!(header.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Head {
    source: Source,
    bytes: Vec<u8>,
    read: u64,
    ended: bool,
    stream_limit: u64,
}

enum Source {
    Regular { file: File, identity: Identity },
    Stream(std::boxed::Box<dyn Read>),
}

impl Head {
    /// Bytes of a stream after which it is given up, unless
    /// [`with_stream_limit`](Self::with_stream_limit) says otherwise: 1 TiB, more than any model in one file.
    pub const STREAM_LIMIT: u64 = 1 << 40;

    /// Opens a file, a named pipe or a device. Opening a named pipe waits for its writer.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] when it is missing or may not be read, [`ReadError::IsDirectory`].
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path)
            .map_err(|error| if path.is_dir() { ReadError::IsDirectory } else { ReadError::Io(error) })?;
        Self::of_open(file)
    }

    fn of_open(file: File) -> Result<Self, ReadError> {
        // Asked of the open file, so that it is the same one however the path changes.
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(ReadError::IsDirectory);
        }
        // A regular file of no length is read as a stream: those of /proc say 0 and have content.
        if metadata.is_file() && metadata.len() > 0 {
            let identity = Identity::of(&metadata);
            return Ok(Self::of(Source::Regular { file, identity }));
        }
        Ok(Self::from_reader(file))
    }

    /// As [`open`](Self::open), but only a regular file; for paths that were found and not named, where a pipe without
    /// a writer would wait for ever.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotRegular`] besides those of [`open`](Self::open).
    pub fn open_regular(path: &Path) -> Result<Self, ReadError> {
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(ReadError::IsDirectory);
        }
        // Opening alone can do something to a device, and does not wait for a pipe that comes in between.
        if !metadata.is_file() {
            return Err(ReadError::NotRegular);
        }
        let file = unwaiting(path)?;
        if !file.metadata()?.is_file() {
            return Err(ReadError::NotRegular);
        }
        Self::of_open(file)
    }

    /// A stream from where it stands.
    pub fn from_reader(reader: impl Read + 'static) -> Self {
        Self::of(Source::Stream(std::boxed::Box::new(reader)))
    }

    fn of(source: Source) -> Self {
        Self { source, bytes: Vec::new(), read: 0, ended: false, stream_limit: Self::STREAM_LIMIT }
    }

    /// The open file, where it is a regular one.
    pub(crate) fn regular(&self) -> Option<&File> {
        match &self.source {
            Source::Regular { file, .. } => Some(file),
            Source::Stream(_) => None,
        }
    }

    /// The same, giving a stream up after `bytes` bytes.
    #[must_use]
    pub fn with_stream_limit(mut self, bytes: u64) -> Self {
        self.stream_limit = bytes;
        self
    }

    /// What was read of the beginning so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The length of the whole in bytes, where it is known: of a regular file always, of a stream once it has ended.
    pub fn file_len(&self) -> Option<u64> {
        match &self.source {
            Source::Regular { identity, .. } => Some(identity.len()),
            Source::Stream(_) => self.ended.then_some(self.read),
        }
    }

    /// The open file, where it is a regular one: to read its data at any place without moving it (`pread`).
    pub fn file(&self) -> Option<&File> {
        match &self.source {
            Source::Regular { file, .. } => Some(file),
            Source::Stream(_) => None,
        }
    }

    /// Reads on until the first `want` bytes are there, or the end.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`], [`ReadError::Memory`]; [`ReadError::Changed`] where a regular file ends before the length it
    /// had; [`ReadError::StreamTooLong`].
    pub fn fetch(&mut self, want: u64) -> Result<(), ReadError> {
        let want = self.file_len().map_or(want, |len| want.min(len));
        while num::widen(self.bytes.len()) < want && num::widen(self.bytes.len()) == self.read && !self.ended {
            let left = want.saturating_sub(self.read);
            match &mut self.source {
                Source::Regular { file, identity } => {
                    // A window may have moved it.
                    file.seek(SeekFrom::Start(self.read))?;
                    let got = append(&mut self.bytes, file, left)?;
                    self.read = self.read.saturating_add(got);
                    if got < left {
                        return Err(ReadError::Changed { before: identity.len(), after: self.read });
                    }
                }
                Source::Stream(reader) => {
                    let step = left.min(STEP);
                    let got = append(&mut self.bytes, reader, step)?;
                    self.read = self.read.saturating_add(got);
                    self.ended = got < step;
                    if self.read > self.stream_limit {
                        return Err(ReadError::StreamTooLong { limit: self.stream_limit });
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads as much as `needs` asks for. It is given the bytes so far and the file's length ([`u64::MAX`] for a stream
    /// that has not ended), and answers how many bytes from the start it wants, or `None` when it has enough
    /// ([`Error::needs`](crate::Error::needs)).
    ///
    /// From the third question on the bytes at least double, so that a reader that asks in small steps stays linear.
    /// A regular file is looked at again in the end.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub fn load(&mut self, mut needs: impl FnMut(&[u8], u64) -> Option<u64>) -> Result<(), ReadError> {
        let mut asked = 0_u32;
        while let Some(want) = needs(&self.bytes, self.file_len().unwrap_or(u64::MAX)) {
            let have = num::widen(self.bytes.len());
            asked = asked.saturating_add(1);
            self.fetch(if asked > 2 { want.max(have.saturating_mul(2)) } else { want })?;
            if num::widen(self.bytes.len()) == have {
                break;
            }
        }
        self.recheck()
    }

    /// Reads as much of a safetensors file as its verdict takes, and returns the length to judge it with.
    ///
    /// For a regular file that is its length. A stream is read to its end only where the verdict depends on it:
    /// a header that is wrong in itself is judged at once, and after one byte more than its tensors need the rest
    /// changes nothing. [`Header::open`] says the same with the length returned as with the true one.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub fn load_safetensors(&mut self, limits: &Limits) -> Result<u64, ReadError> {
        self.load(|bytes, len| {
            // The first eight bytes say how long the header is; the rest is parsed once, when it is all there.
            let frame = bytes.split_at_checked(8).map_or(bytes, |(frame, _)| frame);
            let needs = Header::open(frame, len, limits).err()?.needs()?;
            (needs > num::widen(bytes.len())).then_some(needs)
        })?;
        if let Some(len) = self.file_len() {
            return Ok(len);
        }
        let verdict = Header::open(&self.bytes, u64::MAX, limits).err();
        let trailing = verdict.filter(|error| error.kind() == ErrorKind::StDataTrailing);
        match trailing.and_then(|error| error.want()) {
            Some(end) => self.measure(end.saturating_add(1)),
            None => Ok(self.read),
        }
    }

    /// Counts the bytes of a stream, to its end or up to `most`, without keeping them; nothing can be fetched
    /// afterwards. Of a regular file it is the length.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub fn measure(&mut self, most: u64) -> Result<u64, ReadError> {
        let Source::Stream(reader) = &mut self.source else {
            self.recheck()?;
            return Ok(self.file_len().unwrap_or(self.read));
        };
        while !self.ended && self.read < most {
            let step = most.saturating_sub(self.read).min(STEP.saturating_mul(16));
            // The sink takes its bytes through a fixed buffer of the standard library's.
            let got = io::copy(&mut reader.by_ref().take(step), &mut io::sink())?;
            self.read = self.read.saturating_add(got);
            self.ended = got < step;
            if self.read > self.stream_limit {
                return Err(ReadError::StreamTooLong { limit: self.stream_limit });
            }
        }
        Ok(self.read)
    }

    /// All bytes of the file or stream, with an owner that can be shared. At most `most` of them are copied to memory;
    /// a mapping is not counted, and a stream is always copied.
    ///
    /// Nothing may have been let pass of a stream, as [`measure`](Self::measure) does.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`] when the file's length or time are not those that it was opened with,
    /// [`ReadError::OverLimit`] and [`ReadError::StreamTooLong`] when there are more bytes than `most`,
    /// [`ReadError::AddressSpace`], [`ReadError::Memory`], [`ReadError::Io`].
    pub fn into_bytes(self, hold: Hold, most: u64) -> Result<FileBytes, ReadError> {
        self.recheck()?;
        let kept = num::widen(self.bytes.len());
        match self.source {
            Source::Regular { mut file, identity } => FileBytes::of_file(&mut file, identity, hold, most, || ()),
            // Some of it passed by: the whole can no longer be had.
            Source::Stream(_) if self.read > kept => Err(ReadError::Changed { before: self.read, after: kept }),
            Source::Stream(reader) => FileBytes::of_stream(self.bytes, reader, most),
        }
    }

    /// Whether it is a regular file, whose length is known and of which any part can be read.
    pub const fn is_regular(&self) -> bool {
        matches!(self.source, Source::Regular { .. })
    }

    /// A regular file still has the length and time that it had when it was opened.
    fn recheck(&self) -> Result<(), ReadError> {
        let Source::Regular { file, identity } = &self.source else { return Ok(()) };
        let now = Identity::of(&file.metadata()?);
        if now == *identity { Ok(()) } else { Err(ReadError::Changed { before: identity.len(), after: now.len() }) }
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("bytes", &self.bytes.len())
            .field("file_len", &self.file_len())
            .finish_non_exhaustive()
    }
}

/// Opens a file for reading without waiting for a writer, should it be a pipe by now.
#[cfg(unix)]
pub(super) fn unwaiting(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
pub(super) fn unwaiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads up to `count` bytes more into `bytes`, and says how many came.
fn append(bytes: &mut Vec<u8>, reader: &mut impl Read, count: u64) -> Result<u64, ReadError> {
    let memory = ReadError::Memory { wanted: count };
    let Some(room) = num::narrow(count) else { return Err(memory) };
    bytes.try_reserve(room).map_err(|_| memory)?;
    let got = reader.by_ref().take(count).read_to_end(bytes)?;
    Ok(num::widen(got))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// A valid file of 16 bytes of data.
    fn sound() -> Vec<u8> {
        let json = r#"{"w":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}}"#;
        let mut file = num::widen(json.len()).to_le_bytes().to_vec();
        file.extend_from_slice(json.as_bytes());
        file.extend_from_slice(&[7; 16]);
        file
    }

    fn verdict(head: &mut Head) -> Result<(), (ErrorKind, u64)> {
        let limits = Limits::default();
        let len = head.load_safetensors(&limits).unwrap();
        Header::open(head.bytes(), len, &limits).map(|_| ()).map_err(|error| (error.kind(), error.at()))
    }

    /// Gives its bytes one at a time.
    struct Drip(io::Cursor<Vec<u8>>);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let one = buffer.len().min(1);
            self.0.read(&mut buffer[..one])
        }
    }

    #[test]
    fn a_stream_has_the_verdict_of_the_whole_at_every_length() {
        let mut longer = sound();
        longer.extend_from_slice(b"more");
        for len in 0..=longer.len() {
            let bytes = longer[..len].to_vec();
            let whole = crate::SafeTensors::open(&bytes).map(|_| ()).map_err(|error| (error.kind(), error.at()));
            let mut head = Head::from_reader(Drip(io::Cursor::new(bytes.clone())));
            assert_eq!(verdict(&mut head), whole, "{len}");
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(verdict(&mut Head::open(&path).unwrap()), whole, "{len}");
        }
    }

    #[test]
    fn endless_streams_end() {
        let mut head = Head::from_reader(io::repeat(0));
        assert_eq!(verdict(&mut head), Err((ErrorKind::JsonEnd, 8)));
        assert!(head.bytes().len() <= 8);
        let mut head = Head::from_reader(io::Cursor::new(sound()).chain(io::repeat(1)));
        assert_eq!(verdict(&mut head), Err((ErrorKind::StDataTrailing, 79)));
        assert_eq!(head.file_len(), None);
        let json = r#"{"w":{"dtype":"U8","shape":[1125899906842624],"data_offsets":[0,1125899906842624]}}"#;
        let frame = [&num::widen(json.len()).to_le_bytes()[..], json.as_bytes()].concat();
        let mut head = Head::from_reader(io::Cursor::new(frame).chain(io::repeat(1))).with_stream_limit(10_000_000);
        let error = head.load_safetensors(&Limits::default()).unwrap_err();
        assert_eq!(error.code(), "IO-STREAM-LIMIT");
    }

    #[test]
    fn a_claim_does_not_buy_memory() {
        let frame = 99_999_999_u64.to_le_bytes().to_vec();
        let mut head = Head::from_reader(io::Cursor::new(frame));
        assert_eq!(verdict(&mut head), Err((ErrorKind::StHeaderPastEnd, 0)));
        assert!(head.bytes.capacity() < 1_000_000);
    }

    #[test]
    fn a_file_that_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (len, after) in [(79_u64, 90_u64), (79, 70), (79, 10)] {
            std::fs::write(&path, vec![0; usize::try_from(len).unwrap()]).unwrap();
            let mut head = Head::open(&path).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(after).unwrap();
            let error = head.load(|bytes, _| (bytes.len() < 50).then_some(50)).unwrap_err();
            assert_eq!(error.code(), "IO-CHANGED");
        }
    }

    #[test]
    fn small_questions_stay_linear() {
        let mut head = Head::from_reader(io::repeat(1).take(1 << 20));
        let mut asked = 0;
        head.load(|bytes, _| {
            asked += 1;
            (bytes.len() < 1_000_000).then(|| num::widen(bytes.len()) + 1)
        })
        .unwrap();
        assert!(asked < 30, "{asked}");
        assert_eq!(head.measure(u64::MAX).unwrap(), 1 << 20);
        assert_eq!(head.file_len(), Some(1 << 20));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_of_proc_are_read_though_they_say_no_length() {
        let mut head = Head::open("/proc/self/status".as_ref()).unwrap();
        head.fetch(5).unwrap();
        assert_eq!(head.bytes(), b"Name:");
        assert_eq!(Head::open("/proc".as_ref()).unwrap_err().code(), "IO-DIRECTORY");
        assert_eq!(Head::open_regular("/dev/zero".as_ref()).unwrap_err().code(), "IO-NOT-REGULAR");
    }
}
