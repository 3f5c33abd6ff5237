//! What each tensor becomes.

use std::borrow::ToOwned;
use std::collections::HashSet;
use std::string::String;
use std::vec::Vec;

use super::error::{Problem, ProblemKind};
use super::{Conversion, ConvertError, Draft, Naming, Output};
use crate::gguf::{self, GgmlType};
use crate::model::names::{Renamed, gpt2_buffer, gpt2_from_gguf, gpt2_to_gguf};
use crate::model::{ElementType, Format, Model, Tensor};
use crate::{Dtype, Limits, num};

/// Dimensions that a tensor of a GGUF file may have.
const GGUF_RANK: u64 = 4;

/// The tensors of the new file, and the names of those that it will not have.
pub(super) fn outputs(
    conversion: &Conversion<'_>,
    model: &Model,
) -> Result<(Vec<Output>, Vec<String>), ConvertError> {
    let (mut outputs, mut left_out, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    outputs.try_reserve_exact(model.len())?;
    seen.try_reserve(model.len())?;
    for source in model.in_file_order() {
        let gpt2 = conversion.naming == Naming::Gpt2;
        if gpt2 && model.format() == Format::SafeTensors && gpt2_buffer(source.name()) {
            left_out.try_reserve(1)?;
            left_out.push(source.name().to_owned());
            continue;
        }
        match output(conversion, model.format(), source) {
            Ok(output) if !seen.insert(output.name.clone()) => {
                return Err(ConvertError::SameName { name: output.name });
            }
            Ok(output) => outputs.push(output),
            Err(problem) => {
                problems.try_reserve(1)?;
                problems.push(problem);
            }
        }
    }
    // Each has a name of its own.
    if outputs.len().saturating_add(left_out.len()).saturating_add(problems.len()) < model.len() {
        for name in model.names().filter(|name| model.get(name).is_none()) {
            problems.try_reserve(1)?;
            problems.push(Problem { tensor: name.to_owned(), kind: ProblemKind::NoSize });
        }
    }
    if problems.is_empty() { Ok((outputs, left_out)) } else { Err(ConvertError::Tensors(problems)) }
}

/// What one tensor becomes.
fn output(conversion: &Conversion<'_>, from: Format, source: Tensor) -> Result<Output, Problem> {
    let renamed = match (conversion.naming, from, conversion.format) {
        (Naming::Gpt2, Format::SafeTensors, Format::Gguf) => gpt2_to_gguf(source.name()),
        (Naming::Gpt2, Format::Gguf, Format::SafeTensors) => gpt2_from_gguf(source.name()),
        _ => None,
    };
    let is_gpt2 = renamed.is_some();
    let Renamed { name, transposed } =
        renamed.unwrap_or_else(|| Renamed { name: source.name().to_owned(), transposed: false });
    let mut shape = source.shape().to_vec();
    let transposed = transposed && shape.len() == 2;
    if transposed {
        shape.reverse();
    }
    let draft = Draft { name: &name, shape: &shape, element: source.element() };
    let mut wanted = (conversion.choose)(draft);
    if is_gpt2 && conversion.format == Format::Gguf && is_vector(&name, &shape) && is_float(source.element()) {
        wanted = Some(GgmlType::F32.into());
    }
    let element = element(conversion.format, source.element(), wanted, transposed)
        .and_then(|element| fits(conversion.format, &name, element, &shape).map(|()| element));
    match element {
        Ok(element) => Ok(Output { name, element, shape, source, transposed }),
        Err(kind) => Err(Problem { tensor: source.name().to_owned(), kind }),
    }
}

/// Whether llama.cpp asks for F32: what is added to activations, or scales them, and the positions.
fn is_vector(name: &str, shape: &[u64]) -> bool {
    shape.len() < 2 || name == "position_embd.weight"
}

/// Whether a type holds fractions, in numbers or in blocks: what [`Conversion::with_types`] may change.
pub(in crate::model) fn is_float(element: ElementType) -> bool {
    match element.dtype() {
        Some(dtype) => matches!(dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16),
        None => matches!(element, ElementType::Ggml(kind) if crate::quant::is_decodable(kind)),
    }
}

/// The type in the new file.
fn element(
    format: Format,
    from: ElementType,
    wanted: Option<ElementType>,
    transposed: bool,
) -> Result<ElementType, ProblemKind> {
    let wanted = wanted.filter(|_| is_float(from));
    // Blocks lie along the rows, so that other rows have other blocks.
    let blocks = from.block_elements() != Some(1);
    let element = wanted.unwrap_or(if transposed && blocks { GgmlType::F32.into() } else { from });
    let none = ProblemKind::NoType(element);
    let kinds = (from.ggml(), element.ggml());
    if kinds.0 != kinds.1 && kinds.1.is_some_and(|kind| !crate::quant::is_encodable(kind)) {
        return Err(ProblemKind::NotEncodable(element));
    }
    match format {
        Format::Gguf => element.ggml().map(ElementType::Ggml).ok_or(none),
        Format::SafeTensors => match element.dtype() {
            Some(dtype) => Ok(dtype.into()),
            None if is_float(element) => Ok(Dtype::F32.into()),
            None => Err(none),
        },
    }
}

/// Whether the format can have such a tensor.
fn fits(format: Format, name: &str, element: ElementType, shape: &[u64]) -> Result<(), ProblemKind> {
    if format != Format::Gguf {
        return Ok(());
    }
    let (rank, len) = (num::widen(shape.len()), num::widen(name.len()));
    if rank > GGUF_RANK {
        return Err(ProblemKind::Rank { rank, most: GGUF_RANK });
    }
    let most = Limits::DEFAULT.gguf_name_len();
    if len > most {
        return Err(ProblemKind::Name { len, most });
    }
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(ProblemKind::NameText);
    }
    let (row, block) = (shape.last().copied().unwrap_or(1), element.block_elements().map_or(1, u64::from));
    if !row.is_multiple_of(block) {
        return Err(ProblemKind::Rows { row, block });
    }
    let kind = element.ggml().ok_or(ProblemKind::NoType(element))?;
    // Also where it is empty, dimensions may be no more than 63 bits count.
    gguf::TensorSpec::new(name, kind, shape).byte_len().map(|_| ()).ok_or(ProblemKind::Size)
}
