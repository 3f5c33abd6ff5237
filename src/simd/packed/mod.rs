//! Copies of weight matrices in an order that the processor reads best: 16 rows side by side.

mod few;
mod lanes;
mod layout;
mod many;
#[cfg(target_arch = "x86_64")]
mod x86;

use core::fmt;
use std::io;
use std::sync::Arc;

use memmap2::MmapMut;

pub(super) use self::lanes::Words;
pub(crate) use self::layout::LANES;
use self::layout::Plan;
pub(super) use self::many::Starts;
use super::ahead;
use super::dispatch::dispatch;
use super::gemm;
use super::matrix::begin;
use super::unpack::decode;
use super::{Act, Form, Level, MANY, MatMut, Matrix, Scratch, Then, WeightType};

/// A copy of a matrix of blocks in which the rows of 16 outputs stand side by side, so that activations are loaded once
/// for all of them and no sum goes across a vector. Every byte of the matrix is in it, in another place: products are those
/// of the matrix up to the rounding of sums, and whole numbers under one scale are the same.
///
/// The copy takes the bytes of the matrix, those of rows that fill the last 16, and at most 32 more for each 16 rows.
/// It lies in memory of its own, at the beginning of a page, in large pages where the system has them.
///
/// ```
/// use tensorgate::simd::{Act, Form, Level, MatMut, Matrix, Packed, Scratch, Then, WeightType};
///
/// // Two outputs of 32 inputs in Q8_0: an F16 scale of one and 32 times the weight 3.
/// let block = [&[0x00, 0x3c][..], &[3; 32]].concat();
/// let packed = Packed::new(&Matrix::new(WeightType::Q8_0, &block.repeat(2), 2, 32)?).unwrap();
///
/// let (level, mut act, mut out) = (Level::best(), Act::new(), [0.0; 2]);
/// act.set(level, Form::Q8, &[1.0; 32], 32)?;
/// let into = MatMut::new(&mut out, 2).unwrap();
/// packed.matrix().multiply(level, &act, into, Then::default(), &mut Scratch::new())?;
/// assert!(out.iter().all(|out| (out - 96.0).abs() < 1e-4));
/// # Ok::<(), tensorgate::simd::ShapeError>(())
/// ```
#[derive(Clone)]
pub struct Packed {
    memory: Arc<MmapMut>,
    start: usize,
    len: usize,
    ty: WeightType,
    outputs: usize,
    inputs: usize,
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ty, outputs, inputs, .. } = self;
        f.debug_struct("Packed")
            .field("ty", ty)
            .field("outputs", outputs)
            .field("inputs", inputs)
            .finish_non_exhaustive()
    }
}

impl Packed {
    /// Bytes of the copy of such a matrix, or `None` where there is none: of types other than Q8_0, Q4_0, Q4_K and Q6_K, of
    /// rows that are no whole number of blocks, and of more than can be addressed.
    pub fn size(ty: WeightType, outputs: usize, inputs: usize) -> Option<usize> {
        Plan::new(ty, inputs)?.bytes(outputs)
    }

    /// Makes the copy of a matrix.
    ///
    /// # Errors
    ///
    /// Where [`Self::size`] has none, or the system no memory.
    pub fn new(matrix: &Matrix<'_>) -> io::Result<Self> {
        let (ty, outputs, inputs) = (matrix.ty(), matrix.outputs(), matrix.inputs());
        let stored = matrix.stored().ok_or(io::ErrorKind::InvalidInput)?;
        let mut room = Room::new(&[(ty, outputs, inputs)])?;
        for mut part in room.parts() {
            let rows = part.rows();
            for (index, rows) in stored.chunks(rows.max(1)).enumerate() {
                part.put(index, rows);
            }
        }
        room.finish().pop().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// The matrix to multiply with.
    pub fn matrix(&self) -> Matrix<'_> {
        Matrix::packed(self.ty, self.bytes(), self.outputs, self.inputs)
    }

    /// The element type.
    pub const fn ty(&self) -> WeightType {
        self.ty
    }

    /// The bytes, panel after panel.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.start + self.len).unwrap_or_default()
    }
}

/// Room for packed matrices, all in one piece of memory, one after the other.
#[derive(Debug)]
pub(crate) struct Room {
    memory: MmapMut,
    shapes: Vec<(WeightType, usize, usize)>,
}

/// A matrix that is being packed.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    plan: Plan,
    bytes: &'a mut [u8],
}

impl Room {
    /// Room for matrices of a type with so many outputs and inputs.
    ///
    /// # Errors
    ///
    /// Where one of them is not packed, or the system has no memory.
    pub(crate) fn new(shapes: &[(WeightType, usize, usize)]) -> io::Result<Self> {
        let size = |(ty, outputs, inputs): &(_, usize, usize)| Packed::size(*ty, *outputs, *inputs);
        let all = shapes.iter().try_fold(0_usize, |all, shape| all.checked_add(size(shape)?));
        let memory = MmapMut::map_anon(all.ok_or(io::ErrorKind::InvalidInput)?)?;
        #[cfg(target_os = "linux")]
        if memory.advise(memmap2::Advice::HugePage).is_err() {
            // Without large pages it is the same, but slower.
        }
        Ok(Self { memory, shapes: shapes.to_vec() })
    }

    /// The matrices, each to be filled by whoever takes it.
    pub(crate) fn parts(&mut self) -> Vec<Part<'_>> {
        let (mut rest, mut parts) = (&mut *self.memory, Vec::with_capacity(self.shapes.len()));
        for (ty, outputs, inputs) in &self.shapes {
            let Some(plan) = Plan::new(*ty, *inputs) else { continue };
            let Some((bytes, after)) = rest.split_at_mut_checked(plan.bytes(*outputs).unwrap_or(0)) else { break };
            rest = after;
            parts.push(Part { plan, bytes });
        }
        parts
    }

    /// The matrices.
    pub(crate) fn finish(self) -> Vec<Packed> {
        let (memory, mut start) = (Arc::new(self.memory), 0);
        let matrices = self.shapes.into_iter().map(|(ty, outputs, inputs)| {
            let len = Packed::size(ty, outputs, inputs).unwrap_or(0);
            start += len;
            Packed { memory: Arc::clone(&memory), start: start - len, len, ty, outputs, inputs }
        });
        matrices.collect()
    }
}

impl Part<'_> {
    /// Bytes of 16 rows as they are stored.
    pub(crate) const fn rows(&self) -> usize {
        self.plan.row * LANES
    }

    /// Packs 16 rows, or what is left of the matrix, as the panel of that number.
    pub(crate) fn put(&mut self, index: usize, rows: &[u8]) {
        if let Some(panel) = self.bytes.chunks_exact_mut(self.plan.panel.max(1)).nth(index) {
            self.plan.pack(rows, panel);
        }
    }
}

/// Some outputs of a packed matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    plan: Plan,
    bytes: &'a [u8],
    /// Rows of the first panel that come before.
    skip: usize,
}

impl<'a> View<'a> {
    /// `None` where the type is not packed.
    pub(super) fn new(ty: WeightType, bytes: &'a [u8], inputs: usize, skip: usize) -> Option<Self> {
        Some(Self { plan: Plan::new(ty, inputs)?, bytes, skip })
    }

    /// From some output on: the bytes from its panel on, and the rows of it that come before.
    pub(super) fn from(self, output: usize) -> (&'a [u8], usize) {
        let at = self.skip + output;
        let bytes = (at / LANES).checked_mul(self.plan.panel).and_then(|start| self.bytes.get(start..));
        (bytes.unwrap_or_default(), at % LANES)
    }

    pub(super) const fn ty(self) -> WeightType {
        self.plan.ty
    }

    /// Turns the panel that begins with an output into 16 lanes of a tile; where there is none, they stay as they are.
    #[inline(always)]
    pub(super) fn fill<L: Words, const W: usize, const PER: usize>(
        self,
        l: L,
        output: usize,
        tile: &mut [f32],
        starts: Starts,
        lane: usize,
    ) {
        let panel = self.from(output).0.get(..self.plan.panel).unwrap_or_default();
        many::fill::<L, W, PER>(l, self.plan, panel, tile, starts, lane);
    }

    /// Turns a row's blocks back, and gives each to `each`.
    fn restore(self, row: usize, mut each: impl FnMut(usize, &[u8])) {
        /// Bytes of the largest block.
        const MOST: usize = 210;
        let (panel, lane) = self.from(row);
        let mut block = [0_u8; MOST];
        let Some(block) = block.get_mut(..self.plan.ty.block_bytes()) else { return };
        for index in 0..self.plan.blocks {
            self.plan.restore(panel, lane, index, block);
            each(index, block);
        }
    }

    /// Decodes a row.
    pub(super) fn decode_row(self, row: usize, out: &mut [f32]) {
        let elements = self.plan.ty.block_elements();
        self.restore(row, |index, block| {
            if let Some(out) = out.get_mut(index * elements..(index + 1) * elements) {
                decode(self.plan.ty, block, out);
            }
        });
    }

    /// The product with `act`, and what `then` adds.
    pub(super) fn multiply(
        self,
        level: Level,
        act: &Act,
        mut out: MatMut<'_>,
        then: Then<'_>,
        scratch: &mut Scratch,
    ) {
        if act.form() != Form::Q8 {
            return self.exactly(level, act, out, then, scratch);
        }
        if self.skip == 0 {
            return self.whole_panels(level, act, out, then, scratch);
        }
        begin(&mut out, then);
        // Parts that do not begin with a panel: what comes before is worked out too, and left out.
        let columns = self.skip + out.columns();
        let mut all = core::mem::take(&mut scratch.spare);
        all.clear();
        all.resize(columns * out.rows(), 0.0);
        if let Some(all) = MatMut::new(&mut all, columns) {
            Self { skip: 0, ..self }.whole_panels(level, act, all, Then::default(), scratch);
        }
        for (row, sums) in all.chunks_exact(columns).enumerate() {
            for (out, sum) in out.row(row).iter_mut().zip(&sums[self.skip..]) {
                *out += sum;
            }
        }
        scratch.spare = all;
    }

    fn whole_panels(self, level: Level, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
        if act.rows() < MANY || !gemm::packed(self, act, out.reborrow(), then, scratch) {
            begin(&mut out, then);
            few(level, self, act, out);
        }
    }

    /// The product with activations as they are: 16 rows at a time turned back.
    fn exactly(self, level: Level, act: &Act, mut out: MatMut<'_>, then: Then<'_>, scratch: &mut Scratch) {
        let (stride, size) = (self.plan.row, self.plan.ty.block_bytes());
        let mut stored = core::mem::take(&mut scratch.stored);
        stored.clear();
        stored.resize(stride * LANES, 0);
        let mut start = 0;
        while out.columns() > 0 {
            let count = LANES.min(out.columns());
            for (row, to) in stored.chunks_exact_mut(stride.max(1)).enumerate().take(count) {
                self.restore(start + row, |index, block| {
                    if let Some(to) = to.get_mut(index * size..(index + 1) * size) {
                        to.copy_from_slice(block);
                    }
                });
            }
            let panel = gemm::Panel { bytes: &stored, stride, input_major: false, ty: self.plan.ty };
            let (part, rest) = out.split_at(count);
            gemm::single(level, panel, act, part, then.from(start), scratch);
            (out, start) = (rest, start + count);
        }
        scratch.stored = stored;
    }
}

dispatch! {
    /// Adds the product panel by panel, each read once for all tokens.
    fn few(view: View<'_>, act: &Act, out: MatMut<'_>) = few_tokens;
}

#[inline(always)]
fn few_tokens<L: Words>(l: L, view: View<'_>, act: &Act, out: MatMut<'_>) {
    if ahead::is_wanted() {
        each_panel::<L, true>(l, view, act, out);
    } else {
        each_panel::<L, false>(l, view, act, out);
    }
}

#[inline(always)]
fn each_panel<L: Words, const AHEAD: bool>(l: L, view: View<'_>, act: &Act, mut out: MatMut<'_>) {
    let panels = view.bytes.chunks_exact(view.plan.panel.max(1));
    for (first, bytes) in (0..out.columns()).step_by(LANES).zip(panels) {
        for token in 0..act.rows() {
            let sums = few::panel::<L, AHEAD>(l, view.plan, bytes, act.q8(token));
            let out = out.row(token).get_mut(first..).unwrap_or_default();
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out += sum;
            }
        }
    }
}
