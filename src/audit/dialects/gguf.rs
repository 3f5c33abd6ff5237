//! The traits of a GGUF file that was accepted.

use super::table::GGUF;
use super::{Kind, Traits};
use crate::audit::findings::Finding;
use crate::audit::rules::RULES;
use crate::gguf::{Endian, Header, Value};
use crate::json::lex::BYTE_ORDER_MARK;
use crate::{Error, num};

/// Tensor types that a header can name, with some to spare.
const MOST_TYPES: usize = 64;

/// The traits of an accepted header with its findings (of [`audit::gguf`](crate::audit::gguf)).
///
/// ```
/// # fn main() -> Result<(), tensorgate::Error> {
/// use tensorgate::{Limits, audit, audit::dialects, gguf::Header};
/// let file = b"GGUF\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// let header = Header::open(file, 24, &Limits::default())?;
/// let traits = dialects::gguf(&header, &audit::gguf(&header)?)?;
/// assert!(traits.iter().any(|one| one.to_string() == "version-2"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ErrorKind::StorageTooSmall`](crate::ErrorKind::StorageTooSmall) when memory ran out: it takes a few kilobytes.
pub fn gguf(header: &Header<'_>, findings: &[Finding<'_>]) -> Result<Traits, Error> {
    let mut traits = Traits::new(&GGUF, RULES.len().saturating_add(MOST_TYPES), header.data().start())?;
    for finding in findings {
        traits.add(Kind::Rule(finding.rule()));
    }
    for info in header.tensors() {
        traits.add(Kind::Type(info.kind()));
        if info.shape().rank() == 0 {
            traits.add(Kind::Has("rank-0"));
        }
        if info.elements() == 0 {
            traits.add(Kind::Has("empty-tensor"));
        }
    }
    let nothing = header.is_empty() && header.pair_count() == 0;
    for (key, yes) in [
        ("version-2", header.version() == 2),
        ("big-endian", header.endian() == Endian::Big && !nothing),
        ("big-endian-empty", header.endian() == Endian::Big && nothing),
        ("alignment-other", header.alignment() != 32 && header.alignment() < ALIGNMENT_HUGE),
        ("alignment-2^31", header.alignment() >= ALIGNMENT_HUGE),
        ("last-padding-missing", last_padding_is_missing(header)),
        ("key-long", header.pairs().any(|pair| pair.key().len() > LONG_KEY)),
        ("string-ends-in-nul", header.pairs().any(|pair| is_text(pair.value(), |text| text.ends_with(&[0])))),
        (
            "string-begins-with-bom",
            header.pairs().any(|pair| is_text(pair.value(), |text| text.starts_with(BYTE_ORDER_MARK))),
        ),
    ] {
        if yes {
            traits.add(Kind::Has(key));
        }
    }
    Ok(traits)
}

/// The largest power of two that `general.alignment` can be.
const ALIGNMENT_HUGE: u32 = 1 << 31;
/// Longer than any key that was seen in a model.
const LONG_KEY: usize = 255;

/// Whether the file ends with the last tensor's bytes instead of with their padding.
fn last_padding_is_missing(header: &Header<'_>) -> bool {
    let Some(last) = header.tensors().next_back() else { return false };
    let inside = last.span().end().saturating_sub(header.data_offset());
    let padded = num::align_up(inside, u64::from(header.alignment()));
    padded.is_none_or(|padded| padded > header.data().len())
}

/// Whether a value is a string of which something holds.
fn is_text(value: Value<'_>, holds: impl Fn(&[u8]) -> bool) -> bool {
    match value {
        Value::String(text) => holds(text.bytes()),
        _ => false,
    }
}
