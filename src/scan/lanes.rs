//! Elements of one, two, four or eight bytes. A stripe of them is first asked whether it holds anything odd at all, in a
//! loop without branches that the compiler turns into vectors; only where it does are its elements looked at one by one.

use super::Census;
use crate::gguf::Endian;
use crate::{Dtype, num};

/// Bytes of a stripe: they are still in the first cache when they are looked at again.
const STRIPE: usize = 4096;

/// What to look for in numbers of one width. The masks are for a number as it is read, lowest byte first, whatever the
/// order in the file: a test of bits does not care where they stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    width: Width,
    /// An element is special where its bits under `mask` are `special`.
    mask: u64,
    special: u64,
    /// All bits but the sign; those of zero are none.
    magnitude: u64,
    /// The magnitude of infinity, where there is one.
    infinity: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// One byte that must be 0 or 1.
    Bool,
    W8,
    W16,
    W32,
    /// Two of 32 bits in one element.
    Pair,
    W64,
}

impl Lane {
    /// The tests of a type.
    pub(super) const fn new(dtype: Dtype, endian: Endian) -> Self {
        use Width::{Bool, Pair, W8, W16, W32, W64};
        let lane = match dtype {
            Dtype::F16 => Self::ieee(W16, 0x7C00, 0x7FFF),
            Dtype::BF16 => Self::ieee(W16, 0x7F80, 0x7FFF),
            Dtype::F32 => Self::ieee(W32, 0x7F80_0000, 0x7FFF_FFFF),
            Dtype::C64 => Self::ieee(Pair, 0x7F80_0000, 0x7FFF_FFFF),
            Dtype::F64 => Self::ieee(W64, 0x7FF0_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF),
            Dtype::F8_E5M2 => Self::ieee(W8, 0x7C, 0x7F),
            Dtype::F8_E4M3 => Self::one(W8, 0x7F, 0x7F, 0x7F),
            Dtype::F8_E4M3FNUZ | Dtype::F8_E5M2FNUZ => Self::one(W8, 0xFF, 0x80, 0xFF),
            Dtype::F8_E8M0 => Self::one(W8, 0xFF, 0xFF, 0),
            // Two elements a byte, each with its sign on top.
            Dtype::F4 => Self::plain(W8, 0x77),
            Dtype::BOOL => Self::plain(Bool, 0xFF),
            // For being zero the width does not matter.
            _ => Self::plain(W8, 0xFF),
        };
        match endian {
            Endian::Little => lane,
            Endian::Big => lane.swapped(),
        }
    }

    /// Floats whose highest exponent is of infinity and of what is no number.
    const fn ieee(width: Width, exponent: u64, magnitude: u64) -> Self {
        Self { width, mask: exponent, special: exponent, magnitude, infinity: Some(exponent) }
    }

    /// Floats with codes that are no number, and none that is infinite.
    const fn one(width: Width, mask: u64, special: u64, magnitude: u64) -> Self {
        Self { width, mask, special, magnitude, infinity: None }
    }

    /// Nothing special: what is masked with 0 is never 1.
    const fn plain(width: Width, magnitude: u64) -> Self {
        Self { width, mask: 0, special: 1, magnitude, infinity: None }
    }

    /// The same for the other order of bytes.
    const fn swapped(mut self) -> Self {
        self.mask = self.swap(self.mask);
        self.special = self.swap(self.special);
        self.magnitude = self.swap(self.magnitude);
        self.infinity = match self.infinity {
            Some(infinity) => Some(self.swap(infinity)),
            None => None,
        };
        self
    }

    const fn swap(&self, number: u64) -> u64 {
        // Behind the swap the number stands on top.
        match self.width {
            Width::Bool | Width::W8 => number,
            Width::W16 => number.swap_bytes() >> 48,
            Width::W32 | Width::Pair => number.swap_bytes() >> 32,
            Width::W64 => number.swap_bytes(),
        }
    }

    /// Bytes of an element.
    pub(super) const fn unit(&self) -> usize {
        match self.width {
            Width::Bool | Width::W8 => 1,
            Width::W16 => 2,
            Width::W32 => 4,
            Width::Pair | Width::W64 => 8,
        }
    }

    /// Whether no code of the type is zero.
    pub(super) const fn is_never_zero(&self) -> bool {
        self.magnitude == 0
    }

    /// Whether a special element can be found.
    const fn has_special(&self) -> bool {
        self.mask != 0 || matches!(self.width, Width::Bool)
    }

    /// Looks at whole elements, the first of which begins at `at`.
    pub(super) fn look(&self, bytes: &[u8], at: u64, census: &mut Census) {
        let mut at = at;
        for stripe in bytes.chunks(STRIPE) {
            // Integers have no more to tell once one of them is not zero.
            if census.nonzero && !self.has_special() {
                return;
            }
            let (odd, any) = self.stripe(stripe);
            census.nonzero |= any;
            if odd {
                self.each(stripe, at, census);
            }
            at = at.saturating_add(num::widen(stripe.len()));
        }
    }

    /// Whether an element of the stripe is special, and whether one is not zero.
    fn stripe(&self, bytes: &[u8]) -> (bool, bool) {
        match self.width {
            Width::Bool => {
                let all = bytes.iter().fold(0, |all, byte| all | byte);
                (all > 1, all != 0)
            }
            Width::W8 => test8(bytes, self),
            Width::W16 => test16(bytes.as_chunks().0, self),
            Width::W32 | Width::Pair => test32(bytes.as_chunks().0, self),
            Width::W64 => test64(bytes.as_chunks().0, self),
        }
    }

    /// Counts the special elements of a stripe.
    #[cold]
    fn each(&self, bytes: &[u8], at: u64, census: &mut Census) {
        let mut at = at;
        for element in bytes.chunks(self.unit()) {
            match self.class(element) {
                Class::Number => {}
                Class::Infinite => census.infinite.add(at),
                Class::NotANumber => census.not_a_number.add(at),
                Class::Bool => census.bools.add(at),
            }
            at = at.saturating_add(num::widen(element.len()));
        }
    }

    fn class(&self, element: &[u8]) -> Class {
        match self.width {
            Width::Bool if element.first().is_some_and(|byte| *byte > 1) => Class::Bool,
            Width::Bool => Class::Number,
            Width::Pair => {
                let (first, second) = element.split_at_checked(element.len() / 2).unwrap_or_default();
                self.number(first).max(self.number(second))
            }
            _ => self.number(element),
        }
    }

    fn number(&self, bytes: &[u8]) -> Class {
        let mut wide = [0; 8];
        for (to, from) in wide.iter_mut().zip(bytes) {
            *to = *from;
        }
        let number = u64::from_le_bytes(wide);
        if number & self.mask != self.special {
            Class::Number
        } else if self.infinity == Some(number & self.magnitude) {
            Class::Infinite
        } else {
            Class::NotANumber
        }
    }
}

/// What an element is; of the two parts of a complex number the later counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Number,
    Infinite,
    NotANumber,
    Bool,
}

/// The test of a stripe, for one width: whether an element is special, and whether one is not zero.
macro_rules! test {
    ($name:ident $lane:ty, $uint:ty, $read:expr) => {
        fn $name(lanes: &[$lane], of: &Lane) -> (bool, bool) {
            let narrow = |mask: u64| <$uint>::try_from(mask).unwrap_or(<$uint>::MAX);
            let (mask, special, magnitude) = (narrow(of.mask), narrow(of.special), narrow(of.magnitude));
            let (mut odd, mut any) = (0, 0);
            for lane in lanes {
                let number: $uint = $read(*lane);
                odd |= <$uint>::from(number & mask == special);
                any |= number & magnitude;
            }
            (odd != 0, any != 0)
        }
    };
}

test!(test8 u8, u8, core::convert::identity);
test!(test16 [u8; 2], u16, u16::from_le_bytes);
test!(test32 [u8; 4], u32, u32::from_le_bytes);
test!(test64 [u8; 8], u64, u64::from_le_bytes);
