//! Dot products of block rows with 8-bit activations.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;

use super::act::Row;
#[cfg(target_arch = "x86_64")]
use super::lanes::padded;
use super::level::Isa;
#[cfg(target_arch = "x86_64")]
use super::stripes;
use super::{Level, WeightType};

/// The part of a block that begins at `A`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn at<const A: usize, const N: usize, const B: usize, T>(block: &[T; B]) -> &[T; N] {
    const { assert!(A + N <= B) };
    // SAFETY: A is at most B, as was just asserted.
    let start = unsafe { block.as_ptr().add(A) };
    // SAFETY: the N items from A on lie inside the array, and live as long as it is borrowed.
    unsafe { &*start.cast::<[T; N]>() }
}

/// The 64 bytes of eight blocks that begin at `A`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn part<const A: usize, const B: usize>(blocks: &[[u8; B]; 8]) -> &[u8; 64] {
    const { assert!(A + 64 <= 8 * B) };
    // SAFETY: A is at most 8 × B, the length of all blocks, as was just asserted.
    let start = unsafe { blocks.as_ptr().cast::<u8>().add(A) };
    // SAFETY: the 64 bytes from A on lie inside the blocks, and live as long as they are borrowed.
    unsafe { &*start.cast::<[u8; 64]>() }
}

/// The activations that eight blocks of 32 face.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Facing<'a> {
    q: &'a [i8; 256],
    scale: &'a [f32; 8],
    sum: &'a [f32; 8],
}

/// The activations of a row, 256 at a time.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn facing(act: Row<'_>) -> impl Iterator<Item = Facing<'_>> {
    let scales = act.scale.as_chunks::<8>().0.iter().zip(act.sum32.as_chunks::<8>().0);
    act.q.as_chunks::<256>().0.iter().zip(scales).map(|(q, (scale, sum))| Facing { q, scale, sum })
}

/// The last eight blocks of a row, filled up with zeros.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn filled<const B: usize>(rest: &[[u8; B]]) -> [[u8; B]; 8] {
    let mut blocks = [[0; B]; 8];
    for (to, from) in blocks.iter_mut().zip(rest) {
        *to = *from;
    }
    blocks
}

/// The activations that the last eight blocks of a row face, filled up with zeros.
#[cfg(target_arch = "x86_64")]
struct Last {
    q: [i8; 256],
    scale: [f32; 8],
    sum: [f32; 8],
}

#[cfg(target_arch = "x86_64")]
impl Last {
    #[cold]
    #[inline(never)]
    fn new(act: Row<'_>) -> Self {
        let (scale, sum) = (act.scale.as_chunks::<8>().1, act.sum32.as_chunks::<8>().1);
        Self { q: padded(act.q.as_chunks::<256>().1), scale: padded(scale), sum: padded(sum) }
    }

    #[inline(always)]
    fn facing(&self) -> Facing<'_> {
        Facing { q: &self.q, scale: &self.scale, sum: &self.sum }
    }
}

/// Eight blocks of 32 and the activations that they face.
#[cfg(target_arch = "x86_64")]
struct Eight<'a, const B: usize> {
    blocks: &'a [[u8; B]; 8],
    act: Facing<'a>,
}

/// A row eight blocks at a time; what is missing of the last eight is zero. Not an iterator, since the last eight are lent
/// from here, and not a closure, so that sums stay in registers.
#[cfg(target_arch = "x86_64")]
struct Eights<'a, const B: usize> {
    blocks: core::slice::Iter<'a, [[u8; B]; 8]>,
    q: core::slice::Iter<'a, [i8; 256]>,
    scale: core::slice::Iter<'a, [f32; 8]>,
    sum: core::slice::Iter<'a, [f32; 8]>,
    rest: &'a [[u8; B]],
    act: Row<'a>,
    spare: Option<([[u8; B]; 8], Last)>,
}

#[cfg(target_arch = "x86_64")]
impl<'a, const B: usize> Eights<'a, B> {
    #[inline(always)]
    fn new(row: &'a [u8], act: Row<'a>) -> Self {
        let (blocks, rest) = row.as_chunks::<B>().0.as_chunks::<8>();
        let q = act.q.as_chunks::<256>().0.iter();
        let (scale, sum) = (act.scale.as_chunks::<8>().0.iter(), act.sum32.as_chunks::<8>().0.iter());
        Self { blocks: blocks.iter(), q, scale, sum, rest, act, spare: None }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<Eight<'_, B>> {
        if let Some(blocks) = self.blocks.next() {
            let act = Facing { q: self.q.next()?, scale: self.scale.next()?, sum: self.sum.next()? };
            return Some(Eight { blocks, act });
        }
        if self.rest.is_empty() {
            return None;
        }
        Some(self.last())
    }

    #[cold]
    #[inline(never)]
    fn last(&mut self) -> Eight<'_, B> {
        let spare = (filled(core::mem::take(&mut self.rest)), Last::new(self.act));
        let (blocks, last) = self.spare.insert(spare);
        Eight { blocks, act: last.facing() }
    }
}

/// Places in a matrix that are read in turn.
#[cfg(target_arch = "x86_64")]
const STREAMS: usize = 4;

/// Calls `two` for pairs of rows far from one another, and adds what it gives to their outputs.
///
/// Four streams are as many as the processor follows by itself. Asking for the next page, as rows of floats do, would hold
/// up the products here.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn in_pairs(bytes: &[u8], stride: usize, out: &mut [f32], two: impl Fn([&[u8]; 2]) -> [f32; 2]) {
    let row = |at: usize| bytes.get(at * stride..).and_then(|rest| rest.get(..stride)).unwrap_or_default();
    for (near, far) in stripes::Pairs::new(out.len(), STREAMS, stride) {
        let [a, b] = two([row(near), row(far)]);
        out[near] += a;
        if far != near {
            out[far] += b;
        }
    }
}

/// Adds `rows[i] · act` to `out[i]`, for block rows of `stride` bytes that follow one another.
#[inline]
pub(super) fn matvec(level: Level, ty: WeightType, bytes: &[u8], stride: usize, act: Row<'_>, out: &mut [f32]) {
    if stride == 0 {
        return;
    }
    match level.isa() {
        Isa::Scalar => plain::matvec::<false>(ty, bytes, stride, act, out),
        Isa::Portable => plain::matvec::<true>(ty, bytes, stride, act, out),
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Neon => unsafe { neon::matvec(ty, bytes, stride, act, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx2 => unsafe { avx2::matvec(ty, bytes, stride, act, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level is made only where the processor has it.
        Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512::matvec(ty, bytes, stride, act, out) },
    }
}
