//! What we write, our reader and the reference read back the same; what no reader takes is not written.

use arbitrary::{Arbitrary, Result, Unstructured};
use tensorgate::safetensors::{Plan, PlanError, TensorSpec, WriteError, serialize};
use tensorgate::{Limits, SafeTensors};

use super::{promises, st_reference};
use crate::r#gen::model::{Metadata, Model, Tensor};

/// What to write, and how many bytes of it at a time.
struct Input {
    model: Model,
    /// What is wrong with it, if anything.
    fault: Option<Fault>,
    piece: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NameTwice,
    ReservedName,
    KeyTwice,
    TooFewBytes,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let piece = u.int_in_range(1..=40)?;
        let wanted = *u.choose(&[Fault::NameTwice, Fault::ReservedName, Fault::KeyTwice, Fault::TooFewBytes])?;
        let faulty = u.int_in_range(0..=3)? == 0;
        let mut model = Model::arbitrary(u)?;
        let has_place = match (wanted, &mut model.metadata) {
            (Fault::NameTwice, _) => {
                model.tensors.first().cloned().map(|first| model.tensors.push(first)).is_some()
            }
            (Fault::ReservedName, _) => {
                model.tensors.first_mut().map(|first| "__metadata__".clone_into(&mut first.name)).is_some()
            }
            (Fault::KeyTwice, Metadata::Map(pairs)) => {
                pairs.first().cloned().map(|first| pairs.push(first)).is_some()
            }
            (Fault::KeyTwice, _) => false,
            (Fault::TooFewBytes, _) => model.tensors.iter().any(|tensor| tensor.end > tensor.begin),
        };
        if faulty && has_place {
            return Ok(Self { model, fault: Some(wanted), piece });
        }
        // The change is taken back.
        match wanted {
            Fault::NameTwice if has_place => drop(model.tensors.pop()),
            Fault::ReservedName if has_place => "\u{1}free".clone_into(&mut model.tensors[0].name),
            Fault::KeyTwice if has_place => {
                if let Metadata::Map(pairs) = &mut model.metadata {
                    pairs.pop();
                }
            }
            _ => {}
        }
        Ok(Self { model, fault: None, piece })
    }
}

fn spec(tensor: &Tensor) -> TensorSpec<'_> {
    TensorSpec::new(&tensor.name, tensor.dtype, &tensor.shape)
}

fn bytes<'m>(model: &'m Model, tensor: &Tensor) -> &'m [u8] {
    &model.data[usize::try_from(tensor.begin).expect("small")..usize::try_from(tensor.end).expect("small")]
}

/// Writes what `data` chooses, in one piece and in several, and reads it.
pub fn check(data: &[u8]) {
    let Ok(input) = Input::arbitrary(&mut Unstructured::new(data)) else { return };
    let model = &input.model;
    let pairs = match &model.metadata {
        Metadata::Map(pairs) => Some(pairs.iter().map(|(key, value)| (key, value))),
        _ => None,
    };
    let short = input.fault == Some(Fault::TooFewBytes);
    let longest = model.tensors.iter().position(|tensor| tensor.end > tensor.begin);
    let tensors = model.tensors.iter().enumerate().map(|(index, tensor)| {
        let bytes = bytes(model, tensor);
        let cut = short && Some(index) == longest;
        spec(tensor).with_bytes(if cut { &bytes[1..] } else { bytes })
    });
    let outcome = serialize(tensors, pairs.clone());
    let file = match (outcome, input.fault) {
        (Ok(file), None) => file,
        (Err(error), Some(fault)) => return assert!(is_right(&error, fault), "{fault:?}: {error}"),
        (outcome, fault) => panic!("{fault:?}: {:?}", outcome.map(|file| file.len())),
    };
    assert_eq!(promises::safetensors(&file, &Limits::DEFAULT), Ok(()));
    st_reference::check(&file);
    let read = SafeTensors::open(&file).expect("accepted above");
    compare(&read, model);
    // What was read is written again as it was.
    assert_eq!(serialize(read.tensors(), read.metadata()).as_ref().map_err(drop), Ok(&file));
    in_pieces(&input, &file, pairs);
}

fn is_right(error: &WriteError, fault: Fault) -> bool {
    match error {
        WriteError::Plan(PlanError::DuplicateName { .. }) => fault == Fault::NameTwice,
        WriteError::Plan(PlanError::ReservedName { index }) => fault == Fault::ReservedName && *index == 0,
        WriteError::Plan(PlanError::DuplicateKey { first, .. }) => fault == Fault::KeyTwice && *first == 0,
        WriteError::ByteCount { expected, given, .. } => fault == Fault::TooFewBytes && *given + 1 == *expected,
        _ => false,
    }
}

/// Every tensor and every pair is there, as it was given.
fn compare(read: &SafeTensors<'_>, model: &Model) {
    assert_eq!(read.len(), model.tensors.len());
    for tensor in &model.tensors {
        let shown = read.tensor(&tensor.name).expect("it was written");
        assert!(shown.dtype() == tensor.dtype && shown.shape() == tensor.shape[..]);
        assert_eq!(shown.bytes(), bytes(model, tensor));
    }
    let sizes: Vec<u64> = read.tensors().map(|tensor| tensor.dtype().align()).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "the widest come first, so that all are aligned");
    assert!(read.header().data().start().is_multiple_of(8));
    match &model.metadata {
        Metadata::Map(pairs) => {
            let shown = read.metadata().expect("it was written");
            assert_eq!(shown.iter().count(), pairs.len());
            assert!(pairs.iter().all(|(key, value)| shown.get(key).is_some_and(|shown| shown == value.as_str())));
        }
        _ => assert!(read.metadata().is_none() && !read.header().metadata_is_null()),
    }
}

/// The same file comes of a plan whose tensors are given piece by piece.
fn in_pieces<'m>(
    input: &Input,
    file: &[u8],
    pairs: Option<impl Iterator<Item = (&'m String, &'m String)> + Clone>,
) {
    let model = &input.model;
    let plan = Plan::new(model.tensors.iter().map(spec), pairs, &Limits::DEFAULT).expect("serialize took it");
    assert_eq!(plan.file_len(), file.len() as u64);
    assert!(file.starts_with(plan.prefix()));
    let mut streamed = Vec::new();
    let mut writer = plan.writer(&mut streamed).expect("memory takes all");
    while let Some(mut tensor) = writer.tensor().expect("the one before is whole") {
        let data = bytes(model, &model.tensors[tensor.index()]);
        for piece in data.chunks(input.piece) {
            tensor.write(piece).expect("as many as planned");
        }
    }
    writer.finish().expect("all were written");
    assert_eq!(streamed, file);
    for planned in plan.tensors() {
        let range =
            usize::try_from(planned.span().start()).unwrap()..usize::try_from(planned.span().end()).unwrap();
        assert_eq!(&file[range], bytes(model, &model.tensors[planned.index()]));
    }
}

/// Any bytes choose a file: the cases' bytes are as good as others.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.len() > 40).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    #[test]
    fn smoke() {
        crate::smoke::noise(super::check, 33, 4000);
        crate::smoke::mutants(super::check, 34, 3, &crate::corpus::files());
    }
}
