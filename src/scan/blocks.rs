//! Blocks of GGUF: one look at the scales of each.

use super::Census;
use crate::gguf::{Endian, GgmlType};
use crate::num;
use crate::quant::{self, Form};

/// Where a type of blocks keeps its scales.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    unit: usize,
    scale: Scale,
    endian: Endian,
}

/// The scales of a block, by their place in it.
#[derive(Clone, Copy, Debug)]
enum Scale {
    /// A half.
    One(usize),
    /// Two halves, one behind the other: a scale and a minimum (of `Q8_1` a sum).
    Two(usize),
    /// A single in front.
    Single,
    /// A half of which four 16-bit numbers at this place hold a part each, in their upper four bits.
    Parts(usize),
    /// A power of two in front, which is never zero and of which `0xFF` is not valid, and behind it 4-bit floats.
    Power,
    /// Four 8-bit floats in front, any of which is valid, and behind them 4-bit floats.
    Narrow,
}

/// The exponent of a half.
const EXPONENT: u16 = 0x7C00;
/// All but its sign.
const MAGNITUDE: u16 = 0x7FFF;

impl Block {
    /// The layout of a type, `None` for plain and for unknown ones.
    pub(super) const fn new(kind: GgmlType, endian: Endian) -> Option<Self> {
        if kind.dtype().is_some() {
            return None;
        }
        let scale = match quant::numbers(kind) {
            (Form::Half, [at]) => Scale::One(*at),
            (Form::Half, [at, _]) => Scale::Two(*at),
            (Form::Single, _) => Scale::Single,
            (Form::Spread, [at]) => Scale::Parts(*at),
            (Form::Exponent, _) => Scale::Power,
            _ => Scale::Narrow,
        };
        match kind.block_bytes() {
            Some(bytes) => Some(Self { unit: num::widen32(bytes), scale, endian }),
            None => None,
        }
    }

    /// Bytes of a block.
    pub(super) const fn unit(&self) -> usize {
        self.unit
    }

    /// Looks at whole blocks, the first of which begins at `at`.
    pub(super) fn look(&self, bytes: &[u8], at: u64, census: &mut Census) {
        let mut at = at;
        let mut any = false;
        for block in bytes.chunks_exact(self.unit.max(1)) {
            let (valid, nonzero) = self.one(block).unwrap_or((true, true));
            any |= nonzero;
            if !valid {
                census.scales.add(at);
            }
            at = at.saturating_add(num::widen(self.unit));
        }
        census.nonzero |= any;
    }

    /// Whether the block's scales are valid, and whether it is not zero.
    #[inline]
    fn one(&self, block: &[u8]) -> Option<(bool, bool)> {
        let half = |at: usize| -> Option<u16> {
            let bytes = *block.get(at..)?.first_chunk()?;
            Some(match self.endian {
                Endian::Little => u16::from_le_bytes(bytes),
                Endian::Big => u16::from_be_bytes(bytes),
            })
        };
        let judge = |code: u16| (code & EXPONENT != EXPONENT, code & MAGNITUDE != 0);
        Some(match self.scale {
            Scale::One(at) => judge(half(at)?),
            Scale::Two(at) => {
                let (first, second) = (judge(half(at)?), judge(half(at.saturating_add(2))?));
                (first.0 && second.0, first.1 || second.1)
            }
            Scale::Single => {
                let bytes = *block.first_chunk()?;
                let single = match self.endian {
                    Endian::Little => f32::from_le_bytes(bytes),
                    Endian::Big => f32::from_be_bytes(bytes),
                };
                (single.is_finite(), single != 0.0)
            }
            Scale::Parts(at) => {
                let mut code = 0;
                for part in [6, 4, 2, 0] {
                    code = code << 4 | half(at.saturating_add(part))? >> 12;
                }
                judge(code)
            }
            Scale::Power => {
                let (scale, elements) = block.split_first()?;
                (*scale != 0xFF, has_nonzero(elements))
            }
            Scale::Narrow => (true, has_nonzero(block.get(4..)?)),
        })
    }
}

/// Whether one of the 4-bit floats is not zero.
fn has_nonzero(elements: &[u8]) -> bool {
    elements.iter().fold(0, |all, byte| all | byte & 0x77) != 0
}
