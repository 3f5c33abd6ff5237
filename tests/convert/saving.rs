//! Where the new file goes: over the old one, all or nothing, in bounded memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tensorgate::file::Step;
use tensorgate::model::convert::{ConvertError, Draft, Naming};

use super::*;

#[test]
fn over_the_file_that_it_comes_from() {
    let place = Place::new();
    let values: Vec<f32> = (0..3_000_000_u32).map(|at| f32::from_bits(0x3F80_0000 + at)).collect();
    let shape = [3000, 1000];
    let source = place.safetensors("a.safetensors", &[("h.0.mlp.c_fc.weight", Dtype::F32, &shape, &f32s(&values))]);
    let before = tensors(&source);
    let choose = |_: Draft<'_>| Some(Dtype::F16.into());
    place.convert(&source, &to_safetensors().with_types(&choose), "a.safetensors").unwrap();
    let now = Model::open(place.at("a.safetensors")).unwrap();
    let mut wanted = vec![0; values.len() * 2];
    tensorgate::quant::encode(GgmlType::F16, &values, &mut wanted).unwrap();
    assert!(now.tensor("h.0.mlp.c_fc.weight").unwrap().bytes() == wanted);
    // Whoever has the old file mapped still sees it.
    assert!(tensors(&source) == before);
    assert_eq!(place.names(), ["a.safetensors"]);
    // Also turned, in the other format, under the same name.
    place.convert(&source, &to_gguf().with_naming(Naming::Gpt2), "a.safetensors").unwrap();
    assert_eq!(Model::open(place.at("a.safetensors")).unwrap().format(), Format::Gguf);
}

/// Stopped at any moment: the old file, and nothing else.
#[test]
fn a_cancelled_conversion_leaves_nothing() {
    let place = Place::new();
    let bytes = f32s(&vec![1.5; 300_000]);
    let (a, b) = ([300_000], [600, 500]);
    let source = place.safetensors(
        "a.safetensors",
        &[("a", Dtype::F32, &a, &bytes), ("h.0.mlp.c_fc.weight", Dtype::F32, &b, &bytes)],
    );
    fs::create_dir(place.at("old")).unwrap();
    fs::write(place.at("old/a.gguf"), b"old").unwrap();
    let choose = |_: Draft<'_>| Some(GgmlType::F16.into());
    let plan = to_gguf().with_types(&choose).with_naming(Naming::Gpt2).plan(&source).unwrap();
    for shards in [None, Some(700_000)] {
        let mut ended = 0;
        for at in 0.. {
            let count = AtomicU64::new(0);
            let watch = |step: Step, _: &Path| {
                // Tidying up goes on.
                let stop = count.fetch_add(1, Ordering::Relaxed) >= at && step != Step::Discard;
                if stop { Err(std::io::Error::from(std::io::ErrorKind::Interrupted)) } else { Ok(()) }
            };
            let target = place.at("old/a.gguf");
            let target = shards.map_or(Target::File(&target), |most| Target::Shards(&target, most));
            match plan.save(target, &Saver::new().with_watch(&watch)) {
                Ok(report) => {
                    assert_eq!(report.files().len(), if shards.is_some() { 2 } else { 1 });
                    break;
                }
                Err(ConvertError::Save(error)) if !error.is_committed() => {
                    ended += 1;
                    assert_eq!(fs::read(place.at("old/a.gguf")).unwrap(), b"old");
                    assert_eq!(fs::read_dir(place.at("old")).unwrap().count(), 1);
                }
                Err(ConvertError::Save(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert!(ended > 6, "{ended}");
        fs::write(place.at("old/a.gguf"), b"old").unwrap();
    }
    // As the command line asks for it.
    let flag = AtomicBool::new(true);
    let outcome = plan.save(Target::File(&place.at("b.gguf")), &Saver::new().with_watch(&flag));
    assert!(matches!(outcome, Err(ConvertError::Save(_))));
    assert!(!place.at("b.gguf").exists());
}

#[test]
fn progress_is_told_of_every_byte() {
    let place = Place::new();
    let source = Model::open(data("tiny-gpt2/tinyA-plain")).unwrap();
    for kind in [GgmlType::F32, GgmlType::BF16] {
        let told = AtomicU64::new(0);
        let progress = |bytes: u64| {
            told.fetch_add(bytes, Ordering::Relaxed);
        };
        let choose = move |_: Draft<'_>| Some(kind.into());
        let conversion = to_gguf().with_naming(Naming::Gpt2).with_types(&choose).with_progress(&progress);
        let plan = conversion.plan(&source).unwrap();
        plan.save(Target::File(&place.at("a.gguf")), &Saver::new()).unwrap();
        assert_eq!(told.load(Ordering::Relaxed), plan.byte_len());
    }
}
