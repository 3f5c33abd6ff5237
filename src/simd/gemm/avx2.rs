//! Many tokens by `vpmaddwd`: 8 outputs in a vector of pairs of 16 bits, so that no sum leaves its bits.

use core::arch::x86_64::*;

use super::super::act::Group;
use super::super::lanes::avx2::Avx2;
use super::super::lanes::in_step;
use super::super::packed::{LANES, View};
use super::super::unpack::{group, has_min};
use super::super::{Act, MatMut, Scratch, Then, WeightType};
use super::tile::{Plan, Tile};
use super::{Finish, Panel};

/// Outputs of a tile.
const W: usize = 8;

/// The first output of a tile, how many it has, and what is added to them.
type Place = (usize, usize, Finish<__m256, 1>);

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load<T: bytemuck::Pod>(from: &[T; 8]) -> __m256i {
    const { assert!(size_of::<T>() == 4) };
    // SAFETY: 32 bytes are there; the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// Writes the sums of a group of tokens to the outputs from `first` on.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn write<const M: usize>(sums: [__m256; M], out: &mut MatMut<'_>, token: usize, (first, count, finish): Place) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx2::new() };
    for (at, sum) in sums.iter().enumerate() {
        let row = out.row(token + at).get_mut(first..).unwrap_or_default();
        let (row, _) = row.split_at_mut(count.min(row.len()));
        finish.write(l, row, &[*sum]);
    }
}

/// `M` tokens with a tile: `PAIRS` words make a group under one scale.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn micro<const M: usize, const PAIRS: usize, const MIN: bool>(tile: Tile<'_, W>, act: Group<'_>) -> [__m256; M] {
    let mut totals = [_mm256_setzero_ps(); M];
    let tiles = in_step(tile.words.as_chunks::<PAIRS>().0, tile.scale);
    let tokens = act.words.as_chunks::<M>().0.as_chunks::<PAIRS>().0;
    let (scales, sums) = (act.scale.as_chunks::<M>().0, act.sum.as_chunks::<M>().0);
    for (at, ((words, scale), tokens)) in in_step(tiles, tokens).enumerate() {
        let mut whole = [_mm256_setzero_si256(); M];
        for (words, tokens) in in_step(words, tokens) {
            let words = load(words);
            for token in 0..M {
                let products = _mm256_madd_epi16(_mm256_set1_epi32(tokens[token].cast_signed()), words);
                whole[token] = _mm256_add_epi32(whole[token], products);
            }
        }
        let block = at * PAIRS / 16;
        let (Some(act_scales), Some(act_sums)) = (scales.get(block), sums.get(block)) else { continue };
        let scale = _mm256_castsi256_ps(load(scale));
        for token in 0..M {
            let scale = _mm256_mul_ps(scale, _mm256_set1_ps(act_scales[token]));
            totals[token] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(whole[token]), scale, totals[token]);
        }
        if MIN {
            let Some(min) = tile.min.get(at) else { continue };
            let min = _mm256_castsi256_ps(load(min));
            for token in 0..M {
                totals[token] = _mm256_fmadd_ps(min, _mm256_set1_ps(act_sums[token]), totals[token]);
            }
        }
    }
    totals
}

/// The products of a tile with all tokens.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn tokens(ty: WeightType, tile: Tile<'_, W>, act: &Act, out: &mut MatMut<'_>, place: Place) {
    for group_of in act.tiles() {
        macro_rules! tokens {
            ($m:literal) => {{
                let sums = match (group(ty), has_min(ty)) {
                    (16, _) => micro::<$m, 8, false>(tile, group_of),
                    (_, false) => micro::<$m, 16, false>(tile, group_of),
                    (_, true) => micro::<$m, 16, true>(tile, group_of),
                };
                write(sums, out, group_of.token, place);
            }};
        }
        match group_of.tall {
            6 => tokens!(6),
            4 => tokens!(4),
            2 => tokens!(2),
            _ => tokens!(1),
        }
    }
}

/// The product of a panel of blocks with `act`, and what `then` adds.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn q8(panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
    // SAFETY: this function enables what the token stands for.
    let token = unsafe { Avx2::new() };
    let plan = Plan::new(panel.ty, act.len(), 2);
    for first in (0..out.columns()).step_by(W) {
        let count = W.min(out.columns() - first);
        plan.fill::<Avx2, W>(token, scratch, panel, first, count);
        tokens(
            panel.ty,
            plan.parts(panel.ty, &scratch.tile),
            act,
            &mut out,
            (first, count, Finish::new(token, then, first)),
        );
    }
}

/// The product of packed blocks with `act`, and what `then` adds.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn packed(view: View<'_>, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
    // SAFETY: this function enables what the token stands for.
    let token = unsafe { Avx2::new() };
    let (ty, plan) = (view.ty(), Plan::new(view.ty(), act.len(), 2));
    let len = plan.len::<W>().max(1);
    for begin in (0..out.columns()).step_by(LANES) {
        plan.fill_packed::<Avx2, W, 2>(token, scratch, view, begin);
        let end = out.columns().min(begin + LANES);
        for (first, tile) in (begin..end).step_by(W).zip(scratch.tile.chunks_exact(len)) {
            let place = (first, W.min(end - first), Finish::new(token, then, first));
            tokens(ty, plan.parts(ty, tile), act, &mut out, place);
        }
    }
}
