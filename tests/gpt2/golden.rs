use std::path::Path;

use serde_json::Value;
use tensorgate::gpt2::{CacheType, GenerateOptions, Gpt2, LoadOptions, RunOptions, Runner};
use tensorgate::simd::Level;

use super::{argmax, common, difference, floats, here, ids, json, last_logits, runner};

const EXACT: f64 = 1e-4;

/// Options for every level and a few numbers of threads; a few of them where nothing is optimised.
fn many() -> Vec<RunOptions> {
    let mut all = Vec::new();
    for level in Level::all() {
        all.push(RunOptions { threads: 1, level, ..RunOptions::default() });
    }
    for (threads, batch) in [(2, 512), (5, 512), (1, 1), (2, 3), (2, 40)] {
        all.push(RunOptions { threads, batch, ..RunOptions::default() });
    }
    if cfg!(debug_assertions) { all.into_iter().step_by(3).collect() } else { all }
}

/// All of them optimised, else the shorter ones.
fn some(sequences: &Value) -> impl Iterator<Item = &Value> {
    let most = if cfg!(debug_assertions) { 8 } else { usize::MAX };
    let all = sequences.as_array().unwrap().iter();
    assert!(all.len() >= 3);
    all.filter(move |sequence| sequence["ids"].as_array().unwrap().len() <= most)
}

/// Holds all that a reference says of a sequence against the runner.
fn hold(runner: &mut Runner, sequence: &Value, tolerance: f64, what: &str) {
    let tokens = ids(&sequence["ids"]);
    let mut session = runner.session().unwrap();
    session.push(&tokens).unwrap();
    let mut all = Vec::new();
    runner
        .each_logits(&mut session, |at, logits| {
            assert_eq!(at, all.len());
            all.push(logits.to_vec());
        })
        .unwrap();
    assert_eq!(all.len(), tokens.len());
    let greatest: Vec<u32> = all.iter().map(|logits| argmax(logits)).collect();
    assert_eq!(greatest, ids(&sequence["argmax"]), "{what}");
    if let Some(rows) = sequence["logits"].as_array() {
        for (found, expected) in all.iter().zip(rows) {
            let (most, _) = difference(found, &floats(expected));
            assert!(most < tolerance, "{what}: {most}");
        }
    }
    let last = last_logits(runner, &tokens);
    if sequence["last_logits"].is_array() {
        let (most, _) = difference(&last, &floats(&sequence["last_logits"]));
        assert!(most < tolerance, "{what}: {most}");
    }
    let every: Vec<f64> = all.iter().flatten().map(|x| f64::from(*x)).collect();
    let count = f64::from(u32::try_from(every.len()).unwrap());
    assert!((every.iter().sum::<f64>() - sequence["sum"].as_f64().unwrap()).abs() < tolerance * count);
    greedy(runner, &tokens, &sequence["greedy"], what);
}

/// The greedy continuation, which goes token by token through the cache.
fn greedy(runner: &mut Runner, prompt: &[u32], expected: &Value, what: &str) {
    let Some(expected) = expected.as_array().map(|_| ids(expected)) else { return };
    let mut session = runner.session().unwrap();
    let options = GenerateOptions { tokens: expected.len(), stop: Some(Vec::new()), ..GenerateOptions::default() };
    let made = runner.generate(&mut session, prompt, &options).unwrap();
    let made: Vec<u32> = made.map(|choice| choice.unwrap().id).collect();
    assert_eq!(made, expected, "{what}");
}

#[test]
fn tiny_checkpoints_of_every_form() {
    let folder = here("tests/data/tiny-gpt2");
    let reference = json(folder.join("reference.json"));
    let models = reference["models"].as_object().unwrap();
    assert_eq!(models.len(), 8);
    for (name, expected) in models {
        let model = Gpt2::open(folder.join(expected["dir"].as_str().unwrap())).unwrap();
        for options in many() {
            // BF16 activations are a choice of speed, held against its own tolerance below.
            let options = RunOptions { exact: true, ..options };
            let mut runner = runner(&model, options);
            for sequence in some(&expected["sequences"]) {
                hold(&mut runner, sequence, EXACT, name);
            }
        }
    }
}

#[test]
fn half_precision_caches_and_activations_stay_near() {
    let folder = here("tests/data/tiny-gpt2");
    let reference = json(folder.join("reference.json"));
    for (name, cache, tolerance) in [
        ("tinyA-plain", CacheType::F16, 0.01),
        ("tinyA-bf16", CacheType::F32, 0.05),
        ("tinyB-plain", CacheType::F16, 0.01),
    ] {
        let model = Gpt2::open(folder.join(name)).unwrap();
        let mut runner = runner(&model, RunOptions { cache, ..RunOptions::default() });
        for sequence in reference["models"][name]["sequences"].as_array().unwrap() {
            let expected = if sequence["last_logits"].is_array() {
                floats(&sequence["last_logits"])
            } else if let Some(rows) = sequence["logits"].as_array() {
                floats(rows.last().unwrap())
            } else {
                continue;
            };
            let (most, _) = difference(&last_logits(&mut runner, &ids(&sequence["ids"])), &expected);
            assert!(most < tolerance, "{name}: {most}");
        }
    }
}

#[test]
fn gguf_files_of_every_type() {
    let folder = here("tests/data/tiny-gpt2-gguf");
    let reference = json(folder.join("reference.json"));
    let models = reference["models"].as_object().unwrap();
    assert_eq!(models.len(), 9);
    for ((name, expected), repack) in models.iter().flat_map(|model| [(model, false), (model, true)]) {
        let model = Gpt2::open_with(folder.join(name), &LoadOptions { repack, ..LoadOptions::default() }).unwrap();
        for options in many() {
            let mut precise = runner(&model, RunOptions { exact: true, ..options });
            let mut fast = runner(&model, options);
            let (mut ours, mut theirs, mut between, mut count) = (0.0, 0.0, 0.0, 0.0);
            for sequence in expected["sequences"].as_array().unwrap() {
                let tokens = ids(&sequence["ids"]);
                let exact = floats(&sequence["exact_dequant"]["last_logits"]);
                let llama = floats(&sequence["llama_cpp"]["last_logits"]);
                // On activations as they are, the mathematics is the same.
                let (most, _) = difference(&last_logits(&mut precise, &tokens), &exact);
                assert!(most < EXACT, "{name}: {most}");
                let logits = last_logits(&mut fast, &tokens);
                ours += difference(&logits, &exact).1.powi(2);
                between += difference(&logits, &llama).1.powi(2);
                theirs += sequence["rms"].as_f64().unwrap().powi(2);
                count += 1.0;
            }
            let [ours, theirs, between] = [ours, theirs, between].map(|sum: f64| (sum / count).sqrt());
            // With activations of 8 bits we are about as far from it as llama.cpp is; F16 and F32 lose nothing here, and there
            // what a table of GELU in 16 bits loses.
            assert!(ours < (theirs * 1.5).max(1e-3), "{name}: off by {ours} where llama.cpp is off by {theirs}");
            assert!(between < (theirs * 2.5).max(4e-3), "{name}: {between} from llama.cpp");
        }
    }
}

#[test]
fn a_trained_model_writes_what_it_wrote_elsewhere() {
    let model = Gpt2::open(here("models/austen")).unwrap();
    let reference = json(here("tests/data/austen/reference.json"));
    for options in many() {
        let mut runner = runner(&model, options);
        let most = if cfg!(debug_assertions) { 1 } else { usize::MAX };
        for case in reference["cases"].as_array().unwrap().iter().take(most) {
            let tokens = ids(&case["ids"]);
            let (most, _) = difference(&last_logits(&mut runner, &tokens), &floats(&case["last_logits"]));
            assert!(most < EXACT * 2.0, "{most}");
            greedy(&mut runner, &tokens, &case["greedy"], "austen");
        }
    }
}

#[test]
fn a_trained_model_of_strangers() {
    let Some(folder) = common::shared("capp-gpt") else { return };
    let model = Gpt2::open(&folder).unwrap();
    let golden = json(folder.join("golden_model.json"));
    let mut runner = runner(&model, RunOptions::default());
    for case in golden["cases"].as_array().unwrap() {
        let tokens = ids(&case["ids"]);
        let (most, _) = difference(&last_logits(&mut runner, &tokens), &floats(&case["last_logits"]));
        assert!(most < EXACT, "{most}");
        let mut session = runner.session().unwrap();
        session.push(&tokens).unwrap();
        let mut greatest = Vec::new();
        runner.each_logits(&mut session, |_, logits| greatest.push(argmax(logits))).unwrap();
        assert_eq!(greatest, ids(&case["argmax_all"]));
    }
    for case in golden["greedy"].as_array().unwrap() {
        let (prompt, whole) = (ids(&case["prompt"]), ids(&case["greedy"]));
        let rest = Value::from(whole[prompt.len()..].to_vec());
        greedy(&mut runner, &prompt, &rest, "capp-gpt");
    }
}

/// The model of 124 million random weights, which `tools/make_gpt2.py` makes; `TENSORGATE_124M` is its folder.
#[test]
#[ignore = "needs a model of 500 MB"]
fn the_model_of_124_million() {
    let Some(shared) = common::shared("gpt2") else { return };
    let folder = std::env::var("TENSORGATE_124M").expect("TENSORGATE_124M names the folder of the model");
    let model = Gpt2::open(Path::new(&folder)).unwrap();
    let mut runner = runner(&model, RunOptions::default());
    for prompt in json(shared.join("random-124m-reference.json"))["prompts"].as_array().unwrap() {
        let tokens = ids(&prompt["ids"]);
        let logits = last_logits(&mut runner, &tokens);
        for (id, expected) in prompt["last_logits_at"].as_object().unwrap() {
            let found = logits[id.parse::<usize>().unwrap()];
            assert!((f64::from(found) - expected.as_f64().unwrap()).abs() < EXACT, "token {id}");
        }
        let sum: f64 = logits.iter().map(|x| f64::from(*x)).sum();
        assert!((sum - prompt["last_logits_sum"].as_f64().unwrap()).abs() < EXACT * 50_257.0);
        for pair in prompt["top20"].as_array().unwrap() {
            let id = usize::try_from(pair[0].as_u64().unwrap()).unwrap();
            assert!((f64::from(logits[id]) - pair[1].as_f64().unwrap()).abs() < EXACT, "token {id}");
        }
        greedy(&mut runner, &tokens, &prompt["greedy16_f64"], "124M");
    }
}
