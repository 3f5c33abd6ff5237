//! Whole models: opened by the model layer as by the readers, converted to the other format, and read again.

use std::path::PathBuf;
use std::sync::OnceLock;

use tensorgate::file::Saver;
use tensorgate::gguf::Gguf;
use tensorgate::model::convert::{Conversion, Target};
use tensorgate::model::{Format, Model, Options, diff};
use tensorgate::quant::NonFinite;
use tensorgate::{SafeTensors, gguf};

/// Files that are worth writing: longer ones only take longer.
const MOST: usize = 4096;

/// A folder for this process's files.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // In memory where that can be had: each save waits until its bytes are on the disk.
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = place.join(format!("tensorgate-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        path
    })
}

/// The oracle.
///
/// # Panics
///
/// Where a promise is broken.
pub fn check(data: &[u8]) {
    let opened = Model::from_reader(std::io::Cursor::new(data.to_vec()), &Options::default());
    let split =
        Gguf::open(data).is_ok_and(|file| matches!(gguf::SplitKeys::of(file.header()), Err(_) | Ok(Some(_))));
    let accepted = SafeTensors::open(data).is_ok() || (Gguf::open(data).is_ok() && !split);
    // A file of a split is no model by itself; all else is one exactly where its reader takes it.
    assert!(split || opened.is_ok() == accepted, "{:?}", opened.err());
    let Ok(model) = opened else { return };
    let names: Vec<&str> = model.names().collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "names are not sorted, or one is there twice");
    for tensor in model.tensors() {
        assert_eq!(tensor.element().bytes_for(tensor.elements()), Some(tensor.bytes().len() as u64), "{tensor:?}");
    }
    if data.len() <= MOST {
        for format in [Format::SafeTensors, Format::Gguf] {
            converted(&model, format);
        }
    }
}

/// Every tensor of the converted model has the values that it had, or the plan says why there is none.
fn converted(model: &Model, format: Format) {
    let conversion = Conversion::to(format).with_non_finite(NonFinite::Keep).with_threads(1);
    let Ok(plan) = conversion.plan(model) else { return };
    let path = folder().join("converted");
    // Metadata that the format cannot have is the one thing that is found later.
    if plan.save(Target::File(&path), &Saver::new()).is_err() {
        return;
    }
    let again = Model::open(&path).expect("what is written is accepted");
    assert_eq!(again.len(), plan.outputs().len());
    for output in plan.outputs() {
        let (before, now) = (output.source(), again.tensor(output.name()).expect("every tensor is there"));
        let difference = diff::tensors(before, &now).expect("both can be decoded");
        assert_eq!(difference.differ(), 0, "{before:?} became {now:?}");
    }
}

/// The file itself.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    Some(file.to_vec())
}

#[cfg(test)]
mod tests {
    #[test]
    fn smoke() {
        crate::smoke::files(super::check, 1);
    }
}
