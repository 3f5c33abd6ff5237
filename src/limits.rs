//! Every count and length that a file may claim, with the source of its default.

/// What a file may at most claim, and which strict rules are relaxed.
///
/// The defaults refuse nothing that the reference reader accepts for its size alone. Every limit is inclusive: a claim
/// equal to the limit passes, one more is refused.
///
/// ```
/// use tensorgate::Limits;
/// let small = Limits::default().with_header_len(64 * 1024).with_tensors(512);
/// assert_eq!(small.header_len(), 65_536);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    header_len: u64,
    tensors: u64,
    rank: u64,
    name_len: u64,
    metadata_keys: u64,
    metadata_len: u64,
    key_len: u64,
    string_len: u64,
    array_len: u64,
    gguf_name_len: u64,
    gguf_rank: u64,
    index_len: u64,
    shards: u64,
    index_metadata_depth: u64,
    index_metadata_len: u64,
    gguf_nested_arrays: u64,
    vocab_len: u64,
    vocab_tokens: u64,
    tolerated: u8,
}

/// Positions in a header or an index are kept in 32 bits, so none can be longer.
const HEADER_LEN_CEILING: u64 = 0xFFFF_FF00;

/// What is open is kept in a word, one bit a level.
const DEPTH_CEILING: u64 = 32;

/// How deep arrays inside an array can at most be tolerated: each level is a number on the walk's stack.
pub(crate) const NESTED_CEILING: usize = 8;

/// The bits of what is tolerated.
const LEADING_SPACE: u8 = 1;
const GGUF_INVALID_UTF8: u8 = 1 << 1;
const GGUF_UNKNOWN_TYPES: u8 = 1 << 2;
const GGUF_TRAILING: u8 = 1 << 3;

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

macro_rules! limit {
    ($(#[$doc:meta])* $field:ident $with:ident $ceiling:expr) => {
        $(#[$doc])*
        pub const fn $field(&self) -> u64 {
            self.$field
        }

        #[doc = concat!("The same limits with another [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub const fn $with(mut self, most: u64) -> Self {
            self.$field = if most > $ceiling { $ceiling } else { most };
            self
        }
    };
}

macro_rules! tolerance {
    ($(#[$doc:meta])* $name:ident $with:ident $bit:ident) => {
        $(#[$doc])*
        pub const fn $name(&self) -> bool {
            self.tolerated & $bit != 0
        }

        #[doc = concat!("The same limits with another answer to [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        #[must_use]
        pub const fn $with(mut self, tolerated: bool) -> Self {
            self.tolerated = if tolerated { self.tolerated | $bit } else { self.tolerated & !$bit };
            self
        }
    };
}

impl Limits {
    /// The default limits, as a constant.
    pub const DEFAULT: Self = Self {
        header_len: 100_000_000,
        tensors: u64::MAX,
        rank: u64::MAX,
        name_len: u64::MAX,
        metadata_keys: u64::MAX,
        metadata_len: HEADER_LEN_CEILING,
        key_len: 65_535,
        string_len: 1 << 30,
        array_len: 1 << 30,
        gguf_name_len: 63,
        gguf_rank: 4,
        index_len: 32_000_000,
        shards: 100_000,
        index_metadata_depth: 8,
        index_metadata_len: 1_000_000,
        gguf_nested_arrays: 0,
        vocab_len: 64 << 20,
        vocab_tokens: 1 << 21,
        tolerated: 0,
    };

    limit! {
        /// Bytes of JSON in a safetensors header. Default 100,000,000: the reference's `MAX_HEADER_SIZE`
        /// (`safetensors` 0.8.0, `tensor.rs` line 10). At most 4,294,967,040, since positions are kept in 32 bits.
        header_len with_header_len HEADER_LEN_CEILING
    }
    limit! {
        /// Tensors in a file. Default: none of its own; the format has no such limit, and a header of the largest
        /// length holds about two million.
        tensors with_tensors u64::MAX
    }
    limit! {
        /// Dimensions of a safetensors shape. Default: none of its own; the reference reads any rank, and a shape
        /// costs no memory here.
        rank with_rank u64::MAX
    }
    limit! {
        /// Bytes of a tensor's name as it stands in the header, escapes not decoded. Default: none of its own.
        name_len with_name_len u64::MAX
    }
    limit! {
        /// Keys in `__metadata__`, or key/value pairs of a GGUF file. Default: none of its own.
        metadata_keys with_metadata_keys u64::MAX
    }
    limit! {
        /// Bytes of a GGUF file in front of the data section: the header, the key/value pairs and the tensor infos.
        /// Default and most: 4,294,967,040, since positions are kept in 32 bits. The reference has no such limit; the
        /// largest vocabularies take some tens of megabytes.
        metadata_len with_metadata_len HEADER_LEN_CEILING
    }
    limit! {
        /// Bytes of a GGUF key. Default 65,535: the format's document, `docs/gguf.md` of ggml, *at most 2^16-1 bytes
        /// long*. The reference reader has no limit of its own for keys.
        key_len with_key_len u64::MAX
    }
    limit! {
        /// Bytes of a string in a GGUF file. Default 1 GiB: the reference's limit (ggml 0.25.3, `gguf.cpp` lines 343
        /// to 358).
        string_len with_string_len u64::MAX
    }
    limit! {
        /// Elements of an array in a GGUF file. Default 2^30: the reference's limit (ggml 0.25.3, `gguf.cpp` lines 280
        /// to 301).
        array_len with_array_len u64::MAX
    }
    limit! {
        /// Bytes of a tensor's name in a GGUF file. Default 63: the reference keeps names in 64 bytes with a NUL (ggml
        /// 0.25.3, `gguf.cpp` lines 657 to 661). Some exporters write longer ones, which the reference cannot load; where a
        /// higher limit lets one pass, the header says so in [`gguf::Header::relaxed`](crate::gguf::Header::relaxed).
        gguf_name_len with_gguf_name_len u64::MAX
    }
    limit! {
        /// Dimensions of a tensor in a GGUF file. Default and most: 4, as in the reference (`GGML_MAX_DIMS`).
        gguf_rank with_gguf_rank 4
    }

    limit! {
        /// Bytes of a sharded index. Default 32,000,000: writers spend about 110 bytes a tensor, so this is room for
        /// 290,000, and what hostile names cost to sort stays within seconds. At most 4,294,967,040, since positions
        /// are kept in 32 bits.
        index_len with_index_len HEADER_LEN_CEILING
    }
    limit! {
        /// Different shards that an index names. Default 100,000: writers number them with five digits, and every one
        /// is a file that somebody will open.
        shards with_shards u64::MAX
    }
    limit! {
        /// Bytes of an index's `metadata`. Default 1,000,000: those seen take under a hundred.
        index_metadata_len with_index_metadata_len u64::MAX
    }
    limit! {
        /// How deep arrays and objects may nest inside an index's `metadata`. Default 8; those seen are flat. At most 32.
        index_metadata_depth with_index_metadata_depth DEPTH_CEILING
    }

    limit! {
        /// How many levels of arrays inside an array of a GGUF file are tolerated. Default 0: the document allows
        /// nesting, no writer nests, and the reference refuses it. At most 8. Where one is met, the header says so in
        /// [`gguf::Header::relaxed`](crate::gguf::Header::relaxed).
        gguf_nested_arrays with_gguf_nested_arrays 8
    }

    limit! {
        /// Bytes of each text of a tokenizer: `vocab.json`, `merges.txt`, `tokenizer.json`, or the tokens or merges of a
        /// GGUF file. Default 64 MiB: the largest that are published take half of that. At most 4,294,967,040, since
        /// positions are kept in 32 bits.
        vocab_len with_vocab_len HEADER_LEN_CEILING
    }
    limit! {
        /// Tokens of a vocabulary. Default and most: 2^21, since ids are kept in 21 bits; the largest vocabularies have
        /// about 2^18.
        vocab_tokens with_vocab_tokens 1 << 21
    }

    tolerance! {
        /// Whether white space before the header's `{` is tolerated (default: no, the format's README says *MUST begin
        /// with `{`*; the reference reader accepts it). When it is used, the header says so in
        /// [`Header::relaxed`](crate::safetensors::Header::relaxed).
        leading_space with_leading_space LEADING_SPACE
    }
    tolerance! {
        /// Whether string values of a GGUF file may be other than UTF-8 (default: no, as the document has it; the
        /// reference takes any bytes). Getters still give text only where it is text. Where one is met, the header says
        /// so in [`gguf::Header::relaxed`](crate::gguf::Header::relaxed).
        gguf_invalid_utf8 with_gguf_invalid_utf8 GGUF_INVALID_UTF8
    }
    tolerance! {
        /// Whether tensors of a GGUF file may be of types that are not known here, as those of forks (default: no, the
        /// reference refuses them). They are listed without a size, and there is no view of their bytes. What can be
        /// proved of the place of the next tensor: it is aligned, behind the offset of the one before, and inside the
        /// file. Behind a last one, nothing can be told from its data. Where one is met, the header says so in
        /// [`gguf::Header::relaxed`](crate::gguf::Header::relaxed).
        gguf_unknown_types with_gguf_unknown_types GGUF_UNKNOWN_TYPES
    }
    tolerance! {
        /// Whether bytes may follow the last tensor of a GGUF file and its padding (default: no, a second file may hide
        /// there; the reference does not look). Where some are met, the header says so in
        /// [`gguf::Header::relaxed`](crate::gguf::Header::relaxed).
        gguf_trailing with_gguf_trailing GGUF_TRAILING
    }
}
