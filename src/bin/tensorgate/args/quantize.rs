//! What `quantize` is asked for.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use glob::Pattern;
use tensorgate::gguf::GgmlType;
use tensorgate::model::mixture::Mixture;
use tensorgate::quant::is_encodable;

use super::{Effort, Reading};

const EXAMPLES: &str = "\
Examples:
  tensorgate quantize gpt2/ gpt2.gguf --type q4_k_m     a folder with its vocabulary
  tensorgate quantize model-f16.gguf model.gguf --type q8_0
  tensorgate quantize model.gguf out.gguf --type q4_k_s --output-type q8_0
  tensorgate quantize model.gguf out.gguf --type q4_k_m --tensor-type ffn_down=q6_k
  tensorgate quantize model.gguf out.gguf --type q4_0 --tensor-type 'blk.[0-3].*=q8_0' --json
  tensorgate quantize q8.gguf q4.gguf --type q4_0 --allow-requantize";

/// Write a model as GGUF with fewer bits a weight, and say what each tensor lost.
///
/// Matrices get the types that llama.cpp's quantiser gives them: of a mixture such as q4_k_m those that lose most get
/// more bits. Norms, vectors and positions keep their type (of a GPT-2 in safetensors: F32). Where rows are no whole
/// blocks of a type of 256, one of 32 is taken: q5_0 for q4_k, q5_1 for q5_k, q8_0 for q6_k; and f16 where they are none
/// of 32 either.
///
/// The new file appears all at once when it is on the disk; it may be the one that is read. GPT-2's tensors are renamed
/// and transposed, and its config and vocabulary go with them, as with convert. Where a value is no number (NaN) or
/// infinite, nothing is written unless that is allowed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Quantize {
    /// A file, an index, the first file of a split, or a folder; safetensors or GGUF.
    #[arg(value_name = "IN")]
    pub(crate) from: PathBuf,

    /// A GGUF file, or a folder for a "model.gguf" (one that is there, or a name that ends with "/").
    #[arg(value_name = "OUT")]
    pub(crate) to: PathBuf,

    /// The mixture.
    #[arg(long = "type", short = 't', value_name = "TYPE", ignore_case = true, value_parser = mixture())]
    pub(crate) mixture: Mixture,

    /// The type of the embedding of tokens.
    #[arg(long, value_name = "TYPE", value_parser = kind)]
    pub(crate) token_embedding_type: Option<GgmlType>,

    /// The type of the head, or of the embedding where that is the head too and was given no other.
    #[arg(long, value_name = "TYPE", value_parser = kind)]
    pub(crate) output_type: Option<GgmlType>,

    /// The type of the matrices whose names in the new file match; the first pattern that does counts. A name, or parts
    /// of one between dots (ffn_down, blk.3), or a pattern for the whole name with *, ? and [...]. May be given several
    /// times, or with commas. Types: f32, f16, bf16, q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1, q4_0, iq4_nl, mxfp4.
    #[arg(long = "tensor-type", value_name = "PATTERN=TYPE", value_delimiter = ',', value_parser = wish)]
    pub(crate) wishes: Vec<Wish>,

    /// All matrices in the mixture's own type, but for those that are given another here.
    #[arg(long)]
    pub(crate) pure: bool,

    /// Quantise what is quantised already, though that loses more than quantising the original would.
    #[arg(long)]
    pub(crate) allow_requantize: bool,

    /// Quantise values that are no numbers (NaN), or infinite, too. One of them can spoil its whole block.
    #[arg(long)]
    pub(crate) allow_non_finite: bool,

    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but errors, and show no progress.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// A type for tensors by name.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// As it was written.
    pub(crate) text: String,
    /// Whole names; `None` for parts of them.
    pattern: Option<Pattern>,
    pub(crate) kind: GgmlType,
}

impl Wish {
    /// Whether it is about a tensor of that name.
    pub(crate) fn is_for(&self, name: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.matches(name),
            // Parts have a dot, or nothing, on either side.
            None => format!(".{name}.").contains(&format!(".{}.", self.text)),
        }
    }
}

fn mixture() -> impl TypedValueParser<Value = Mixture> {
    let values = Mixture::ALL
        .iter()
        .map(|mixture| PossibleValue::new(mixture.name()).help(mixture.what()).aliases(mixture.alias()));
    PossibleValuesParser::new(values)
        .try_map(|name| Mixture::from_name(&name).ok_or_else(|| format!("{name} is no mixture")))
}

/// The types that can be written.
fn kinds() -> impl Iterator<Item = (String, GgmlType)> {
    let encodable = GgmlType::ALL.iter().copied().filter(|kind| is_encodable(*kind));
    encodable.filter_map(|kind| Some((kind.name()?.to_ascii_lowercase(), kind)))
}

fn kind(name: &str) -> Result<GgmlType, String> {
    let found = kinds().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, kind)| kind).ok_or_else(|| {
        let names: Vec<String> = kinds().map(|(name, _)| name).collect();
        format!("{name:?} is no type that can be written; these are: {}", names.join(", "))
    })
}

fn wish(text: &str) -> Result<Wish, String> {
    let Some((pattern, name)) = text.rsplit_once('=').filter(|(pattern, _)| !pattern.is_empty()) else {
        return Err(String::from("a pattern and a type, such as ffn_down=q6_k"));
    };
    let kind = kind(name)?;
    let is_pattern = pattern.contains(['*', '?', '[']);
    let compiled = is_pattern.then(|| Pattern::new(pattern)).transpose();
    let pattern_of_names = compiled.map_err(|error| format!("{pattern:?}: {error}"))?;
    Ok(Wish { text: pattern.to_owned(), pattern: pattern_of_names, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_for_whole_parts_or_a_pattern_of_names() {
        let is_for = |text: &str, name: &str| wish(text).unwrap().is_for(name);
        for text in
            ["attn_v=q6_k", "blk.1=q8_0", "blk.1.attn_v.weight=F16", "blk.[01].*=q4_0", "*attn_?.weight=q4_k"]
        {
            assert!(is_for(text, "blk.1.attn_v.weight"), "{text}");
            assert!(!is_for(text, "blk.10.ffn_up.weight"), "{text}");
        }
        assert!(!is_for("blk.1=q8_0", "blk.10.attn_v.weight") && !is_for("attn=q8_0", "blk.1.attn_v.weight"));
        assert_eq!(wish("a=b=q5_1").unwrap().text, "a=b");
        for bad in ["", "q4_0", "=q4_0", "a=", "a=q2_k", "a=q4_k_m", "[=q4_0", "a***=q4_0"] {
            assert!(wish(bad).is_err(), "{bad}");
        }
    }
}
