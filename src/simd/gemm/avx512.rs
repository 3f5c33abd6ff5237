//! Many tokens by `vpdpbusd` and `vdpbf16ps`: 32 outputs in two vectors.

use core::arch::x86_64::*;

use super::super::act::Group;
use super::super::lanes::avx512::Avx512;
use super::super::lanes::{Lanes, in_step, padded};
use super::super::packed::View;
use super::super::unpack::{group, has_min};
use super::super::{Act, MatMut, Scratch, WeightType};
use super::Panel;
use super::tile::{Plan, Tile};

/// Outputs of a tile.
const W: usize = 32;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn load<T: bytemuck::Pod>(from: &[T; 16]) -> __m512i {
    const { assert!(size_of::<T>() == 4) };
    // SAFETY: 64 bytes are there; the load needs no alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn floats(from: &[f32; 16]) -> __m512 {
    _mm512_castsi512_ps(load(from))
}

/// Adds the sums of a group of tokens to the outputs from `first` on.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn write<const M: usize>(sums: [[__m512; 2]; M], out: &mut MatMut<'_>, token: usize, first: usize, count: usize) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    for (at, sums) in sums.iter().enumerate() {
        let row = out.row(token + at).get_mut(first..).unwrap_or_default();
        let count = count.min(row.len());
        for (part, sum) in in_step(row[..count].chunks_mut(16), sums) {
            l.store(part, l.add(l.load(part), *sum));
        }
    }
}

/// `M` tokens with a tile: `QUADS` words make a group under one scale.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn micro<const M: usize, const QUADS: usize, const MIN: bool>(
    tile: Tile<'_, W>,
    act: Group<'_>,
) -> [[__m512; 2]; M] {
    let mut totals = [[_mm512_setzero_ps(); 2]; M];
    let tiles = in_step(in_step(tile.words.as_chunks::<QUADS>().0, tile.less), tile.scale);
    let tokens = act.words.as_chunks::<M>().0.as_chunks::<QUADS>().0;
    let (scales, sums) = (act.scale.as_chunks::<M>().0, act.sum.as_chunks::<M>().0);
    for (at, (((words, less), scale), tokens)) in in_step(tiles, tokens).enumerate() {
        let ([low, high], _) = less.as_chunks::<16>() else { continue };
        let mut whole = [[load(low), load(high)]; M];
        for (words, tokens) in in_step(words, tokens) {
            let ([low, high], _) = words.as_chunks::<16>() else { continue };
            let (low, high) = (load(low), load(high));
            for token in 0..M {
                let four = _mm512_set1_epi32(tokens[token].cast_signed());
                whole[token][0] = _mm512_dpbusd_epi32(whole[token][0], four, low);
                whole[token][1] = _mm512_dpbusd_epi32(whole[token][1], four, high);
            }
        }
        let block = at * QUADS / 8;
        let (Some(act_scales), Some(act_sums)) = (scales.get(block), sums.get(block)) else { continue };
        let ([low, high], _) = scale.as_chunks::<16>() else { continue };
        let (low, high) = (floats(low), floats(high));
        for token in 0..M {
            let (total, whole) = (&mut totals[token], whole[token]);
            let act_scale = _mm512_set1_ps(act_scales[token]);
            total[0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole[0]), _mm512_mul_ps(low, act_scale), total[0]);
            total[1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole[1]), _mm512_mul_ps(high, act_scale), total[1]);
        }
        if MIN {
            let Some(min) = tile.min.get(at) else { continue };
            let ([low, high], _) = min.as_chunks::<16>() else { continue };
            let (low, high) = (floats(low), floats(high));
            for token in 0..M {
                let sum = _mm512_set1_ps(act_sums[token]);
                totals[token][0] = _mm512_fmadd_ps(low, sum, totals[token][0]);
                totals[token][1] = _mm512_fmadd_ps(high, sum, totals[token][1]);
            }
        }
    }
    totals
}

/// Adds the products of a tile with all tokens.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn tokens(ty: WeightType, tile: Tile<'_, W>, act: &Act, out: &mut MatMut<'_>, first: usize, count: usize) {
    for group_of in act.tiles() {
        macro_rules! tokens {
            ($m:literal) => {{
                let sums = match (group(ty), has_min(ty)) {
                    (16, _) => micro::<$m, 4, false>(tile, group_of),
                    (_, false) => micro::<$m, 8, false>(tile, group_of),
                    (_, true) => micro::<$m, 8, true>(tile, group_of),
                };
                write(sums, out, group_of.token, first, count);
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

/// Adds the product of a panel of blocks with `act`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) fn q8(panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, scratch: &mut Scratch) {
    // SAFETY: this function enables what the token stands for.
    let token = unsafe { Avx512::new() };
    let plan = Plan::new(panel.ty, act.len(), 4);
    for first in (0..out.columns()).step_by(W) {
        let count = W.min(out.columns() - first);
        plan.fill::<Avx512, W>(token, scratch, panel, first, count);
        tokens(panel.ty, plan.parts(panel.ty, &scratch.tile), act, &mut out, first, count);
    }
}

/// Adds the product of packed blocks with `act`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) fn packed(view: View<'_>, act: &Act, mut out: MatMut<'_>, scratch: &mut Scratch) {
    // SAFETY: this function enables what the token stands for.
    let token = unsafe { Avx512::new() };
    let (ty, plan) = (view.ty(), Plan::new(view.ty(), act.len(), 4));
    for first in (0..out.columns()).step_by(W) {
        let count = W.min(out.columns() - first);
        plan.fill_packed::<Avx512, W, 4>(token, scratch, view, first);
        tokens(ty, plan.parts(ty, &scratch.tile), act, &mut out, first, count);
    }
}

/// `M` tokens with a tile of pairs of BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
#[inline]
fn micro_brain<const M: usize>(tile: &[f32], words: &[u32]) -> [[__m512; 2]; M] {
    let mut totals = [[_mm512_setzero_ps(); 2]; M];
    for (words, tokens) in in_step(tile.as_chunks::<W>().0, words.as_chunks::<M>().0) {
        let ([low, high], _) = words.as_chunks::<16>() else { continue };
        let (low, high) = (pairs(load(low)), pairs(load(high)));
        for token in 0..M {
            let two = pairs(_mm512_set1_epi32(tokens[token].cast_signed()));
            totals[token][0] = _mm512_dpbf16_ps(totals[token][0], two, low);
            totals[token][1] = _mm512_dpbf16_ps(totals[token][1], two, high);
        }
    }
    totals
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
#[inline]
fn pairs(words: __m512i) -> __m512bh {
    // SAFETY: both are 512 bits of which any are a value.
    unsafe { core::mem::transmute::<__m512i, __m512bh>(words) }
}

/// Adds the product of a panel of BF16 with `act`. Subnormals count as zero, as the instruction has it.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
pub(super) fn brain(panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, scratch: &mut Scratch) {
    let inputs = act.len();
    // SAFETY: this function enables what the token stands for.
    let lanes = unsafe { Avx512::new() };
    scratch.tile.resize(inputs.div_ceil(2) * W, 0.0);
    for first in (0..out.columns()).step_by(W) {
        let count = W.min(out.columns() - first);
        fill_brain(lanes, &mut scratch.tile, panel, first, count, inputs);
        for group_of in act.tiles() {
            macro_rules! tokens {
                ($m:literal) => {{
                    let sums = micro_brain::<$m>(&scratch.tile, group_of.words);
                    write(sums, &mut out, group_of.token, first, count);
                }};
            }
            match group_of.tall {
                12 => tokens!(12),
                8 => tokens!(8),
                6 => tokens!(6),
                4 => tokens!(4),
                2 => tokens!(2),
                _ => tokens!(1),
            }
        }
    }
}

/// Pairs of inputs of each output, an odd last one with a zero.
#[inline(always)]
fn fill_brain(token: Avx512, tile: &mut [f32], panel: Panel<'_>, first: usize, count: usize, inputs: usize) {
    let tile = tile.as_chunks_mut::<W>().0;
    if panel.input_major {
        for (pair, to) in tile.iter_mut().enumerate() {
            let row = |input: usize| {
                let row = if input < inputs { panel.row(input) } else { &[] };
                let row = row.get(2 * first..).unwrap_or_default();
                padded::<u8, { 2 * W }>(row.get(..2 * count).unwrap_or(row))
            };
            let (even, odd) = (row(2 * pair), row(2 * pair + 1));
            let both = even.as_chunks::<2>().0.iter().zip(odd.as_chunks::<2>().0);
            for (to, (even, odd)) in to.iter_mut().zip(both) {
                *to = f32::from_bits(u32::from_le_bytes([even[0], even[1], odd[0], odd[1]]));
            }
        }
        return;
    }
    for (at, to) in tile.chunks_mut(16).enumerate() {
        for begin in [0, 16] {
            let mut square = [token.zero(); 16];
            for (lane, v) in square.iter_mut().enumerate().take(count.saturating_sub(begin)) {
                let row = panel.row(first + begin + lane);
                let row = row.get(..2 * inputs).unwrap_or(row).get(64 * at..).unwrap_or_default();
                *v = token.load_f32(row);
            }
            token.turn(&mut square);
            for (to, v) in in_step(to.iter_mut(), &square) {
                token.store(&mut to[begin..begin + 16], *v);
            }
        }
    }
}
