//! Into which blocks a float checkpoint is brought.

use crate::simd::WeightType;

/// Into which blocks weights are brought when a model is loaded.
///
/// ```
/// use tensorgate::gpt2::Quantize;
/// assert_eq!(Quantize::named("Q8_0"), Some(Quantize::Q8_0));
/// assert_eq!(Quantize::named("q2_k"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(non_camel_case_types, reason = "the names under which the formats are known")]
pub enum Quantize {
    /// 8 bits and a scale for each 32: hardly to be told from the original.
    Q8_0,
    /// 4 bits and a scale for each 32: the smallest and the fastest.
    Q4_0,
    /// 4 bits with scales and minima in blocks of 256: as small, and nearer to the original.
    Q4_K,
}

impl Quantize {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Q8_0, Self::Q4_0, Self::Q4_K];

    /// The name, as GGUF has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Q8_0 => "Q8_0",
            Self::Q4_0 => "Q4_0",
            Self::Q4_K => "Q4_K",
        }
    }

    /// The one of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name))
    }

    pub(super) const fn kind(self) -> WeightType {
        match self {
            Self::Q8_0 => WeightType::Q8_0,
            Self::Q4_0 => WeightType::Q4_0,
            Self::Q4_K => WeightType::Q4_K,
        }
    }

    /// What a matrix is brought into: blocks that its rows are whole numbers of, or none where they are of none.
    pub(super) fn fit(self, inputs: usize) -> Option<WeightType> {
        [self.kind(), WeightType::Q8_0].into_iter().find(|kind| inputs.is_multiple_of(kind.block_elements()))
    }
}
