//! Many tokens with F32 activations, written once for all levels.

use super::super::dispatch::dispatch;
use super::super::lanes::{BrainSource, HalfSource, Lanes, SingleSource, Source, in_step};
use super::super::unpack::decode;
use super::super::{Act, Level, MatMut, Scratch, WeightType};
use super::Panel;
use super::tile::turn_all;

/// Adds the product of `panel` with the packed rows of `act`.
pub(super) fn multiply(level: Level, panel: Panel<'_>, act: &Act, out: MatMut<'_>, scratch: &mut Scratch) {
    run(level, panel, act, out, scratch);
}

dispatch! {
    fn run(panel: Panel<'_>, act: &Act, out: MatMut<'_>, scratch: &mut Scratch) = all;
}

#[inline(always)]
fn all<L: Lanes>(l: L, panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, scratch: &mut Scratch) {
    let (width, inputs, outputs) = (2 * L::N, act.len(), out.columns());
    scratch.tile.resize(width * inputs, 0.0);
    for first in (0..outputs).step_by(width) {
        let count = width.min(outputs - first);
        match panel.ty {
            WeightType::F32 => pack::<L, SingleSource>(l, panel, first, count, &mut scratch.tile),
            WeightType::F16 => pack::<L, HalfSource>(l, panel, first, count, &mut scratch.tile),
            WeightType::BF16 => pack::<L, BrainSource>(l, panel, first, count, &mut scratch.tile),
            _ => {
                // Blocks have a multiple of 32 inputs.
                scratch.rows.resize(L::N * inputs, 0.0);
                for begin in (0..count).step_by(L::N) {
                    for (lane, row) in scratch.rows.chunks_exact_mut(inputs).enumerate().take(count - begin) {
                        decode(panel.ty, panel.row(first + begin + lane), row);
                    }
                    turn_all(l, &scratch.rows, inputs, begin, width, &mut scratch.tile);
                }
            }
        }
        for (token, tall, packed) in act.groups() {
            let part = (first, count, token);
            match tall {
                12 => add::<L, 12>(l, &scratch.tile, packed, &mut out, part),
                8 => add::<L, 8>(l, &scratch.tile, packed, &mut out, part),
                6 => add::<L, 6>(l, &scratch.tile, packed, &mut out, part),
                4 => add::<L, 4>(l, &scratch.tile, packed, &mut out, part),
                2 => add::<L, 2>(l, &scratch.tile, packed, &mut out, part),
                _ => add::<L, 1>(l, &scratch.tile, packed, &mut out, part),
            }
        }
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

/// Adds the products of a tile with `M` tokens whose values stand together, input by input.
#[inline(always)]
fn add<L: Lanes, const M: usize>(
    l: L,
    tile: &[f32],
    packed: &[f32],
    out: &mut MatMut<'_>,
    (first, count, token): (usize, usize, usize),
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
    for (at, sum) in sums.into_iter().enumerate() {
        let row = out.row(token + at).get_mut(first..).unwrap_or_default();
        let (row, _) = row.split_at_mut(count.min(row.len()));
        let (low, high) = row.split_at_mut(L::N.min(row.len()));
        l.store(low, l.add(l.load(low), sum[0]));
        l.store(high, l.add(l.load(high), sum[1]));
    }
}
