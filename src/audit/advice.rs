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
        other => about_index(other),
    }
}

/// The same for a sharded index.
const fn about_index(kind: ErrorKind) -> &'static str {
    use ErrorKind as K;
    match kind {
        K::IxFieldUnknown => "Take the field out; what is to be said of the model belongs in metadata.",
        K::IxFieldMissing | K::IxMapType | K::IxShardType => {
            "Write weight_map as an object from tensor names to shard file names; save the model again."
        }
        K::IxDupField | K::IxDupMetadataKey | K::IxDupName => {
            "Readers disagree on which of the two counts: do not trust the index. Fix the writer."
        }
        K::IxMetadataType | K::IxMetadataNumber => "Write metadata as a small object of plain JSON values.",
        K::IxShardName => {
            "A shard must lie beside its index: never open a path that an index names. Do not trust it."
        }
        K::IxLengthLimit
        | K::IxTensorLimit
        | K::IxShardLimit
        | K::IxNameLimit
        | K::IxMetadataLimit
        | K::IxDepthLimit => "If the index is meant to be so, raise the limit.",
        K::IxTotalSize | K::IxTotalSizeForm => {
            "Save the model again, so that total_size is the sum of its tensors' bytes."
        }
        K::IxTensorMissing | K::IxTensorElsewhere | K::IxTensorUnlisted => {
            "Index and shards are not of one save: fetch all of them again from one place."
        }
        K::IxShardMissing => "Fetch the shard that is missing.",
        K::IxShardUnnamed => "A shard left from another save: remove it, or fetch the index that names it.",
        other => about_gguf(other),
    }
}

/// The same for a GGUF file.
const fn about_gguf(kind: ErrorKind) -> &'static str {
    use ErrorKind as K;
    match kind {
        K::GgMagic => "Check that this is a GGUF file at all; look at its first bytes, and fetch it again.",
        K::GgMagicReversed => {
            "Some converters write a reversed magic for big-endian files; convert it again without."
        }
        K::GgMagicUtf16 => "The file was converted as if it were text; fetch it again as binary.",
        K::GgTooShort | K::GgEnd | K::GgStringPastEnd | K::GgArrayPastEnd | K::GgPaddingShort | K::GgDataShort => {
            "The file was cut, as by a broken download, or a length in it is a lie; fetch it again and compare its size."
        }
        K::GgVersion | K::GgVersion1 | K::GgVersionSwapped | K::GgVersionBig2 => {
            "Convert the model again with a current converter, which writes version 3."
        }
        K::GgTensorCount | K::GgPairCount => "The counts are damaged or hostile. Do not trust the file.",
        K::GgKeyEmpty | K::GgKeyCharset | K::GgNameEmpty | K::GgNameUtf8 | K::GgNameControl => {
            "Readers disagree about such keys and names; rename it and write the file again."
        }
        K::GgKeyDup | K::GgNameDup => {
            "Readers take the first or the last of the two: find out which is meant, and write the file again without the other."
        }
        K::GgValueType | K::GgArrayType | K::GgArrayNested => {
            "The file is damaged, or its writer uses types that the format does not have; write it again."
        }
        K::GgBool => "A bool must be 0 or 1; the writer is wrong or the file is damaged.",
        K::GgStringUtf8 | K::GgArrayUtf8 => "The writer put text in another encoding; write it as UTF-8.",
        K::GgAlignType | K::GgAlignValue => "Write general.alignment as a u32 power of two, such as 32.",
        K::GgDimNegative | K::GgShapeOverflow | K::GgSizeOverflow => {
            "No tensor is that large: the shape is damaged or hostile. Do not trust the file."
        }
        K::GgTypeUnknown => {
            "The tensor type belongs to another program or a newer format; convert the model to a known one."
        }
        K::GgTypeRemoved => "The layout of this type is gone; quantise the model again from its source.",
        K::GgRowBlocks => "Quantised rows must be whole blocks; use a plain type for this tensor.",
        K::GgOffsetGap | K::GgOffsetOverlap => {
            "Tensors must follow one another, each padded to the alignment; write the file again."
        }
        K::GgPaddingNonzero | K::GgDataTrailing => {
            "Something may be hidden where there should be nothing but zeros. Fetch the file from its source again."
        }
        K::GgMetadataLimit
        | K::GgPairLimit
        | K::GgTensorLimit
        | K::GgKeyLimit
        | K::GgStringLimit
        | K::GgArrayLimit
        | K::GgNameLimit
        | K::GgRankLimit => "If the file is meant to be so, raise the limit.",
        // A kind that no function above knows; a test finds it.
        _ => "",
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
