//! Harnesses for [Kani](https://model-checking.github.io/kani/): what the smallest pieces promise, for every input.
//!
//! `cargo kani` proves each for all values, within the bounds that its arrays set; `cargo test --lib proofs` runs the same
//! with many random ones, so that they stay in step with the code where there is no Kani. The bounds are those of what is
//! read here: no loop runs longer than an array of a harness, so that `--default-unwind 24` is enough.

use crate::cursor::Cursor;
use crate::error::ErrorKind;
use crate::json::lex::Lexer;
use crate::typed::CastError;
use crate::{Dtype, Name, Shape, Span, TensorView, num};

#[cfg(kani)]
use kani::any;
#[cfg(not(kani))]
use random::any;

#[cfg(not(kani))]
mod random {
    use core::array;
    use std::cell::Cell;

    /// Random values that are often at the ends of their range, as faults are.
    pub(super) trait Any {
        fn any(bits: u64) -> Self;
    }

    macro_rules! numbers {
        ($($number:ty),*) => {$(
            impl Any for $number {
                fn any(bits: u64) -> Self {
                    let near = <$number>::try_from(bits >> 8 & 31).unwrap_or_default();
                    match bits & 7 {
                        0 => near,
                        1 => <$number>::MAX - near,
                        2 => (<$number>::MAX / 2).wrapping_add(near),
                        _ => <$number>::from_le_bytes(array::from_fn(|at| bits.to_be_bytes()[at % 8])),
                    }
                }
            }
        )*};
    }
    numbers!(u8, u32, u64, usize);

    impl<T: Any, const N: usize> Any for [T; N] {
        fn any(_: u64) -> Self {
            array::from_fn(|_| any())
        }
    }

    std::thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0x9E37_79B9_7F4A_7C15) };
    }

    /// The next value (the generator is Marsaglia's xorshift, with Vigna's multiplier).
    pub(super) fn any<T: Any>() -> T {
        let mut state = STATE.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        STATE.set(state);
        T::any(state.wrapping_mul(0x2545_F491_4F6C_DD1D))
    }
}

/// How often a harness runs where its values are random.
#[cfg(not(kani))]
const TRIALS: usize = 3000;
#[cfg(kani)]
const TRIALS: usize = 1;

macro_rules! proofs {
    ($($(#[$doc:meta])* fn $name:ident() $body:block)*) => {
        $(
            $(#[$doc])*
            #[cfg_attr(kani, kani::proof)]
            #[cfg_attr(not(kani), test)]
            fn $name() {
                for _ in 0..TRIALS {
                    $body
                }
            }
        )*
    };
}

/// Whether this machine orders bytes as the files do.
const IN_PLACE: bool = cfg!(target_endian = "little");

/// The beginning of an array, of any length.
fn some<const N: usize>(bytes: &[u8; N]) -> &[u8] {
    let len: usize = any();
    &bytes[..len % (N + 1)]
}

proofs! {
    /// Arithmetic is that of integers without an end, or nothing.
    fn arithmetic_is_exact_or_none() {
        let (a, b): (u64, u64) = (any(), any());
        let wide = |value: u128| u64::try_from(value).ok();
        assert_eq!(num::add(a, b), wide(u128::from(a) + u128::from(b)));
        assert_eq!(num::mul(a, b), wide(u128::from(a) * u128::from(b)));
        assert_eq!(num::sub(a, b), u128::from(a).checked_sub(u128::from(b)).and_then(wide));
        assert_eq!(num::narrow(a), usize::try_from(a).ok());
    }
    /// What is aligned is the next multiple, or there is none.
    fn alignment_is_the_next_multiple() {
        let (value, power): (u64, u32) = (any(), any());
        let alignment = 1_u64 << (power % 64);
        match num::align_up(value, alignment) {
            Some(up) => assert!(up >= value && up - value < alignment && up % alignment == 0),
            None => assert!(value > u64::MAX - (alignment - 1)),
        }
    }
    /// A product is nothing only where it does not fit, or a part of it does not.
    fn a_product_is_exact_or_none() {
        let factors: [u64; 3] = any();
        if let Some(product) = num::product(factors) {
            let exact = factors.iter().try_fold(1_u128, |sum, factor| sum.checked_mul(u128::from(*factor)));
            assert!(factors.contains(&0) && product == 0 || exact == Some(u128::from(product)));
        }
    }
    /// A cursor gives every byte once, in order, and knows where it is.
    fn a_cursor_loses_nothing() {
        let bytes: [u8; 12] = any();
        let (text, start): (&[u8], u32) = (some(&bytes), any());
        let (count, start): (usize, u64) = (any(), u64::from(start));
        let mut cursor = Cursor::new(text, start);
        match cursor.take(count) {
            Some(head) => assert!(head.len() == count && cursor.rest().len() == text.len() - count),
            None => assert!(count > text.len() && cursor.rest().len() == text.len()),
        }
        assert_eq!(cursor.at(), start + num::widen(text.len() - cursor.rest().len()));
        let next = cursor.rest().first().copied();
        assert_eq!((cursor.peek(), cursor.byte()), (next, next));
    }
    /// A span cuts what it says out of a file, or nothing.
    fn a_span_is_inside_or_nothing() {
        let file: [u8; 16] = any();
        let (start, end): (u64, u64) = (any(), any());
        match Span::new(start, end) {
            None => assert!(start > end),
            Some(span) => match span.of(&file) {
                Some(bytes) => assert!(end <= 16 && num::widen(bytes.len()) == end - start),
                None => assert!(end > 16),
            },
        }
    }
    /// An integer is what its digits say, and what is refused has a cause.
    fn an_integer_is_what_its_digits_say() {
        let mut text: [u8; 21] = any();
        for byte in &mut text {
            *byte = b"0123456789,]-.e "[usize::from(*byte % 16)];
        }
        let text = core::str::from_utf8(some(&text)).unwrap_or_default();
        let mut lexer = Lexer::new(text, 8);
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let mut exact = Some(0_u128);
        for digit in text.bytes().take(digits) {
            exact = exact.map(|value| value * 10 + u128::from(digit - b'0'));
        }
        let fits = exact.and_then(|value| u64::try_from(value).ok());
        match lexer.integer(ErrorKind::JsonValue) {
            Ok(value) => {
                assert!(fits == Some(value) && digits > 0 && (digits == 1 || !text.starts_with('0')));
                assert_eq!(lexer.rest().len(), text.len() - digits);
            }
            Err(error) => assert!(error.at() >= 8 && error.at() <= 8 + num::widen(text.len())),
        }
    }
    /// Elements are shown in place exactly where the machine, the address and the length allow it.
    fn typed_access_is_aligned() {
        let bytes: [u64; 3] = any();
        let bytes = zerocopy::IntoBytes::as_bytes(&bytes);
        let (start, len): (usize, usize) = (any(), any());
        let (start, len) = (start % 8, len % 17);
        let part = &bytes[start..start + len];
        let (count, long) = (num::widen(len / 4), num::widen(len));
        let Some(span) = Span::new(0, long) else { return };
        let dims = [count];
        let view = TensorView::new(Name::from(""), Dtype::U32, Shape::from(&dims[..]), span, part);
        match view.as_slice::<u32>() {
            Ok(slice) => assert!(IN_PLACE && (start % 4 == 0 || len == 0) && slice.len() * 4 == len),
            Err(error) => assert!(if error == CastError::ByteOrder { !IN_PLACE } else { start % 4 != 0 || len % 4 != 0 }),
        }
    }
}
