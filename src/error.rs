//! The one error of the core: what kind of lie, and where it stands.
//!
//! [`Error`] is `Copy`, at most 24 bytes, and carries no text of the attacker's. Its offset is that of the field that
//! lied, counted from the first byte of the file.

use core::fmt;

/// Why a file was refused, and the absolute offset of the field that lied.
///
/// ```
/// use tensorgate::{ErrorKind, SafeTensors, safetensors::Slot, Limits};
/// let mut slots = [Slot::EMPTY; 4];
/// let error = SafeTensors::open_in(&[2, 0, 0, 0, 0, 0, 0, 0, b'[', b']'], &mut slots, &Limits::default()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::JsonNotObject);
/// assert_eq!(error.code(), "JS-NOT-OBJECT");
/// assert_eq!(error.at(), 8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error {
    kind: ErrorKind,
    at: u64,
    want: u64,
}

/// The value of `want` for kinds that have nothing to say there.
const NO_WANT: u64 = u64::MAX;

impl Error {
    /// An error of `kind` whose field stands at the absolute offset `at`.
    #[cold]
    #[inline(never)]
    pub const fn new(kind: ErrorKind, at: u64) -> Self {
        Self { kind, at, want: NO_WANT }
    }

    /// The same, with the value that would have been right (or, for [`ErrorKind::NeedMore`] and
    /// [`ErrorKind::StorageTooSmall`], how much is needed).
    #[cold]
    #[inline(never)]
    pub const fn wanting(kind: ErrorKind, at: u64, want: u64) -> Self {
        Self { kind, at, want }
    }

    /// What kind of fault it is.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable code of the kind, as in `docs/rules.md`.
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Absolute offset, in bytes from the start of the file, of the field that lied.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The value that would have been right, where there is one: the offset or the number of bytes that the other
    /// fields ask for, or the limit that was passed.
    pub const fn want(&self) -> Option<u64> {
        if self.want == NO_WANT { None } else { Some(self.want) }
    }

    /// How many bytes of the file's beginning are needed to decide ([`ErrorKind::NeedMore`] only).
    ///
    /// A safetensors header is asked for whole: a caller that fetches this many bytes is asked at the most once more. A
    /// GGUF header does not say how long it is: there it is the least that a valid file can do with, and a caller that
    /// fetches some more each time is asked less often.
    pub const fn needs(&self) -> Option<u64> {
        match self.kind {
            ErrorKind::NeedMore => Some(self.want),
            _ => None,
        }
    }

    /// How many slots of storage are needed ([`ErrorKind::StorageTooSmall`] only).
    pub const fn needs_slots(&self) -> Option<u64> {
        match self.kind {
            ErrorKind::StorageTooSmall => Some(self.want),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({} at {}", self.kind.code(), self.at)?;
        if let Some(want) = self.want() {
            write!(f, ", want {want}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.kind.code(), self.at, self.kind.what())?;
        if let Some(want) = self.want() {
            write!(f, " ({} {want})", self.kind.want_label())?;
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

/// There is no tensor of that name in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NotFound;

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no tensor of that name")
    }
}

impl core::error::Error for NotFound {}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $code:literal $what:literal $label:literal;)*) => {
        /// Every way in which a file can be refused. Each has a stable code, a page in `docs/rules.md` and a file in
        /// `corpus/reject/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ErrorKind { $(#[doc = $what] $(#[$doc])* $name,)* }

        impl ErrorKind {
            /// Every kind, in the order of the rules book.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$name,)*];

            /// The stable code: it appears in corpus paths, JSON, SARIF and `docs/rules.md`, and never changes.
            pub const fn code(self) -> &'static str {
                match self { $(ErrorKind::$name => $code,)* }
            }

            /// What is wrong, in a few words of printable ASCII.
            pub const fn what(self) -> &'static str {
                match self { $(ErrorKind::$name => $what,)* }
            }

            /// What [`Error::want`] counts for this kind (`"expected"`, `"limit"`, …).
            pub const fn want_label(self) -> &'static str {
                match self { $(ErrorKind::$name => $label,)* }
            }
        }
    };
}

kinds! {
    // The caller's side: no verdict on the file.
    NeedMore "TG-NEED-MORE" "more of the file's beginning is needed to decide" "bytes needed:";
    StorageTooSmall "TG-STORAGE" "the caller's storage is too small for this file" "slots needed:";

    // JSON, shared by safetensors headers and sharded indexes.
    JsonUtf8 "JS-UTF8" "the JSON text is not valid UTF-8" "expected";
    JsonNotObject "JS-NOT-OBJECT" "the JSON text does not begin with an object" "expected";
    JsonEnd "JS-END" "the JSON text ends inside a value" "expected";
    JsonTrailing "JS-TRAILING" "bytes other than JSON white space follow the JSON value" "expected";
    JsonKey "JS-KEY" "a key in double quotes is expected here" "expected";
    JsonColon "JS-COLON" "a colon is expected after the key" "expected";
    JsonComma "JS-COMMA" "a comma or the closing bracket is expected here" "expected";
    JsonControl "JS-CONTROL" "a raw control character stands in a string" "expected";
    JsonEscape "JS-ESCAPE" "an escape sequence that JSON does not have" "expected";
    JsonSurrogate "JS-SURROGATE" "an escaped surrogate without its partner" "expected";
    JsonInteger "JS-INTEGER" "not a plain non-negative integer (no sign, fraction, exponent, leading zero)" "expected";
    JsonRange "JS-RANGE" "the integer does not fit 64 bits" "at most";
    JsonValue "JS-VALUE" "no JSON value begins like this" "expected";

    // safetensors: the frame.
    StTooShort "ST-TOO-SHORT" "the file is shorter than the 8-byte header length" "expected at least";
    StHeaderLimit "ST-HEADER-LIMIT" "the declared header length is over the limit" "limit";
    StHeaderPastEnd "ST-HEADER-PAST-END" "the declared header is longer than the file" "bytes there:";
    StLeadingSpace "ST-LEADING-SPACE" "the header begins with white space instead of '{'" "expected";

    // safetensors: the header's entries.
    StDupName "ST-DUP-NAME" "two tensors have the same name" "expected";
    StDupField "ST-DUP-FIELD" "a field stands twice in an entry" "expected";
    StDupMetadata "ST-DUP-METADATA" "__metadata__ stands twice" "expected";
    StDupMetadataKey "ST-DUP-META-KEY" "two metadata keys are the same" "expected";
    StEntryType "ST-ENTRY-TYPE" "a tensor's entry must be an object" "expected";
    StFieldUnknown "ST-FIELD-UNKNOWN" "an entry has a field other than dtype, shape and data_offsets" "expected";
    StFieldMissing "ST-FIELD-MISSING" "an entry lacks dtype, shape or data_offsets" "expected";
    StDtypeType "ST-DTYPE-TYPE" "dtype must be a string" "expected";
    StDtypeUnknown "ST-DTYPE-UNKNOWN" "the dtype is none of the 22 that the format has" "expected";
    StShapeType "ST-SHAPE-TYPE" "shape must be an array of integers" "expected";
    StOffsetsType "ST-OFFSETS-TYPE" "data_offsets must be an array of two integers" "expected";
    StMetadataType "ST-META-TYPE" "__metadata__ must be an object of strings, or null" "expected";
    StMetadataValue "ST-META-VALUE" "a metadata value must be a string" "expected";

    // safetensors: sizes and layout.
    StSizeOverflow "ST-SIZE-OVERFLOW" "the shape's size in bits does not fit 64 bits" "expected";
    StSizeBits "ST-SIZE-BITS" "the tensor's bits are not a whole number of bytes" "expected";
    StOffsetsReversed "ST-OFFSETS-REVERSED" "data_offsets end before they begin" "expected at least";
    StSizeMismatch "ST-SIZE-MISMATCH" "data_offsets span another number of bytes than shape and dtype need" "expected";
    StGap "ST-GAP" "bytes before this tensor belong to no tensor" "expected to begin at";
    StOverlap "ST-OVERLAP" "this tensor begins inside another" "expected to begin at";
    StDataShort "ST-DATA-SHORT" "the tensor's data ends past the end of the file" "expected file length:";
    StDataTrailing "ST-DATA-TRAILING" "bytes after the last tensor belong to no tensor" "expected file length:";

    // Limits of the caller's.
    StTensorLimit "ST-LIMIT-TENSORS" "more tensors than the limit" "limit";
    StRankLimit "ST-LIMIT-RANK" "a shape has more dimensions than the limit" "limit";
    StNameLimit "ST-LIMIT-NAME" "a tensor's name is longer than the limit" "limit";
    StMetadataLimit "ST-LIMIT-METADATA" "more metadata keys than the limit" "limit";

    // Sharded indexes.
    IxFieldUnknown "IX-FIELD-UNKNOWN" "an index has a field other than metadata and weight_map" "expected";
    IxFieldMissing "IX-FIELD-MISSING" "an index lacks weight_map" "expected";
    IxDupField "IX-DUP-FIELD" "a field stands twice in an index" "expected";
    IxMetadataType "IX-META-TYPE" "an index's metadata must be an object, or null" "expected";
    IxDupMetadataKey "IX-DUP-META-KEY" "two keys in an object of the metadata are the same" "expected";
    IxMetadataNumber "IX-META-NUMBER" "a number in the metadata is malformed or beyond a 64-bit float" "expected";
    IxMapType "IX-MAP-TYPE" "weight_map must be an object" "expected";
    IxDupName "IX-DUP-NAME" "two tensors in weight_map have the same name" "expected";
    IxShardType "IX-SHARD-TYPE" "a tensor's shard must be a string" "expected";
    IxShardName "IX-SHARD-NAME" "a shard must be a plain file name of 1 to 255 bytes, and no device name" "expected";
    IxLengthLimit "IX-LIMIT-LENGTH" "the index is longer than the limit" "limit";
    IxTensorLimit "IX-LIMIT-TENSORS" "the index names more tensors than the limit" "limit";
    IxShardLimit "IX-LIMIT-SHARDS" "the index names more shards than the limit" "limit";
    IxNameLimit "IX-LIMIT-NAME" "a tensor's name in the index is longer than the limit" "limit";
    IxMetadataLimit "IX-LIMIT-METADATA" "the index's metadata is longer than the limit" "limit";
    IxDepthLimit "IX-LIMIT-DEPTH" "the index's metadata nests deeper than the limit" "limit";

    // A sharded index against its shards.
    IxTotalSize "IX-TOTAL-SIZE" "metadata.total_size is not the sum of the tensors' bytes" "sum:";
    IxTotalSizeForm "IX-TOTAL-SIZE-FORM" "metadata.total_size is missing or not a plain integer" "expected";
    IxTensorMissing "IX-TENSOR-MISSING" "the index names a tensor that its shard does not have" "expected";
    IxTensorElsewhere "IX-TENSOR-ELSEWHERE" "a shard has a tensor that the index puts into another" "expected";
    IxTensorUnlisted "IX-TENSOR-UNLISTED" "a shard has a tensor that the index does not name" "expected";
    IxShardMissing "IX-SHARD-MISSING" "the index names a shard that is not there" "expected";
    IxShardUnnamed "IX-SHARD-UNNAMED" "a shard is there that the index does not name" "expected";

    // GGUF.
    GgMagic "GG-MAGIC" "the file does not begin with the letters GGUF" "expected";
    GgMagicReversed "GG-MAGIC-REVERSED" "the file begins with FUGG: no version of GGUF has its magic reversed" "expected";
    GgMagicUtf16 "GG-MAGIC-UTF16" "the file begins with GGUF in UTF-16: it was converted as if it were text" "expected";
    GgTooShort "GG-TOO-SHORT" "the file ends inside its first 24 bytes" "bytes there:";
    GgVersion "GG-VERSION" "the version is neither 2 nor 3" "expected";
    GgVersion1 "GG-VERSION-1" "version 1 of the format, which was given up in 2023" "expected";
    GgVersionSwapped "GG-VERSION-SWAPPED" "the version is far too large, or its bytes are in the other order" "expected";
    GgVersionBig2 "GG-VERSION-2-BIG" "big-endian came with version 3, and this is version 2" "expected";
    GgTensorCount "GG-TENSOR-COUNT" "more tensors are declared than the file has room for" "at most";
    GgPairCount "GG-KV-COUNT" "more key/value pairs are declared than the file has room for" "at most";
    GgEnd "GG-END" "the file ends inside this field" "bytes there:";
    GgStringPastEnd "GG-STRING-PAST-END" "a string is longer than the rest of the file" "bytes there:";
    GgArrayPastEnd "GG-ARRAY-PAST-END" "an array has more elements than the rest of the file has room for" "bytes there:";

    // GGUF: key/value pairs.
    GgKeyEmpty "GG-KEY-EMPTY" "a key is empty" "expected";
    GgKeyCharset "GG-KEY-CHARSET" "a key holds a byte that is not printable ASCII" "expected";
    GgKeyDup "GG-KEY-DUP" "two keys are the same" "expected";
    GgValueType "GG-KV-TYPE" "no value type has this number" "expected";
    GgArrayType "GG-ARRAY-TYPE" "no element type has this number" "expected";
    GgArrayNested "GG-ARRAY-NESTED" "an array of arrays" "expected";
    GgBool "GG-BOOL" "a bool that is neither 0 nor 1" "expected";
    GgStringUtf8 "GG-STRING-UTF8" "a string value is not valid UTF-8" "expected";
    GgArrayUtf8 "GG-ARRAY-UTF8" "a string in an array is not valid UTF-8" "expected";
    GgAlignType "GG-ALIGN-TYPE" "general.alignment must be a u32" "expected";
    GgAlignValue "GG-ALIGN-VALUE" "general.alignment must be a power of two" "expected";

    // GGUF: tensor infos.
    GgNameEmpty "GG-NAME-EMPTY" "a tensor's name is empty" "expected";
    GgNameUtf8 "GG-NAME-UTF8" "a tensor's name is not valid UTF-8" "expected";
    GgNameControl "GG-NAME-CONTROL" "a tensor's name holds a control character" "expected";
    GgNameDup "GG-NAME-DUP" "two tensors have the same name" "expected";
    GgDimNegative "GG-DIM-NEGATIVE" "a dimension is negative as a signed 64-bit number" "at most";
    GgShapeOverflow "GG-SHAPE-OVERFLOW" "the number of elements does not fit a signed 64-bit number" "expected";
    GgTypeUnknown "GG-TYPE-UNKNOWN" "no tensor type has this number" "expected";
    GgTypeRemoved "GG-TYPE-REMOVED" "this tensor type was removed from the format" "expected";
    GgRowBlocks "GG-ROW-BLOCKS" "the rows are not a whole number of the type's blocks" "expected a multiple of";
    GgSizeOverflow "GG-SIZE-OVERFLOW" "the size in bytes, padded and added up, does not fit 64 bits" "expected";
    GgOffsetGap "GG-OFFSET-GAP" "bytes before this tensor belong to no tensor" "expected offset:";
    GgOffsetOverlap "GG-OFFSET-OVERLAP" "this tensor begins before the one in front of it ends, padded" "expected offset:";

    // GGUF: the data section.
    GgPaddingShort "GG-PADDING-SHORT" "the file ends before its data section begins" "expected file length at least:";
    GgPaddingNonzero "GG-PADDING-NONZERO" "a byte of the padding is not zero" "expected";
    GgDataShort "GG-DATA-SHORT" "the tensor's data ends past the end of the file" "expected file length at least:";
    GgDataTrailing "GG-DATA-TRAILING" "bytes follow the last tensor and its padding" "expected file length at most:";

    // GGUF: limits of the caller's.
    GgMetadataLimit "GG-LIMIT-METADATA" "key/value pairs and tensor infos are longer than the limit" "limit";
    GgPairLimit "GG-LIMIT-KEYS" "more key/value pairs than the limit" "limit";
    GgTensorLimit "GG-LIMIT-TENSORS" "more tensors than the limit" "limit";
    GgKeyLimit "GG-LIMIT-KEY" "a key is longer than the limit" "limit";
    GgStringLimit "GG-LIMIT-STRING" "a string is longer than the limit" "limit";
    GgArrayLimit "GG-LIMIT-ARRAY" "an array has more elements than the limit" "limit";
    GgNameLimit "GG-LIMIT-NAME" "a tensor's name is longer than the limit" "limit";
    GgRankLimit "GG-LIMIT-RANK" "a tensor has more dimensions than the limit" "limit";
}

impl ErrorKind {
    /// Whether this kind says something about the call and not about the file.
    pub const fn is_callers(self) -> bool {
        matches!(self, Self::NeedMore | Self::StorageTooSmall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Error>() <= 24);
    }

    #[test]
    fn codes_are_unique_ascii_and_messages_short() {
        for (i, kind) in ErrorKind::ALL.iter().enumerate() {
            assert!(kind.code().bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-'));
            assert!(!ErrorKind::ALL[..i].iter().any(|other| other.code() == kind.code()), "{}", kind.code());
            let worst = std::format!("{}", Error::wanting(*kind, u64::MAX, u64::MAX - 1));
            assert!(worst.len() <= 160 && worst.bytes().all(|b| (b' '..=b'~').contains(&b)), "{worst}");
        }
    }
}
