//! Products of many tokens: a tile of weights is unpacked once and used for all of them.
//!
//! A tile is a few dozen outputs over all inputs, interleaved, so that a vector holds the weights of as many outputs for one
//! input (or for four, in bytes). It stays in the second-level cache while the tokens pass, in groups of as many as
//! there are registers for their sums.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod float;
mod plain;
mod tile;
mod tiles;

pub(crate) use self::tiles::Tiles;

use super::lanes::{Lanes, in_step};
#[cfg(target_arch = "x86_64")]
use super::level::Isa;
use super::packed::View;
use super::{Act, Level, MatMut, Scratch, Then, WeightType};

/// The weights of a product as they stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel<'a> {
    pub(super) bytes: &'a [u8],
    /// From one row to the next, in bytes.
    pub(super) stride: usize,
    /// Whether a row is an input's (GPT-2's Conv1D) and not an output's.
    pub(super) input_major: bool,
    pub(super) ty: WeightType,
}

impl<'a> Panel<'a> {
    /// A row and what follows it.
    #[inline(always)]
    fn row(&self, index: usize) -> &'a [u8] {
        index.checked_mul(self.stride).and_then(|at| self.bytes.get(at..)).unwrap_or_default()
    }
}

/// The product with activations in F32, and what `then` adds.
pub(super) fn single(
    level: Level,
    panel: Panel<'_>,
    act: &Act,
    out: MatMut<'_>,
    then: Then<'_>,
    scratch: &mut Scratch,
) {
    float::multiply(level, panel, act, out, then, scratch);
}

/// The product with activations in BF16, and what `then` adds. How they were packed says which kernel takes them.
pub(super) fn brain(
    level: Level,
    panel: Panel<'_>,
    act: &Act,
    out: MatMut<'_>,
    then: Then<'_>,
    scratch: &mut Scratch,
) {
    #[cfg(target_arch = "x86_64")]
    if act.level().isa() == Isa::Avx512Bf16 {
        // SAFETY: a level is made only where the processor has it.
        return unsafe { avx512::brain(panel, act, out, then, scratch) };
    }
    // The activations were rounded when they were made, and have been kept as F32.
    float::multiply(level, panel, act, out, then, scratch);
}

/// The product of blocks with activations in 8 bits, and what `then` adds. How they were packed says which kernel takes them.
pub(super) fn q8(
    level: Level,
    panel: Panel<'_>,
    act: &Act,
    out: MatMut<'_>,
    then: Then<'_>,
    scratch: &mut Scratch,
) {
    match act.level().isa() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512::q8(panel, act, out, then, scratch) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx2 => unsafe { avx2::q8(panel, act, out, then, scratch) },
        _ => plain::q8(level, panel, act, out, then),
    }
}

/// The product of packed blocks with many tokens in 8 bits, and what `then` adds; false where there is no kernel for tiles.
pub(super) fn packed(view: View<'_>, act: &Act, out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) -> bool {
    match act.level().isa() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Bf16 => {
            // SAFETY: a level is made only where the processor has it.
            unsafe { avx512::packed(view, act, out, then, scratch) };
            true
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            // SAFETY: a level is made only where the processor has it.
            unsafe { avx2::packed(view, act, out, then, scratch) };
            true
        }
        _ => false,
    }
}

/// What is added to the sums of a tile of `P` vectors of outputs.
#[derive(Clone, Copy)]
struct Finish<V, const P: usize> {
    bias: [V; P],
    add: bool,
}

impl<V: Copy, const P: usize> Finish<V, P> {
    /// For the outputs from `first` on.
    #[inline(always)]
    fn new<L: Lanes<V = V>>(l: L, then: Then<'_>, first: usize) -> Self {
        let mut bias = [l.zero(); P];
        if let Some(values) = then.bias {
            let values = values.get(first..).unwrap_or_default();
            for (to, part) in in_step(&mut bias, values.chunks(L::N)) {
                *to = l.load(part);
            }
        }
        Self { bias, add: then.add }
    }

    /// Writes the sums of a token to its outputs, as many as there are.
    #[inline(always)]
    fn write<L: Lanes<V = V>>(&self, l: L, row: &mut [f32], sums: &[V; P]) {
        for (part, (sum, bias)) in in_step(row.chunks_mut(L::N), in_step(sums, &self.bias)) {
            let before = if self.add { l.add(l.load(part), *bias) } else { *bias };
            l.store(part, l.add(before, *sum));
        }
    }
}
