//! What the module is for: a verdict on the beginning of a file and its length, in lent storage.

use core::mem::MaybeUninit;

use tensorgate::safetensors::{self, Slot};
use tensorgate::shards::IndexSlot;
use tensorgate::{Error, Limits, ShardIndex, gguf};

use crate::list::List;
use crate::memory;

/// The formats that are told apart by the host, as a file's name does.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    Safetensors,
    Index,
    Gguf,
}

impl Format {
    pub fn from_id(id: u32) -> Option<Self> {
        match id {
            1 => Some(Self::Safetensors),
            2 => Some(Self::Index),
            3 => Some(Self::Gguf),
            _ => None,
        }
    }
}

/// What was found.
#[derive(Debug)]
pub enum Judged {
    Accepted { tensors: u64 },
    Rejected(Error),
    NeedsBytes(u64),
    NeedsRoom(u64),
    NeedsList(u64),
}

/// How many settings the host may make, in the order of [`Terms::of`].
pub const SETTINGS: usize = 17;

/// What a file is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    limits: Limits,
    /// Whether strings in arrays of a GGUF file have to be UTF-8, which opening it does not look into.
    array_text: bool,
}

impl Terms {
    /// The defaults, with what the host sets; `u64::MAX` leaves one as it is.
    pub fn of(set: &[u64; SETTINGS]) -> Self {
        let [limits @ .., array_text] = set;
        Self { limits: with(limits), array_text: *array_text == 1 }
    }
}

fn with(set: &[u64; SETTINGS - 1]) -> Limits {
    let with: [fn(Limits, u64) -> Limits; SETTINGS - 1] = [
        Limits::with_header_len,
        Limits::with_tensors,
        Limits::with_rank,
        Limits::with_name_len,
        Limits::with_metadata_keys,
        Limits::with_metadata_len,
        Limits::with_key_len,
        Limits::with_string_len,
        Limits::with_array_len,
        Limits::with_gguf_name_len,
        Limits::with_gguf_rank,
        Limits::with_index_len,
        Limits::with_shards,
        Limits::with_index_metadata_len,
        Limits::with_index_metadata_depth,
        |limits, leading_space| limits.with_leading_space(leading_space == 1),
    ];
    let chosen = set.iter().zip(with).filter(|(most, _)| **most != u64::MAX);
    chosen.fold(Limits::default(), |limits, (most, with)| with(limits, *most))
}

/// Judges the first bytes of a file that is `len` bytes long, and fills the list with its tensors if it is accepted. A GGUF
/// file that is there whole has its padding looked at too.
pub fn judge(
    format: Format,
    bytes: &[u8],
    len: u64,
    room: &mut [MaybeUninit<u64>],
    terms: &Terms,
    mut list: Option<&mut List<'_>>,
) -> Judged {
    let Terms { limits, array_text } = terms;
    let whole = u64::try_from(bytes.len()) == Ok(len);
    let (outcome, slot) = match format {
        Format::Safetensors => {
            let slots = memory::filled(room, Slot::EMPTY);
            let opened = safetensors::Header::open_in(bytes, len, slots, limits).map(|header| {
                if let Some(list) = list.as_deref_mut() {
                    list.safetensors(&header);
                }
                header.len()
            });
            (opened, size_of::<Slot>())
        }
        // An index is read whole: it has no data behind its header.
        Format::Index if !whole => return Judged::NeedsBytes(len),
        Format::Index => {
            let slots = memory::filled(room, IndexSlot::EMPTY);
            let opened = ShardIndex::open_in(bytes, slots, limits).map(|index| {
                if let Some(list) = list.as_deref_mut() {
                    list.index(&index);
                }
                index.len()
            });
            (opened, size_of::<IndexSlot>())
        }
        Format::Gguf => {
            let slots = memory::filled(room, gguf::Slot::EMPTY);
            let opened = gguf::Header::open_in(bytes, len, slots, limits).and_then(|header| {
                if whole {
                    header.check_padding(bytes)?;
                }
                let mut arrays =
                    header.pairs().filter(|_| *array_text).filter_map(|pair| pair.value().array().ok());
                arrays.try_for_each(|array| array.check_utf8())?;
                if let Some(list) = list.as_deref_mut() {
                    list.gguf(&header);
                }
                Ok(header.len())
            });
            (opened, size_of::<gguf::Slot>())
        }
    };
    match (outcome, list.and_then(|list| list.missing())) {
        (Ok(_), Some(bytes)) => Judged::NeedsList(bytes),
        (Ok(tensors), None) => Judged::Accepted { tensors: u64::try_from(tensors).unwrap_or(u64::MAX) },
        (Err(error), _) => match (error.needs(), error.needs_slots()) {
            (Some(bytes), _) => Judged::NeedsBytes(bytes),
            (_, Some(slots)) => Judged::NeedsRoom(slots.saturating_mul(u64::try_from(slot).unwrap_or(u64::MAX))),
            (None, None) => Judged::Rejected(error),
        },
    }
}
