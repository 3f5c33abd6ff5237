//! The rules of the choice, one tensor after the other.

use super::{Architecture, Choice, Facts, Mixture, Recipe};
use crate::gguf::GgmlType;
use crate::model::convert::{Draft, is_float};

/// What a tensor is for, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    TokenEmbedding,
    /// Values, or queries, keys and values in one, or what both keys and values come of.
    Values,
    Keys,
    AttentionOutput,
    Up,
    Gate,
    Down,
    Output,
    Other,
}

/// Parts of names, in the order in which they are looked for.
const ROLES: [(&str, Role); 8] = [
    ("attn_qkv.weight", Role::Values),
    ("attn_kv_b.weight", Role::Values),
    ("attn_v.weight", Role::Values),
    ("attn_k.weight", Role::Keys),
    ("attn_output.weight", Role::AttentionOutput),
    ("ffn_up", Role::Up),
    ("ffn_gate", Role::Gate),
    ("ffn_down", Role::Down),
];

impl Role {
    fn of(name: &str) -> Self {
        match name {
            "output.weight" => Self::Output,
            "token_embd.weight" | "per_layer_token_embd.weight" => Self::TokenEmbedding,
            _ => ROLES.iter().find(|(part, _)| name.contains(part)).map_or(Self::Other, |(_, role)| *role),
        }
    }
}

/// Parts of the names of matrices that are never quantised: small ones, and such as decide much.
const KEPT: [&str; 30] = [
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
];

/// The same of models of pictures and sound.
const KEPT_ENCODERS: [&str; 5] = ["sam.pos_embd", "sam.neck.", "sam.net_", "a.rvq.codebook", "mm.a.code_embd"];

/// The same of one architecture.
const KEPT_GLM5: [&str; 14] = [
    "hc_",
    "indexer.attn_q_b",
    "indexer.attn_k",
    "indexer.proj",
    "indexer_compressor_gate",
    "indexer_compressor_ape",
    "ssm_f_a.weight",
    "ssm_f_b.weight",
    "ssm_g_a.weight",
    "ssm_g_b.weight",
    "ssm_beta.weight",
    "attn_kv_a_mqa.weight",
    "attn_k_b.weight",
    "attn_v_b.weight",
];

/// Of the same architecture, what is no smaller than Q8_0.
const WIDE_GLM5: [&str; 3] = ["attn_q_a", "attn_q_b", "nextn.eh_proj"];

/// The layer in a name such as `blk.3.ffn_up.weight`.
pub(super) fn layer(name: &str) -> Option<u64> {
    name.strip_prefix("blk.")?.split_once('.')?.0.parse().ok()
}

/// The first and the last eighth of the layers, and every third between.
fn more_bits(layer: u64, layers: u64) -> bool {
    let eighth = layers / 8;
    let last = layers.saturating_mul(7) / 8;
    layer < eighth || layer >= last || layer.saturating_sub(eighth) % 3 == 2
}

/// How far the choice has come.
pub(super) struct State<'s> {
    recipe: &'s Recipe<'s>,
    facts: &'s Facts,
    /// Whether the embedding is the head too.
    tied: bool,
    layers: u64,
    values: u64,
    /// Of values and down projections, how many have been.
    values_seen: u64,
    downs_seen: u64,
}

impl<'s> State<'s> {
    pub(super) fn new(recipe: &'s Recipe<'s>, facts: &'s Facts, drafts: &[Draft<'_>]) -> Self {
        let count = |role| drafts.iter().map(|draft| u64::from(Role::of(draft.name) == role)).sum();
        let by_name =
            || drafts.iter().filter_map(|draft| layer(draft.name)).max().map_or(0, |most| most.saturating_add(1));
        let outputs: u64 = count(Role::Output);
        Self {
            recipe,
            facts,
            tied: outputs == 0,
            layers: facts.layers.unwrap_or_else(by_name),
            values: count(Role::Values),
            values_seen: 0,
            downs_seen: 0,
        }
    }

    pub(super) fn choose(&mut self, draft: &Draft<'_>) -> Choice {
        if !self.is_quantised(draft) {
            return Choice::default();
        }
        let (recipe, role) = (self.recipe, Role::of(draft.name));
        let given = (recipe.overrides)(draft.name);
        let own_table = draft.name == "per_layer_token_embd.weight" && given.is_some();
        let first = match role {
            Role::TokenEmbedding if !own_table => recipe.token_embedding,
            Role::Output => recipe.output,
            _ => None,
        };
        let as_head = recipe.output.filter(|_| self.tied && role == Role::TokenEmbedding);
        let base = recipe.mixture.base();
        let wanted = match first.or(given).or(as_head) {
            Some(kind) => kind,
            None if recipe.pure || base.block_elements() == Some(1) => base,
            None => self.mixed(draft, role, base),
        };
        let row = draft.shape.last().copied().unwrap_or(1);
        let kind = fallback(row, wanted);
        Choice { kind: Some(kind), instead_of: (kind != wanted).then_some(wanted) }
    }

    /// Whether it is a matrix whose type may change.
    fn is_quantised(&self, draft: &Draft<'_>) -> bool {
        let name = draft.name;
        let rank = draft.shape.iter().skip_while(|dim| **dim == 1).count();
        let kept = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let glm5 = self.facts.architecture == Architecture::Glm5Next;
        rank >= 2
            && is_float(draft.element)
            && name.ends_with("weight")
            && !matches!(name, "position_embd.weight" | "token_types.weight")
            && !kept(&KEPT)
            && !kept(&KEPT_ENCODERS)
            && !(glm5 && kept(&KEPT_GLM5))
    }

    /// The mixture's own choice.
    fn mixed(&mut self, draft: &Draft<'_>, role: Role, base: GgmlType) -> GgmlType {
        let mixture = self.recipe.mixture;
        let glm5 = self.facts.architecture == Architecture::Glm5Next;
        if glm5 && WIDE_GLM5.iter().any(|part| draft.name.contains(part)) {
            return GgmlType::Q8_0;
        }
        match role {
            Role::Output => self.head(draft, base),
            Role::TokenEmbedding if self.tied => self.head(draft, base),
            _ if mixture == Mixture::Mxfp4Moe => self.expert(draft, role),
            Role::Values => {
                let kind = self.of_values(base);
                self.values_seen = self.values_seen.saturating_add(1);
                kind
            }
            Role::Keys if self.facts.experts == 8 => GgmlType::Q8_0,
            Role::Down => {
                let kind = self.of_down(draft, base);
                self.downs_seen = self.downs_seen.saturating_add(1);
                kind
            }
            Role::AttentionOutput if self.facts.experts == 8 && !self.is_falcon() => match mixture {
                Mixture::Iq4Nl | Mixture::Q4KS | Mixture::Q4KM => GgmlType::Q5_K,
                _ => base,
            },
            _ => base,
        }
    }

    fn is_falcon(&self) -> bool {
        self.facts.architecture == Architecture::Falcon
    }

    /// Of the head, or of the embedding that is the head too.
    fn head(&self, draft: &Draft<'_>, base: GgmlType) -> GgmlType {
        let row = draft.shape.last().copied().unwrap_or(1);
        let four_bit_floats = matches!(self.recipe.mixture, Mixture::Mxfp4 | Mixture::Mxfp4Moe);
        if four_bit_floats || self.is_falcon() || base == GgmlType::Q8_0 || !has_whole_blocks(row, base) {
            GgmlType::Q8_0
        } else {
            GgmlType::Q6_K
        }
    }

    /// Of the matrices of a model of experts in MXFP4: the experts stand in one tensor of three dimensions.
    fn expert(&self, draft: &Draft<'_>, role: Role) -> GgmlType {
        let several = draft.shape.iter().rev().nth(2).is_some_and(|count| *count > 1);
        // Its projections to few dimensions have three too.
        let other = self.facts.architecture == Architecture::BailingMoe3
            && !matches!(role, Role::Up | Role::Gate | Role::Down);
        if several && !other { GgmlType::MXFP4 } else { GgmlType::Q8_0 }
    }

    fn of_values(&self, base: GgmlType) -> GgmlType {
        let more = more_bits(self.values_seen, self.values);
        let kind = match self.recipe.mixture {
            Mixture::Iq4Nl if self.facts.sharing() >= 4 => GgmlType::Q5_K,
            Mixture::Q4KM | Mixture::Q5KM if more => GgmlType::Q6_K,
            Mixture::Q4KS if self.values_seen < 4 => GgmlType::Q5_K,
            _ => base,
        };
        let shared = match self.facts.architecture {
            Architecture::Wide(layers) => self.layers == layers,
            Architecture::Llama => self.layers == 80 && self.facts.heads != self.facts.kv_heads,
            _ => false,
        };
        match kind {
            _ if self.facts.experts == 8 => GgmlType::Q8_0,
            GgmlType::Q4_K if shared => GgmlType::Q5_K,
            kind => kind,
        }
    }

    fn of_down(&self, draft: &Draft<'_>, base: GgmlType) -> GgmlType {
        let layers = self.layers;
        // Experts are not in the order of the layers.
        let layer = if self.facts.experts > 1 { layer(draft.name).unwrap_or(0) } else { self.downs_seen };
        let (more, early) = (more_bits(layer, layers), layer < layers / 8);
        match self.recipe.mixture {
            Mixture::Q4KM if self.is_falcon() && layer < layers / 16 => GgmlType::Q6_K,
            Mixture::Q4KM if self.is_falcon() && more => GgmlType::Q5_K,
            Mixture::Q4KM if self.is_falcon() => GgmlType::Q4_K,
            Mixture::Q4KM | Mixture::Q5KM if more => GgmlType::Q6_K,
            Mixture::Iq4Nl if early => GgmlType::Q5_K,
            Mixture::Q4KS if early && !self.is_falcon() => GgmlType::Q5_K,
            _ => base,
        }
    }
}

fn has_whole_blocks(row: u64, kind: GgmlType) -> bool {
    kind.block_elements().is_some_and(|block| row.is_multiple_of(u64::from(block)))
}

/// The type itself where rows are whole blocks of it, else one of blocks of 32 that loses less, else F16.
fn fallback(row: u64, wanted: GgmlType) -> GgmlType {
    if has_whole_blocks(row, wanted) {
        return wanted;
    }
    let narrow = match wanted {
        GgmlType::Q4_K => GgmlType::Q5_0,
        GgmlType::Q5_K => GgmlType::Q5_1,
        GgmlType::Q6_K => GgmlType::Q8_0,
        kind => kind,
    };
    if has_whole_blocks(row, narrow) { narrow } else { GgmlType::F16 }
}
