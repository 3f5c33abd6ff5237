//! What every call of the core promises, asserted around each call that the oracles make.

use std::collections::HashSet;

use tensorgate::safetensors::{Header, Slot};
use tensorgate::{Error, ErrorKind, Limits, Name, SafeTensors, Shape, Span};

use crate::sink::printable;
use crate::{heap, steps};

/// The longest text that an error may show, in bytes.
const LONGEST_MESSAGE: usize = 160;

/// What was said of a file.
pub type Verdict = Result<(), Error>;

/// Slots that are enough for any header in `file`: one a tensor (49 bytes) and a seventh of one a metadata key (6).
pub fn slots_for(file: &[u8]) -> Vec<Slot> {
    vec![Slot::EMPTY; file.len() / 40 + 8]
}

/// An error's promises: a stable code, an offset inside the file, and a short text of printable ASCII.
pub fn error(error: &Error, file_len: u64) {
    heap::none(|| {
        assert!(error.at() <= file_len, "{error} points past the {file_len} bytes of the file");
        assert!(printable(error) <= LONGEST_MESSAGE, "{error}");
        assert!(error.code().starts_with(['S', 'J', 'T', 'G', 'I']) && ErrorKind::ALL.contains(&error.kind()));
        assert_eq!(error.needs().is_some(), error.kind() == ErrorKind::NeedMore);
        assert_eq!(error.needs_slots().is_some(), error.kind() == ErrorKind::StorageTooSmall);
    });
}

/// Judges `file` in every way there is, twice each; all must say the same, and an accepted file keeps its promises.
///
/// # Errors
///
/// What all of them said.
pub fn safetensors(file: &[u8], limits: &Limits) -> Verdict {
    let file_len = file.len() as u64;
    let owned = open_owned(file, limits);
    let mut slots = slots_for(file);
    for again in [false, true] {
        let lent = steps::linear(file.len(), || heap::none(|| SafeTensors::open_in(file, &mut slots, limits)));
        match &lent {
            Ok(_) if again => {}
            Ok(opened) => touch(opened, file),
            Err(refused) => error(refused, file_len),
        }
        assert_eq!(lent.as_ref().map(drop).map_err(|e| *e), owned, "lent and owned storage differ");
    }
    let mut lent = slots_for(file);
    let header = heap::none(|| Header::open_in(file, file_len, &mut lent, limits).map(drop));
    assert_eq!(header, owned, "the header alone and the whole file differ");
    owned
}

/// Judges `file` in storage of our own, twice.
fn open_owned(file: &[u8], limits: &Limits) -> Verdict {
    let judge = || {
        let (outcome, tally) = steps::linear(file.len(), || heap::measure(|| SafeTensors::open_with(file, limits)));
        let header_len = header_len(file).min(file.len() as u64);
        assert!(tally.peak <= header_len, "{} bytes allocated for a header of {header_len}", tally.peak);
        if let Ok(opened) = &outcome {
            touch(opened, file);
        }
        outcome.map(drop)
    };
    let first = judge();
    assert_eq!(first, judge(), "the same file, two answers");
    if let Err(refused) = &first {
        assert!(!refused.kind().is_callers(), "{refused}: no verdict on a file that is all there");
    }
    first
}

/// The header length that a file declares; 0 where it is too short to.
pub fn header_len(file: &[u8]) -> u64 {
    file.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word))
}

/// Looks at everything that an accepted file offers, without an allocation, and checks what can be checked.
pub fn touch(opened: &SafeTensors<'_>, file: &[u8]) {
    heap::none(|| {
        tensors(opened, file);
        header(opened, file);
        metadata(opened);
    });
    lookups(opened);
}

/// Each tensor lies inside the file behind the one before, and its size is what its shape and dtype need.
fn tensors(opened: &SafeTensors<'_>, file: &[u8]) {
    let data_at = opened.header().data().start();
    let mut covered = data_at;
    assert_eq!(opened.tensors().len(), opened.len());
    for tensor in opened.tensors() {
        let span: Span = tensor.span();
        assert_eq!(span.start(), covered, "the tensors do not tile the data");
        covered = span.end();
        let range = usize::try_from(span.start()).unwrap()..usize::try_from(span.end()).unwrap();
        assert!(std::ptr::eq(tensor.bytes(), &raw const file[range]), "the bytes are not those of the span");
        let elements = tensor.shape().elements().expect("a proved shape fits");
        assert_eq!(tensor.dtype().bytes_for(elements), Some(span.len()));
        assert_eq!(tensor.elements(), elements);
        shape(tensor.shape());
        text(tensor.name());
        printable(&tensor.dtype());
    }
    assert_eq!(covered, file.len() as u64, "bytes are left over");
    assert!(opened.tensors().rev().eq_by_span(opened.tensors()));
}

/// Comparing an iterator from the back with one from the front.
trait EqBySpan<'a>: DoubleEndedIterator<Item = tensorgate::TensorView<'a>> + Sized {
    fn eq_by_span(self, front: impl DoubleEndedIterator<Item = tensorgate::TensorView<'a>>) -> bool {
        self.map(|tensor| tensor.span()).eq(front.rev().map(|tensor| tensor.span()))
    }
}

impl<'a, I: DoubleEndedIterator<Item = tensorgate::TensorView<'a>>> EqBySpan<'a> for I {}

/// The header says the same as the whole file, and its text is that of the file.
fn header(opened: &SafeTensors<'_>, file: &[u8]) {
    let header = opened.header();
    let json = header.json().as_bytes();
    assert_eq!(json.len() as u64, header_len(file));
    assert!(std::ptr::eq(json, &raw const file[8..8 + json.len()]));
    assert_eq!((header.data().start(), header.data().end()), (8 + json.len() as u64, file.len() as u64));
    assert_eq!(opened.data().len() as u64, header.data().len());
    assert_eq!((header.len(), header.is_empty()), (opened.len(), opened.is_empty()));
    let mut before = None;
    let mut sorted = true;
    for (index, info) in header.tensors().enumerate() {
        let quote = usize::try_from(info.entry_at()).unwrap();
        assert_eq!(file[quote], b'"');
        assert!(file[quote + 1..].starts_with(info.name().raw().as_bytes()));
        sorted &= before.replace(info.entry_at()).is_none_or(|before| before < info.entry_at());
        assert_eq!(header.get(index).map(|same| same.entry_at()), Some(info.entry_at()));
    }
    assert!(header.get(header.len()).is_none());
    assert_eq!(header.is_in_data_order(), sorted, "the entries' order");
    if let Some(relaxed) = header.relaxed() {
        error(&relaxed, file.len() as u64);
    }
}

/// Metadata can be read twice, and each key is found.
fn metadata(opened: &SafeTensors<'_>) {
    let Some(metadata) = opened.metadata() else { return };
    assert!(!opened.header().metadata_is_null());
    assert!(metadata.iter().eq(metadata));
    for (index, (key, value)) in metadata.iter().enumerate() {
        text(key);
        text(value);
        // Finding a key is linear; a few of them are enough.
        if let Some(plain) = key.as_str().filter(|_| index < 4) {
            assert_eq!(metadata.get(plain), Some(value));
        }
    }
}

/// Every name finds its tensor, and no two are equal.
fn lookups(opened: &SafeTensors<'_>) {
    let mut seen = HashSet::new();
    for info in opened.header().tensors() {
        let name = info.name().to_cow();
        let found = heap::none(|| opened.tensor(&name)).expect("a name of the file's is found");
        assert_eq!(found.span(), info.span());
        assert_ne!(name, "__metadata__");
        assert!(seen.insert(name), "two tensors have one name");
    }
    if !seen.contains("no such tensor") {
        assert!(heap::none(|| opened.tensor("no such tensor")).is_err());
    }
}

/// A shape is the same each time, and shows as it reads.
fn shape(shape: Shape<'_>) {
    assert!(shape.iter().eq(shape));
    assert_eq!(shape.rank(), shape.iter().count());
    assert_eq!(shape.dim(0), shape.iter().next());
    printable(&shape);
}

/// A name is equal to itself however it is read, and nothing of it reaches a terminal.
fn text(name: Name<'_>) {
    let again = name;
    assert_eq!(name, again);
    assert_eq!(name.cmp(&again), std::cmp::Ordering::Equal);
    assert_eq!(name.is_escaped(), name.raw().contains('\\'));
    assert_eq!(name.as_str().is_none(), name.is_escaped());
    let shown = printable(&name);
    assert!(shown >= name.chars().count());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promises_hold_for_a_plain_file() {
        let mut file = 54_u64.to_le_bytes().to_vec();
        file.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
        file.extend_from_slice(&[0; 8]);
        assert_eq!(safetensors(&file, &Limits::DEFAULT), Ok(()));
        file.push(0);
        assert_eq!(safetensors(&file, &Limits::DEFAULT).unwrap_err().kind(), ErrorKind::StDataTrailing);
    }

    #[test]
    #[should_panic(expected = "points past")]
    fn an_offset_past_the_file_is_noticed() {
        error(&Error::new(ErrorKind::JsonEnd, 11), 10);
    }

    #[test]
    #[should_panic(expected = "bytes are left over")]
    fn a_view_of_another_file_is_noticed() {
        let file = b"\x02\0\0\0\0\0\0\0{}";
        touch(&SafeTensors::open(file).unwrap(), b"\x02\0\0\0\0\0\0\0{} ");
    }
}
