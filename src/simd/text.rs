//! Text as the tokenizer reads it: the classes of 64 bytes at once, and lines of memory that will be wanted.

use super::Level;
use super::level::Isa;
use crate::tokenizer::window::{ENDS, Masker, Plain, WINDOW, piece_ends};

/// Asks for the line of the machine's cache in which `all[index]` begins, if there is such.
#[inline(always)]
pub(crate) fn prefetch<T>(all: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = all.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of an item of the slice; reading ahead changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(item).cast()) };
    }
}

/// [`piece_ends`] by the best instructions that the level has for it.
#[inline]
pub(crate) fn ends(level: Level, text: &[u8], ends: &mut [u16; ENDS]) -> (usize, usize) {
    match level.isa() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx2 => unsafe { x86::ends_avx2(text, ends) },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Bf16 if std::arch::is_x86_feature_detected!("avx512vbmi2") => {
            // SAFETY: a level is made only where the processor has it, and what is beyond the level was asked for.
            unsafe { x86::ends_vbmi2(text, ends) }
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx512 | Isa::Avx512Bf16 => unsafe { x86::ends_avx512(text, ends) },
        _ => piece_ends(Plain, text, ends),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use super::{ENDS, Masker, WINDOW, piece_ends};
    use crate::tokenizer::window::{Beyond, Masks};

    /// The proof that AVX2 is there.
    #[derive(Clone, Copy)]
    struct Avx2(());

    /// The proof that AVX-512 with BW is there.
    #[derive(Clone, Copy)]
    struct Avx512(());

    /// The proof that VBMI2 is there, and AVX-512 with BW.
    #[derive(Clone, Copy)]
    struct Vbmi2(Avx512);

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn ends_avx2(text: &[u8], ends: &mut [u16; ENDS]) -> (usize, usize) {
        piece_ends(Avx2(()), text, ends)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn ends_avx512(text: &[u8], ends: &mut [u16; ENDS]) -> (usize, usize) {
        piece_ends(Avx512(()), text, ends)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn ends_vbmi2(text: &[u8], ends: &mut [u16; ENDS]) -> (usize, usize) {
        piece_ends(Vbmi2(Avx512(())), text, ends)
    }

    impl Masker for Avx2 {
        #[inline(always)]
        fn masks(self, text: &[u8; WINDOW]) -> Masks {
            // SAFETY: the token is made only in a function that enables the instructions.
            unsafe { masks_avx2(text) }
        }

        #[inline(always)]
        fn beyond(self, text: &[u8; WINDOW]) -> Beyond {
            // SAFETY: the token is made only in a function that enables the instructions.
            unsafe { beyond_avx2(text) }
        }
    }

    impl Masker for Avx512 {
        #[inline(always)]
        fn masks(self, text: &[u8; WINDOW]) -> Masks {
            // SAFETY: the token is made only in a function that enables the instructions.
            unsafe { masks_avx512(text) }
        }

        #[inline(always)]
        fn beyond(self, text: &[u8; WINDOW]) -> Beyond {
            // SAFETY: the token is made only in a function that enables the instructions.
            unsafe { beyond_avx512(text) }
        }
    }

    impl Masker for Vbmi2 {
        #[inline(always)]
        fn masks(self, text: &[u8; WINDOW]) -> Masks {
            self.0.masks(text)
        }

        #[inline(always)]
        fn beyond(self, text: &[u8; WINDOW]) -> Beyond {
            self.0.beyond(text)
        }

        #[inline(always)]
        fn places(self, bits: u64, at: u16, places: &mut [u16; WINDOW]) {
            // SAFETY: the token is made only in a function that enables the instructions.
            unsafe { places_vbmi2(bits, at, places) }
        }
    }

    /// The numbers of all bytes of a window.
    const NUMBERS: [u8; WINDOW] = {
        let mut all = [0; WINDOW];
        let mut at = 0;
        while at < WINDOW {
            all[at] = at as u8;
            at += 1;
        }
        all
    };

    /// All places at once: those whose bits are not set are squeezed out.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
    #[inline]
    fn places_vbmi2(bits: u64, at: u16, places: &mut [u16; WINDOW]) {
        let found = _mm512_maskz_compress_epi8(bits, window(&NUMBERS));
        let (low, high) = (_mm512_castsi512_si256(found), _mm512_extracti64x4_epi64::<1>(found));
        let at = _mm512_set1_epi16(at.cast_signed());
        let halves = [low, high].map(|half| _mm512_add_epi16(_mm512_cvtepu8_epi16(half), at));
        for (place, half) in places.as_chunks_mut::<{ WINDOW / 2 }>().0.iter_mut().zip(halves) {
            // SAFETY: the place has the size of a register.
            unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), half) };
        }
    }

    /// The numbers of two registers' bytes for which a test holds.
    macro_rules! both {
        ($halves:expr, $test:expr) => {{
            let [low, high] = $halves.map(|half| u64::from(_mm256_movemask_epi8($test(half)).cast_unsigned()));
            low | high << 32
        }};
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn masks_avx2(text: &[u8; WINDOW]) -> Masks {
        let halves = halves(text);
        let within = |v, first, count| within_avx2(v, first, count);
        let is = |v: __m256i, byte: u8| _mm256_cmpeq_epi8(v, _mm256_set1_epi8(byte.cast_signed()));
        let or = |a, b| _mm256_or_si256(a, b);
        Masks {
            letter: both!(halves, |v| within(or(v, _mm256_set1_epi8(0x20)), b'a', 26)),
            number: both!(halves, |v| within(v, b'0', 10)),
            narrow: both!(halves, |v| or(is(v, b' '), within(v, b'\t', 5))),
            blank: both!(halves, |v| is(v, b' ')),
            quote: both!(halves, |v| is(v, b'\'')),
            high: both!(halves, |v| v),
        }
    }

    /// Two registers of a window.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn halves(text: &[u8; WINDOW]) -> [__m256i; 2] {
        let half = |at: usize| {
            let (words, _) = text.as_chunks::<8>();
            let word = |n: usize| i64::from_le_bytes(words[at + n]);
            _mm256_set_epi64x(word(3), word(2), word(1), word(0))
        };
        [half(0), half(4)]
    }

    /// Whether a byte is one of `count` from `first` on.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn within_avx2(v: __m256i, first: u8, count: u8) -> __m256i {
        let all = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        let from = _mm256_sub_epi8(v, all(first));
        _mm256_cmpeq_epi8(_mm256_min_epu8(from, all(count - 1)), from)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn beyond_avx2(text: &[u8; WINDOW]) -> Beyond {
        let halves = halves(text);
        let within = |v, first, count| within_avx2(v, first, count);
        let is = |v: __m256i, byte: u8| _mm256_cmpeq_epi8(v, _mm256_set1_epi8(byte.cast_signed()));
        let or = |a, b| _mm256_or_si256(a, b);
        Beyond {
            tail: both!(halves, |v| within(v, 0x80, 0x40)),
            two: both!(halves, |v| or(within(v, 0xC4, 7), or(within(v, 0xD0, 2), is(v, 0xD3)))),
            three: both!(halves, |v| or(within(v, 0xE5, 5), within(v, 0xEB, 2))),
            e4: both!(halves, |v| is(v, 0xE4)),
            late: both!(halves, |v| within(v, 0xB8, 8)),
            e3: both!(halves, |v| is(v, 0xE3)),
            second: [
                both!(halves, |v| is(v, 0x81)),
                both!(halves, |v| is(v, 0x82)),
                both!(halves, |v| is(v, 0x83)),
            ],
            third: [
                both!(halves, |v| within(v, 0x81, 0x3F)),
                both!(halves, |v| or(within(v, 0x80, 0x17), within(v, 0xA1, 0x1F))),
                both!(halves, |v| is(v, 0xBB)),
            ],
            han: both!(halves, |v| within(v, 0x90, 0x30)),
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn masks_avx512(text: &[u8; WINDOW]) -> Masks {
        let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        let v = window(text);
        let within = |v, first: u8, count: u8| _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, all(first)), all(count));
        let is = |byte: u8| _mm512_cmpeq_epi8_mask(v, all(byte));
        let blank = is(b' ');
        Masks {
            letter: within(_mm512_or_si512(v, all(0x20)), b'a', 26),
            number: within(v, b'0', 10),
            narrow: blank | within(v, b'\t', 5),
            blank,
            quote: is(b'\''),
            high: _mm512_movepi8_mask(v),
        }
    }

    /// A window in one register.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn window(text: &[u8; WINDOW]) -> __m512i {
        let (words, _) = text.as_chunks::<8>();
        let word = |n: usize| i64::from_le_bytes(words[n]);
        _mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0))
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn beyond_avx512(text: &[u8; WINDOW]) -> Beyond {
        let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        let v = window(text);
        let within = |v, first: u8, count: u8| _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, all(first)), all(count));
        let is = |byte: u8| _mm512_cmpeq_epi8_mask(v, all(byte));
        Beyond {
            tail: within(v, 0x80, 0x40),
            two: within(v, 0xC4, 7) | within(v, 0xD0, 2) | is(0xD3),
            three: within(v, 0xE5, 5) | within(v, 0xEB, 2),
            e4: is(0xE4),
            late: within(v, 0xB8, 8),
            e3: is(0xE3),
            second: [is(0x81), is(0x82), is(0x83)],
            third: [within(v, 0x81, 0x3F), within(v, 0x80, 0x17) | within(v, 0xA1, 0x1F), is(0xBB)],
            han: within(v, 0x90, 0x30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn every_level_finds_the_same_pieces(
            text in proptest::collection::vec(prop_oneof![any::<u8>(), proptest::sample::select(&b" \n'sea1\xC4\xD0\xD1\xD3\xE4\xE5\xE9\xEB\xEC\x80\xB7\xB8\xBF"[..])], 0..1000),
        ) {
            let mut want = [0; ENDS];
            let (count, at) = piece_ends(Plain, &text, &mut want);
            for level in Level::all() {
                let mut found = [0; ENDS];
                prop_assert_eq!(ends(level, &text, &mut found), (count, at), "{}", level);
                prop_assert_eq!(&found[..count], &want[..count], "{}", level);
            }
            #[cfg(target_arch = "x86_64")]
            if Level::best().is_512() {
                let mut found = [0; ENDS];
                // SAFETY: a level is made only where the processor has it.
                prop_assert_eq!(unsafe { x86::ends_avx512(&text, &mut found) }, (count, at));
                prop_assert_eq!(&found[..count], &want[..count]);
            }
        }
    }

    #[test]
    fn every_level_sees_long_pieces_whole() {
        for unit in ["a", "7", "=", "я", "中", "の", "😀", " "] {
            for bytes in [50, 64, 100, 1000, 1024, 1025, 3000] {
                let run = [" ", &unit.repeat(bytes / unit.len())].concat();
                let text = run.clone() + &" .".repeat(99);
                let mut want = [0; ENDS];
                let (count, at) = piece_ends(Plain, text.as_bytes(), &mut want);
                for level in Level::all() {
                    let mut found = [0; ENDS];
                    assert_eq!(ends(level, text.as_bytes(), &mut found), (count, at), "{level}");
                    assert_eq!(found[..count], want[..count], "{level}");
                }
                let is_seen = bytes <= 960 && unit != " ";
                assert!(!is_seen || usize::from(want[0]) == run.len(), "{unit} {bytes}");
            }
        }
    }

    #[test]
    fn what_is_asked_for_ahead_need_not_be_there() {
        let all: Vec<u64> = (0..100).collect();
        for index in [0, 99, 100, usize::MAX] {
            prefetch(&all, index);
        }
        assert_eq!(all.iter().sum::<u64>(), 4950);
    }
}
