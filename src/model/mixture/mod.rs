//! Which tensor of a quantised model gets which type.
//!
//! A [`Mixture`] is what a name such as `q4_k_m` stands for: a type for most matrices, and more bits for those that lose
//! most by having few. A [`Recipe`] is a mixture with the caller's own wishes; [`Recipe::choose`] says what becomes of
//! each tensor of a model, as llama.cpp's quantiser decides it without an importance matrix (`llama-quant.cpp` of ggml
//! 0.25.3: `llama_tensor_get_type`, `tensor_allows_quantization`, `tensor_type_fallback`). `docs/quantize.md` has the
//! mixtures as tables.
//!
//! ```
//! use tensorgate::gguf::GgmlType;
//! use tensorgate::model::convert::Draft;
//! use tensorgate::model::mixture::{Facts, Mixture, Recipe};
//!
//! let tensor = |name, shape| Draft { name, shape, element: GgmlType::F32.into() };
//! let drafts = [
//!     tensor("token_embd.weight", &[50_257, 768]),
//!     tensor("blk.0.attn_norm.weight", &[768]),
//!     tensor("blk.0.ffn_up.weight", &[3_072, 768]),
//!     tensor("blk.0.attn_output.weight", &[32, 32]),
//! ];
//! let recipe = Recipe::new(Mixture::from_name("q4_k_m").unwrap());
//! let chosen = recipe.choose(&Facts::default(), &drafts);
//! let types: Vec<_> = chosen.iter().map(|choice| choice.kind).collect();
//! // Without a head of its own, the embedding is the head too. Rows of 32 hold no blocks of 256.
//! assert_eq!(types, [Some(GgmlType::Q6_K), None, Some(GgmlType::Q4_K), Some(GgmlType::Q5_0)]);
//! assert_eq!(chosen[3].instead_of, Some(GgmlType::Q4_K));
//! ```

mod rules;

use std::fmt;
use std::vec;
use std::vec::Vec;

use super::convert::Draft;
use super::{Format, Model};
use crate::gguf::GgmlType;

macro_rules! mixtures {
    ($($variant:ident, $name:literal, $base:ident, $number:literal, $what:literal;)*) => {
        /// A name for which type most tensors get, and which the others.
        ///
        /// The names and numbers are llama.cpp's (`llama_ftype`), but for [`Mxfp4`](Self::Mxfp4), which llama.cpp has for
        /// mixtures of experts only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Mixture {
            $(#[doc = $what] $variant,)*
        }

        impl Mixture {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name, in small letters.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it is, in a few words.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$variant => $what,)* }
            }

            /// The type that most matrices get.
            pub const fn base(self) -> GgmlType {
                match self { $(Self::$variant => GgmlType::$base,)* }
            }

            /// Its number in `general.file_type`.
            pub const fn file_type(self) -> u32 {
                match self { $(Self::$variant => $number,)* }
            }
        }
    };
}

mixtures! {
    F32, "f32", F32, 0, "32-bit floating point";
    F16, "f16", F16, 1, "16-bit floating point (half)";
    Bf16, "bf16", BF16, 32, "16-bit floating point with the range of 32 (bfloat16)";
    Q8_0, "q8_0", Q8_0, 7, "8 bits, a scale for 32";
    Q6K, "q6_k", Q6_K, 18, "6 bits, blocks of 256";
    Q5KM, "q5_k_m", Q5_K, 17, "5 bits, blocks of 256; half of the values and of the down projections have 6";
    Q5KS, "q5_k_s", Q5_K, 16, "5 bits, blocks of 256";
    Q5_1, "q5_1", Q5_1, 9, "5 bits, a scale and a minimum for 32";
    Q5_0, "q5_0", Q5_0, 8, "5 bits, a scale for 32";
    Q4KM, "q4_k_m", Q4_K, 15, "4 bits, blocks of 256; half of the values and of the down projections have 6";
    Q4KS, "q4_k_s", Q4_K, 14, "4 bits, blocks of 256; the first values and down projections have 5";
    Iq4Nl, "iq4_nl", IQ4_NL, 25, "4 bits by a table, a scale for 32";
    Q4_1, "q4_1", Q4_1, 3, "4 bits, a scale and a minimum for 32";
    Q4_0, "q4_0", Q4_0, 2, "4 bits, a scale for 32";
    Mxfp4, "mxfp4", MXFP4, 38, "4-bit floating point, a power of two for 32";
    Mxfp4Moe, "mxfp4_moe", MXFP4, 38, "the experts as mxfp4, all other matrices as q8_0";
}

/// Other names: llama.cpp's own short forms.
const ALIASES: [(&str, Mixture); 2] = [("q4_k", Mixture::Q4KM), ("q5_k", Mixture::Q5KM)];

impl Mixture {
    /// The mixture of that name, in letters of either case.
    pub fn from_name(name: &str) -> Option<Self> {
        let own = Self::ALL.iter().find(|mixture| mixture.name().eq_ignore_ascii_case(name)).copied();
        own.or_else(|| Some(ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name))?.1))
    }

    /// Its other name, where it has one.
    pub fn alias(self) -> Option<&'static str> {
        Some(ALIASES.iter().find(|(_, mixture)| *mixture == self)?.0)
    }
}

impl fmt::Display for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the choice of types depends on besides the tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// Which architecture's exceptions hold.
    pub(crate) architecture: Architecture,
    /// Layers; where it is not known, they are counted by the tensors' names.
    pub layers: Option<u64>,
    /// Attention heads.
    pub heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Experts of a mixture of experts; 0 for others.
    pub experts: u64,
}

/// Architectures to which rules of their own apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Architecture {
    #[default]
    Other,
    Falcon,
    Glm5Next,
    BailingMoe3,
    /// One of those whose models of so many layers are of the kind of Llama 2 70B: eight heads share their values.
    Wide(u64),
    Llama,
}

impl Architecture {
    fn of(name: &str) -> Self {
        match name {
            "falcon" => Self::Falcon,
            "glm5-next" => Self::Glm5Next,
            "bailingmoe3" => Self::BailingMoe3,
            "llama" => Self::Llama,
            "qwen2" | "deci" | "olmo" => Self::Wide(80),
            "jais2" => Self::Wide(68),
            _ => Self::Other,
        }
    }
}

impl Facts {
    /// Those of an architecture, by GGUF's name for it, with nothing else known.
    pub fn new(architecture: &str) -> Self {
        Self { architecture: Architecture::of(architecture), ..Self::default() }
    }

    /// Those of a GGUF model's metadata; of other models nothing is known.
    pub fn of(model: &Model) -> Self {
        if model.format() != Format::Gguf {
            return Self::default();
        }
        let metadata = model.metadata();
        let name = metadata.get("general.architecture").and_then(|value| value.as_str()).unwrap_or_default();
        let number = |key: &str| {
            let value = metadata.get(&std::format!("{name}.{key}"))?.gguf()?;
            // Where it differs by layer, the first layer's counts.
            let first = || value.array().ok()?.get(0)?.u64().ok();
            value.u64().ok().or_else(first)
        };
        let heads = number("attention.head_count").unwrap_or(0);
        Self {
            architecture: Architecture::of(name),
            layers: number("block_count"),
            heads,
            kv_heads: number("attention.head_count_kv").unwrap_or(heads),
            experts: number("expert_count").unwrap_or(0),
        }
    }

    /// How many heads share their values; 0 where there are none.
    fn sharing(&self) -> u64 {
        self.heads.checked_div(self.kv_heads).unwrap_or(0)
    }
}

/// What becomes of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The type that it gets; `None` where it is none of those that are quantised, and keeps its own.
    pub kind: Option<GgmlType>,
    /// The type that it would have got if its rows were whole blocks of it.
    pub instead_of: Option<GgmlType>,
}

/// A mixture, and what the caller wants otherwise.
#[derive(Clone, Copy)]
pub struct Recipe<'r> {
    mixture: Mixture,
    token_embedding: Option<GgmlType>,
    output: Option<GgmlType>,
    pure: bool,
    overrides: &'r dyn Fn(&str) -> Option<GgmlType>,
}

impl<'r> Recipe<'r> {
    /// The mixture as it is.
    pub fn new(mixture: Mixture) -> Self {
        Self { mixture, token_embedding: None, output: None, pure: false, overrides: &|_| None }
    }

    /// The same with a type for the embedding of tokens.
    #[must_use]
    pub const fn with_token_embedding(mut self, kind: GgmlType) -> Self {
        self.token_embedding = Some(kind);
        self
    }

    /// The same with a type for the head, or for the embedding of tokens where that is the head too and is given no type
    /// here.
    #[must_use]
    pub const fn with_output(mut self, kind: GgmlType) -> Self {
        self.output = Some(kind);
        self
    }

    /// The same with all matrices of the mixture's own type, but for those that are given another here.
    #[must_use]
    pub const fn with_pure(mut self, pure: bool) -> Self {
        self.pure = pure;
        self
    }

    /// The same with types for tensors by their names in the new file.
    #[must_use]
    pub const fn with_overrides(mut self, overrides: &'r dyn Fn(&str) -> Option<GgmlType>) -> Self {
        self.overrides = overrides;
        self
    }

    /// The type that each tensor of a model gets, in their order. All of its tensors have to be there, since some types
    /// depend on how many of a kind there are, and on whether the model has a head of its own.
    ///
    /// Norms, positions, vectors and the like keep theirs, whatever is wanted, and so does what holds no fractions. A wish
    /// for a type is followed where llama.cpp does not follow its own like it: where the mixture is a plain type, where the
    /// embedding is the head and all are to be of one type, and by a type of smaller blocks where rows need them.
    pub fn choose(&self, facts: &Facts, drafts: &[Draft<'_>]) -> Vec<Choice> {
        let mut state = rules::State::new(self, facts, drafts);
        let mut choices = vec![Choice::default(); drafts.len()];
        let mut order: Vec<_> = drafts.iter().zip(&mut choices).collect();
        // Counters run by layer, and in a layer by name.
        order.sort_by_key(|(draft, _)| (rules::layer(draft.name), draft.name));
        for (draft, choice) in order {
            *choice = state.choose(draft);
        }
        choices
    }
}

impl fmt::Debug for Recipe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recipe")
            .field("mixture", &self.mixture)
            .field("token_embedding", &self.token_embedding)
            .field("output", &self.output)
            .field("pure", &self.pure)
            .finish_non_exhaustive()
    }
}
