//! What goes with a GPT-2 besides its tensors: its dimensions and its vocabulary, in either format's spelling.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tensorgate::gguf::PairSpec;
use tensorgate::gpt2::{Activation, Config, Gpt2, LoadOptions};
use tensorgate::model::Model;
use tensorgate::tokenizer::Tokenizer;

use super::beside::read;

/// Types of tokens in GGUF: llama.cpp's `llama_token_type`.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const UNUSED: i32 = 5;

/// The one token of GPT-2's that is no text.
const END: &str = "<|endoftext|>";

/// Keys of a vocabulary, which Hugging Face's files have beside the tensors.
pub(super) const VOCABULARY: [&str; 3] =
    ["tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.token_type"];

/// What a GGUF file says of a GPT-2.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    numbers: Vec<(&'static str, u32)>,
    epsilon: f32,
    tokens: Vec<String>,
    types: Vec<i32>,
    merges: Vec<String>,
    /// What whoever runs the file should know.
    pub(crate) notes: Vec<String>,
}

impl Pairs {
    /// Those of a model in Hugging Face's files, with what lies beside it.
    pub(crate) fn of(model: &Model, path: &Path) -> Result<Self, String> {
        let folder = folder(path);
        let config = read(&folder.join("config.json"))?;
        let gpt2 =
            Gpt2::new(model, config.as_deref(), &LoadOptions::default()).map_err(|error| error.to_string())?;
        let config = gpt2.config();
        let mut pairs = Self { notes: gpt2.notes().to_vec(), ..Self::default() };
        pairs.dimensions(config);
        pairs.vocabulary(&folder, config)?;
        Ok(pairs)
    }

    fn dimensions(&mut self, config: &Config) {
        let short = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        self.epsilon = config.epsilon();
        self.numbers = vec![
            ("gpt2.block_count", short(config.n_layer())),
            ("gpt2.context_length", short(config.n_positions())),
            ("gpt2.embedding_length", short(config.n_embd())),
            ("gpt2.feed_forward_length", short(config.n_inner())),
            ("gpt2.attention.head_count", short(config.n_head())),
        ];
        if config.activation() != Activation::GeluNew {
            self.notes.push(String::from(
                "its activation is not gelu_new: GGUF has no key for that, and other programs will compute something else",
            ));
        }
        // `f32` holds both to within 1e-7 of each other where they are the same.
        let divisor = f64::from(short(config.head_dim())).sqrt();
        if (f64::from(config.attention_scale(0)) * divisor - 1.0).abs() > 1e-6 {
            self.notes.push(String::from(
                "its attention is not divided by the root of a head's width: GGUF has no key for that, and other programs will compute something else",
            ));
        }
        let scale = |layer| config.attention_scale(layer).to_bits();
        let plain = (0..config.n_layer()).all(|layer| scale(layer) == scale(0));
        if !plain {
            self.notes.push(String::from(
                "its attention is scaled by layer: GGUF has no key for that, and other programs will compute something else",
            ));
        }
    }

    /// The vocabulary beside the model, where there is one.
    fn vocabulary(&mut self, folder: &Path, config: &Config) -> Result<(), String> {
        let Some(Vocabulary { ids, merges, special }) = Vocabulary::beside(folder)? else {
            self.notes.push(String::from(
                "there is no vocabulary beside it (vocab.json with merges.txt, or tokenizer.json): the file has none",
            ));
            return Ok(());
        };
        // Rows of the embedding that are no token's have a name too, as llama.cpp's converter gives them one.
        let count = config.n_vocab().max(ids.last_key_value().map_or(0, |(id, _)| id.saturating_add(1)));
        if count > config.n_vocab() {
            return Err(format!("the vocabulary has ids past the {} rows of the embedding", config.n_vocab()));
        }
        for id in 0..count {
            if let Some(token) = ids.get(&id) {
                self.types.push(if special.contains(token) { CONTROL } else { NORMAL });
                self.tokens.push(token.clone());
            } else {
                self.types.push(UNUSED);
                self.tokens.push(format!("[PAD{id}]"));
            }
        }
        self.merges = merges;
        let by_name = || self.tokens.iter().position(|token| token == END).and_then(|id| u32::try_from(id).ok());
        if let Some(end) = config.eos().first().copied().or_else(by_name) {
            self.numbers.push(("tokenizer.ggml.bos_token_id", end));
            self.numbers.push(("tokenizer.ggml.eos_token_id", end));
        }
        Ok(())
    }

    /// As the writer takes them.
    pub(crate) fn specs(&self) -> Vec<PairSpec<'_>> {
        let mut specs = vec![PairSpec::new("general.architecture", "gpt2")];
        specs.extend(
            self.numbers
                .iter()
                .filter(|(key, _)| key.starts_with("gpt2"))
                .map(|(key, value)| PairSpec::new(*key, *value)),
        );
        specs.push(PairSpec::new("gpt2.attention.layer_norm_epsilon", self.epsilon));
        if !self.tokens.is_empty() {
            specs.push(PairSpec::new("tokenizer.ggml.model", "gpt2"));
            specs.push(PairSpec::new("tokenizer.ggml.pre", "gpt-2"));
            specs.push(PairSpec::new("tokenizer.ggml.tokens", self.tokens.as_slice()));
            specs.push(PairSpec::new("tokenizer.ggml.token_type", self.types.as_slice()));
            specs.push(PairSpec::new("tokenizer.ggml.merges", self.merges.as_slice()));
        }
        specs.extend(
            self.numbers
                .iter()
                .filter(|(key, _)| key.starts_with("tok"))
                .map(|(key, value)| PairSpec::new(*key, *value)),
        );
        specs
    }
}

/// The tokens by id as they are spelt in `vocab.json`, the merges in their order, and the tokens that are no text.
struct Vocabulary {
    ids: BTreeMap<usize, String>,
    merges: Vec<String>,
    special: Vec<String>,
}

impl Vocabulary {
    /// That of a folder; `None` where it has none. The tokenizer has judged the files before they are read here.
    fn beside(folder: &Path) -> Result<Option<Self>, String> {
        let (vocab, merges) = (read(&folder.join("vocab.json"))?, read(&folder.join("merges.txt"))?);
        if let (Some(vocab), Some(merges)) = (vocab, merges) {
            Tokenizer::from_files(&vocab, &merges).map_err(|error| format!("the vocabulary: {error}"))?;
            let ids = by_id(&serde_json::from_slice(&vocab).map_err(|error| error.to_string())?);
            let text = String::from_utf8_lossy(&merges);
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("#version"));
            return Ok(Some(Self {
                ids,
                merges: lines.map(str::to_owned).collect(),
                special: vec![END.to_owned()],
            }));
        }
        let Some(text) = read(&folder.join("tokenizer.json"))? else { return Ok(None) };
        Tokenizer::from_json(&text).map_err(|error| format!("tokenizer.json: {error}"))?;
        let json: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let at = |pointer| json.pointer(pointer).cloned().unwrap_or_default();
        let mut ids = by_id(&at("/model/vocab"));
        let mut special = Vec::new();
        for token in at("/added_tokens").as_array().into_iter().flatten() {
            let (Some(id), Some(content)) = (token.pointer("/id").and_then(id_of), token.pointer("/content"))
            else {
                continue;
            };
            let content = content.as_str().unwrap_or_default().to_owned();
            if token.pointer("/special").and_then(Value::as_bool) == Some(true) {
                special.push(content.clone());
            }
            ids.insert(id, content);
        }
        let merges = at("/model/merges").as_array().into_iter().flatten().map(merge).collect();
        Ok(Some(Self { ids, merges, special }))
    }
}

fn id_of(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn by_id(vocab: &Value) -> BTreeMap<usize, String> {
    let members = vocab.as_object().into_iter().flatten();
    members.filter_map(|(token, id)| Some((id_of(id)?, token.clone()))).collect()
}

/// A merge, which is a text with a space in it or a pair of texts.
fn merge(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        pair => {
            let parts: Vec<&str> = pair.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            parts.join(" ")
        }
    }
}

/// The folder that a model is in.
fn folder(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// The names and texts of `config.json`, and of `vocab.json` with `merges.txt` where the GGUF file has a vocabulary.
pub(super) fn texts(model: &Model) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let gpt2 = Gpt2::new(model, None, &LoadOptions::default()).map_err(|error| error.to_string())?;
    let mut files = vec![("config.json", pretty(&config(gpt2.config(), model)).into_bytes())];
    let metadata = model.metadata();
    let texts = |key| -> Option<Vec<String>> {
        let array = metadata.get(key)?.gguf()?.array().ok()?;
        array.strings().ok()?.map(|text| Some(text.as_str().ok()?.to_owned())).collect()
    };
    if let (Some(tokens), Some(merges)) = (texts("tokenizer.ggml.tokens"), texts("tokenizer.ggml.merges")) {
        let vocab: Map<String, Value> =
            tokens.into_iter().zip(0_u64..).map(|(token, id)| (token, id.into())).collect();
        files.push(("vocab.json", Value::Object(vocab).to_string().into_bytes()));
        files.push(("merges.txt", format!("#version: 0.2\n{}\n", merges.join("\n")).into_bytes()));
    }
    Ok(files)
}

/// `config.json` as Hugging Face's transformers reads it.
fn config(config: &Config, model: &Model) -> Value {
    let token = |key| model.metadata().get(key).and_then(|value| value.gguf()?.u64().ok());
    json!({
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "bos_token_id": token("tokenizer.ggml.bos_token_id"),
        "eos_token_id": token("tokenizer.ggml.eos_token_id"),
        // 1e-5, and not the digits of what `f32` makes of it.
        "layer_norm_epsilon": config.epsilon().to_string().parse::<f64>().unwrap_or_else(|_| config.epsilon().into()),
        "model_type": "gpt2",
        "n_embd": config.n_embd(),
        "n_head": config.n_head(),
        "n_inner": config.n_inner(),
        "n_layer": config.n_layer(),
        "n_positions": config.n_positions(),
        "tie_word_embeddings": !model.contains("output.weight"),
        "vocab_size": config.n_vocab(),
    })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
