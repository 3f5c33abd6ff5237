//! What the tensors of a GPT-2 are called, in checkpoints of Hugging Face's and in GGUF files.

use super::config::{Config, Seen};
use super::problem::{KEPT, Problem, shown};
use crate::model::names::{PARTS, gpt2_buffer, layer};
use crate::model::{Format, Model};
use crate::num;

/// The tensors of a block, in the order of [`Names::block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Norm1,
    Qkv,
    Proj,
    Norm2,
    Up,
    Down,
}

impl Part {
    pub(super) const ALL: [Self; 6] = [Self::Norm1, Self::Qkv, Self::Proj, Self::Norm2, Self::Up, Self::Down];
}

/// How a file names its tensors, and how its matrices lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    /// In front of every name but the head's.
    prefix: &'static str,
    format: Format,
}

/// What a tensor must be.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) name: String,
    pub(super) shape: Vec<u64>,
}

impl Expected {
    pub(super) fn new(name: String, shape: &[u64]) -> Self {
        Self { name, shape: shape.to_vec() }
    }

    pub(super) fn is_matrix(&self) -> bool {
        self.shape.len() == 2
    }
}

impl Names {
    pub(super) fn of(model: &Model) -> Self {
        let format = model.format();
        let prefixed = format == Format::SafeTensors && model.contains("transformer.wte.weight");
        Self { prefix: if prefixed { "transformer." } else { "" }, format }
    }

    const fn is_gguf(self) -> bool {
        matches!(self.format, Format::Gguf)
    }

    pub(super) fn embedding(self) -> String {
        self.top(if self.is_gguf() { "token_embd.weight" } else { "wte.weight" })
    }

    pub(super) fn positions(self) -> String {
        self.top(if self.is_gguf() { "position_embd.weight" } else { "wpe.weight" })
    }

    pub(super) fn last_norm(self) -> String {
        self.top(if self.is_gguf() { "output_norm" } else { "ln_f" })
    }

    pub(super) const fn head(self) -> &'static str {
        if self.is_gguf() { "output.weight" } else { "lm_head.weight" }
    }

    fn top(self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    const fn blocks(self) -> &'static str {
        if self.is_gguf() { "blk." } else { "h." }
    }

    const fn part(self, part: Part) -> &'static str {
        let [norm1, qkv, proj, norm2, up, down] = PARTS;
        let (hugging_face, gguf, _) = match part {
            Part::Norm1 => norm1,
            Part::Qkv => qkv,
            Part::Proj => proj,
            Part::Norm2 => norm2,
            Part::Up => up,
            Part::Down => down,
        };
        if self.is_gguf() { gguf } else { hugging_face }
    }

    /// The name of a part of block `layer`, without `.weight` or `.bias`.
    pub(super) fn block(self, layer: u64, part: Part) -> String {
        format!("{}{}{layer}.{}", self.prefix, self.blocks(), self.part(part))
    }

    /// Whether a matrix lies `[in, out]`, as Conv1D keeps it.
    pub(super) const fn is_columns(self) -> bool {
        !self.is_gguf()
    }

    /// The layer and the rest of a name of a block's tensor.
    fn layer(self, name: &str) -> Option<(u64, &str)> {
        let (layer, rest) = layer(name.strip_prefix(self.prefix)?, self.blocks())?;
        Some((layer.into(), rest))
    }

    /// What the shapes say of the dimensions.
    pub(super) fn seen(self, model: &Model) -> Seen {
        let dims = |name: &str| match model.get(name)?.shape() {
            [rows, columns] => Some((*rows, *columns)),
            _ => None,
        };
        let embedding = dims(&self.embedding());
        let up = dims(&format!("{}.weight", self.block(0, Part::Up)));
        // A number beyond all tensors is a lie, which the search for tensors without a place will find.
        let most = num::widen(model.len());
        let layers = model.names().filter_map(|name| self.layer(name)).map(|(layer, _)| layer);
        Seen {
            n_layer: layers.filter(|layer| *layer < most).max().map(|last| last.saturating_add(1)),
            n_embd: embedding.map(|(_, width)| width),
            n_inner: up.map(|(rows, columns)| if self.is_columns() { columns } else { rows }),
            n_positions: dims(&self.positions()).map(|(rows, _)| rows),
            n_vocab: embedding.map(|(rows, _)| rows),
        }
    }

    /// Every tensor that a model of this config has, but a head of its own, one after the other: a config can claim millions.
    pub(super) fn expected(self, config: &Config) -> impl Iterator<Item = Expected> {
        let n_embd = num::widen(config.n_embd());
        let first = [
            Expected::new(self.embedding(), &[num::widen(config.n_vocab()), n_embd]),
            Expected::new(self.positions(), &[num::widen(config.n_positions()), n_embd]),
        ];
        let last = ["weight", "bias"].map(|kind| Expected::new(format!("{}.{kind}", self.last_norm()), &[n_embd]));
        let n_inner = num::widen(config.n_inner());
        let blocks = (0..num::widen(config.n_layer())).flat_map(move |layer| {
            Part::ALL.into_iter().flat_map(move |part| self.expected_part(layer, part, n_embd, n_inner))
        });
        first.into_iter().chain(blocks).chain(last)
    }

    fn expected_part(self, layer: u64, part: Part, n_embd: u64, n_inner: u64) -> [Expected; 2] {
        let name = self.block(layer, part);
        let (inner, outer) = match part {
            Part::Norm1 | Part::Norm2 => (None, n_embd),
            Part::Qkv => (Some(n_embd), n_embd.saturating_mul(3)),
            Part::Proj => (Some(n_embd), n_embd),
            Part::Up => (Some(n_embd), n_inner),
            Part::Down => (Some(n_inner), n_embd),
        };
        let shape = match inner {
            None => vec![outer],
            Some(inner) if self.is_columns() => vec![inner, outer],
            Some(inner) => vec![outer, inner],
        };
        [Expected::new(format!("{name}.weight"), &shape), Expected::new(format!("{name}.bias"), &[outer])]
    }

    /// Problems and notes for tensors that a model of this config does not have. Stops where there are enough problems.
    pub(super) fn strangers(
        self,
        model: &Model,
        config: &Config,
        problems: &mut Vec<Problem>,
        notes: &mut Vec<String>,
    ) {
        let (mut other, mut others, mut buffers) = (None, 0_usize, 0_usize);
        let layers = num::widen(config.n_layer());
        let tops = [
            self.embedding(),
            self.positions(),
            format!("{}.weight", self.last_norm()),
            format!("{}.bias", self.last_norm()),
            self.head().to_owned(),
        ];
        for name in model.names() {
            if problems.len() > KEPT {
                return;
            }
            match self.layer(name) {
                // The causal mask, which older versions of the library saved; not to be taken for `attn.c_attn.bias`.
                Some((layer, _)) if layer < layers && !self.is_gguf() && gpt2_buffer(name) => {
                    buffers = buffers.saturating_add(1);
                }
                Some((layer, rest)) => {
                    let stem = rest.strip_suffix(".weight").or_else(|| rest.strip_suffix(".bias"));
                    let known = stem.is_some_and(|stem| Part::ALL.iter().any(|part| self.part(*part) == stem));
                    if layer >= layers || !known {
                        problems.push(Problem::UnexpectedTensor(shown(name)));
                    }
                }
                None if tops.iter().any(|top| top == name) => {}
                None => {
                    others = others.saturating_add(1);
                    other = other.or_else(|| Some(shown(name)));
                }
            }
        }
        if buffers > 0 {
            notes.push(format!(
                "tensors of the causal mask (attn.bias, attn.masked_bias), which are not needed: {buffers}"
            ));
        }
        if let Some(first) = other {
            notes.push(format!("tensors that are not used: {others}, the first {first}"));
        }
    }
}
