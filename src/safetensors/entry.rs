//! One tensor's entry: the careful reading, and the one-step reading of the spelling that writers use.

use crate::error::{Error, ErrorKind};
use crate::json::lex::{Lexer, plain_len, short_dim, short_integer};
use crate::json::object::{Members, integers};
use crate::name::Name;
use crate::{Dtype, Limits, num};

/// What an entry declares, with the size proved; whether the file's data is laid out so is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) dtype: Dtype,
    /// Absolute offset of the first byte behind the shape's `[`.
    pub(super) shape_at: u64,
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Absolute offset of `data_offsets`' value.
    pub(super) offsets_at: u64,
}

/// Fields as they come, in any order.
#[derive(Default)]
struct Fields {
    dtype: Option<Dtype>,
    shape: Option<ShapeField>,
    offsets: Option<(u64, u64, u64)>,
}

struct ShapeField {
    at: u64,
    inside: u64,
    elements: Option<u64>,
}

/// Reads an entry's object with the lexer at its `{`, in any spelling that the grammar allows.
pub(super) fn careful(lexer: &mut Lexer<'_>, limits: &Limits) -> Result<Entry, Error> {
    let entry_at = lexer.at();
    let mut fields = Fields::default();
    let mut members = Members::open(lexer, ErrorKind::StEntryType)?;
    while let Some((key, at)) = members.key(lexer)? {
        let again = if key == "dtype" {
            fields.dtype.replace(dtype(lexer)?).is_some()
        } else if key == "shape" {
            fields.shape.replace(shape(lexer, limits)?).is_some()
        } else if key == "data_offsets" {
            fields.offsets.replace(offsets(lexer)?).is_some()
        } else {
            return Err(Error::new(ErrorKind::StFieldUnknown, at));
        };
        if again {
            return Err(Error::new(ErrorKind::StDupField, at));
        }
    }
    let missing = Error::new(ErrorKind::StFieldMissing, entry_at);
    let dtype = fields.dtype.ok_or(missing)?;
    let shape = fields.shape.ok_or(missing)?;
    let (begin, end, offsets_at) = fields.offsets.ok_or(missing)?;
    check_size(dtype, &shape, begin, end, offsets_at)?;
    Ok(Entry { dtype, shape_at: shape.inside, begin, end, offsets_at })
}

/// The size that shape and dtype need is the size that the offsets span.
fn check_size(dtype: Dtype, shape: &ShapeField, begin: u64, end: u64, offsets_at: u64) -> Result<(), Error> {
    let elements = shape.elements.ok_or(Error::new(ErrorKind::StSizeOverflow, shape.at))?;
    let bits = num::mul(elements, dtype.bits()).ok_or(Error::new(ErrorKind::StSizeOverflow, shape.at))?;
    if !bits.is_multiple_of(8) {
        return Err(Error::new(ErrorKind::StSizeBits, shape.at));
    }
    let span = num::sub(end, begin).ok_or(Error::wanting(ErrorKind::StOffsetsReversed, offsets_at, begin))?;
    if span == bits / 8 { Ok(()) } else { Err(Error::wanting(ErrorKind::StSizeMismatch, offsets_at, bits / 8)) }
}

fn dtype(lexer: &mut Lexer<'_>) -> Result<Dtype, Error> {
    let at = lexer.at();
    let tag = lexer.string(ErrorKind::StDtypeType)?;
    let known = match tag.as_str() {
        Some(plain) => Dtype::from_tag(plain.as_bytes()),
        None => Dtype::ALL.iter().copied().find(|dtype| tag == dtype.tag()),
    };
    known.ok_or(Error::new(ErrorKind::StDtypeUnknown, at))
}

fn shape(lexer: &mut Lexer<'_>, limits: &Limits) -> Result<ShapeField, Error> {
    let at = lexer.at();
    let mut elements = Some(1_u64);
    let mut rank = 0_u64;
    integers(lexer, ErrorKind::StShapeType, |dim, dim_at| {
        rank = rank.saturating_add(1);
        if rank > limits.rank() {
            return Err(Error::wanting(ErrorKind::StRankLimit, dim_at, limits.rank()));
        }
        elements = elements.and_then(|product| num::mul(product, dim));
        Ok(())
    })?;
    Ok(ShapeField { at, inside: at.saturating_add(1), elements })
}

fn offsets(lexer: &mut Lexer<'_>) -> Result<(u64, u64, u64), Error> {
    let at = lexer.at();
    let mut pair = [None; 2];
    let mut count = 0_usize;
    integers(lexer, ErrorKind::StOffsetsType, |offset, offset_at| {
        let place = pair.get_mut(count).ok_or(Error::new(ErrorKind::StOffsetsType, offset_at))?;
        *place = Some(offset);
        count = count.saturating_add(1);
        Ok(())
    })?;
    match pair {
        [Some(begin), Some(end)] => Ok((begin, end, at)),
        _ => Err(Error::new(ErrorKind::StOffsetsType, at)),
    }
}

/// What the one-step reading found: the plain entry, and what follows it.
pub(super) struct Canonical<'a> {
    pub(super) name: &'a [u8],
    pub(super) dtype: Dtype,
    /// The text from the first byte behind the shape's `[`.
    pub(super) shape: &'a [u8],
    pub(super) begin: u64,
    pub(super) end: Digits<'a>,
    pub(super) rest: &'a [u8],
}

/// An integer and how it was spelt. Where one tensor's data ends, the next one's begins: the text is compared, not read
/// again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits<'a> {
    value: u64,
    /// Digits of a plain integer, its comma behind them not included; `None` where nobody kept them. There is no text
    /// that could stand for that: whatever it were, a file could hold it.
    text: Option<&'a [u8]>,
}

impl<'a> Digits<'a> {
    /// Where a file's first tensor begins.
    pub(super) const ZERO: Self = Self { value: 0, text: Some(b"0") };

    /// An integer whose spelling was not kept.
    pub(super) const fn unspelt(value: u64) -> Self {
        Self { value, text: None }
    }

    /// What the digits say.
    pub(super) const fn value(self) -> u64 {
        self.value
    }

    /// What follows these digits and a comma at the start of `text`.
    #[inline]
    fn strip(self, text: &'a [u8]) -> Option<&'a [u8]> {
        text.strip_prefix(self.text?)?.strip_prefix(b",")
    }
}

/// Reads `name":{"dtype":"…","shape":[…],"data_offsets":[…,…]}` in one step, from the byte behind the name's quote.
///
/// `None` for anything that is spelt otherwise or wrong in any way: the careful reading judges those. The member is one
/// that the careful reading accepts, with the same values; a test holds the two together.
#[inline]
pub(super) fn canonical<'a>(text: &'a [u8], covered: Digits<'a>, limits: &Limits) -> Option<Canonical<'a>> {
    let (name, rest) = text.split_at_checked(plain_len(text))?;
    let rest = rest.strip_prefix(b"\":{\"dtype\":\"")?;
    let (dtype, rest) = canonical_dtype(rest)?;
    let shape = rest.strip_prefix(b"\",\"shape\":[")?;
    let (elements, rest) = canonical_shape(shape, limits)?;
    let rest = rest.strip_prefix(b",\"data_offsets\":[")?;
    let (begin, rest) = if let Some(after) = covered.strip(rest) {
        (covered.value, after)
    } else {
        let (begin, rest) = short_integer(rest)?;
        (begin, rest.strip_prefix(b",")?)
    };
    let (end, after) = short_integer(rest)?;
    let digits = rest.get(..rest.len().saturating_sub(after.len()))?;
    let rest = after.strip_prefix(b"]}")?;
    let bytes = dtype.bytes_for(elements)?;
    let end = Digits { value: end, text: Some(digits) };
    (num::sub(end.value, begin)? == bytes).then_some(Canonical { name, dtype, shape, begin, end, rest })
}

/// The product of the dimensions behind a shape's `[`, and what follows its `]`.
#[inline]
fn canonical_shape<'a>(shape: &'a [u8], limits: &Limits) -> Option<(u64, &'a [u8])> {
    if let Some(rest) = shape.strip_prefix(b"]") {
        return Some((1, rest));
    }
    let (mut elements, mut rank, mut rest) = (1_u64, 0_u64, shape);
    loop {
        let (dim, tail) = short_dim(rest)?;
        elements = num::mul(elements, dim)?;
        rank = rank.saturating_add(1);
        let (next, tail) = tail.split_first()?;
        rest = tail;
        match next {
            b',' => {}
            b']' if rank <= limits.rank() => return Some((elements, rest)),
            _ => return None,
        }
    }
}

/// The dtype whose tag stands at the start of `text`, and the text behind the tag. The caller looks for the closing quote: no
/// tag begins with one of the three that come first.
#[inline]
fn canonical_dtype(text: &[u8]) -> Option<(Dtype, &[u8])> {
    match text {
        [b'F', b'3', b'2', rest @ ..] => Some((Dtype::F32, rest)),
        [b'B', b'F', b'1', b'6', rest @ ..] => Some((Dtype::BF16, rest)),
        [b'F', b'1', b'6', rest @ ..] => Some((Dtype::F16, rest)),
        _ => {
            // The longest tag has 11 letters.
            let len = (0..12).find(|at| text.get(*at) == Some(&b'"'))?;
            let (tag, rest) = text.split_at_checked(len)?;
            Some((Dtype::from_tag(tag)?, rest))
        }
    }
}

/// Reads the entry whose name begins at absolute offset `name_at` of a header that was accepted, to say where in it
/// something stands.
#[cold]
pub(super) fn again(header: &[u8], header_at: u64, name_at: u64) -> Option<Entry> {
    let quote = num::narrow(name_at.checked_sub(header_at)?.checked_sub(1)?)?;
    let mut lexer = Lexer::resume(header.get(quote..)?, name_at.checked_sub(1)?);
    let _: Name<'_> = lexer.string(ErrorKind::JsonKey).ok()?;
    lexer.space();
    lexer.expect(b':', ErrorKind::JsonColon).ok()?;
    lexer.space();
    careful(&mut lexer, &Limits::DEFAULT).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;

    /// Both readings of one member; the one-step reading may decline, but never differs.
    fn both(member: &str, covered: u64) {
        let digits = format!("{covered}");
        let text = format!("{member}               ");
        for covered in [Digits { value: covered, text: Some(digits.as_bytes()) }, Digits::unspelt(covered)] {
            alike(&text, covered);
        }
    }

    fn alike(text: &str, covered: Digits<'_>) {
        let Some(fast) = canonical(&text.as_bytes()[1..], covered, &Limits::DEFAULT) else { return };
        let mut lexer = Lexer::new(text, 0);
        let name = lexer.string(ErrorKind::JsonKey).unwrap();
        lexer.expect(b':', ErrorKind::JsonColon).unwrap();
        let slow = careful(&mut lexer, &Limits::DEFAULT).unwrap();
        assert_eq!((name.raw().len(), name.is_escaped()), (fast.name.len(), false));
        assert_eq!((slow.dtype, slow.begin, slow.end), (fast.dtype, fast.begin, fast.end.value));
        assert_eq!(slow.shape_at, num::widen(text.len() - fast.shape.len()));
        assert_eq!(lexer.rest(), fast.rest);
    }

    #[test]
    fn the_canonical_spelling_is_taken_in_one_step() {
        for dtype in Dtype::ALL {
            let end = dtype.bits();
            let member = format!(
                "{}\":{{\"dtype\":\"{dtype}\",\"shape\":[2,4],\"data_offsets\":[0,{end}]}}         ",
                "model.layers.0"
            );
            assert!(canonical(member.as_bytes(), Digits::ZERO, &Limits::DEFAULT).is_some(), "{member}");
            assert!(canonical(member.as_bytes(), Digits::unspelt(7), &Limits::DEFAULT).is_some(), "{member}");
            both(&format!("\"{member}"), 0);
            both(&format!("\"{member}"), 1);
        }
    }

    #[test]
    fn the_size_that_would_be_right_is_said() {
        for (dtype, shape, end, want) in [("F32", "[3]", 8, 12), ("U8", "[]", 0, 1), ("F4", "[2,4]", 8, 4)] {
            let text = format!("{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{end}]}}");
            let error = careful(&mut Lexer::new(&text, 0), &Limits::DEFAULT).unwrap_err();
            assert_eq!((error.kind(), error.want()), (ErrorKind::StSizeMismatch, Some(want)), "{text}");
        }
        let text = "{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[7,5]}";
        let error = careful(&mut Lexer::new(text, 0), &Limits::DEFAULT).unwrap_err();
        assert_eq!((error.kind(), error.want()), (ErrorKind::StOffsetsReversed, Some(7)));
    }

    #[test]
    fn a_tag_ends_at_its_quote() {
        for tag in ["F32", "BF16", "F16", "U8"] {
            let member = format!("w\":{{\"dtype\":\"{tag}X\",\"shape\":[0],\"data_offsets\":[0,0]}}        ");
            assert!(canonical(member.as_bytes(), Digits::ZERO, &Limits::DEFAULT).is_none(), "{member}");
        }
    }

    #[test]
    fn only_digits_stand_for_an_unspelt_offset() {
        for byte in 0..=0x7F_u8 {
            let sign = char::from(byte);
            let member = format!("w\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[{sign},0]}}        ");
            let read = canonical(member.as_bytes(), Digits::unspelt(0), &Limits::DEFAULT);
            assert_eq!(read.is_some(), byte == b'0', "{sign:?}");
        }
    }

    proptest! {
        #[test]
        fn the_two_readings_never_differ(
            name in "[a-z.\"\\\\\u{1}é]{0,12}", dtype in 0..24_usize, shape in "[0-9, ]{0,9}",
            begin in "[0-9]{1,17}", len in 0_u64..99, tail in "[\\]}, ]{1,3}",
        ) {
            let dtype = Dtype::ALL.get(dtype).map_or("F33", |dtype| dtype.tag());
            let end = begin.parse::<u64>().unwrap() + len;
            let member: String = format!(
                "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":[{shape}],\"data_offsets\":[{begin},{end}{tail}"
            );
            both(&member, 1);
            both(&member, begin.parse().unwrap());
            both(&member, begin[..begin.len() / 2].parse().unwrap_or(0));
        }
    }
}
