//! Weight matrices over the bytes of a file, and their products.

use core::ops::Range;

use super::gemm::Panel;
use super::unpack::decode;
use super::{Act, Form, Level, MatMut, ShapeError, WeightType, dense, gemm, packed, q8};

/// From how many tokens on weights are unpacked a tile at a time.
pub const MANY: usize = 4;

/// A weight matrix where it stands: `outputs × inputs` elements of one type, little-endian, at any alignment.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    ty: WeightType,
    bytes: &'a [u8],
    outputs: usize,
    inputs: usize,
    layout: Layout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// A row an output, as in GGUF and PyTorch's `Linear`.
    OutputMajor,
    /// A row an input, as in GPT-2's `Conv1D`; rows begin so many bytes apart.
    InputMajor { stride: usize },
    /// 16 outputs side by side; so many rows of the first 16 come before.
    Packed { skip: usize },
}

/// What becomes of a product.
#[derive(Clone, Copy, Debug, Default)]
pub struct Then<'a> {
    /// Added to every token's outputs; as many values as there are outputs.
    pub bias: Option<&'a [f32]>,
    /// Whether what the output held before stays in the sum (a residual).
    pub add: bool,
}

/// Room for unpacked weights, kept from one product to the next. One a thread.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) tile: Vec<f32>,
    pub(super) rows: Vec<f32>,
    pub(super) q: Vec<i8>,
    /// Of packed weights: blocks turned back, and sums of parts that begin in the middle.
    pub(super) stored: Vec<u8>,
    pub(super) spare: Vec<f32>,
}

impl Scratch {
    /// Empty; it grows with the first products to a few hundred kilobytes.
    pub const fn new() -> Self {
        Self { tile: Vec::new(), rows: Vec::new(), q: Vec::new(), stored: Vec::new(), spare: Vec::new() }
    }
}

impl Then<'_> {
    /// The same for the outputs from `first` on.
    pub(super) fn from(self, first: usize) -> Self {
        Self { bias: self.bias.map(|bias| bias.get(first..).unwrap_or_default()), ..self }
    }
}

impl<'a> Matrix<'a> {
    /// A matrix with a row an output: GGUF, or a `Linear` of PyTorch, of shape `[outputs, inputs]`.
    ///
    /// # Errors
    ///
    /// Where `bytes` is not what so many rows take, or a row is no whole number of blocks.
    pub fn new(ty: WeightType, bytes: &'a [u8], outputs: usize, inputs: usize) -> Result<Self, ShapeError> {
        let row = ty.row_bytes(inputs);
        let row = row.ok_or(ShapeError::new("a row is no whole number of blocks", ty.block_elements(), inputs))?;
        let all = row.saturating_mul(outputs);
        ShapeError::unless("bytes of a matrix", all, bytes.len())?;
        Ok(Self { ty, bytes, outputs, inputs, layout: Layout::OutputMajor })
    }

    /// A matrix with a row an input: GPT-2's `Conv1D`, of shape `[inputs, outputs]`. For F32, F16 and BF16.
    ///
    /// # Errors
    ///
    /// Where `bytes` is not what so many rows take, or `ty` is a block format.
    pub fn input_major(ty: WeightType, bytes: &'a [u8], inputs: usize, outputs: usize) -> Result<Self, ShapeError> {
        if !ty.is_float() {
            return Err(ShapeError::new("blocks run along inputs only", 1, ty.block_elements()));
        }
        let Self { bytes, .. } = Self::new(ty, bytes, inputs, outputs)?;
        let stride = ty.row_bytes(outputs).unwrap_or(0);
        Ok(Self { ty, bytes, outputs, inputs, layout: Layout::InputMajor { stride } })
    }

    /// Packed outputs; `bytes` are those of their panels.
    pub(super) const fn packed(ty: WeightType, bytes: &'a [u8], outputs: usize, inputs: usize) -> Self {
        Self { ty, bytes, outputs, inputs, layout: Layout::Packed { skip: 0 } }
    }

    /// The rows as they are stored, where they are: one an output.
    pub(super) fn stored(&self) -> Option<&'a [u8]> {
        (self.layout == Layout::OutputMajor).then_some(self.bytes)
    }

    /// All of it as it stands; none where it is packed.
    pub(super) fn panel(&self) -> Option<Panel<'a>> {
        let (stride, input_major) = match self.layout {
            Layout::OutputMajor => (self.row_bytes(), false),
            Layout::InputMajor { stride } => (stride, true),
            Layout::Packed { .. } => return None,
        };
        Some(Panel { bytes: self.bytes, stride, input_major, ty: self.ty })
    }

    /// Packed outputs as their kernels see them.
    fn view(&self, skip: usize) -> Option<packed::View<'a>> {
        packed::View::new(self.ty, self.bytes, self.inputs, skip)
    }

    /// The element type.
    pub const fn ty(&self) -> WeightType {
        self.ty
    }

    /// How many outputs.
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// How many inputs.
    pub const fn inputs(&self) -> usize {
        self.inputs
    }

    /// The matrix of some of the outputs, or `None` where there are not so many.
    #[must_use]
    pub fn outputs_at(&self, range: Range<usize>) -> Option<Self> {
        let outputs = range.end.checked_sub(range.start).filter(|_| range.end <= self.outputs)?;
        let bytes = match self.layout {
            Layout::OutputMajor => {
                let row = self.row_bytes();
                self.bytes.get(range.start * row..range.end * row)?
            }
            Layout::InputMajor { .. } => self.bytes.get(self.ty.row_bytes(range.start)?..).unwrap_or_default(),
            Layout::Packed { skip } => {
                let (bytes, skip) = self.view(skip)?.from(range.start);
                return Some(Self { bytes, outputs, layout: Layout::Packed { skip }, ..*self });
            }
        };
        Some(Self { bytes, outputs, ..*self })
    }

    /// Bytes of an output's row; meaningful where there is one.
    fn row_bytes(&self) -> usize {
        self.ty.row_bytes(self.inputs).unwrap_or(0)
    }

    /// Decodes the row at `index` (an output's, or an input's in the other layout) to F32: an embedding, for instance.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or `out` is not as long as it.
    pub fn decode_row(&self, index: usize, out: &mut [f32]) -> Result<(), ShapeError> {
        let (rows, len, stride) = match self.layout {
            Layout::OutputMajor | Layout::Packed { .. } => (self.outputs, self.inputs, self.row_bytes()),
            Layout::InputMajor { stride } => (self.inputs, self.outputs, stride),
        };
        ShapeError::unless("elements of a row", len, out.len())?;
        if index >= rows {
            return Err(ShapeError::new("rows of a matrix", rows, index));
        }
        if let Layout::Packed { skip } = self.layout {
            if let Some(view) = self.view(skip) {
                view.decode_row(index, out);
            }
            return Ok(());
        }
        let row = self.bytes.get(index * stride..).unwrap_or_default();
        decode(self.ty, row, out);
        Ok(())
    }

    /// `out[t][o] = Σ act[t][i] × weight[o][i]`, and what `then` adds.
    ///
    /// The sum of n products is off by at most about `n/16 × 2⁻²⁴` of the sum of their magnitudes, apart from what the
    /// activations' form rounds off.
    ///
    /// # Errors
    ///
    /// Where the activations have another length than [`Self::inputs`], `out` another shape than tokens × outputs, the bias
    /// another length than the outputs, or the activations a form that the weights do not take ([`Form`]).
    pub fn multiply(
        &self,
        level: Level,
        act: &Act,
        mut out: MatMut<'_>,
        then: Then<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), ShapeError> {
        ShapeError::unless("inputs of a matrix", self.inputs, act.len())?;
        ShapeError::unless("rows of a product", act.rows(), out.rows())?;
        ShapeError::unless("columns of a product", self.outputs, out.columns())?;
        if let Some(bias) = then.bias {
            ShapeError::unless("values of a bias", self.outputs, bias.len())?;
        }
        let fits = match act.form() {
            Form::F32 => true,
            Form::Bf16 => self.ty.is_float(),
            Form::Q8 => !self.ty.is_float(),
        };
        if !fits {
            return Err(ShapeError::new("these activations are not for such weights", 0, 1));
        }
        if let Layout::Packed { skip } = self.layout {
            if let Some(view) = self.view(skip) {
                view.multiply(level, act, out, then, scratch);
            }
            return Ok(());
        }
        if act.rows() < MANY && self.few(level, act, &mut out, then) {
            return Ok(());
        }
        let Some(panel) = self.panel() else { return Ok(()) };
        match act.form() {
            Form::Q8 => gemm::q8(level, panel, act, out, then, scratch),
            Form::Bf16 => gemm::brain(level, panel, act, out, then, scratch),
            Form::F32 => gemm::single(level, panel, act, out, then, scratch),
        }
        Ok(())
    }

    /// A product with few tokens: one pass over the weights as they stand, in which each row of floats serves all tokens; a
    /// pass for each token where they are blocks. False where there is no kernel.
    fn few(&self, level: Level, act: &Act, out: &mut MatMut<'_>, then: Then<'_>) -> bool {
        if act.form() == Form::Bf16 || (act.form() == Form::F32 && !self.ty.is_float()) {
            return false;
        }
        begin(out, then);
        match (self.layout, act.form()) {
            (Layout::InputMajor { stride }, _) => {
                dense::axpy_all(level, self.ty, self.bytes, stride, act.tokens(), out)
            }
            (Layout::OutputMajor | Layout::Packed { .. }, Form::Q8) => {
                for token in 0..act.rows() {
                    q8::matvec(level, self.ty, self.bytes, self.row_bytes(), act.q8(token), out.row(token));
                }
                true
            }
            (Layout::OutputMajor | Layout::Packed { .. }, _) => {
                dense::matvec(level, self.ty, self.bytes, act.tokens(), out)
            }
        }
    }
}

/// What a product is added to.
pub(super) fn begin(out: &mut MatMut<'_>, then: Then<'_>) {
    for row in 0..out.rows() {
        let row = out.row(row);
        match (then.bias, then.add) {
            (None, true) => {}
            (None, false) => row.fill(0.0),
            (Some(bias), false) => row.copy_from_slice(bias),
            (Some(bias), true) => {
                for (out, bias) in row.iter_mut().zip(bias) {
                    *out += bias;
                }
            }
        }
    }
}
