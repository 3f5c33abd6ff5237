//! Activations in the form in which the kernels multiply them.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod eights;
mod many;

use self::eights::{Eights, quantise};
use super::dense::Tokens;
use super::half::{bf16_to_f32, f32_to_bf16};
use super::lanes::in_step;
use super::{Form, Level, MANY, ShapeError};

/// Rows of activations (tokens), made once and multiplied with as many matrices as take them.
///
/// Buffers are kept from one [`Self::set`] to the next, so that nothing is allocated once the largest has been seen.
///
/// In the form [`Form::Q8`] each 32 values have the scale `max|x| / 127`, and a value becomes the nearest whole multiple of
/// it (ties to even): off by at most half a scale. A group with NaN or an infinity in it has NaN as its scale, so that
/// the products show it.
///
/// ```
/// use tensorgate::simd::{Act, Form, Level};
/// let mut act = Act::new();
/// act.set(Level::best(), Form::Q8, &[0.5; 64], 64)?;
/// assert_eq!((act.rows(), act.len(), act.form()), (1, 64, Form::Q8));
/// # Ok::<(), tensorgate::simd::ShapeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Act {
    form: Form,
    level: Option<Level>,
    rows: usize,
    len: usize,
    /// The values of few tokens, in the forms F32 and Bf16.
    x: Vec<f32>,
    /// The values of more than one token, group by group: those of a group stand together for each input.
    packed: Vec<f32>,
    /// The same in the forms Q8 and Bf16, as many values to a word as an instruction multiplies at once.
    words: Vec<u32>,
    /// `scale` and `sum32` of many tokens, group by group.
    tile_scale: Vec<f32>,
    tile_sum: Vec<f32>,
    /// The whole numbers, in the form Q8.
    q: Vec<i8>,
    /// A scale for each 32, and its product with the sum of the whole numbers of each 16 and each 32.
    scale: Vec<f32>,
    sum16: Vec<f32>,
    sum32: Vec<f32>,
    /// The sum of the whole numbers of each 16.
    whole: Vec<i32>,
    /// The whole numbers of few tokens in the order of [`Row::halves`].
    halves: Vec<i8>,
    /// Columns that came so far, where all are needed at once.
    stage: Vec<f32>,
}

/// A group of tokens whose values stand together.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "only some targets have kernels for tiles")]
pub(super) struct Group<'a> {
    /// The first token, and how many.
    pub(super) token: usize,
    pub(super) tall: usize,
    /// A few inputs of each token, then the next inputs of each.
    pub(super) words: &'a [u32],
    /// In the form Q8: scales and sums of each token, 32 inputs by 32.
    pub(super) scale: &'a [f32],
    pub(super) sum: &'a [f32],
}

/// One row in the form Q8.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) q: &'a [i8],
    /// One a 32.
    pub(super) scale: &'a [f32],
    /// Scale times the sum of the whole numbers, one a 16.
    pub(super) sum16: &'a [f32],
    /// The same, one a 32.
    pub(super) sum32: &'a [f32],
    /// The sum of the whole numbers, one a 16.
    pub(super) whole: &'a [i32],
    /// `q`, 128 by 128, the last filled up with zeros: of four times 32 the first 16 of each, then the last 16 of each.
    /// Only of few rows, and at levels whose kernels take them so.
    #[allow(dead_code, reason = "only some targets have kernels that take them")]
    pub(super) halves: &'a [i8],
}

impl Act {
    /// Without rows.
    pub const fn new() -> Self {
        Self {
            form: Form::F32,
            level: None,
            rows: 0,
            len: 0,
            x: Vec::new(),
            packed: Vec::new(),
            words: Vec::new(),
            tile_scale: Vec::new(),
            tile_sum: Vec::new(),
            q: Vec::new(),
            scale: Vec::new(),
            sum16: Vec::new(),
            sum32: Vec::new(),
            whole: Vec::new(),
            halves: Vec::new(),
            stage: Vec::new(),
        }
    }

    /// Takes `x`, rows of `len` values that follow one another, in the form `form`.
    ///
    /// # Errors
    ///
    /// Where `x` is no whole number of rows, or `len` no multiple of 32 in the form [`Form::Q8`].
    pub fn set(&mut self, level: Level, form: Form, x: &[f32], len: usize) -> Result<(), ShapeError> {
        let rows = x.len().checked_div(len).unwrap_or(0);
        if rows * len != x.len() {
            return Err(ShapeError::new("activations are no whole number of rows", len, x.len()));
        }
        if form == Form::Q8 && !len.is_multiple_of(32) {
            return Err(ShapeError::new("a row of 8-bit activations is no multiple of 32", 32, len));
        }
        self.begin(level, form, rows, len);
        if self.is_tiled() {
            self.put(0, 0, x, len);
        } else {
            self.set_rows(x);
        }
        Ok(())
    }

    /// What is known of rows before they come. Nothing of other rows is left.
    fn begin(&mut self, level: Level, form: Form, rows: usize, len: usize) {
        (self.form, self.level, self.rows, self.len) = (form, Some(level), rows, len);
        self.x.clear();
        self.q.clear();
        self.halves.clear();
        if !self.is_tiled() {
            return;
        }
        let words = rows * self.row_words();
        grow(&mut self.words, words);
        if words == 0 {
            grow(&mut self.packed, rows * len);
        }
        if form == Form::Q8 {
            grow(&mut self.tile_scale, rows * len / 32);
            grow(&mut self.tile_sum, rows * len / 32);
        }
    }

    /// Words of a row, in the forms and at the levels that have such.
    fn row_words(&self) -> usize {
        match self.form {
            Form::Q8 if self.is_tiled() => self.len / if self.level().is_512() { 4 } else { 2 },
            Form::Bf16 if self.level().is_bf16() => self.len.div_ceil(2),
            _ => 0,
        }
    }

    /// Whether rows are kept in the order of tiles only.
    fn is_tiled(&self) -> bool {
        let has_kernel = cfg!(target_arch = "x86_64") && self.level() > Level::PORTABLE;
        self.rows >= MANY && (self.form != Form::Q8 || has_kernel)
    }

    /// Few rows, or such that are multiplied row by row.
    fn set_rows(&mut self, x: &[f32]) {
        if self.form == Form::Q8 {
            self.q.resize(x.len(), 0);
            self.scale.resize(x.len() / 32, 0.0);
            self.sum32.resize(x.len() / 32, 0.0);
            self.sum16.resize(x.len() / 16, 0.0);
            self.whole.resize(x.len() / 16, 0);
            let Self { q, scale, sum16, sum32, whole, .. } = self;
            quantise(self.level.unwrap_or(Level::SCALAR), x, Eights { q, scale, sum16, sum32, whole });
            self.part_halves();
            return;
        }
        self.x.extend_from_slice(x);
        if self.form == Form::Bf16 {
            for value in &mut self.x {
                *value = bf16_to_f32(f32_to_bf16(*value));
            }
        }
        self.pack();
    }

    /// Brings the values of each group of tokens together.
    fn pack(&mut self) {
        let (rows, len, most) = (self.rows, self.len, self.tall());
        if self.form == Form::Bf16 && self.level().is_bf16() {
            // What was rounded has its bits in the upper half. An odd last input has a zero beside it.
            let word = |pair: &[f32]| {
                let bits = |at: usize| pair.get(at).map_or(0, |value| value.to_bits() >> 16);
                bits(0) | bits(1) << 16
            };
            let x = &self.x;
            interleave(rows, most, len.div_ceil(2), &mut self.words, |row| cut(x, row, len).chunks(2).map(word));
            return;
        }
        if rows > 1 {
            // A row alone stands as it must.
            let x = &self.x;
            interleave(rows, most, len, &mut self.packed, |row| cut(x, row, len).iter().copied());
        }
    }

    /// Brings the first halves of four times 32 whole numbers together, and the second ones.
    fn part_halves(&mut self) {
        if !cfg!(target_arch = "x86_64") || self.level() <= Level::PORTABLE {
            return;
        }
        let len = self.len;
        for row in 0..self.rows {
            for four in cut(&self.q, row, len).chunks(128) {
                let mut apart = [0; 128];
                let (low, high) = apart.split_at_mut(64);
                let (low, high) = (low.as_chunks_mut::<16>().0, high.as_chunks_mut::<16>().0);
                for (([from, to], low), high) in
                    four.as_chunks::<16>().0.as_chunks::<2>().0.iter().zip(low).zip(high)
                {
                    (*low, *high) = (*from, *to);
                }
                self.halves.extend_from_slice(&apart);
            }
        }
    }

    /// How many tokens a group has at most: as many as there are registers for their sums.
    fn tall(&self) -> usize {
        if self.form != Form::Q8 && self.level().is_512() { 12 } else { 6 }
    }

    /// The level at which they were made.
    pub(super) fn level(&self) -> Level {
        self.level.unwrap_or(Level::SCALAR)
    }

    /// How many rows (tokens).
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Values of a row.
    #[expect(clippy::len_without_is_empty, reason = "the length of a row, not of a collection")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The form in which they are.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Few rows in the forms F32 and Bf16; none in the other.
    pub(super) fn tokens(&self) -> Tokens<'_> {
        Tokens { all: if self.form == Form::Q8 { &[] } else { &self.x }, len: self.len }
    }

    /// The groups of tokens in the forms F32 and Bf16: the first token, how many, and their values, input by input.
    pub(super) fn groups(&self) -> impl Iterator<Item = (usize, usize, &[f32])> {
        let all = if self.rows < 2 { &self.x } else { &self.packed };
        let groups = groups(if self.form == Form::Q8 { 0 } else { self.rows }, self.tall());
        groups.map(|(row, tall)| (row, tall, all.get(row * self.len..(row + tall) * self.len).unwrap_or_default()))
    }

    /// The groups of tokens in the forms Q8 (from [`MANY`] on) and Bf16, where this level has kernels for tiles.
    #[allow(dead_code, reason = "only some targets have kernels for tiles")]
    pub(super) fn tiles(&self) -> impl Iterator<Item = Group<'_>> {
        let words = self.row_words();
        let blocks = if self.form == Form::Q8 { self.len / 32 } else { 0 };
        groups(self.rows, self.tall()).map(move |(token, tall)| {
            let of = |len: usize| token * len..(token + tall) * len;
            Group {
                token,
                tall,
                words: self.words.get(of(words)).unwrap_or_default(),
                scale: self.tile_scale.get(of(blocks)).unwrap_or_default(),
                sum: self.tile_sum.get(of(blocks)).unwrap_or_default(),
            }
        })
    }

    /// A row in the form Q8; empty in the others.
    pub(super) fn q8(&self, row: usize) -> Row<'_> {
        let right = self.form == Form::Q8;
        Row {
            q: part(&self.q, right, row, self.len),
            scale: part(&self.scale, right, row, self.len / 32),
            sum16: part(&self.sum16, right, row, self.len / 16),
            sum32: part(&self.sum32, right, row, self.len / 32),
            whole: part(&self.whole, right, row, self.len / 16),
            halves: part(&self.halves, right, row, self.len.next_multiple_of(128)),
        }
    }
}

/// Cuts `rows` into groups of at most `most`: where each begins and how many it has, 12, 8, 6, 4, 2 or 1.
pub(super) fn groups(rows: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut row = 0;
    core::iter::from_fn(move || {
        let left = most.min(rows - row);
        let tall = [12, 8, 6, 4, 2, 1].into_iter().find(|tall| *tall <= left)?;
        row += tall;
        Some((row - tall, tall))
    })
}

/// Makes room for `len` items. What is there stays: it is written over.
fn grow<T: Copy + Default>(buffer: &mut Vec<T>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
}

/// A row of a buffer that has it.
fn cut<T>(all: &[T], row: usize, len: usize) -> &[T] {
    all.get(row * len..(row + 1) * len).unwrap_or_default()
}

/// Writes the `len` items of each of `rows` rows, group by group: the first items of a group's rows, then the second…
fn interleave<T: Copy + Default, I: Iterator<Item = T>>(
    rows: usize,
    most: usize,
    len: usize,
    to: &mut Vec<T>,
    row_of: impl Fn(usize) -> I,
) {
    to.resize(rows * len, T::default());
    let mut rest = to.as_mut_slice();
    for (row, tall) in groups(rows, most) {
        let (group, after) = rest.split_at_mut(tall * len);
        rest = after;
        for token in 0..tall {
            for (to, item) in in_step(group.chunks_exact_mut(tall), row_of(row + token)) {
                to[token] = item;
            }
        }
    }
}

/// A row of a buffer, empty where it is not there.
fn part<T>(all: &[T], right: bool, row: usize, len: usize) -> &[T] {
    if !right {
        return &[];
    }
    row.checked_mul(len).and_then(|at| all.get(at..)).and_then(|rest| rest.get(..len)).unwrap_or_default()
}
