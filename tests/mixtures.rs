//! Which types tensors get, against those that llama.cpp's own quantiser gives them (`tests/data/mixtures.json`, which
//! `tests/interop/quantize_choices.py` made).

#![cfg(feature = "std")]

use std::path::Path;

use serde_json::Value;
use tensorgate::gguf::GgmlType;
use tensorgate::model::convert::Draft;
use tensorgate::model::mixture::{Facts, Mixture, Recipe};

fn reference() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mixtures.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn kind(name: &str) -> GgmlType {
    *GgmlType::ALL.iter().find(|kind| kind.name() == Some(name)).unwrap()
}

fn facts(model: &Value) -> Facts {
    let mut facts = Facts::new(model["architecture"].as_str().unwrap());
    facts.layers = model["layers"].as_u64();
    facts.heads = model["heads"].as_u64().unwrap();
    facts.kv_heads = model["kv_heads"].as_u64().unwrap();
    facts.experts = model["experts"].as_u64().unwrap();
    facts
}

/// The reference's choice where ours is meant to be another.
fn deviation(run: &Value, name: &str, row: u64, tied: bool, theirs: GgmlType) -> GgmlType {
    let plain = run["pure"] == true || run["type"] == "f16";
    let theirs = match run["output"].as_str() {
        // The embedding is the head too, and a type for the head was asked for.
        Some(output) if tied && plain && name == "token_embd.weight" => kind(output),
        _ => theirs,
    };
    // It would write what nothing can read.
    if row.is_multiple_of(u64::from(theirs.block_elements().unwrap())) { theirs } else { GgmlType::F16 }
}

#[test]
fn types_are_those_that_llama_cpp_chooses() {
    let document = reference();
    let mut compared = 0;
    for (model_name, model) in document["models"].as_object().unwrap() {
        let tensors: Vec<(&str, Vec<u64>)> = model["tensors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tensor| {
                let shape = tensor[1].as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap()).collect();
                (tensor[0].as_str().unwrap(), shape)
            })
            .collect();
        let drafts: Vec<Draft<'_>> =
            tensors.iter().map(|(name, shape)| Draft { name, shape, element: GgmlType::F32.into() }).collect();
        let tied = !tensors.iter().any(|(name, _)| *name == "output.weight");
        for run in model["runs"].as_array().unwrap() {
            let wish = |key: &str| run[key].as_str().map(kind);
            let overrides = |name: &str| -> Option<GgmlType> {
                let pair = run["override"].as_array()?;
                name.contains(pair[0].as_str().unwrap()).then(|| kind(pair[1].as_str().unwrap()))
            };
            let mut recipe = Recipe::new(Mixture::from_name(run["type"].as_str().unwrap()).unwrap())
                .with_pure(run["pure"] == true)
                .with_overrides(&overrides);
            recipe = wish("output").map_or(recipe, |kind| recipe.with_output(kind));
            recipe = wish("embedding").map_or(recipe, |kind| recipe.with_token_embedding(kind));
            let chosen = recipe.choose(&facts(model), &drafts);
            let letters = run["types"].as_str().unwrap();
            assert_eq!(letters.len(), drafts.len());
            for ((letter, draft), choice) in letters.chars().zip(&drafts).zip(chosen) {
                let theirs = kind(document["letters"][letter.to_string()].as_str().unwrap());
                let theirs = deviation(run, draft.name, *draft.shape.last().unwrap(), tied, theirs);
                let ours = choice.kind.unwrap_or(GgmlType::F32);
                let run = serde_json::json!({"type": run["type"], "pure": run["pure"], "output": run["output"], "embedding": run["embedding"], "override": run["override"]});
                assert_eq!(ours, theirs, "{model_name}, {run}: {}", draft.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn where_the_number_of_layers_is_not_known_the_names_say_it() {
    let names: Vec<String> = (0..16).map(|layer| format!("blk.{layer}.ffn_down.weight")).collect();
    let drafts: Vec<Draft<'_>> =
        names.iter().map(|name| Draft { name, shape: &[256, 256], element: GgmlType::BF16.into() }).collect();
    let recipe = Recipe::new(Mixture::Q4KS);
    let mut known = Facts::default();
    known.layers = Some(16);
    let chosen = recipe.choose(&Facts::default(), &drafts);
    assert_eq!(chosen, recipe.choose(&known, &drafts));
    // The first eighth of the layers has five bits.
    let five = chosen.iter().filter(|choice| choice.kind == Some(GgmlType::Q5_K)).count();
    assert_eq!((five, chosen[1].kind, chosen[2].kind), (2, Some(GgmlType::Q5_K), Some(GgmlType::Q4_K)));
}

#[test]
fn what_is_no_matrix_of_fractions_keeps_its_type() {
    let recipe = Recipe::new(Mixture::Q8_0).with_token_embedding(GgmlType::F16).with_output(GgmlType::F16);
    let i32 = GgmlType::I32;
    for (name, shape, element) in [
        ("blk.0.attn_v.bias", &[32, 32][..], GgmlType::F32),
        ("blk.0.ffn_up.weight", &[32], GgmlType::F32),
        ("blk.0.ffn_up.weight", &[1, 1, 32], GgmlType::F16),
        ("blk.0.ffn_up.weight", &[32, 32], i32),
        ("blk.0.attn_q_norm.weight", &[32, 32], GgmlType::F32),
        ("position_embd.weight", &[32, 32], GgmlType::F32),
        ("token_types.weight", &[32, 32], GgmlType::F32),
        ("v.blk.0.position_embd.weight", &[32, 32], GgmlType::F32),
        ("output.weight", &[], GgmlType::F32),
    ] {
        let chosen = recipe.choose(&Facts::default(), &[Draft { name, shape, element: element.into() }]);
        assert_eq!(chosen[0].kind, None, "{name} {shape:?}");
    }
    let none = recipe.choose(&Facts::default(), &[]);
    assert!(none.is_empty());
}

#[test]
fn names_are_found_in_letters_of_either_case() {
    for mixture in Mixture::ALL {
        assert_eq!(Mixture::from_name(mixture.name()), Some(*mixture));
        assert_eq!(Mixture::from_name(&mixture.to_string().to_uppercase()), Some(*mixture));
    }
    assert_eq!(Mixture::from_name("Q4_K"), Some(Mixture::Q4KM));
    assert_eq!(Mixture::from_name("q5_k"), Some(Mixture::Q5KM));
    assert_eq!((Mixture::from_name("q2_k"), Mixture::from_name("")), (None, None));
}
