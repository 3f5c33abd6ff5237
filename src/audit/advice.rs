//! What to do about a file that was refused.

use crate::ErrorKind;

/// What a person can do about a file refused for `kind`, in one or two sentences of printable ASCII.
///
/// ```
/// use tensorgate::{ErrorKind, audit::advice};
/// assert!(advice(ErrorKind::StDupName).contains("name"));
/// ```
pub const fn advice(kind: ErrorKind) -> &'static str {
    use ErrorKind as K;
    match kind {
        K::NeedMore => "Give more of the file's beginning.",
        K::StorageTooSmall => "Give more storage, or free memory.",
        K::JsonUtf8 => "The header is damaged or was written in another encoding; write the file anew as UTF-8.",
        K::JsonNotObject => {
            "Check that this is a safetensors file at all; if it is, write it anew with a current safetensors."
        }
        K::JsonEnd => "The header's length is too small or the header was cut; download or save the file again.",
        K::JsonTrailing => {
            "Something was put behind the header's object, or its length is too large; pad with spaces only."
        }
        K::JsonKey | K::JsonColon | K::JsonComma | K::JsonValue => {
            "The header is not JSON: it was edited by hand or damaged. Write the file anew."
        }
        K::JsonControl | K::JsonEscape | K::JsonSurrogate => {
            "The writer does not escape text as JSON asks; rename the tensor or fix the writer."
        }
        K::JsonInteger | K::JsonRange => {
            "Write shapes and offsets as plain non-negative integers below 2^64; fix the writer."
        }
        K::StTooShort => "The file is empty or was cut; download or save it again.",
        K::StHeaderLimit => {
            "Usually this is no safetensors file (text, a web page, another format). If it is, raise --max-header."
        }
        K::StHeaderPastEnd => "The file was cut, or is no safetensors file; download or save it again.",
        K::StLeadingSpace => "Save the file anew; or tolerate it with --allow-leading-space.",
        K::StDupName => {
            "Readers disagree on which of the two tensors the name means: do not trust the file. Fix the writer."
        }
        K::StDupField | K::StDupMetadata | K::StDupMetadataKey => {
            "Readers disagree on which of the two counts: do not trust the file. Fix the writer."
        }
        K::StFieldUnknown => "Take the field out; what is to be said of a tensor belongs in __metadata__.",
        K::StEntryType | K::StFieldMissing => "Write an object of exactly dtype, shape and data_offsets.",
        K::StDtypeType | K::StDtypeUnknown => {
            "Convert the tensor to one of the format's dtypes; the tags are in capitals, as F32 or BF16."
        }
        K::StShapeType => "Write the shape as an array of integers; a scalar's is [].",
        K::StOffsetsType => "Write data_offsets as [begin, end], counted from the start of the data section.",
        K::StMetadataType | K::StMetadataValue => {
            "Metadata maps strings to strings; encode other values as a string, for example as JSON."
        }
        K::StSizeOverflow => "No tensor is that large: the shape is damaged or hostile. Do not trust the file.",
        K::StSizeBits => "Choose a shape whose bits are whole bytes, or pad the last dimension.",
        K::StOffsetsReversed => "The writer mixed up the two offsets, or the file is damaged; save it again.",
        K::StSizeMismatch => "Shape, dtype and offsets contradict each other; save the file again.",
        K::StGap | K::StOverlap => {
            "Tensors must follow one another without gap or overlap; save the file again with a current safetensors."
        }
        K::StDataShort => "The file was cut, as by a broken download; fetch it again and compare its size.",
        K::StDataTrailing => {
            "Bytes were added behind the tensors: a second file may be hidden there. Fetch it from its source again."
        }
        K::StTensorLimit | K::StRankLimit | K::StNameLimit | K::StMetadataLimit => {
            "If the file is meant to be so, raise the limit."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_sentence() {
        for kind in ErrorKind::ALL {
            let text = advice(*kind);
            assert!(text.ends_with('.') && text.len() <= 120, "{kind:?}: {}", text.len());
            assert!(text.bytes().all(|b| (b' '..=b'~').contains(&b)), "{kind:?}");
        }
    }
}
