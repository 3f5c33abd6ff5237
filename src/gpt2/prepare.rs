//! Weights brought into another form when a model is loaded: floats into blocks, and blocks into an order that is read faster.

use std::num::NonZero;
use std::thread;

use super::model::LoadOptions;
use super::problem::{Problem, shown};
use super::quantize::Quantize;
use super::weights::{Layout, Matrix, Weights};
use crate::gguf::GgmlType;
use crate::num;
use crate::quant::{self, QuantError};
use crate::simd::{self, Packed, PackedPart, PackedRoom, WeightType};

/// How many outputs are transposed and encoded at once: a whole number of packed panels.
const OUTPUTS: usize = 64;

/// What is to become of a matrix.
#[derive(Clone, Copy, Debug)]
struct Plan {
    kind: WeightType,
    /// Bytes of a row of that kind, and of all that is allocated.
    row: usize,
    size: usize,
    is_packed: bool,
}

/// Where the blocks of a matrix go.
enum Place<'a> {
    Rows(Vec<u8>),
    Packed(PackedPart<'a>),
}

/// Brings all matrices that are multiplied with into the form that the options ask for.
pub(super) fn all(weights: &mut Weights, options: &LoadOptions, notes: &mut Vec<String>) -> Result<(), Problem> {
    let how = options.quantize;
    let is_tied = weights.head.is_none();
    // Of an embedding that is not the head too, a row is read for each token, as fast in one order as in the other.
    let mut matrices = vec![(&mut weights.embedding, options.repack && is_tied)];
    matrices.extend(weights.head.as_mut().map(|head| (head, options.repack)));
    for block in &mut weights.blocks {
        for linear in [&mut block.qkv, &mut block.proj, &mut block.up, &mut block.down] {
            matrices.push((&mut linear.matrix, options.repack));
        }
    }
    note(how, matrices.iter().map(|(matrix, _)| &**matrix), notes);
    let planned = matrices.into_iter().filter_map(|(matrix, pack)| Some((plan(matrix, how, pack)?, matrix)));
    let planned: Vec<(Plan, &mut Matrix)> = planned.collect();
    let needed = planned.iter().map(|(plan, _)| num::widen(plan.size)).fold(0, u64::saturating_add);
    let what = if options.repack { "the copy of the weights" } else { "the quantised weights" };
    let refused = || Problem::Memory { what, needed, limit: options.memory_limit };
    if needed > options.memory_limit {
        return Err(refused());
    }
    fill(planned).map_err(|failed| match failed {
        Failed::Memory => refused(),
        Failed::Value(problem) => problem,
    })
}

/// Why matrices were not brought into another form.
enum Failed {
    Memory,
    /// A weight that no block can hold.
    Value(Problem),
}

/// What becomes of a matrix; `None` where it stays as it is.
fn plan(matrix: &Matrix, how: Option<Quantize>, pack: bool) -> Option<Plan> {
    let made = how.filter(|_| matrix.kind.is_float()).and_then(|how| how.fit(matrix.inputs));
    let kind = made.unwrap_or(matrix.kind);
    let row = kind.row_bytes(matrix.inputs)?;
    if let Some(size) = Packed::size(kind, matrix.outputs, matrix.inputs).filter(|_| pack) {
        return Some(Plan { kind, row, size, is_packed: true });
    }
    made.map(|kind| Plan { kind, row, size: row.saturating_mul(matrix.outputs), is_packed: false })
}

/// Notes how many matrices cannot be brought into the blocks that were asked for.
fn note<'a>(how: Option<Quantize>, matrices: impl Iterator<Item = &'a Matrix>, notes: &mut Vec<String>) {
    let Some(how) = how else { return };
    let other =
        matrices.filter(|matrix| matrix.kind.is_float() && how.fit(matrix.inputs) != Some(how.kind())).count();
    if other > 0 {
        notes.push(format!(
            "matrices with rows that are no whole blocks of {}, which became Q8_0 or stayed: {other}",
            how.name()
        ));
    }
}

/// Does what was planned.
fn fill(mut planned: Vec<(Plan, &mut Matrix)>) -> Result<(), Failed> {
    let packed = planned.iter().filter(|(plan, _)| plan.is_packed);
    let shapes: Vec<_> = packed.map(|(plan, matrix)| (plan.kind, matrix.outputs, matrix.inputs)).collect();
    let mut room = PackedRoom::new(&shapes).map_err(|_| Failed::Memory)?;
    let mut parts = room.parts().into_iter();
    let mut work = Vec::new();
    work.try_reserve_exact(planned.len()).map_err(|_| Failed::Memory)?;
    for (plan, matrix) in &mut planned {
        let place = if plan.is_packed {
            parts.next().map(Place::Packed)
        } else {
            bytemuck::allocation::try_zeroed_vec(plan.size).ok().map(Place::Rows)
        };
        work.push((*plan, &mut **matrix, place.ok_or(Failed::Memory)?));
    }
    share_out(work)?;
    drop(parts);
    let packed = planned.into_iter().filter(|(plan, _)| plan.is_packed);
    packed.zip(room.finish()).for_each(|((_, matrix), copy)| matrix.pack(copy));
    Ok(())
}

/// One matrix's share of the work.
type Work<'a> = (Plan, &'a mut Matrix, Place<'a>);

fn share_out(mut work: Vec<Work<'_>>) -> Result<(), Failed> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    // The head is by far the largest: with the largest first, each thread gets its part of the small ones too.
    work.sort_by_key(|(_, matrix, _)| std::cmp::Reverse(matrix.bytes().len()));
    let mut shares: Vec<(u64, Vec<Work<'_>>)> = Vec::new();
    shares.resize_with(threads.min(work.len()), Default::default);
    for one in work {
        if let Some((bytes, least)) = shares.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            *bytes = bytes.saturating_add(num::widen(one.1.bytes().len()));
            least.push(one);
        }
    }
    thread::scope(|scope| {
        let each =
            |share: Vec<Work<'_>>| share.into_iter().try_for_each(|(plan, matrix, place)| one(plan, matrix, place));
        let start = |(_, share)| thread::Builder::new().spawn_scoped(scope, move || each(share)).ok();
        let workers = shares.into_iter().map(start).collect::<Option<Vec<_>>>().ok_or(Failed::Memory)?;
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(Failed::Memory)))
    })
}

/// Brings one matrix into another form.
fn one(plan: Plan, matrix: &mut Matrix, mut place: Place<'_>) -> Result<(), Failed> {
    if plan.kind == matrix.kind {
        // Blocks already: only their order changes.
        if let Place::Packed(part) = &mut place {
            for (index, rows) in matrix.bytes().chunks(part.rows().max(1)).enumerate() {
                part.put(index, rows);
            }
        }
        return Ok(());
    }
    let (inputs, outputs) = (matrix.inputs, matrix.outputs);
    let mut tile = zeroed::<f32>(OUTPUTS.checked_mul(inputs)).ok_or(Failed::Memory)?;
    let mut blocks = zeroed::<u8>(OUTPUTS.checked_mul(plan.row)).ok_or(Failed::Memory)?;
    for start in (0..outputs).step_by(OUTPUTS) {
        let count = outputs.saturating_sub(start).min(OUTPUTS);
        let tile = tile.get_mut(..count.saturating_mul(inputs)).ok_or(Failed::Memory)?;
        decode(matrix, start, count, tile).ok_or(Failed::Memory)?;
        let (from, len) = (start.saturating_mul(plan.row), count.saturating_mul(plan.row));
        let encode = |to: Option<&mut [u8]>| {
            let encoded = quant::encode(ggml(plan.kind), tile, to.ok_or(Failed::Memory)?);
            encoded.map_err(|error| failed(&error, plan, matrix, start))
        };
        match &mut place {
            Place::Rows(all) => encode(all.get_mut(from..from.saturating_add(len)))?,
            Place::Packed(part) => {
                encode(blocks.get_mut(..len))?;
                let rows = blocks.get(..len).unwrap_or_default().chunks(part.rows().max(1));
                rows.zip(start / simd::PACKED_ROWS..).for_each(|(rows, index)| part.put(index, rows));
            }
        }
    }
    if let Place::Rows(bytes) = place {
        *matrix = Matrix::own(bytes, plan.kind, Layout::Rows, inputs, outputs);
    }
    Ok(())
}

fn zeroed<T: bytemuck::Zeroable>(len: Option<usize>) -> Option<Vec<T>> {
    bytemuck::allocation::try_zeroed_vec(len?).ok()
}

/// Why the outputs from `start` on were not encoded.
fn failed(error: &QuantError, plan: Plan, matrix: &Matrix, start: usize) -> Failed {
    let (index, why) = match *error {
        QuantError::NotFinite { index, is_nan: true } => (index, "no number (NaN)".to_owned()),
        QuantError::NotFinite { index, .. } => (index, "infinite".to_owned()),
        QuantError::Overflow { index, .. } => (index, format!("too large for {}", ggml(plan.kind))),
        _ => return Failed::Memory,
    };
    let inputs = num::widen(matrix.inputs);
    let (row, input) = (index.checked_div(inputs).unwrap_or(0), index.checked_rem(inputs).unwrap_or(0));
    let output = num::widen(start).saturating_add(row);
    let element = match matrix.layout {
        Layout::Rows => output.saturating_mul(inputs).saturating_add(input),
        Layout::Columns => input.saturating_mul(num::widen(matrix.outputs)).saturating_add(output),
    };
    Failed::Value(Problem::Value { name: shown(matrix.name()), element, why })
}

/// Some outputs of a matrix of floats, a row each.
fn decode(matrix: &Matrix, start: usize, count: usize, tile: &mut [f32]) -> Option<()> {
    let (inputs, whole, end) = (matrix.inputs, matrix.view().ok()?, start.checked_add(count)?);
    if matrix.layout == Layout::Rows {
        let rows = (start..end).zip(tile.chunks_exact_mut(inputs));
        return rows.into_iter().try_for_each(|(index, row)| whole.decode_row(index, row).ok());
    }
    let columns = whole.outputs_at(start..end)?;
    let mut strip = [0.0_f32; OUTPUTS];
    let strip = strip.get_mut(..count)?;
    for input in 0..inputs {
        columns.decode_row(input, strip).ok()?;
        let places = tile.iter_mut().skip(input).step_by(inputs);
        places.zip(strip.iter()).for_each(|(to, from)| *to = *from);
    }
    Some(())
}

const fn ggml(kind: WeightType) -> GgmlType {
    match kind {
        WeightType::Q8_0 => GgmlType::Q8_0,
        WeightType::Q4_0 => GgmlType::Q4_0,
        _ => GgmlType::Q4_K,
    }
}
