//! The tensors of an accepted file as records of 64-bit words.

use core::mem::MaybeUninit;

use tensorgate::{ShardIndex, gguf, safetensors};

/// Stands for an offset or a size that an index does not know.
const NONE: u64 = u64::MAX;

/// Records in the host's room, one a tensor.
///
/// A record is the offset in the file and the bytes of the data (all ones in an index, which knows neither), the number of
/// dimensions and each of them, outermost first, the name, and the type (in an index, the shard). A text is the number of its
/// bytes and then UTF-8, eight bytes to a word, the first of them the least significant.
#[derive(Debug)]
pub struct List<'a> {
    room: &'a mut [MaybeUninit<u64>],
    /// Words that the records take, of which those that have no room are not written.
    used: usize,
}

impl<'a> List<'a> {
    pub fn new(room: &'a mut [MaybeUninit<u64>]) -> Self {
        Self { room, used: 0 }
    }

    /// The bytes that all records take, if that is more than there is room for.
    pub fn missing(&self) -> Option<u64> {
        let bytes = u64::try_from(self.used).unwrap_or(u64::MAX).saturating_mul(8);
        (self.used > self.room.len()).then_some(bytes)
    }

    pub fn safetensors(&mut self, header: &safetensors::Header<'_>) {
        for tensor in header.tensors() {
            self.place(tensor.span().start(), tensor.span().len());
            self.shape(tensor.shape());
            self.text(tensor.name().chars());
            self.text(tensor.dtype().tag().chars());
        }
    }

    pub fn gguf(&mut self, header: &gguf::Header<'_>) {
        for tensor in header.tensors() {
            self.place(tensor.span().start(), tensor.span().len());
            self.shape(tensor.shape());
            self.text(tensor.name().chars());
            self.text(tensor.kind().name().unwrap_or_default().chars());
        }
    }

    pub fn index(&mut self, index: &ShardIndex<'_>) {
        for entry in index.in_file_order() {
            self.place(NONE, NONE);
            self.word(0);
            self.text(entry.name().chars());
            self.text(entry.shard().chars());
        }
    }

    fn word(&mut self, word: u64) {
        if let Some(place) = self.room.get_mut(self.used) {
            place.write(word);
        }
        self.used = self.used.saturating_add(1);
    }

    fn place(&mut self, offset: u64, bytes: u64) {
        self.word(offset);
        self.word(bytes);
    }

    fn shape(&mut self, shape: tensorgate::Shape<'_>) {
        self.word(u64::try_from(shape.rank()).unwrap_or(u64::MAX));
        for dim in shape {
            self.word(dim);
        }
    }

    fn text(&mut self, chars: impl Iterator<Item = char> + Clone) {
        let bytes = chars.clone().fold(0_usize, |sum, c| sum.saturating_add(c.len_utf8()));
        self.word(u64::try_from(bytes).unwrap_or(u64::MAX));
        let mut word = [0; 8];
        let mut filled = 0;
        for c in chars {
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                if let Some(place) = word.get_mut(filled) {
                    *place = byte;
                }
                filled += 1;
                if filled == word.len() {
                    self.word(u64::from_le_bytes(word));
                    word = [0; 8];
                    filled = 0;
                }
            }
        }
        if filled > 0 {
            self.word(u64::from_le_bytes(word));
        }
    }
}
