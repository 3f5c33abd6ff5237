//! Byte symbols: the 256 printable characters that stand for bytes in the texts of a vocabulary.
//!
//! GPT-2's `bytes_to_unicode`: a byte that is a printable character of Latin-1 (`!` to `~`, `¡` to `¬`, `®` to `ÿ`) stands
//! for itself; the 68 others are, in ascending order, the characters from U+0100 on.

/// Behind the last byte symbol, U+0143.
const SYMBOLS: usize = 0x144;

const fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// The byte of each symbol; 256 for characters that are none.
const BYTES: [u16; SYMBOLS] = by_symbol();

const fn by_symbol() -> [u16; SYMBOLS] {
    let mut bytes = [256; SYMBOLS];
    let mut byte = 0_u8;
    let mut next = 0x100;
    loop {
        #[expect(clippy::as_conversions, reason = "From is not const")]
        let place = if is_printable(byte) { byte as usize } else { next };
        if !is_printable(byte) {
            next = next.wrapping_add(1);
        }
        #[expect(clippy::as_conversions, clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            bytes[place] = byte as u16;
        }
        if byte == 255 {
            return bytes;
        }
        byte = byte.wrapping_add(1);
    }
}

/// The byte that a character stands for.
#[inline]
pub(super) fn byte_of(symbol: char) -> Option<u8> {
    let place = usize::try_from(u32::from(symbol)).ok()?;
    BYTES.get(place).and_then(|byte| u8::try_from(*byte).ok())
}

/// The character that stands for a byte.
#[cfg(test)]
pub(super) fn symbol_of(byte: u8) -> char {
    let wanted = u16::from(byte);
    let place = BYTES.iter().position(|other| *other == wanted).and_then(|place| u32::try_from(place).ok());
    place.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_symbol() {
        for byte in 0..=255 {
            assert_eq!(byte_of(symbol_of(byte)), Some(byte));
        }
        // From GPT-2's vocabulary: `Ġ` is a blank, `Ċ` a line feed, `ł` and `Ń` the last two of those moved.
        assert_eq!(['Ġ', 'Ċ', '!', 'ÿ', 'ł', 'Ń', 'Ā', 'ń', ' ', '\u{ad}'].map(byte_of), [
            Some(b' '), Some(b'\n'), Some(b'!'), Some(0xFF), Some(0xA0), Some(0xAD), Some(0), None, None, None
        ]);
    }
}
