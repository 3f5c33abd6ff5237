//! Strings: bytes first, text when asked for, and the fast proof that many bytes are UTF-8.

use core::fmt;

use super::value::ValueError;

/// A string of the file's: bytes, which are text only if they say so when asked.
///
/// The reference keeps any bytes, and vocabularies may hold pieces of characters, so that strings in arrays are not
/// checked when a file is opened. [`Display`](fmt::Display) is safe for terminals and logs: printable ASCII as it is,
/// everything else escaped (`\n`, `\u{1b}`, and `\xff` for what is not UTF-8).
///
/// ```
/// # use tensorgate::{Gguf, Limits, gguf::{Slot, ValueError}};
/// # let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
/// # file.extend_from_slice(b"\x01\0\0\0\0\0\0\0k\x09\0\0\0\x08\0\0\0\x02\0\0\0\0\0\0\0");
/// # file.extend_from_slice(b"\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0\xff");
/// # let mut slots = [Slot::EMPTY; 1];
/// let file = Gguf::open_in(&file, &mut slots, &Limits::default())?;
/// let mut tokens = file.array("k").unwrap().strings().unwrap();
/// assert_eq!(tokens.next().unwrap().as_str(), Ok("ab"));
/// let odd = tokens.next().unwrap();
/// assert_eq!((odd.bytes(), odd.as_str()), (&[0xff_u8][..], Err(ValueError::Utf8)));
/// assert_eq!(odd.to_string(), r"\xff");
/// # Ok::<(), tensorgate::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Str<'a>(&'a [u8]);

impl<'a> Str<'a> {
    #[inline]
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes as they stand.
    #[inline]
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The text.
    ///
    /// # Errors
    ///
    /// [`ValueError::Utf8`] when the bytes are not valid UTF-8.
    #[inline]
    pub const fn as_str(self) -> Result<&'a str, ValueError> {
        match core::str::from_utf8(self.0) {
            Ok(text) => Ok(text),
            Err(_) => Err(ValueError::Utf8),
        }
    }
}

impl PartialEq<str> for Str<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Str<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            write!(f, "{}", crate::Name::plain(chunk.valid()))?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// How many bytes are looked at together.
const LANES: usize = 64;
/// The same with the three bytes before, which is as far as a character reaches back.
const WINDOW: usize = LANES + 3;

/// Whether `bytes` are valid UTF-8, in lanes of a byte so that the compiler checks whole vectors at once.
///
/// Vocabularies mix ASCII with other characters every few bytes, where `from_utf8` goes byte by byte; this does not, and
/// does not say where the fault is.
pub(super) fn is_utf8(bytes: &[u8]) -> bool {
    crate::steps::take_bytes(bytes.len());
    let Some(head) = bytes.first_chunk::<LANES>() else { return !last(&[], bytes) };
    let mut first = [0; WINDOW];
    if let Some(place) = first.last_chunk_mut::<LANES>() {
        *place = *head;
    }
    let mut bad = faulty(&first);
    // From here on each window begins three bytes before its block.
    let mut rest = bytes.get(LANES.saturating_sub(3)..).unwrap_or_default();
    while let Some(window) = rest.first_chunk::<WINDOW>() {
        bad |= faulty(window);
        rest = rest.get(LANES..).unwrap_or_default();
    }
    let (before, tail) = rest.split_at_checked(3).unwrap_or_default();
    !(bad | last(before, tail))
}

/// Whether less than a whole block, after up to three bytes, holds a fault or ends inside a character.
fn last(before: &[u8], tail: &[u8]) -> bool {
    let mut window = [0; WINDOW];
    for (place, byte) in window.iter_mut().skip(3_usize.saturating_sub(before.len())).zip(before.iter().chain(tail))
    {
        *place = *byte;
    }
    faulty(&window)
}

/// Whether a byte of the block, all but the first three of the window, is wrong after the three before it.
#[inline]
fn faulty(window: &[u8; WINDOW]) -> bool {
    let (mut wrong, mut rare) = (0_u8, 0_u8);
    let befores = back::<1>(window).iter().zip(back::<2>(window)).zip(back::<3>(window));
    for (byte, ((one, two), three)) in back::<0>(window).iter().zip(befores) {
        // A continuation byte is wanted exactly behind a lead byte of two, three or four.
        let wanted = one.saturating_sub(0xBF) | two.saturating_sub(0xDF) | three.saturating_sub(0xEF);
        wrong |= u8::from((wanted != 0) != (byte.cast_signed() < -64));
        // The block is looked at again if it holds one of the leads that need it.
        rare |= one.saturating_sub(0xDF) | byte.saturating_sub(0xDF) | u8::from(byte & 0xFE == 0xC0);
    }
    wrong != 0 || (rare != 0 && out_of_range(window))
}

/// Whether a byte of the block is one that UTF-8 never has, or makes a character that is spelt too long, a surrogate,
/// or past the last one.
fn out_of_range(window: &[u8; WINDOW]) -> bool {
    let pairs = back::<0>(window).iter().zip(back::<1>(window));
    pairs.fold(0, |bad, (byte, before)| {
        let never = u8::from(byte & 0xFE == 0xC0) | byte.saturating_sub(0xF4);
        let is = |lead: u8| u8::from(*before == lead);
        let (below, above) = (|edge: u8| u8::from(*byte < edge), |edge: u8| u8::from(*byte > edge));
        let long = (is(0xE0) & below(0xA0)) | (is(0xF0) & below(0x90));
        let high = (is(0xED) & above(0x9F)) | (is(0xF4) & above(0x8F));
        bad | never | long | high
    }) != 0
}

/// The block's bytes, or those that stand `BY` before each of them.
#[inline]
fn back<const BY: usize>(window: &[u8; WINDOW]) -> &[u8; LANES] {
    let start = const { 3_usize.saturating_sub(BY) };
    window.get(start..).and_then(|rest| rest.first_chunk()).unwrap_or(&[0; LANES])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::{String, ToString};
    use std::vec;
    use std::vec::Vec;

    /// Puts four bytes at `at` of `len` bytes of ASCII, and asks both.
    fn both_agree(len: usize, at: usize, four: [u8; 4]) {
        let mut text = [b'x'; LANES + 6];
        text[at..at + 4].copy_from_slice(&four);
        assert_eq!(is_utf8(&text[..len]), core::str::from_utf8(&text[..len]).is_ok(), "{four:x?}");
    }

    /// Faults are flags of single bits in places: two must not take each other out.
    #[test]
    fn two_faults_are_no_fault_less() {
        let faults: [&[u8]; 7] = [
            &[0xC0, 0x80],
            &[0xC1, 0xBF],
            &[0xE0, 0x80, 0x80],
            &[0xED, 0xA0, 0x80],
            &[0xF0, 0x80, 0x80, 0x80],
            &[0xF4, 0x90, 0x80, 0x80],
            &[0xF5, 0x80, 0x80, 0x80],
        ];
        for first in faults {
            for second in faults {
                for between in [0, 1, 9, 60] {
                    let text = [&b"ab"[..], first, &[b'c'; 60][..between], second, &[b'd'; 100]].concat();
                    assert!(!is_utf8(&text), "{text:x?}");
                }
            }
        }
    }

    #[test]
    fn agrees_with_the_standard_library() {
        // The first and last byte of every class, in all combinations.
        let edges =
            [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5];
        for code in (0..1_usize << 16).step_by(crate::sparse::step(13)) {
            let [a, b, c, d] = [0, 4, 8, 12].map(|shift| edges[(code >> shift) & 15]);
            both_agree(5, 0, [a, b, c, d]);
            // All pairs of bytes, across the edge of a block.
            let pair = u16::try_from(code).unwrap().to_be_bytes();
            both_agree(LANES + 6, LANES - 1, [pair[0], pair[1], edges[code % 15], b'x']);
        }
    }

    #[test]
    fn characters_may_end_anywhere_but_not_past_the_end() {
        let text: String = "aé€😀".chars().cycle().take(200).collect();
        for start in 0..12 {
            for end in start..text.len() {
                let cut = &text.as_bytes()[start..end];
                assert_eq!(is_utf8(cut), core::str::from_utf8(cut).is_ok(), "{start}..{end}");
            }
        }
        for len in 0..3 * LANES {
            assert!(is_utf8(&vec![b'a'; len]));
            let cut: Vec<u8> = [vec![b'a'; len], vec![0xC3]].concat();
            assert!(!is_utf8(&cut));
        }
    }

    #[test]
    fn nothing_reaches_a_terminal() {
        let hostile = Str::new(b"a\x1b[2J\xff\xc3\xe2\x80\xaez\\");
        assert_eq!(hostile.to_string(), r"a\u{1b}[2J\xff\xc3\u{202e}z\\");
        assert_eq!(std::format!("{hostile:?}"), r#""a\u{1b}[2J\xff\xc3\u{202e}z\\""#);
    }
}
