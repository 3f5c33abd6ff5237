//! The validator and the lookup of tensors for C; `include/tensorgate.h` says what each function does.
//!
//! Nothing is allocated and nothing is kept: a file lives in the storage that the caller brings, beside the bytes that the
//! caller holds. All `unsafe` code is in [`raw`], one operation a block; what is here and in [`file`] hands it what C gave.
#![no_std]
#![expect(unsafe_code, reason = "functions with C's names, and the pointers that C gives them")]

mod file;
mod raw;
mod types;

use core::ffi::c_char;

use file::{Fault, File};
use types::{Input, Status, Tensor, TgError, TgFile};

/// The version of this interface: it changes where a program that was compiled against an older header would break.
const ABI_VERSION: u32 = 1;

#[cfg(not(any(test, feature = "proof")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Never reached: `tests/run` proves it by linking.
    loop {}
}

#[cfg(feature = "proof")]
mod proof {
    unsafe extern "C" {
        fn a_panic_is_reachable() -> !;
    }

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        // SAFETY: there is no such function: a program that gets here does not link.
        unsafe { a_panic_is_reachable() }
    }

    /// A planted fault, to show that the proof can fail.
    // SAFETY: no other symbol has this name.
    #[unsafe(no_mangle)]
    #[expect(clippy::indexing_slicing, reason = "the planted fault")]
    pub extern "C" fn tg_planted_fault(index: usize) -> u8 {
        core::hint::black_box(&[1, 2, 3])[index]
    }
}

/// The version of the interface that the library has; `TG_ABI_VERSION` is the header's.
// SAFETY: no other symbol has this name; so for all of them here, the prefix is this library's.
#[unsafe(no_mangle)]
pub extern "C" fn tg_abi_version() -> u32 {
    ABI_VERSION
}

/// What format a file is of, by its first bytes: `TG_SAFETENSORS`, `TG_GGUF`, `TG_INDEX`, or 0.
///
/// # Safety
///
/// `prefix` is null, or points to `len` bytes that nobody writes to meanwhile.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_detect(prefix: *const u8, len: usize) -> u32 {
    // SAFETY: the caller's promise, passed on.
    let prefix = unsafe { raw::bytes(prefix, len) };
    prefix.map_or(0, file::detected)
}

/// Judges a file, and makes it ready for the functions below.
///
/// # Safety
///
/// Each pointer, in `input` too, is null or points to what the header says, of the length given beside it. Until the file is
/// done with, nobody writes to the bytes of `prefix`, and nobody touches `storage`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_open(input: *const Input, file: *mut *const TgFile, error: *mut TgError) -> i32 {
    // SAFETY: the caller's promise, passed on.
    let Some(input) = (unsafe { raw::read(input) }) else { return Status::Misuse.code() };
    if !raw::is_place(file) || !raw::is_place_or_null(error) || !raw::are_outside(&input, file, error) {
        return Status::Misuse.code();
    }
    // SAFETY: the caller's promise, passed on.
    let outcome = unsafe { raw::open(&input) };
    let (status, fault, opened) = match outcome {
        Ok(opened) => (Status::Ok, Fault::NONE, opened),
        Err(fault) => (fault.status, fault, core::ptr::null()),
    };
    // SAFETY: `file` was seen to be a place for a pointer, and the caller gives it to be written.
    unsafe { raw::write(file, opened) };
    if !error.is_null() {
        // SAFETY: `error` was seen to be a place for an error, and the caller gives it to be written.
        unsafe { raw::write(error, TgError::from(&fault)) };
    }
    status.code()
}

/// What format an open file is of; 0 where `file` is none.
///
/// # Safety
///
/// `file` is null or was given by `tg_open`, and its bytes and its storage are as `tg_open` wants them.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_format(file: *const TgFile) -> u32 {
    // SAFETY: the caller's promise, passed on.
    unsafe { raw::file(file) }.map_or(0, File::format)
}

/// How many tensors there are.
///
/// # Safety
///
/// As [`tg_format`]; `count` is null or a place for a number.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_count(file: *const TgFile, count: *mut u64) -> i32 {
    // SAFETY: the caller's promise, passed on.
    let Some(file) = (unsafe { raw::file(file) }) else { return Status::Misuse.code() };
    // SAFETY: the caller's promise, passed on.
    unsafe { raw::give(count, file.count()) }
}

/// The tensor at `index`, from 0, in the order of the data (of an index: of the names).
///
/// # Safety
///
/// As [`tg_format`]; `tensor` is null or a place for a tensor.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_nth(file: *const TgFile, index: u64, tensor: *mut Tensor) -> i32 {
    // SAFETY: the caller's promise, passed on.
    let Some(file) = (unsafe { raw::file(file) }) else { return Status::Misuse.code() };
    // SAFETY: the caller's promise, passed on.
    unsafe { raw::give_found(tensor, file.nth(index)) }
}

/// The tensor of that name, in UTF-8 with nothing escaped.
///
/// # Safety
///
/// As [`tg_format`]; `name` is null or points to `len` bytes, `tensor` is null or a place for a tensor.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_find(file: *const TgFile, name: *const u8, len: usize, tensor: *mut Tensor) -> i32 {
    // SAFETY: the caller's promise, passed on.
    let Some(file) = (unsafe { raw::file(file) }) else { return Status::Misuse.code() };
    // SAFETY: the caller's promise, passed on.
    let Some(name) = (unsafe { raw::bytes(name, len) }) else { return Status::Misuse.code() };
    // SAFETY: the caller's promise, passed on.
    unsafe { raw::give_found(tensor, file.find(name)) }
}

/// The name of the tensor at `index` with its escapes decoded: `len` is set to its bytes in UTF-8, whatever `room` is.
///
/// # Safety
///
/// As [`tg_format`]; `text` is null or points to `room` bytes to write to, `len` is null or a place for a number.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_name(
    file: *const TgFile,
    index: u64,
    text: *mut u8,
    room: usize,
    len: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, passed on.
    let Some(file) = (unsafe { raw::file(file) }) else { return Status::Misuse.code() };
    let Some(name) = file.name(index) else { return Status::NotFound.code() };
    let mut out = raw::Out::new(text, room);
    for c in name.chars() {
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            // SAFETY: the caller's promise that there is room, passed on.
            unsafe { out.push(byte) };
        }
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { out.finish(len) }
}

/// The dimensions of the tensor at `index`, outermost first: `rank` is set to how many there are, whatever `room` is.
///
/// # Safety
///
/// As [`tg_format`]; `dims` is null or points to `room` numbers to write to, `rank` is null or a place for a number.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_shape(
    file: *const TgFile,
    index: u64,
    dims: *mut u64,
    room: usize,
    rank: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise, passed on.
    let Some(file) = (unsafe { raw::file(file) }) else { return Status::Misuse.code() };
    let Some(shape) = file.shape(index) else { return Status::NotFound.code() };
    let mut out = raw::Out::new(dims, room);
    for dim in &shape {
        // SAFETY: the caller's promise that there is room, passed on.
        unsafe { out.push(dim) };
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { out.finish(rank) }
}

/// Whether the strings in arrays of a GGUF file are UTF-8, which opening it does not look at.
///
/// # Safety
///
/// As [`tg_format`]; `error` is null or a place for an error.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_check_array_text(file: *const TgFile, error: *mut TgError) -> i32 {
    // SAFETY: the caller's promise, passed on.
    let Some(file) = (unsafe { raw::file(file) }) else { return Status::Misuse.code() };
    let fault = file.check_array_text();
    if !raw::is_place_or_null(error) {
        return Status::Misuse.code();
    }
    if !error.is_null() {
        // SAFETY: `error` was seen to be a place for an error, and the caller gives it to be written.
        unsafe { raw::write(error, TgError::from(&fault)) };
    }
    fault.status.code()
}

/// The name of a dtype or a GGUF tensor type, `len` bytes without a NUL behind; null where there is none.
///
/// # Safety
///
/// `len` is null or a place for a number.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_dtype_name(dtype: u32, len: *mut usize) -> *const c_char {
    let name = types::dtype_name(dtype).unwrap_or_default();
    // SAFETY: the caller's promise, passed on.
    if unsafe { raw::give(len, name.len()) } != Status::Ok.code() || name.is_empty() {
        return core::ptr::null();
    }
    name.as_ptr().cast()
}
