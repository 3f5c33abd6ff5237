//! Pointers from C to references: all `unsafe` code of the interface, one operation a block.
//!
//! Every function here wants from its caller what `include/tensorgate.h` wants of C: a pointer is null, or it points to what
//! it says, of the length beside it. What can be seen of that is looked at before it is used: null, alignment, lengths over
//! `isize::MAX`, places that overlap. What cannot is the caller's promise.

use core::slice;

use gate::{gguf, safetensors, shards};

use crate::file::{self, Fault, File};
use crate::types::{ALIGN, BASE, GGUF, INDEX, Input, Limit, MAGIC, SAFETENSORS, Status, TgError, TgFile};

/// The bytes that C lends; none where the pointer or the length cannot be right. Null with a length of 0 is no byte.
///
/// # Safety
///
/// `at` is null, or `len` bytes there may be read and are not written to as long as `'a` lasts.
pub(crate) unsafe fn bytes<'a>(at: *const u8, len: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise, for the same lifetime.
    unsafe { items(at, len) }
}

/// The same for items of another type.
///
/// # Safety
///
/// As [`bytes`], with `len` items; every bit pattern is a valid `T`.
unsafe fn items<'a, T: Copy>(at: *const T, len: usize) -> Option<&'a [T]> {
    if len == 0 {
        return Some(&[]);
    }
    let total = len.checked_mul(size_of::<T>())?;
    if !is_place(at.cast_mut()) || isize::try_from(total).is_err() || at.addr().checked_add(total).is_none() {
        return None;
    }
    // SAFETY: `at` is not null and aligned, the items take at most `isize::MAX` bytes and do not wrap around the address
    // space; that they are there, initialised and not written to is the caller's promise.
    Some(unsafe { slice::from_raw_parts(at, len) })
}

/// Whether something of type `T` can be at an address.
pub(crate) fn is_place<T>(at: *mut T) -> bool {
    !at.is_null() && at.is_aligned()
}

/// Whether nothing, or something of type `T`, can be at an address.
pub(crate) fn is_place_or_null<T>(at: *mut T) -> bool {
    at.is_aligned()
}

/// Reads what is at an address; none where nothing can be.
///
/// # Safety
///
/// `at` is null or points to an initialised `T`.
pub(crate) unsafe fn read<T: Copy>(at: *const T) -> Option<T> {
    if !is_place(at.cast_mut()) {
        return None;
    }
    // SAFETY: `at` is not null and aligned, and points to an initialised `T` by the caller's promise.
    Some(unsafe { at.read() })
}

/// Writes to an address.
///
/// # Safety
///
/// [`is_place`] was true of `at`, and a `T` may be written there.
pub(crate) unsafe fn write<T>(at: *mut T, value: T) {
    // SAFETY: not null, aligned, and given to be written, which the caller promises. What was there is not dropped: it is C's.
    unsafe { at.write(value) };
}

/// Writes a value to an address that C gave for it.
///
/// # Safety
///
/// `at` is null, or a `T` may be written there.
pub(crate) unsafe fn give<T>(at: *mut T, value: T) -> i32 {
    if !is_place(at) {
        return Status::Misuse.code();
    }
    // SAFETY: it was seen to be a place, and the rest is the caller's promise.
    unsafe { write(at, value) };
    Status::Ok.code()
}

/// The same for something that may not be there.
///
/// # Safety
///
/// As [`give`].
pub(crate) unsafe fn give_found<T>(at: *mut T, value: Option<T>) -> i32 {
    match value {
        // SAFETY: the caller's promise, passed on.
        Some(value) => unsafe { give(at, value) },
        None if is_place(at) => Status::NotFound.code(),
        None => Status::Misuse.code(),
    }
}

/// An array that C gave to be filled, and how much there was to fill it with.
pub(crate) struct Out<T> {
    at: *mut T,
    room: usize,
    len: usize,
}

impl<T> Out<T> {
    /// An array of `room` items; of none where the address cannot be right.
    pub(crate) fn new(at: *mut T, room: usize) -> Self {
        let total = room.checked_mul(size_of::<T>()).filter(|total| isize::try_from(*total).is_ok());
        Self { at, room: if is_place(at) && total.is_some() { room } else { 0 }, len: 0 }
    }

    /// Writes the next item where there is room for it.
    ///
    /// # Safety
    ///
    /// The address given to [`new`](Self::new) is null, or `room` items may be written there.
    pub(crate) unsafe fn push(&mut self, item: T) {
        if self.len < self.room {
            // SAFETY: fewer than `room` items further on, which is inside the array that the caller promises.
            let place = unsafe { self.at.add(self.len) };
            // SAFETY: inside that array, and aligned since its beginning is.
            unsafe { write(place, item) };
        }
        self.len = self.len.saturating_add(1);
    }

    /// Tells how many items there are, and whether all of them had room.
    ///
    /// # Safety
    ///
    /// `len` is null, or a number may be written there.
    pub(crate) unsafe fn finish(self, len: *mut usize) -> i32 {
        // SAFETY: the caller's promise, passed on.
        let told = unsafe { give(len, self.len) };
        if told == Status::Ok.code() && self.len > self.room { Status::Storage.code() } else { told }
    }
}

/// An open file; none where it cannot be one.
///
/// # Safety
///
/// `at` is null, or was given by `tg_open`, whose storage and bytes are untouched for `'a`.
pub(crate) unsafe fn file<'a>(at: *const TgFile) -> Option<&'a File> {
    if !is_place(at.cast_mut()) {
        return None;
    }
    // SAFETY: not null and aligned; inside the storage, which `tg_open` begins with a magic number, or a zero where it
    // failed.
    let magic = unsafe { at.cast::<u64>().read() };
    if magic != MAGIC {
        return None;
    }
    // SAFETY: the magic number is written after the file behind it, so that the whole of it is initialised; nobody writes to
    // it by the caller's promise.
    Some(unsafe { &(*at).file })
}

/// Whether something of `len` bytes at an address lies in the storage, or partly; not where that is no memory at all.
fn is_in_storage(input: &Input, at: usize, len: usize) -> bool {
    let Some(end) = storage_end(input) else { return false };
    let before = at.saturating_add(len) <= input.storage.addr();
    len > 0 && input.storage_len > 0 && !before && at < end
}

/// Where the storage ends; none where memory cannot be so.
fn storage_end(input: &Input) -> Option<usize> {
    isize::try_from(input.storage_len).ok()?;
    input.storage.addr().checked_add(input.storage_len)
}

/// Whether what `tg_open` writes is not in the storage, where it would change the file.
pub(crate) fn are_outside(input: &Input, file: *mut *const TgFile, error: *mut TgError) -> bool {
    !is_in_storage(input, file.addr(), size_of::<*const TgFile>())
        && (error.is_null() || !is_in_storage(input, error.addr(), size_of::<TgError>()))
}

/// Judges a file and puts it at the beginning of its storage.
///
/// # Safety
///
/// The pointers of `input` are null, or point to as much as it says; the bytes are not written to and the storage is not
/// touched as long as the file is open.
#[expect(clippy::cast_ptr_alignment, reason = "the storage's alignment is looked at first")]
pub(crate) unsafe fn open(input: &Input) -> Result<*const TgFile, Fault> {
    // SAFETY: the caller's promise; the bytes are borrowed as long as the caller leaves the file open.
    let prefix = unsafe { bytes::<'static>(input.prefix, input.prefix_len) }.ok_or(Fault::MISUSE)?;
    // SAFETY: the caller's promise; a limit is two integers, of which every bit pattern is valid.
    let limits = unsafe { items(input.limits, input.limit_count) }.ok_or(Fault::MISUSE)?;
    let limits = file::limits(limits).ok_or(Fault::MISUSE)?;
    let storage = input.storage;
    let limit_bytes = input.limit_count.saturating_mul(size_of::<Limit>());
    let apart = !is_in_storage(input, input.prefix.addr(), prefix.len())
        && !is_in_storage(input, input.limits.addr(), limit_bytes)
        && u64::try_from(prefix.len()).is_ok_and(|len| len <= input.file_len);
    if !apart || storage.is_null() || !storage.addr().is_multiple_of(ALIGN) || storage_end(input).is_none() {
        return Err(Fault::MISUSE);
    }
    let room = input.storage_len.checked_sub(BASE).ok_or_else(Fault::no_room)?;
    let state = storage.cast::<TgFile>();
    // SAFETY: the storage has at least `BASE` bytes, is aligned, and is the caller's to give: what was open there is no more.
    unsafe { write(state.cast::<u64>(), 0) };
    // SAFETY: `BASE` bytes further on is inside the storage, or one past its end.
    let rest = unsafe { storage.add(BASE) };
    let (len, most) = (input.file_len, most_slots(prefix));
    let file = match input.format {
        SAFETENSORS => {
            // SAFETY: `room` bytes of storage from there on, which nobody else touches, aligned as `ALIGN` is.
            let slots = unsafe { slots(rest, room, most, safetensors::Slot::EMPTY) };
            File::safetensors(prefix, len, slots, &limits)
        }
        GGUF => {
            // SAFETY: as above.
            let slots = unsafe { slots(rest, room, most, gguf::Slot::EMPTY) };
            File::gguf(prefix, len, slots, &limits)
        }
        INDEX => {
            // SAFETY: as above.
            let slots = unsafe { slots(rest, room, most, shards::IndexSlot::EMPTY) };
            File::index(prefix, len, slots, &limits)
        }
        _ => Err(Fault::MISUSE),
    }?;
    // SAFETY: `TgFile` takes at most `BASE` bytes and `ALIGN` alignment (asserted where it is defined), which the storage has.
    // The slots begin behind it.
    unsafe { write(state, TgFile { magic: MAGIC, file }) };
    Ok(state.cast_const())
}

/// More slots than a header of so many bytes can need: those beyond are not even cleared.
fn most_slots(prefix: &[u8]) -> usize {
    (prefix.len() / 4).saturating_add(64)
}

/// The slots that storage has room for, at the most `most`, all empty.
///
/// # Safety
///
/// `room` bytes at `at`, which is aligned for `T`, may be written and are used by nobody else as long as the file is open.
unsafe fn slots<T: Copy>(at: *mut u8, room: usize, most: usize, empty: T) -> &'static mut [T] {
    let count = room.checked_div(size_of::<T>()).unwrap_or(0).min(most);
    let first = at.cast::<T>();
    for index in 0..count {
        // SAFETY: `index` is below `count`, and so many items fit into `room` bytes.
        let place = unsafe { first.add(index) };
        // SAFETY: inside the storage and aligned, since `at` is.
        unsafe { write(place, empty) };
    }
    // SAFETY: `first` is not null and aligned; `count` items there were just initialised, fit into the storage, which is at
    // most `isize::MAX` bytes as every object is, and belong to nobody else by the caller's promise.
    unsafe { slice::from_raw_parts_mut(first, count) }
}
