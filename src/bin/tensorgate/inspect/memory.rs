//! How much memory a model takes.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value as Json, json};
use tensorgate::gguf::Header;

use super::totals::Totals;
use crate::check::read_small;
use crate::text;

/// Bits of an element in types that people convert to (of blocks: with their scales).
const AS: [(&str, u64, u64); 4] =
    [("F32", 32, 1), ("F16 or BF16", 16, 1), ("Q8_0", 34 * 8, 32), ("Q4_K", 144 * 8, 256)];

/// Architectures in which every layer keeps keys and values of every token, as GGUF calls them.
const GGUF: [&str; 22] = [
    "baichuan",
    "bloom",
    "command-r",
    "falcon",
    "gemma",
    "gpt2",
    "gptj",
    "gptneox",
    "internlm2",
    "llama",
    "mpt",
    "olmo",
    "olmo2",
    "phi2",
    "phi3",
    "qwen2",
    "qwen2moe",
    "qwen3",
    "qwen3moe",
    "stablelm",
    "starcoder",
    "starcoder2",
];
/// The same as `model_type` of `config.json`.
const HUGGING_FACE: [&str; 17] = [
    "bloom",
    "gemma",
    "gpt2",
    "gpt_neox",
    "gptj",
    "llama",
    "mistral",
    "mixtral",
    "olmo",
    "olmo2",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "stablelm",
    "starcoder2",
];

/// What is kept of each token while a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KvCache {
    /// Elements of keys and values, of all layers.
    elements: u64,
    /// The most tokens that the model was made for.
    context: Option<u64>,
    /// Whether some layers look at the last tokens only, so that less may do.
    window: bool,
}

impl KvCache {
    /// Of a GGUF file, by its keys.
    pub(super) fn of_gguf(header: &Header<'_>) -> Option<Self> {
        let name = header.str("general.architecture").ok().filter(|name| GGUF.contains(name))?;
        let value = |key: &str| header.u64(&format!("{name}.{key}")).ok();
        let (layers, heads) = (value("block_count")?, value("attention.head_count"));
        let kv_heads = match header.array(&format!("{name}.attention.head_count_kv")) {
            // One number a layer; there are no more layers than numbers.
            Ok(array) => array.iter().try_fold(0_u64, |sum, heads| sum.checked_add(heads.u64().ok()?))?,
            Err(_) => value("attention.head_count_kv").or(heads)?.checked_mul(layers)?,
        };
        let width = || value("embedding_length")?.checked_div(heads?);
        let (key, of_value) = (value("attention.key_length"), value("attention.value_length"));
        let each = key.or_else(width)?.checked_add(of_value.or_else(width)?)?;
        let window = value("attention.sliding_window").is_some_and(|window| window > 0);
        Some(Self { elements: kv_heads.checked_mul(each)?, context: value("context_length"), window })
    }

    /// Of a model with a `config.json` in the same folder.
    pub(super) fn beside(path: &Path) -> Option<Self> {
        let text = read_small(&path.parent()?.join("config.json")).ok()?;
        Self::of_config(&serde_json::from_str(&text).ok()?)
    }

    fn of_config(config: &Json) -> Option<Self> {
        config.get("model_type")?.as_str().filter(|name| HUGGING_FACE.contains(name))?;
        let value = |names: &[&str]| names.iter().find_map(|name| config.get(name)?.as_u64());
        let layers = value(&["num_hidden_layers", "n_layer"])?;
        let heads = value(&["num_attention_heads", "n_head"])?;
        let kv_heads = value(&["num_key_value_heads"]).unwrap_or(heads);
        let width = || value(&["hidden_size", "n_embd"])?.checked_div(heads);
        let each = value(&["head_dim"]).or_else(width)?.checked_mul(2)?;
        let elements = layers.checked_mul(kv_heads)?.checked_mul(each)?;
        let context = value(&["max_position_embeddings", "n_positions", "n_ctx"]);
        Some(Self { elements, context, window: value(&["sliding_window"]).is_some() })
    }

    /// Bytes of so many tokens with elements of two bytes.
    fn bytes(self, tokens: u64) -> u64 {
        self.elements.saturating_mul(2).saturating_mul(tokens)
    }
}

/// Bytes of all elements in another type.
fn converted(parameters: u64, bits: u64, elements: u64) -> u64 {
    let bits = u128::from(parameters).saturating_mul(bits.into());
    let bytes = bits.checked_div(u128::from(elements).saturating_mul(8)).unwrap_or_default();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A line for the weights, and one for what is kept of each token.
pub(super) fn print(out: &mut impl Write, sum: &Totals, cache: Option<KvCache>) -> io::Result<()> {
    let others = AS.map(|(name, bits, elements)| {
        format!("{} as {name}", text::rough(converted(sum.parameters, bits, elements)))
    });
    writeln!(out, "memory      {} as it is; {}", text::rough(sum.bytes), others.join(", "))?;
    let Some(cache) = cache else { return Ok(()) };
    let most = if cache.window { "at most " } else { "" };
    write!(out, "KV cache    {most}{} a token in F16", text::rough(cache.bytes(1)))?;
    match cache.context {
        Some(context) => {
            let whole = sum.bytes.saturating_add(cache.bytes(context));
            let (cache, whole) = (text::rough(cache.bytes(context)), text::rough(whole));
            writeln!(out, ", {cache} for all {context} tokens; with the weights {whole}")
        }
        None => writeln!(out),
    }
}

/// The same for programs, in bytes.
pub(super) fn json(sum: &Totals, cache: Option<KvCache>) -> Json {
    let converted = |bits, elements| converted(sum.parameters, bits, elements);
    let [f32, f16, q8_0, q4_k] = AS.map(|(_, bits, elements)| converted(bits, elements));
    let cache = cache.map(|cache| {
        let whole = cache.context.map(|context| cache.bytes(context));
        json!({"token": cache.bytes(1), "context": cache.context, "whole": whole, "at_most": cache.window})
    });
    json!({"stored": sum.bytes, "f32": f32, "f16": f16, "q8_0": q8_0, "q4_k": q4_k, "kv_cache_f16": cache})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_known_models() {
        // GPT-2: 12 layers of 768 keys and 768 values. Llama 3 8B: 32 layers, 8 heads of 128.
        let gpt2 = json!({"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024});
        let cache = KvCache::of_config(&gpt2).unwrap();
        assert_eq!((cache.bytes(1), cache.bytes(1024), cache.context), (36_864, 37_748_736, Some(1024)));
        let llama = json!({
            "model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "hidden_size": 4096, "max_position_embeddings": 8192
        });
        assert_eq!(KvCache::of_config(&llama).unwrap().bytes(8192), 1 << 30);
        for (key, value) in
            [("model_type", json!("mamba")), ("num_attention_heads", json!(0)), ("hidden_size", json!(-1))]
        {
            let mut odd = llama.clone();
            odd[key] = value;
            assert_eq!(KvCache::of_config(&odd), None, "{key}");
        }
        let mut huge = llama.clone();
        huge["num_hidden_layers"] = json!(u64::MAX);
        assert_eq!(KvCache::of_config(&huge), None);
    }

    #[test]
    fn weights_in_other_types() {
        assert_eq!(converted(1024, 34 * 8, 32), 1088);
        assert_eq!(converted(1024, 144 * 8, 256), 576);
        assert_eq!(converted(u64::MAX, 32, 1), u64::MAX);
    }
}
