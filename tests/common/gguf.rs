//! The parts of a little-endian GGUF file, put together by hand, and limits that tolerate what can be.

use tensorgate::Limits;
use tensorgate::gguf::ValueType;

/// Everything tolerated, as far as it goes.
pub(crate) fn lax() -> Limits {
    Limits::default()
        .with_gguf_nested_arrays(8)
        .with_gguf_invalid_utf8(true)
        .with_gguf_unknown_types(true)
        .with_gguf_trailing(true)
        .with_gguf_name_len(1000)
}

/// A file that grows; begin with its counts, then the pairs, then the tensors, then the data.
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn new(tensors: u64, pairs: u64) -> Self {
        let mut writer = Self(b"GGUF\x03\0\0\0".to_vec());
        writer.u64(tensors).u64(pairs);
        writer
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> &mut Self {
        self.u64(text.len() as u64).raw(text)
    }

    pub(crate) fn key(&mut self, key: &str, kind: ValueType) -> &mut Self {
        self.text(key.as_bytes()).u32(kind.id())
    }

    /// An array's element type and count.
    pub(crate) fn array(&mut self, kind: ValueType, count: u64) -> &mut Self {
        self.u32(kind.id()).u64(count)
    }

    pub(crate) fn tensor(&mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> &mut Self {
        self.text(name.as_bytes()).u32(u32::try_from(dims.len()).unwrap());
        dims.iter().fold(&mut *self, |writer, dim| writer.u64(*dim)).u32(kind).u64(offset)
    }

    /// Zeros up to the data section, and so many behind where it begins.
    pub(crate) fn data(&mut self, len: usize) -> &mut Self {
        self.0.resize(self.0.len().next_multiple_of(32) + len, 0);
        self
    }
}
