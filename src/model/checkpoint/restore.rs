//! Loading: everything is compared, then everything is read, then everything is copied.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::format;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use super::{MODEL, Mismatch, OPTIMIZER, RestoreError, ValuesMut};
use crate::file::{Head, ReadError};
use crate::safetensors::{Header, TensorInfo};
use crate::{Dtype, Limits, Name, Shape, Span, num};

/// Where a checkpoint is to be loaded: named slices of the caller's.
#[derive(Default)]
pub struct Restore<'a> {
    targets: Vec<Target<'a>>,
    limits: Limits,
    model_only: bool,
}

struct Target<'a> {
    name: String,
    shape: &'a [u64],
    values: ValuesMut<'a>,
}

impl<'a> Restore<'a> {
    /// One that expects nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// With room for a parameter or buffer of the model, of the shape and type that the file must have.
    #[must_use]
    pub fn model(self, name: &str, shape: &'a [u64], values: impl Into<ValuesMut<'a>>) -> Self {
        self.with(MODEL, name, shape, values.into())
    }

    /// With room for a part of the optimizer's state.
    #[must_use]
    pub fn optimizer(self, name: &str, shape: &'a [u64], values: impl Into<ValuesMut<'a>>) -> Self {
        self.with(OPTIMIZER, name, shape, values.into())
    }

    fn with(mut self, prefix: &str, name: &str, shape: &'a [u64], values: ValuesMut<'a>) -> Self {
        self.targets.push(Target { name: format!("{prefix}{name}"), shape, values });
        self
    }

    /// The same, for those who only want the model: state of the optimizer that the file has and nobody asked for is passed
    /// over, and its bytes are not read.
    #[must_use]
    pub fn model_only(mut self) -> Self {
        self.model_only = true;
        self
    }

    /// The same within other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Loads the checkpoint into the slices, and gives its metadata.
    ///
    /// Besides the slices this takes memory for the header and, until they are copied, for the bytes of all slices: what is
    /// checked is what is copied, whatever becomes of the file meanwhile.
    ///
    /// # Errors
    ///
    /// [`RestoreError::Read`], [`RestoreError::Invalid`], [`RestoreError::Mismatch`] with everything that is wrong, in the
    /// order of the slices and then of the file. Every slice is then as it was.
    pub fn load(mut self, path: impl AsRef<Path>) -> Result<BTreeMap<String, String>, RestoreError> {
        let mut head = Head::open_regular(path.as_ref())?;
        let len = head.load_safetensors(&self.limits)?;
        let header = Header::open(head.bytes(), len, &self.limits)?;
        let spans = self.spans(&header)?;
        let text = |name: Name<'_>| name.to_cow().into_owned();
        let pairs = header.metadata().into_iter().flatten();
        let metadata = pairs.map(|(key, value)| (text(key), text(value))).collect();
        let file = head.regular().ok_or(ReadError::NotRegular)?;
        let bytes = read(file, &spans)?;
        drop(header);
        // The same file as when its header was read.
        head.measure(0)?;

        let mut parts = Vec::new();
        let mut rest = bytes.as_slice();
        for span in &spans {
            let len = num::narrow(span.len()).unwrap_or(usize::MAX);
            let (part, after) = rest.split_at_checked(len).ok_or(ReadError::Memory { wanted: span.len() })?;
            parts.push(part);
            rest = after;
        }
        let invalid = self.targets.iter().zip(&parts).filter_map(|(target, part)| {
            let at = num::widen(target.values.first_invalid(part)?);
            Some(Mismatch::Bool { name: target.name.clone(), at })
        });
        refuse(invalid.collect())?;
        // From here on nothing fails.
        for (target, part) in self.targets.iter_mut().zip(&parts) {
            target.values.copy_le(part);
        }
        Ok(metadata)
    }

    /// Where each slice's bytes stand in the file, which has all of them and nothing else.
    fn spans(&self, header: &Header<'_>) -> Result<Vec<Span>, RestoreError> {
        let mut wrong = Vec::new();
        let mut spans = Vec::new();
        let mut names = BTreeSet::new();
        for target in &self.targets {
            if !names.insert(target.name.as_str()) {
                wrong.push(Mismatch::Twice { name: target.name.clone() });
            }
            let needed = bytes_of(target.values.dtype(), target.shape);
            if needed != Some(target.values.byte_len()) {
                let (needed, given) = (needed.unwrap_or(u64::MAX), target.values.byte_len());
                wrong.push(Mismatch::Length { name: target.name.clone(), needed, given });
            }
            match header.tensor(&target.name) {
                Ok(found) => {
                    target.compare(&found, &mut wrong);
                    spans.push(found.span());
                }
                Err(_) => wrong.push(Mismatch::Missing { name: target.name.clone() }),
            }
        }
        for found in header.tensors() {
            let name = found.name().to_cow();
            let passed_over = self.model_only && name.starts_with(OPTIMIZER);
            if !names.contains(&*name) && !passed_over {
                wrong.push(Mismatch::Unexpected { name: name.into_owned() });
            }
        }
        refuse(wrong)?;
        Ok(spans)
    }
}

impl Target<'_> {
    fn compare(&self, found: &TensorInfo<'_>, wrong: &mut Vec<Mismatch>) {
        let name = || self.name.clone();
        if found.dtype() != self.values.dtype() {
            let (expected, found) = (self.values.dtype(), found.dtype());
            wrong.push(Mismatch::Dtype { name: name(), expected, found });
        }
        if found.shape() != *self.shape {
            let (expected, found) = (self.shape.to_vec(), found.shape().to_vec());
            wrong.push(Mismatch::Shape { name: name(), expected, found });
        }
    }
}

fn bytes_of(dtype: Dtype, shape: &[u64]) -> Option<u64> {
    dtype.bytes_for(Shape::from(shape).elements()?)
}

fn refuse(wrong: Vec<Mismatch>) -> Result<(), RestoreError> {
    if wrong.is_empty() { Ok(()) } else { Err(RestoreError::Mismatch(wrong)) }
}

/// The bytes of all spans, one behind the other: no more than the caller has room for, which was compared.
fn read(mut file: &File, spans: &[Span]) -> Result<Vec<u8>, ReadError> {
    let wanted = spans.iter().fold(0_u64, |sum, span| sum.saturating_add(span.len()));
    let mut bytes = Vec::new();
    let memory = ReadError::Memory { wanted };
    let room = num::narrow(wanted).filter(|room| bytes.try_reserve_exact(*room).is_ok());
    if room.is_none() {
        return Err(memory);
    }
    for span in spans {
        file.seek(SeekFrom::Start(span.start()))?;
        let got = num::widen(file.take(span.len()).read_to_end(&mut bytes)?);
        if got < span.len() {
            return Err(ReadError::Changed { before: span.end(), after: span.start().saturating_add(got) });
        }
    }
    Ok(bytes)
}

impl fmt::Debug for Restore<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restore").field("tensors", &self.targets.len()).finish_non_exhaustive()
    }
}
