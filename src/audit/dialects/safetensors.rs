//! The traits of a safetensors file that was accepted.

use super::table::SAFETENSORS;
use super::{Kind, Traits};
use crate::audit::findings::Finding;
use crate::audit::rules::{RULES, Rule};
use crate::safetensors::{Header, TensorInfo};
use crate::{Error, num};

/// The traits of an accepted header with its findings (of [`audit::safetensors`](crate::audit::safetensors)).
///
/// ```
/// # fn main() -> Result<(), tensorgate::Error> {
/// use tensorgate::{Limits, audit, audit::dialects, safetensors::Header};
/// let file = b"\x15\0\0\0\0\0\0\0{\"__metadata__\":null}";
/// let header = Header::open(file, 29, &Limits::default())?;
/// let traits = dialects::safetensors(&header, &audit::safetensors(&header)?)?;
/// let go = traits.answers().find(|answer| answer.reader().name().contains("Go"));
/// assert!(go.is_some_and(|answer| answer.outcome() == dialects::Outcome::Accepts));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ErrorKind::StorageTooSmall`](crate::ErrorKind::StorageTooSmall) when memory ran out: it takes a few kilobytes.
pub fn safetensors(header: &Header<'_>, findings: &[Finding<'_>]) -> Result<Traits, Error> {
    let mut traits = Traits::new(&SAFETENSORS, RULES.len().saturating_add(64), header.data().start())?;
    for finding in findings {
        // Each dtype has a row of its own.
        if finding.rule() != Rule::DtypeNew {
            traits.add(Kind::Rule(finding.rule()));
        }
    }
    let mut last: Option<TensorInfo<'_>> = None;
    let mut sorted = true;
    for info in header.tensors() {
        tensor(&mut traits, &info);
        sorted &= last.is_none_or(|last| last.name() < info.name());
        last = Some(info);
    }
    if !sorted {
        traits.add(Kind::Has("names-unsorted"));
    }
    metadata(&mut traits, header);
    if header.json().bytes().rev().take_while(u8::is_ascii_whitespace).any(|byte| matches!(byte, b'\r' | b'\n')) {
        traits.add(Kind::Has("padding-of-line-breaks"));
    }
    if num::widen(header.len()) > MOST_TENSORS {
        traits.add(Kind::Has("tensors-over-4096"));
    }
    let length = num::widen(header.json().len());
    for (most, key) in [(16 << 20, "header-over-16-mib"), (25_000_000, "header-over-25-mb")] {
        if length > most {
            traits.add(Kind::Has(key));
        }
    }
    Ok(traits)
}

/// The tensors that modelaudit looks at.
const MOST_TENSORS: u64 = 4096;
/// The largest dimension of @huggingface/hub (its `MAX_TENSOR_DIM`).
const MOST_DIM: u64 = 1 << 32;
/// The dimensions that are looked at: a shape can be as long as the header.
const MOST_DIMS: usize = 65;
/// From so many on, the rank is a trait.
const HIGH_RANK: usize = 8;

fn tensor(traits: &mut Traits, info: &TensorInfo<'_>) {
    traits.add(Kind::Dtype(info.dtype()));
    let (mut rank, mut over) = (0_usize, false);
    // In bytes, the dimensions that are 0 left out: what a reader computes that multiplies them in another order.
    let mut bytes = Some(info.dtype().bits().div_ceil(8));
    for dim in info.shape().iter().take(MOST_DIMS) {
        rank = rank.saturating_add(1);
        over |= dim > MOST_DIM;
        bytes = if dim == 0 { bytes } else { bytes.and_then(|bytes| bytes.checked_mul(dim)) };
    }
    for (key, yes) in [
        ("rank-8", (HIGH_RANK..MOST_DIMS).contains(&rank)),
        ("dim-over-2^32", over),
        ("zero-times-too-much", bytes.is_none_or(|bytes| i64::try_from(bytes).is_err())),
    ] {
        if yes {
            traits.add(Kind::Has(key));
        }
    }
}

fn metadata(traits: &mut Traits, header: &Header<'_>) {
    let Some(metadata) = header.metadata() else { return };
    let first = header.tensors().map(|info| info.entry_at()).min();
    if first.is_some_and(|first| first < metadata.at()) {
        traits.add(Kind::Has("metadata-not-first"));
    }
    let mut pairs = metadata.iter();
    let some = pairs.next();
    if some.is_none() {
        traits.add(Kind::Has("metadata-empty"));
    }
    if some.into_iter().chain(pairs).any(|(key, value)| key.chars().chain(value.chars()).any(|c| !c.is_ascii())) {
        traits.add(Kind::Has("metadata-non-ascii"));
    }
}
