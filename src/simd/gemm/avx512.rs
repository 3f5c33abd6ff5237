//! Many tokens by `vpdpbusd` and `vdpbf16ps`: 32 outputs in two vectors.

use core::arch::x86_64::*;

use super::super::act::Group;
use super::super::lanes::avx512::Avx512;
use super::super::lanes::{Lanes, in_step};
use super::super::packed::View;
use super::super::unpack::{group, has_min};
use super::super::{Act, MatMut, Scratch, Then, WeightType};
use super::tile::{Plan, Tile};
use super::{Finish, Panel};

/// Outputs of a tile.
const W: usize = 32;

/// The first output of a tile, how many it has, and what is added to them.
type Place = (usize, usize, Finish<__m512, 2>);

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

/// Writes the sums of a group of tokens to the outputs from `first` on.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn write<const M: usize>(
    sums: [[__m512; 2]; M],
    out: &mut MatMut<'_>,
    token: usize,
    (first, count, finish): Place,
) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    for (at, sums) in sums.iter().enumerate() {
        let row = out.row(token + at).get_mut(first..).unwrap_or_default();
        let (row, _) = row.split_at_mut(count.min(row.len()));
        finish.write(l, row, sums);
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

/// The products of a tile with all tokens.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
#[inline]
fn tokens(ty: WeightType, tile: Tile<'_, W>, act: &Act, out: &mut MatMut<'_>, place: Place) {
    for group_of in act.tiles() {
        macro_rules! tokens {
            ($m:literal) => {{
                let sums = match (group(ty), has_min(ty)) {
                    (16, _) => micro::<$m, 4, false>(tile, group_of),
                    (_, false) => micro::<$m, 8, false>(tile, group_of),
                    (_, true) => micro::<$m, 8, true>(tile, group_of),
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
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) fn q8(panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
    // SAFETY: this function enables what the token stands for.
    let token = unsafe { Avx512::new() };
    let plan = Plan::new(panel.ty, act.len(), 4);
    for first in (0..out.columns()).step_by(W) {
        let count = W.min(out.columns() - first);
        plan.fill::<Avx512, W>(token, scratch, panel, first, count);
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
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) fn packed(view: View<'_>, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
    // SAFETY: this function enables what the token stands for.
    let token = unsafe { Avx512::new() };
    let (ty, plan) = (view.ty(), Plan::new(view.ty(), act.len(), 4));
    for first in (0..out.columns()).step_by(W) {
        let count = W.min(out.columns() - first);
        plan.fill_packed::<Avx512, W, 4>(token, scratch, view, first);
        tokens(ty, plan.parts(ty, &scratch.tile), act, &mut out, (first, count, Finish::new(token, then, first)));
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

/// The product of a panel of floats with `act`, and what `then` adds; F32 and F16 are rounded to BF16. Subnormals count as
/// zero, as the instruction has it.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
pub(super) fn brain(panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
    let inputs = act.len();
    scratch.tile.resize(inputs.div_ceil(2) * W, 0.0);
    for first in (0..out.columns()).step_by(W) {
        fill_brain(&mut scratch.tile, panel, first, W.min(out.columns() - first), inputs);
        over_brain(&scratch.tile, act, &mut out, first, then);
    }
}

/// Makes the tiles of a matrix of floats.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
pub(super) fn brain_tiles(panel: Panel<'_>, inputs: usize, outputs: usize, tiles: &mut Vec<f32>) {
    let len = inputs.div_ceil(2) * W;
    tiles.resize(outputs.div_ceil(W) * len, 0.0);
    for (first, tile) in (0..outputs).step_by(W).zip(tiles.chunks_exact_mut(len.max(1))) {
        fill_brain(tile, panel, first, W.min(outputs - first), inputs);
    }
}

/// The products of the first outputs of tiles of `inputs` inputs, or with fewer inputs of the first of them.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
pub(super) fn multiply_brain(tiles: &[f32], inputs: usize, act: &Act, mut out: MatMut<'_>, then: Then<'_>) {
    let len = inputs.div_ceil(2) * W;
    for (first, tile) in (0..out.columns()).step_by(W).zip(tiles.chunks_exact(len.max(1))) {
        over_brain(tile, act, &mut out, first, then);
    }
}

/// The products of a tile, whose first output is `first`, with all tokens.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
#[inline]
fn over_brain(tile: &[f32], act: &Act, out: &mut MatMut<'_>, first: usize, then: Then<'_>) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    let place = (first, W.min(out.columns() - first), Finish::new(l, then, first));
    for group_of in act.tiles() {
        macro_rules! tokens {
            ($m:literal) => {
                write(micro_brain::<$m>(tile, group_of.words), out, group_of.token, place)
            };
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

/// The first 32 numbers of a row of floats as BF16, rounded to nearest, ties to even; what it lacks is zero.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
#[inline]
fn brains(ty: WeightType, row: &[u8]) -> __m512i {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    let half = |part: &[u8]| if ty == WeightType::F16 { l.load_f16(part) } else { l.load_f32(part) };
    if ty == WeightType::BF16 {
        return _mm512_castps_si512(l.load_f32(row));
    }
    let high = row.get(if ty == WeightType::F16 { 32 } else { 64 }..).unwrap_or_default();
    let both = _mm512_cvtne2ps_pbh(half(high), half(row));
    // SAFETY: both are 512 bits of which any are a value.
    unsafe { core::mem::transmute::<__m512bh, __m512i>(both) }
}

/// Which of the 16-bit numbers of two rows stand above one another in a pair: the first 16 pairs, and the last 16.
static PAIRED: [[u32; 16]; 2] = {
    let (mut to, mut at) = ([[0; 16]; 2], 0);
    while at < 32 {
        to[at / 16][at % 16] = at as u32 | (at as u32 + 32) << 16;
        at += 1;
    }
    to
};

/// Pairs of inputs of each output, an odd last one with a zero.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
#[inline]
fn fill_brain(tile: &mut [f32], panel: Panel<'_>, first: usize, count: usize, inputs: usize) {
    // SAFETY: this function enables what the token stands for.
    let l = unsafe { Avx512::new() };
    let (tile, size) = (tile.as_chunks_mut::<W>().0, panel.ty.block_bytes());
    if panel.input_major {
        let (low, high) = (load(&PAIRED[0]), load(&PAIRED[1]));
        for (pair, to) in tile.iter_mut().enumerate() {
            let row = |input: usize| {
                let row = if input < inputs { panel.row(input) } else { &[] };
                let row = row.get(size * first..).unwrap_or_default();
                brains(panel.ty, row.get(..size * count).unwrap_or(row))
            };
            let (even, odd) = (row(2 * pair), row(2 * pair + 1));
            let (start, end) = to.split_at_mut(16);
            l.store(start, _mm512_castsi512_ps(_mm512_permutex2var_epi16(even, low, odd)));
            l.store(end, _mm512_castsi512_ps(_mm512_permutex2var_epi16(even, high, odd)));
        }
        return;
    }
    for (at, to) in tile.chunks_mut(16).enumerate() {
        for begin in [0, 16] {
            let mut square = [l.zero(); 16];
            for (lane, v) in square.iter_mut().enumerate().take(count.saturating_sub(begin)) {
                let row = panel.row(first + begin + lane);
                let row = row.get(..size * inputs).unwrap_or(row).get(32 * size * at..).unwrap_or_default();
                *v = _mm512_castsi512_ps(brains(panel.ty, row));
            }
            l.turn(&mut square);
            for (to, v) in in_step(to.iter_mut(), &square) {
                l.store(&mut to[begin..begin + 16], *v);
            }
        }
    }
}
