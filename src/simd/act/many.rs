//! Activations of many tokens, some columns at a time, straight into the order of the tiles.

use super::super::dispatch::dispatch;
use super::super::half::f32_to_bf16;
use super::super::lanes::Lanes;
#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::eights::{Block, quantised};
use super::{Act, Form, Level, ShapeError, groups};

impl Act {
    /// Makes room for `rows` rows of `len` values as floats; `None` where there is no memory.
    pub(crate) fn reserve(&mut self, rows: usize, len: usize) -> Option<()> {
        let all = rows.checked_mul(len)?;
        self.packed.try_reserve_exact(all).ok()?;
        self.words.try_reserve_exact(all.div_ceil(2).checked_add(rows)?).ok()
    }

    /// Begins `rows` rows of `len` values in the form `form`. [`Self::put`] gives their values, [`Self::close`] ends them.
    ///
    /// # Errors
    ///
    /// Where `len` is no multiple of 32 in the form [`Form::Q8`].
    pub(crate) fn open(&mut self, level: Level, form: Form, rows: usize, len: usize) -> Result<(), ShapeError> {
        if form == Form::Q8 && !len.is_multiple_of(32) {
            return Err(ShapeError::new("a row of 8-bit activations is no multiple of 32", 32, len));
        }
        self.begin(level, form, rows, len);
        if !self.is_tiled() {
            self.stage.clear();
            self.stage.resize(rows * len, 0.0);
        }
        Ok(())
    }

    /// Columns `column..column + width` of the rows from `row` on, as many as `x` has. Columns come in multiples of 32, the
    /// last ones of a row excepted; rows in multiples of 12, the last ones excepted.
    pub(crate) fn put(&mut self, row: usize, column: usize, x: &[f32], width: usize) {
        if width == 0 {
            return;
        }
        if !self.is_tiled() {
            let rows = self.stage.chunks_exact_mut(self.len.max(1)).skip(row);
            for (to, from) in rows.zip(x.chunks_exact(width)) {
                if let Some(to) = to.get_mut(column..column + width) {
                    to.copy_from_slice(from);
                }
            }
            return;
        }
        let level = self.level();
        let part = Part { x, row, column, width, rows: self.rows, len: self.len, most: self.tall() };
        let Self { words, tile_scale: scale, tile_sum: sum, .. } = self;
        match self.form {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level is made only where the processor has it.
            Form::Q8 if level.is_512() => unsafe { avx512::put_bytes(part, Bytes { words, scale, sum }) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level is made only where the processor has it.
            Form::Bf16 if level.is_bf16() => unsafe { avx512::put_pairs(part, words) },
            Form::Q8 => put_bytes(level, part, Bytes { words, scale, sum }),
            form => put_floats(level, part, form == Form::Bf16, &mut self.packed),
        }
    }

    /// All columns of all rows came.
    pub(crate) fn close(&mut self) {
        if !self.is_tiled() {
            let stage = core::mem::take(&mut self.stage);
            self.set_rows(&stage);
            self.stage = stage;
        }
    }
}

/// Some columns of some rows, and what they are a part of.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) x: &'a [f32],
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) width: usize,
    pub(super) rows: usize,
    pub(super) len: usize,
    pub(super) most: usize,
}

impl<'a> Part<'a> {
    /// The groups of tokens that are in it: the first token, how many, and their values.
    #[inline(always)]
    pub(super) fn groups(self) -> impl Iterator<Item = (usize, usize, &'a [f32])> {
        let Self { x, row, width, rows, most, .. } = self;
        groups(rows, most).filter_map(move |(token, tall)| {
            let from = token.checked_sub(row)?;
            Some((token, tall, x.get(from * width..(from + tall) * width)?))
        })
    }
}

/// Where values in 8 bits go.
pub(super) struct Bytes<'a> {
    pub(super) words: &'a mut [u32],
    pub(super) scale: &'a mut [f32],
    pub(super) sum: &'a mut [f32],
}

#[inline(always)]
fn bytes_all<L: Lanes>(l: L, part: Part<'_>, to: Bytes<'_>) {
    // Two to a word, in 16 bits.
    let wide = |q: u8| u32::from(i16::from(q.cast_signed()).cast_unsigned());
    let (blocks, words) = (part.len / 32, part.len / 2);
    for (token, tall, x) in part.groups() {
        let (start, first) = (token * blocks + part.column / 32 * tall, token * words + part.column / 2 * tall);
        for (at, row) in x.chunks_exact(part.width).enumerate() {
            let words = to.words.get_mut(first..).unwrap_or_default().chunks_exact_mut(16 * tall);
            let scales = to.scale.get_mut(start..).unwrap_or_default().chunks_exact_mut(tall);
            let sums = to.sum.get_mut(start..).unwrap_or_default().chunks_exact_mut(tall);
            for (block, (words, (scale, sum))) in row.as_chunks::<32>().0.iter().zip(words.zip(scales.zip(sums))) {
                let Block { q, scale: own, sums: [low, high] } = quantised(l, block);
                scale[at] = own;
                sum[at] = (low + high) * own;
                for (to, two) in words.chunks_exact_mut(tall).zip(q.as_chunks::<2>().0) {
                    to[at] = wide(two[0]) | wide(two[1]) << 16;
                }
            }
        }
    }
}

dispatch! {
    fn put_bytes(part: Part<'_>, to: Bytes<'_>) = bytes_all;
}

/// Turns `items` items of each of `tall` rows, which `load` gives a vector at a time, so that the rows' first items stand
/// together, then their second ones.
#[inline(always)]
fn turned<L: Lanes>(l: L, tall: usize, to: &mut [f32], load: impl Fn(usize, usize) -> L::V) {
    let mut rest = to;
    let mut step = 0;
    while !rest.is_empty() {
        let items = L::N.min(rest.len() / tall.max(1));
        if items == 0 {
            return;
        }
        if tall <= L::N {
            let mut square = [l.zero(); 16];
            for (row, v) in square.iter_mut().enumerate().take(tall) {
                *v = load(row, step);
            }
            l.turn(&mut square);
            for (at, v) in square.iter().enumerate().take(items) {
                // A whole vector, where there is room: what is too much is written over by the next.
                l.store(rest.get_mut(at * tall..).unwrap_or_default(), *v);
            }
        } else {
            for row in 0..tall {
                let mut all = [0.0; 16];
                l.store(&mut all, load(row, step));
                for (to, value) in rest.chunks_exact_mut(tall).zip(all.iter().take(L::N)) {
                    to[row] = *value;
                }
            }
        }
        rest = rest.get_mut(items * tall..).unwrap_or_default();
        step += 1;
    }
}

#[inline(always)]
fn floats_all<L: Lanes>(l: L, part: Part<'_>, is_rounded: bool, to: &mut [f32]) {
    for (token, tall, x) in part.groups() {
        let start = token * part.len + part.column * tall;
        let to = to.get_mut(start..start + part.width * tall).unwrap_or_default();
        let row = |row: usize, step: usize| {
            let row = x.get(row * part.width..(row + 1) * part.width).unwrap_or_default();
            row.get(step * L::N..).unwrap_or_default()
        };
        if is_rounded {
            turned(l, tall, to, |at, step| {
                let mut rounded = [0.0; 16];
                for (to, value) in rounded.iter_mut().zip(row(at, step)).take(L::N) {
                    *to = f32::from_bits(u32::from(f32_to_bf16(*value)) << 16);
                }
                l.load(&rounded)
            });
        } else {
            turned(l, tall, to, |at, step| l.load(row(at, step)));
        }
    }
}

dispatch! {
    fn put_floats(part: Part<'_>, is_rounded: bool, to: &mut [f32]) = floats_all;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all sizes, the same in every run.
    fn values(count: usize) -> Vec<f32> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(u16::try_from(state >> 16).unwrap()) / 3000.0 - 10.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn columns_of_rows_make_the_same_as_all_at_once() {
        for level in Level::all() {
            for form in [Form::F32, Form::Bf16, Form::Q8] {
                for (rows, len) in [(1, 64), (3, 96), (4, 32), (13, 96), (27, 160), (40, 128)] {
                    let x = values(rows * len);
                    let (mut whole, mut parts) = (Act::new(), Act::new());
                    whole.set(level, form, &x, len).unwrap();
                    // What another use left behind.
                    parts.set(level, Form::Q8, &values(640), 64).unwrap();
                    parts.open(level, form, rows, len).unwrap();
                    for row in (0..rows).step_by(24) {
                        for column in (0..len).step_by(64).rev() {
                            let width = 64.min(len - column);
                            let rows = x.chunks(len).skip(row).take(24);
                            let strip: Vec<f32> =
                                rows.flat_map(|row| &row[column..column + width]).copied().collect();
                            parts.put(row, column, &strip, width);
                        }
                    }
                    parts.close();
                    let bits = |act: &Act| {
                        let is_words = form != Form::F32 && act.row_words() > 0;
                        let groups = act.groups().filter(|_| !is_words);
                        let groups = groups.map(|(_, _, values)| values.to_vec()).collect::<Vec<_>>();
                        let tiles = act.tiles().filter(|_| is_words && act.is_tiled());
                        let tiles = tiles.map(|tile| (tile.words.to_vec(), tile.scale.to_vec(), tile.sum.to_vec()));
                        let rows = (0..rows).map(|row| (act.q8(row).q.to_vec(), act.q8(row).halves.to_vec()));
                        (groups, tiles.collect::<Vec<_>>(), rows.collect::<Vec<_>>())
                    };
                    assert_eq!(bits(&whole), bits(&parts), "{level} {form:?}, {rows} rows of {len}");
                }
            }
        }
    }

    /// The scale, the sum and the whole numbers of each block of a row in a tile.
    fn blocks(act: &Act, row: usize) -> Vec<(f32, f32, Vec<i8>)> {
        let tile = act.tiles().find(|tile| row < tile.token + tile.tall).unwrap();
        let (at, per) = (row - tile.token, if act.level().is_512() { 4 } else { 2 });
        let words: Vec<u32> = tile.words.iter().skip(at).step_by(tile.tall).copied().collect();
        let block = |block: usize| {
            let words = words[block * 32 / per..][..32 / per].iter();
            let q = words.flat_map(|word| match per {
                4 => (word ^ 0x8080_8080).to_le_bytes().map(u8::cast_signed).to_vec(),
                _ => [word.to_le_bytes()[0], word.to_le_bytes()[2]].map(u8::cast_signed).to_vec(),
            });
            (tile.scale[block * tile.tall + at], tile.sum[block * tile.tall + at], q.collect())
        };
        (0..act.len() / 32).map(block).collect()
    }

    #[test]
    fn a_row_among_others_is_what_it_is_alone() {
        for level in Level::all().filter(|level| cfg!(target_arch = "x86_64") && *level > Level::PORTABLE) {
            for (rows, len) in [(4, 32), (11, 96), (12, 128), (7, 192)] {
                let mut x = values(rows * len);
                // Zeros, the smallest numbers and the greatest.
                x[..32].fill(0.0);
                x[len..len + 32].fill(1e-42);
                x[2 * len..2 * len + 16].fill(f32::MAX);
                let (mut all, mut alone) = (Act::new(), Act::new());
                all.set(level, Form::Q8, &x, len).unwrap();
                for (row, x) in x.chunks(len).enumerate() {
                    alone.set(level, Form::Q8, x, len).unwrap();
                    let one = alone.q8(0);
                    let expected = one.scale.iter().zip(one.sum32).zip(one.q.chunks(32));
                    let expected: Vec<_> = expected.map(|((scale, sum), q)| (*scale, *sum, q.to_vec())).collect();
                    assert_eq!(blocks(&all, row), expected, "{level}, row {row} of {rows} × {len}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_stays_to_be_seen() {
        for level in Level::all() {
            let mut x = values(12 * 64);
            x[5 * 64 + 40] = f32::NAN;
            x[7 * 64 + 3] = f32::INFINITY;
            let mut act = Act::new();
            act.set(level, Form::Q8, &x, 64).unwrap();
            let scales = |row: usize| {
                if act.is_tiled() {
                    blocks(&act, row).iter().map(|(scale, _, _)| *scale).collect()
                } else {
                    act.q8(row).scale.to_vec()
                }
            };
            let odd = |row: usize| scales(row).iter().map(|scale| scale.is_nan()).collect::<Vec<_>>();
            for row in 0..12 {
                assert_eq!(odd(row), [row == 7, row == 5], "{level}, row {row}");
            }
        }
    }
}
