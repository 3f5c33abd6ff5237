//! Many tokens with F32 activations, written once for all levels.

use super::super::dispatch::dispatch;
use super::super::lanes::{BrainSource, HalfSource, Lanes, SingleSource, Source, in_step};
use super::super::unpack::decode;
use super::super::{Act, Level, MatMut, Scratch, Then, WeightType};
use super::tile::turn_all;
use super::{Finish, Panel};

/// The product of `panel` with the packed rows of `act`, and what `then` adds.
pub(super) fn multiply(
    level: Level,
    panel: Panel<'_>,
    act: &Act,
    out: MatMut<'_>,
    then: Then<'_>,
    scratch: &mut Scratch,
) {
    run(level, panel, act, out, then, scratch);
}

dispatch! {
    fn run(panel: Panel<'_>, act: &Act, out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) = all;
}

#[inline(always)]
fn all<L: Lanes>(l: L, panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
    let (width, inputs, outputs) = (2 * L::N, act.len(), out.columns());
    scratch.tile.resize(width * inputs, 0.0);
    for first in (0..outputs).step_by(width) {
        let count = width.min(outputs - first);
        if panel.ty.is_float() {
            floats(l, panel, first, count, &mut scratch.tile);
        } else {
            // Blocks have a multiple of 32 inputs.
            scratch.rows.resize(L::N * inputs, 0.0);
            for begin in (0..count).step_by(L::N) {
                for (lane, row) in scratch.rows.chunks_exact_mut(inputs).enumerate().take(count - begin) {
                    decode(panel.ty, panel.row(first + begin + lane), row);
                }
                turn_all(l, &scratch.rows, inputs, begin, width, &mut scratch.tile);
            }
        }
        over(l, &scratch.tile, act, &mut out, first, then);
    }
}

/// The products of a tile, whose first output is `first`, with all tokens.
#[inline(always)]
fn over<L: Lanes>(l: L, tile: &[f32], act: &Act, out: &mut MatMut<'_>, first: usize, then: Then<'_>) {
    let (count, finish) = ((2 * L::N).min(out.columns() - first), Finish::new(l, then, first));
    for (token, tall, packed) in act.groups() {
        let part = (first, count, token, finish);
        match tall {
            12 => tokens::<L, 12>(l, tile, packed, out, part),
            8 => tokens::<L, 8>(l, tile, packed, out, part),
            6 => tokens::<L, 6>(l, tile, packed, out, part),
            4 => tokens::<L, 4>(l, tile, packed, out, part),
            2 => tokens::<L, 2>(l, tile, packed, out, part),
            _ => tokens::<L, 1>(l, tile, packed, out, part),
        }
    }
}

#[inline(always)]
fn all_tiles<L: Lanes>(l: L, panel: Panel<'_>, inputs: usize, outputs: usize, tiles: &mut Vec<f32>) {
    let width = 2 * L::N;
    tiles.resize(outputs.div_ceil(width) * width * inputs, 0.0);
    for (first, tile) in (0..outputs).step_by(width).zip(tiles.chunks_exact_mut((width * inputs).max(1))) {
        floats(l, panel, first, width.min(outputs - first), tile);
    }
}

dispatch! {
    /// Makes the tiles of a matrix of floats.
    pub(super) fn tiles(panel: Panel<'_>, inputs: usize, outputs: usize, tiles: &mut Vec<f32>) = all_tiles;
}

#[inline(always)]
fn over_all<L: Lanes>(l: L, tiles: &[f32], inputs: usize, act: &Act, mut out: MatMut<'_>, then: Then<'_>) {
    let width = 2 * L::N;
    for (first, tile) in (0..out.columns()).step_by(width).zip(tiles.chunks_exact((width * inputs).max(1))) {
        over(l, tile, act, &mut out, first, then);
    }
}

dispatch! {
    /// The products of the first outputs of tiles of `inputs` inputs, or with fewer inputs of the first of them.
    pub(super) fn multiply_tiles(tiles: &[f32], inputs: usize, act: &Act, out: MatMut<'_>, then: Then<'_>) = over_all;
}

#[inline(always)]
fn floats<L: Lanes>(l: L, panel: Panel<'_>, first: usize, count: usize, tile: &mut [f32]) {
    match panel.ty {
        WeightType::F16 => pack::<L, HalfSource>(l, panel, first, count, tile),
        WeightType::BF16 => pack::<L, BrainSource>(l, panel, first, count, tile),
        _ => pack::<L, SingleSource>(l, panel, first, count, tile),
    }
}

/// The weights of `count` outputs from `first` on, input by input. Lanes of outputs that are not there hold anything.
#[inline(always)]
fn pack<L: Lanes, S: Source>(l: L, panel: Panel<'_>, first: usize, count: usize, tile: &mut [f32]) {
    let width = 2 * L::N;
    if panel.input_major {
        for (input, to) in tile.chunks_exact_mut(width).enumerate() {
            let row = panel.row(input).get(first * S::BYTES..).unwrap_or_default();
            let row = row.get(..count * S::BYTES).unwrap_or(row);
            let (low, high) = to.split_at_mut(L::N);
            l.store(low, S::load(l, row));
            l.store(high, S::load(l, row.get(L::N * S::BYTES..).unwrap_or_default()));
        }
        return;
    }
    // Squares of as many inputs as outputs are turned.
    for (step, to) in tile.chunks_mut(width * L::N).enumerate() {
        let inputs = to.len() / width;
        for begin in [0, L::N] {
            let mut square = [l.zero(); 16];
            for (lane, v) in square.iter_mut().enumerate().take(L::N.min(count.saturating_sub(begin))) {
                let row = panel.row(first + begin + lane).get(step * L::N * S::BYTES..).unwrap_or_default();
                *v = S::load(l, row.get(..inputs.min(L::N) * S::BYTES).unwrap_or(row));
            }
            l.turn(&mut square);
            for (to, v) in in_step(to.chunks_exact_mut(width), &square) {
                l.store(to.get_mut(begin..begin + L::N).unwrap_or_default(), *v);
            }
        }
    }
}

/// The products of a tile with `M` tokens whose values stand together, input by input.
#[inline(always)]
fn tokens<L: Lanes, const M: usize>(
    l: L,
    tile: &[f32],
    packed: &[f32],
    out: &mut MatMut<'_>,
    (first, count, token, finish): (usize, usize, usize, Finish<L::V, 2>),
) {
    let mut sums = [[l.zero(); 2]; M];
    for (weights, values) in in_step(tile.chunks_exact(2 * L::N), packed.as_chunks::<M>().0) {
        let (low, high) = weights.split_at(L::N);
        let (low, high) = (l.load(low), l.load(high));
        for token in 0..M {
            let value = l.splat(values[token]);
            sums[token][0] = l.fma(low, value, sums[token][0]);
            sums[token][1] = l.fma(high, value, sums[token][1]);
        }
    }
    for (at, sums) in sums.iter().enumerate() {
        let row = out.row(token + at).get_mut(first..).unwrap_or_default();
        let (row, _) = row.split_at_mut(count.min(row.len()));
        finish.write(l, row, sums);
    }
}
