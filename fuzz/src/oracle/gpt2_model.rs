//! A hostile GPT-2 is loaded and run: the outcome is finite logits or an error, twice the same, within little memory.
//!
//! Input that begins as a GGUF file is one. Any other input is choices: a tiny checkpoint is built with some lies in it.

use std::io::Cursor;

use tensorgate::Dtype;
use tensorgate::gpt2::{
    GenerateOptions, Gpt2, LoadOptions, Overflow, Place, Quantize, RunError, RunOptions, Runner,
};
use tensorgate::model::{Model, Options};
use tensorgate::safetensors::{self, TensorSpec};

use super::gpt2_config::plain;

/// Memory that a run may ask for.
const MEMORY: u64 = 64 << 20;

/// The oracle.
///
/// # Panics
///
/// Where a promise is broken.
pub fn check(data: &[u8]) {
    if data.starts_with(b"GGUF") {
        if let Some(model) = open(data.to_vec()) {
            load_and_run(&model, None, 0);
        }
        return;
    }
    let mut choices = Choices(data);
    let mut made = Made::new();
    let flags = choices.byte();
    for _ in 0..choices.byte() % 6 {
        made.lie(&mut choices);
    }
    let tensors = made
        .tensors
        .iter()
        .map(|tensor| TensorSpec::new(tensor.name.as_str(), tensor.dtype, &tensor.shape).with_bytes(&tensor.bytes));
    // Two tensors of one name, for instance: no file.
    let Ok(file) = safetensors::serialize(tensors, None::<[(&str, &str); 0]>) else { return };
    let model = open(file).expect("we read what we write");
    let config = (flags & 1 == 0).then_some(made.config.as_bytes());
    load_and_run(&model, config, flags);
}

fn open(bytes: Vec<u8>) -> Option<Model> {
    Model::from_reader(Cursor::new(bytes), &Options::default().with_memory_limit(MEMORY)).ok()
}

fn load_and_run(model: &Model, config: Option<&[u8]>, flags: u8) {
    let quantize = (flags & 2 != 0).then_some(Quantize::Q8_0);
    let options = LoadOptions { memory_limit: MEMORY, quantize, ..LoadOptions::default() };
    let model = match Gpt2::new(model, config, &options) {
        Ok(model) => model,
        Err(problems) => return plain(&problems),
    };
    let first = run(&model, flags);
    assert_eq!(first, run(&model, flags), "another answer");
}

/// A few tokens through the model, greedily; the ids or why there are none.
fn run(model: &Gpt2, flags: u8) -> Result<Vec<u32>, RunError> {
    let options =
        RunOptions { threads: 1, batch: 4, exact: flags & 4 != 0, memory_limit: MEMORY, ..RunOptions::default() };
    let mut runner = Runner::new(model, &options)?;
    let mut session = runner.session()?;
    let vocabulary = model.config().n_vocab();
    let prompt: Vec<u32> = (0..3_usize).filter_map(|at| u32::try_from(at * 7 % vocabulary).ok()).collect();
    let overflow = Overflow::Slide { keep: 1 };
    let options = GenerateOptions { tokens: 6, overflow, stop: Some(Vec::new()), ..GenerateOptions::default() };
    let ids: Result<Vec<u32>, RunError> =
        runner.generate(&mut session, &prompt, &options)?.map(|choice| choice.map(|choice| choice.id)).collect();
    match &ids {
        Ok(ids) => assert!(ids.iter().all(|id| usize::try_from(*id).expect("fits") < vocabulary)),
        Err(RunError::NotFinite(Place::Layer(layer))) => assert!(*layer < model.config().n_layer()),
        Err(RunError::NotFinite(_) | RunError::Memory(_) | RunError::ContextFull { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    let saved = session.save()?;
    let restored = runner.restore(&saved).expect("we restore what we saved");
    assert_eq!((restored.tokens(), restored.run_len()), (session.tokens(), session.run_len()));
    ids
}

/// Bytes that say what is done; zeros once there are no more.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([(); 4].map(|()| self.byte()))
    }
}

struct Tensor {
    name: String,
    dtype: Dtype,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

/// A checkpoint of one or two layers, eight wide.
struct Made {
    config: String,
    tensors: Vec<Tensor>,
}

impl Made {
    fn new() -> Self {
        let config =
            r#"{"n_layer":2,"n_head":2,"n_embd":8,"n_positions":5,"vocab_size":9,"n_inner":12}"#.to_owned();
        let mut made = Self { config, tensors: Vec::new() };
        made.add("wte.weight", &[9, 8]);
        made.add("wpe.weight", &[5, 8]);
        for layer in 0..2 {
            for (part, shape) in [
                ("ln_1", &[8][..]),
                ("attn.c_attn", &[8, 24]),
                ("attn.c_proj", &[8, 8]),
                ("ln_2", &[8]),
                ("mlp.c_fc", &[8, 12]),
                ("mlp.c_proj", &[12, 8]),
            ] {
                made.add(&format!("h.{layer}.{part}.weight"), shape);
                made.add(&format!("h.{layer}.{part}.bias"), &shape[shape.len() - 1..]);
            }
        }
        made.add("ln_f.weight", &[8]);
        made.add("ln_f.bias", &[8]);
        made
    }

    fn add(&mut self, name: &str, shape: &[u64]) {
        let count = shape.iter().product::<u64>();
        let value =
            |at: u64| (f32::from(u16::try_from(at * 40_503 % 65_536).expect("16 bits")) / 65_536.0 - 0.5) * 0.8;
        let bytes = (1..=count).flat_map(|at| value(at).to_le_bytes()).collect();
        self.tensors.push(Tensor { name: name.to_owned(), dtype: Dtype::F32, shape: shape.to_vec(), bytes });
    }

    fn lie(&mut self, choices: &mut Choices<'_>) {
        let count = self.tensors.len();
        let kind = choices.byte() % 9;
        let at = choices.below(count);
        match kind {
            0 => drop(self.tensors.remove(at)),
            1 => self.tensors[at].name.push(char::from(b'a' + choices.byte() % 26)),
            2 => self.tensors[at].shape.reverse(),
            3 => {
                let dtype = Dtype::ALL[choices.below(Dtype::ALL.len())];
                self.retype(at, dtype);
            }
            4 | 5 => {
                // One number, or all: NaN, infinities, numbers that overflow a step later.
                let word = choices.word().to_le_bytes();
                let all = kind == 5;
                let start = choices.below(self.tensors[at].bytes.len() / 4 + 1);
                let values = self.tensors[at].bytes.chunks_exact_mut(4).skip(if all { 0 } else { start });
                values.take(if all { usize::MAX } else { 1 }).for_each(|value| value.copy_from_slice(&word));
            }
            6 => {
                let dim = choices.below(self.tensors[at].shape.len());
                let size = u64::from(choices.byte() % 20);
                if let Some(one) = self.tensors[at].shape.get_mut(dim) {
                    *one = size;
                }
                self.retype(at, self.tensors[at].dtype);
            }
            7 => {
                let place = choices.below(self.config.len());
                let with = [b'0', b'1', b'9', b'-', b'.', b'e', b',', b'"', b'{', b']'][choices.below(10)];
                self.config.replace_range(place..=place, &char::from(with).to_string());
            }
            _ => {
                let name = ["lm_head.weight", "h.0.attn.bias", "h.9.ln_1.bias", "score.weight"][choices.below(4)];
                self.add(name, &[9, 8]);
            }
        }
    }

    /// Gives a tensor the bytes that its shape and a type need.
    fn retype(&mut self, at: usize, dtype: Dtype) {
        let tensor = &mut self.tensors[at];
        let bits = tensor.shape.iter().product::<u64>() * dtype.bits();
        tensor.dtype = dtype;
        tensor.bytes.resize(usize::try_from(bits / 8).expect("small"), 0x3C);
    }
}

/// Small GGUF files are looked at as they are.
#[must_use]
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.starts_with(b"GGUF") && file.len() < 200_000).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke;

    #[test]
    fn hostile_checkpoints() {
        check(&[]);
        let mut rng = smoke::Rng::new(31);
        for _ in 0..20_000 {
            let len = rng.below(60);
            check(&rng.bytes(len));
        }
    }

    #[test]
    fn hostile_gguf_files() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/tiny-gpt2-gguf");
        let seeds =
            ["tinyA-q4_0.gguf", "tinyA-q8_0.gguf"].map(|name| std::fs::read(folder.join(name)).expect("a file"));
        let mut rng = smoke::Rng::new(32);
        for seed in &seeds {
            check(seed);
            for _ in 0..600 {
                let mut bytes = seed.clone();
                for _ in 0..=rng.below(4) {
                    // The header is a few thousand bytes: there is where lies are read.
                    let end = if rng.below(2) == 0 { 4_000 } else { bytes.len() };
                    let place = rng.below(end);
                    bytes[place] = rng.bytes(1)[0];
                }
                check(&bytes);
            }
        }
    }
}
