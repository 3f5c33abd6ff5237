//! What C and Rust share, field by field as in `include/tensorgate.h`.

use core::ffi::c_char;

use gate::Dtype;
use gate::gguf::GgmlType;

use crate::file::{Fault, File};

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    Refused,
    NeedMore,
    Storage,
    NotFound,
    Misuse,
}

impl Status {
    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::Ok => 0,
            Self::Refused => 1,
            Self::NeedMore => 2,
            Self::Storage => 3,
            Self::NotFound => 4,
            Self::Misuse => 5,
        }
    }
}

pub(crate) const SAFETENSORS: u32 = 1;
pub(crate) const GGUF: u32 = 2;
pub(crate) const INDEX: u32 = 3;

/// `tg_limit`: a limit and the most that it allows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub(crate) which: u32,
    pub(crate) most: u64,
}

/// `tg_input`: what is to be judged, and where.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Input {
    pub(crate) format: u32,
    pub(crate) prefix: *const u8,
    pub(crate) prefix_len: usize,
    pub(crate) file_len: u64,
    pub(crate) limits: *const Limit,
    pub(crate) limit_count: usize,
    pub(crate) storage: *mut u8,
    pub(crate) storage_len: usize,
}

/// Bytes of a code with the NUL behind it.
const CODE: usize = 24;

/// `tg_error`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TgError {
    code: [u8; CODE],
    what: *const c_char,
    what_len: usize,
    offset: u64,
    want: u64,
}

impl From<&Fault> for TgError {
    fn from(fault: &Fault) -> Self {
        let mut code = [0; CODE];
        // The last byte stays a NUL.
        for (place, byte) in code.iter_mut().take(CODE.saturating_sub(1)).zip(fault.code.bytes()) {
            *place = byte;
        }
        let Fault { what, offset, want, .. } = fault;
        Self { code, what: what.as_ptr().cast(), what_len: what.len(), offset: *offset, want: *want }
    }
}

/// Dimensions that stand in a tensor itself.
pub(crate) const DIMS: usize = 8;

/// `tg_tensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    pub(crate) name: *const u8,
    pub(crate) name_len: usize,
    pub(crate) shard: *const u8,
    pub(crate) shard_len: usize,
    pub(crate) elements: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) dims: [u64; DIMS],
    pub(crate) rank: u32,
    pub(crate) dtype: u32,
    pub(crate) name_is_escaped: u32,
    pub(crate) shard_is_escaped: u32,
}

/// `tg_file`: an open file, at the beginning of its storage.
#[repr(C)]
#[derive(Debug)]
pub struct TgFile {
    pub(crate) magic: u64,
    pub(crate) file: File,
}

/// What an open file begins with.
pub(crate) const MAGIC: u64 = 0x5447_4649_4C45_0001;

/// `TG_STORAGE_BASE`: bytes of storage in front of the slots.
pub(crate) const BASE: usize = 512;
/// `TG_STORAGE_ALIGN`.
pub(crate) const ALIGN: usize = 8;

const _: () = {
    assert!(size_of::<TgFile>() <= BASE && align_of::<TgFile>() <= ALIGN);
    assert!(size_of::<gate::safetensors::Slot>() == 40 && align_of::<gate::safetensors::Slot>() <= ALIGN);
    assert!(size_of::<gate::gguf::Slot>() == 20 && align_of::<gate::gguf::Slot>() <= ALIGN);
    assert!(size_of::<gate::shards::IndexSlot>() == 8 && align_of::<gate::shards::IndexSlot>() <= ALIGN);
    // Every code fits with its NUL.
    let mut kinds = gate::ErrorKind::ALL;
    while let [kind, rest @ ..] = kinds {
        assert!(kind.code().len() < CODE);
        kinds = rest;
    }
};

/// `TG_DTYPE_NONE`: that of a tensor in an index.
pub(crate) const NONE: u32 = 0xFFFF;
/// `TG_GGML`: a GGUF tensor type's number is added to it.
pub(crate) const GGML: u32 = 0x1_0000;

/// The numbers of dtypes: a dtype's place here, and never another.
const DTYPES: [Dtype; 22] = [
    Dtype::BOOL,
    Dtype::F4,
    Dtype::F6_E2M3,
    Dtype::F6_E3M2,
    Dtype::U8,
    Dtype::I8,
    Dtype::F8_E5M2,
    Dtype::F8_E4M3,
    Dtype::F8_E8M0,
    Dtype::F8_E4M3FNUZ,
    Dtype::F8_E5M2FNUZ,
    Dtype::I16,
    Dtype::U16,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::C64,
    Dtype::F64,
    Dtype::I64,
    Dtype::U64,
];

/// The number of a dtype.
pub(crate) fn dtype(dtype: Dtype) -> u32 {
    (0..).zip(DTYPES).find(|(_, one)| *one == dtype).map_or(NONE, |(number, _)| number)
}

/// The number of a tensor type.
pub(crate) fn ggml(kind: GgmlType) -> u32 {
    kind.id().saturating_add(GGML)
}

/// The name of a dtype or a tensor type.
pub(crate) fn dtype_name(number: u32) -> Option<&'static str> {
    match number.checked_sub(GGML) {
        Some(id) => GgmlType::from_id(id).name(),
        None => (0..).zip(DTYPES).find(|(one, _)| *one == number).map(|(_, dtype)| dtype.tag()),
    }
}
