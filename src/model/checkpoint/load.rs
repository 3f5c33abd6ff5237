//! Loading: everything is checked, then everything is copied.

use std::boxed::Box;
use std::collections::BTreeSet;
use std::fmt;
use std::string::String;
use std::vec::Vec;

use super::Part;
use crate::model::Tensor;
use crate::typed::Element;
use crate::{CastError, Dtype, Name, Shape, TensorView, num};

/// How many of each kind [`LoadError`] shows.
const MOST: usize = 10;

/// Where a tensor is to be copied to: a name, what must be there, and the room for it.
pub struct Target<'t> {
    name: String,
    dtype: Dtype,
    shape: Vec<u64>,
    /// Bytes that there is room for.
    room: Option<u64>,
    copy: Copy<'t>,
}

type Copy<'t> = Box<dyn FnOnce(&TensorView<'_>) -> Result<(), CastError> + 't>;

impl<'t> Target<'t> {
    /// Values of a native type: `f32` for [`Dtype::F32`], and so on. The shape's outermost dimension comes first.
    pub fn new<T: Element>(name: &str, shape: &[u64], values: &'t mut [T]) -> Self {
        let room = T::DTYPE.bytes_for(num::widen(values.len()));
        Self::of(name, T::DTYPE, shape, room, Box::new(move |view| view.copy_to(values)))
    }

    /// Bytes as they stand in the file, little-endian: for dtypes that Rust has no type for.
    pub fn bytes(name: &str, dtype: Dtype, shape: &[u64], bytes: &'t mut [u8]) -> Self {
        let found = num::widen(bytes.len());
        let copy = move |view: &TensorView<'_>| {
            let source = view.bytes();
            let size = CastError::Size { expected: num::widen(bytes.len()), found: num::widen(source.len()) };
            if source.len() != bytes.len() {
                return Err(size);
            }
            bytes.copy_from_slice(source);
            Ok(())
        };
        Self::of(name, dtype, shape, Some(found), Box::new(copy))
    }

    fn of(name: &str, dtype: Dtype, shape: &[u64], room: Option<u64>, copy: Copy<'t>) -> Self {
        Self { name: name.into(), dtype, shape: shape.into(), room, copy }
    }
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}{:?}", Name::from(&self.name), self.dtype, self.shape)
    }
}

/// A tensor that is not as its target wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    name: String,
    kind: MismatchKind,
}

/// In what it differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchKind {
    /// Its elements are of another type.
    Dtype {
        /// The target's.
        expected: Dtype,
        /// The tensor's.
        found: Dtype,
    },
    /// Its dimensions are others.
    Shape {
        /// The target's, outermost first.
        expected: Vec<u64>,
        /// The tensor's.
        found: Vec<u64>,
    },
    /// The target has not as much room as its own shape takes.
    Room {
        /// Bytes that its shape takes.
        expected: Option<u64>,
        /// Bytes that there is room for.
        found: Option<u64>,
    },
    /// There are two targets of this name.
    Twice,
}

impl Mismatch {
    /// The tensor's whole name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In what it differs.
    pub const fn kind(&self) -> &MismatchKind {
        &self.kind
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |count: Option<u64>| count.map_or_else(|| "too many".into(), |count| std::format!("{count}"));
        write!(f, "{:?} ", Name::from(&self.name))?;
        match &self.kind {
            MismatchKind::Dtype { expected, found } => write!(f, "is {found}, not {expected}"),
            MismatchKind::Shape { expected, found } => write!(f, "is {found:?}, not {expected:?}"),
            MismatchKind::Room { expected, found } => {
                write!(f, "takes {} bytes, and its target has {}", bytes(*expected), bytes(*found))
            }
            MismatchKind::Twice => f.write_str("has two targets"),
        }
    }
}

/// Everything that keeps a checkpoint from being loaded. No target was touched.
///
/// [`Display`](fmt::Display) is one line of printable ASCII with the first ten of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadError {
    missing: Vec<String>,
    unexpected: Vec<String>,
    mismatched: Vec<Mismatch>,
}

impl LoadError {
    /// The whole names of targets that the checkpoint does not have, in the order of the targets.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The whole names of tensors that no target is for, in order.
    pub fn unexpected(&self) -> &[String] {
        &self.unexpected
    }

    /// The tensors that differ from what their targets want, in the order of the targets.
    pub fn mismatched(&self) -> &[Mismatch] {
        &self.mismatched
    }

    fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.mismatched.is_empty()
    }

    fn mismatch(&mut self, name: &str, kind: MismatchKind) {
        self.mismatched.push(Mismatch { name: name.into(), kind });
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the checkpoint does not fit, and nothing was loaded")?;
        let names = |names: &[String]| -> Vec<String> {
            names.iter().take(MOST).map(|name| std::format!("{:?}", Name::from(name))).collect()
        };
        let mismatched = self.mismatched.iter().take(MOST).map(|mismatch| std::format!("{mismatch}")).collect();
        for (what, shown, count) in [
            ("missing", names(&self.missing), self.missing.len()),
            ("not expected", names(&self.unexpected), self.unexpected.len()),
            ("different", mismatched, self.mismatched.len()),
        ] {
            if count > 0 {
                write!(f, "; {what} ({count}): {}", shown.join(", "))?;
                f.write_str(if count > MOST { ", ..." } else { "" })?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

/// Loads some parts of one checkpoint: all of them, or nothing.
pub(super) fn all<const N: usize>(parts: [(Part<'_>, Vec<Target<'_>>); N]) -> Result<(), LoadError> {
    let mut error = LoadError::default();
    let mut pairs = Vec::new();
    for (part, targets) in parts {
        check(part, targets, &mut pairs, &mut error);
    }
    if !error.is_empty() {
        return Err(error);
    }
    for (tensor, target) in pairs {
        let copied = tensor.view().map_or(Ok(()), |view| (target.copy)(&view));
        // Type and size were compared above, and those are all that copying can fail for.
        if let Err(CastError::Size { expected, found }) = copied {
            error.mismatch(tensor.name(), MismatchKind::Room { expected: Some(expected), found: Some(found) });
        }
    }
    if error.is_empty() { Ok(()) } else { Err(error) }
}

/// Finds the tensor of each target, and all that does not fit.
fn check<'t>(
    part: Part<'_>,
    targets: Vec<Target<'t>>,
    pairs: &mut Vec<(Tensor, Target<'t>)>,
    error: &mut LoadError,
) {
    let mut wanted = BTreeSet::new();
    for target in targets {
        let name = part.whole(&target.name);
        let tensor = part.get(&target.name);
        match &tensor {
            Some(tensor) => compare(tensor, &target, error),
            None => error.missing.push(name.clone()),
        }
        if wanted.contains(&name) {
            error.mismatch(&name, MismatchKind::Twice);
        }
        wanted.insert(name);
        pairs.extend(tensor.map(|tensor| (tensor, target)));
    }
    let all = part.names().map(|name| part.whole(name));
    error.unexpected.extend(all.filter(|name| !wanted.contains(name)));
}

fn compare(tensor: &Tensor, target: &Target<'_>, error: &mut LoadError) {
    let name = tensor.name();
    if let Some(found) = tensor.element().dtype().filter(|found| *found != target.dtype) {
        error.mismatch(name, MismatchKind::Dtype { expected: target.dtype, found });
    }
    if tensor.shape() != target.shape {
        let (expected, found) = (target.shape.clone(), tensor.shape().into());
        error.mismatch(name, MismatchKind::Shape { expected, found });
    }
    let elements = Shape::from(&*target.shape).elements();
    let expected = elements.and_then(|elements| target.dtype.bytes_for(elements));
    if expected.is_none() || expected != target.room {
        error.mismatch(name, MismatchKind::Room { expected, found: target.room });
    }
}
