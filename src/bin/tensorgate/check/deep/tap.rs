//! Streams: their data is looked at while it passes on its way to the judge, since nothing of it comes a second time.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tensorgate::file::{Head, ReadError};
use tensorgate::scan::Census;
use tensorgate::{ErrorKind, gguf, safetensors};

use super::pass::Pass;
use super::summary;
use crate::judge::Options;
use crate::parts::{Tensor, gguf_tensors, safetensors_tensors};
use crate::report::{Data, Format};

/// A view of what passes through a [`Tapped`] reader.
#[derive(Clone)]
pub(crate) struct Tap(Rc<RefCell<State>>);

struct State {
    /// How much has passed.
    at: u64,
    pass: Option<Pass<Vec<Tensor>>>,
    stop: Arc<AtomicBool>,
}

impl Tap {
    /// A tap that ends the stream with an error once `stop` is set.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        Self(Rc::new(RefCell::new(State { at: 0, pass: None, stop })))
    }

    /// The reader, with this tap in it.
    pub(crate) fn onto(&self, reader: Box<dyn Read>) -> Tapped {
        Tapped { reader, tap: self.clone() }
    }

    /// Reads the stream's header, if it is one of this format, and looks at its tensors from there on.
    ///
    /// # Errors
    ///
    /// As [`Head::load`].
    pub(crate) fn prepare(&self, head: &mut Head, format: Format, options: &Options) -> Result<(), ReadError> {
        let tensors = match format {
            Format::Gguf => gguf_header(head, options)?,
            Format::SafeTensors | Format::Unknown => safetensors_header(head, options)?,
            Format::Index => None,
        };
        let Some(tensors) = tensors else { return Ok(()) };
        let mut pass = Pass::new(tensors, 0);
        // What was read together with the header.
        pass.feed(0, head.bytes());
        self.0.borrow_mut().pass = Some(pass);
        Ok(())
    }

    /// What was found.
    pub(crate) fn into_data(self) -> Option<Data> {
        let pass = self.0.borrow_mut().pass.take()?;
        let tensors = pass.tensors().to_vec();
        let mut censuses = vec![Census::default(); tensors.len()];
        for (place, found) in pass.finish() {
            if let Some(census) = censuses.get_mut(place) {
                census.merge(&found);
            }
        }
        Some(summary(&tensors, &censuses))
    }
}

fn safetensors_header(head: &mut Head, options: &Options) -> Result<Option<Vec<Tensor>>, ReadError> {
    let limits = &options.limits;
    head.load(|bytes, len| safetensors::Header::open(bytes, len, limits).err()?.needs())?;
    let verdict = safetensors::Header::open(head.bytes(), u64::MAX, limits);
    let len =
        verdict.err().filter(|error| error.kind() == ErrorKind::StDataTrailing).and_then(|error| error.want());
    let header = len.and_then(|len| safetensors::Header::open(head.bytes(), len, limits).ok());
    header.map(|header| safetensors_tensors(&header)).transpose()
}

fn gguf_header(head: &mut Head, options: &Options) -> Result<Option<Vec<Tensor>>, ReadError> {
    let limits = &options.limits;
    head.load(|bytes, len| gguf::Header::open(bytes, len, limits).err()?.needs())?;
    // Where trailing bytes are tolerated any length will do.
    let len = match gguf::Header::open(head.bytes(), u64::MAX, limits) {
        Ok(_) => Some(u64::MAX),
        Err(error) => error.want().filter(|_| error.kind() == ErrorKind::GgDataTrailing),
    };
    let header = len.and_then(|len| gguf::Header::open(head.bytes(), len, limits).ok());
    header.map(|header| gguf_tensors(&header)).transpose()
}

/// A reader that shows a [`Tap`] what passes.
pub(crate) struct Tapped {
    reader: Box<dyn Read>,
    tap: Tap,
}

impl Read for Tapped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        let mut state = self.tap.0.borrow_mut();
        if state.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        let at = state.at;
        state.at = at.saturating_add(u64::try_from(count).unwrap_or_default());
        if let Some(pass) = &mut state.pass {
            pass.feed(at, bytes);
        }
        Ok(count)
    }
}
