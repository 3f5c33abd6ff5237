//! The tensor infos, read once in the file's order, and what they say.

use core::fmt;

use zerocopy::TryFromBytes;

use super::LEAST_INFO;
use super::array::Element;
use super::pairs::tolerate;
use super::reader::{Endian, Reader};
use super::slot::{Slot, Store};
use super::types::{Block, GgmlType};
use crate::cursor::Cursor;
use crate::error::{Error, ErrorKind};
use crate::typed::Element as Typed;
use crate::{Limits, Name, Shape, Span, TensorView as PlainView, num};

/// The largest signed 64-bit number: the reference keeps dimensions and their product in one.
const SIGNED_MAX: u64 = u64::MAX >> 1;

/// The longest name that the reference can load.
const REFERENCE_NAME: u64 = Limits::DEFAULT.gguf_name_len();

/// Where the next tensor must begin, relative to the data section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiling {
    alignment: u64,
    /// The padded end of the tensors so far.
    pub(super) next: u64,
    /// The end of the last one, not padded.
    pub(super) end: u64,
    /// Whether the last one's size is not known, so that both numbers above are only the least they can be.
    pub(super) open: bool,
}

/// Reads `count` tensor infos; returns how they tile the data section, and whether all were stored.
pub(super) fn infos<S: Store>(
    reader: &mut Reader<'_>,
    count: u64,
    alignment: u32,
    mut stored: bool,
    store: &mut S,
    limits: &Limits,
) -> Result<(Tiling, bool), Error> {
    let mut tiling = Tiling { alignment: u64::from(alignment), next: 0, end: 0, open: false };
    for left in (0..count).rev() {
        reader.set_after(left.saturating_mul(LEAST_INFO));
        let name_at = reader.at().saturating_add(8);
        let name = name(reader, limits)?;
        body(reader, &mut tiling, limits)?;
        stored = stored && store.push(Slot::new(name_at, name.len(), reader.at()));
    }
    Ok((tiling, stored))
}

/// A tensor's name: UTF-8 without control characters, one byte to the limit.
#[inline]
fn name<'a>(reader: &mut Reader<'a>, limits: &Limits) -> Result<&'a [u8], Error> {
    let len_at = reader.at();
    let name = reader.string(limits.gguf_name_len(), ErrorKind::GgNameLimit)?;
    if name.is_empty() {
        return Err(Error::new(ErrorKind::GgNameEmpty, len_at));
    }
    if num::widen(name.len()) > REFERENCE_NAME {
        reader.relax(ErrorKind::GgNameLimit, len_at);
    }
    if !name.iter().fold(true, |all, byte| all & (b' '..=b'~').contains(byte)) {
        unusual_name(name, len_at.saturating_add(8))?;
    }
    Ok(name)
}

/// A name that is not all printable ASCII.
#[cold]
fn unusual_name(name: &[u8], at: u64) -> Result<(), Error> {
    let error = |kind, inside| Err(Error::new(kind, at.saturating_add(num::widen(inside))));
    match core::str::from_utf8(name) {
        Err(fault) => error(ErrorKind::GgNameUtf8, fault.valid_up_to()),
        Ok(text) => match text.char_indices().find(|(_, c)| c.is_control()) {
            Some((inside, _)) => error(ErrorKind::GgNameControl, inside),
            None => Ok(()),
        },
    }
}

/// What stands behind the name: dimensions, type and offset, each proved by what came before.
fn body(reader: &mut Reader<'_>, tiling: &mut Tiling, limits: &Limits) -> Result<(), Error> {
    let rank_at = reader.at();
    let rank = reader.u32()?;
    if u64::from(rank) > limits.gguf_rank() {
        return Err(Error::wanting(ErrorKind::GgRankLimit, rank_at, limits.gguf_rank()));
    }
    let shape_at = reader.at();
    let mut row = 1;
    let mut elements = 1;
    for axis in 0..rank {
        let dim_at = reader.at();
        let dim = reader.u64()?;
        let product = if axis == 0 { None } else { Some(elements) };
        elements = multiply(product, dim, dim_at)?;
        if axis == 0 {
            row = dim;
        }
    }
    let type_at = reader.at();
    let kind = GgmlType::from_id(reader.u32()?);
    let block = match block(kind, type_at) {
        Ok(block) => Some(block),
        Err(error) => {
            tolerate(reader, limits.gguf_unknown_types(), error)?;
            None
        }
    };
    let too_big = Error::new(ErrorKind::GgSizeOverflow, shape_at);
    let size = match block {
        Some(block) if !row.is_multiple_of(u64::from(block.elements())) => {
            let want = u64::from(block.elements());
            return Err(Error::wanting(ErrorKind::GgRowBlocks, shape_at, want));
        }
        Some(block) => block.bytes_for(elements).ok_or(too_big)?,
        None => least(elements),
    };
    let offset_at = reader.at();
    let offset = reader.u64()?;
    tiling.check(offset, offset_at)?;
    tiling.end = num::add(offset, size).ok_or(too_big)?;
    tiling.next = num::align_up(tiling.end, tiling.alignment).ok_or(too_big)?;
    tiling.open = block.is_none();
    Ok(())
}

/// The least bytes that elements of an unknown type take.
#[inline]
fn least(elements: u64) -> u64 {
    elements.min(1)
}

impl Tiling {
    /// Proves that a tensor may begin at `offset`: exactly behind the one before, or, where the size of that one is not
    /// known, anywhere behind its beginning that is aligned.
    #[inline]
    fn check(&self, offset: u64, offset_at: u64) -> Result<(), Error> {
        if offset == self.next {
            return Ok(());
        }
        if offset < self.next {
            return Err(Error::wanting(ErrorKind::GgOffsetOverlap, offset_at, self.next));
        }
        if !self.open {
            return Err(Error::wanting(ErrorKind::GgOffsetGap, offset_at, self.next));
        }
        match num::align_up(offset, self.alignment) {
            Some(aligned) if aligned == offset => Ok(()),
            aligned => Err(Error::wanting(ErrorKind::GgOffsetGap, offset_at, aligned.unwrap_or(self.next))),
        }
    }
}

/// One step of the product of dimensions, by the stricter of the reference's two rules: reading a file wants
/// `INT64_MAX / dim >= product` for every dimension but the innermost, making the tensor asserts `>` and takes the
/// program down with it.
#[inline]
fn multiply(product: Option<u64>, dim: u64, dim_at: u64) -> Result<u64, Error> {
    if dim > SIGNED_MAX {
        return Err(Error::wanting(ErrorKind::GgDimNegative, dim_at, SIGNED_MAX));
    }
    let Some(product) = product else { return Ok(dim) };
    let room = SIGNED_MAX.checked_div(dim).unwrap_or(u64::MAX);
    match num::mul(product, dim) {
        Some(next) if dim <= 1 || room > product => Ok(next),
        _ => Err(Error::new(ErrorKind::GgShapeOverflow, dim_at)),
    }
}

/// The bytes of a tensor with these dimensions, innermost first, by the rules that [`body`] reads by.
#[cfg(feature = "alloc")]
pub(super) fn measure(dims: &[u64], kind: GgmlType) -> Result<u64, ErrorKind> {
    let mut product = None;
    for dim in dims {
        product = Some(multiply(product, *dim, 0).map_err(|error| error.kind())?);
    }
    let block = block(kind, 0).map_err(|error| error.kind())?;
    let row = dims.first().copied().unwrap_or(1);
    if !row.is_multiple_of(u64::from(block.elements())) {
        return Err(ErrorKind::GgRowBlocks);
    }
    block.bytes_for(product.unwrap_or(1)).ok_or(ErrorKind::GgSizeOverflow)
}

#[inline]
fn block(kind: GgmlType, type_at: u64) -> Result<Block, Error> {
    kind.block().ok_or_else(|| {
        let removed = kind.removed_name().is_some();
        Error::new(if removed { ErrorKind::GgTypeRemoved } else { ErrorKind::GgTypeUnknown }, type_at)
    })
}

/// What stands behind the name of an info that was proved before.
#[derive(Clone, Copy, Debug)]
struct Body {
    /// Innermost first.
    dims: [u64; 4],
    rank: u8,
    kind: GgmlType,
    offset: u64,
}

impl Body {
    #[inline]
    fn read(head: &[u8], endian: Endian, slot: &Slot) -> Option<Self> {
        let start = num::widen32(slot.at).saturating_add(num::widen32(slot.len));
        let mut cursor = Cursor::new(head.get(start..)?, 0);
        let rank = u8::try_from(endian.u32(cursor.array()?)).ok()?;
        let mut dims = [1; 4];
        for dim in dims.iter_mut().take(usize::from(rank)) {
            *dim = endian.u64(cursor.array()?);
        }
        let kind = GgmlType::from_id(endian.u32(cursor.array()?));
        Some(Self { dims, rank, kind, offset: endian.u64(cursor.array()?) })
    }

    /// Where the bytes begin and end, relative to the data section; none for a type that is not known.
    #[inline]
    fn extent(&self) -> Option<(u64, u64)> {
        let size = self.kind.bytes_for(num::product(self.dims)?)?;
        Some((self.offset, num::add(self.offset, size)?))
    }
}

/// Where a tensor's bytes begin and end, relative to the data section; none for a type that is not known.
#[inline]
pub(super) fn extent(head: &[u8], endian: Endian, slot: &Slot) -> Option<(u64, u64)> {
    Body::read(head, endian, slot)?.extent()
}

/// The offset field of the first tensor whose data ends past the end of the file, in infos that were proved before.
#[cold]
pub(super) fn first_past_end(infos: &Reader<'_>, count: u64, data_at: u64, file_len: u64) -> Option<u64> {
    let mut reader = infos.clone();
    for _ in 0..count {
        reader.string(u64::MAX, ErrorKind::GgNameLimit).ok()?;
        let rank = reader.u32().ok()?;
        let mut elements = 1;
        for _ in 0..rank {
            elements = num::mul(elements, reader.u64().ok()?)?;
        }
        let kind = GgmlType::from_id(reader.u32().ok()?);
        let offset_at = reader.at();
        let end = num::add(reader.u64().ok()?, kind.bytes_for(elements).unwrap_or(least(elements)))?;
        if num::add(data_at, end).is_none_or(|end| end > file_len) {
            return Some(offset_at);
        }
    }
    None
}

/// What a header says of one tensor, proved against the file's length.
#[derive(Clone, Copy)]
pub struct TensorInfo<'a> {
    name: &'a str,
    kind: GgmlType,
    shape: Shape<'a>,
    span: Span,
    info_at: u64,
}

impl<'a> TensorInfo<'a> {
    /// The info of a slot; `data` is the data section.
    pub(super) fn of(head: &'a [u8], endian: Endian, data: Span, slot: &Slot) -> Self {
        let name = super::check::name(head, slot);
        let body = Body::read(head, endian, slot);
        let body = body.unwrap_or(Body { dims: [1; 4], rank: 0, kind: GgmlType::F32, offset: 0 });
        // Proved by the tiling: each tensor ends inside the file, one of an unknown size begins there.
        let (start, end) = body.extent().unwrap_or((body.offset, body.offset));
        let span = Span::new(data.start().saturating_add(start), data.start().saturating_add(end));
        let mut dims = body.dims;
        dims.get_mut(..usize::from(body.rank)).unwrap_or_default().reverse();
        Self {
            name: core::str::from_utf8(name).unwrap_or_default(),
            kind: body.kind,
            shape: Shape::few(dims, body.rank),
            span: span.unwrap_or(data),
            info_at: u64::from(slot.at).saturating_sub(8),
        }
    }

    /// The tensor's name.
    pub const fn name(&self) -> Name<'a> {
        Name::plain(self.name)
    }

    /// The type of its elements.
    pub const fn kind(&self) -> GgmlType {
        self.kind
    }

    /// Its dimensions, outermost first: the file has them the other way round. Rank 0 to 4.
    pub const fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        self.shape.elements().unwrap_or(0)
    }

    /// How many bytes it has, or `None` for a type that is not known (see
    /// [`Limits::gguf_unknown_types`](crate::Limits::gguf_unknown_types)).
    pub const fn size(&self) -> Option<u64> {
        if self.kind.is_known() { Some(self.span.len()) } else { None }
    }

    /// Where its bytes stand in the file, absolute; without the padding behind them. Empty, and where they begin, for a
    /// type that is not known.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Where its info begins in the file: the length of its name.
    pub const fn info_at(&self) -> u64 {
        self.info_at
    }
}

impl fmt::Debug for TensorInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, shape, span, .. } = self;
        write!(f, "{:?}: {kind}{shape} at {}..{}", self.name(), span.start(), span.end())
    }
}

/// Why there is no view of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorError {
    /// There is no tensor of that name in the file.
    NotFound,
    /// The tensor is there, but how many bytes it has is not known: its type is none of the format's.
    UnknownType(GgmlType),
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => fmt::Display::fmt(&crate::NotFound, f),
            Self::UnknownType(kind) => write!(f, "the tensor is of a type that is not known: {}", kind.id()),
        }
    }
}

impl core::error::Error for TensorError {}

/// A tensor whose every claim was proved: its bytes lie inside the file and are exactly as many as its shape and type
/// need.
///
/// It borrows the file's bytes, not the handle it came from, and can outlive that handle.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    info: TensorInfo<'a>,
    endian: Endian,
    bytes: &'a [u8],
}

impl<'a> TensorView<'a> {
    /// The view, where the tensor's size is known.
    pub(super) fn new(info: TensorInfo<'a>, endian: Endian, file: &'a [u8]) -> Option<Self> {
        info.size()?;
        Some(Self { info, endian, bytes: info.span.of(file).unwrap_or_default() })
    }

    /// What the header says of it.
    pub const fn info(&self) -> TensorInfo<'a> {
        self.info
    }

    /// The tensor's name.
    pub const fn name(&self) -> Name<'a> {
        self.info.name()
    }

    /// The type of its elements.
    pub const fn kind(&self) -> GgmlType {
        self.info.kind
    }

    /// Its dimensions, outermost first.
    pub const fn shape(&self) -> Shape<'a> {
        self.info.shape
    }

    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        self.info.elements()
    }

    /// Where its bytes stand in the file, absolute.
    pub const fn span(&self) -> Span {
        self.info.span
    }

    /// The order of the bytes in each number, also inside blocks.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// Its bytes, row-major, at whatever alignment the file gives them.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The same tensor as one of safetensors, for types that are plain numbers in a little-endian file.
    pub fn plain(&self) -> Option<PlainView<'a>> {
        let dtype = self.info.kind.dtype()?;
        if self.endian == Endian::Big && dtype.bits() > 8 {
            return None;
        }
        Some(PlainView::new(self.info.name(), dtype, self.info.shape, self.info.span, self.bytes))
    }

    /// The elements of a big-endian file as a slice over the file's own bytes, at any alignment; `None` when they are of
    /// another type, or the file is little-endian (see [`plain`](Self::plain)). A byte has no order.
    pub fn as_be<T: Element + Typed>(&self) -> Option<&'a [T::Be]> {
        let same_order = self.endian == Endian::Big || T::DTYPE.bits() == 8;
        if !same_order || self.info.kind.dtype() != Some(T::DTYPE) {
            return None;
        }
        <[T::Be]>::try_ref_from_bytes(self.bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_the_stricter_of_two_rules() {
        let fold = |dims: &[u64]| {
            let step = |product, dim: &u64| multiply(product, *dim, 0).ok().map(Some);
            dims.iter().try_fold(None, step).map(|product| product.unwrap_or(1))
        };
        let edge = SIGNED_MAX;
        assert_eq!(fold(&[]), Some(1));
        assert_eq!(fold(&[edge / 2, 2]), None);
        assert_eq!(fold(&[edge / 2 - 1, 2]), Some(edge - 3));
        assert_eq!(fold(&[3, edge / 3]), None);
        assert_eq!(fold(&[1, 1, 5, 1]), Some(5));
        assert_eq!(fold(&[0, edge, edge]), Some(0));
        assert_eq!(fold(&[edge - 1, edge - 1, 0]), None);
        assert_eq!((fold(&[edge]), fold(&[edge + 1])), (Some(edge), None));
        assert_eq!((fold(&[1, edge]), fold(&[edge, 1])), (None, Some(edge)));
        assert_eq!(fold(&[1 << 31, 1 << 31]), Some(1 << 62));
        assert_eq!(fold(&[1 << 32, 1 << 31]), None);
    }
}
