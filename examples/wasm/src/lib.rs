//! A validator of model files as a WebAssembly module: no imports, no allocator, no state.
//!
//! The host owns the memory behind `__heap_base`. It writes the beginning of a file there, leaves room for slots, and calls
//! [`validate`] or [`list`](fn@list); every address it gives is held against the memory's size first. `validator.mjs` does all of that.
#![no_std]

mod judge;
mod list;
mod memory;

use core::fmt::{self, Write};

use judge::{Format, Judged, Terms};
use list::List;
use tensorgate::Error;

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// The file is sound.
const ACCEPTED: u32 = 0;
/// The file is not; the report says what and where.
const REJECTED: u32 = 1;
/// More of the file's beginning is needed: `needs` bytes in all.
const NEEDS_BYTES: u32 = 2;
/// More room for slots is needed: `needs` bytes in all.
const NEEDS_ROOM: u32 = 3;
/// An address, a length or a number in the call is wrong.
const MISUSED: u32 = 4;
/// More room for the list is needed: `needs` bytes in all.
const NEEDS_LIST: u32 = 5;

/// What [`validate`] writes besides its outcome.
#[derive(Debug)]
#[repr(C)]
pub struct Report {
    /// The offset of the field that lied.
    at: u64,
    /// See [`NEEDS_BYTES`], [`NEEDS_ROOM`] and [`NEEDS_LIST`].
    needs: u64,
    /// How many tensors an accepted file has.
    tensors: u64,
    /// Bytes of the code at the beginning of `text`.
    code_len: u32,
    /// Bytes of the whole text: printable ASCII, code first.
    text_len: u32,
    text: [u8; 160],
}

impl Report {
    const EMPTY: Self = Self { at: 0, needs: 0, tensors: 0, code_len: 0, text_len: 0, text: [0; 160] };

    fn of(error: &Error) -> Self {
        let mut text = Text { bytes: [0; 160], len: 0 };
        // A text that is too long is cut, and so is no failure.
        let _ = write!(text, "{error}");
        let code_len = error.code().len().try_into().unwrap_or(0);
        Self { at: error.at(), code_len, text_len: text.len, text: text.bytes, ..Self::EMPTY }
    }
}

/// Text in a fixed room.
struct Text {
    bytes: [u8; 160],
    len: u32,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let used = usize::try_from(self.len).map_err(|_| fmt::Error)?;
        let room = self.bytes.get_mut(used..).ok_or(fmt::Error)?;
        for (place, byte) in room.iter_mut().zip(text.bytes()) {
            *place = byte;
            self.len = self.len.saturating_add(1);
        }
        Ok(())
    }
}

/// Judges a file of which the first `have` bytes stand at `file`, and of which there are `file_len` in all.
///
/// `format` is 1 for safetensors, 2 for a sharded index, 3 for GGUF. There are `room` bytes for slots at `slots`, a multiple
/// of 8. At `settings` stand [`judge::SETTINGS`] numbers of 64 bits, all ones where the default is to hold; 0 for defaults.
/// The answer is one of the outcomes above; a [`Report`] is written to `report`, a multiple of 8, unless the call is misused.
// SAFETY: no other symbol of this module has the name.
#[expect(unsafe_code, reason = "a symbol that the host calls")]
#[unsafe(no_mangle)]
pub extern "C" fn validate(
    format: u32,
    file: usize,
    have: usize,
    file_len: u64,
    slots: usize,
    room: usize,
    settings: usize,
    report: usize,
) -> u32 {
    answer(format, file_len, &Lent { file: (file, have), slots: (slots, room), settings, report, list: None })
}

/// As [`validate`], and writes the tensors of an accepted file as records to `list`, a multiple of 8, where `list_room` bytes
/// are; `List` says what is in a record.
// SAFETY: no other symbol of this module has the name.
#[expect(unsafe_code, reason = "a symbol that the host calls")]
#[unsafe(no_mangle)]
pub extern "C" fn list(
    format: u32,
    file: usize,
    have: usize,
    file_len: u64,
    slots: usize,
    room: usize,
    settings: usize,
    report: usize,
    list: usize,
    list_room: usize,
) -> u32 {
    let list = Some((list, list_room));
    answer(format, file_len, &Lent { file: (file, have), slots: (slots, room), settings, report, list })
}

/// What the host lends for a call: addresses, and bytes where they may differ.
struct Lent {
    file: (usize, usize),
    slots: (usize, usize),
    settings: usize,
    report: usize,
    list: Option<(usize, usize)>,
}

fn answer(format: u32, file_len: u64, lent: &Lent) -> u32 {
    let ranges = [
        lent.file,
        lent.slots,
        (lent.settings, judge::SETTINGS * size_of::<u64>()),
        (lent.report, size_of::<Report>()),
        lent.list.unwrap_or_default(),
    ];
    if !memory::are_apart(&ranges) {
        return MISUSED;
    }
    let (Some(format), Some(bytes), Some(room), Some(report)) = (
        Format::from_id(format),
        memory::bytes(lent.file.0, lent.file.1),
        memory::room(lent.slots.0, lent.slots.1),
        memory::place::<Report>(lent.report),
    ) else {
        return MISUSED;
    };
    let terms =
        if lent.settings == 0 { Some(Terms::default()) } else { memory::numbers(lent.settings).map(Terms::of) };
    let Some(terms) = terms else { return MISUSED };
    let mut list = None;
    if let Some((at, len)) = lent.list {
        let Some(room) = memory::room(at, len) else { return MISUSED };
        list = Some(List::new(room));
    }
    let (outcome, written) = match judge::judge(format, bytes, file_len, room, &terms, list.as_mut()) {
        Judged::Accepted { tensors } => (ACCEPTED, Report { tensors, ..Report::EMPTY }),
        Judged::Rejected(error) => (REJECTED, Report::of(&error)),
        Judged::NeedsBytes(needs) => (NEEDS_BYTES, Report { needs, ..Report::EMPTY }),
        Judged::NeedsRoom(needs) => (NEEDS_ROOM, Report { needs, ..Report::EMPTY }),
        Judged::NeedsList(needs) => (NEEDS_LIST, Report { needs, ..Report::EMPTY }),
    };
    report.write(written);
    outcome
}
