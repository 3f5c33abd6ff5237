//! The tensors of all files, by name.

use std::string::String;
use std::vec::Vec;

use super::ElementType;
use super::file::OwnedHeader;
use crate::gguf::Endian;
use crate::{Name, Shape, Span};

/// The tensors of all files in the order of their names. Takes less than ten times the bytes of the headers.
pub(super) struct Table {
    names: String,
    dims: Vec<u64>,
    entries: Vec<Entry>,
    /// The tensors by file, and in it by where their bytes are.
    order: Vec<usize>,
}

/// One tensor. Names and dimensions stand in the table's pools.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    name: (usize, usize),
    dims: (usize, usize),
    pub(super) span: Span,
    pub(super) file: usize,
    pub(super) element: ElementType,
    pub(super) endian: Endian,
}

/// What headers of either format say of a tensor.
struct Row<'a> {
    name: Name<'a>,
    shape: Shape<'a>,
    span: Span,
    element: ElementType,
    endian: Endian,
}

impl Table {
    /// The tensors of these headers, which have no name twice; `None` where memory ran out.
    pub(super) fn of(headers: &[&OwnedHeader]) -> Option<Self> {
        let (mut bytes, mut rank, mut count) = (0_usize, 0_usize, 0_usize);
        for header in headers {
            rows(header, |row| {
                bytes = bytes.saturating_add(row.name.raw().len());
                rank = rank.saturating_add(row.shape.rank());
                count = count.saturating_add(1);
            });
        }
        let mut table = Self { names: String::new(), dims: Vec::new(), entries: Vec::new(), order: Vec::new() };
        table.names.try_reserve_exact(bytes).ok()?;
        table.dims.try_reserve_exact(rank).ok()?;
        table.entries.try_reserve_exact(count).ok()?;
        table.order.try_reserve_exact(count).ok()?;
        for (file, header) in headers.iter().enumerate() {
            rows(header, |row| table.push(file, &row));
        }
        let Self { names, entries, order, .. } = &mut table;
        entries.sort_unstable_by(|a, b| text(names, a).cmp(text(names, b)));
        order.extend(0..entries.len());
        order.sort_unstable_by_key(|index| (entries.get(*index).map(|entry| (entry.file, entry.span)), *index));
        Some(table)
    }

    fn push(&mut self, file: usize, row: &Row<'_>) {
        let name = self.names.len();
        match row.name.as_str() {
            Some(text) => self.names.push_str(text),
            // What an escape says is never longer than the escape.
            None => self.names.extend(row.name.chars()),
        }
        let dims = self.dims.len();
        self.dims.extend(row.shape);
        self.entries.push(Entry {
            name: (name, self.names.len()),
            dims: (dims, self.dims.len()),
            span: row.span,
            file,
            element: row.element,
            endian: row.endian,
        });
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    pub(super) fn element(&self, index: usize) -> Option<ElementType> {
        self.entry(index).map(|entry| entry.element)
    }

    pub(super) fn name(&self, entry: &Entry) -> &str {
        text(&self.names, entry)
    }

    pub(super) fn dims(&self, entry: &Entry) -> &[u64] {
        self.dims.get(entry.dims.0..entry.dims.1).unwrap_or_default()
    }

    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator + Clone + '_ {
        self.entries.iter().map(|entry| self.name(entry))
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.entries.binary_search_by(|entry| self.name(entry).cmp(name)).ok()
    }

    /// The tensors by file, and in it by where their bytes are.
    pub(super) fn in_file_order(&self) -> &[usize] {
        &self.order
    }

    /// The name that was probably meant: the same but for a few characters, or with something before or behind it.
    ///
    /// Names that are long, or very many, are not all looked at.
    pub(super) fn near(&self, wanted: &str) -> Option<&str> {
        const MOST_NAMES: usize = 20_000;
        const MOST_BYTES: usize = 128;
        if wanted.is_empty() || wanted.len() > MOST_BYTES {
            return None;
        }
        let short = || self.names().take(MOST_NAMES).filter(|name| !name.is_empty() && name.len() <= MOST_BYTES);
        let few = (wanted.len() / 4).clamp(1, 3);
        let close = short().map(|name| (strsim::damerau_levenshtein(name, wanted), name));
        let close = close.filter(|(distance, _)| *distance <= few).min();
        let inside = || {
            let holds = |name: &&str| {
                let part = |whole: &str, part: &str| {
                    let rest = whole.strip_suffix(part).map(|rest| rest.ends_with(['.', '/', '_']));
                    let rest =
                        rest.or_else(|| whole.strip_prefix(part).map(|rest| rest.starts_with(['.', '/', '_'])));
                    rest.unwrap_or(false)
                };
                part(name, wanted) || part(wanted, name)
            };
            short().filter(holds).min_by_key(|name| (name.len().abs_diff(wanted.len()), *name))
        };
        close.map(|(_, name)| name).or_else(inside)
    }
}

fn text<'t>(names: &'t str, entry: &Entry) -> &'t str {
    names.get(entry.name.0..entry.name.1).unwrap_or_default()
}

fn rows(header: &OwnedHeader, mut each: impl FnMut(Row<'_>)) {
    if let Some(header) = header.safetensors() {
        for info in header.tensors() {
            each(Row {
                name: info.name(),
                shape: info.shape(),
                span: info.span(),
                element: ElementType::Dtype(info.dtype()),
                endian: Endian::Little,
            });
        }
    }
    if let Some(header) = header.gguf() {
        for info in header.tensors() {
            each(Row {
                name: info.name(),
                shape: info.shape(),
                span: info.span(),
                element: ElementType::Ggml(info.kind()),
                endian: header.endian(),
            });
        }
    }
}
