//! A program that loads a model which it does not trust: limits of its own, numbers that nobody can change behind its back,
//! and an answer to everything that may be wrong.
//!
//! ```console
//! $ cargo run --example untrusted -- models/austen
//! $ cargo run --example untrusted -- corpus/reject/ST-OVERLAP/partial.safetensors
//! ```
//!
//! Shows each tensor with its mean, which looks at every number. Exits 1 where the model is refused or holds numbers that
//! are none, 2 where it could not be read.

use std::error::Error;
use std::process::ExitCode;

use tensorgate::file::{Advice, Hold};
use tensorgate::model::{ElementType, Model, ModelError, ModelErrorKind, Options, Tensor};
use tensorgate::quant::Rows;
use tensorgate::{Limits, Name};

/// What this program is ready to load, which is less than the formats allow: it knows its models.
fn options() -> Options {
    let limits =
        Limits::default().with_header_len(16 << 20).with_tensors(20_000).with_rank(8).with_metadata_keys(1000);
    // A sealed copy costs the file's size in memory. In return nobody can change or cut what is being read.
    Options::default().with_limits(limits).with_hold(Hold::Snapshot).with_memory_limit(8 << 30)
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: untrusted MODEL");
        return ExitCode::from(2);
    };
    let model = match Model::open_with(&path, &options()) {
        Ok(model) => model,
        Err(error) => return refused(&error),
    };
    println!("{}: {} tensors in {} files", model.format(), model.len(), model.files().len());
    let mut odd = 0;
    // In the order of the files, so that a disk reads from front to back.
    for tensor in model.in_file_order() {
        // A name is a stranger's text: shown as a `Name`, it cannot talk to the terminal.
        let name = Name::from(tensor.name());
        match mean(&tensor) {
            Ok(Some(mean)) if mean.is_finite() => {
                println!("{name} {} {:?}: {mean:.6}", tensor.element(), tensor.shape());
            }
            Ok(None) => println!("{name} {} {:?}", tensor.element(), tensor.shape()),
            Ok(Some(_)) => {
                odd += 1;
                println!("{name} {} {:?}: not finite", tensor.element(), tensor.shape());
            }
            Err(error) => {
                odd += 1;
                println!("{name} {} {:?}: {error}", tensor.element(), tensor.shape());
            }
        }
        // What was looked at need not stay in memory.
        tensor.advise(Advice::DontNeed);
    }
    ExitCode::from(u8::from(odd > 0))
}

/// Whose fault it is decides what to do: a file that lies is refused for good, one that could not be read may be tried again.
fn refused(error: &ModelError) -> ExitCode {
    eprintln!("{} ({})", error, error.code());
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because {error}");
        cause = error.source();
    }
    match error.kind() {
        ModelErrorKind::Read(_) => ExitCode::from(2),
        _ => ExitCode::from(1),
    }
}

/// The mean of a tensor of floats or of blocks; `None` for other types and where there is no element.
fn mean(tensor: &Tensor) -> Result<Option<f64>, Box<dyn Error>> {
    let (mut sum, mut count) = (0.0, 0_u32);
    let mut take = |value: f32| {
        sum += f64::from(value);
        count = count.saturating_add(1);
    };
    match (tensor.view(), tensor.element()) {
        (Some(view), _) => match view.iter_f32() {
            Ok(floats) => floats.for_each(&mut take),
            // Integers and the like.
            Err(_) => return Ok(None),
        },
        (None, ElementType::Ggml(kind)) => {
            // Dimensions are claims too, though proved: they are narrowed, never cast.
            let columns = tensor.shape().last().copied().unwrap_or(1);
            let rows = tensor.elements().checked_div(columns).unwrap_or(0);
            let rows = Rows::new(kind, tensor.endian(), tensor.bytes(), columns, rows)?;
            let mut row = vec![0.0; rows.row_elements()];
            for index in 0..rows.len() {
                rows.decode(index, &mut row)?;
                row.iter().copied().for_each(&mut take);
            }
        }
        (None, ElementType::Dtype(_)) => return Ok(None),
    }
    Ok((count > 0).then(|| sum / f64::from(count)))
}
