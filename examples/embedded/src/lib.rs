//! A gate for safetensors files on a microcontroller: no allocator, storage of a fixed size, and a verdict before the first
//! byte of data has to be stored.
//!
//! [`Gate`] takes a file in whatever pieces a link delivers. Once it has the header it answers for the whole file, whose
//! length the sender announced: firmware stores the data only then. `run` builds this for a Cortex-M4 and reports its size.
#![cfg_attr(not(test), no_std)]

mod ffi;

use tensorgate::safetensors::{Header, Slot, TensorInfo};
use tensorgate::{Error, Limits};

/// Room for a header of `HEADER` bytes (its length word included) with `TENSORS` tensors.
#[derive(Debug)]
pub struct Gate<const HEADER: usize, const TENSORS: usize> {
    header: [u8; HEADER],
    have: usize,
    slots: [Slot; TENSORS],
    file_len: u64,
}

/// What the gate says after a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send this many bytes more, at the least.
    More(u64),
    /// The file is sound: so many tensors, and data from this offset to the file's end.
    Accepted {
        /// How many tensors there are.
        tensors: usize,
        /// Where the data begins in the file.
        data: u64,
    },
    /// The file lies; the rule and the offset.
    Refused(Error),
    /// The header is sound so far but does not fit: bytes or tensors that there would have to be room for.
    NoRoom(u64),
}

impl<const HEADER: usize, const TENSORS: usize> Gate<HEADER, TENSORS> {
    /// An empty gate, for a file of which the sender says that it has `file_len` bytes.
    pub const fn new(file_len: u64) -> Self {
        Self { header: [0; HEADER], have: 0, slots: [Slot::EMPTY; TENSORS], file_len }
    }

    /// Takes the next piece of the file. What is behind the header is not kept: the answer counts from the file's start.
    pub fn feed(&mut self, piece: &[u8]) -> Answer {
        let room = self.header.get_mut(self.have..).unwrap_or_default();
        for (place, byte) in room.iter_mut().zip(piece) {
            *place = *byte;
            self.have = self.have.saturating_add(1);
        }
        self.answer()
    }

    /// The answer to what was fed so far.
    pub fn answer(&mut self) -> Answer {
        let have = self.have;
        match self.open() {
            Ok(header) => Answer::Accepted { tensors: header.len(), data: header.data().start() },
            Err(error) => match (error.needs(), error.needs_slots()) {
                (Some(needs), _) if usize::try_from(needs).is_ok_and(|needs| needs <= HEADER) => {
                    Answer::More(needs.saturating_sub(u64::try_from(have).unwrap_or(u64::MAX)))
                }
                (Some(needs), _) | (_, Some(needs)) => Answer::NoRoom(needs),
                (None, None) => Answer::Refused(error),
            },
        }
    }

    /// A tensor of an accepted file: its type, its shape and where its data stands in the file.
    pub fn tensor(&mut self, name: &str) -> Option<TensorInfo<'_>> {
        self.open().ok()?.tensor(name).ok()
    }

    fn open(&mut self) -> Result<Header<'_>, Error> {
        let bytes = self.header.get(..self.have).unwrap_or_default();
        Header::open_in(bytes, self.file_len, &mut self.slots, &Limits::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::vec::Vec;

    /// Every safetensors file of the corpus that is judged by the defaults, with its row: verdict, code, offset.
    fn corpus() -> Vec<(String, Vec<u8>, Option<(String, u64)>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
        let rows = manifest.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let judged = |row: &Vec<&str>| row[0].ends_with(".safetensors") && row[7] == "-";
        rows.filter(judged)
            .filter(|row| ["accepted", "rejected"].contains(&row[2]))
            .map(|row| {
                let want = (row[2] == "rejected").then(|| (row[3].to_owned(), row[4].parse().unwrap()));
                (row[0].to_owned(), std::fs::read(folder.join(row[0])).unwrap(), want)
            })
            .collect()
    }

    /// Feeds a file in pieces of `step` bytes until the gate wants no more.
    fn judge(file: &[u8], step: usize) -> Answer {
        let mut gate = Gate::<8192, 64>::new(file.len() as u64);
        let mut answer = gate.answer();
        for piece in file.chunks(step) {
            let Answer::More(_) = answer else { break };
            answer = gate.feed(piece);
        }
        answer
    }

    #[test]
    fn the_corpus_has_its_verdicts_in_any_pieces() {
        let mut fit = 0;
        for (name, file, want) in corpus() {
            for step in [1, 7, 256, usize::MAX] {
                match judge(&file, step) {
                    Answer::Accepted { .. } => assert_eq!(want, None, "{name}"),
                    Answer::Refused(error) => {
                        assert_eq!(want, Some((error.code().to_owned(), error.at())), "{name}");
                    }
                    Answer::NoRoom(needs) => {
                        assert!(needs > 64, "{name}");
                        continue;
                    }
                    Answer::More(bytes) => panic!("{name}: {bytes} bytes more"),
                }
                fit += 1;
            }
        }
        assert!(fit > 1200, "{fit}");
    }

    #[test]
    fn a_tensor_is_found_before_its_data_is_there() {
        let json = r#"{"a":{"dtype":"U8","shape":[1000],"data_offsets":[0,1000]}}"#;
        let mut gate = Gate::<256, 4>::new(8 + json.len() as u64 + 1000);
        assert_eq!(gate.answer(), Answer::More(8));
        assert_eq!(gate.feed(&(json.len() as u64).to_le_bytes()), Answer::More(json.len() as u64));
        let data = 8 + json.len() as u64;
        assert_eq!(gate.feed(json.as_bytes()), Answer::Accepted { tensors: 1, data });
        let span = gate.tensor("a").unwrap().span();
        assert_eq!((span.start(), span.len()), (data, 1000));
        assert!(gate.tensor("b").is_none());
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let mut gate = Gate::<16, 1>::new(1 << 20);
        assert_eq!(gate.feed(&1000_u64.to_le_bytes()), Answer::NoRoom(1008));
        let json = r#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
        let file = [&(json.len() as u64).to_le_bytes()[..], json.as_bytes()].concat();
        assert_eq!(Gate::<256, 1>::new(file.len() as u64).feed(&file), Answer::NoRoom(2));
    }
}
