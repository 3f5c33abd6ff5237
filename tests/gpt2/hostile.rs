//! Models that are wrong: every problem is named, and nothing crashes.

use std::io::Cursor;

use tensorgate::Dtype;
use tensorgate::gpt2::{Gpt2, LoadError, LoadOptions, Problem, Problems, Quantize, RunOptions, Runner};
use tensorgate::model::{Model, Options};
use tensorgate::safetensors::{self, TensorSpec};

use super::{difference, here, ids, json, last_logits, runner};

/// A checkpoint in the making: a name, a type, a shape and bytes for each tensor.
#[derive(Clone)]
struct Made {
    config: String,
    tensors: Vec<(String, Dtype, Vec<u64>, Vec<u8>)>,
}

/// Numbers between -0.5 and 0.5 without pattern.
fn noise(count: u64, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap()) / 65_536.0 - 0.5
    };
    (0..count).map(next).collect()
}

impl Made {
    /// Two layers, two heads, eight wide.
    fn new(prefix: &str) -> Self {
        let mut made = Self {
            config: r#"{"n_layer":2,"n_head":2,"n_embd":8,"n_positions":6,"vocab_size":10}"#.to_owned(),
            tensors: Vec::new(),
        };
        let mut add = |name: String, shape: &[u64]| {
            let seed = u32::try_from(made.tensors.len()).unwrap();
            let values = noise(shape.iter().product(), seed + 1);
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            made.tensors.push((format!("{prefix}{name}"), Dtype::F32, shape.to_vec(), bytes));
        };
        add("wte.weight".into(), &[10, 8]);
        add("wpe.weight".into(), &[6, 8]);
        for layer in 0..2 {
            for (part, shape) in [
                ("ln_1", vec![8]),
                ("attn.c_attn", vec![8, 24]),
                ("attn.c_proj", vec![8, 8]),
                ("ln_2", vec![8]),
                ("mlp.c_fc", vec![8, 32]),
                ("mlp.c_proj", vec![32, 8]),
            ] {
                add(format!("h.{layer}.{part}.weight"), &shape);
                add(format!("h.{layer}.{part}.bias"), &shape[shape.len() - 1..]);
            }
        }
        add("ln_f.weight".into(), &[8]);
        add("ln_f.bias".into(), &[8]);
        made
    }

    fn tensor(&mut self, name: &str) -> &mut (String, Dtype, Vec<u64>, Vec<u8>) {
        self.tensors.iter_mut().find(|tensor| tensor.0.ends_with(name)).unwrap()
    }

    fn with(mut self, name: &str, dtype: Dtype, shape: &[u64]) -> Self {
        let bytes = vec![0; usize::try_from(shape.iter().product::<u64>() * dtype.bits() / 8).unwrap()];
        self.tensors.push((name.to_owned(), dtype, shape.to_vec(), bytes));
        self
    }

    fn file(&self) -> Vec<u8> {
        let tensors = self
            .tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| TensorSpec::new(name.as_str(), *dtype, shape).with_bytes(bytes));
        safetensors::serialize(tensors, None::<[(&str, &str); 0]>).unwrap()
    }

    fn load_with(&self, config: Option<&str>, options: &LoadOptions) -> Result<Gpt2, Problems> {
        let model = Model::from_reader(Cursor::new(self.file()), &Options::default()).unwrap();
        Gpt2::new(&model, config.map(str::as_bytes), options)
    }

    fn load(&self) -> Result<Gpt2, Problems> {
        self.load_with(Some(&self.config), &LoadOptions::default())
    }

    fn problems(&self) -> Vec<String> {
        self.load().unwrap_err().iter().map(ToString::to_string).collect()
    }

    fn logits(&self) -> Vec<f32> {
        logits(&self.load().unwrap())
    }
}

fn logits(model: &Gpt2) -> Vec<f32> {
    last_logits(&mut runner(model, RunOptions::default()), &[1, 2, 3])
}

#[test]
fn prefixes_masks_and_heads() {
    let plain = Made::new("").logits();
    assert_eq!(Made::new("transformer.").logits(), plain);
    for dtype in [Dtype::F32, Dtype::U8, Dtype::BOOL, Dtype::F16] {
        let masked =
            Made::new("").with("h.0.attn.bias", dtype, &[1, 1, 6, 6]).with("h.1.attn.masked_bias", dtype, &[]);
        let model = masked.load().unwrap();
        assert_eq!(logits(&model), plain);
        assert_eq!(model.notes().len(), 1, "{:?}", model.notes());
    }
    // A head of its own, of zeros; and one that the config says not to use.
    let own = Made::new("").with("lm_head.weight", Dtype::F32, &[10, 8]);
    assert_eq!(own.logits(), [0.0; 10]);
    let mut tied = own.clone();
    tied.config.insert_str(1, "\"tie_word_embeddings\":true,");
    assert_eq!(tied.logits(), plain);
    let mut untied = Made::new("");
    untied.config.insert_str(1, "\"tie_word_embeddings\":false,");
    assert_eq!(untied.problems(), ["tensor lm_head.weight is missing"]);
    let stranger = Made::new("").with("score.weight", Dtype::F32, &[2, 8]);
    assert_eq!(stranger.load().unwrap().notes(), ["tensors that are not used: 1, the first score.weight"]);
}

#[test]
fn all_problems_at_once() {
    let mut made = Made::new("");
    made.tensors.retain(|tensor| tensor.0 != "h.1.ln_2.bias");
    made.tensor("h.0.attn.c_attn.weight").2 = vec![24, 8];
    made.tensor("wpe.weight").2 = vec![8, 6];
    *made.tensor("h.1.mlp.c_fc.bias") = ("h.1.mlp.c_fc.bias".into(), Dtype::I32, vec![32], vec![0; 128]);
    let made = made.with("h.2.ln_1.weight", Dtype::F32, &[8]).with("h.0.attn.q_attn.weight", Dtype::F32, &[8]);
    assert_eq!(
        made.problems(),
        [
            "tensor wpe.weight has shape [8, 6], expected [6, 8]",
            "tensor h.0.attn.c_attn.weight has shape [24, 8], expected [8, 24]",
            "tensor h.1.ln_2.bias is missing",
            "tensor h.1.mlp.c_fc.bias is of type I32, which the runner does not have",
            "tensor h.0.attn.q_attn.weight has no place in a model of this config",
            "tensor h.2.ln_1.weight has no place in a model of this config",
        ]
    );
}

#[test]
fn configs_that_lie() {
    let made = Made::new("");
    for (from, to, count) in [
        ("\"n_layer\":2", "\"n_layer\":1", 12),
        ("\"n_layer\":2", "\"n_layer\":3", 12),
        ("\"n_layer\":2", "\"n_layer\":2147483648", 1),
        ("\"n_embd\":8", "\"n_embd\":2147483648", 28),
        ("\"vocab_size\":10", "\"vocab_size\":11", 1),
        ("\"n_positions\":6", "\"n_positions\":2147483648", 1),
        ("\"n_head\":2", "\"n_head\":3", 1),
        ("\"n_head\":2", "\"n_inner\":31,\"n_head\":2", 6),
    ] {
        let lying = Made { config: made.config.replace(from, to), ..made.clone() };
        assert_eq!(lying.problems().len(), count, "{to}: {:#?}", lying.problems());
    }
    // One head, or as many as there are numbers, is as good as two.
    for heads in [1, 8] {
        let odd =
            Made { config: made.config.replace("\"n_head\":2", &format!("\"n_head\":{heads}")), ..made.clone() };
        assert!(odd.logits().iter().all(|logit| logit.is_finite()));
    }
}

#[test]
fn without_a_config_the_shapes_tell() {
    let mut made = Made::new("transformer.");
    let options = LoadOptions::default();
    // A width of 8 does not tell the number of heads.
    let problems = made.load_with(None, &options).unwrap_err();
    assert_eq!(problems.iter().collect::<Vec<_>>(), [&Problem::MissingField("n_head")]);
    made.config = r#"{"n_head":2}"#.to_owned();
    let model = made.load().unwrap();
    assert_eq!((model.config().n_layer(), model.config().n_inner(), model.config().n_vocab()), (2, 32, 10));
    assert_eq!(model.notes().len(), 4, "{:?}", model.notes());
    assert_eq!(logits(&model), Made::new("").logits());
}

#[test]
fn weights_that_are_no_numbers_name_the_layer() {
    for (name, place) in [
        ("wpe.weight", "the embedding"),
        ("h.0.ln_1.bias", "layer 0"),
        ("h.0.attn.c_attn.bias", "layer 0"),
        ("h.1.mlp.c_proj.weight", "layer 1"),
        ("h.1.attn.c_proj.bias", "layer 1"),
        ("ln_f.weight", "the head"),
    ] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            let mut made = Made::new("");
            for value in made.tensor(name).3.chunks_exact_mut(4) {
                value.copy_from_slice(&bad.to_le_bytes());
            }
            let model = made.load().unwrap();
            for threads in [1, 2] {
                let mut runner = runner(&model, RunOptions { threads, ..RunOptions::default() });
                let mut session = runner.session().unwrap();
                session.push(&[1, 2, 3]).unwrap();
                let outcome = runner
                    .generate(&mut session, &[], &tensorgate::gpt2::GenerateOptions::default())
                    .unwrap()
                    .next()
                    .unwrap();
                match outcome {
                    // The greatest number may be scaled down again, or grow later.
                    Err(error) if bad.to_bits() == f32::MAX.to_bits() => {
                        assert!(error.to_string().ends_with("is not a finite number"));
                    }
                    Err(error) => {
                        assert_eq!(error.to_string(), format!("what {place} gave is not a finite number"));
                    }
                    Ok(_) => assert_eq!(bad.to_bits(), f32::MAX.to_bits(), "{name}"),
                }
            }
        }
    }
}

#[test]
fn limits_hold_before_anything_is_allocated() {
    let made = Made::new("");
    let small = LoadOptions { memory_limit: 100, ..LoadOptions::default() };
    let problems = made.load_with(Some(&made.config), &small).unwrap_err();
    assert!(matches!(problems.iter().next(), Some(Problem::Memory { limit: 100, .. })));
    let model = made.load().unwrap();
    for options in [
        RunOptions { memory_limit: 1000, ..RunOptions::default() },
        RunOptions { threads: 1000, memory_limit: 1 << 16, ..RunOptions::default() },
    ] {
        assert!(Runner::new(&model, &options).is_err());
    }
}

#[test]
fn a_packed_copy_is_asked_for_within_the_limit() {
    let path = here("tests/data/tiny-gpt2-gguf/tinyA-q8_0.gguf");
    let stored = Gpt2::open(&path).unwrap();
    let open = |memory_limit| {
        Gpt2::open_with(&path, &LoadOptions { repack: true, memory_limit, ..LoadOptions::default() })
    };
    let LoadError::Problems(problems) = open(stored.bytes_per_token()).unwrap_err() else { panic!("no problems") };
    let Some(Problem::Memory { what: "the copy of the weights", needed, .. }) = problems.iter().next() else {
        panic!("{problems}");
    };
    let packed = open(*needed).unwrap();
    assert_eq!(packed.bytes_per_token(), *needed);
    assert!(open(*needed - 1).is_err());
    // Nothing to copy, nothing that could be too much.
    let floats = here("tests/data/tiny-gpt2-gguf/tinyA-f32.gguf");
    let options = LoadOptions { repack: true, memory_limit: 1 << 16, ..LoadOptions::default() };
    assert!(Gpt2::open_with(floats, &options).is_ok());
}

#[test]
fn weights_brought_into_blocks() {
    let folder = here("models/austen");
    let reference = json(here("tests/data/austen/reference.json"));
    let tokens = ids(&reference["cases"][0]["ids"]);
    let exact: Vec<f64> = last_logits(&mut runner(&Gpt2::open(&folder).unwrap(), RunOptions::default()), &tokens)
        .iter()
        .map(|x| f64::from(*x))
        .collect();
    // Rows of 128 are no whole blocks of 256, so that Q4_K becomes Q8_0 but where there are 512 inputs.
    for (how, most) in [(Quantize::Q8_0, 0.1), (Quantize::Q4_0, 1.0), (Quantize::Q4_K, 0.6)] {
        let options = LoadOptions { quantize: Some(how), ..LoadOptions::default() };
        let model = Gpt2::open_with(&folder, &options).unwrap();
        let (_, off) = difference(&last_logits(&mut runner(&model, RunOptions::default()), &tokens), &exact);
        assert!(off > 1e-4 && off < most, "{how:?}: {off}");
        assert_eq!(model.notes().is_empty(), how != Quantize::Q4_K);
        let small = LoadOptions { memory_limit: 400_000, ..options };
        assert!(Gpt2::open_with(&folder, &small).is_err());
        // The same blocks in another order: only the rounding of sums differs.
        let packed = Gpt2::open_with(&folder, &LoadOptions { repack: true, ..options }).unwrap();
        let stored: Vec<f64> = last_logits(&mut runner(&model, RunOptions::default()), &tokens)
            .iter()
            .map(|x| f64::from(*x))
            .collect();
        let (most, _) = difference(&last_logits(&mut runner(&packed, RunOptions::default()), &tokens), &stored);
        assert!(most < 0.05, "{how:?}: {most}");
        let exactly = RunOptions { exact: true, ..RunOptions::default() };
        let stored: Vec<f64> =
            last_logits(&mut runner(&model, exactly), &tokens).iter().map(|x| f64::from(*x)).collect();
        let (most, _) = difference(&last_logits(&mut runner(&packed, exactly), &tokens), &stored);
        assert!(most < 1e-4, "{how:?}: {most}");
    }
    // Rows of 8 are no blocks at all.
    let made = Made::new("");
    let options = LoadOptions { quantize: Some(Quantize::Q8_0), ..LoadOptions::default() };
    let model = made.load_with(Some(&made.config), &options).unwrap();
    assert_eq!(logits(&model).len(), 10);
}

#[test]
fn weights_that_no_block_can_hold_are_named() {
    for (how, repack) in [(Quantize::Q8_0, false), (Quantize::Q8_0, true), (Quantize::Q4_0, false)] {
        let options = LoadOptions { quantize: Some(how), repack, ..LoadOptions::default() };
        for (bad, why) in [(f32::NAN, "no number (NaN)"), (f32::NEG_INFINITY, "infinite")] {
            // Conv1D, 32 inputs and 8 outputs: in the file's order, input 5 and output 3.
            let mut made = Made::new("");
            let bytes = &mut made.tensor("h.1.mlp.c_proj.weight").3;
            bytes[(5 * 8 + 3) * 4..][..4].copy_from_slice(&bad.to_le_bytes());
            let problems = made.load_with(Some(&made.config), &options).unwrap_err();
            assert_eq!(problems.to_string(), format!("element 43 of tensor h.1.mlp.c_proj.weight is {why}"));
        }
    }
    let folder = here("models/austen");
    let mut bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
    let element = 300 * 128 + 77;
    let start = {
        let file = tensorgate::SafeTensors::open(&bytes).unwrap();
        let embedding = file.tensor("wte.weight").or_else(|_| file.tensor("transformer.wte.weight")).unwrap();
        embedding.bytes().as_ptr().addr() - bytes.as_ptr().addr()
    };
    bytes[start + 2 * element..][..2].copy_from_slice(&0x7c00_u16.to_le_bytes());
    let config = std::fs::read(folder.join("config.json")).unwrap();
    let model = Model::from_reader(Cursor::new(bytes), &Options::default()).unwrap();
    for quantize in Quantize::ALL {
        let options = LoadOptions { quantize: Some(quantize), ..LoadOptions::default() };
        let problems = Gpt2::new(&model, Some(&config), &options).unwrap_err().to_string();
        assert!(problems.starts_with("element 38477 of tensor "), "{problems}");
        assert!(problems.ends_with("wte.weight is infinite"), "{problems}");
    }
}

/// A config and names that claim more than any model has: what is found is not kept for all of them.
#[test]
fn millions_of_problems_are_a_thousand() {
    let mut made = Made::new("");
    for layer in 2..30_000 {
        made.tensors.push((format!("h.{layer}.x"), Dtype::U8, vec![0], Vec::new()));
    }
    made.config = made.config.replace("\"n_layer\":2", "\"n_layer\":30000");
    for config in [&made.config, r#"{"n_head":2}"#] {
        let problems = made.load_with(Some(config), &LoadOptions::default()).unwrap_err();
        assert_eq!(problems.iter().count(), 1000);
        assert!(problems.iter().all(|problem| matches!(problem, Problem::MissingTensor(_))));
        assert!(problems.to_string().ends_with("\nand more than 980 more"), "{problems}");
    }
    // Tensors without a place.
    let few = Some(r#"{"n_layer":2,"n_head":2,"n_embd":8,"n_positions":6,"vocab_size":10}"#);
    let problems = made.load_with(few, &LoadOptions::default()).unwrap_err();
    assert_eq!(problems.iter().count(), 1000);
    assert!(problems.iter().all(|problem| matches!(problem, Problem::UnexpectedTensor(_))));
    // A thousand are all.
    made.tensors.truncate(made.tensors.len() - 30_000 + 2 + 1000);
    let problems = made.load_with(few, &LoadOptions::default()).unwrap_err();
    assert_eq!(problems.iter().count(), 1000);
    assert!(problems.to_string().ends_with("\nand 980 more"), "{problems}");
}

/// A file that was cut since it was opened: biases and norms are read, so that loading is an error and no signal.
#[test]
#[cfg(unix)]
fn a_file_that_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let (made, file) = (Made::new(""), Made::new("").file());
    std::fs::write(&path, &file).unwrap();
    let model = Model::open(&path).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    let problems = Gpt2::new(&model, Some(made.config.as_bytes()), &LoadOptions::default()).unwrap_err();
    let told: Vec<&Problem> = problems.iter().collect();
    let [Problem::Unread { name, why }] = told.as_slice() else { panic!("{problems}") };
    assert!([".weight", ".bias"].into_iter().any(|end| name.ends_with(end)), "{name}");
    assert_eq!(*why, format!("the file changed while it was read: {} bytes before, 100 after", file.len()));
}
