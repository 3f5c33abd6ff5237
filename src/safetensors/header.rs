//! A header judged whole: from its own bytes and the file's length alone.

#[cfg(feature = "alloc")]
mod owned;

#[cfg(feature = "alloc")]
pub use owned::OwnedHeader;

use super::check::{self, Lookup, Metadata, Text};
use super::entry::{self, Digits};
use super::slot::Slot;
use crate::error::{Error, ErrorKind};
use crate::json::lex::{Lexer, utf8};
use crate::json::object::Members;
use crate::store::{Lent, Slots, Store};
use crate::{Dtype, Limits, Name, NotFound, Shape, Span, num};

/// Bytes of the header length that every file begins with.
const FRAME: u64 = 8;

/// A safetensors header whose every claim was proved against the file's length.
///
/// It needs the beginning of the file only, so a 700 GB file is judged from its first kilobytes.
///
/// ```
/// use tensorgate::{Limits, safetensors::{Header, Slot}};
///
/// // 8 bytes of length, 54 of JSON, then 8 of data that need not be there.
/// let mut file = 54_u64.to_le_bytes().to_vec();
/// file.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
/// let file_len = 70;
///
/// // A reader of ranges is told exactly what to fetch.
/// let mut slots = [Slot::EMPTY; 16];
/// let error = Header::open_in(&file[..10], file_len, &mut slots, &Limits::default()).unwrap_err();
/// assert_eq!(error.needs(), Some(62));
///
/// let header = Header::open_in(&file, file_len, &mut slots, &Limits::default())?;
/// assert_eq!(header.tensor("w").unwrap().span().start(), 62);
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Header<'a> {
    text: Text<'a>,
    slots: Slots<'a, Slot>,
    lookup: Lookup,
    metadata: Option<Metadata>,
    data: Span,
    in_order: bool,
    relaxed: Option<Error>,
}

/// The frame, once it was proved: the header's text and the data's length.
struct Frame<'a> {
    text: Text<'a>,
    data: Span,
}

/// What one pass over the entries found.
struct Pass {
    count: usize,
    stored: bool,
    metadata: Option<Metadata>,
    ascending: bool,
    tiled: bool,
    relaxed: Option<Error>,
}

impl<'a> Header<'a> {
    /// Judges a file of `file_len` bytes from its first bytes, in the caller's storage: one slot a tensor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NeedMore`] when `prefix` does not hold the whole header yet; [`Error::needs`] says how long it must
    /// be. [`ErrorKind::StorageTooSmall`] when there are more tensors than slots; [`Error::needs_slots`] says how many.
    /// (A file with more than 64 metadata keys in no order takes a slot for each seven of them besides, while it is
    /// read.) Any other kind is the verdict on the file, and is the same however much of the file was given.
    pub fn open_in(prefix: &'a [u8], file_len: u64, slots: &'a mut [Slot], limits: &Limits) -> Result<Self, Error> {
        let frame = frame(prefix, file_len, limits)?;
        let mut lent = Lent { slots, used: 0 };
        let pass = entries(frame.text, &mut lent, limits)?;
        let scratch = pass.metadata.map_or(0, check::metadata_scratch);
        let needed = pass.count.saturating_add(scratch);
        if !pass.stored || needed > lent.slots.len() {
            return Err(Error::wanting(ErrorKind::StorageTooSmall, frame.text.at, num::widen(needed)));
        }
        let slots = lent.slots;
        let (used, spare) = slots.split_at_mut_checked(pass.count).unwrap_or_default();
        if let Some(metadata) = pass.metadata {
            check::unique_keys(frame.text, metadata, spare)?;
        }
        let lookup = check_all(&frame, used, &pass)?;
        Ok(Self::proved(&frame, Slots::Lent(used), lookup, &pass))
    }

    /// Judges a file of `file_len` bytes from its first bytes.
    ///
    /// Allocates at most as many bytes as the header has.
    ///
    /// # Errors
    ///
    /// As [`open_in`](Self::open_in); [`ErrorKind::StorageTooSmall`] here means that memory ran out.
    #[cfg(feature = "alloc")]
    pub fn open(prefix: &'a [u8], file_len: u64, limits: &Limits) -> Result<Self, Error> {
        let frame = frame(prefix, file_len, limits)?;
        let out_of_memory = Error::new(ErrorKind::StorageTooSmall, frame.text.at);
        let mut slots = super::slot::reserve(frame.text.json.as_bytes()).ok_or(out_of_memory)?;
        let mut pass = entries(frame.text, &mut slots, limits)?;
        let needed = pass.count.saturating_add(pass.metadata.map_or(0, check::metadata_scratch));
        if needed > slots.capacity() {
            // Many metadata keys in no order. Room is only ever held once: beside the first, which braces within strings
            // can make too large by far, it could be more than the header has.
            drop(slots);
            slots = alloc::vec::Vec::new();
            slots.try_reserve_exact(needed).map_err(|_| out_of_memory)?;
            if pass.count > 0 {
                pass = entries(frame.text, &mut slots, limits)?;
            }
        }
        if !pass.stored {
            return Err(out_of_memory);
        }
        if let Some(metadata) = pass.metadata {
            slots.resize(needed, Slot::EMPTY);
            check::unique_keys(frame.text, metadata, slots.get_mut(pass.count..).unwrap_or_default())?;
            slots.truncate(pass.count);
        }
        let lookup = check_all(&frame, &mut slots, &pass)?;
        Ok(Self::proved(&frame, Slots::Owned(slots), lookup, &pass))
    }

    fn proved(frame: &Frame<'a>, slots: Slots<'a, Slot>, lookup: Lookup, pass: &Pass) -> Self {
        Self {
            text: frame.text,
            slots,
            lookup,
            metadata: pass.metadata,
            data: frame.data,
            in_order: pass.tiled,
            relaxed: pass.relaxed,
        }
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.slots.as_slice().len()
    }

    /// Whether there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tensors, in the order of their data.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = TensorInfo<'a>> + DoubleEndedIterator + Clone + '_ {
        let (text, data) = (self.text, self.data);
        self.slots.as_slice().iter().map(move |slot| TensorInfo::of(text, data, slot))
    }

    /// The tensor at `index` in the order of the data.
    pub fn get(&self, index: usize) -> Option<TensorInfo<'a>> {
        self.slots.as_slice().get(index).map(|slot| TensorInfo::of(self.text, self.data, slot))
    }

    /// The tensor called `name`, in constant or logarithmic time.
    ///
    /// # Errors
    ///
    /// [`NotFound`] when there is none.
    pub fn tensor(&self, name: &str) -> Result<TensorInfo<'a>, NotFound> {
        self.find(Name::plain(name)).ok_or(NotFound)
    }

    /// The tensor of that name, however it is spelt.
    pub(crate) fn find(&self, name: Name<'_>) -> Option<TensorInfo<'a>> {
        check::find(self.text, self.slots.as_slice(), &self.lookup, name).and_then(|index| self.get(index))
    }

    /// The free-form metadata, or `None` where there is none or it is null (as MLX writes it).
    pub fn metadata(&self) -> Option<super::Metadata<'a>> {
        let object = self.metadata?.object?;
        let at = num::widen32(object);
        Some(super::Metadata::new(self.text.json.as_bytes().get(at..)?, self.text.absolute(object)))
    }

    /// Whether `__metadata__` is there but null.
    pub fn metadata_is_null(&self) -> bool {
        self.metadata.is_some_and(|metadata| metadata.object.is_none())
    }

    /// The header's JSON as it stands in the file.
    pub const fn json(&self) -> &'a str {
        self.text.json
    }

    /// Where the data section begins and where the file ends.
    pub const fn data(&self) -> Span {
        self.data
    }

    /// Whether the entries stand in the order of their data.
    pub const fn is_in_data_order(&self) -> bool {
        self.in_order
    }

    /// The strict rule that was relaxed to accept this file, if one was, and where.
    pub const fn relaxed(&self) -> Option<Error> {
        self.relaxed
    }
}

/// What a header says of one tensor, proved against the file's length.
#[derive(Clone, Copy, Debug)]
pub struct TensorInfo<'a> {
    name: Name<'a>,
    dtype: Dtype,
    shape: Shape<'a>,
    span: Span,
    entry_at: u64,
}

impl<'a> TensorInfo<'a> {
    fn of(text: Text<'a>, data: Span, slot: &Slot) -> Self {
        let inside = text.json.as_bytes().get(num::widen32(slot.shape_at)..).unwrap_or_default();
        let len = inside.iter().position(|byte| *byte == b']').unwrap_or_default();
        // Proved by the tiling: begin <= end <= the data's length.
        let start = data.start().saturating_add(slot.begin);
        let end = data.start().saturating_add(slot.end);
        Self {
            name: text.name(slot),
            dtype: slot.dtype,
            shape: Shape::from_json(inside.get(..len).unwrap_or_default()),
            span: Span::new(start, end).unwrap_or(data),
            entry_at: text.absolute(slot.name_at).saturating_sub(1),
        }
    }

    /// The tensor's name.
    pub const fn name(&self) -> Name<'a> {
        self.name
    }

    /// The type of its elements.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Its dimensions, outermost first.
    pub const fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// Where its bytes stand in the file, absolute.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Where its entry begins in the file: the opening quote of its name.
    pub const fn entry_at(&self) -> u64 {
        self.entry_at
    }
}

/// Proves the frame: the header's length is there, within the limit and within the file.
fn frame<'a>(prefix: &'a [u8], file_len: u64, limits: &Limits) -> Result<Frame<'a>, Error> {
    if file_len < FRAME {
        return Err(Error::wanting(ErrorKind::StTooShort, file_len, FRAME));
    }
    let Some((word, rest)) = prefix.split_first_chunk::<8>() else {
        return Err(Error::wanting(ErrorKind::NeedMore, num::widen(prefix.len()), FRAME));
    };
    let header_len = u64::from_le_bytes(*word);
    if header_len > limits.header_len() {
        return Err(Error::wanting(ErrorKind::StHeaderLimit, 0, limits.header_len()));
    }
    let there = file_len.saturating_sub(FRAME);
    if header_len > there {
        return Err(Error::wanting(ErrorKind::StHeaderPastEnd, 0, there));
    }
    let end = FRAME.saturating_add(header_len);
    let json = num::narrow(header_len).and_then(|len| rest.get(..len));
    let Some(json) = json else {
        return Err(Error::wanting(ErrorKind::NeedMore, num::widen(prefix.len()), end));
    };
    let data = Span::new(end, file_len).ok_or(Error::new(ErrorKind::StHeaderPastEnd, 0))?;
    Ok(Frame { text: Text { json: utf8(json, FRAME)?, at: FRAME }, data })
}

/// Reads every entry once, in the file's order.
fn entries<S: Store<Slot>>(text: Text<'_>, store: &mut S, limits: &Limits) -> Result<Pass, Error> {
    let mut lexer = Lexer::new(text.json, text.at);
    let mut pass = Pass { count: 0, stored: true, metadata: None, ascending: true, tiled: true, relaxed: None };
    pass.relaxed = leading_space(&mut lexer, limits)?;
    let mut members = Members::open(&mut lexer, ErrorKind::JsonNotObject)?;
    let mut trail = Trail { covered: Digits::ZERO, before: None };
    while members.step(&mut lexer)? {
        canonical_run(&mut lexer, text, store, &mut pass, &mut trail, limits);
        let Some((name, slot)) = member(&mut lexer, text, &mut pass, limits)? else { continue };
        if num::widen(pass.count) >= limits.tensors() {
            let at = text.absolute(slot.name_at).saturating_sub(1);
            return Err(Error::wanting(ErrorKind::StTensorLimit, at, limits.tensors()));
        }
        // An escaped name is not compared here; the table will tell it apart.
        pass.ascending &= !slot.escaped;
        pass.keep(name.raw().as_bytes(), slot, store, &mut trail);
        trail.covered = Digits::unspelt(slot.end);
    }
    lexer.finish()?;
    Ok(pass)
}

/// What the next entry is compared with.
struct Trail<'a> {
    covered: Digits<'a>,
    before: Option<&'a [u8]>,
}

impl Pass {
    /// Keeps a tensor's slot and what it says of the order of names and data.
    #[inline]
    fn keep<'a, S: Store<Slot>>(&mut self, name: &'a [u8], slot: Slot, store: &mut S, trail: &mut Trail<'a>) {
        self.tiled &= slot.begin == trail.covered.value();
        self.ascending &= trail.before.is_none_or(|before| before < name);
        trail.before = Some(name);
        self.count = self.count.saturating_add(1);
        self.stored &= store.push(slot);
    }
}

/// Reads members as long as they are in the canonical spelling and another follows, and leaves the lexer at a member
/// that the careful reading must take.
#[inline]
fn canonical_run<'a, S: Store<Slot>>(
    lexer: &mut Lexer<'a>,
    text: Text<'_>,
    store: &mut S,
    pass: &mut Pass,
    trail: &mut Trail<'a>,
    limits: &Limits,
) {
    let mut rest = lexer.rest();
    while let Some(name_on) = rest.strip_prefix(b"\"")
        && name_on.first() != Some(&b'_')
        && num::widen(pass.count) < limits.tensors()
        && let Some(found) = entry::canonical(name_on, trail.covered, limits)
        && num::widen(found.name.len()) <= limits.name_len()
        && let Some(next) = found.rest.strip_prefix(b",")
        && next.first() == Some(&b'"')
    {
        let slot = Slot {
            shape_at: position(text, found.shape),
            dtype: found.dtype,
            begin: found.begin,
            end: found.end.value(),
            ..Slot::named(position(text, name_on), num::narrow32(found.name.len()).unwrap_or(u32::MAX), false)
        };
        pass.keep(found.name, slot, store, trail);
        trail.covered = found.end;
        rest = next;
    }
    lexer.set_rest(rest);
}

/// White space before the `{`: refused, or noted where the limits tolerate it.
fn leading_space(lexer: &mut Lexer<'_>, limits: &Limits) -> Result<Option<Error>, Error> {
    let at = lexer.at();
    lexer.space();
    if lexer.at() == at || lexer.peek() != Some(b'{') {
        return Ok(None);
    }
    let used = Error::new(ErrorKind::StLeadingSpace, at);
    if limits.leading_space() { Ok(Some(used)) } else { Err(used) }
}

/// The position in the header at which its tail `tail` begins. The limit on headers keeps it in 32 bits.
#[inline]
fn position(text: Text<'_>, tail: &[u8]) -> u32 {
    num::narrow32(text.json.len().saturating_sub(tail.len())).unwrap_or(u32::MAX)
}

/// One member of the header, in any spelling that the grammar allows: a tensor's name and slot, or `None` for metadata.
fn member<'a>(
    lexer: &mut Lexer<'a>,
    text: Text<'_>,
    pass: &mut Pass,
    limits: &Limits,
) -> Result<Option<(Name<'a>, Slot)>, Error> {
    let key_at = lexer.at();
    let name_at = position(text, lexer.rest()).saturating_add(1);
    let name = lexer.string(ErrorKind::JsonKey)?;
    lexer.space();
    lexer.expect(b':', ErrorKind::JsonColon)?;
    lexer.space();
    if name == "__metadata__" {
        if pass.metadata.is_some() {
            return Err(Error::new(ErrorKind::StDupMetadata, key_at));
        }
        pass.metadata = Some(metadata(lexer, text, limits)?);
        return Ok(None);
    }
    if num::widen(name.raw().len()) > limits.name_len() {
        return Err(Error::wanting(ErrorKind::StNameLimit, key_at, limits.name_len()));
    }
    let entry = entry::careful(lexer, limits)?;
    let slot = Slot {
        shape_at: u32::try_from(entry.shape_at.saturating_sub(text.at)).unwrap_or(u32::MAX),
        dtype: entry.dtype,
        begin: entry.begin,
        end: entry.end,
        ..Slot::named(name_at, num::narrow32(name.raw().len()).unwrap_or(u32::MAX), name.is_escaped())
    };
    Ok(Some((name, slot)))
}

/// The value of `__metadata__`: an object of strings, or null.
fn metadata(lexer: &mut Lexer<'_>, text: Text<'_>, limits: &Limits) -> Result<Metadata, Error> {
    if let Some(rest) = lexer.rest().strip_prefix(b"null") {
        lexer.set_rest(rest);
        return Ok(Metadata { object: None, keys: 0, ascending: true });
    }
    let object = Some(position(text, lexer.rest()));
    let mut found = Metadata { object, keys: 0, ascending: true };
    let mut before: Option<Name<'_>> = None;
    let mut members = Members::open(lexer, ErrorKind::StMetadataType)?;
    while let Some((key, at)) = members.key(lexer)? {
        found.keys = found.keys.saturating_add(1);
        if u64::from(found.keys) > limits.metadata_keys() {
            return Err(Error::wanting(ErrorKind::StMetadataLimit, at, limits.metadata_keys()));
        }
        found.ascending &= before.is_none_or(|before| before < key);
        before = Some(key);
        lexer.string(ErrorKind::StMetadataValue)?;
    }
    Ok(found)
}

/// What holds between entries, in the order in which it is reported: names, then layout, then the file's length.
fn check_all(frame: &Frame<'_>, slots: &mut [Slot], pass: &Pass) -> Result<Lookup, Error> {
    let tiled = check::tiling(frame.text, slots, pass.tiled, frame.data.len());
    if pass.ascending && pass.tiled {
        return tiled.map(|()| Lookup::Ascending);
    }
    let lookup = check::unique_names(frame.text, slots)?;
    tiled.map(|()| lookup)
}

#[cfg(test)]
#[path = "header/few/tests.rs"]
mod few;

// With `std` only, whose prelude the file of the integration tests takes for granted.
#[cfg(all(test, feature = "std"))]
#[path = "../../tests/common/hostile.rs"]
mod hostile;

#[cfg(all(test, feature = "std"))]
#[path = "header/tests.rs"]
mod careful;

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    /// The floods of the tests do flood: the quick hash gives up, and the names are found by the other.
    #[test]
    fn names_that_collide_are_told_apart_by_the_keyed_hash() {
        let (_, build) = hostile::ALL.iter().find(|(name, _)| name.ends_with("names collide")).unwrap();
        let json = build(300_000);
        let mut file = num::widen(json.len()).to_le_bytes().to_vec();
        file.extend_from_slice(&json);
        let mut slots = std::vec![Slot::EMPTY; 10_000];
        let header = Header::open_in(&file, num::widen(file.len()), &mut slots, &Limits::DEFAULT).unwrap();
        assert!(matches!(header.lookup, Lookup::Keyed(..)), "{:?}", header.lookup);
        for info in header.tensors() {
            let found = header.tensor(info.name().as_str().unwrap()).unwrap();
            assert_eq!(found.entry_at(), info.entry_at());
        }
        assert_eq!(header.tensor("no such name").err(), Some(NotFound));
    }
}
