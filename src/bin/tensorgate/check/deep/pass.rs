//! Stretches of a file, in ascending order, to the tensors that they belong to.

use std::borrow::Borrow;

use tensorgate::scan::{Census, Scan};

use crate::parts::Tensor;

/// A pass over tensors in the order of their data.
pub(super) struct Pass<T> {
    tensors: T,
    next: usize,
    /// The next tensor, where a part of it was fed.
    scan: Option<Scan>,
    found: Vec<(usize, Census)>,
}

impl<T: Borrow<[Tensor]>> Pass<T> {
    /// A pass that begins in the tensor at `first`.
    pub(super) const fn new(tensors: T, first: usize) -> Self {
        Self { tensors, next: first, scan: None, found: Vec::new() }
    }

    /// Looks at the bytes at `at`, which stand behind those of the call before.
    pub(super) fn feed(&mut self, at: u64, bytes: &[u8]) {
        let end = at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        while let Some(tensor) = self.tensors.borrow().get(self.next) {
            if tensor.start >= end {
                return;
            }
            let (from, to) = (tensor.start.max(at), tensor.end.min(end));
            let inside = |place: u64| usize::try_from(place.saturating_sub(at)).unwrap_or(usize::MAX);
            if let Some(own) = bytes.get(inside(from)..inside(to)).filter(|own| !own.is_empty()) {
                let offset = from.saturating_sub(tensor.start);
                self.scan.get_or_insert_with(|| tensor.kind.scan().starting_at(offset)).feed(own);
            }
            if tensor.end > end {
                return;
            }
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(scan) = self.scan.take() {
            self.found.push((self.next, scan.census()));
        }
        self.next = self.next.saturating_add(1);
    }

    /// The tensors that were seen, by their place, with what was found in as much of them as was fed.
    pub(super) fn finish(mut self) -> Vec<(usize, Census)> {
        self.close();
        self.found
    }

    /// The tensors.
    pub(super) fn tensors(&self) -> &[Tensor] {
        self.tensors.borrow()
    }
}
