//! Where writers put their bytes.

/// Something that takes a file's bytes, in order, and keeps all of them or says why not.
///
/// Implemented for `Vec<u8>` (with `alloc`; it fails where memory is out and does not abort), for anything that is
/// `std::io::Write` through `IoSink` (with `std`), and for `&mut` of any sink. Where there is no `std`, a flash
/// driver or a socket is a few lines:
///
/// ```
/// use tensorgate::Sink;
///
/// /// Knows how long the file would be, and keeps nothing.
/// struct Count(u64);
///
/// impl Sink for Count {
///     type Error = core::convert::Infallible;
///     fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
///         self.0 += bytes.len() as u64;
///         Ok(())
///     }
/// }
///
/// let mut count = Count(0);
/// count.write_all(b"{}").unwrap();
/// assert_eq!(count.0, 2);
/// ```
pub trait Sink {
    /// Why bytes were not taken.
    type Error;

    /// Takes all of `bytes`, behind those taken before.
    ///
    /// # Errors
    ///
    /// The sink's own. How many of the bytes were taken is then unknown, and no writer of this crate writes to the
    /// sink again.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Hands on whatever the sink still holds back. Writers call it once, when the file is complete.
    ///
    /// # Errors
    ///
    /// The sink's own.
    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    type Error = S::Error;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        (**self).write_all(bytes)
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        (**self).flush()
    }
}

#[cfg(feature = "alloc")]
impl Sink for alloc::vec::Vec<u8> {
    type Error = alloc::collections::TryReserveError;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.try_reserve(bytes.len())?;
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Counts bytes and keeps none: how long a text will be is found by writing it here first.
#[cfg(feature = "alloc")]
#[derive(Debug, Default)]
pub(crate) struct Count(pub(crate) u64);

#[cfg(feature = "alloc")]
impl Sink for Count {
    type Error = core::convert::Infallible;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0 = self.0.saturating_add(crate::num::widen(bytes.len()));
        Ok(())
    }
}
