//! An open file of any format: the safe half.

use gate::detect::{Guess, detect};
use gate::gguf::{self, Value};
use gate::safetensors;
use gate::shards::IndexEntry;
use gate::{Error, ErrorKind, Limits, Name, Shape, ShardIndex, Span};

use crate::types::{self, BASE, DIMS, GGUF, INDEX, Limit, SAFETENSORS, Status, Tensor};

/// Why there is no file, or what is wrong with one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) status: Status,
    pub(crate) code: &'static str,
    pub(crate) what: &'static str,
    pub(crate) offset: u64,
    pub(crate) want: u64,
}

impl Fault {
    /// Nothing is wrong.
    pub(crate) const NONE: Self = Self { status: Status::Ok, code: "", what: "", offset: 0, want: 0 };
    /// The caller broke the rules of the interface.
    pub(crate) const MISUSE: Self = Self { status: Status::Misuse, what: "a wrong argument", ..Self::NONE };

    /// There is not even room for the file itself.
    pub(crate) fn no_room() -> Self {
        let kind = ErrorKind::StorageTooSmall;
        Self { status: Status::Storage, code: kind.code(), what: kind.what(), offset: 0, want: wide(BASE) }
    }

    /// An error of the library's; `slot` is the size of one, in bytes.
    pub(crate) fn of(error: Error, slot: usize) -> Self {
        let (status, want) = match error.kind() {
            ErrorKind::NeedMore => (Status::NeedMore, error.want()),
            ErrorKind::StorageTooSmall => {
                let slots = error.needs_slots().unwrap_or(0).saturating_mul(wide(slot));
                (Status::Storage, Some(slots.saturating_add(wide(BASE))))
            }
            _ => (Status::Refused, error.want()),
        };
        let (code, what) = (error.code(), error.kind().what());
        Self { status, code, what, offset: error.at(), want: want.unwrap_or(u64::MAX) }
    }
}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// `TG_SAFETENSORS` and so on, or 0.
pub(crate) fn detected(prefix: &[u8]) -> u32 {
    match detect(prefix) {
        Guess::Safetensors => SAFETENSORS,
        Guess::Gguf | Guess::GgufBig => GGUF,
        Guess::Index => INDEX,
        _ => 0,
    }
}

/// The default limits with those of the caller's; none where one of them does not exist.
pub(crate) fn limits(changed: &[Limit]) -> Option<Limits> {
    changed.iter().try_fold(Limits::DEFAULT, |limits, Limit { which, most }| {
        let most = *most;
        Some(match which {
            1 => limits.with_header_len(most),
            2 => limits.with_tensors(most),
            3 => limits.with_rank(most),
            4 => limits.with_name_len(most),
            5 => limits.with_metadata_keys(most),
            6 => limits.with_metadata_len(most),
            7 => limits.with_key_len(most),
            8 => limits.with_string_len(most),
            9 => limits.with_array_len(most),
            10 => limits.with_gguf_name_len(most),
            11 => limits.with_gguf_rank(most),
            12 => limits.with_index_len(most),
            13 => limits.with_shards(most),
            14 => limits.with_index_metadata_len(most),
            15 => limits.with_index_metadata_depth(most),
            16 => limits.with_gguf_nested_arrays(most),
            17 => limits.with_leading_space(most != 0),
            18 => limits.with_gguf_invalid_utf8(most != 0),
            19 => limits.with_gguf_unknown_types(most != 0),
            20 => limits.with_gguf_trailing(most != 0),
            _ => return None,
        })
    })
}

/// An open file. It borrows the caller's bytes and slots for as long as the caller says that it is open.
#[derive(Debug)]
pub(crate) enum File {
    SafeTensors(safetensors::Header<'static>),
    Gguf(gguf::Header<'static>),
    Index(ShardIndex<'static>),
}

impl File {
    pub(crate) fn safetensors(
        prefix: &'static [u8],
        file_len: u64,
        slots: &'static mut [safetensors::Slot],
        limits: &Limits,
    ) -> Result<Self, Fault> {
        let header = safetensors::Header::open_in(prefix, file_len, slots, limits);
        header.map(Self::SafeTensors).map_err(|error| Fault::of(error, size_of::<safetensors::Slot>()))
    }

    pub(crate) fn gguf(
        prefix: &'static [u8],
        file_len: u64,
        slots: &'static mut [gguf::Slot],
        limits: &Limits,
    ) -> Result<Self, Fault> {
        let header = gguf::Header::open_in(prefix, file_len, slots, limits).and_then(|header| {
            // The padding is looked at where it is there to be looked at.
            if wide(prefix.len()) == file_len {
                header.check_padding(prefix)?;
            }
            Ok(header)
        });
        header.map(Self::Gguf).map_err(|error| Fault::of(error, size_of::<gguf::Slot>()))
    }

    pub(crate) fn index(
        text: &'static [u8],
        file_len: u64,
        slots: &'static mut [gate::shards::IndexSlot],
        limits: &Limits,
    ) -> Result<Self, Fault> {
        let slot = size_of::<gate::shards::IndexSlot>();
        // An index is judged whole, unless it is too long for that.
        if wide(text.len()) < file_len && file_len <= limits.index_len() {
            return Err(Fault::of(Error::wanting(ErrorKind::NeedMore, wide(text.len()), file_len), slot));
        }
        if file_len > limits.index_len() {
            return Err(Fault::of(Error::wanting(ErrorKind::IxLengthLimit, 0, limits.index_len()), slot));
        }
        ShardIndex::open_in(text, slots, limits).map(Self::Index).map_err(|error| Fault::of(error, slot))
    }

    pub(crate) fn format(&self) -> u32 {
        match self {
            Self::SafeTensors(_) => SAFETENSORS,
            Self::Gguf(_) => GGUF,
            Self::Index(_) => INDEX,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        wide(match self {
            Self::SafeTensors(header) => header.len(),
            Self::Gguf(header) => header.len(),
            Self::Index(index) => index.len(),
        })
    }

    pub(crate) fn nth(&self, index: u64) -> Option<Tensor> {
        let index = usize::try_from(index).ok()?;
        match self {
            Self::SafeTensors(header) => header.get(index).map(|info| of_safetensors(&info)),
            Self::Gguf(header) => header.tensor_at(index).map(|info| of_gguf(&info)),
            Self::Index(all) => all.get(index).map(|entry| of_index(&entry)),
        }
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Tensor> {
        let name = core::str::from_utf8(name).ok()?;
        match self {
            Self::SafeTensors(header) => header.tensor(name).ok().map(|info| of_safetensors(&info)),
            Self::Gguf(header) => header.tensor(name).ok().map(|info| of_gguf(&info)),
            Self::Index(index) => index.tensor(name).ok().map(|entry| of_index(&entry)),
        }
    }

    pub(crate) fn name(&self, index: u64) -> Option<Name<'static>> {
        let index = usize::try_from(index).ok()?;
        match self {
            Self::SafeTensors(header) => header.get(index).map(|info| info.name()),
            Self::Gguf(header) => header.tensor_at(index).map(|info| info.name()),
            Self::Index(all) => all.get(index).map(|entry| entry.name()),
        }
    }

    pub(crate) fn shape(&self, index: u64) -> Option<Shape<'static>> {
        let index = usize::try_from(index).ok()?;
        match self {
            Self::SafeTensors(header) => header.get(index).map(|info| info.shape()),
            Self::Gguf(header) => header.tensor_at(index).map(|info| info.shape()),
            Self::Index(_) => None,
        }
    }

    pub(crate) fn check_array_text(&self) -> Fault {
        let Self::Gguf(header) = self else { return Fault::NONE };
        for pair in header.pairs() {
            if let Value::Array(array) = pair.value()
                && let Err(error) = array.check_utf8()
            {
                return Fault::of(error, 0);
            }
        }
        Fault::NONE
    }
}

fn of_safetensors(info: &safetensors::TensorInfo<'static>) -> Tensor {
    filled(info.name(), Some((info.shape(), info.span())), types::dtype(info.dtype()))
}

fn of_gguf(info: &gguf::TensorInfo<'static>) -> Tensor {
    filled(info.name(), Some((info.shape(), info.span())), types::ggml(info.kind()))
}

fn of_index(entry: &IndexEntry<'static>) -> Tensor {
    let (shard, tensor) = (entry.shard(), filled(entry.name(), None, types::NONE));
    let text = shard.raw();
    Tensor {
        shard: text.as_ptr(),
        shard_len: text.len(),
        shard_is_escaped: u32::from(shard.is_escaped()),
        ..tensor
    }
}

fn filled(name: Name<'static>, place: Option<(Shape<'static>, Span)>, dtype: u32) -> Tensor {
    let mut dims = [0; DIMS];
    let (mut rank, mut elements, mut span) = (0, 0, (0, 0));
    if let Some((shape, place)) = place {
        dims.iter_mut().zip(shape.iter()).for_each(|(to, dim)| *to = dim);
        rank = u32::try_from(shape.rank()).unwrap_or(u32::MAX);
        elements = shape.elements().unwrap_or(0);
        span = (place.start(), place.len());
    }
    Tensor {
        name: name.raw().as_ptr(),
        name_len: name.raw().len(),
        shard: core::ptr::null(),
        shard_len: 0,
        elements,
        offset: span.0,
        length: span.1,
        dims,
        rank,
        dtype,
        name_is_escaped: u32::from(name.is_escaped()),
        shard_is_escaped: 0,
    }
}
