//! GPT-2's tensor names: Hugging Face's, and those of GGUF's `gpt2` architecture.
//!
//! Hugging Face's are the names of `GPT2LMHeadModel`'s parameters, with `transformer.` in front or without (the official
//! checkpoint has none); GGUF's are those that llama.cpp's converter writes and its loader asks for (`gguf-py` 0.19,
//! `constants.py` and `tensor_mapping.py`). The weights of the four projections of a layer are `[in, out]` in Hugging
//! Face's files (`Conv1D`) and `[out, in]` in GGUF.

use std::format;
use std::string::String;

/// A name in the other convention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The name.
    pub name: String,
    /// Whether the two dimensions change places.
    pub transposed: bool,
}

/// What is there once: Hugging Face's name and GGUF's.
const WHOLE: [(&str, &str); 5] = [
    ("wte.weight", "token_embd.weight"),
    ("wpe.weight", "position_embd.weight"),
    ("ln_f.weight", "output_norm.weight"),
    ("ln_f.bias", "output_norm.bias"),
    ("lm_head.weight", "output.weight"),
];

/// What each layer has, a weight and a bias each: Hugging Face's name, GGUF's, and whether the weight's dimensions change
/// places.
pub(crate) const PARTS: [(&str, &str, bool); 6] = [
    ("ln_1", "attn_norm", false),
    ("attn.c_attn", "attn_qkv", true),
    ("attn.c_proj", "attn_output", true),
    ("ln_2", "ffn_norm", false),
    ("mlp.c_fc", "ffn_up", true),
    ("mlp.c_proj", "ffn_down", true),
];

/// Buffers that Hugging Face's files have and that are no parameters: masks that the code makes anew.
const BUFFERS: [&str; 2] = ["attn.bias", "attn.masked_bias"];

/// The number of a layer and the rest of the name behind it. A number has no sign and no zero in front, so that a layer
/// has one name.
pub(crate) fn layer<'n>(name: &'n str, prefix: &str) -> Option<(u32, &'n str)> {
    let (number, rest) = name.strip_prefix(prefix)?.split_once('.')?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
    if plain { Some((number.parse().ok()?, rest)) } else { None }
}

/// A part of a layer, and which of its tensors.
fn taken_apart(rest: &str) -> Option<(&str, &str)> {
    rest.rsplit_once('.').filter(|(_, kind)| matches!(*kind, "weight" | "bias"))
}

/// Hugging Face's name without the prefix that it may have.
fn bare(name: &str) -> &str {
    name.strip_prefix("transformer.").unwrap_or(name)
}

/// GGUF's name of a GPT-2 tensor of a Hugging Face file; `None` where it is no parameter of a GPT-2.
///
/// ```
/// use tensorgate::model::names::{gpt2_buffer, gpt2_to_gguf};
///
/// let renamed = gpt2_to_gguf("transformer.h.11.mlp.c_fc.weight").unwrap();
/// assert_eq!((renamed.name.as_str(), renamed.transposed), ("blk.11.ffn_up.weight", true));
/// assert_eq!(gpt2_to_gguf("h.0.attn.bias"), None);
/// assert!(gpt2_buffer("h.0.attn.bias"));
/// ```
pub fn gpt2_to_gguf(name: &str) -> Option<Renamed> {
    let name = bare(name);
    if let Some((_, gguf)) = WHOLE.iter().find(|(hf, _)| *hf == name) {
        return Some(Renamed { name: String::from(*gguf), transposed: false });
    }
    let (number, rest) = layer(name, "h.")?;
    let (part, kind) = taken_apart(rest)?;
    let (_, gguf, transposed) = PARTS.iter().find(|(hf, ..)| *hf == part)?;
    Some(Renamed { name: format!("blk.{number}.{gguf}.{kind}"), transposed: *transposed && kind == "weight" })
}

/// Hugging Face's name of a tensor of a GGUF file of the `gpt2` architecture, with `transformer.` in front of all but
/// the head, as `GPT2LMHeadModel` saves them; `None` where it is no parameter of a GPT-2.
///
/// ```
/// use tensorgate::model::names::gpt2_from_gguf;
///
/// let renamed = gpt2_from_gguf("blk.0.attn_qkv.weight").unwrap();
/// assert_eq!((renamed.name.as_str(), renamed.transposed), ("transformer.h.0.attn.c_attn.weight", true));
/// ```
pub fn gpt2_from_gguf(name: &str) -> Option<Renamed> {
    if let Some((hf, _)) = WHOLE.iter().find(|(_, gguf)| *gguf == name) {
        let prefix = if hf.starts_with("lm_head") { "" } else { "transformer." };
        return Some(Renamed { name: format!("{prefix}{hf}"), transposed: false });
    }
    let (number, rest) = layer(name, "blk.")?;
    let (part, kind) = taken_apart(rest)?;
    let (hf, _, transposed) = PARTS.iter().find(|(_, gguf, _)| *gguf == part)?;
    Some(Renamed {
        name: format!("transformer.h.{number}.{hf}.{kind}"),
        transposed: *transposed && kind == "weight",
    })
}

/// Whether a tensor of a Hugging Face GPT-2 file is a buffer of its code (`h.0.attn.bias`, `h.0.attn.masked_bias`) and
/// no parameter. `h.0.attn.c_attn.bias` ends alike and is one.
pub fn gpt2_buffer(name: &str) -> bool {
    layer(bare(name), "h.").is_some_and(|(_, rest)| BUFFERS.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_goes_there_and_back() {
        let whole = WHOLE.iter().map(|(hf, gguf)| (String::from(*hf), String::from(*gguf)));
        let layers = PARTS.iter().flat_map(|(hf, gguf, _)| {
            ["weight", "bias"].map(|kind| (format!("h.47.{hf}.{kind}"), format!("blk.47.{gguf}.{kind}")))
        });
        for (hf, gguf) in whole.chain(layers) {
            let there = gpt2_to_gguf(&hf).unwrap();
            assert_eq!(there.name, gguf);
            let back = gpt2_from_gguf(&gguf).unwrap();
            assert_eq!((bare(&back.name), back.transposed), (hf.as_str(), there.transposed));
            assert_eq!(gpt2_to_gguf(&back.name), Some(there));
            assert!(!gpt2_buffer(&hf));
        }
    }

    #[test]
    fn what_is_no_parameter_has_no_other_name() {
        for name in
            ["h.0.attn.bias", "h.00.ln_1.bias", "h.+1.ln_1.bias", "h..ln_1.bias", "h.0", "wte", "x.wte.weight"]
        {
            assert_eq!(gpt2_to_gguf(name), None, "{name}");
        }
        for name in ["blk.01.attn_norm.bias", "blk.4294967296.attn_norm.bias", "blk.0.attn_q.weight", "token_embd"]
        {
            assert_eq!(gpt2_from_gguf(name), None, "{name}");
        }
        assert!(gpt2_buffer("transformer.h.3.attn.masked_bias"));
        assert!(!gpt2_buffer("transformer.h.3.attn.c_attn.bias"));
    }
}
