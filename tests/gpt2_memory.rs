//! What running a model takes in memory: the pages of its file, the keys and values, and little else. One test, since it
//! looks at the whole process.

#![cfg(all(target_os = "linux", feature = "std", not(miri)))]

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use tensorgate::gpt2::{CacheType, Gpt2, RunOptions, Runner};

/// The most bytes that this process has had in memory.
fn most() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

const LAYERS: u64 = 2;
const WIDTH: u64 = 768;
const VOCABULARY: u64 = 50_257;
const POSITIONS: u64 = 1024;

/// A checkpoint as wide as GPT-2 124M and of two of its layers, all of whose weights are zero: the file has no content.
/// Gives its length.
fn sparse(folder: &Path) -> std::io::Result<u64> {
    let mut tensors = vec![
        ("wte.weight".to_owned(), vec![VOCABULARY, WIDTH]),
        ("wpe.weight".to_owned(), vec![POSITIONS, WIDTH]),
        ("ln_f.weight".to_owned(), vec![WIDTH]),
        ("ln_f.bias".to_owned(), vec![WIDTH]),
    ];
    for layer in 0..LAYERS {
        for (part, outputs, inputs) in [
            ("attn.c_attn", 3 * WIDTH, WIDTH),
            ("attn.c_proj", WIDTH, WIDTH),
            ("mlp.c_fc", 4 * WIDTH, WIDTH),
            ("mlp.c_proj", WIDTH, 4 * WIDTH),
        ] {
            tensors.push((format!("h.{layer}.{part}.weight"), vec![inputs, outputs]));
            tensors.push((format!("h.{layer}.{part}.bias"), vec![outputs]));
        }
        for part in ["ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias"] {
            tensors.push((format!("h.{layer}.{part}"), vec![WIDTH]));
        }
    }
    let (mut header, mut end) = (String::from("{"), 0);
    for (name, shape) in &tensors {
        let begin = end;
        end += shape.iter().product::<u64>() * 4;
        let comma = if begin == 0 { "" } else { "," };
        write!(header, r#"{comma}"{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#)
            .unwrap();
    }
    header.push('}');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    let path = folder.join("model.safetensors");
    std::fs::write(&path, &bytes)?;
    let len = bytes.len() as u64 + end;
    File::options().write(true).open(&path)?.set_len(len)?;
    let config = format!(
        r#"{{"n_layer":{LAYERS},"n_head":12,"n_embd":{WIDTH},"n_positions":{POSITIONS},"vocab_size":{VOCABULARY}}}"#
    );
    std::fs::write(folder.join("config.json"), config)?;
    Ok(len)
}

#[test]
fn a_model_takes_its_pages_its_cache_and_little_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = match sparse(folder.path()) {
        Ok(len) => len,
        Err(error) => {
            println!("not tested, as there is no room for a file of 200 MB without content: {error}");
            return;
        }
    };
    let before = most();
    let model = Gpt2::open(folder.path()).unwrap();
    let options = RunOptions { threads: 2, cache: CacheType::F16, ..RunOptions::default() };
    let mut runner = Runner::new(&model, &options).unwrap();
    let mut session = runner.session().unwrap();
    // A prompt longer than a batch, then a few tokens one by one.
    let prompt: Vec<u32> = (0..700).map(|at| at * 71 % 50_257).collect();
    session.push(&prompt).unwrap();
    for next in 0..4 {
        let logits = runner.logits(&mut session).unwrap();
        assert!(logits.iter().all(|logit| *logit == 0.0));
        session.push(&[next]).unwrap();
    }
    let cache = LAYERS * 2 * POSITIONS * WIDTH * 2;
    let beyond = most().saturating_sub(before).saturating_sub(file + cache);
    println!("beyond the file's {file} bytes and {cache} of keys and values: {beyond}");
    assert!(beyond <= 64 << 20, "{beyond} bytes beyond the file and the cache");
}
