//! The gate for firmware in C: one function, and no state but the caller's.
//!
//! ```c
//! #include <stdint.h>
//! #include <stddef.h>
//! struct tensorgate_answer { uint64_t at; uint32_t tensors; char code[24]; };
//! int32_t tensorgate_check(const uint8_t *header, size_t have, uint64_t file_len, struct tensorgate_answer *answer);
//! ```
#![expect(unsafe_code, reason = "a symbol that C calls, and the memory that it lends")]

use tensorgate::Limits;
use tensorgate::safetensors::{Header, Slot};

/// How many tensors a file may have: 64 slots of 40 bytes, on the stack of the call.
const TENSORS: usize = 64;

/// What was found, besides the result.
#[derive(Debug)]
#[repr(C)]
pub struct Found {
    /// The offset of the field that lied, or where the data begins.
    at: u64,
    /// How many tensors the file has.
    tensors: u32,
    /// The rule that was broken, zero-terminated.
    code: [u8; 24],
}

/// Judges a file of `file_len` bytes by the `have` bytes of its beginning.
///
/// Gives 0 where it is sound, -1 where it lies, -2 where it has more tensors than there is room for, and else how many
/// bytes of the beginning are needed.
///
/// # Safety
///
/// `header` points at `have` bytes that nobody changes during the call, and `found` is null or points at a place for one
/// `struct tensorgate_answer`.
// SAFETY: no other symbol has the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tensorgate_check(
    header: *const u8,
    have: usize,
    file_len: u64,
    found: Option<&mut core::mem::MaybeUninit<Found>>,
) -> i32 {
    // SAFETY: the caller's promise; nothing is read of an empty slice, whatever its address was.
    let bytes = if have == 0 { &[] } else { unsafe { core::slice::from_raw_parts(header, have) } };
    let mut slots = [Slot::EMPTY; TENSORS];
    let (result, answer) = match Header::open_in(bytes, file_len, &mut slots, &Limits::DEFAULT) {
        Ok(header) => {
            let tensors = u32::try_from(header.len()).unwrap_or(u32::MAX);
            (0, Found { at: header.data().start(), tensors, code: [0; 24] })
        }
        Err(error) => {
            let result = match (error.needs(), error.needs_slots()) {
                (Some(bytes), _) => i32::try_from(bytes).unwrap_or(i32::MAX),
                (_, Some(_)) => -2,
                (None, None) => -1,
            };
            let mut code = [0; 24];
            // The last byte stays zero.
            code.iter_mut().take(23).zip(error.code().bytes()).for_each(|(place, byte)| *place = byte);
            (result, Found { at: error.at(), tensors: 0, code })
        }
    };
    if let Some(place) = found {
        place.write(answer);
    }
    result
}

/// A microcontroller has nothing to say and nobody to tell; `tests/proof` shows that nothing gets here.
#[cfg(all(target_os = "none", not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
