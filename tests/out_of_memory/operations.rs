//! Everything that takes a stranger's file and asks for memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tensorgate::file::Saver;
use tensorgate::gguf::{self, WriteOptions};
use tensorgate::gpt2::{Gpt2, LoadOptions, RunOptions, Runner};
use tensorgate::model::checkpoint::{Checkpoint, Restore};
use tensorgate::model::convert::{Conversion, Naming, Target};
use tensorgate::model::{Format, Model, Options, diff};
use tensorgate::safetensors::{self, NO_METADATA, TensorSpec};
use tensorgate::tokenizer::{Encoder, Tokenizer};
use tensorgate::{Dtype, Gguf, Limits, SafeTensors, audit};

/// An operation, ready to be run again and again; whether it had a result.
pub(crate) type Run = Box<dyn FnMut() -> Result<(), ()>>;

pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Makes what the operation needs besides, given the folder of [`write_files`].
    pub(crate) prepare: fn(&Path) -> Run,
    /// Of how many requests the refusal ends the process, and why it may.
    pub(crate) ends: (usize, &'static str),
}

const NONE: (usize, &str) = (0, "");
const DECODE: (usize, &str) =
    (5, "`Tokenizer::decode` gives a vector, which ends the process where it cannot grow, as all do");
const LAYERS: (usize, &str) =
    (1, "what is expected of each layer is listed, in some hundred bytes for each that has tensors in the file");
const SCRATCH: (usize, &str) = (
    6,
    "the kernels' scratch grows to a few rows of the buffers that were asked for before, and the logits are a vector",
);

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// The vocabulary and merges of the small model in one file, as Hugging Face's tokenizers write it.
fn tokenizer_json() -> Vec<u8> {
    let vocab: serde_json::Value = serde_json::from_slice(&read(data("austen/vocab.json"))).unwrap();
    let merges = String::from_utf8(read(data("austen/merges.txt"))).unwrap();
    let merges: Vec<&str> = merges.lines().skip(1).collect();
    let model = serde_json::json!({"type": "BPE", "vocab": vocab, "merges": merges});
    serde_json::to_vec(
        &serde_json::json!({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": model}),
    )
    .unwrap()
}

fn said<T, E>(outcome: Result<T, E>) -> Result<(), ()> {
    outcome.map(|_| ()).map_err(|_| ())
}

/// Two hundred tensors with long names, so that what grows with their number is no small request.
fn tensors() -> Vec<(String, Vec<u8>)> {
    (0..200).map(|index| (format!("model.layers.{index}.self_attn.q_proj.weight"), vec![index; 32])).collect()
}

pub(crate) fn write_files(folder: &Path) {
    let tensors = tensors();
    let specs = || tensors.iter().map(|(name, bytes)| TensorSpec::new(name, Dtype::F32, &[2, 4]).with_bytes(bytes));
    let keys: Vec<(String, String)> =
        (0..200).rev().map(|key| (format!("key {key}"), "value \u{1b}".repeat(10))).collect();
    let metadata = keys.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    std::fs::write(folder.join("many.safetensors"), safetensors::serialize(specs(), Some(metadata)).unwrap())
        .unwrap();
    let specs = tensors
        .iter()
        .map(|(name, bytes)| gguf::TensorSpec::new(name, gguf::GgmlType::F32, &[2, 4]).with_bytes(bytes));
    let pairs = [("general.architecture", "llama"), ("general.name", "x")];
    std::fs::write(folder.join("many.gguf"), gguf::serialize(pairs, specs, &WriteOptions::default()).unwrap())
        .unwrap();
    let model = Model::open(folder.join("many.safetensors")).unwrap();
    let sharded = folder.join("sharded");
    std::fs::create_dir(&sharded).unwrap();
    let plan = Conversion::to(Format::SafeTensors);
    let plan = plan.plan(&model).unwrap();
    plan.save(Target::Shards(&sharded, 3000), &Saver::new()).unwrap();
}

fn open(path: PathBuf) -> Run {
    Box::new(move || said(Model::open(&path)))
}

fn convert(from: PathBuf, to: PathBuf, format: Format) -> Run {
    let model = Model::open(from).unwrap();
    Box::new(move || {
        // One thread: threads that cannot be begun end the process.
        let conversion = Conversion::to(format).with_naming(Naming::Gpt2).with_threads(1);
        let plan = conversion.plan(&model).map_err(|_| ())?;
        said(plan.save(Target::File(&to), &Saver::new()))
    })
}

fn runner(model: &Gpt2) -> Runner {
    Runner::new(model, &RunOptions { threads: 1, batch: 8, ..RunOptions::default() }).unwrap()
}

fn load(path: PathBuf) -> Run {
    Box::new(move || said(Gpt2::open(&path)))
}

fn austen() -> (Vec<u8>, Vec<u8>) {
    (read(data("austen/vocab.json")), read(data("austen/merges.txt")))
}

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "SafeTensors::open",
        ends: NONE,
        prepare: |folder| {
            let bytes = read(folder.join("many.safetensors"));
            Box::new(move || said(SafeTensors::open(&bytes)))
        },
    },
    Operation {
        name: "Gguf::open",
        ends: NONE,
        prepare: |folder| {
            let bytes = read(folder.join("many.gguf"));
            Box::new(move || said(Gguf::open(&bytes)))
        },
    },
    Operation {
        name: "audit of safetensors",
        ends: NONE,
        prepare: |folder| {
            let bytes = read(folder.join("many.safetensors"));
            Box::new(move || {
                let header =
                    safetensors::Header::open(&bytes, bytes.len() as u64, &Limits::default()).map_err(|_| ())?;
                said(audit::safetensors(&header))
            })
        },
    },
    Operation {
        name: "audit of GGUF",
        ends: NONE,
        prepare: |folder| {
            let bytes = read(folder.join("many.gguf"));
            Box::new(move || {
                let header = gguf::Header::open(&bytes, bytes.len() as u64, &Limits::default()).map_err(|_| ())?;
                said(audit::gguf(&header))
            })
        },
    },
    Operation {
        name: "copies of tensors",
        ends: NONE,
        prepare: |_| {
            let ones = vec![1; 3000];
            let tensors = [("b", Dtype::BOOL), ("w", Dtype::U8)];
            let specs = tensors.map(|(name, dtype)| TensorSpec::new(name, dtype, &[3000]).with_bytes(&ones));
            let file: Arc<[u8]> = safetensors::serialize(specs, NO_METADATA).unwrap().into();
            Box::new(move || {
                let opened = SafeTensors::open(&file).map_err(|_| ())?;
                let view = opened.tensor("w").map_err(|_| ())?;
                said(view.to_cow::<u8>())?;
                let stream = std::io::Cursor::new(Arc::clone(&file));
                let model = Model::from_reader(stream, &Options::default()).map_err(|_| ())?;
                said(model.tensor("b").map_err(|_| ())?.to_bools())
            })
        },
    },
    Operation {
        name: "writing safetensors",
        ends: NONE,
        prepare: |_| {
            let tensors = tensors();
            Box::new(move || {
                let specs =
                    tensors.iter().map(|(name, bytes)| TensorSpec::new(name, Dtype::F32, &[8]).with_bytes(bytes));
                said(safetensors::serialize(specs, NO_METADATA))
            })
        },
    },
    Operation {
        name: "writing GGUF",
        ends: NONE,
        prepare: |_| {
            let tensors = tensors();
            Box::new(move || {
                let specs = tensors
                    .iter()
                    .map(|(name, bytes)| gguf::TensorSpec::new(name, gguf::GgmlType::F32, &[8]).with_bytes(bytes));
                said(gguf::serialize([("k", "v")], specs, &WriteOptions::default()))
            })
        },
    },
    Operation {
        name: "Model::open of safetensors",
        ends: NONE,
        prepare: |folder| open(folder.join("many.safetensors")),
    },
    Operation { name: "Model::open of GGUF", ends: NONE, prepare: |folder| open(folder.join("many.gguf")) },
    Operation { name: "Model::open of shards", ends: NONE, prepare: |folder| open(folder.join("sharded")) },
    Operation {
        name: "Model::open of a stream",
        ends: NONE,
        prepare: |folder| {
            let bytes: Arc<[u8]> = read(folder.join("many.safetensors")).into();
            Box::new(move || {
                let stream = std::io::Cursor::new(Arc::clone(&bytes));
                said(Model::from_reader(stream, &Options::default()))
            })
        },
    },
    Operation {
        name: "diff",
        ends: NONE,
        prepare: |_| {
            let (a, b) = (Model::open(data("tiny-gpt2/tinyA-f16")), Model::open(data("tiny-gpt2/tinyA-plain")));
            let (a, b) = (a.unwrap(), b.unwrap());
            Box::new(move || {
                a.tensors().try_for_each(|tensor| {
                    let other = b.tensor(tensor.name()).map_err(|_| ())?;
                    said(diff::tensors(&tensor, &other))
                })
            })
        },
    },
    Operation {
        name: "conversion to GGUF",
        ends: NONE,
        prepare: |folder| convert(folder.join("many.safetensors"), folder.join("new.gguf"), Format::Gguf),
    },
    Operation {
        name: "conversion to safetensors",
        ends: NONE,
        prepare: |folder| convert(folder.join("many.gguf"), folder.join("new.safetensors"), Format::SafeTensors),
    },
    Operation {
        name: "conversion of GPT-2",
        ends: NONE,
        prepare: |folder| convert(data("tiny-gpt2/tinyA-f16"), folder.join("gpt2.gguf"), Format::Gguf),
    },
    Operation {
        name: "saving a checkpoint",
        ends: NONE,
        prepare: |folder| {
            let path = folder.join("checkpoint.safetensors");
            let values = vec![1.0_f32; 4096];
            Box::new(move || said(Checkpoint::new().model("w", &[4096], &values).metadata("step", 7).save(&path)))
        },
    },
    Operation {
        name: "restoring a checkpoint",
        ends: NONE,
        prepare: |folder| {
            let path = folder.join("restored.safetensors");
            Checkpoint::new().model("w", &[4096], &vec![1.0_f32; 4096]).save(&path).unwrap();
            let mut values = vec![0.0_f32; 4096];
            Box::new(move || said(Restore::new().model("w", &[4096], &mut values).load(&path)))
        },
    },
    Operation {
        name: "tokenizer of vocab.json and merges.txt",
        ends: NONE,
        prepare: |_| {
            let (vocab, merges) = austen();
            Box::new(move || said(Tokenizer::from_files(&vocab, &merges)))
        },
    },
    Operation {
        name: "tokenizer of tokenizer.json",
        ends: NONE,
        prepare: |_| {
            let text = tokenizer_json();
            Box::new(move || said(Tokenizer::from_json(&text)))
        },
    },
    Operation {
        name: "tokenizer of GGUF",
        ends: NONE,
        prepare: |_| {
            let bytes = read(data("tiny-gpt2-gguf/tinyA-f16.gguf"));
            Box::new(move || {
                let header = gguf::Header::open(&bytes, bytes.len() as u64, &Limits::default()).map_err(|_| ())?;
                said(Tokenizer::from_gguf(&header))
            })
        },
    },
    Operation {
        name: "encoding and decoding",
        ends: DECODE,
        prepare: |_| {
            let (vocab, merges) = austen();
            let tokenizer = Tokenizer::from_files(&vocab, &merges).unwrap();
            let text = "It is a truth universally acknowledged, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ".repeat(200);
            Box::new(move || {
                let mut ids = Vec::new();
                Encoder::new(&tokenizer).encode_into(text.as_bytes(), &mut ids).map_err(|_| ())?;
                said(tokenizer.decode(&ids))
            })
        },
    },
    Operation { name: "GPT-2 of safetensors", ends: LAYERS, prepare: |_| load(data("tiny-gpt2/tinyA-f16")) },
    Operation { name: "GPT-2 of GGUF", ends: LAYERS, prepare: |_| load(data("tiny-gpt2-gguf/tinyA-q8_0.gguf")) },
    Operation {
        name: "GPT-2 quantised as it is loaded",
        ends: LAYERS,
        prepare: |_| {
            let model = Model::open(data("tiny-gpt2/tinyA-f16")).unwrap();
            let options =
                LoadOptions { quantize: tensorgate::gpt2::Quantize::named("q8_0"), ..LoadOptions::default() };
            Box::new(move || said(Gpt2::of_files(&model, &options)))
        },
    },
    Operation {
        name: "a runner and its logits",
        ends: SCRATCH,
        prepare: |_| {
            let model = Gpt2::open(data("tiny-gpt2/tinyA-f16")).unwrap();
            Box::new(move || {
                let options = RunOptions { threads: 1, batch: 8, ..RunOptions::default() };
                let mut runner = Runner::new(&model, &options).map_err(|_| ())?;
                let mut session = runner.session().map_err(|_| ())?;
                session.push(&[1; 20]).map_err(|_| ())?;
                said(runner.logits(&mut session))
            })
        },
    },
    Operation {
        name: "saving and restoring a session",
        ends: NONE,
        prepare: |_| {
            let model = Gpt2::open(data("tiny-gpt2/tinyA-f16")).unwrap();
            let mut runner = runner(&model);
            let mut session = runner.session().unwrap();
            session.push(&[1; 20]).unwrap();
            runner.logits(&mut session).unwrap();
            Box::new(move || {
                let bytes = session.save().map_err(|_| ())?;
                said(runner.restore(&bytes))?;
                said(session.fork())
            })
        },
    },
];
