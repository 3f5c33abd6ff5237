//! From one file to another: format, naming, types, byte order, alignment, and how many files.
//!
//! A [`Conversion`] says what is wanted; its [`plan`](Conversion::plan) proves that there can be such a model, and
//! [`Plan::save`] streams it tensor by tensor into files that appear all at once.

mod data;
mod error;
mod loss;
mod outputs;
mod pairs;
mod save;

use std::fmt;
use std::string::String;
use std::vec::Vec;

pub use error::{ConvertError, Problem, ProblemKind};
pub use loss::Loss;
pub(super) use outputs::is_float;
pub use save::{Report, Target};

use super::{ElementType, Format, Model, Tensor};
use crate::gguf::{Endian, PairSpec};
use crate::quant::NonFinite;

/// What becomes of the tensors' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Naming {
    /// They stay.
    #[default]
    Keep,
    /// GPT-2's are those of the other format ([`names`](super::names)), and the weights of the projections are transposed;
    /// buffers that are no parameters are left out. Vectors and positions are widened to F32 for GGUF, as llama.cpp asks.
    /// Other names stay.
    Gpt2,
}

/// A tensor that is to be converted, for whoever chooses its type.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'d> {
    /// Its name in the new file.
    pub name: &'d str,
    /// Its shape in the new file, outermost dimension first.
    pub shape: &'d [u64],
    /// Its type in the source.
    pub element: ElementType,
}

/// Chooses a tensor's type in the new file; `None` keeps the one it has, or the nearest that the format has.
pub type Choose<'c> = &'c (dyn Fn(Draft<'_>) -> Option<ElementType> + Sync);

/// What a model is to become.
///
/// ```
/// use tensorgate::model::convert::{Conversion, Target};
/// use tensorgate::model::{Format, Model};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (from, to) = (folder.path().join("model.safetensors"), folder.path().join("model.gguf"));
/// # let mut file = 54_u64.to_le_bytes().to_vec();
/// # file.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
/// # file.extend_from_slice(&[0, 0, 128, 63, 0, 0, 0, 64]);
/// # std::fs::write(&from, &file)?;
/// let model = Model::open(&from)?;
/// let plan = Conversion::to(Format::Gguf).plan(&model)?;
/// plan.save(Target::File(&to), &Default::default())?;
/// assert_eq!(Model::open(&to)?.tensor("w")?.bytes(), model.tensor("w")?.bytes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Conversion<'c> {
    format: Format,
    naming: Naming,
    choose: Choose<'c>,
    endian: Endian,
    alignment: Option<u32>,
    non_finite: NonFinite,
    pairs: &'c [PairSpec<'c>],
    progress: &'c (dyn Fn(u64) + Sync),
    threads: usize,
}

impl<'c> Conversion<'c> {
    /// To a format; names and types stay, where it has them. Blocks become F32 in safetensors.
    pub fn to(format: Format) -> Self {
        Self {
            format,
            naming: Naming::Keep,
            choose: &|_| None,
            endian: Endian::Little,
            alignment: None,
            non_finite: NonFinite::Refuse,
            pairs: &[],
            progress: &|_| (),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// The same with other names.
    #[must_use]
    pub const fn with_naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// The same with types of the caller's choice.
    #[must_use]
    pub const fn with_types(mut self, choose: Choose<'c>) -> Self {
        self.choose = choose;
        self
    }

    /// The same in a byte order. Safetensors files have one only, whatever is said here.
    #[must_use]
    pub const fn with_endian(mut self, endian: Endian) -> Self {
        self.endian = endian;
        self
    }

    /// The same with tensors at multiples of so many bytes. Without: in GGUF what the source's `general.alignment` says,
    /// or 32, as its default is; in safetensors 8 for the first tensor and for each its own type's size, since wide types
    /// are written first. Shards of safetensors are always as without.
    #[must_use]
    pub const fn with_alignment(mut self, alignment: u32) -> Self {
        self.alignment = Some(alignment);
        self
    }

    /// What is done where a value is a NaN or infinite, or a block's scale that makes such values, whether its type changes or
    /// not.
    #[must_use]
    pub const fn with_non_finite(mut self, non_finite: NonFinite) -> Self {
        self.non_finite = non_finite;
        self
    }

    /// Pairs that a GGUF file gets besides those that the source has; of the same key, these are taken
    /// in its place, and the others stand first.
    #[must_use]
    pub const fn with_pairs(mut self, pairs: &'c [PairSpec<'c>]) -> Self {
        self.pairs = pairs;
        self
    }

    /// Somebody who is told how many bytes of tensors were written, each time some were.
    #[must_use]
    pub const fn with_progress(mut self, progress: &'c (dyn Fn(u64) + Sync)) -> Self {
        self.progress = progress;
        self
    }

    /// Threads that encode; the result does not depend on them.
    #[must_use]
    pub const fn with_threads(mut self, threads: usize) -> Self {
        self.threads = if threads == 0 { 1 } else { threads };
        self
    }

    /// Proves that the model can become what is wanted.
    ///
    /// # Errors
    ///
    /// [`ConvertError::Tensors`] with everything that cannot be, [`ConvertError::SameName`].
    pub fn plan(&self, model: &Model) -> Result<Plan<'c>, ConvertError> {
        let (outputs, left_out) = outputs::outputs(self, model)?;
        let mut conversion = *self;
        if conversion.format == Format::SafeTensors {
            conversion.endian = Endian::Little;
        }
        Ok(Plan { conversion, model: model.clone(), outputs, left_out })
    }
}

impl fmt::Debug for Conversion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion")
            .field("format", &self.format)
            .field("naming", &self.naming)
            .field("endian", &self.endian)
            .field("alignment", &self.alignment)
            .field("non_finite", &self.non_finite)
            .finish_non_exhaustive()
    }
}

/// A tensor of the new file.
#[derive(Clone, Debug)]
pub struct Output {
    name: String,
    element: ElementType,
    shape: Vec<u64>,
    source: Tensor,
    transposed: bool,
}

impl Output {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type.
    pub const fn element(&self) -> ElementType {
        self.element
    }

    /// Its dimensions, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The tensor that it comes of.
    pub const fn source(&self) -> &Tensor {
        &self.source
    }

    /// It, for whoever chooses its type.
    pub fn draft(&self) -> Draft<'_> {
        Draft { name: &self.name, shape: &self.shape, element: self.source.element() }
    }

    /// Whether the source's two dimensions changed places.
    pub const fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Bytes that it takes.
    pub fn byte_len(&self) -> u64 {
        let elements = crate::Shape::from(self.shape.as_slice()).elements().unwrap_or(0);
        self.element.bytes_for(elements).unwrap_or(0)
    }
}

/// A conversion that can be done: what each tensor will be.
#[derive(Clone, Debug)]
pub struct Plan<'c> {
    conversion: Conversion<'c>,
    model: Model,
    outputs: Vec<Output>,
    left_out: Vec<String>,
}

impl Plan<'_> {
    /// The tensors of the new file, in the order of the source's.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Tensors of the source that the new file will not have: buffers that are no parameters.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Bytes of tensors that will be written.
    pub fn byte_len(&self) -> u64 {
        self.outputs.iter().fold(0, |sum, output| sum.saturating_add(output.byte_len()))
    }
}
