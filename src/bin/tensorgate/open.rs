//! Models for commands that read tensors.

use std::path::Path;

use tensorgate::model::{Model, ModelErrorKind, Options};

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
        complain(&format!("{error} ({})", error.code()));
        match error.kind() {
            ModelErrorKind::Invalid { .. } | ModelErrorKind::Disagreement { .. } | ModelErrorKind::Split(_) => {
                Exit::Rejected
            }
            _ => Exit::Trouble,
        }
    })
}
