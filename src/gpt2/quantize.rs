//! Weights of a float checkpoint as blocks, made when it is loaded.

use std::num::NonZero;
use std::thread;

use super::problem::Problem;
use super::weights::{Layout, Matrix, Weights};
use crate::gguf::GgmlType;
use crate::simd::{self, WeightType};
use crate::{num, quant};

/// Into which blocks weights are brought when a model is loaded.
///
/// ```
/// use tensorgate::gpt2::Quantize;
/// assert_eq!(Quantize::named("Q8_0"), Some(Quantize::Q8_0));
/// assert_eq!(Quantize::named("q2_k"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(non_camel_case_types, reason = "the names under which the formats are known")]
pub enum Quantize {
    /// 8 bits and a scale for each 32: hardly to be told from the original.
    Q8_0,
    /// 4 bits and a scale for each 32: the smallest and the fastest.
    Q4_0,
    /// 4 bits with scales and minima in blocks of 256: as small, and nearer to the original.
    Q4_K,
}

impl Quantize {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Q8_0, Self::Q4_0, Self::Q4_K];

    /// The name, as GGUF has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Q8_0 => "Q8_0",
            Self::Q4_0 => "Q4_0",
            Self::Q4_K => "Q4_K",
        }
    }

    /// The one of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name))
    }

    const fn kind(self) -> WeightType {
        match self {
            Self::Q8_0 => WeightType::Q8_0,
            Self::Q4_0 => WeightType::Q4_0,
            Self::Q4_K => WeightType::Q4_K,
        }
    }

    /// What a matrix is brought into: blocks that its rows are whole numbers of, or none where they are of none.
    fn fit(self, inputs: usize) -> Option<WeightType> {
        [self.kind(), WeightType::Q8_0].into_iter().find(|kind| inputs.is_multiple_of(kind.block_elements()))
    }
}

/// How many outputs are transposed and encoded at once.
const OUTPUTS: usize = 64;

/// Brings all matrices that are multiplied with into blocks.
pub(super) fn all(
    weights: &mut Weights,
    how: Quantize,
    limit: u64,
    notes: &mut Vec<String>,
) -> Result<(), Problem> {
    let mut matrices = vec![weights.head.as_mut()];
    matrices.push(Some(&mut weights.embedding));
    for block in &mut weights.blocks {
        for linear in [&mut block.qkv, &mut block.proj, &mut block.up, &mut block.down] {
            matrices.push(Some(&mut linear.matrix));
        }
    }
    let mut matrices: Vec<&mut Matrix> = matrices.into_iter().flatten().filter(|m| m.kind.is_float()).collect();
    let size = |matrix: &Matrix| {
        let kind = how.fit(matrix.inputs)?;
        kind.row_bytes(matrix.inputs)?.checked_mul(matrix.outputs)
    };
    let needed = matrices.iter().filter_map(|matrix| size(matrix)).map(num::widen).fold(0, u64::saturating_add);
    let refused = || Problem::Memory { what: "the quantised weights", needed, limit };
    if needed > limit {
        return Err(refused());
    }
    let other = matrices.iter().filter(|matrix| how.fit(matrix.inputs) != Some(how.kind())).count();
    if other > 0 {
        notes.push(format!(
            "{other} matrices have rows that are no whole blocks of {}, and became Q8_0 or stayed",
            how.name()
        ));
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let share = matrices.len().div_ceil(threads).max(1);
    // The head is by far the largest: interleaved, each thread gets its part of the small ones too.
    matrices.sort_by_key(|matrix| std::cmp::Reverse(matrix.bytes().len()));
    let mut shares: Vec<Vec<&mut Matrix>> = Vec::new();
    shares.resize_with(threads.min(matrices.len().max(1)), || Vec::with_capacity(share));
    for matrix in matrices {
        if let Some(least) = shares.iter_mut().min_by_key(|share| {
            share.iter().map(|matrix| num::widen(matrix.bytes().len())).fold(0, u64::saturating_add)
        }) {
            least.push(matrix);
        }
    }
    thread::scope(|scope| {
        let work = |share: Vec<&mut Matrix>| share.into_iter().try_for_each(|matrix| one(matrix, how));
        let workers: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || work(share))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(None))
    })
    .ok_or_else(refused)
}

/// Brings one matrix into blocks; nothing where memory has run out.
fn one(matrix: &mut Matrix, how: Quantize) -> Option<()> {
    let Some(kind) = how.fit(matrix.inputs) else { return Some(()) };
    let ggml = match kind {
        WeightType::Q8_0 => GgmlType::Q8_0,
        WeightType::Q4_0 => GgmlType::Q4_0,
        _ => GgmlType::Q4_K,
    };
    let (inputs, outputs) = (matrix.inputs, matrix.outputs);
    let row = kind.row_bytes(inputs)?;
    let mut bytes = bytemuck::allocation::try_zeroed_vec::<u8>(row.checked_mul(outputs)?).ok()?;
    let mut tile = bytemuck::allocation::try_zeroed_vec::<f32>(OUTPUTS.checked_mul(inputs)?).ok()?;
    let mut strip = [0.0_f32; OUTPUTS];
    for (part, start) in bytes.chunks_mut(row.checked_mul(OUTPUTS)?).zip((0_usize..).step_by(OUTPUTS)) {
        let count = part.len().checked_div(row)?;
        let tile = tile.get_mut(..count.checked_mul(inputs)?)?;
        let end = start.checked_add(count)?;
        match matrix.layout {
            Layout::Rows => {
                let whole = simd::Matrix::new(matrix.kind, matrix.bytes(), outputs, inputs).ok()?;
                for (index, row) in (start..end).zip(tile.chunks_exact_mut(inputs)) {
                    whole.decode_row(index, row).ok()?;
                }
            }
            Layout::Columns => {
                let whole = simd::Matrix::input_major(matrix.kind, matrix.bytes(), inputs, outputs).ok()?;
                let columns = whole.outputs_at(start..end)?;
                let strip = strip.get_mut(..count)?;
                for input in 0..inputs {
                    columns.decode_row(input, strip).ok()?;
                    let places = tile.iter_mut().skip(input).step_by(inputs);
                    places.zip(strip.iter()).for_each(|(to, from)| *to = *from);
                }
            }
        }
        quant::encode(ggml, tile, part).ok()?;
    }
    *matrix = Matrix::own(bytes, kind, Layout::Rows, inputs, outputs);
    Some(())
}
