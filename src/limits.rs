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
    index_len: u64,
    shards: u64,
    metadata_depth: u64,
    metadata_len: u64,
    leading_space: bool,
}

/// Positions in a header or an index are kept in 32 bits, so none can be longer.
const HEADER_LEN_CEILING: u64 = 0xFFFF_FF00;

/// What is open is kept in a word, one bit a level.
const DEPTH_CEILING: u64 = 32;

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

impl Limits {
    /// The default limits, as a constant.
    pub const DEFAULT: Self = Self {
        header_len: 100_000_000,
        tensors: u64::MAX,
        rank: u64::MAX,
        name_len: u64::MAX,
        metadata_keys: u64::MAX,
        index_len: 32_000_000,
        shards: 100_000,
        metadata_depth: 8,
        metadata_len: 1_000_000,
        leading_space: false,
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
        /// Keys in `__metadata__`. Default: none of its own.
        metadata_keys with_metadata_keys u64::MAX
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
        metadata_len with_metadata_len u64::MAX
    }
    limit! {
        /// How deep arrays and objects may nest inside an index's `metadata`. Default 8; those seen are flat. At most 32.
        metadata_depth with_metadata_depth DEPTH_CEILING
    }

    /// Whether white space before the header's `{` is tolerated (default: no, the format's README says *MUST begin
    /// with `{`*; the reference reader accepts it). When it is used, the header says so in
    /// [`Header::relaxed`](crate::safetensors::Header::relaxed).
    pub const fn leading_space(&self) -> bool {
        self.leading_space
    }

    /// The same limits with another answer to [`leading_space`](Self::leading_space).
    #[must_use]
    pub const fn with_leading_space(mut self, tolerated: bool) -> Self {
        self.leading_space = tolerated;
        self
    }
}
