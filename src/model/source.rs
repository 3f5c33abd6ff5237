//! A tensor's bytes a piece at a time, for whoever reads them once.
//!
//! Where the file is mapped they are not touched there, since that ends the process if the file was cut meanwhile: the file
//! is opened again and read, and what is gone is an error. What is in memory that nobody else can write to is shown where
//! it is.

use std::path::Path;
use std::vec::Vec;

use super::Tensor;
use crate::file::{Advice, Hold, Positioned, ReadError};
use crate::num;

/// Where a tensor's bytes are read from.
pub(crate) struct Source<'t> {
    tensor: &'t Tensor,
    /// `None` where they are in memory, or where the path leads to another file by now, so that the mapped one can only be
    /// read as it is mapped.
    file: Option<Positioned>,
    path: &'t Path,
    /// How many bytes were given, of which the last ones may still be in use.
    at: u64,
    in_use: u64,
    buffer: Vec<u8>,
}

impl<'t> Source<'t> {
    /// The bytes of a tensor, whose file has this path.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`] where its file is not what it was when it was mapped, [`ReadError::Io`].
    pub(crate) fn open(tensor: &'t Tensor, path: &'t Path) -> Result<Self, ReadError> {
        let mapped = tensor.file_bytes().identity().filter(|_| tensor.file_bytes().hold() == Hold::Map);
        let file = mapped.map(|identity| Positioned::again(path, &identity)).transpose()?.flatten();
        match &file {
            Some(file) => file.in_order(tensor.span().start(), tensor.span().len()),
            None => tensor.advise(Advice::Sequential),
        }
        Ok(Self { tensor, file, path, at: 0, in_use: 0, buffer: Vec::new() })
    }

    /// The tensor.
    pub(crate) const fn tensor(&self) -> &'t Tensor {
        self.tensor
    }

    /// The path of its file.
    pub(crate) const fn path(&self) -> &'t Path {
        self.path
    }

    /// The next bytes, as many as `most` or what is left; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`] where the file ends before, [`ReadError::Memory`], [`ReadError::Io`].
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<&[u8]>, ReadError> {
        let tensor = self.tensor;
        if self.file.is_none() {
            // What was read once is not kept in this process: a large model's pages are not those of its memory.
            tensor.advise_range(self.at.saturating_sub(self.in_use), self.in_use, Advice::DontNeed);
        }
        let left = tensor.span().len().saturating_sub(self.at);
        let len = num::narrow(left).unwrap_or(usize::MAX).min(most);
        if len == 0 {
            return Ok(None);
        }
        let start = self.at;
        self.in_use = num::widen(len);
        self.at = start.saturating_add(self.in_use);
        let Some(file) = &self.file else {
            let rest = num::narrow(start).and_then(|start| tensor.bytes().get(start..));
            return Ok(rest.and_then(|rest| rest.get(..len)));
        };
        if self.buffer.len() < len {
            // Asked for as zeros, which the system has at hand.
            let memory = ReadError::Memory { wanted: self.in_use };
            self.buffer = bytemuck::allocation::try_zeroed_vec(len).map_err(|()| memory)?;
        }
        self.buffer.truncate(len);
        file.read(&mut self.buffer, tensor.span().start().saturating_add(start))?;
        Ok(Some(&self.buffer))
    }

    /// Its file is what it was when it was mapped. One that another has taken the place of is: it stays as it is for whoever
    /// has it open.
    ///
    /// # Errors
    ///
    /// [`ReadError::Changed`], [`ReadError::Io`].
    pub(crate) fn unchanged(&self) -> Result<(), ReadError> {
        self.file.as_ref().map_or(Ok(()), Positioned::unchanged)
    }
}
