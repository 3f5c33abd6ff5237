//! The dimensions of a model: from `config.json`, from GGUF keys, or from the shapes of its weights.
//!
//! `serde-json-core` was the plan for `config.json`. Its version 0.6 steps over unknown values by recursion, so that a
//! config of a million brackets overflows the stack; it takes any characters for a literal, and duplicates of fields
//! that it does not know. The strict reader that safetensors headers go through does none of that.

use std::collections::BTreeSet;

use super::problem::{Problem, Problems, shown};
use crate::error::ErrorKind;
use crate::gguf::{self, ValueError};
use crate::json::lex::{BYTE_ORDER_MARK, Lexer, utf8};
use crate::json::object::Members;
use crate::name::Name;
use crate::num;
use crate::shards::skip_value as skip;

/// The longest `config.json` that is read, in bytes; real ones take about one kilobyte.
pub const MAX_CONFIG_LEN: u64 = 1 << 20;

/// How deep values of fields that are not known may nest.
const DEPTH: u64 = 32;

/// The most that any dimension may be: far beyond every model, and small enough that no product of two overflows 64 bits.
const MOST: u64 = 1 << 31;

/// The function between the two matrices of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `gelu_new`: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as GPT-2 was trained.
    GeluNew,
    /// `gelu`: x times the normal distribution's cumulative function, by erf; Cerebras-GPT.
    Gelu,
    /// `relu`: the greater of x and 0.
    Relu,
}

/// The dimensions and choices of a model, checked against one another.
///
/// What a field is called in `config.json` is what its getter is called here, where they differ the getter says so. The
/// fields and their defaults are those of `GPT2Config` in Hugging Face's transformers 5.24.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    n_layer: usize,
    n_head: usize,
    n_embd: usize,
    n_inner: usize,
    n_positions: usize,
    n_vocab: usize,
    epsilon: f32,
    activation: Activation,
    scale_weights: bool,
    scale_by_layer: bool,
    tied: Option<bool>,
    eos: Vec<u32>,
}

impl Config {
    /// Transformer blocks.
    pub const fn n_layer(&self) -> usize {
        self.n_layer
    }

    /// Attention heads of a block.
    pub const fn n_head(&self) -> usize {
        self.n_head
    }

    /// Width of the residual stream; a multiple of [`n_head`](Self::n_head).
    pub const fn n_embd(&self) -> usize {
        self.n_embd
    }

    /// Width of one head: `n_embd / n_head`.
    pub const fn head_dim(&self) -> usize {
        match self.n_embd.checked_div(self.n_head) {
            Some(dim) => dim,
            None => 0,
        }
    }

    /// Width inside the feed-forward part; `4 * n_embd` where the config says null.
    pub const fn n_inner(&self) -> usize {
        self.n_inner
    }

    /// Positions that the model knows, which is the longest context.
    pub const fn n_positions(&self) -> usize {
        self.n_positions
    }

    /// Tokens in the vocabulary (`vocab_size`).
    pub const fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    /// What is added to a variance before its root is taken (`layer_norm_epsilon`).
    pub const fn epsilon(&self) -> f32 {
        self.epsilon
    }

    /// The function of the feed-forward part (`activation_function`).
    pub const fn activation(&self) -> Activation {
        self.activation
    }

    /// What the scores of attention in layer `layer`, from 0, are multiplied with: `1 / sqrt(head_dim)` with
    /// `scale_attn_weights`, and `1 / (layer + 1)` with `scale_attn_by_inverse_layer_idx`.
    pub fn attention_scale(&self, layer: usize) -> f32 {
        let mut scale = 1.0_f64;
        if self.scale_weights {
            scale /= float(self.head_dim()).sqrt();
        }
        if self.scale_by_layer {
            scale /= float(layer) + 1.0;
        }
        single(scale)
    }

    /// Whether the head must be the token embedding (`tie_word_embeddings`); `None` where nothing says, and a head of its
    /// own is used where there is one.
    pub const fn tied(&self) -> Option<bool> {
        self.tied
    }

    /// The tokens that end a text (`eos_token_id`); those outside the vocabulary are left out.
    pub fn eos(&self) -> &[u32] {
        &self.eos
    }
}

/// A small count as a float.
fn float(value: usize) -> f64 {
    u32::try_from(value).map_or(f64::MAX, f64::from)
}

/// The nearest 32-bit float.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
const fn single(value: f64) -> f32 {
    value as f32
}

/// What the shapes of the weights say of a model's dimensions; `n_inner` counts only where there is no config, which by not
/// giving it says `4 * n_embd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Blocks, counted by their tensors' names.
    pub n_layer: Option<u64>,
    /// Width of the token embedding.
    pub n_embd: Option<u64>,
    /// Width inside the first block's feed-forward part.
    pub n_inner: Option<u64>,
    /// Rows of the position embedding.
    pub n_positions: Option<u64>,
    /// Rows of the token embedding.
    pub n_vocab: Option<u64>,
}

/// What a config says, before the shapes fill in what it does not.
///
/// ```
/// use tensorgate::gpt2::{Fields, Seen};
/// # fn main() -> Result<(), tensorgate::gpt2::Problems> {
/// let fields = Fields::from_json(br#"{"n_head": 2, "n_embd": 32, "n_positions": 64, "n_inner": null}"#)?;
/// let seen = Seen { n_layer: Some(2), n_vocab: Some(512), ..Seen::default() };
/// let (config, notes) = fields.resolve(&seen)?;
/// assert_eq!((config.n_layer(), config.head_dim(), config.n_inner()), (2, 16, 128));
/// assert_eq!(notes.len(), 2); // n_layer and vocab_size came from the shapes
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    n_layer: Option<u64>,
    n_head: Option<u64>,
    n_embd: Option<u64>,
    n_inner: Option<u64>,
    n_positions: Option<u64>,
    n_ctx: Option<u64>,
    n_vocab: Option<u64>,
    epsilon: Option<f32>,
    activation: Option<Activation>,
    scale_weights: Option<bool>,
    scale_by_layer: Option<bool>,
    tied: Option<bool>,
    eos: Vec<u32>,
    /// Whether the library's defaults stand for what is not said: a config was there.
    given: bool,
    /// Whether the rows of the embedding are the vocabulary: GGUF has no key of its own for their number.
    rows: bool,
}

/// One value of the config as it stands in the text.
struct Raw<'a> {
    key: &'static str,
    text: &'a str,
}

impl Raw<'_> {
    fn wrong(&self, expected: &'static str) -> Problem {
        Problem::Field { key: self.key, found: shown(self.text), expected }
    }

    /// A positive integer, or nothing for null.
    fn dimension(&self) -> Result<Option<u64>, Problem> {
        if self.text == "null" {
            return Ok(None);
        }
        match Lexer::new(self.text, 0).integer(ErrorKind::JsonValue) {
            Ok(value @ 1..=MOST) => Ok(Some(value)),
            _ => Err(self.wrong("an integer from 1 to 2147483648")),
        }
    }

    fn flag(&self) -> Result<Option<bool>, Problem> {
        match self.text {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            "null" => Ok(None),
            _ => Err(self.wrong("true or false")),
        }
    }

    fn epsilon(&self) -> Result<Option<f32>, Problem> {
        match self.text.parse::<f32>() {
            _ if self.text == "null" => Ok(None),
            Ok(value) if value > 0.0 && value <= 1.0 => Ok(Some(value)),
            _ => Err(self.wrong("a number above 0, at most 1")),
        }
    }

    /// A string's text, or nothing for null.
    fn string(&self) -> Result<Option<String>, Problem> {
        if self.text == "null" {
            return Ok(None);
        }
        let name = Lexer::new(self.text, 0).string(ErrorKind::JsonValue);
        name.map(|name| Some(name.to_cow().into_owned())).map_err(|_| self.wrong("a string"))
    }

    /// Token ids: one, a list, or null.
    fn ids(&self) -> Result<Vec<u32>, Problem> {
        const EXPECTED: &str = "a token id, a list of them, or null";
        let inside = self.text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let list: Vec<&str> = match inside {
            Some(inside) if inside.trim().is_empty() => Vec::new(),
            Some(inside) => inside.split(',').collect(),
            None if self.text == "null" => Vec::new(),
            None => vec![self.text],
        };
        let ids = list.iter().map(|id| {
            let value = Lexer::new(id.trim(), 0).integer(ErrorKind::JsonValue).ok();
            value.and_then(|value| u32::try_from(value).ok())
        });
        ids.collect::<Option<Vec<u32>>>().ok_or_else(|| self.wrong(EXPECTED))
    }
}

/// The fields that are read, each with the other name that transformers takes for it.
const KNOWN: [(&str, &str); 16] = [
    ("n_layer", "num_hidden_layers"),
    ("n_head", "num_attention_heads"),
    ("n_embd", "hidden_size"),
    ("n_positions", "max_position_embeddings"),
    ("n_inner", ""),
    ("n_ctx", ""),
    ("vocab_size", ""),
    ("layer_norm_epsilon", ""),
    ("activation_function", ""),
    ("scale_attn_weights", ""),
    ("scale_attn_by_inverse_layer_idx", ""),
    ("tie_word_embeddings", ""),
    ("eos_token_id", ""),
    ("model_type", ""),
    ("add_cross_attention", ""),
    ("is_encoder_decoder", ""),
];

impl Fields {
    /// Reads a `config.json`. Fields that are not known are stepped over, whatever they hold.
    ///
    /// # Errors
    ///
    /// Every problem at once: text that is not JSON (then only that), keys that stand twice, values of a wrong type or
    /// out of range, and what is asked for that the runner does not have.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Problems> {
        let len = num::widen(bytes.len());
        if len > MAX_CONFIG_LEN {
            return Err(Problem::ConfigLength(len).into());
        }
        if bytes.starts_with(BYTE_ORDER_MARK) {
            let found = "text behind a byte order mark (BOM)".to_owned();
            return Err(Problem::Field { key: "config.json", found, expected: "JSON without one" }.into());
        }
        let json = |error| Problems::from(Problem::Json(error));
        let text = utf8(bytes, 0).map_err(json)?;
        let mut lexer = Lexer::new(text, 0);
        lexer.space();
        let mut members = Members::open(&mut lexer, ErrorKind::JsonNotObject).map_err(json)?;
        let mut fields = Self { given: true, ..Self::default() };
        let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some((key, at)) = members.key(&mut lexer).map_err(json)? {
            let before = lexer.rest();
            skip(&mut lexer, DEPTH, |_| Ok(())).map_err(json)?;
            let len = before.len().saturating_sub(lexer.rest().len());
            let value = before.get(..len).and_then(|raw| core::str::from_utf8(raw).ok()).unwrap_or_default();
            let known = KNOWN.iter().find(|(name, other)| is(&key, name) || is(&key, other));
            let name = known.map_or_else(|| key.to_cow().into_owned(), |(name, _)| (*name).to_owned());
            if seen.contains(&name) {
                problems.push(Problem::DuplicateKey { key: shown(&name), at });
                continue;
            }
            seen.insert(name);
            if let Some((key, _)) = known {
                fields.take(&Raw { key, text: value }).unwrap_or_else(|problem| problems.push(problem));
            }
        }
        lexer.finish().map_err(json)?;
        Problems::none_of(problems)?;
        Ok(fields)
    }

    /// Takes the value of a field that is known.
    fn take(&mut self, raw: &Raw<'_>) -> Result<(), Problem> {
        match raw.key {
            "n_layer" => self.n_layer = raw.dimension()?,
            "n_head" => self.n_head = raw.dimension()?,
            "n_embd" => self.n_embd = raw.dimension()?,
            "n_inner" => self.n_inner = raw.dimension()?,
            "n_positions" => self.n_positions = raw.dimension()?,
            "n_ctx" => self.n_ctx = raw.dimension()?,
            "vocab_size" => self.n_vocab = raw.dimension()?,
            "layer_norm_epsilon" => self.epsilon = raw.epsilon()?,
            "activation_function" => self.activation = raw.string()?.as_deref().map(activation).transpose()?,
            "scale_attn_weights" => self.scale_weights = raw.flag()?,
            "scale_attn_by_inverse_layer_idx" => self.scale_by_layer = raw.flag()?,
            "tie_word_embeddings" => self.tied = raw.flag()?,
            "eos_token_id" => self.eos = raw.ids()?,
            "model_type" => return raw.string()?.as_deref().map_or(Ok(()), architecture),
            // Encoders' states are nothing that a text is continued from.
            _ => {
                if raw.flag()? == Some(true) {
                    return Err(Problem::Unsupported { key: raw.key, found: "true".into(), expected: "false" });
                }
            }
        }
        Ok(())
    }

    /// Reads the keys of a GGUF file of the architecture `gpt2`; a key that is not there is left to the shapes.
    ///
    /// # Errors
    ///
    /// Every problem at once: another architecture, values of a wrong type or out of range.
    pub fn from_gguf(header: &gguf::Header<'_>) -> Result<Self, Problems> {
        const EPSILON: &str = "gpt2.attention.layer_norm_epsilon";
        let mut problems = Vec::new();
        match header.str("general.architecture") {
            Ok(name) => architecture(name).unwrap_or_else(|problem| problems.push(problem)),
            Err(ValueError::Missing) => problems.push(Problem::MissingField("general.architecture")),
            Err(_) => problems.push(typed("general.architecture", "a string")),
        }
        let mut dimension = |key| match header.u64(key) {
            Ok(value @ 1..=MOST) => Some(value),
            Err(ValueError::Missing) => None,
            Ok(value) => {
                let expected = "an integer from 1 to 2147483648";
                problems.push(Problem::Field { key, found: value.to_string(), expected });
                None
            }
            Err(_) => {
                problems.push(typed(key, "an integer"));
                None
            }
        };
        let mut fields = Self {
            n_layer: dimension("gpt2.block_count"),
            n_head: dimension("gpt2.attention.head_count"),
            n_embd: dimension("gpt2.embedding_length"),
            n_inner: dimension("gpt2.feed_forward_length"),
            n_positions: dimension("gpt2.context_length"),
            given: true,
            rows: true,
            ..Self::default()
        };
        match header.f64(EPSILON).map(single) {
            Ok(value) if value > 0.0 && value <= 1.0 => fields.epsilon = Some(value),
            Err(ValueError::Missing) => {}
            Ok(value) => {
                let expected = "a number above 0, at most 1";
                problems.push(Problem::Field { key: EPSILON, found: value.to_string(), expected });
            }
            Err(_) => problems.push(typed(EPSILON, "a 32-bit float")),
        }
        match header.u64("tokenizer.ggml.eos_token_id").map(u32::try_from) {
            Ok(Ok(id)) => fields.eos.push(id),
            Err(ValueError::Missing) => {}
            _ => problems.push(typed("tokenizer.ggml.eos_token_id", "a token id")),
        }
        Problems::none_of(problems)?;
        Ok(fields)
    }

    /// The whole config, with what the fields do not say from the shapes, and a note for each of these.
    ///
    /// The number of heads leaves no trace in a shape. Where nothing says it, 12 are taken, as transformers does, if they
    /// divide the width; else a head is taken to be 64 wide, as in every GPT-2 that was published. Both are the same
    /// for the smallest of these.
    ///
    /// # Errors
    ///
    /// Every problem at once: what neither says, and what does not go together.
    pub fn resolve(&self, seen: &Seen) -> Result<(Config, Vec<String>), Problems> {
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        let mut dimension = |key, said: Option<u64>, shape: Option<u64>, problems: &mut Vec<Problem>| {
            let value = said.or_else(|| {
                let value = shape?;
                notes.push(format!("{key} is not given; {value} is taken from the shapes of the weights"));
                Some(value)
            });
            let Some(value) = value else {
                problems.push(Problem::MissingField(key));
                return 0;
            };
            if !(1..=MOST).contains(&value) {
                let expected = "1 to 2147483648";
                problems.push(Problem::Field { key, found: value.to_string(), expected });
            }
            value
        };
        let n_layer = dimension("n_layer", self.n_layer, seen.n_layer, &mut problems);
        let n_embd = dimension("n_embd", self.n_embd, seen.n_embd, &mut problems);
        let said = self.n_positions.or(self.n_ctx);
        let n_positions = dimension("n_positions", said, seen.n_positions, &mut problems);
        let said = if self.rows { seen.n_vocab } else { self.n_vocab };
        let n_vocab = dimension("vocab_size", said, seen.n_vocab, &mut problems);
        let shape = if self.given { None } else { seen.n_inner };
        let n_inner = self.n_inner.or(shape).unwrap_or_else(|| n_embd.saturating_mul(4));
        if let (None, Some(taken)) = (self.n_positions, self.n_ctx) {
            notes.push(format!("n_positions is not given; n_ctx is, and {taken} is taken from it"));
        }
        let n_head = self.heads(n_embd, &mut notes);
        match n_embd.checked_rem(n_head) {
            Some(0) => {}
            _ if n_embd == 0 => {}
            Some(_) => problems.push(Problem::Field {
                key: "n_head",
                found: n_head.to_string(),
                expected: "a divisor of n_embd",
            }),
            None => problems.push(Problem::MissingField("n_head")),
        }
        let narrow = |value: u64| num::narrow(value).unwrap_or(usize::MAX);
        Problems::none_of(problems)?;
        let config = Config {
            n_layer: narrow(n_layer),
            n_head: narrow(n_head),
            n_embd: narrow(n_embd),
            n_inner: narrow(n_inner),
            n_positions: narrow(n_positions),
            n_vocab: narrow(n_vocab),
            epsilon: self.epsilon.unwrap_or(1e-5),
            activation: self.activation.unwrap_or(Activation::GeluNew),
            scale_weights: self.scale_weights.unwrap_or(true),
            scale_by_layer: self.scale_by_layer.unwrap_or(false),
            tied: self.tied,
            eos: self.eos.iter().copied().filter(|id| u64::from(*id) < n_vocab).collect(),
        };
        Ok((config, notes))
    }

    /// The heads; 0 where neither a field nor a guess gives them.
    fn heads(&self, n_embd: u64, notes: &mut Vec<String>) -> u64 {
        if let Some(heads) = self.n_head {
            return heads;
        }
        let (heads, why) = match n_embd {
            0 => return 0,
            width if width.is_multiple_of(HEADS) => (HEADS, "the default of GPT-2's configs"),
            width if width.is_multiple_of(HEAD_DIM) => (width / HEAD_DIM, "so that a head is 64 wide"),
            _ => return 0,
        };
        notes.push(format!("n_head is not given; {heads} is taken, {why}"));
        heads
    }
}

/// What transformers takes for `n_head` where a config does not say it.
const HEADS: u64 = 12;

/// The width of a head in every GPT-2 that was published.
const HEAD_DIM: u64 = 64;

/// Whether a key is `name`; the empty name is no key's.
fn is(key: &Name<'_>, name: &str) -> bool {
    !name.is_empty() && *key == Name::from(name)
}

fn typed(key: &'static str, expected: &'static str) -> Problem {
    Problem::Field { key, found: "of another type".to_owned(), expected }
}

fn activation(name: &str) -> Result<Activation, Problem> {
    match name {
        "gelu_new" => Ok(Activation::GeluNew),
        "gelu" => Ok(Activation::Gelu),
        "relu" => Ok(Activation::Relu),
        _ => Err(Problem::Unsupported {
            key: "activation_function",
            found: shown(name),
            expected: "gelu_new, gelu, relu",
        }),
    }
}

fn architecture(name: &str) -> Result<(), Problem> {
    if name == "gpt2" {
        return Ok(());
    }
    Err(Problem::Unsupported { key: "the architecture", found: shown(name), expected: "gpt2" })
}

#[cfg(test)]
mod tests;
