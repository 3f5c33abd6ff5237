//! What the standard library writes to, as a sink.

use crate::sink::Sink;

/// Any [`std::io::Write`] as a [`Sink`].
///
/// ```
/// use tensorgate::{IoSink, Sink};
///
/// let mut sink = IoSink::new(std::io::BufWriter::new(Vec::new()));
/// sink.write_all(b"{}")?;
/// sink.flush()?;
/// assert_eq!(sink.into_inner().get_ref(), b"{}");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct IoSink<W> {
    inner: W,
}

impl<W: std::io::Write> IoSink<W> {
    /// A sink over `inner`.
    pub const fn new(inner: W) -> Self {
        Self { inner }
    }

    /// What the sink was made of.
    pub fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: std::io::Write> Sink for IoSink<W> {
    type Error = std::io::Error;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.inner.write_all(bytes)
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.inner.flush()
    }
}
