//! The weights, where they stand in the file.

use std::path::Path;

use super::config::{Config, Fields};
use super::names::{Expected, Names, Part};
use super::problem::{KEPT, Problem, Problems, shown};
use crate::file::ReadError;
use crate::gguf::Endian;
use crate::model::{ElementType, Model, ModelFile, Source, Tensor};
use crate::num;
use crate::simd::{self, Packed, ShapeError, WeightType};

/// How a matrix lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// `[out, in]`: a row is what one output is made of.
    Rows,
    /// `[in, out]`: Conv1D's; a row is what one input gives to.
    Columns,
}

/// Where a matrix's bytes are.
#[derive(Clone, Debug)]
enum Bytes {
    File(Tensor),
    Own(Vec<u8>),
    /// A copy with 16 rows side by side.
    Packed(Packed),
}

/// A matrix of weights.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    bytes: Bytes,
    pub(super) kind: WeightType,
    pub(super) layout: Layout,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

impl Matrix {
    /// The bytes, row after row, or as they are packed.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::File(tensor) => tensor.bytes(),
            Bytes::Own(bytes) => bytes,
            Bytes::Packed(packed) => packed.bytes(),
        }
    }

    /// The matrix as the kernels see it.
    pub(super) fn view(&self) -> Result<simd::Matrix<'_>, ShapeError> {
        match (&self.bytes, self.layout) {
            (Bytes::Packed(packed), _) => Ok(packed.matrix()),
            (_, Layout::Rows) => simd::Matrix::new(self.kind, self.bytes(), self.outputs, self.inputs),
            (_, Layout::Columns) => simd::Matrix::input_major(self.kind, self.bytes(), self.inputs, self.outputs),
        }
    }

    /// The bytes where they stand in the file; nothing where there is a copy.
    fn in_file(&self) -> &[u8] {
        match &self.bytes {
            Bytes::File(tensor) => tensor.bytes(),
            _ => &[],
        }
    }

    /// What the file calls it; nothing where there is a copy.
    pub(super) fn name(&self) -> &str {
        match &self.bytes {
            Bytes::File(tensor) => tensor.name(),
            _ => "",
        }
    }

    /// The same matrix in a packed copy.
    pub(super) fn pack(&mut self, packed: Packed) {
        (self.kind, self.layout, self.bytes) = (packed.ty(), Layout::Rows, Bytes::Packed(packed));
    }

    /// A matrix in memory of our own.
    pub(super) const fn own(
        bytes: Vec<u8>,
        kind: WeightType,
        layout: Layout,
        inputs: usize,
        outputs: usize,
    ) -> Self {
        Self { bytes: Bytes::Own(bytes), kind, layout, inputs, outputs }
    }
}

/// A matrix and what is added to its product.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) matrix: Matrix,
    pub(super) bias: Vec<f32>,
}

/// A layer norm's scale and shift.
#[derive(Clone, Debug)]
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// One transformer block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) norm_1: Norm,
    pub(super) qkv: Linear,
    pub(super) proj: Linear,
    pub(super) norm_2: Norm,
    pub(super) up: Linear,
    pub(super) down: Linear,
}

/// How far apart bytes are touched: Linux brings in the 64 KiB around a byte that is asked for, as far as they are in its cache.
const TOUCHED: usize = 64 << 10;

/// All weights of a model.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    pub(super) embedding: Matrix,
    pub(super) positions: Matrix,
    pub(super) blocks: Vec<Block>,
    pub(super) last_norm: Norm,
    /// `None` where the embedding is the head too.
    pub(super) head: Option<Matrix>,
}

impl Weights {
    pub(super) fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }

    /// The matrices that every token is multiplied with, in this order.
    fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        let blocks = self.blocks.iter().flat_map(|block| [&block.qkv, &block.proj, &block.up, &block.down]);
        blocks.map(|linear| &linear.matrix).chain([self.head()])
    }

    /// Bytes of all matrices that every token is multiplied with.
    pub(super) fn bytes_per_token(&self) -> u64 {
        self.matrices().map(|matrix| num::widen(matrix.bytes().len())).fold(0, u64::saturating_add)
    }

    /// See [`Gpt2::touch`](super::Gpt2::touch).
    pub(super) fn touch(&self, mut go_on: impl FnMut() -> bool) {
        for piece in self.matrices().flat_map(|matrix| matrix.in_file().chunks(TOUCHED)) {
            if !go_on() {
                return;
            }
            std::hint::black_box(piece.first().copied());
        }
    }

    /// All biases and norms.
    pub(super) fn vectors(&self) -> impl Iterator<Item = &[f32]> {
        let blocks = self.blocks.iter().flat_map(|block| {
            let linear = [&block.qkv, &block.proj, &block.up, &block.down].map(|linear| &linear.bias);
            let [a, b] = [&block.norm_1, &block.norm_2];
            linear.into_iter().chain([&a.weight, &a.bias, &b.weight, &b.bias])
        });
        blocks.chain([&self.last_norm.weight, &self.last_norm.bias]).map(Vec::as_slice)
    }
}

/// The config and the weights of a model, and what is to be noted about them.
pub(super) fn load(model: &Model, fields: &Fields, limit: u64) -> Result<(Config, Weights, Vec<String>), Problems> {
    let names = Names::of(model);
    let (config, mut notes) = fields.resolve(&names.seen(model))?;
    let (layers, tensors) = (num::widen(config.n_layer()), num::widen(model.len()));
    if layers > tensors {
        // Not one problem for each tensor of two thousand million layers.
        let expected = "at most the number of tensors in the file";
        return Err(Problem::Field { key: "n_layer", found: layers.to_string(), expected }.into());
    }
    let mut problems = Vec::new();
    let mut vectors = 0_u64;
    let own_head = match config.tied() {
        Some(tied) => !tied,
        None => model.contains(names.head()),
    };
    let shape = [config.n_vocab(), config.n_embd()].map(num::widen);
    let head = own_head.then(|| Expected::new(names.head().to_owned(), &shape));
    if !own_head && model.contains(names.head()) {
        notes.push(format!("{} is not used, as the config ties the head to the embedding", names.head()));
    }
    for one in names.expected(&config).chain(head) {
        if problems.len() > KEPT {
            break;
        }
        match model.get(&one.name) {
            None => problems.push(Problem::MissingTensor(one.name)),
            Some(tensor) => check(&tensor, one.is_matrix(), &one.shape, &mut problems),
        }
        if let [len] = one.shape.as_slice() {
            vectors = vectors.saturating_add(len.saturating_mul(4));
        }
    }
    names.strangers(model, &config, &mut problems, &mut notes);
    if vectors > limit && problems.is_empty() {
        problems.push(Problem::Memory { what: "the model's biases and norms", needed: vectors, limit });
    }
    Problems::none_of(problems)?;
    let weights = build(model, names, &config, own_head).map_err(|lost| match lost {
        Lost::Memory => Problem::Memory { what: "the model's biases and norms", needed: vectors, limit },
        Lost::Unread { name, why } => Problem::Unread { name, why },
    })?;
    Ok((config, weights, notes))
}

/// The kernels' type of a tensor's elements.
fn kind(tensor: &Tensor) -> Option<WeightType> {
    match tensor.element() {
        ElementType::Dtype(dtype) => WeightType::from_dtype(dtype),
        ElementType::Ggml(kind) => WeightType::from_ggml(kind),
    }
}

fn check(tensor: &Tensor, is_matrix: bool, expected: &[u64], problems: &mut Vec<Problem>) {
    let name = || shown(tensor.name());
    if tensor.shape() != expected {
        problems.push(Problem::Shape { name: name(), found: tensor.shape().to_vec(), expected: expected.to_vec() });
    }
    let found = match kind(tensor) {
        _ if tensor.endian() == Endian::Big => format!("{}, big-endian", tensor.element()),
        Some(kind) if is_matrix || kind.is_float() => {
            let (row, block) = (tensor.shape().last().copied().unwrap_or(0), num::widen(kind.block_elements()));
            if !row.is_multiple_of(block) {
                problems.push(Problem::Blocks { name: name(), row, block });
            }
            return;
        }
        _ => tensor.element().to_string(),
    };
    problems.push(Problem::Type { name: name(), found });
}

/// Why there are no weights where every tensor was seen to be there.
enum Lost {
    Memory,
    Unread { name: String, why: String },
}

fn build(model: &Model, names: Names, config: &Config, own_head: bool) -> Result<Weights, Lost> {
    let layout = if names.is_columns() { Layout::Columns } else { Layout::Rows };
    let matrix = |name: &str, layout: Layout| {
        let tensor = model.get(name)?;
        let [rows, columns] = tensor.shape() else { return None };
        let (rows, columns) = (num::narrow(*rows)?, num::narrow(*columns)?);
        let (inputs, outputs) = if layout == Layout::Rows { (columns, rows) } else { (rows, columns) };
        Some(Matrix { kind: kind(&tensor)?, layout, inputs, outputs, bytes: Bytes::File(tensor) })
    };
    let matrix = |name: &str, layout: Layout| matrix(name, layout).ok_or(Lost::Memory);
    let vector = |name: String| vector(model, &model.get(&name).ok_or(Lost::Memory)?);
    let linear = |stem: String| {
        let bias = vector(format!("{stem}.bias"))?;
        Ok(Linear { matrix: matrix(&format!("{stem}.weight"), layout)?, bias })
    };
    let norm = |stem: String| {
        let weight = vector(format!("{stem}.weight"))?;
        Ok(Norm { weight, bias: vector(format!("{stem}.bias"))? })
    };
    let block = |layer: u64| {
        let name = |part| names.block(layer, part);
        Ok(Block {
            norm_1: norm(name(Part::Norm1))?,
            qkv: linear(name(Part::Qkv))?,
            proj: linear(name(Part::Proj))?,
            norm_2: norm(name(Part::Norm2))?,
            up: linear(name(Part::Up))?,
            down: linear(name(Part::Down))?,
        })
    };
    let layers = num::widen(config.n_layer());
    let mut blocks = Vec::new();
    blocks.try_reserve_exact(config.n_layer()).map_err(|_| Lost::Memory)?;
    for layer in 0..layers {
        blocks.push(block(layer)?);
    }
    Ok(Weights {
        embedding: matrix(&names.embedding(), Layout::Rows)?,
        positions: matrix(&names.positions(), Layout::Rows)?,
        blocks,
        last_norm: norm(names.last_norm())?,
        head: if own_head { Some(matrix(names.head(), Layout::Rows)?) } else { None },
    })
}

/// A vector's values, read rather than mapped: they are copied anyway, and so a file that was cut meanwhile is an error.
fn vector(model: &Model, tensor: &Tensor) -> Result<Vec<f32>, Lost> {
    let (len, kind) = num::narrow(tensor.elements()).zip(kind(tensor)).ok_or(Lost::Memory)?;
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| Lost::Memory)?;
    values.resize(len, 0.0);
    let path = model.files().get(tensor.file()).map_or(Path::new(""), ModelFile::path);
    let unread = |error: ReadError| Lost::Unread { name: shown(tensor.name()), why: error.to_string() };
    let mut source = Source::open(tensor, path).map_err(unread)?;
    let bytes = source.next(usize::MAX).map_err(unread)?.unwrap_or_default();
    let row = simd::Matrix::new(kind, bytes, 1, len);
    row.and_then(|row| row.decode_row(0, &mut values)).map_err(|_| Lost::Memory)?;
    source.unchanged().map_err(unread)?;
    Ok(values)
}
