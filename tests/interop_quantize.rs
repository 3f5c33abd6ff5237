//! Files that `model::mixture` made, loaded by llama.cpp: the types and bytes that its own quantiser makes, and the same
//! logits. Skipped, with a line that says so, where Python or `llama-cpp-python` is missing.

#![cfg(feature = "std")]

#[path = "common/python.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod python;

use std::collections::HashMap;
use std::path::Path;

use python::{available, run};
use tensorgate::file::Saver;
use tensorgate::gguf::{GgmlType, PairSpec};
use tensorgate::model::convert::{Conversion, Draft, Output, Target};
use tensorgate::model::mixture::{Choice, Facts, Mixture, Recipe};
use tensorgate::model::{ElementType, Format, Model};

/// Writes a model in a mixture.
fn quantise(from: &Path, to: &Path, mixture: Mixture) {
    let model = Model::open(from).unwrap();
    let pairs = [
        PairSpec::new("general.quantization_version", 2_u32),
        PairSpec::new("general.file_type", mixture.file_type()),
    ];
    let conversion = Conversion::to(Format::Gguf).with_pairs(&pairs);
    let plan = conversion.plan(&model).unwrap();
    let drafts: Vec<Draft<'_>> = plan.outputs().iter().map(Output::draft).collect();
    let choices = Recipe::new(mixture).choose(&Facts::of(&model), &drafts);
    let choices: HashMap<&str, Choice> = drafts.iter().map(|draft| draft.name).zip(choices).collect();
    let choose = |draft: Draft<'_>| choices[draft.name].kind.map(ElementType::from);
    conversion.with_types(&choose).plan(&model).unwrap().save(Target::File(to), &Saver::default()).unwrap();
}

#[test]
fn llama_cpp_computes_the_same_from_our_files_as_from_its_own() {
    if !available("quantize.py") {
        return;
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-gpt2-gguf");
    for name in ["tinyA-f32.gguf", "tinyC-q8_0.gguf"] {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.gguf");
        // As F32, which llama.cpp quantises without being told that it may.
        let model = Model::open(data.join(name)).unwrap();
        let plain = |_: Draft<'_>| Some(GgmlType::F32.into());
        let to_plain = Conversion::to(Format::Gguf).with_types(&plain).plan(&model).unwrap();
        to_plain.save(Target::File(&source), &Saver::default()).unwrap();
        for mixture in Mixture::ALL.iter().filter(|mixture| **mixture != Mixture::Mxfp4) {
            quantise(&source, &folder.path().join(format!("{}.gguf", mixture.file_type())), *mixture);
        }
        run("quantize.py", folder.path());
    }
}
