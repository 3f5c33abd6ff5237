//! The starts of pieces in 64 bytes at once.
//!
//! Each class is a word of 64 bits, one a byte: those of ASCII, and of first bytes of which all characters are letters, by
//! vector instructions, other characters one at a time. Whether a piece starts at a byte then depends on its class and its
//! two neighbours' alone: some shifts of those words. A window always begins where a piece does, so nothing is carried
//! over from one to the next.
//!
//! [`split`](super::split) is the specification; a property test holds the two together.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::inline_always,
    reason = "places in arrays of 64 bytes and in a batch of 32 KiB, bits of 64-bit words: nothing here is as large as what \
              is read; all must be inlined into the functions that enable instructions"
)]

use super::classes::{Class, beyond_ascii, first, len_by_lead};
use super::phrases::PHRASE_LEN;
use super::split::contraction;

/// Bytes in a window.
pub(crate) const WINDOW: usize = 64;
/// Bytes that must be there for a window: what follows it is read together with its last piece.
pub(crate) const BLOCK: usize = 96;

/// The most ends of pieces that are found together, and room for what is written beyond the last.
pub(crate) const MOST: usize = 512;
pub(crate) const ENDS: usize = MOST + WINDOW;
/// Ends written at once, whether there are as many or not: a loop of as many steps as there are cannot be foretold.
const STEP: usize = 16;

/// The bytes at which a start is certain: the six behind are known to be what they seem, which is what it takes to see a
/// space of three bytes and what follows it, where the last three may be a character cut short.
const CERTAIN: u64 = (1 << UNCERTAIN) - 1;
const UNCERTAIN: usize = WINDOW - 6;

/// What is so of each of 64 bytes, as bits, the first byte's lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Masks {
    /// Letters of ASCII.
    pub(crate) letter: u64,
    /// Digits of ASCII.
    pub(crate) number: u64,
    /// White space of ASCII.
    pub(crate) narrow: u64,
    /// U+0020.
    pub(crate) blank: u64,
    /// Apostrophes.
    pub(crate) quote: u64,
    /// Bytes beyond ASCII.
    pub(crate) high: u64,
}

/// The same of bytes beyond ASCII, which many windows have none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond {
    /// Those that continue a character.
    pub(crate) tail: u64,
    /// First bytes of which all characters are letters of two bytes: C4 to CA, D0, D1, D3 (most of Latin and Cyrillic).
    pub(crate) two: u64,
    /// The same of three bytes: E5 to E9, EB, EC (most of Han and Hangul).
    pub(crate) three: u64,
    /// E4, of which all characters are letters whose second byte is B8 or more (Han up to U+4FFF).
    pub(crate) e4: u64,
    /// B8 to BF.
    pub(crate) late: u64,
    /// E3, of which all characters are letters whose second byte is 90 or more (Han), and those of kana: 81 with a third
    /// byte of 81 or more, 82 with one of 80 to 96 or A1 or more, 83 with another than BB.
    pub(crate) e3: u64,
    /// 81, 82 and 83.
    pub(crate) second: [u64; 3],
    /// 81 to BF; 80 to 96 and A1 to BF; BB.
    pub(crate) third: [u64; 3],
    /// 90 to BF.
    pub(crate) han: u64,
}

/// What finds them, at the speed of some instruction set.
pub(crate) trait Masker: Copy {
    fn masks(self, text: &[u8; WINDOW]) -> Masks;
    fn beyond(self, text: &[u8; WINDOW]) -> Beyond;

    /// Writes the places of the bits, plus `at`, and may write anything behind them.
    #[inline(always)]
    fn places(self, bits: u64, at: u16, places: &mut [u16; WINDOW]) {
        let mut bits = bits;
        for step in places.as_chunks_mut::<STEP>().0 {
            for place in step {
                *place = at.wrapping_add(bits.trailing_zeros() as u16);
                bits &= bits.wrapping_sub(1);
            }
            if bits == 0 {
                break;
            }
        }
    }
}

/// Byte by byte: the specification of the others.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Masker for Plain {
    #[inline]
    fn masks(self, text: &[u8; WINDOW]) -> Masks {
        let mask = |test: &dyn Fn(u8) -> bool| mask(text, test);
        Masks {
            letter: mask(&|byte| within(byte | 0x20, b'a', 26)),
            number: mask(&|byte| within(byte, b'0', 10)),
            narrow: mask(&|byte| (byte == b' ') | within(byte, b'\t', 5)),
            blank: mask(&|byte| byte == b' '),
            quote: mask(&|byte| byte == b'\''),
            high: high_bits(text),
        }
    }

    #[inline]
    fn beyond(self, text: &[u8; WINDOW]) -> Beyond {
        let mask = |test: &dyn Fn(u8) -> bool| mask(text, test);
        Beyond {
            tail: mask(&|byte| within(byte, 0x80, 0x40)),
            two: mask(&|byte| within(byte, 0xC4, 7) | within(byte, 0xD0, 2) | within(byte, 0xD3, 1)),
            three: mask(&|byte| within(byte, 0xE5, 5) | within(byte, 0xEB, 2)),
            e4: mask(&|byte| byte == 0xE4),
            late: mask(&|byte| within(byte, 0xB8, 8)),
            e3: mask(&|byte| byte == 0xE3),
            second: [0x81, 0x82, 0x83].map(|second| mask(&|byte| byte == second)),
            third: [
                mask(&|byte| within(byte, 0x81, 0x3F)),
                mask(&|byte| within(byte, 0x80, 0x17) | within(byte, 0xA1, 0x1F)),
                mask(&|byte| byte == 0xBB),
            ],
            han: mask(&|byte| within(byte, 0x90, 0x30)),
        }
    }
}

/// Whether a byte is one of `count` from `first` on.
#[inline]
const fn within(byte: u8, first: u8, count: u8) -> bool {
    byte.wrapping_sub(first) < count
}

/// The bytes for which a test holds.
#[inline]
fn mask(text: &[u8; WINDOW], holds: &dyn Fn(u8) -> bool) -> u64 {
    high_bits(&text.map(|byte| u8::from(holds(byte)) << 7))
}

impl Beyond {
    /// First bytes of letters of two bytes, and of three.
    #[inline(always)]
    const fn letters(&self) -> (u64, u64) {
        let [s1, s2, s3] = self.second;
        let [t1, t2, bb] = self.third;
        let kana = s1 >> 1 & t1 >> 2 | s2 >> 1 & t2 >> 2 | s3 >> 1 & !(bb >> 2) | self.han >> 1;
        let three = self.three & self.tail >> 1 | self.e4 & self.late >> 1 | self.e3 & kana;
        (self.two & self.tail >> 1, three & self.tail >> 2)
    }
}

/// Bit n of the result is the highest bit of byte n.
#[inline]
fn high_bits(bytes: &[u8; WINDOW]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    let mut bits = 0;
    for (at, word) in words.iter().enumerate() {
        let ones = (u64::from_le_bytes(*word) >> 7) & 0x0101_0101_0101_0101;
        bits |= (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    bits
}

/// The bytes of each [`Class`], and the first bytes of white space beyond ASCII.
struct Kinds {
    of: [u64; 4],
    wide: u64,
}

const LETTER: usize = Class::Letter as usize;
const SPACE: usize = Class::Space as usize;

/// Gives all bytes their classes. Characters beyond ASCII are found by their first bytes, none of which is part of
/// another character. One that does not end inside the window is left as [`Class::Other`]: it begins where nothing is
/// [`CERTAIN`].
#[inline(always)]
fn kinds(masker: impl Masker, text: &[u8; WINDOW], masks: &Masks) -> Kinds {
    let mut of = [0; 4];
    of[LETTER] = masks.letter;
    of[Class::Number as usize] = masks.number;
    of[SPACE] = masks.narrow;
    let mut wide = 0;
    if masks.high != 0 {
        let beyond = masker.beyond(text);
        let (two, three) = beyond.letters();
        of[LETTER] |= two | two << 1 | three | three << 1 | three << 2;
        let mut leads = masks.high & !(beyond.tail | two | three);
        while leads != 0 {
            let at = leads.trailing_zeros() as usize;
            leads &= leads - 1;
            let rest = &text[at..];
            if rest.len() < len_by_lead(rest[0]) {
                break;
            }
            let (class, len) = beyond_ascii(rest[0], &rest[1..]);
            of[class as usize % 4] |= ((1 << len) - 1) << at;
            wide |= u64::from(class == Class::Space) << at;
        }
    }
    of[Class::Other as usize] = !(of[LETTER] | of[Class::Number as usize] | of[SPACE]);
    Kinds { of, wide: wide & CERTAIN }
}

/// The bits at which a piece starts, given that one starts at the first; what begins in the last few bytes, where what
/// follows would have to be known, is left out.
#[inline(always)]
pub(crate) fn starts(masker: impl Masker, text: &[u8; WINDOW]) -> u64 {
    let masks = masker.masks(text);
    let Kinds { of, mut wide } = kinds(masker, text, &masks);
    let same = of.iter().fold(0, |same, kind| same | (kind & kind << 1));
    let space = of[SPACE];
    // A blank is joined with what follows it, and what is last of white space is not joined with what is before it.
    let mut starts = (!same & (!(masks.blank << 1) | space)) | (masks.narrow & !(space >> 1)) | 1;
    while wide != 0 {
        let at = wide.trailing_zeros() as usize;
        starts |= (!space >> (at + len_by_lead(text[at])) & 1) << at;
        wide &= wide - 1;
    }
    contractions(text, masks.quote, starts & CERTAIN)
}

/// Makes pieces of the contractions among them.
#[inline(always)]
fn contractions(text: &[u8; WINDOW], quotes: u64, starts: u64) -> u64 {
    let mut candidates = quotes & starts;
    let mut starts = starts;
    while candidates != 0 {
        let at = candidates.trailing_zeros() as usize;
        let len = contraction(&text[at..]);
        if len > 0 {
            // A letter behind an apostrophe begins a run of its own by the neighbours' account.
            starts &= !(1 << (at + 1));
            starts |= (1 << (at + len)) & CERTAIN;
        }
        candidates &= candidates - 1;
    }
    starts
}

/// How far pieces are looked for.
const FAR: usize = 1 << 15;

/// The length of a piece that goes on where a window is no more certain; 0 if it is white space, or longer than any that is
/// kept, or where bytes are no text: that is for the careful reading.
#[inline(always)]
fn long_len(masker: impl Masker, text: &[u8]) -> usize {
    let mut at = usize::from(text.first() == Some(&b' '));
    let Some((class, _)) = first(&text[at..]).filter(|(class, _)| *class != Class::Space) else { return 0 };
    while at <= PHRASE_LEN - WINDOW
        && let Some(window) = text[at..].first_chunk()
    {
        let masks = masker.masks(window);
        let run = (!kinds(masker, window, &masks).of[class as usize % 4]).trailing_zeros() as usize;
        if run < UNCERTAIN {
            return at + run;
        }
        // The next begins where a character does, of which there is one in any four bytes.
        let tail = if masks.high == 0 { 0 } else { masker.beyond(window).tail };
        let heads = !tail & CERTAIN;
        if heads >> (UNCERTAIN - 4) == 0 {
            break;
        }
        at += 63 - heads.leading_zeros() as usize;
    }
    0
}

/// Where the first pieces of a text end, how many they are, and where the last of them ends: 0 if the first is too long to
/// be seen whole.
#[inline(always)]
pub(crate) fn piece_ends(masker: impl Masker, text: &[u8], ends: &mut [u16; ENDS]) -> (usize, usize) {
    let (mut at, mut count) = (0, 0);
    while count <= MOST - WINDOW
        && at < FAR
        && let Some(block) = text[at..].first_chunk::<BLOCK>()
    {
        // No closure: it would be compiled without the masker's instructions.
        let Some(window) = block.first_chunk() else { break };
        let starts = starts(masker, window) & !1;
        if starts == 0 {
            let len = long_len(masker, &text[at..]);
            if len == 0 {
                break;
            }
            at += len;
            ends[count] = at as u16;
            count += 1;
            continue;
        }
        let last = 63 - starts.leading_zeros() as usize;
        let found = starts.count_ones() as usize;
        let Some(places) = ends[count..].first_chunk_mut() else { break };
        masker.places(starts, at as u16, places);
        count += found;
        at += last;
    }
    (count, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::classes::first;
    use crate::tokenizer::split::piece_len;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    /// Every start that a window gives is one, and none before the last is left out.
    fn check(text: &[u8]) {
        let mut want = 0_u64;
        let mut at = 0;
        while at < text.len() {
            if at < 58 {
                want |= 1 << at;
            }
            at += piece_len(&text[at..]);
        }
        assert_eq!(starts(Plain, text[..WINDOW].try_into().unwrap()), want, "{}", text.escape_ascii());
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let bytes = |text: &'static [u8]| Just(text.to_vec());
        prop_oneof![
            3 => proptest::sample::select(&b" \n\t\r'stmdrvel09aZ.,-\0\x1c"[..]).prop_map(|byte| std::vec![byte]),
            2 => any::<char>().prop_map(|c| String::from(c).into_bytes()),
            1 => any::<u8>().prop_map(|byte| std::vec![byte]),
            1 => proptest::sample::select(&["\u{3000}", "\u{a0}", "\u{85}", "\u{2028}", "é", "я", "中", "。", "½", "😀"][..])
                .prop_map(|text| text.as_bytes().to_vec()),
            1 => prop_oneof![bytes(b"'s"), bytes(b"'re"), bytes(b" 'll"), bytes(b"''ve"), bytes(b"  "), bytes(b"word")],
        ]
    }

    proptest! {
        // 16 times as often as other properties, wherever that is little or much.
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.saturating_mul(16)))]
        #[test]
        fn windows_agree_with_the_careful_reading(parts in proptest::collection::vec(piece(), 64..200)) {
            check(&parts.concat());
        }
    }

    proptest! {
        #[test]
        fn long_pieces_agree_with_the_careful_reading(
            parts in proptest::collection::vec((piece(), 1..500_usize, any::<bool>()), 1..8),
        ) {
            let mut text = Vec::new();
            for (part, count, blank) in parts {
                text.extend_from_slice(if blank { b" " } else { b"" });
                text.extend(part.repeat(count / part.len()));
            }
            let mut ends = [0; ENDS];
            let (mut from, mut at) = (0, 0);
            loop {
                let (count, len) = piece_ends(Plain, &text[from..], &mut ends);
                for end in &ends[..count] {
                    at += piece_len(&text[at..]);
                    prop_assert_eq!(from + usize::from(*end), at, "{}", text.escape_ascii());
                }
                prop_assert_eq!(at, from + len);
                if len == 0 {
                    at += piece_len(&text[at..]);
                }
                if at == text.len() {
                    break;
                }
                from = at;
            }
        }
    }

    #[test]
    fn first_bytes_of_letters_have_no_others() {
        let mut buffer = [0; 4];
        for c in ('\0'..=char::MAX).step_by(crate::sparse::step(31)) {
            let text = c.encode_utf8(&mut buffer).as_bytes();
            let mut window = [b' '; WINDOW];
            window[..text.len()].copy_from_slice(text);
            let masks = Plain.masks(&window);
            let (class, len) = first(text).unwrap();
            let (two, three) = Plain.beyond(&window).letters();
            if two & 1 == 1 {
                assert_eq!((class, len), (Class::Letter, 2), "{c:?}");
            }
            if three & 1 == 1 {
                assert_eq!((class, len), (Class::Letter, 3), "{c:?}");
            }
            let all = (1 << len) - 1;
            assert_eq!(kinds(Plain, &window, &masks).of[class as usize] & all, all, "{c:?}");
        }
    }

    #[test]
    fn bits_are_gathered_in_order() {
        for at in 0..WINDOW {
            let mut bytes = [0x7F; WINDOW];
            bytes[at] = 0x80;
            assert_eq!(high_bits(&bytes), 1 << at);
        }
    }
}
