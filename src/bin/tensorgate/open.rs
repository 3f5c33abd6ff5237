//! Models for commands that read tensors.

use std::path::Path;

use tensorgate::ErrorKind;
use tensorgate::gguf::SplitErrorKind;
use tensorgate::model::{Model, ModelError, ModelErrorKind, Options};

use crate::args::Reading;
use crate::{Exit, complain};

/// Opens the model at `path`, or standard input for "-"; says why where it cannot, and how the program ends then.
pub(crate) fn model(path: &Path, reading: &Reading) -> Result<Model, Exit> {
    let options = Options::default().with_limits(reading.options().limits);
    let opened = if path == Path::new("-") {
        Model::from_reader(std::io::stdin(), &options)
    } else {
        Model::open_with(path, &options)
    };
    opened.map_err(|error| {
        complain(&why(&error));
        if is_refusal(&error) { Exit::Rejected } else { Exit::Trouble }
    })
}

/// What went wrong, with its code once.
pub(crate) fn why(error: &ModelError) -> String {
    let (text, code) = (error.to_string(), error.code());
    if text.contains(code) { text } else { format!("{text} ({code})") }
}

/// Whether the model was read, and is not what it says it is. A file of it that is not there says nothing of the others.
pub(crate) fn is_refusal(error: &ModelError) -> bool {
    match error.kind() {
        ModelErrorKind::Invalid { .. } => true,
        ModelErrorKind::Disagreement { error, .. } => error.kind() != ErrorKind::IxShardMissing,
        ModelErrorKind::Split(error) => error.kind() != SplitErrorKind::Missing,
        _ => false,
    }
}
