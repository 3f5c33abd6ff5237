//! Bytes behind the beginning: a few of a regular file's by their place, a stream's as they pass.

use std::io::{Seek, SeekFrom};
use std::vec::Vec;

use super::{Head, ReadError, STEP, Source, append};
use crate::{Span, num};

impl Head {
    /// The bytes from `start` on, `len` of them or as many as there are: out of what was read already, or of a regular
    /// file. What a stream has let pass is gone: then there are none.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`], [`ReadError::Memory`].
    pub fn window(&mut self, start: u64, len: u64) -> Result<Vec<u8>, ReadError> {
        let end = start.saturating_add(len);
        let kept = num::widen(self.bytes.len());
        let mut window = Vec::new();
        match &mut self.source {
            Source::Regular { file, .. } if end > kept => {
                file.seek(SeekFrom::Start(start))?;
                append(&mut window, file, len)?;
            }
            _ => {
                let from = num::narrow(start).and_then(|start| self.bytes.get(start..)).unwrap_or_default();
                let len = num::narrow(len).unwrap_or(from.len()).min(from.len());
                window.extend_from_slice(from.get(..len).unwrap_or_default());
            }
        }
        Ok(window)
    }

    /// Where the first byte that is not zero stands in `spans`, which ascend; `None` where all that is there is zero.
    ///
    /// Of a regular file only these bytes are read. A stream is read on to the end of the last span, and then nothing
    /// more can be fetched; where it ends is told by [`file_len`](Self::file_len).
    ///
    /// ```
    /// use tensorgate::{Limits, file::Head, gguf::Header};
    /// // No tensor, and up to seven bytes of padding: here there are two.
    /// let mut head = Head::from_reader(&b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07"[..]);
    /// head.fetch(26)?;
    /// let padding: Vec<_> = {
    ///     let header = Header::open(head.bytes(), 26, &Limits::default()).unwrap();
    ///     header.padding().collect()
    /// };
    /// assert_eq!(head.first_nonzero(&padding)?, Some(25));
    /// # Ok::<(), tensorgate::file::ReadError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub fn first_nonzero(&mut self, spans: &[Span]) -> Result<Option<u64>, ReadError> {
        let mut rest = spans;
        while let Some((first, _)) = rest.split_first() {
            // Spans so near to each other are one read: what is between them shares their pages.
            let near = rest.windows(2).take_while(|pair| matches!(pair, [a, b] if nearly(*a, *b))).count();
            let (run, behind) = rest.split_at_checked(near.saturating_add(1)).unwrap_or((rest, &[]));
            rest = behind;
            let end = run.last().unwrap_or(first).end();
            let mut left = run;
            let mut at = first.start();
            while at < end {
                let piece = self.pass(at, end.saturating_sub(at).min(STEP))?;
                if let Some(found) = nonzero(&piece, at, &mut left) {
                    return Ok(Some(found));
                }
                if piece.is_empty() {
                    break;
                }
                at = at.saturating_add(num::widen(piece.len()));
            }
        }
        self.recheck()?;
        Ok(None)
    }

    /// Some of the `len` bytes from `at` on, at least one unless the source ends before.
    fn pass(&mut self, at: u64, len: u64) -> Result<Vec<u8>, ReadError> {
        let kept = num::widen(self.bytes.len());
        if at < kept {
            return self.window(at, len.min(kept.saturating_sub(at)));
        }
        if matches!(self.source, Source::Regular { .. }) {
            return self.window(at, len);
        }
        self.measure(at)?;
        let mut piece = Vec::new();
        if let (Source::Stream(reader), false) = (&mut self.source, self.ended) {
            let got = append(&mut piece, reader, len)?;
            self.read = self.read.saturating_add(got);
            self.ended = got < len;
            if self.read > self.stream_limit {
                return Err(ReadError::StreamTooLong { limit: self.stream_limit });
            }
        }
        Ok(piece)
    }
}

/// Bytes between two spans that are read with them, at the most: a page.
const NEAR: u64 = 4096;

fn nearly(a: Span, b: Span) -> bool {
    b.start().saturating_sub(a.end()) <= NEAR
}

/// Where the first byte that is not zero stands in `piece`, which begins at `at`, inside one of `spans`; those that end
/// in it are taken off.
fn nonzero(piece: &[u8], at: u64, spans: &mut &[Span]) -> Option<u64> {
    let end = at.saturating_add(num::widen(piece.len()));
    while let Some((span, behind)) = spans.split_first() {
        let inside = |offset: u64| num::narrow(offset.clamp(at, end).saturating_sub(at));
        let part = piece.get(inside(span.start())?..inside(span.end())?).unwrap_or_default();
        if let Some(place) = part.iter().position(|byte| *byte != 0) {
            return Some(span.start().max(at).saturating_add(num::widen(place)));
        }
        if span.end() > end {
            break;
        }
        *spans = behind;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use std::vec;

    #[test]
    fn a_file_and_a_stream_say_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let spans = [Span::new(3, 5), Span::new(20, 20), Span::new(100, 70_200), Span::new(70_300, 70_310)];
        let spans: Vec<Span> = spans.into_iter().flatten().collect();
        for (dirty, want) in [
            (None::<usize>, None),
            (Some(2), None),
            (Some(4), Some(4)),
            (Some(5), None),
            (Some(20), None),
            (Some(65_700), Some(65_700)),
            (Some(70_199), Some(70_199)),
            (Some(70_200), None),
            (Some(70_299), None),
            (Some(70_300), Some(70_300)),
            (Some(70_309), Some(70_309)),
            (Some(70_310), None),
        ] {
            let mut bytes = vec![0_u8; 80_000];
            if let Some(at) = dirty {
                bytes[at] = 1;
            }
            std::fs::write(&path, &bytes).unwrap();
            for fetched in [0, 4, 300, 69_000, 80_000] {
                let sources = [Head::open(&path).unwrap(), Head::from_reader(Cursor::new(bytes.clone()))];
                for mut head in sources {
                    head.fetch(fetched).unwrap();
                    assert_eq!(head.first_nonzero(&spans).unwrap(), want, "{dirty:?} {fetched}");
                }
            }
        }
        let mut short = Head::from_reader(Cursor::new(vec![0; 150]));
        assert_eq!((short.first_nonzero(&spans).unwrap(), short.file_len()), (None, Some(150)));
    }

    #[test]
    fn a_window_leaves_the_rest_to_be_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..=255).collect();
        std::fs::write(&path, &bytes).unwrap();
        let mut head = Head::open(&path).unwrap();
        head.fetch(10).unwrap();
        assert_eq!(head.window(8, 4).unwrap(), [8, 9, 10, 11]);
        assert_eq!(head.window(2, 3).unwrap(), [2, 3, 4]);
        assert_eq!(head.window(250, 100).unwrap(), [250, 251, 252, 253, 254, 255]);
        head.fetch(100).unwrap();
        assert_eq!(head.bytes(), &bytes[..100]);
        let mut stream = Head::from_reader(Cursor::new(bytes));
        stream.fetch(10).unwrap();
        assert_eq!(stream.window(8, 4).unwrap(), [8, 9]);
        assert!(stream.window(100, 4).unwrap().is_empty());
    }
}
