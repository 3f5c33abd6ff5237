//! What running a model takes in memory: the pages of its file, the keys and values, and little else.

#![cfg(all(target_os = "linux", feature = "std", not(miri)))]

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

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

/// The dimensions of a checkpoint.
struct Dims {
    layers: u64,
    heads: u64,
    width: u64,
    vocabulary: u64,
    positions: u64,
}

/// As wide as GPT-2 124M, and of two of its layers.
const WIDE: Dims = Dims { layers: LAYERS, heads: 12, width: WIDTH, vocabulary: VOCABULARY, positions: POSITIONS };

/// A checkpoint all of whose weights are zero: the file has no content. Gives its length.
fn sparse(folder: &Path, dims: &Dims) -> std::io::Result<u64> {
    let Dims { layers, heads, width, vocabulary, positions } = *dims;
    let mut tensors = vec![
        ("wte.weight".to_owned(), vec![vocabulary, width]),
        ("wpe.weight".to_owned(), vec![positions, width]),
        ("ln_f.weight".to_owned(), vec![width]),
        ("ln_f.bias".to_owned(), vec![width]),
    ];
    for layer in 0..layers {
        for (part, outputs, inputs) in [
            ("attn.c_attn", 3 * width, width),
            ("attn.c_proj", width, width),
            ("mlp.c_fc", 4 * width, width),
            ("mlp.c_proj", width, 4 * width),
        ] {
            tensors.push((format!("h.{layer}.{part}.weight"), vec![inputs, outputs]));
            tensors.push((format!("h.{layer}.{part}.bias"), vec![outputs]));
        }
        for part in ["ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias"] {
            tensors.push((format!("h.{layer}.{part}"), vec![width]));
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
        r#"{{"n_layer":{layers},"n_head":{heads},"n_embd":{width},"n_positions":{positions},"vocab_size":{vocabulary}}}"#
    );
    std::fs::write(folder.join("config.json"), config)?;
    Ok(len)
}

/// The most memory is the whole process's: one test at a time, each beyond what was before it.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_model_takes_its_pages_its_cache_and_little_else() {
    let _alone = ALONE.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = match sparse(folder.path(), &WIDE) {
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

/// Room for 100,000 positions, of which three are used: 1.6 GB of keys and values in 600 places.
#[test]
fn a_short_text_takes_no_more_for_a_long_context() {
    let _alone = ALONE.lock().unwrap();
    let dims = Dims { layers: 50, heads: 6, width: 48, vocabulary: 100, positions: 100_000 };
    let folder = tempfile::tempdir().unwrap();
    let file = sparse(folder.path(), &dims).unwrap();
    let before = most();
    let model = Gpt2::open(folder.path()).unwrap();
    let mut runner = Runner::new(&model, &RunOptions { threads: 1, ..RunOptions::default() }).unwrap();
    let mut session = runner.session().unwrap();
    session.push(&[1, 2, 3]).unwrap();
    assert!(runner.logits(&mut session).unwrap().iter().all(|logit| *logit == 0.0));
    let beyond = most().saturating_sub(before).saturating_sub(file);
    println!("beyond the file's {file} bytes, for three positions of 100,000: {beyond}");
    assert!(beyond <= 64 << 20, "{beyond} bytes for a context of which hardly anything is used");
}
