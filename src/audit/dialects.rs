//! Who would read a file differently: what other readers were seen to do with files like this one.
//!
//! A file has [`Trait`]s: the fault for which it is refused here, or, where it is accepted, its dtypes, its findings and
//! a few measured properties. For each trait and each reader the table says what that reader did with the files that have
//! it; `docs/dialects.md` has the files and sources behind every entry. Nothing is guessed: where files of one trait fared
//! differently the answer is [`Outcome::Varies`], and where none was run it is [`Outcome::Unknown`].

mod gguf;
mod refused;
mod safetensors;
mod table;

use alloc::vec::Vec;
use core::fmt;

pub use gguf::gguf;
pub use refused::{refused_gguf, refused_safetensors};
pub use safetensors::safetensors;

use super::rules::Rule;
use crate::gguf::GgmlType;
use crate::{Dtype, Error, ErrorKind};

/// A program that reads model files, in the version that was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    name: &'static str,
    version: &'static str,
}

impl Reader {
    /// What it is called, with what tells its ways of reading apart.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The release or commit that was run; empty for a kind of reader that is no single program.
    pub const fn version(&self) -> &'static str {
        self.version
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if self.version.is_empty() { Ok(()) } else { write!(f, " {}", self.version) }
    }
}

/// What a reader did with files that have a trait, or does with a file that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It reads them.
    Accepts,
    /// It reads them, and sees another model than is written there.
    Differs,
    /// It says that they are wrong.
    Refuses,
    /// It dies: an abort, a panic, a segmentation fault.
    Crashes,
    /// It gives no answer in ten seconds.
    Hangs,
    /// Some of them one way and some another; more than the trait decides.
    Varies,
    /// No file like it was run.
    Unknown,
}

impl Outcome {
    /// A word for it: `accepts`, `differs`, `refuses`, `crashes`, `hangs`, `varies` or `unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepts => "accepts",
            Self::Differs => "differs",
            Self::Refuses => "refuses",
            Self::Crashes => "crashes",
            Self::Hangs => "hangs",
            Self::Varies => "varies",
            Self::Unknown => "unknown",
        }
    }

    const fn of_cell(cell: u8) -> Self {
        match cell {
            b'a' => Self::Accepts,
            b'd' => Self::Differs,
            b'r' => Self::Refuses,
            b'c' => Self::Crashes,
            b'h' => Self::Hangs,
            b'v' => Self::Varies,
            _ => Self::Unknown,
        }
    }

    /// How much it decides over what the other traits of a file do: a reader that stops for one trait stops, whatever else
    /// there is, and one that reads each of them reads the file.
    const fn weight(self) -> u8 {
        match self {
            Self::Accepts => 0,
            Self::Differs => 1,
            Self::Unknown => 2,
            Self::Varies => 3,
            Self::Refuses | Self::Crashes | Self::Hangs => 4,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something about a file that readers may take differently.
///
/// [`Display`](fmt::Display) is its key in `docs/dialects.md`: the code of a rule, with a detail where readers tell kinds
/// of one fault apart (`ST-ENTRY-TYPE/array`), `dtype F8_E5M2`, `type Q4_K`, or a property such as `rank-8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trait(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Why it is refused here, and a detail or nothing.
    Fault(ErrorKind, &'static str),
    Rule(Rule),
    Dtype(Dtype),
    Type(GgmlType),
    Has(&'static str),
}

impl Trait {
    /// Whether this is its key.
    fn is(self, key: &str) -> bool {
        let (first, second) = self.parts();
        key.strip_prefix(first).is_some_and(|rest| rest == second)
    }

    /// The two parts of the key.
    fn parts(self) -> (&'static str, &'static str) {
        match self.0 {
            Kind::Fault(kind, detail) => (kind.code(), detail),
            Kind::Rule(rule) => (rule.code(), ""),
            Kind::Dtype(dtype) => ("dtype ", dtype.tag()),
            Kind::Type(kind) => ("type ", kind.name().unwrap_or("unknown")),
            Kind::Has(key) => (key, ""),
        }
    }
}

impl fmt::Display for Trait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = self.parts();
        write!(f, "{first}{second}")
    }
}

/// The traits of a file, and the readers of its format.
#[derive(Clone, Debug)]
pub struct Traits {
    all: Vec<Trait>,
    book: &'static Book,
}

/// What is known of one format's readers.
#[derive(Debug)]
struct Book {
    readers: &'static [Reader],
    /// A key and a letter a reader, in the readers' order.
    rows: &'static [(&'static str, &'static str)],
    /// A key, a reader's place and what it does.
    notes: &'static [(&'static str, usize, &'static str)],
}

impl Book {
    fn row(&self, what: Trait) -> Option<&'static str> {
        self.rows.iter().find(|(key, _)| what.is(key)).map(|(_, cells)| *cells)
    }
}

impl Traits {
    /// Room for `most` traits.
    fn new(book: &'static Book, most: usize, at: u64) -> Result<Self, Error> {
        let mut all = Vec::new();
        all.try_reserve_exact(most).map_err(|_| Error::new(ErrorKind::StorageTooSmall, at))?;
        Ok(Self { all, book })
    }

    /// Adds a trait once; never allocates.
    fn add(&mut self, kind: Kind) {
        let one = Trait(kind);
        if !self.all.contains(&one) && self.all.len() < self.all.capacity() {
            self.all.push(one);
        }
    }

    /// The traits.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Trait> + '_ {
        self.all.iter().copied()
    }

    /// Whether the file is refused here, so that no more is known of it than its first fault. What a reader
    /// [accepts](Outcome::Accepts) then is that fault: what comes behind it was not looked at.
    pub fn is_fault(&self) -> bool {
        matches!(self.all.first(), Some(Trait(Kind::Fault(..))))
    }

    /// What each reader of the format does with the file.
    pub fn answers(&self) -> impl ExactSizeIterator<Item = Answer> + '_ {
        self.book.readers.iter().enumerate().map(|(place, reader)| self.answer(place, reader))
    }

    fn answer(&self, place: usize, reader: &'static Reader) -> Answer {
        let mut answer = Answer { reader, outcome: Outcome::Accepts, because: None, note: None };
        for one in &self.all {
            let cell = self.book.row(*one).and_then(|row| row.as_bytes().get(place).copied());
            let outcome = cell.map_or(Outcome::Unknown, Outcome::of_cell);
            let both = (outcome.weight(), answer.outcome.weight());
            if both.0 > both.1 {
                answer.outcome = outcome;
                answer.because = Some(*one);
            } else if both == (4, 4) && outcome != answer.outcome {
                // Which of the two faults it meets first is not known.
                answer.outcome = Outcome::Varies;
                return answer;
            }
        }
        let note =
            |(key, of, _): &&(&str, usize, &str)| *of == place && answer.because.is_some_and(|one| one.is(key));
        answer.note = self.book.notes.iter().find(note).map(|(.., text)| *text);
        answer
    }
}

/// What one reader does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    reader: &'static Reader,
    outcome: Outcome,
    because: Option<Trait>,
    note: Option<&'static str>,
}

impl Answer {
    /// The reader.
    pub const fn reader(&self) -> &'static Reader {
        self.reader
    }

    /// What it does.
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The trait that decides; none where it reads all of them.
    pub const fn because(&self) -> Option<Trait> {
        self.because
    }

    /// What exactly it does with that trait, where that is known.
    pub const fn note(&self) -> Option<&'static str> {
        self.note
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_cell_for_each_reader_and_every_note_a_row() {
        for book in [&table::SAFETENSORS, &table::GGUF] {
            for (key, cells) in book.rows {
                assert_eq!(cells.len(), book.readers.len(), "{key}");
                assert!(cells.bytes().all(|cell| b"adrchv?".contains(&cell)), "{key}");
                assert_eq!(book.rows.iter().filter(|(other, _)| other == key).count(), 1, "{key}");
            }
            for (key, place, text) in book.notes {
                let row = book.rows.iter().find(|(other, _)| other == key).unwrap();
                assert_ne!(row.1.as_bytes()[*place], b'?', "{key}: {text}");
                assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text}");
            }
        }
    }

    #[test]
    fn what_stops_a_reader_outweighs_what_is_not_known_of_it() {
        static BOOK: Book = Book {
            readers: &[Reader { name: "a", version: "1" }, Reader { name: "b", version: "" }],
            rows: &[("x", "ar"), ("y", "dc"), ("z", "vr")],
            notes: &[("z", 1, "says no")],
        };
        let says = |keys: &[&'static str]| {
            let mut traits = Traits::new(&BOOK, 4, 0).unwrap();
            for key in keys {
                traits.add(Kind::Has(key));
            }
            traits.answers().map(|answer| answer.outcome).collect::<Vec<_>>()
        };
        assert_eq!(says(&[]), [Outcome::Accepts, Outcome::Accepts]);
        assert_eq!(says(&["x", "y"]), [Outcome::Differs, Outcome::Varies]);
        assert_eq!(says(&["x", "none"]), [Outcome::Unknown, Outcome::Refuses]);
        assert_eq!(says(&["none", "z", "y"]), [Outcome::Varies, Outcome::Varies]);
        assert_eq!(says(&["z", "none"]), [Outcome::Varies, Outcome::Refuses]);
    }
}
